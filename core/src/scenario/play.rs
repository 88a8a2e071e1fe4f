//! What a host would see and report of one attempt: a script's behaviour under the host's clocks.
//!
//! A script knows the future, so the whole attempt is worked out when it is sent: when the first
//! content comes, if it does, and when and how the attempt ends.

use core::time::Duration;

use super::upstream::{Answer, Behaviour, Fault, Finish, Manner};
use crate::action::Clocks;
use crate::config::Commit;
use crate::failure::{Failure, FailureKind, QuotaFacts};
use crate::request::{Request, Usage};

/// How long a host waits for the terminal event after a reason for finishing.
const GRACE: Duration = Duration::from_secs(3);

/// One attempt, with times from the moment of sending.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Play {
    /// When the first content is in the host's hands; the attempt is then ready.
    pub(super) ready: Option<Duration>,
    /// When the attempt ends.
    pub(super) ends: Duration,
    pub(super) ending: Ending,
    /// Whether a clock of the host ends it, rather than the upstream.
    pub(super) by_clock: bool,
    /// For how long the client held it up.
    pub(super) stalled: Duration,
    /// What the answer's head says about the quota.
    pub(super) quota: Option<QuotaFacts>,
    pace: Option<Pace>,
    input: u64,
}

/// How an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// With a whole answer, and what the provider says it used.
    Whole(Option<Usage>),
    /// With a failure, and what had been used by then.
    Failed(Failure, Option<Usage>),
}

/// The upstream's side alone, before any clock.
struct Tape {
    /// The first bytes that are no content.
    opening: Option<Duration>,
    pace: Option<Pace>,
    /// How it ends of itself; without one it falls silent for ever.
    end: Option<(Duration, Ending)>,
    /// Whether the reason for finishing has come before the end.
    finished: bool,
    quota: Option<QuotaFacts>,
}

/// Content as it streams: `tokens` of them, the first at `first`, then one per `gap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pace {
    first: Duration,
    gap: Duration,
    tokens: u64,
}

/// Works out one attempt. A stream is ready when as much of it has come as `commit` asks for.
pub(super) fn play(
    behaviour: &Behaviour,
    clocks: &Clocks,
    commit: Commit,
    request: &Request,
) -> Play {
    let input = request.input_tokens.saturating_add(request.tools_tokens);
    let tape = match behaviour {
        Behaviour::Answer(answer) => answer_tape(answer, request.stream, input),
        Behaviour::Fault(fault) => fault_tape(fault, clocks),
        // Its server has made an answer of it.
        Behaviour::Serve(_) => answer_tape(&Answer::default(), request.stream, input),
    };
    let (ends, ending, by_clock) =
        if request.stream { end_of_stream(&tape, clocks) } else { end_of_whole(&tape, clocks) };
    let first = match ending {
        Ending::Whole(_) if !request.stream => Some(ends),
        Ending::Whole(_) => tape.pace.map(|pace| pace.begun_at(commit).min(ends)),
        Ending::Failed(..) if !request.stream => None,
        Ending::Failed(..) => {
            tape.pace.map(|pace| pace.begun_at(commit)).filter(|begun| *begun < ends)
        }
    };
    let stalled = Duration::ZERO;
    let mut play = Play {
        ready: first,
        ends,
        ending,
        by_clock,
        stalled,
        quota: tape.quota,
        pace: tape.pace,
        input,
    };
    if let (Some(_), Ending::Failed(failure, _)) = (play.ready, play.ending) {
        let kind = match failure.kind {
            FailureKind::TotalTimeout => FailureKind::TotalTimeout,
            _ => FailureKind::BrokenStream,
        };
        play.ending = Ending::Failed(Failure { kind, ..failure }, play.received(ends));
    }
    play
}

impl Play {
    /// The client takes nothing of the stream for a while, and the idle clock does not count that.
    pub(super) fn hold_up(&mut self, stalls: Duration, clocks: &Clocks) {
        if self.ready.is_none_or(|ready| ready >= self.ends) || self.by_clock {
            return;
        }
        (self.ends, self.stalled) = (self.ends.saturating_add(stalls), stalls);
        if self.ends > clocks.total {
            let late = Failure::new(FailureKind::TotalTimeout);
            self.ends = clocks.total;
            self.ending = Ending::Failed(late, self.received(clocks.total));
            self.by_clock = true;
        }
    }

