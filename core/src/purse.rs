//! The live side of every owner above the deployments, and what each call in flight holds of them.

use crate::catalog::Catalog;
use crate::cost::Bill;
use crate::id::ReservationId;
use crate::ledger::Ledger;
use crate::limit::{Amounts, Meter};
use crate::money::Money;
use crate::owners::{Chain, OwnerId, Owners};
use crate::time::Timestamp;

/// One owner's buckets, slots and money.
#[derive(Clone, Debug)]
pub(crate) struct Purse {
    pub(crate) meter: Meter,
    pub(crate) money: Money,
}

/// What one call holds of its owners, from its beginning to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) owners: Chain,
    pub(crate) amounts: Amounts,
    /// Reserved of every budget, in nano-USD; never less than what the attempts so far and the
    /// one in flight are reckoned to cost.
    pub(crate) money: u64,
    /// Owners whose exceeded budget sent the call to another group: theirs does not bind it.
    pub(crate) waived: Chain,
    /// What the attempts that have ended used.
    pub(crate) bill: Bill,
    /// The attempt in flight.
    pub(crate) attempt: Option<ReservationId>,
}

impl Hold {
    /// Nothing of nobody.
    pub(crate) const EMPTY: Self = Self {
        owners: Chain::new(),
        amounts: Amounts { requests: 0, input: 0, output: 0 },
        money: 0,
        waived: Chain::new(),
        bill: Bill { used: Amounts { requests: 0, input: 0, output: 0 }, cost: 0, unpriced: false },
        attempt: None,
    };
}

/// What a call may still spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Funds {
    /// In nano-USD.
    pub(crate) left: u64,
    /// Whether members without a price may serve it.
    pub(crate) unpriced: bool,
}

/// A budget has crossed its soft limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// Whose: `key NAME`, `team NAME` or `organisation NAME`.
    pub owner: String,
    /// What it has spent in this window, in nano-USD.
    pub spent: u64,
    /// The budget, in nano-USD.
    pub budget: u64,
}

/// All owners' state, in the catalog's order; entries are only ever added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Purses {
    all: Vec<Purse>,
    pub(crate) holds: Ledger<Hold>,
    pub(crate) alerts: Vec<OwnerId>,
}

impl Purses {
    pub(crate) fn new(catalog: &Catalog, now: Timestamp) -> Self {
        let mut purses = Self::default();
        purses.grow(&catalog.owners, now);
        purses
    }

    /// The owners are about to be replaced by `new`, which keeps the places of `old`.
    pub(crate) fn adopt(&mut self, old: &Owners, new: &Owners, now: Timestamp) {
        for ((purse, before), after) in self.all.iter_mut().zip(old.all()).zip(new.all()) {
            purse.meter.edit(&before.limits, &after.limits, now);
            if let (Some(before), Some(after)) = (&before.budget, &after.budget) {
                purse.money.edit(before, after, now);
            }
        }
        self.grow(new, now);
    }

    fn grow(&mut self, owners: &Owners, now: Timestamp) {
        for owner in owners.all().iter().skip(self.all.len()) {
            let meter = Meter::full(&owner.limits, now);
            self.all.push(Purse { meter, money: Money::new() });
        }
    }

    pub(crate) fn get(&self, id: OwnerId) -> Option<&Purse> {
        self.all.get(id.index())
    }

    pub(crate) fn get_mut(&mut self, id: OwnerId) -> Option<&mut Purse> {
        self.all.get_mut(id.index())
    }

    /// What a call may still spend; `None` if no budget binds it.
    pub(crate) fn funds(&self, owners: &Owners, hold: &Hold, now: Timestamp) -> Option<Funds> {
        let mut funds: Option<Funds> = None;
        // What is reserved and not used up is the call's own to spend.
        let own = hold.money.saturating_sub(hold.bill.cost);
        for id in hold.owners.iter() {
            let (Some(owner), Some(purse)) = (owners.get(id), self.get(id)) else { continue };
            let Some(budget) = &owner.budget else { continue };
            let left = match hold.waived.contains(id) {
                true => u64::MAX,
                false => purse.money.left(budget, now).saturating_add(own),
            };
            let before = funds.unwrap_or(Funds { left: u64::MAX, unpriced: true });
            funds = Some(Funds {
                left: before.left.min(left),
                unpriced: before.unpriced && budget.unpriced,
            });
        }
        funds
    }

    /// Take what a call holds, of every owner.
    pub(crate) fn reserve(&mut self, owners: &Owners, hold: &Hold, now: Timestamp) {
        for id in hold.owners.iter() {
            let (Some(owner), Some(purse)) = (owners.get(id), self.get_mut(id)) else { continue };
            purse.meter.reserve(&owner.limits, &hold.amounts, now);
            purse.money.reserve(hold.money);
        }
    }

    /// Reserve more money for a call.
    pub(crate) fn raise(&mut self, hold: &mut Hold, money: u64) {
        let more = money.saturating_sub(hold.money);
        for id in hold.owners.iter() {
            if let Some(purse) = self.get_mut(id) {
                purse.money.reserve(more);
            }
        }
        hold.money = hold.money.saturating_add(more);
    }

    /// Give back what a call holds, and take what it used.
    pub(crate) fn settle(&mut self, owners: &Owners, hold: &Hold, now: Timestamp) {
        for id in hold.owners.iter() {
            let (Some(owner), Some(purse)) = (owners.get(id), self.all.get_mut(id.index())) else {
                continue;
            };
            purse.meter.settle(&owner.limits, &hold.amounts, &hold.bill.used, now);
            let crossed = match &owner.budget {
                Some(budget) => purse.money.settle(budget, hold.money, hold.bill.cost, now),
                None => {
                    purse.money.give_back(hold.money);
                    false
                }
            };
            if crossed && !self.alerts.contains(&id) {
                self.alerts.push(id);
            }
        }
    }
}
