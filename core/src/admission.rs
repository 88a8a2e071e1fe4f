//! The caller's limits: asked before any candidate, reserved once per call, held over its attempts
//! and settled once with their sum.
//!
//! What is reserved of token limits is the largest estimate over the members of the group that the
//! call starts with. Money is reserved at the dearest of those; a dearer member of a fallback group is
//! admissible only if the budgets have room for it, and raises the reservation when it is chosen. So
//! what is reserved always covers what the attempts are reckoned to cost.
//!
//! A provider may count more input than the host did. So nobody is let in on what the calls in flight
//! may cost beyond their reservation: an owner with calls in flight takes another only if they all fit
//! at the most they will cost. The new one itself is asked for its estimate alone, or who calls one by
//! one could not spend a budget to its end. A budget is thus exceeded by at most what one call costs
//! beyond its estimate, while clients name the most output they want and no provider counts more than
//! [`Learnt::most`](crate::learnt::Learnt::most) allows for.

use core::time::Duration;

use crate::action::Action;
use crate::call::Call;
use crate::cost::Price;
use crate::counting::Used;
use crate::fleet::read;
use crate::id::{GroupId, ReservationId};
use crate::ledger::Held;
use crate::limit::Amounts;
use crate::model_facts::Asked;
use crate::owners::{Chain, Owner, OwnerId};
use crate::purse::{Alert, Hold};
use crate::rejection::{Denied, Refusal, RefusalReason, Rejection};
use crate::request::Priority;
use crate::router::{LEASE_GRACE, Router};
use crate::state::Target;
use crate::time::Timestamp;
use crate::trace::{LimitReading, TraceEntry};

impl Router {
    /// Ask the caller's limits and hold what the call needs of them; the refusal if one denies.
    pub(crate) fn admit(&mut self, call: &mut Call, now: Timestamp) -> Result<(), Refusal> {
        let Some(hold) = self.ask(call, now)? else { return Ok(()) };
        self.purses.reserve(&self.catalog.owners, &hold, now);
        let lease = call.deadline.plus(LEASE_GRACE);
        call.hold = Some((hold, Some(self.purses.holds.open(hold, lease))));
        Ok(())
    }

    /// Ask only. The call may be sent to another group by an exceeded budget.
    pub(crate) fn ask(&self, call: &mut Call, now: Timestamp) -> Result<Option<Hold>, Refusal> {
        let Some(owners) = self.catalog.owners.chain(call.request.caller) else {
            return Err(refusal(RefusalReason::NotPermitted, None, None));
        };
        let forbidden =
            |group| !self.catalog.rights(call.request.caller).allow(&self.catalog, group);
        if call.route.origin.is_some_and(forbidden) {
            return Err(refusal(RefusalReason::NotPermitted, None, None));
        }
        if owners.is_empty() || call.route.origin.is_none() {
            return Ok(None);
        }
        let before = call.route.origin;
        let mut waived = Chain::new();
        let asked = loop {
            let (amounts, money, margin) = self.largest(call, now);
            let hold = Hold { owners, amounts, money, margin, waived, ..Hold::EMPTY };
            match self.denial(&hold, call.request.priority, now) {
                Some((owner, Denial::Budget { .. })) if self.catalog.downgrade(owner).is_some() => {
                    // The nearest owner's group stands; those further out waive theirs.
                    if waived.is_empty() {
                        call.route.origin = self.catalog.downgrade(owner);
                    }
                    waived.push(owner);
                }
                Some((owner, denial)) => break Err((hold, owner, denial)),
                None => break Ok(hold),
            }
        };
        call.downgraded = waived.iter().next();
        let (hold, result) = match asked {
            Ok(hold) => (hold, Ok(Some(hold))),
            Err((hold, owner, denial)) => (hold, Err(self.denied(owner, denial))),
        };
        let group = call.route.origin.filter(|group| before != Some(*group));
        self.note_callers(call, &hold, group, result.as_ref().err(), now);
        result
    }

    /// The first limit that has no room; of rate limits the one that lifts last.
    fn denial(&self, hold: &Hold, priority: Priority, now: Timestamp) -> Option<(OwnerId, Denial)> {
        let mut worst: Option<(OwnerId, Denial)> = None;
        for (id, owner) in self.owners_of(hold) {
            let Some(purse) = self.purses.get(id) else { continue };
            let asked = |by| purse.meter.denial(&owner.rates, by, &hold.amounts, now);
            if let Some((limit, rejection)) = asked(priority) {
                let batch_reserve = asked(Priority::Interactive).is_none();
                let denial = Denial::Limit { limit, rejection, batch_reserve };
                if worst.is_none_or(|(_, worst)| worst.severity() < denial.severity()) {
                    worst = Some((id, denial));
                }
            }
        }
        if worst.is_some() {
            return worst;
        }
        for (id, owner) in self.owners_of(hold) {
            let (Some(purse), Some(budget)) = (self.purses.get(id), &owner.budget) else {
                continue;
            };
            if !hold.waived.contains(id) && !purse.money.fits(budget, hold.money, now) {
                let in_flight = purse.money.fits_alone(budget, hold.money, now);
                // Nobody knows when those will have settled: a second is a fair guess.
                let lifts_at = match in_flight {
                    true => Some(now.plus(Duration::from_secs(1))),
                    false => purse.money.lifts_at(budget, hold.money, now),
                };
                return Some((id, Denial::Budget { lifts_at, in_flight }));
            }
        }
        None
    }

