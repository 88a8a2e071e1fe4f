//! Waiting for capacity: whether a call that found nobody joins the queue, and until when.

use crate::action::{Action, WaitReason};
use crate::call::{Call, Repeat};
use crate::catalog::Policy;
use crate::funnel::Funnel;
use crate::id::{CallId, DeploymentId, GroupId};
use crate::limit::Amounts;
use crate::queue::{Joining, Wanted};
use crate::rejection::{RefusalReason, Rejection};
use crate::router::Router;
use crate::state::Target;
use crate::time::Timestamp;
use crate::visits::Visits;
use crate::walk::{Step, Walk};

/// When a call that found nobody could be served.
#[derive(Clone, Copy, Debug, Default)]
struct Prospect {
    /// The earliest time at which somebody has room for it and for all who wait before it.
    in_turn: Option<Timestamp>,
    /// The same, if nobody waited before it.
    by_itself: Option<Timestamp>,
    /// Somebody is busy; nobody knows for how long.
    busy: bool,
}

impl Walk<'_> {
    /// A place in the queue if capacity is expected before the call gives up, else `otherwise`.
    pub(crate) fn wait_for_capacity(&self, call: &Call, policy: &Policy, otherwise: Step) -> Step {
        let refuse = |reason| match call.history.attempts {
            0 => Step::Refuse(reason),
            _ => otherwise,
        };
        let gives_up = call.history.gives_up.unwrap_or(self.now.plus(policy.wait.max));
        let gives_up = gives_up.min(call.deadline);
        let waits = call.history.gives_up.is_some();
        let prospect = self.prospect(call);
        let hopeless = !prospect.busy && prospect.by_itself.is_none_or(|time| time > gives_up);
        if waits && (self.now >= gives_up || hopeless) {
            return refuse(RefusalReason::WaitTooLong);
        }
        if policy.wait.max.is_zero() || hopeless {
            return otherwise;
        }
        if !prospect.busy && prospect.in_turn.is_none_or(|time| time > gives_up) {
            return refuse(RefusalReason::WaitTooLong);
        }
        let most = usize::try_from(policy.wait.queue).unwrap_or(usize::MAX);
        let length = call.route.origin.map_or(0, |group| self.queue.length(group));
        if !waits && length >= most {
            return refuse(RefusalReason::QueueFull);
        }
        let until = prospect.in_turn.map_or(gives_up, |time| time.min(gives_up));
        Step::Queue { until, gives_up }
    }

    /// The deployments whose capacity the call would wait for.
    pub(crate) fn waits_for(&self, call: &Call) -> Vec<Wanted> {
        let mut found = Vec::new();
        self.each_passing(call, |Target { deployment, state }, _| {
            let wanted = Wanted { deployment, state: self.fleet.key(state) };
            if !found.contains(&wanted) {
                found.push(wanted);
            }
        });
        found
    }

    fn prospect(&self, call: &Call) -> Prospect {
        let rank = self.queue.rank(call.id, call.flow());
        let mut prospect = Prospect::default();
        self.each_passing(call, |target, lifts| {
            let id = target.deployment;
            let Some(lifts) = lifts else {
                prospect.busy = true;
                return;
            };
            let own = self.fleet.amounts(self.catalog, target, call.asked());
            let ahead = self.queue.amounts_ahead(id, rank, |wanted| {
                self.fleet.may_go_first(wanted, target, self.now)
            });
            let ahead = self.fleet.counted(self.catalog, target, &ahead).plus(&own);
            let priority = call.request.priority;
            let room = self.fleet.has_room(self.catalog, id, priority, &ahead, self.now);
            let in_turn = match room {
                Err(Rejection::RateLimited { until }) => until.max(lifts),
                _ => lifts,
            };
            prospect.by_itself = earlier(prospect.by_itself, lifts);
            prospect.in_turn = earlier(prospect.in_turn, in_turn);
        });
        prospect
    }

    /// Every untried candidate whose reason time will lift, and when, if that is known.
    fn each_passing(&self, call: &Call, mut visit: impl FnMut(Target, Option<Timestamp>)) {
        let mut visits = Visits::of(call);
        while let Some(one) = visits.next(self, call, true) {
            let funnel = Funnel::new(self, call, one, Repeat::Untried(&call.history));
            for member in &self.catalog.group(one.group).members {
                match funnel.examine(member) {
                    Err(rejection)
                        if rejection.passes() && !call.history.has_tried(member.deployment) =>
                    {
                        visit(funnel.target(member.deployment), funnel.lifts_at(member, rejection));
                    }
                    _ => {}
                }
            }
        }
    }
}

impl Router {
    /// Join the queue, or wait on in the same place.
    pub(crate) fn enqueue(
        &mut self,
        call: &mut Call,
        until: Timestamp,
        gives_up: Timestamp,
        now: Timestamp,
    ) -> Action {
        let waits_for = self.walk(now).waits_for(call);
        call.history.gives_up = Some(gives_up);
        if let Some(group) = call.route.origin {
            self.queue.join(Joining {
                call: call.id,
                flow: call.flow(),
                group,
                amounts: call.amounts,
                waits_for,
                until: gives_up,
            });
        }
        call.waits(until, WaitReason::Capacity, now);
        Action::Wait { until, why: WaitReason::Capacity }
    }

    /// How many calls that asked for this group wait for capacity.
    pub fn waiting(&self, group: GroupId) -> usize {
        self.queue.length(group)
    }

    /// The waiting calls for which capacity has come free: resume each with [`Event::Woken`](crate::Event::Woken).
    /// Level-triggered: a call that is not resumed comes back by its own `until`.
    pub fn wakes(&mut self) -> Vec<CallId> {
        let (catalog, fleet, now) = (&self.catalog, &self.fleet, self.latest);
        let linked = |one: DeploymentId, other: DeploymentId| {
            let provider = catalog.deployment(one).provider;
            let limited = !catalog.provider(provider).rates.is_empty();
            limited && provider == catalog.deployment(other).provider
        };
        let fits = |id: DeploymentId, priority, amounts: &Amounts| {
            let amounts = fleet.counted(catalog, Target::of(id), amounts);
            fleet.has_room(catalog, id, priority, &amounts, now).is_ok()
        };
        let open = |wanted: &Wanted| fleet.is_open(wanted, now);
        self.queue.wake(linked, open, fits)
    }
}

fn earlier(known: Option<Timestamp>, time: Timestamp) -> Option<Timestamp> {
    Some(known.map_or(time, |known| known.min(time)))
}
