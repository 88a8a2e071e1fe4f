//! Compares what came out with what was expected.

use core::fmt::Debug;
use core::time::Duration;
use std::collections::BTreeMap;

use super::plan::{CallExpect, Range, RunExpect, UsageExpect};
use super::report::{CallReport, Difference, Totals};
use crate::request::Usage;

/// What differs, below one place of the document.
#[derive(Debug)]
pub(super) struct Check<'p> {
    path: &'p str,
    differences: Vec<Difference>,
}

impl<'p> Check<'p> {
    pub(super) const fn at(path: &'p str) -> Self {
        Self { path, differences: Vec::new() }
    }

    pub(super) fn done(self) -> Vec<Difference> {
        self.differences
    }

    pub(super) fn differs(
        &mut self,
        key: &str,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) {
        let path = format!("{}.{key}", self.path);
        self.differences.push(Difference { path, expected: expected.into(), got: got.into() });
    }

    /// Whether a value is the expected one; nothing expected is always met.
    pub(super) fn same<T: PartialEq + Debug>(
        &mut self,
        key: &str,
        expected: Option<T>,
        got: Option<T>,
    ) {
        if let Some(expected) = expected
            && got.as_ref() != Some(&expected)
        {
            self.differs(key, shown(&expected), optional(got));
        }
    }

    /// Whether a value is within the expected range.
    pub(super) fn within<T: PartialOrd + Copy + Debug>(
        &mut self,
        key: &str,
        expected: Option<Range<T>>,
        got: Option<T>,
    ) {
        if let Some(range) = expected
            && !got.as_ref().is_some_and(|got| range.contains(got))
        {
            self.differs(key, range.shown(), optional(got));
        }
    }
}

impl<T: PartialEq + Debug> Range<T> {
    fn shown(&self) -> String {
        if self.low == self.high {
            return shown(&self.low);
        }
        format!("{} to {}", shown(&self.low), shown(&self.high))
    }
}

/// Text without the quotes that `Debug` puts around it: names here are plain.
fn shown<T: Debug>(value: &T) -> String {
    format!("{value:?}").replace('"', "")
}

fn optional<T: Debug>(value: Option<T>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |value| shown(&value))
}

/// What differs in one call.
pub(super) fn call(expect: &CallExpect, got: &CallReport, path: &str) -> Vec<Difference> {
    let mut check = Check::at(path);
    check.same("outcome", expect.outcome, Some(got.outcome));
    check.same("status", expect.status, got.status.map(u64::from));
    if let Some(allowed) = &expect.by
        && !got.by.as_ref().is_some_and(|by| allowed.contains(by))
    {
        check.differs("by", allowed.join(" or "), got.by.as_deref().unwrap_or("nobody"));
    }
    let attempts: Vec<&str> = got.attempts.iter().map(|a| a.deployment.as_str()).collect();
    let expected = expect.attempts.as_ref().map(|list| list.iter().map(String::as_str).collect());
    check.same("attempts", expected, Some(attempts));
    let micros = Duration::from_micros;
    check.within("first_token_at", expect.first_token_at, got.first_token_at.map(micros));
    check.within("ends_at", expect.ends_at, Some(micros(got.ends_at)));
    check.within("waited", expect.waited, Some(micros(got.waited)));
    check.within("retry_after", expect.retry_after, got.retry_after.map(Duration::from_secs));
    if expect.error.is_some() && expect.error != got.emptied_by {
        check.same("error", expect.error, got.error);
    }
    for (name, reason) in &expect.rejected {
        let given = got.rejected.get(name).copied();
        check.same(&format!("rejected.{name}"), Some(*reason), given);
    }
    let expected = expect.warnings.as_ref().map(|names| sorted(names));
    check.same("warnings", expected, Some(sorted(&got.warnings)));
    if let Some(rule) = &expect.rule
        && !got.rules.contains(rule)
    {
        check.differs(
            "rule",
            rule,
            if got.rules.is_empty() { "none".into() } else { got.rules.join(", ") },
        );
    }
    check.same("group", expect.group.as_ref(), got.group.as_ref());
    check.within("fallbacks", expect.fallbacks, Some(got.fallbacks.into()));
    check.same("committed", expect.committed, Some(got.committed));
    usage(&mut check, &expect.usage, got.usage);
    check.within("cost", expect.cost, got.cost);
    check.same("estimated", expect.estimated, got.usage.map(|usage| usage.estimated));
    check.done()
}

fn usage(check: &mut Check<'_>, expect: &UsageExpect, got: Option<Usage>) {
    check.within("usage.input_tokens", expect.input, got.map(|usage| usage.input));
    check.within("usage.cached_tokens", expect.cached, got.map(|usage| usage.cached_input));
    check.within("usage.output_tokens", expect.output, got.map(|usage| usage.output));
    check.within("usage.reasoning_tokens", expect.reasoning, got.map(|usage| usage.reasoning));
    check.within("usage.searches", expect.searches, got.map(|usage| usage.searches));
}

fn sorted(names: &[&'static str]) -> Vec<&'static str> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names
}

/// What differs in the sums over a run.
pub(super) fn run(expect: &RunExpect, got: &Totals) -> Vec<Difference> {
    let mut check = Check::at("expect");
    let ended = |outcome| Some(got.outcomes.get(outcome).copied().unwrap_or(0));
    check.within("served", expect.served, ended("served"));
    check.within("refused", expect.refused, ended("refused"));
    check.within("attempts", expect.attempts, Some(got.attempts));
    check.within("cost", expect.cost, Some(got.cost));
    for (name, range) in &expect.attempts_at {
        check.within(
            &format!("attempts_at.{name}"),
            Some(*range),
            Some(count(&got.attempts_at, name)),
        );
    }
    let served: u64 = got.served_by.values().sum();
    for (name, range) in &expect.share {
        share(&mut check, name, *range, count(&got.served_by, name), served);
    }
    check.within("upstream_429", expect.upstream_429, Some(got.upstream_429));
    check.within("upstream_failed", expect.upstream_failed, Some(got.upstream_failed));
    check.done()
}

fn count(counts: &BTreeMap<String, u64>, name: &str) -> u64 {
    counts.get(name).copied().unwrap_or(0)
}

/// A share is met if the exact fraction is within the range, compared without division.
fn share(check: &mut Check<'_>, name: &str, range: Range<u32>, part: u64, whole: u64) {
    let scaled = u128::from(part).saturating_mul(1_000_000);
    let bound = |ppm: u32| u128::from(ppm).saturating_mul(whole.into());
    if scaled < bound(range.low) || scaled > bound(range.high) {
        let percent = |ppm: u32| format!("{}.{:04}%", ppm / 10_000, ppm % 10_000);
        let expected = format!("{} to {}", percent(range.low), percent(range.high));
        check.differs(&format!("share.{name}"), expected, format!("{part} of {whole}"));
    }
}
