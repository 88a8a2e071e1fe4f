//! A decision's record as text for people.

use std::fmt::Write as _;

use pointsman_core::{
    Decision, DecisionResult, KnownModel, LimitReading, Rejection, ResolvedBy, Timestamp, Trace,
    TraceEntry, Verdict, VerdictKind,
};

use crate::known::usd;

/// The record, one line per thing that happened.
pub(crate) fn text(trace: &Trace) -> String {
    let mut page = String::new();
    let resolved = |e: &TraceEntry| matches!(e, TraceEntry::Resolved { .. });
    if !trace.entries.iter().any(resolved) {
        line(&mut page, &format!("`{}` is not a name that is served here", trace.requested));
    }
    for entry in &trace.entries {
        write_entry(&mut page, &trace.requested, entry);
    }
    page
}

fn line(page: &mut String, text: &str) {
    page.push_str(text);
    page.push('\n');
}

fn write_entry(page: &mut String, requested: &str, entry: &TraceEntry) {
    match entry {
        TraceEntry::Resolved { chain, by, rule, also, .. } => {
            let by = match by {
                ResolvedBy::Rule => "by a route rule",
                ResolvedBy::Group => "a group",
                ResolvedBy::Alias => "by alias",
                ResolvedBy::Wildcard => "by wildcard",
                ResolvedBy::Direct => "a deployment",
                ResolvedBy::ProviderModel => "a provider and its model",
                ResolvedBy::Unmatched => "by `unmatched`",
            };
            let later = chain.iter().map(String::as_str).skip_while(|name| *name == requested);
            let names: Vec<&str> = std::iter::once(requested).chain(later).collect();
            line(page, &format!("{} ({by})", names.join(" -> ")));
            if let Some(rule) = rule {
                line(page, &format!("route rule {rule} decided"));
            }
            for rule in also {
                line(page, &format!("route rule {rule} added to it"));
            }
        }
        TraceEntry::Callers { limits, denied, group, .. } => {
            for reading in limits {
                line(page, &limit_line(reading));
            }
            if let Some(group) = group {
                line(page, &format!("a budget is exceeded: {group} serves instead"));
            }
            if let Some(denied) = denied {
                line(page, &format!("refused by {denied}"));
            }
        }
        TraceEntry::Decision(decision) => write_decision(page, decision),
        TraceEntry::Warned { warning, .. } => line(page, &format!("warning: {}", warning.name())),
        TraceEntry::Ready { attempt, .. } => line(page, &format!("attempt {attempt} is ready")),
        TraceEntry::Failed { attempt, deployment, kind, retry_after, .. } => {
            let after = retry_after
                .map(|micros| format!(", retry after {}", seconds(micros)))
                .unwrap_or_default();
            line(
                page,
                &format!("attempt {attempt} at {deployment} failed: {}{after}", kind.name()),
            );
        }
        TraceEntry::Waiting { at, until, why } => {
            let wait = seconds(until.as_micros().saturating_sub(at.as_micros()));
            line(page, &format!("waits {wait}: {}", word(why)));
        }
        TraceEntry::Finished { at, outcome, stop, refusal, retry_at, .. } => {
            let mut text = format!("ends: {outcome}");
            for reason in [stop.map(|stop| stop.name()), refusal.as_deref()].into_iter().flatten() {
                // Writing to a string does not fail.
                let _ = write!(text, ", {reason}");
            }
            if let Some(retry_at) = retry_at {
                let _ = write!(text, ", could succeed in {}", from(*at, *retry_at));
            }
            line(page, &text);
        }
    }
}

fn write_decision(page: &mut String, decision: &Decision) {
    line(page, &format!("group {}, strategy {}", decision.group, decision.strategy));
    let width = decision.candidates.iter().map(|one| one.deployment.chars().count()).max();
    for candidate in &decision.candidates {
        line(page, &candidate_line(candidate, width.unwrap_or(0), decision.at));
    }
    if let Some(draw) = decision.draw {
        line(page, &format!("  drew {draw} of the sum of weights"));
    }
    for reading in &decision.limits {
        line(page, &limit_line(reading));
    }
    line(
        page,
        &match &decision.result {
            DecisionResult::Send { attempt, deployment } => {
                format!("=> attempt {attempt} goes to {deployment}")
            }
            DecisionResult::Rank => "=> the host is asked to rank the survivors".into(),
            DecisionResult::Claim => "=> the store is asked for the first that fits".into(),
            DecisionResult::Nobody => "=> nobody here".into(),
        },
    );
}

