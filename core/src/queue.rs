//! Calls that wait for capacity, in order.
//!
//! Rank is priority first, then fairness among callers, then arrival; it is settled when the call
//! joins. A call that finds room nevertheless stands back if one of higher rank waits for the same
//! deployment; so nobody overtakes by being lucky with the moment. A
//! head too big for what is left may be passed by smaller ones, eight times. Whoever waits holds
//! nothing. A release wakes the best head that fits, whatever group it came by; the woken call
//! decides anew, and keeps its place if it fails.

use core::time::Duration;

use crate::fairness::{Charge, Fairness, Flow};
use crate::id::{CallId, DeploymentId, GroupId};
use crate::limit::Amounts;
use crate::request::Priority;
use crate::state::StateKey;
use crate::time::Timestamp;

/// How often a head that is too big for what is left may be passed.
const PASSES: u8 = 8;

/// A ticket whose host is lost keeps its place this much longer than it could have waited.
const LEASE_GRACE: Duration = Duration::from_secs(1);

/// Who goes first: the lesser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    priority: Priority,
    /// Where the call starts among those of all callers.
    start: u64,
    /// The order of arrival; [`Rank::NEWCOMER`] for a call that has not joined.
    arrival: u64,
}

impl Rank {
    const NEWCOMER: u64 = u64::MAX;
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    /// The best rank first.
    tickets: Vec<Ticket>,
    /// Where capacity may have come free since the last look.
    released: Vec<Release>,
    arrivals: u64,
    fairness: Fairness,
}

/// Capacity that may have come free at a deployment.
#[derive(Clone, Copy, Debug)]
struct Release {
    deployment: DeploymentId,
    /// The call that was woken for it and could not use it, for a reason that the queue does not
    /// know: only those behind it are asked, or it would be woken for the same for ever.
    behind: Option<Rank>,
}

/// One waiting call.
#[derive(Clone, Debug)]
struct Ticket {
    call: CallId,
    rank: Rank,
    group: GroupId,
    amounts: Amounts,
    charge: Charge,
    waits_for: Vec<Wanted>,
    lease: Timestamp,
    woken: bool,
    passed: u8,
}

/// A deployment whose capacity a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) deployment: DeploymentId,
    /// Whose gates the call would have to pass there.
    pub(crate) state: StateKey,
}

/// What a call brings to the queue.
pub(crate) struct Joining {
    pub(crate) call: CallId,
    pub(crate) flow: Flow,
    pub(crate) group: GroupId,
    pub(crate) amounts: Amounts,
    pub(crate) waits_for: Vec<Wanted>,
    /// When it gives up.
    pub(crate) until: Timestamp,
}

impl Queue {
    pub(crate) const fn is_empty(&self) -> bool {
        self.tickets.is_empty()
    }

    /// Whether capacity may have come free since the last look.
    pub(crate) const fn has_released(&self) -> bool {
        !self.released.is_empty()
    }

    /// How many calls of a group wait.
    pub(crate) fn length(&self, group: GroupId) -> usize {
        self.tickets.iter().filter(|ticket| ticket.group == group).count()
    }

    /// The rank of a call: its own if it waits, else a newcomer's.
    pub(crate) fn rank(&self, call: CallId, flow: Flow) -> Rank {
        let ticket = self.tickets.iter().find(|ticket| ticket.call == call);
        ticket.map_or_else(|| self.newcomer(flow), |ticket| ticket.rank)
    }

    fn newcomer(&self, flow: Flow) -> Rank {
        let start = self.fairness.mark(flow);
        Rank { priority: flow.priority, start, arrival: Rank::NEWCOMER }
    }

    /// Whether a call of this rank must stand back at a deployment: somebody of higher rank waits
    /// for it who would fit, or has been passed often enough. Those whom their gates keep out are
    /// not `open` and bar nobody.
    pub(crate) fn keeps(
        &self,
        deployment: DeploymentId,
        rank: Rank,
        open: impl Fn(&Wanted) -> bool,
        fits: impl Fn(Priority, &Amounts) -> bool,
    ) -> bool {
        self.ahead(deployment, rank, open)
            .any(|ticket| ticket.passed >= PASSES || fits(ticket.rank.priority, &ticket.amounts))
    }

