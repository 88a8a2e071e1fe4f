//! `/usage`: what the usage log adds up to, as `pointsman usage` prints it.

use std::path::PathBuf;
use std::sync::Arc;

use http::StatusCode;
use tokio::sync::Semaphore;

use super::Answer;
use super::query::parameter;
use crate::cli::UsageArgs;
use crate::commands::usage;
use crate::gateway::Gateway;

/// One reader at a time: the log may be large.
static READING: Semaphore = Semaphore::const_new(1);

/// Sums the log up by what `by` names, within `since` and `until`.
pub(super) async fn read(gateway: &Arc<Gateway>, query: &str) -> Answer {
    let Some(log) = gateway.live().config.metering.usage_log.clone() else {
        let problem = "no usage is written down: set `metering: { usage_log: PATH }`";
        return Err((StatusCode::CONFLICT, problem.into()));
    };
    let by = parameter(query, "by").unwrap_or_else(|| "key,model".into());
    let args = UsageArgs {
        files: vec![PathBuf::from(log)],
        by: by.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        since: parameter(query, "since"),
        until: parameter(query, "until"),
        json: true,
    };
    usage::check(&args).map_err(|problem| (StatusCode::BAD_REQUEST, problem))?;
    let Ok(_turn) = READING.try_acquire() else {
        let problem = "the usage log is being read already: ask again";
        return Err((StatusCode::TOO_MANY_REQUESTS, problem.into()));
    };
    let read = tokio::task::spawn_blocking(move || usage::summary(&args)).await;
    match read {
        Ok(summary) => summary.map_err(|problem| (StatusCode::CONFLICT, problem)),
        Err(error) => Err((StatusCode::INTERNAL_SERVER_ERROR, error.to_string())),
    }
}