    /// What a host reckons to have received `elapsed` after sending, if any of it was content.
    pub(super) fn received(&self, elapsed: Duration) -> Option<Usage> {
        let pace = self.pace.filter(|pace| pace.first <= elapsed)?;
        let output = pace.tokens_by(elapsed);
        Some(Usage { input: self.input, output, estimated: true, ..Usage::default() })
    }
}

impl Pace {
    fn last(&self) -> Duration {
        self.first.saturating_add(times(self.gap, self.tokens.saturating_sub(1)))
    }

    /// When as much has come as `commit` asks for.
    fn begun_at(&self, commit: Commit) -> Duration {
        match commit {
            Commit::FirstContent => self.first,
            Commit::Complete => Duration::MAX,
            Commit::HoldBack { tokens, time } => {
                let more = u64::from(tokens).saturating_sub(1);
                let enough = self.first.saturating_add(times(self.gap, more));
                let enough = if u64::from(tokens) > self.tokens { Duration::MAX } else { enough };
                enough.min(self.first.saturating_add(time))
            }
        }
    }

    fn tokens_by(&self, elapsed: Duration) -> u64 {
        let since = elapsed.saturating_sub(self.first).as_micros();
        let more = since.checked_div(self.gap.as_micros()).unwrap_or(u128::MAX);
        u64::try_from(more).unwrap_or(u64::MAX).saturating_add(1).min(self.tokens)
    }
}

fn answer_tape(answer: &Answer, stream: bool, input: u64) -> Tape {
    let usage = answer.usage.then_some(Usage {
        input: answer.input_tokens.unwrap_or(input),
        cached_input: answer.cached_tokens,
        cache_write: 0,
        output: answer.output_tokens,
        reasoning: answer.reasoning_tokens,
        searches: answer.searches,
        estimated: false,
    });
    let pieces = u32::try_from(answer.output_tokens.max(1)).unwrap_or(u32::MAX);
    let gap = answer.total.saturating_sub(answer.first_token) / pieces;
    let pace = Pace { first: answer.first_token, gap, tokens: answer.output_tokens };
    // A filter's verdict is a failure as long as no content has come before it.
    let filtered = answer.finish == Finish::ContentFilter && (!stream || answer.output_tokens == 0);
    let ending = if filtered {
        let verdict = Failure::new(FailureKind::ContentPolicy);
        Ending::Failed(Failure { status: Some(200), quota: answer.quota, ..verdict }, usage)
    } else {
        Ending::Whole(usage)
    };
    Tape {
        opening: None,
        pace: (stream && !filtered).then_some(pace),
        end: Some((answer.total, ending)),
        finished: false,
        quota: answer.quota,
    }
}

fn fault_tape(fault: &Fault, clocks: &Clocks) -> Tape {
    let finished = matches!(fault.manner, Manner::NoEnd { .. });
    let pace = fault.begun.filter(|begun| begun.tokens > 0 || finished).map(|begun| Pace {
        first: begun.first_token,
        gap: begun.per_token,
        tokens: begun.tokens,
    });
    // The fault comes when the next token would have come.
    let at = fault.begun.map_or(fault.after, |begun| {
        begun.first_token.saturating_add(times(begun.per_token, begun.tokens))
    });
    let failed = |kind| Ending::Failed(failure(fault, kind), None);
    let end = match &fault.manner {
        Manner::Named { status, code, .. } => {
            Some((at, failed(FailureKind::from_status(*status, code.as_deref()))))
        }
        Manner::Connect => Some((at.min(clocks.connect), failed(FailureKind::Connect))),
        Manner::Reset if fault.begun.is_none() => Some((at, failed(FailureKind::Connect))),
        Manner::Reset | Manner::Garbage => Some((at, failed(FailureKind::Server))),
        Manner::Hang => None,
        Manner::NoEnd { cut: true } => Some((at, Ending::Whole(None))),
        Manner::NoEnd { cut: false } => {
            let last = pace.map_or(at, |pace| pace.last());
            Some((last.saturating_add(GRACE), Ending::Whole(None)))
        }
    };
    let opening = fault.begun.filter(|begun| begun.preamble).map(|_| fault.after);
    Tape { opening, pace, end, finished, quota: fault.quota }
}