    /// What those of higher rank who wait for a deployment and are `open` will take, together.
    pub(crate) fn amounts_ahead(
        &self,
        deployment: DeploymentId,
        rank: Rank,
        open: impl Fn(&Wanted) -> bool,
    ) -> Amounts {
        self.ahead(deployment, rank, open)
            .fold(Amounts::default(), |sum, ticket| sum.plus(&ticket.amounts))
    }

    /// Join, or wait on with the same rank.
    pub(crate) fn join(&mut self, joining: Joining) {
        let lease = joining.until.plus(LEASE_GRACE);
        if let Some(ticket) = self.tickets.iter_mut().find(|ticket| ticket.call == joining.call) {
            // It was woken and failed: whoever comes next may have better luck.
            let woken = core::mem::take(&mut ticket.woken);
            let behind = Some(ticket.rank);
            let before = core::mem::replace(&mut ticket.waits_for, joining.waits_for);
            if woken {
                self.release_all(places(&before), behind);
            }
            return;
        }
        let Joining { call, flow, group, amounts, waits_for, .. } = joining;
        self.arrivals = self.arrivals.saturating_add(1);
        let start = self.start_at(self.newcomer(flow), places(&waits_for)).start;
        let arrival = self.arrivals;
        let rank = Rank { priority: flow.priority, start, arrival };
        let charge = self.fairness.charge(flow, arrival, start, tokens(&amounts));
        let place = self.tickets.partition_point(|ticket| ticket.rank < rank);
        let (woken, passed) = (false, 0);
        let ticket = Ticket { call, rank, group, amounts, charge, waits_for, lease, woken, passed };
        self.tickets.insert(place, ticket);
    }

    /// A call waits no more without having got anything; what it was woken for may wake another.
    pub(crate) fn leave(&mut self, call: CallId) {
        if let Some(ticket) = self.remove(call) {
            self.settle(ticket.charge, 0);
            self.forget_if_empty();
        }
    }

    /// A call gets an attempt at a deployment. Those of higher rank who wait for it have been
    /// passed; what its caller is charged for it comes back, if anybody waits.
    pub(crate) fn serve(
        &mut self,
        call: CallId,
        flow: Flow,
        amounts: &Amounts,
        deployment: DeploymentId,
    ) -> Option<Charge> {
        if self.tickets.is_empty() {
            return None;
        }
        let ticket = self.remove(call);
        let rank = match &ticket {
            Some(ticket) => ticket.rank,
            None => self.start_at(self.newcomer(flow), [deployment].into_iter()),
        };
        for ticket in &mut self.tickets {
            if ticket.rank < rank && ticket.wanted(deployment).is_some() {
                ticket.passed = ticket.passed.saturating_add(1);
            }
        }
        self.fairness.serve(flow.priority, deployment, rank.start);
        let charge = match ticket {
            Some(ticket) => ticket.charge,
            None => self.fairness.charge(flow, self.arrivals, rank.start, tokens(amounts)),
        };
        self.forget_if_empty();
        Some(charge)
    }

    /// An attempt for which its caller was charged has ended, and used this many tokens.
    pub(crate) fn settle(&mut self, charge: Charge, used: u64) {
        let Some(shift) = self.fairness.correct(charge, used) else { return };
        for ticket in &mut self.tickets {
            if ticket.charge.flow == charge.flow && ticket.charge.arrival > charge.arrival {
                ticket.rank.start = shift.of(ticket.rank.start);
            }
        }
        self.tickets.sort_by_key(|ticket| ticket.rank);
    }

    fn remove(&mut self, call: CallId) -> Option<Ticket> {
        let place = self.tickets.iter().position(|ticket| ticket.call == call)?;
        let ticket = self.tickets.remove(place);
        self.release_all(places(&ticket.waits_for), None);
        Some(ticket)
    }

    fn forget_if_empty(&mut self) {
        if self.tickets.is_empty() {
            self.fairness.forget();
        }
    }

