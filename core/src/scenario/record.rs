//! What is noted about one call while it runs, and the report that becomes of it.

use core::time::Duration;

use super::plan::CallPlan;
use super::play::Ending;
use super::report::{AttemptReport, CallReport};
use crate::action::Outcome;
use crate::call::Call;
use crate::catalog::Catalog;
use crate::id::DeploymentId;
use crate::idempotency::Repetition;
use crate::rejection::{Candidate, RefusalReason};
use crate::request::Warning;
use crate::time::{Timestamp, micros, whole_seconds};
use crate::trace::{Decision, Trace, TraceEntry, VerdictKind};

/// The notes on one call.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) report: CallReport,
    came: Duration,
}

impl Record {
    pub(super) fn new(plan: &CallPlan) -> Self {
        let report =
            CallReport { call: plan.label.clone(), at: micros(plan.at), ..CallReport::default() };
        Self { report, came: plan.at }
    }

    fn since_start(&self, now: Duration) -> u64 {
        micros(now.saturating_sub(self.came))
    }

    pub(super) fn sent(&mut self, now: Duration, deployment: String) {
        let sent_at = self.since_start(now);
        let attempt =
            AttemptReport { deployment, sent_at, ended_at: None, failed: None, status: None };
        self.report.attempts.push(attempt);
    }

    pub(super) fn attempt_ended(&mut self, now: Duration, ending: &Ending) {
        let ended_at = self.since_start(now);
        if let Some(attempt) = self.report.attempts.last_mut() {
            attempt.ended_at = Some(ended_at);
            if let Ending::Failed(failure, _) = ending {
                attempt.failed = Some(failure.kind);
                attempt.status = failure.status;
            }
        }
    }

    pub(super) fn committed(&mut self, now: Duration) {
        self.report.committed = true;
        self.report.first_token_at = Some(self.since_start(now));
    }

    pub(super) fn waited(&mut self, length: Duration) {
        self.report.waited = self.report.waited.saturating_add(micros(length));
    }

    /// The host has forgotten the call.
    pub(super) fn lost(&mut self, now: Duration, mut call: Call) {
        self.report.outcome = "lost";
        self.report.ends_at = self.since_start(now);
        self.report.fallbacks = call.fallbacks();
        self.keep(call.take_trace());
    }

    /// The router has finished the call, at `clock` by the host.
    pub(super) fn finished(
        &mut self,
        now: Duration,
        outcome: &Outcome,
        mut call: Call,
        catalog: &Catalog,
        clock: Timestamp,
    ) {
        let name = |id: DeploymentId| Some(catalog.deployment(id).name.clone());
        let ends_at = self.since_start(now);
        let report = &mut self.report;
        report.outcome = outcome.name();
        report.status = Some(outcome.client_status());
        report.ends_at = ends_at;
        report.group = call.group().map(|id| catalog.group(id).name.clone());
        report.fallbacks = call.fallbacks();
        report.cost = call.cost().filter(|_| call.attempts() != 0);
        let wait = |at: Option<Timestamp>| at.map(|at| whole_seconds(at.since(clock)));
        let mut candidates: &[Candidate] = &[];
        match outcome {
            Outcome::Served { by, usage, .. } => {
                report.by = name(*by);
                report.usage = Some(*usage);
            }
            Outcome::Broken { by, usage, .. } => {
                report.by = name(*by);
                report.usage = Some(*usage);
                // The head went out with the first content; the error is inside the stream.
                report.status = Some(200);
            }
            Outcome::Refused(refusal) => {
                report.error = Some(refusal.reason.name());
                if let RefusalReason::NoCandidate(rejection) = refusal.reason {
                    report.emptied_by = Some(rejection.name());
                }
                report.retry_after = wait(refusal.retry_at);
                candidates = &refusal.candidates;
            }
            Outcome::Exhausted { by, why, retry_at, candidates: last, .. } => {
                report.by = name(*by);
                report.error = Some(why.name());
                report.retry_after = wait(*retry_at);
                candidates = last;
            }
            Outcome::Repeated { how, .. } => {
                if *how == Repetition::Conflict {
                    report.error = Some("conflict");
                }
            }
            Outcome::Cancelled { usage, .. } => {
                report.usage = Some(*usage);
                report.status = None;
            }
        }
        self.keep(call.take_trace());
        for candidate in candidates {
            let name = catalog.deployment(candidate.deployment).name.clone();
            self.report.rejected.insert(name, candidate.rejection.name());
        }
        if self.report.usage.is_some_and(|usage| usage.estimated) {
            self.report.warnings.push("estimated_usage");
        }
    }

    /// Keeps the trace and what it says about the members.
    fn keep(&mut self, trace: Option<Trace>) {
        for entry in trace.iter().flat_map(|trace| &trace.entries) {
            match entry {
                TraceEntry::Decision(decision) => self.decided(decision),
                TraceEntry::Resolved { rule, also, .. } => {
                    self.report.rules = rule.iter().chain(also).cloned().collect();
                }
                TraceEntry::Warned { warning, .. } => self.warn(*warning),
                _ => {}
            }
        }
        self.report.trace = trace;
    }

    fn decided(&mut self, decision: &Decision) {
        for verdict in &decision.candidates {
            if let Some(rejection) = verdict.rejection {
                self.report.rejected.insert(verdict.deployment.clone(), rejection.name());
            }
            let chosen = matches!(verdict.verdict, VerdictKind::Chosen | VerdictKind::Probe);
            if chosen && !verdict.unknown.is_empty() {
                self.warn(Warning::UnknownCapability);
            }
            if verdict.unpriced {
                self.warn(Warning::Unpriced);
            }
        }
    }

    fn warn(&mut self, warning: Warning) {
        if !self.report.warnings.contains(&warning.name()) {
            self.report.warnings.push(warning.name());
        }
    }
}