fn failure(fault: &Fault, kind: FailureKind) -> Failure {
    let status = match fault.manner {
        Manner::Named { head, .. } => Some(head),
        Manner::Garbage => Some(200),
        Manner::Reset | Manner::Hang if fault.begun.is_some() => Some(200),
        Manner::Connect | Manner::Reset | Manner::Hang | Manner::NoEnd { .. } => None,
    };
    Failure { kind, retry_after: fault.retry_after, status, quota: fault.quota }
}

type End = (Duration, Ending, bool);

/// A clock that runs out at `at`.
fn clock(at: Duration, kind: FailureKind) -> End {
    (at, Ending::Failed(Failure::new(kind), None), true)
}

/// The earliest end. At one instant the upstream's own is first, then the total clock: it may be
/// the deadline's, for which nobody is to blame.
fn earliest(tape: &Tape, clocks: &Clocks, others: [Option<End>; 2]) -> End {
    let upstream = tape.end.map(|(at, ending)| (at, ending, false));
    let sooner = |best: End, next: End| if next.0 < best.0 { next } else { best };
    let total = clock(clocks.total, FailureKind::TotalTimeout);
    let start = upstream.filter(|end| end.0 <= total.0).unwrap_or(total);
    others.into_iter().flatten().fold(start, sooner)
}

fn end_of_stream(tape: &Tape, clocks: &Clocks) -> End {
    let in_time = tape.pace.is_some_and(|pace| pace.first <= clocks.first_content);
    let late = (!in_time).then(|| clock(clocks.first_content, FailureKind::FirstTokenTimeout));
    let stalled = stall(tape, clocks.idle).map(|at| clock(at, FailureKind::Server));
    earliest(tape, clocks, [late, stalled])
}

fn end_of_whole(tape: &Tape, clocks: &Clocks) -> End {
    let first_byte = tape.opening.or(tape.pace.map(|pace| pace.first));
    let moving = first_byte.is_some_and(|first| first <= clocks.first_content);
    let kind = if moving { FailureKind::TotalTimeout } else { FailureKind::FirstTokenTimeout };
    earliest(tape, clocks, [Some(clock(clocks.first_content, kind)), None])
}

/// When the idle clock runs out, if it does: the first silence between two pieces of a stream
/// that is longer than `idle`.
fn stall(tape: &Tape, idle: Duration) -> Option<Duration> {
    let silence = |from: Duration, to: Option<Duration>| {
        to.is_none_or(|to| to.saturating_sub(from) > idle).then(|| from.saturating_add(idle))
    };
    let end = tape.end.map(|(at, _)| at);
    let Some(pace) = tape.pace else {
        return tape.opening.and_then(|opening| silence(opening, end));
    };
    let before = tape.opening.and_then(|opening| silence(opening, Some(pace.first)));
    let within = (pace.tokens > 1).then(|| silence(pace.first, Some(pace.first + pace.gap)));
    // After a reason for finishing the host waits its grace, not the idle clock.
    let after = if tape.finished { None } else { silence(pace.last(), end) };
    before.or(within.flatten()).or(after)
}

