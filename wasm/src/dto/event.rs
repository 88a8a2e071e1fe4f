//! What a host reports, from JavaScript.

use core::time::Duration;

use pointsman_core::{AttemptNo, Catalog, DeploymentId, Event, ReservationId, Timestamp};
use serde::Deserialize;

use super::facts::{FailureDto, QuotaDto, UsageDto};

/// [`Event`].
#[derive(Debug, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub(crate) enum EventDto {
    Due {},
    Woken {},
    Cancelled {
        usage: Option<UsageDto>,
    },
    Ready {
        attempt: u32,
        first_content_at: u64,
        usage: Option<UsageDto>,
        quota: Option<QuotaDto>,
    },
    Failed {
        attempt: u32,
        failure: FailureDto,
        usage: Option<UsageDto>,
    },
    Completed {
        attempt: u32,
        usage: Option<UsageDto>,
        ended_at: u64,
        #[serde(default)]
        stalled_by_client: u64,
    },
    Closed {
        attempt: u32,
        usage: Option<UsageDto>,
    },
    Granted {
        reservation: u64,
        candidate: String,
    },
    Denied {
        by: String,
        until: u64,
    },
    StoreDown {},
    Ranked {
        candidates: Vec<String>,
    },
    Declined {},
}

impl EventDto {
    /// The core's event; deployments are looked up by name.
    pub(crate) fn into_event(self, catalog: &Catalog) -> Result<Event, String> {
        let attempt = AttemptNo::from_number;
        let deployment = |name: &str| find(catalog, name);
        Ok(match self {
            Self::Due {} => Event::Due,
            Self::Woken {} => Event::Woken,
            Self::Cancelled { usage } => Event::Cancelled { usage: usage.map(Into::into) },
            Self::Ready { attempt: number, first_content_at, usage, quota } => Event::Ready {
                attempt: attempt(number),
                first_content_at: Timestamp::from_micros(first_content_at),
                usage: usage.map(Into::into),
                quota: quota.map(Into::into),
            },
            Self::Failed { attempt: number, failure, usage } => Event::Failed {
                attempt: attempt(number),
                failure: failure.into(),
                usage: usage.map(Into::into),
            },
            Self::Completed { attempt: number, usage, ended_at, stalled_by_client } => {
                Event::Completed {
                    attempt: attempt(number),
                    usage: usage.map(Into::into),
                    ended_at: Timestamp::from_micros(ended_at),
                    stalled_by_client: Duration::from_micros(stalled_by_client),
                }
            }
            Self::Closed { attempt: number, usage } => {
                Event::Closed { attempt: attempt(number), usage: usage.map(Into::into) }
            }
            Self::Granted { reservation, candidate } => Event::Granted {
                reservation: ReservationId::from_number(reservation),
                candidate: deployment(&candidate)?,
            },
            Self::Denied { by, until } => {
                Event::Denied { by: deployment(&by)?, until: Timestamp::from_micros(until) }
            }
            Self::StoreDown {} => Event::StoreDown,
            Self::Ranked { candidates } => {
                let ids = candidates.iter().map(|name| deployment(name));
                Event::Ranked(ids.collect::<Result<_, _>>()?)
            }
            Self::Declined {} => Event::Declined,
        })
    }
}

fn find(catalog: &Catalog, name: &str) -> Result<DeploymentId, String> {
    catalog.deployment_named(name).ok_or_else(|| format!("no deployment is named `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::EventDto;

    fn parse(text: &str) -> Result<EventDto, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn events_are_told_apart_by_type() {
        assert!(matches!(parse(r#"{"type": "due"}"#), Ok(EventDto::Due {})));
        let ready = parse(r#"{"type": "ready", "attempt": 1, "firstContentAt": 5}"#);
        assert!(matches!(ready, Ok(EventDto::Ready { attempt: 1, first_content_at: 5, .. })));
    }

    #[test]
    fn what_an_event_does_not_know_is_an_error() {
        assert!(parse(r#"{"type": "dew"}"#).unwrap_err().contains("`dew`"));
        assert!(parse(r#"{"type": "due", "attempt": 1}"#).unwrap_err().contains("`attempt`"));
        assert!(parse(r#"{"type": "closed"}"#).unwrap_err().contains("`attempt`"));
    }
}
