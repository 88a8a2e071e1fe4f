//! From a turn of the script to the steps of one answer.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;

use super::play::Step;
use super::protocol::{Family, Frames, JSON, Question, Rendition};
use super::script::{Answer, Fault, FaultKind, Length, Quota, Turn};
use super::speech::Voice;
use super::trouble::{Headers, Trouble};

/// The steps of one answer.
pub(crate) fn plan(turn: &Turn, question: &Question, voice: &Voice) -> VecDeque<Step> {
    let steps = match turn {
        Turn::Ok(answer) => good(answer, question, voice),
        Turn::Fail(fault) => bad(fault, question, voice),
    };
    steps.into()
}

/// The steps of a request that the provider cannot read.
pub(crate) fn refuse(family: Family, trouble: &Trouble) -> VecDeque<Step> {
    told(family, trouble, trouble.status, Vec::new()).into()
}

fn good(answer: &Answer, question: &Question, voice: &Voice) -> Vec<Step> {
    let headers = quota_headers(question.family, answer.quota.as_ref());
    match question.render(answer, voice) {
        Rendition::Whole { content_type, body, tokens, spent } => {
            let pace = Pace::of(answer, tokens);
            let head = head(200, content_type, headers);
            vec![Step::At(pace.end), head, Step::Bytes(body), Step::Told(spent), Step::End]
        }
        Rendition::Stream { content_type, frames } => {
            let pace = Pace::of(answer, frames.tokens.len() as u64);
            let head = head(200, content_type, headers);
            let mut steps = vec![head, Step::Bytes(frames.opening)];
            steps.insert(if answer.preamble { 2 } else { 0 }, Step::At(pace.first));
            spoken(&mut steps, frames.tokens, pace.first, pace.per_token);
            steps.push(Step::At(pace.end));
            steps.extend([Step::Bytes(frames.closing), Step::Told(frames.spent)]);
            steps.extend([Step::Bytes(frames.end), Step::End]);
            steps
        }
    }
}

/// When the tokens of an answer come.
struct Pace {
    first: Duration,
    per_token: Duration,
    end: Duration,
}

impl Pace {
    fn of(answer: &Answer, tokens: u64) -> Self {
        let first = length(answer.first_token, 100);
        let per_token = match (answer.per_token, answer.total) {
            (Some(per_token), _) => per_token.0,
            (None, total) => {
                let rest = length(total, 300).saturating_sub(first);
                rest / u32::try_from(tokens.max(2) - 1).unwrap_or(u32::MAX)
            }
        };
        let last = first + per_token * u32::try_from(tokens.saturating_sub(1)).unwrap_or(u32::MAX);
        Self { first, per_token, end: answer.total.map_or(last, |total| total.0.max(first)) }
    }
}

/// Tokens on their schedule.
fn spoken(steps: &mut Vec<Step>, tokens: Vec<Bytes>, first: Duration, per_token: Duration) {
    for (nth, token) in tokens.into_iter().enumerate() {
        steps.push(Step::At(first + per_token * u32::try_from(nth).unwrap_or(u32::MAX)));
        steps.push(Step::Bytes(token));
    }
}

fn bad(fault: &Fault, question: &Question, voice: &Voice) -> Vec<Step> {
    let in_the_middle = fault.at_token.is_some() || fault.preamble || fault.no_end;
    match fault.kind {
        _ if in_the_middle => broken(fault, question, voice),
        Some(FaultKind::Connect | FaultKind::Reset) => {
            vec![Step::At(length(fault.after, 0)), Step::Reset]
        }
        Some(FaultKind::Hang) => vec![Step::Hang],
        Some(FaultKind::Garbage) => vec![
            Step::At(length(fault.after, 20)),
            head(fault.status.unwrap_or(200), question.content_type(), Vec::new()),
            Step::Bytes(Bytes::from_static(b"<html>\xff this is no answer</html>\n\n")),
            Step::End,
        ],
        Some(FaultKind::Drip) => {
            let (content_type, bytes) = match question.render(&Answer::default(), voice) {
                Rendition::Whole { content_type, body, .. } => (content_type, body),
                Rendition::Stream { content_type, frames } => {
                    (content_type, frames.tokens.into_iter().next().unwrap_or_default())
                }
            };
            let every = length(fault.per_token, 1000);
            vec![head(200, content_type, Vec::new()), Step::Drip(bytes, every), Step::End]
        }
        Some(FaultKind::Huge) => {
            let bytes = fault.bytes.unwrap_or(1_000_000_000);
            vec![head(200, question.content_type(), Vec::new()), Step::Fill(bytes), Step::End]
        }
        Some(FaultKind::Cut) | None if fault.status.is_none() => broken(fault, question, voice),
        Some(FaultKind::Cut) | None => refused(fault, question),
    }
}

/// An error that says so, with its status or inside a 200.
fn refused(fault: &Fault, question: &Question) -> Vec<Step> {
    let status = fault.status.unwrap_or(500);
    let trouble = Trouble::of(fault, status);
    let mut steps = vec![Step::At(length(fault.after, 20))];
    let quota = quota_headers(question.family, fault.quota.as_ref());
    if fault.in_200 && question.ask.stream {
        let mut headers = quota;
        headers.extend(question.family.headers(&trouble));
        let frame = question.failure_frame(&trouble, false);
        steps.extend([head(200, question.content_type(), headers), Step::Bytes(frame), Step::End]);
    } else {
        let status = if fault.in_200 { 200 } else { status };
        steps.extend(told(question.family, &trouble, status, quota));
    }
    steps
}