    /// Capacity may have come free at a deployment. Each is remembered once, however often it does
    /// before the next look.
    pub(crate) fn release(&mut self, deployment: DeploymentId) {
        self.release_all([deployment].into_iter(), None);
    }

    fn release_all(
        &mut self,
        deployments: impl Iterator<Item = DeploymentId>,
        behind: Option<Rank>,
    ) {
        if self.tickets.is_empty() {
            return;
        }
        for deployment in deployments {
            match self.released.iter_mut().find(|known| known.deployment == deployment) {
                // Nobody is less than any rank: the wider of the two.
                Some(known) => known.behind = known.behind.min(behind),
                None => self.released.push(Release { deployment, behind }),
            }
        }
    }

    /// The calls to wake: for each deployment where capacity came free, the best head that fits.
    /// `linked` says whether two deployments share a limit; `open` whether the gates let a call
    /// through; `fits` whether there is room.
    pub(crate) fn wake(
        &mut self,
        linked: impl Fn(DeploymentId, DeploymentId) -> bool,
        open: impl Fn(&Wanted) -> bool,
        fits: impl Fn(DeploymentId, Priority, &Amounts) -> bool,
    ) -> Vec<CallId> {
        let mut woken = Vec::new();
        for Release { deployment, behind } in core::mem::take(&mut self.released) {
            let start = self.tickets.partition_point(|ticket| Some(ticket.rank) <= behind);
            for ticket in self.tickets.iter_mut().skip(start) {
                let wanted = |one: &&Wanted| {
                    one.deployment == deployment || linked(one.deployment, deployment)
                };
                let Some(place) = ticket.waits_for.iter().find(wanted) else { continue };
                if !open(place) {
                    continue;
                }
                if ticket.woken {
                    break;
                }
                if fits(place.deployment, ticket.rank.priority, &ticket.amounts) {
                    ticket.woken = true;
                    woken.push(ticket.call);
                    break;
                }
                if ticket.passed >= PASSES {
                    break;
                }
            }
        }
        woken
    }

    /// Drop tickets whose host is lost.
    pub(crate) fn sweep(&mut self, now: Timestamp) {
        if !self.tickets.is_empty() {
            self.tickets.retain(|ticket| now < ticket.lease);
            self.forget_if_empty();
        }
    }

    /// A rank at these places; a newcomer's is not before what was served there: whoever was idle
    /// has saved up nothing.
    fn start_at(&self, rank: Rank, places: impl Iterator<Item = DeploymentId>) -> Rank {
        if rank.arrival != Rank::NEWCOMER {
            return rank;
        }
        let reached = places.map(|place| self.fairness.reached(rank.priority, place));
        Rank { start: reached.fold(rank.start, u64::max), ..rank }
    }

    fn ahead(
        &self,
        deployment: DeploymentId,
        rank: Rank,
        open: impl Fn(&Wanted) -> bool,
    ) -> impl Iterator<Item = &Ticket> {
        let rank = self.start_at(rank, [deployment].into_iter());
        self.tickets
            .iter()
            .take_while(move |ticket| ticket.rank < rank)
            .filter(move |ticket| ticket.wanted(deployment).is_some_and(&open))
    }
}

impl Ticket {
    fn wanted(&self, deployment: DeploymentId) -> Option<&Wanted> {
        self.waits_for.iter().find(|one| one.deployment == deployment)
    }
}

fn places(wanted: &[Wanted]) -> impl Iterator<Item = DeploymentId> + '_ {
    wanted.iter().map(|one| one.deployment)
}

/// What a call counts for among callers.
const fn tokens(amounts: &Amounts) -> u64 {
    amounts.input.saturating_add(amounts.output)
}

