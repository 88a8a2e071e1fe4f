//! From a turn of the script to the steps of one answer, and the player that takes them in time.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::chat::{Ask, Chat, Voice};
use super::script::{Answer, Fault, FaultKind, Length, Quota, Turn};

/// What happens next on the connection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Nothing before this long after the request came.
    At(Duration),
    /// The status line and the headers.
    Head { status: u16, headers: Vec<(&'static str, String)> },
    /// A piece of the body.
    Bytes(Bytes),
    /// A piece of the body, one byte at a time with this much between.
    Drip(Bytes, Duration),
    /// This many bytes of nothing in particular.
    Fill(u64),
    /// The body ends as it should.
    End,
    /// The connection is torn down.
    Reset,
    /// Nothing more, for ever.
    Hang,
}

/// The steps of one answer.
pub(crate) fn plan(turn: &Turn, ask: &Ask, voice: &Voice) -> VecDeque<Step> {
    let steps = match turn {
        Turn::Ok(answer) => good(answer, ask, voice),
        Turn::Fail(fault) => bad(fault, ask, voice),
    };
    steps.into()
}

const SSE: &str = "text/event-stream";
const JSON: &str = "application/json";

fn good(answer: &Answer, ask: &Ask, voice: &Voice) -> Vec<Step> {
    let chat = Chat::new(answer, ask, voice);
    let first = length(answer.first_token, 100);
    let tokens = chat.tokens();
    let per_token = match (answer.per_token, answer.total) {
        (Some(per_token), _) => per_token.0,
        (None, total) => {
            let rest = length(total, 300).saturating_sub(first);
            rest / u32::try_from(tokens.max(2) - 1).unwrap_or(u32::MAX)
        }
    };
    let last = first + per_token * u32::try_from(tokens.saturating_sub(1)).unwrap_or(u32::MAX);
    let end = answer.total.map_or(last, |total| total.0.max(first));
    let headers = quota_headers(answer.quota.as_ref());
    if !ask.stream {
        return vec![Step::At(end), head(200, JSON, headers), whole(&chat), Step::End];
    }
    let mut steps = Vec::new();
    if answer.preamble {
        steps.extend([head(200, SSE, headers), Step::Bytes(chat.preamble()), Step::At(first)]);
    } else {
        steps.extend([Step::At(first), head(200, SSE, headers), Step::Bytes(chat.preamble())]);
    }
    spoken(&mut steps, &chat, tokens, first, per_token);
    steps.push(Step::At(end));
    steps.extend([Step::Bytes(chat.finish()), Step::Bytes(chat.done()), Step::End]);
    steps
}

/// `count` tokens on their schedule.
fn spoken(steps: &mut Vec<Step>, chat: &Chat, count: u64, first: Duration, per_token: Duration) {
    for nth in 0..count {
        steps.push(Step::At(first + per_token * u32::try_from(nth).unwrap_or(u32::MAX)));
        steps.push(Step::Bytes(chat.token(nth)));
    }
}

fn bad(fault: &Fault, ask: &Ask, voice: &Voice) -> Vec<Step> {
    let in_the_middle = fault.at_token.is_some() || fault.preamble || fault.no_end;
    match fault.kind {
        _ if in_the_middle => broken(fault, ask, voice),
        Some(FaultKind::Connect | FaultKind::Reset) => {
            vec![Step::At(length(fault.after, 0)), Step::Reset]
        }
        Some(FaultKind::Hang) => vec![Step::Hang],
        Some(FaultKind::Garbage) => vec![
            Step::At(length(fault.after, 20)),
            head(200, content_type(ask), Vec::new()),
            Step::Bytes(Bytes::from_static(b"<html>\xff this is no answer</html>\n\n")),
            Step::End,
        ],
        Some(FaultKind::Drip) => {
            let answer = Answer::default();
            let chat = Chat::new(&answer, ask, voice);
            let body = if ask.stream { chat.token(0) } else { chat.whole() };
            let every = length(fault.per_token, 1000);
            vec![head(200, content_type(ask), Vec::new()), Step::Drip(body, every), Step::End]
        }
        Some(FaultKind::Huge) => {
            let bytes = fault.bytes.unwrap_or(1_000_000_000);
            vec![head(200, content_type(ask), Vec::new()), Step::Fill(bytes), Step::End]
        }
        Some(FaultKind::Cut) | None if fault.status.is_none() => broken(fault, ask, voice),
        Some(FaultKind::Cut) | None => refused(fault, ask),
    }
}

/// An error that says so, with its status or inside a 200.
fn refused(fault: &Fault, ask: &Ask) -> Vec<Step> {
    let status = fault.status.unwrap_or(500);
    let error = error_body(fault, status);
    let mut headers = quota_headers(fault.quota.as_ref());
    if let Some(Length(wait)) = fault.retry_after {
        headers.push(("retry-after", pointsman_core::whole_seconds(wait).to_string()));
        headers.push(("retry-after-ms", wait.as_millis().to_string()));
    }
    let wait = Step::At(length(fault.after, 20));
    match (fault.in_200, ask.stream) {
        (false, _) => {
            vec![wait, head(status, JSON, headers), Step::Bytes(error.into()), Step::End]
        }
        (true, false) => vec![wait, head(200, JSON, headers), Step::Bytes(error.into()), Step::End],
        (true, true) => {
            let event = format!("data: {error}\n\n");
            vec![wait, head(200, SSE, headers), Step::Bytes(event.into()), Step::End]
        }
    }
}

/// An answer that starts well.
fn broken(fault: &Fault, ask: &Ask, voice: &Voice) -> Vec<Step> {
    let at = fault.at_token.unwrap_or(if fault.no_end { u64::MAX } else { 0 });
    let answer =
        Answer { output_tokens: Some(fault.output_tokens.unwrap_or(60)), ..Answer::default() };
    let chat = Chat::new(&answer, ask, voice);
    let at = at.min(chat.tokens());
    let (first, per_token) = (length(fault.first_token, 100), length(fault.per_token, 10));
    let mut steps = vec![head(200, content_type(ask), Vec::new())];
    if ask.stream {
        if fault.preamble {
            steps.push(Step::Bytes(chat.preamble()));
        }
        spoken(&mut steps, &chat, at, first, per_token);
    } else if at > 0 {
        let whole = chat.whole();
        let share = whole.len() as u64 * at / chat.tokens().max(1);
        let share = usize::try_from(share).unwrap_or(0).min(whole.len().saturating_sub(1));
        steps.extend([Step::At(first), Step::Bytes(whole.slice(..share))]);
    }
    // The next token's time is when the fault shows.
    let next = first + per_token * u32::try_from(at).unwrap_or(u32::MAX);
    steps.push(Step::At(length(fault.after, 0).max(if at == 0 { Duration::ZERO } else { next })));
    ending(&mut steps, fault, &chat, ask, at);
    steps
}

fn ending(steps: &mut Vec<Step>, fault: &Fault, chat: &Chat, ask: &Ask, at: u64) {
    match (fault.kind, fault.status) {
        (Some(FaultKind::Hang), _) => steps.push(Step::Hang),
        (Some(FaultKind::Connect | FaultKind::Reset), _) => steps.push(Step::Reset),
        (Some(FaultKind::Garbage), _) => {
            // One bad chunk; the rest follows as if nothing had happened.
            steps.push(Step::Bytes(Bytes::from_static(b"data: {\"choices\":[{\"delta\n\n")));
            steps.extend((at..chat.tokens()).map(|nth| Step::Bytes(chat.token(nth))));
            steps.extend([Step::Bytes(chat.finish()), Step::Bytes(chat.done()), Step::End]);
        }
        (Some(FaultKind::Drip), _) => {
            steps.push(Step::Drip(chat.token(at), length(fault.per_token, 1000)));
            steps.push(Step::End);
        }
        (Some(FaultKind::Huge), _) => {
            steps.push(Step::Fill(fault.bytes.unwrap_or(1_000_000_000)));
            steps.push(Step::End);
        }
        (None, Some(status)) if ask.stream => {
            let event = format!("data: {}\n\n", error_body(fault, status));
            steps.extend([Step::Bytes(event.into()), Step::End]);
        }
        (None, None) if fault.no_end && ask.stream => {
            // All there is to say, but the connection stays open and silent.
            steps.extend([Step::Bytes(chat.finish()), Step::Hang]);
        }
        (Some(FaultKind::Cut) | None, _) => steps.push(Step::End),
    }
}

fn whole(chat: &Chat) -> Step {
    Step::Bytes(chat.whole())
}

fn content_type(ask: &Ask) -> &'static str {
    if ask.stream { SSE } else { JSON }
}

