//! The live side of every owner above the deployments, and what each call in flight holds of them.

use crate::catalog::Catalog;
use crate::cost::Bill;
use crate::id::ReservationId;
use crate::ledger::Ledger;
use crate::limit::{Amounts, Meter};
use crate::money::Money;
use crate::owners::{Chain, Owner, OwnerId, Owners};
use crate::time::Timestamp;

/// One owner's buckets, slots and money.
#[derive(Clone, Debug)]
pub(crate) struct Purse {
    pub(crate) meter: Meter,
    pub(crate) money: Money,
    /// It is among those that have changed.
    changed: bool,
}

/// What one call holds of its owners, from its beginning to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) owners: Chain,
    pub(crate) amounts: Amounts,
    /// Reserved of every budget, in nano-USD; never less than what the attempts so far and the
    /// one in flight are reckoned to cost.
    pub(crate) money: u64,
    /// What it may cost beyond that, should the estimates prove too low, in nano-USD.
    pub(crate) margin: u64,
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
        margin: 0,
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
    /// Who has changed since the last look, each once.
    changed: Vec<OwnerId>,
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
            purse.meter.edit(&before.rates, &after.rates, now);
            if let Some(after) = &after.budget {
                purse.money.edit(after, now);
            }
        }
        self.grow(new, now);
    }

    fn grow(&mut self, owners: &Owners, now: Timestamp) {
        for owner in owners.all().iter().skip(self.all.len()) {
            let meter = Meter::full(&owner.rates, now);
            self.all.push(Purse { meter, money: Money::new(), changed: false });
        }
    }

    pub(crate) fn get(&self, id: OwnerId) -> Option<&Purse> {
        self.all.get(id.index())
    }

    /// The state of a snapshot, in the place of what is there.
    pub(crate) fn restore(
        &mut self,
        id: OwnerId,
        owner: &Owner,
        meter: Meter,
        money: &Money,
        now: Timestamp,
    ) {
        let Some(purse) = self.all.get_mut(id.index()) else { return };
        purse.meter = meter;
        purse.money = money.clone();
        if let Some(budget) = &owner.budget {
            purse.money.restart(budget, now);
        }
        if purse.money != *money {
            touch(&mut self.changed, purse, id);
        }
    }

    /// Whose state has changed since the last call of this.
    pub(crate) fn drain_changed(&mut self) -> Vec<OwnerId> {
        let changed = self.changed.clone();
        // It keeps its room.
        self.changed.clear();
        for id in &changed {
            if let Some(purse) = self.all.get_mut(id.index()) {
                purse.changed = false;
            }
        }
        changed
    }

    /// What a call may still spend; `None` if no budget binds it.
    pub(crate) fn funds(&self, owners: &Owners, hold: &Hold, now: Timestamp) -> Option<Funds> {
        let mut funds: Option<Funds> = None;
        // What is reserved and not used up is the call's own to spend.
        let own = hold.money.saturating_sub(hold.bill.cost).saturating_add(hold.margin);
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
            let (Some(owner), Some(purse)) = (owners.get(id), self.all.get_mut(id.index())) else {
                continue;
            };
            purse.meter.reserve(&owner.rates, &hold.amounts, now);
            purse.money.reserve(hold.money);
            purse.money.allow_for(hold.margin);
            touch(&mut self.changed, purse, id);
        }
    }

    /// Reserve more money for a call, and allow for more beyond it.
    pub(crate) fn raise(&mut self, hold: &mut Hold, money: u64, margin: u64) {
        let more = money.saturating_sub(hold.money);
        let wider = margin.saturating_sub(hold.margin);
        for id in hold.owners.iter() {
            if let Some(purse) = self.all.get_mut(id.index()) {
                purse.money.reserve(more);
                purse.money.allow_for(wider);
                touch(&mut self.changed, purse, id);
            }
        }
        hold.money = hold.money.saturating_add(more);
        hold.margin = hold.margin.saturating_add(wider);
    }

    /// Give back what a call holds, and take what it used.
    pub(crate) fn settle(&mut self, owners: &Owners, hold: &Hold, now: Timestamp) {
        for id in hold.owners.iter() {
            let (Some(owner), Some(purse)) = (owners.get(id), self.all.get_mut(id.index())) else {
                continue;
            };
            purse.meter.settle(&owner.rates, &hold.amounts, &hold.bill.used, now);
            purse.money.no_longer_allow_for(hold.margin);
            let crossed = match &owner.budget {
                Some(budget) => purse.money.settle(budget, hold.money, hold.bill.cost, now),
                None => {
                    purse.money.give_back(hold.money);
                    false
                }
            };
            touch(&mut self.changed, purse, id);
            if crossed && !self.alerts.contains(&id) {
                self.alerts.push(id);
            }
        }
    }
}

fn touch(changed: &mut Vec<OwnerId>, purse: &mut Purse, id: OwnerId) {
    if !purse.changed {
        purse.changed = true;
        changed.push(id);
    }
}