    fn owners_of<'a>(&'a self, hold: &'a Hold) -> impl Iterator<Item = (OwnerId, &'a Owner)> + 'a {
        hold.owners.iter().filter_map(|id| Some((id, self.catalog.owners.get(id)?)))
    }

    fn denied(&self, owner: OwnerId, denial: Denial) -> Refusal {
        let owner =
            self.catalog.owners.get(owner).map_or("", |owner| owner.name.as_str()).to_owned();
        match denial {
            Denial::Limit { limit, rejection, batch_reserve } => refusal(
                RefusalReason::OverLimit,
                rejection.lifts_at(),
                Some(Denied { owner, limit, batch_reserve, in_flight: false }),
            ),
            Denial::Budget { lifts_at, in_flight } => refusal(
                RefusalReason::OverBudget,
                lifts_at,
                Some(Denied { owner, limit: "budget", batch_reserve: false, in_flight }),
            ),
        }
    }

    /// The largest estimate over the members of the group that the call starts with: of tokens, of
    /// cost in nano-USD, and of what it may cost beyond that.
    fn largest(&self, call: &Call, now: Timestamp) -> (Amounts, u64, u64) {
        let mut amounts = Amounts { requests: 1, ..Amounts::default() };
        let (mut money, mut most) = (0, 0);
        let Some(group) = call.route.origin else { return (amounts, money, 0) };
        let group = self.catalog.group(group);
        let model = group.takes_any.then(|| call.model(&self.catalog));
        let asked = call.asked();
        for member in &group.members {
            let deployment = self.catalog.deployment(member.deployment);
            if member.weight == 0 || deployment.blocked.is_some() {
                continue;
            }
            let state = self.fleet.state_of(member.deployment, model);
            let target = Target { deployment: member.deployment, state };
            let expected = self.fleet.expected(&self.catalog, target, asked);
            amounts.input = amounts.input.max(expected.input);
            amounts.output = amounts.output.max(expected.output);
            if let Some(price) = deployment.facts_of(asked.model).prices.at(now) {
                money = money.max(price.at_most(&expected));
                let widest = self.fleet.most(&self.catalog, target, asked);
                most = most.max(price.at_most(&widest));
            }
        }
        (amounts, money, most.saturating_sub(money))
    }

    /// An attempt goes out: what is reserved covers it, which the funnel has seen to.
    pub(crate) fn fund(
        &mut self,
        call: &mut Call,
        target: Target,
        expected: &Amounts,
        price: Option<&Price>,
    ) {
        let asked = Asked { request: &call.request, model: call.route.model };
        let Some((hold, Some(id))) = &mut call.hold else { return };
        let cost = |amounts: &Amounts| price.map_or(0, |price| price.at_most(amounts));
        let needed = hold.bill.cost.saturating_add(cost(expected)).max(hold.money);
        let most = self.fleet.most(&self.catalog, target, asked);
        let most = hold.bill.cost.saturating_add(cost(&most));
        self.purses.raise(hold, needed, most.saturating_sub(needed));
        if let Some(kept) = self.purses.holds.get_mut(*id) {
            *kept = *hold;
        }
    }

    /// The call's attempt has started or ended: the ledger's copy of what it holds follows, for the
    /// case that nothing is heard of it again.
    pub(crate) fn keep_hold(&mut self, call: &mut Call, attempt: Option<ReservationId>) {
        let bill = call.bill;
        if let Some((hold, Some(id))) = &mut call.hold {
            *hold = Hold { bill, attempt, ..*hold };
            if let Some(kept) = self.purses.holds.get_mut(*id) {
                *kept = *hold;
            }
        }
    }

    /// If the call is over, give back what it held and take what it used, once.
    pub(crate) fn settle_call(&mut self, call: &mut Call, action: &Action, now: Timestamp) {
        if !matches!(action, Action::Finish(_)) {
            return;
        }
        let Some((_, Some(id))) = call.hold.take() else { return };
        if let Some(hold) = self.purses.holds.close(id) {
            self.purses.settle(&self.catalog.owners, &hold, now);
        }
    }

    /// Settle what was held by hosts that are lost: what was reserved counts.
    pub(crate) fn sweep(&mut self, now: Timestamp) {
        if let Some(held) = self.ledger.expired(now) {
            self.lose(&held, now);
        }
        if let Some(mut hold) = self.purses.holds.expired(now) {
            if let Some(held) = hold.attempt.and_then(|attempt| self.ledger.close(attempt)) {
                self.lose(&held, now);
                hold.bill.add(true, &Used::all(&held.expected).usage, held.price.as_ref());
            }
            self.purses.settle(&self.catalog.owners, &hold, now);
        }
        self.queue.sweep(now);
    }

    fn lose(&mut self, held: &Held, now: Timestamp) {
        let used = Used::all(&held.expected);
        self.fleet.settle(&self.catalog, held, &used, now);
        self.fleet.on_no_verdict(held.deployment, &held.sent, now);
        self.queue.release(held.deployment);
        if let Some(hold) = held.hold.and_then(|id| self.purses.holds.get_mut(id)) {
            hold.bill.add(true, &used.usage, held.price.as_ref());
            hold.attempt = None;
        }
    }

    /// The budgets that have crossed their soft limit since the last call.
    pub fn drain_alerts(&mut self) -> Vec<Alert> {
        let now = self.latest;
        let alerts = core::mem::take(&mut self.purses.alerts);
        let alert = |id: OwnerId| {
            let (owner, purse) = (self.catalog.owners.get(id)?, self.purses.get(id)?);
            let budget = owner.budget.as_ref()?;
            let spent = purse.money.spent(&budget.window, now);
            Some(Alert { owner: owner.name.clone(), spent, budget: budget.nano_usd })
        };
        alerts.into_iter().filter_map(alert).collect()
    }

    /// The limits of one owner now: `key NAME`, `team NAME`, `organisation NAME` or `gateway`.
    /// `before` and `after` are the same.
    pub fn owner_readings(&self, owner: &str, now: Timestamp) -> Vec<LimitReading> {
        let Some(id) = self.catalog.owners.find(owner) else { return Vec::new() };
        self.readings_of(id, &Amounts::default(), 0, 0, now.max(self.latest))
    }

    /// What one owner's budget has spent, and what calls in flight have reserved of it, in nano-USD;
    /// `None` if it has no budget.
    pub fn owner_money(&self, owner: &str, now: Timestamp) -> Option<(u64, u64)> {
        let id = self.catalog.owners.find(owner)?;
        let budget = self.catalog.owners.get(id)?.budget?;
        let money = &self.purses.get(id)?.money;
        Some((money.spent(&budget.window, now.max(self.latest)), money.reserved()))
    }

    /// Calls in flight under one owner.
    pub fn owner_in_flight(&self, owner: &str) -> u32 {
        let id = self.catalog.owners.find(owner);
        id.and_then(|id| self.purses.get(id)).map_or(0, |purse| purse.meter.in_flight())
    }

    fn note_callers(
        &self,
        call: &mut Call,
        hold: &Hold,
        group: Option<GroupId>,
        refused: Option<&Refusal>,
        now: Timestamp,
    ) {
        if call.trace.is_none() {
            return;
        }
        let (amounts, money) = match refused {
            Some(_) => (Amounts::default(), 0),
            None => (hold.amounts, hold.money),
        };
        let slots = u32::from(refused.is_none());
        let read = |id| self.readings_of(id, &amounts, money, slots, now);
        let limits = hold.owners.iter().flat_map(read).collect();
        let denied = refused.and_then(|refusal| refusal.denied.as_ref());
        let entry = TraceEntry::Callers {
            at: now,
            limits,
            denied: denied.map(ToString::to_string),
            group: group.map(|group| self.catalog.group(group).name.clone()),
        };
        call.note(|| entry);
    }

    /// Every limit of an owner before and after it gives these amounts.
    fn readings_of(
        &self,
        id: OwnerId,
        amounts: &Amounts,
        money: u64,
        slots: u32,
        now: Timestamp,
    ) -> Vec<LimitReading> {
        let mut readings = Vec::new();
        let Some((owner, purse)) = self.catalog.owners.get(id).zip(self.purses.get(id)) else {
            return readings;
        };
        read(&mut readings, &owner.name, &purse.meter, &owner.rates, amounts, slots, now);
        if let Some(budget) = &owner.budget {
            let spent = purse.money.spent(&budget.window, now);
            let gone = spent.saturating_add(purse.money.in_flight());
            let signed = |nano: u64| i64::try_from(nano).unwrap_or(i64::MAX);
            let before = signed(budget.nano_usd).saturating_sub(signed(gone));
            readings.push(LimitReading {
                owner: owner.name.clone(),
                dimension: "budget_nano_usd".to_owned(),
                limit: budget.nano_usd,
                before,
                after: before.saturating_sub(signed(money)),
            });
        }
        readings
    }
}

/// Why an owner has no room.
#[derive(Clone, Copy, Debug)]
enum Denial {
    Limit { limit: &'static str, rejection: Rejection, batch_reserve: bool },
    Budget { lifts_at: Option<Timestamp>, in_flight: bool },
}

impl Denial {
    /// What never lifts before what lifts last before what nobody knows the end of.
    const fn severity(&self) -> (u8, Timestamp) {
        match self {
            Self::Limit { rejection: Rejection::NeverFits, .. } => (2, Timestamp::ZERO),
            Self::Limit { rejection: Rejection::RateLimited { until }, .. } => (1, *until),
            Self::Limit { .. } | Self::Budget { .. } => (0, Timestamp::ZERO),
        }
    }
}

fn refusal(reason: RefusalReason, retry_at: Option<Timestamp>, denied: Option<Denied>) -> Refusal {
    Refusal { reason, retry_at, candidates: Vec::new(), denied }
}
