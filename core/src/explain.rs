//! Looking without touching: what would become of a request, and what state things are in.

use std::sync::Arc;

use crate::action::{Outcome, WaitReason};
use crate::catalog::Catalog;
use crate::chance::Seed;
use crate::health::Gate;
use crate::id::DeploymentId;
use crate::purse::Hold;
use crate::record;
use crate::rejection::Refusal;
use crate::request::Request;
use crate::router::Router;
use crate::time::Timestamp;
use crate::trace::Trace;
use crate::walk::{Scratch, Step};

impl Router {
    /// What would become of this request, and why: the record of a call that is never made.
    /// Reserves nothing and moves no counter. Without a caller this is the operator's view: nobody's
    /// limits and budgets apply.
    pub fn explain(&self, request: &Request, seed: Seed, now: Timestamp) -> Trace {
        let now = now.max(self.latest);
        let request = Request { trace: true, ..request.clone() };
        let mut call = self.open(request, seed, now);
        call.operator = call.request.caller.is_none();
        let asked = if call.operator { Ok(None) } else { self.ask(&mut call, now) };
        match asked {
            Ok(hold) => call.hold = hold.map(|hold| (Hold { money: 0, margin: 0, ..hold }, None)),
            Err(refusal) => {
                let outcome = Outcome::Refused(refusal);
                call.note(|| record::finished(&outcome, now));
                return call.take_trace().unwrap_or_default();
            }
        }
        match self.walk(now).next(&mut call, None, &mut Scratch::default()) {
            Step::Send(_) | Step::Rank => {}
            Step::Wait { until, why } => call.waits(until, why, now),
            Step::Queue { until, .. } => call.waits(until, WaitReason::Capacity, now),
            Step::Stop(_) => {}
            Step::Refuse(reason) => {
                let (candidates, retry_at) = self.walk(now).rejections(&call);
                let outcome =
                    Outcome::Refused(Refusal { reason, retry_at, candidates, denied: None });
                call.note(|| record::finished(&outcome, now));
            }
        }
        call.take_trace().unwrap_or_default()
    }

    /// The catalog in force.
    pub const fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Whether a deployment takes traffic, and if not, why and until when.
    pub fn gate(&self, id: DeploymentId, now: Timestamp) -> Gate {
        let now = now.max(self.latest);
        let configured = self.catalog.deployments.get(id.index());
        match (configured, self.fleet.find_endpoint(id)) {
            (Some(deployment), Some(_)) if deployment.blocked.is_none() && !deployment.retired => {
                self.fleet.gate(id, now)
            }
            _ => Gate::Blocked,
        }
    }

    /// Calls in flight at a deployment.
    pub fn in_flight(&self, id: DeploymentId) -> u32 {
        self.fleet.find_endpoint(id).map_or(0, |endpoint| endpoint.meter.in_flight())
    }

    /// Since when failures to connect have been our own fault: unrelated providers fail together.
    /// While this lasts they count against nobody; hosts warn once.
    pub const fn own_fault(&self) -> Option<Timestamp> {
        self.own_fault.since()
    }

    /// Open reservations, of attempts and of callers' calls.
    pub const fn reserved(&self) -> usize {
        self.ledger.len().saturating_add(self.purses.holds.len())
    }
}