fn times(length: Duration, count: u64) -> Duration {
    length.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::super::upstream::Begun;
    use super::*;

    const CLOCKS: Clocks = Clocks {
        connect: Duration::from_secs(1),
        first_content: Duration::from_secs(5),
        idle: Duration::from_secs(2),
        total: Duration::from_secs(60),
    };

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn streamed() -> Request {
        Request { stream: true, input_tokens: 90, tools_tokens: 10, ..Request::default() }
    }

    fn fault(manner: Manner, tokens: Option<u64>) -> Behaviour {
        let begun = tokens.map(|tokens| Begun {
            tokens,
            first_token: ms(100),
            per_token: ms(10),
            preamble: false,
        });
        let after = ms(20);
        Behaviour::Fault(Fault { manner, after, retry_after: None, quota: None, begun })
    }

    fn outcome(behaviour: &Behaviour, request: &Request) -> (Option<u128>, u128, String) {
        let play = play(behaviour, &CLOCKS, Commit::FirstContent, request);
        let ending = match play.ending {
            Ending::Whole(_) => "whole".to_owned(),
            Ending::Failed(failure, _) => failure.kind.name().to_owned(),
        };
        (play.ready.map(|ready| ready.as_millis()), play.ends.as_millis(), ending)
    }

    #[test]
    fn a_good_answer_is_ready_at_its_first_content_or_when_it_is_whole() {
        let good = Behaviour::default();
        assert_eq!(outcome(&good, &streamed()), (Some(100), 300, "whole".into()));
        assert_eq!(outcome(&good, &Request::default()), (Some(300), 300, "whole".into()));
    }

    #[test]
    fn the_same_cut_is_a_failure_before_content_and_a_break_after_it() {
        let whole = Request::default();
        for (tokens, request, ready, ends, kind) in [
            (None, &whole, None, 20, "connect"),
            (None, &streamed(), None, 20, "connect"),
            (Some(0), &streamed(), None, 100, "server"),
            (Some(3), &streamed(), Some(100), 130, "broken_stream"),
            (Some(3), &whole, None, 130, "server"),
        ] {
            let cut = fault(Manner::Reset, tokens);
            assert_eq!(outcome(&cut, request), (ready, ends, kind.into()), "{tokens:?}");
        }
    }

    #[test]
    fn silence_ends_by_the_clock_that_runs() {
        let whole = Request::default();
        for (tokens, request, ready, ends, kind) in [
            (None, &streamed(), None, 5_000, "first_token_timeout"),
            (Some(0), &streamed(), None, 5_000, "first_token_timeout"),
            (Some(3), &streamed(), Some(100), 2_120, "broken_stream"),
            (None, &whole, None, 5_000, "first_token_timeout"),
            // Some of the answer came: it was moving.
            (Some(3), &whole, None, 5_000, "total_timeout"),
        ] {
            let hang = fault(Manner::Hang, tokens);
            assert_eq!(outcome(&hang, request), (ready, ends, kind.into()), "{tokens:?}");
        }
    }

    #[test]
    fn a_slow_answer_meets_each_clock_in_turn() {
        let slow = |first, total, tokens| {
            Behaviour::Answer(Answer {
                first_token: ms(first),
                total: ms(total),
                output_tokens: tokens,
                ..Answer::default()
            })
        };
        let on_time = outcome(&slow(5_000, 5_100, 10), &streamed());
        assert_eq!(on_time, (Some(5_000), 5_100, "whole".into()));
        let late = outcome(&slow(5_001, 5_100, 10), &streamed());
        assert_eq!(late, (None, 5_000, "first_token_timeout".into()));
        let stalls = outcome(&slow(100, 6_100, 2), &streamed());
        assert_eq!(stalls, (Some(100), 2_100, "broken_stream".into()));
        let long = outcome(&slow(100, 70_000, 1_000), &streamed());
        assert_eq!(long, (Some(100), 60_000, "total_timeout".into()));
    }

    #[test]
    fn a_missing_terminal_event_costs_the_grace_alone() {
        let open = fault(Manner::NoEnd { cut: false }, Some(60));
        assert_eq!(outcome(&open, &streamed()), (Some(100), 3_690, "whole".into()));
        let closed = fault(Manner::NoEnd { cut: true }, Some(60));
        assert_eq!(outcome(&closed, &streamed()), (Some(100), 700, "whole".into()));
    }

    #[test]
    fn what_was_received_counts_tokens_by_their_time() {
        let reset = fault(Manner::Reset, Some(40));
        let play = play(&reset, &CLOCKS, Commit::FirstContent, &streamed());
        assert_eq!(play.received(ms(99)), None);
        let output = |at| play.received(ms(at)).map(|usage| (usage.input, usage.output));
        assert_eq!(output(100), Some((100, 1)));
        assert_eq!(output(155), Some((100, 6)));
        assert_eq!(output(9_000), Some((100, 40)));
    }
}