fn candidate_line(candidate: &Verdict, width: usize, at: Timestamp) -> String {
    let mark = match candidate.verdict {
        VerdictKind::Chosen | VerdictKind::Probe => "->",
        VerdictKind::Admissible | VerdictKind::LaterTier => "  ",
        VerdictKind::Rejected => " x",
    };
    let verdict = match (candidate.verdict, &candidate.rejection) {
        (_, Some(Rejection::Blocked)) => match &candidate.blocked {
            Some(why) => format!("blocked: {why}"),
            None => "blocked: by an operator".into(),
        },
        (_, Some(rejection)) => rejection_words(*rejection, at),
        (VerdictKind::Chosen, None) => "chosen".into(),
        (VerdictKind::Probe, None) => "chosen: its breaker is due for a probe".into(),
        (VerdictKind::Admissible, None) => "admissible, not chosen".into(),
        (VerdictKind::LaterTier, None) => "admissible, in a later tier".into(),
        (VerdictKind::Rejected, None) => "rejected".into(),
    };
    let Verdict { deployment, tier, weight, .. } = candidate;
    let mut text = format!("  {mark} {deployment:width$}  tier {tier}  weight {weight}  {verdict}");
    if let Some(model) = &candidate.model {
        let _ = write!(text, "  (of its model {model})");
    }
    if let Some(known) = &candidate.known {
        text.push_str(&known_words(known));
    }
    if let Some(score) = candidate.score {
        // Writing to a string does not fail.
        let _ = write!(text, "  score {score}");
    }
    if !candidate.terms.is_empty() {
        let terms = candidate.terms.iter().map(|term| format!("{} {}", term.name, term.value));
        let _ = write!(text, "  of {}", terms.collect::<Vec<_>>().join(", "));
    }
    if !candidate.unknown.is_empty() {
        let names: Vec<&str> = candidate.unknown.iter().map(|one| one.name()).collect();
        let _ = write!(text, "  (unknown: {})", names.join(", "));
    }
    text
}

/// What is known of a model behind `model: "*"`; prices in USD per million tokens.
fn known_words(known: &KnownModel) -> String {
    let KnownModel { name, context_tokens, output_tokens, price } = known;
    let size = |what: &str, tokens: &Option<u64>| tokens.map(|tokens| format!("{what} {tokens}"));
    let price = price.map_or("no price is known".to_owned(), |price| {
        format!("price {} / {}", usd(price.input), usd(price.output))
    });
    let sizes = [size("context_tokens", context_tokens), size("output_tokens", output_tokens)];
    let words: Vec<String> = sizes.into_iter().flatten().chain([price]).collect();
    format!("  ({name}: {})", words.join(", "))
}

fn limit_line(reading: &LimitReading) -> String {
    let LimitReading { owner, dimension, limit, before, after } = reading;
    format!("  limit {owner} {dimension}: {before} -> {after} of {limit}")
}

fn rejection_words(rejection: Rejection, at: Timestamp) -> String {
    let name = rejection.name();
    match rejection {
        Rejection::LacksCapability(capability) => format!("{name}: {}", capability.name()),
        Rejection::ContextTooSmall { window, needs } => {
            format!("{name}: needs {needs} tokens, its window holds {window}")
        }
        Rejection::Tripped { until }
        | Rejection::Throttled { until }
        | Rejection::RateLimited { until } => format!("{name}: for another {}", from(at, until)),
        Rejection::Drained => format!("{name}: its weight is 0"),
        _ => name.to_owned(),
    }
}

fn from(at: Timestamp, until: Timestamp) -> String {
    if until == Timestamp::NEVER { "ever".into() } else { seconds(until.since(at).as_micros()) }
}

/// Microseconds as seconds with as many digits as matter.
fn seconds(micros: impl TryInto<u64>) -> String {
    let millis = micros.try_into().unwrap_or(u64::MAX).div_ceil(1_000);
    format!("{}.{:03} s", millis / 1_000, millis % 1_000)
}

fn word(value: &impl serde::Serialize) -> String {
    let name = serde_json::to_value(value).unwrap_or_default();
    name.as_str().unwrap_or_default().to_owned()
}