#[cfg(test)]
mod model;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::StateId;

    const D: DeploymentId = DeploymentId(0);

    const fn flow(priority: Priority) -> Flow {
        Flow { priority, caller: None }
    }

    fn joining(call: u64, priority: Priority, input: u64) -> Joining {
        Joining {
            call: CallId(call),
            flow: flow(priority),
            group: GroupId(0),
            amounts: Amounts { requests: 1, input, output: 0 },
            waits_for: vec![Wanted::of(D)],
            until: Timestamp::from_micros(1_000_000),
        }
    }

    impl Wanted {
        /// Under its own state.
        pub(super) const fn of(deployment: DeploymentId) -> Self {
            Self { deployment, state: StateKey { id: StateId::of(deployment), generation: 0 } }
        }
    }

    fn wake(queue: &mut Queue, left: u64) -> Vec<u64> {
        queue.release(D);
        let woken = queue.wake(|_, _| false, |_| true, |_, _, amounts| amounts.input <= left);
        woken.iter().map(|call| call.number()).collect()
    }

    #[test]
    fn interactive_goes_before_batch_and_arrival_decides_within() {
        let mut queue = Queue::default();
        queue.join(joining(1, Priority::Batch, 1));
        queue.join(joining(2, Priority::Interactive, 1));
        queue.join(joining(3, Priority::Interactive, 1));
        for expected in [2, 3, 1] {
            assert_eq!(wake(&mut queue, 10), [expected]);
            queue.leave(CallId(expected));
        }
    }

    #[test]
    fn a_woken_call_that_fails_keeps_its_place() {
        let mut queue = Queue::default();
        queue.join(joining(1, Priority::Interactive, 1));
        queue.join(joining(2, Priority::Interactive, 1));
        assert_eq!(wake(&mut queue, 10), [1]);
        assert!(wake(&mut queue, 10).is_empty(), "one at a time");
        queue.join(joining(1, Priority::Interactive, 1));
        assert_eq!(wake(&mut queue, 10), [1]);
    }

    #[test]
    fn what_a_woken_call_could_not_use_is_for_those_behind_it() {
        let mut queue = Queue::default();
        for n in 1..=3 {
            queue.join(joining(n, Priority::Interactive, 1));
        }
        let look = |queue: &mut Queue| -> Vec<u64> {
            queue
                .wake(|_, _| false, |_| true, |_, _, _| true)
                .iter()
                .map(|call| call.number())
                .collect()
        };
        queue.release(D);
        for expected in 1..=3 {
            assert_eq!(look(&mut queue), [expected]);
            queue.join(joining(expected, Priority::Interactive, 1));
        }
        assert!(look(&mut queue).is_empty(), "nobody is asked twice about the same");
        assert_eq!(wake(&mut queue, 10), [1], "what comes free later is for the head again");
    }

    #[test]
    fn a_big_head_is_passed_eight_times() {
        let mut queue = Queue::default();
        queue.join(joining(1, Priority::Interactive, 100));
        for n in 2..20 {
            queue.join(joining(n, Priority::Interactive, 1));
        }
        let mut passed = 0;
        while let [call] = wake(&mut queue, 10)[..] {
            let amounts = Amounts::default();
            let _ = queue.serve(CallId(call), flow(Priority::Interactive), &amounts, D);
            passed += 1;
        }
        assert_eq!(passed, 8);
        assert_eq!(wake(&mut queue, 100), [1]);
    }

    #[test]
    fn a_newcomer_stands_back_for_who_fits_and_passes_who_does_not() {
        let mut queue = Queue::default();
        queue.join(joining(1, Priority::Interactive, 5));
        let newcomer = queue.newcomer(flow(Priority::Interactive));
        assert!(queue.keeps(D, newcomer, |_| true, |_, amounts| amounts.input <= 5));
        assert!(!queue.keeps(D, newcomer, |_| true, |_, amounts| amounts.input <= 4));
        assert!(!queue.keeps(D, newcomer, |_| false, |_, _| true), "its gates keep it out");
        assert!(!queue.keeps(DeploymentId(1), newcomer, |_| true, |_, _| true));
        let own = queue.rank(CallId(1), flow(Priority::Interactive));
        assert!(!queue.keeps(D, own, |_| true, |_, _| true), "nobody stands back for itself");
    }

    #[test]
    fn a_lost_host_keeps_no_place_for_ever() {
        let mut queue = Queue::default();
        queue.join(joining(1, Priority::Interactive, 1));
        queue.sweep(Timestamp::from_micros(1_999_999));
        assert_eq!(queue.length(GroupId(0)), 1);
        queue.sweep(Timestamp::from_micros(2_000_000));
        assert!(queue.is_empty());
    }
}