fn head(status: u16, content_type: &str, mut headers: Vec<(&'static str, String)>) -> Step {
    headers.push(("content-type", content_type.to_owned()));
    Step::Head { status, headers }
}

fn error_body(fault: &Fault, status: u16) -> String {
    let kind = if status >= 500 { "server_error" } else { "invalid_request_error" };
    let message = fault.message.clone().unwrap_or_else(|| format!("scripted failure {status}"));
    serde_json::json!({
        "error": { "message": message, "type": kind, "param": null, "code": fault.code }
    })
    .to_string()
}

fn quota_headers(quota: Option<&Quota>) -> Vec<(&'static str, String)> {
    let Some(quota) = quota else { return Vec::new() };
    let mut headers = Vec::new();
    if let Some(left) = quota.requests_left {
        headers.push(("x-ratelimit-remaining-requests", left.to_string()));
    }
    if let Some(left) = quota.tokens_left {
        headers.push(("x-ratelimit-remaining-tokens", left.to_string()));
    }
    if let Some(Length(resets)) = quota.resets_in {
        headers.push(("x-ratelimit-reset-requests", format!("{}ms", resets.as_millis())));
        headers.push(("x-ratelimit-reset-tokens", format!("{}ms", resets.as_millis())));
    }
    headers
}

fn length(given: Option<Length>, default_ms: u64) -> Duration {
    given.map_or(Duration::from_millis(default_ms), |length| length.0)
}

/// Takes the steps in their time.
#[derive(Debug)]
pub(crate) struct Player {
    steps: VecDeque<Step>,
    start: Instant,
}

/// A step that shows on the connection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Played {
    /// The status line and the headers.
    Head { status: u16, headers: Vec<(&'static str, String)> },
    /// A piece of the body.
    Bytes(Bytes),
    /// The body has ended.
    End,
    /// The connection is torn down.
    Reset,
}

/// One piece of a filled body.
const FILL: [u8; 16 * 1024] = [b'x'; 16 * 1024];

impl Player {
    pub(crate) fn new(steps: VecDeque<Step>) -> Self {
        Self { steps, start: Instant::now() }
    }

    /// The next thing that shows. Dropping the future loses nothing but the time waited.
    pub(crate) async fn next(&mut self) -> Played {
        loop {
            match self.steps.front_mut() {
                Some(Step::At(offset)) => {
                    tokio::time::sleep_until(self.start + *offset).await;
                    self.steps.pop_front();
                }
                Some(Step::Hang) => std::future::pending().await,
                Some(Step::Drip(rest, every)) if !rest.is_empty() => {
                    tokio::time::sleep(*every).await;
                    return Played::Bytes(rest.split_to(1));
                }
                Some(Step::Fill(left)) if *left > 0 => {
                    let piece = (*left).min(FILL.len() as u64);
                    *left -= piece;
                    let piece = usize::try_from(piece).unwrap_or(FILL.len());
                    return Played::Bytes(Bytes::from_static(&FILL).slice(..piece));
                }
                Some(Step::Drip(..) | Step::Fill(_)) => {
                    self.steps.pop_front();
                }
                Some(Step::End) | None => return Played::End,
                Some(Step::Reset) => return Played::Reset,
                Some(Step::Head { .. } | Step::Bytes(_)) => return self.shown(),
            }
        }
    }

    fn shown(&mut self) -> Played {
        match self.steps.pop_front() {
            Some(Step::Head { status, headers }) => Played::Head { status, headers },
            Some(Step::Bytes(bytes)) => Played::Bytes(bytes),
            _ => Played::End,
        }
    }
}