/// A failure as a body of its own.
fn told(family: Family, trouble: &Trouble, status: u16, mut headers: Headers) -> Vec<Step> {
    headers.extend(family.headers(trouble));
    let body = family.body(trouble).to_string();
    vec![head(status, JSON, headers), Step::Bytes(body.into()), Step::End]
}

/// An answer that starts well.
fn broken(fault: &Fault, question: &Question, voice: &Voice) -> Vec<Step> {
    let output_tokens = Some(fault.output_tokens.unwrap_or(60));
    let answer = Answer { output_tokens, ..Answer::default() };
    match question.render(&answer, voice) {
        Rendition::Whole { content_type, body, tokens, .. } => {
            let at = fault.at_token.unwrap_or(if fault.no_end { u64::MAX } else { 0 }).min(tokens);
            let share = body.len() as u64 * at / tokens.max(1);
            let share = usize::try_from(share).unwrap_or(0).min(body.len().saturating_sub(1));
            let mut steps = vec![head(200, content_type, Vec::new())];
            if at > 0 {
                let first = Step::At(length(fault.first_token, 100));
                steps.extend([first, Step::Bytes(body.slice(..share))]);
            }
            steps.push(shows_at(fault, at));
            let rest = Frames { tokens: vec![body.slice(share..)], ..Frames::default() };
            ending(&mut steps, fault, question, rest);
            steps
        }
        Rendition::Stream { content_type, mut frames } => {
            let tokens = frames.tokens.len() as u64;
            let at = fault.at_token.unwrap_or(if fault.no_end { u64::MAX } else { 0 }).min(tokens);
            let (first, per_token) = (length(fault.first_token, 100), length(fault.per_token, 10));
            let rest = frames.tokens.split_off(usize::try_from(at).unwrap_or(usize::MAX));
            let said = std::mem::replace(&mut frames.tokens, rest);
            let mut steps = vec![head(200, content_type, Vec::new())];
            if at > 0 && !fault.preamble {
                steps.push(Step::At(first));
            }
            if at > 0 || fault.preamble {
                steps.push(Step::Bytes(std::mem::take(&mut frames.opening)));
            }
            spoken(&mut steps, said, first, per_token);
            steps.push(shows_at(fault, at));
            ending(&mut steps, fault, question, frames);
            steps
        }
    }
}

/// When a fault shows: at the time of the token that does not come.
fn shows_at(fault: &Fault, at: u64) -> Step {
    let (first, per_token) = (length(fault.first_token, 100), length(fault.per_token, 10));
    let next = first + per_token * u32::try_from(at).unwrap_or(u32::MAX);
    Step::At(length(fault.after, 0).max(if at == 0 { Duration::ZERO } else { next }))
}

/// How a broken answer goes on; `rest` is what was still to come of it.
fn ending(steps: &mut Vec<Step>, fault: &Fault, question: &Question, rest: Frames) {
    let stream = question.ask.stream;
    match (fault.kind, fault.status) {
        (Some(FaultKind::Hang), _) => steps.push(Step::Hang),
        (Some(FaultKind::Connect | FaultKind::Reset), _) => steps.push(Step::Reset),
        (Some(FaultKind::Garbage), _) => {
            // One bad chunk; the rest follows as if nothing had happened.
            steps.push(Step::Bytes(question.garbled_frame()));
            steps.extend(rest.tokens.into_iter().map(Step::Bytes));
            steps.extend([Step::Bytes(rest.closing), Step::Told(rest.spent)]);
            steps.extend([Step::Bytes(rest.end), Step::End]);
        }
        (Some(FaultKind::Drip), _) => {
            let next = rest.tokens.into_iter().next().unwrap_or(rest.closing);
            steps.push(Step::Drip(next, length(fault.per_token, 1000)));
            steps.push(Step::End);
        }
        (Some(FaultKind::Huge), _) => {
            steps.push(Step::Fill(fault.bytes.unwrap_or(1_000_000_000)));
            steps.push(Step::End);
        }
        (None, Some(status)) if stream => {
            let frame = question.failure_frame(&Trouble::of(fault, status), true);
            steps.extend([Step::Bytes(frame), Step::End]);
        }
        (None, None) if fault.no_end && stream => {
            // All there is to say, but the connection stays open and silent.
            steps.extend([Step::Bytes(rest.closing), Step::Told(rest.spent), Step::Hang]);
        }
        (Some(FaultKind::Cut) | None, _) => steps.push(Step::End),
    }
}

fn head(status: u16, content_type: &str, mut headers: Headers) -> Step {
    headers.push(("content-type", content_type.to_owned()));
    Step::Head { status, headers }
}

fn quota_headers(family: Family, quota: Option<&Quota>) -> Headers {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    quota.map(|quota| family.quota(quota, now)).unwrap_or_default()
}

fn length(given: Option<Length>, default_ms: u64) -> Duration {
    given.map_or(Duration::from_millis(default_ms), |length| length.0)
}
