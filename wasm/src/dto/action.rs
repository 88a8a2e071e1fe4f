//! What a host is told to do, for JavaScript.

use pointsman_core::{
    Action, Amounts, Candidate, Catalog, Clocks, Denied, DeploymentId, Outcome, Refusal,
    RefusalReason, Rejection, Repetition, Stop, WaitReason,
};
use serde::Serialize;

use super::facts::{FailureDto, UsageDto};
use super::number::{length, micros, number};

/// [`Action`].
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum ActionDto<'a> {
    Send {
        attempt: u32,
        deployment: &'a str,
        group: &'a str,
        clocks: ClocksDto,
        reservation: f64,
    },
    Relay {
        attempt: u32,
    },
    Continue,
    Wait {
        until: f64,
        why: WaitReason,
    },
    Rank {
        candidates: Vec<&'a str>,
        until: f64,
    },
    Claim {
        reservation: f64,
        candidates: Vec<&'a str>,
        amounts: AmountsDto,
        lease: f64,
    },
    Finish {
        outcome: OutcomeDto<'a>,
        /// What a client sees that has seen nothing yet.
        status: u16,
    },
}

/// [`Clocks`], in microseconds from the moment of sending.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClocksDto {
    connect: f64,
    first_content: f64,
    idle: f64,
    total: f64,
}

/// [`Amounts`].
#[derive(Debug, Serialize)]
pub(crate) struct AmountsDto {
    requests: f64,
    input: f64,
    output: f64,
}

/// [`Outcome`].
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum OutcomeDto<'a> {
    Served {
        by: &'a str,
        usage: UsageDto,
        attempts: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
    },
    Broken {
        by: &'a str,
        failure: FailureDto,
        usage: UsageDto,
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
    },
    Refused {
        reason: &'static str,
        /// The filter that removed the last candidate, if that is the reason.
        #[serde(skip_serializing_if = "Option::is_none")]
        filter: Option<&'static str>,
        /// The caller's limit that refused it, if one did.
        #[serde(skip_serializing_if = "Option::is_none")]
        denied: Option<DeniedDto>,
        #[serde(skip_serializing_if = "Option::is_none")]
        retry_at: Option<f64>,
        candidates: Vec<CandidateDto<'a>>,
    },
    Exhausted {
        last: FailureDto,
        by: &'a str,
        why: Stop,
        attempts: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        retry_at: Option<f64>,
        candidates: Vec<CandidateDto<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
    },
    Repeated {
        of: f64,
        how: Repetition,
    },
    Cancelled {
        usage: UsageDto,
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
    },
}

/// [`Denied`].
#[derive(Debug, Serialize)]
pub(crate) struct DeniedDto {
    owner: String,
    limit: &'static str,
    batch_reserve: bool,
    in_flight: bool,
}

/// [`Candidate`]; the reason goes by its name.
#[derive(Debug, Serialize)]
pub(crate) struct CandidateDto<'a> {
    deployment: &'a str,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capability: Option<&'static str>,
}

impl<'a> ActionDto<'a> {
    /// The action, with the catalog's names.
    pub(crate) fn new(action: Action, catalog: &'a Catalog) -> Self {
        let names = Names(catalog);
        match action {
            Action::Send(attempt) => Self::Send {
                attempt: attempt.number.number(),
                deployment: names.one(attempt.deployment),
                group: &catalog.group(attempt.group).name,
                clocks: attempt.clocks.into(),
                reservation: number(attempt.reservation.number()),
            },
            Action::Relay(attempt) => Self::Relay { attempt: attempt.number() },
            Action::Continue => Self::Continue,
            Action::Wait { until, why } => Self::Wait { until: micros(until), why },
            Action::Rank { candidates, until } => {
                Self::Rank { candidates: names.all(&candidates), until: micros(until) }
            }
            Action::Claim(claim) => Self::Claim {
                reservation: number(claim.reservation.number()),
                candidates: names.all(&claim.candidates),
                amounts: claim.amounts.into(),
                lease: micros(claim.lease),
            },
            Action::Finish(outcome) => {
                Self::Finish { status: outcome.client_status(), outcome: names.outcome(outcome) }
            }
        }
    }
}

/// From ids to the names of one catalog.
struct Names<'a>(&'a Catalog);

impl<'a> Names<'a> {
    fn one(&self, id: DeploymentId) -> &'a str {
        &self.0.deployment(id).name
    }

    fn all(&self, ids: &[DeploymentId]) -> Vec<&'a str> {
        ids.iter().map(|id| self.one(*id)).collect()
    }

    fn outcome(&self, outcome: Outcome) -> OutcomeDto<'a> {
        match outcome {
            Outcome::Served { by, usage, attempts, cost } => OutcomeDto::Served {
                by: self.one(by),
                usage: usage.into(),
                attempts,
                cost: cost.map(number),
            },
            Outcome::Broken { by, failure, usage, cost } => OutcomeDto::Broken {
                by: self.one(by),
                failure: failure.into(),
                usage: usage.into(),
                cost: cost.map(number),
            },
            Outcome::Refused(refusal) => self.refusal(&refusal),
            Outcome::Exhausted { last, by, why, attempts, retry_at, candidates, cost } => {
                OutcomeDto::Exhausted {
                    last: last.into(),
                    by: self.one(by),
                    why,
                    attempts,
                    retry_at: retry_at.map(micros),
                    candidates: self.candidates(&candidates),
                    cost: cost.map(number),
                }
            }
            Outcome::Repeated { of, how } => OutcomeDto::Repeated { of: number(of.number()), how },
            Outcome::Cancelled { usage, cost } => {
                OutcomeDto::Cancelled { usage: usage.into(), cost: cost.map(number) }
            }
        }
    }

    fn refusal(&self, refusal: &Refusal) -> OutcomeDto<'a> {
        OutcomeDto::Refused {
            reason: refusal.reason.name(),
            filter: match refusal.reason {
                RefusalReason::NoCandidate(rejection) => Some(rejection.name()),
                _ => None,
            },
            denied: refusal.denied.clone().map(
                |Denied { owner, limit, batch_reserve, in_flight }| DeniedDto {
                    owner,
                    limit,
                    batch_reserve,
                    in_flight,
                },
            ),
            retry_at: refusal.retry_at.map(micros),
            candidates: self.candidates(&refusal.candidates),
        }
    }

    fn candidates(&self, candidates: &[Candidate]) -> Vec<CandidateDto<'a>> {
        let candidate = |candidate: &Candidate| CandidateDto {
            deployment: self.one(candidate.deployment),
            reason: candidate.rejection.name(),
            until: candidate.rejection.lifts_at().map(micros),
            capability: match candidate.rejection {
                Rejection::LacksCapability(capability) => Some(capability.name()),
                _ => None,
            },
        };
        candidates.iter().map(candidate).collect()
    }
}

impl From<Clocks> for ClocksDto {
    fn from(clocks: Clocks) -> Self {
        Self {
            connect: length(clocks.connect),
            first_content: length(clocks.first_content),
            idle: length(clocks.idle),
            total: length(clocks.total),
        }
    }
}

impl From<Amounts> for AmountsDto {
    fn from(amounts: Amounts) -> Self {
        Self {
            requests: number(amounts.requests),
            input: number(amounts.input),
            output: number(amounts.output),
        }
    }
}
