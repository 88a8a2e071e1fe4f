//! One attempt at one deployment, up to the first content of its answer.

use std::time::Duration;

use bytes::Bytes;
use pointsman_core::{Attempt, Clocks, Failure, FailureKind, QuotaFacts, Timestamp, Usage};
use pointsman_wire::AnswerHeaders;
use pointsman_wire::chat::{ChatRequest, error_answer, is_object, whole_answer};
use tokio::time::{Instant, timeout};

use crate::clock::Clock;
use crate::gateway::Gateway;
use crate::line::{Line, OpenAiLine};
use crate::source::Source;
use crate::stream::Stream;

/// The largest whole answer, in bytes.
const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// The largest error body that is read, in bytes, and how long that may take: the status says
/// enough.
const MAX_ERROR: usize = 1024 * 1024;
const ERROR_TIME: Duration = Duration::from_secs(2);

/// A client's request as an attempt needs it.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) chat: ChatRequest,
    pub(crate) bytes: Bytes,
    /// The request headers that go into its usage record.
    pub(crate) labels: Vec<(String, String)>,
}

impl Question {
    /// Input tokens, tools included, as reckoned.
    pub(crate) fn input_tokens(&self) -> u64 {
        self.chat.facts.input_tokens.saturating_add(self.chat.facts.tools_tokens)
    }
}

/// An answer of which content is in our hands, and none has been delivered.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) answer: Answer,
    pub(crate) first_content_at: Timestamp,
    pub(crate) quota: Option<QuotaFacts>,
}

/// The answer itself.
#[derive(Debug)]
pub(crate) enum Answer {
    /// A stream whose first content has come.
    Stream(Box<Stream>),
    /// All of it: its bytes as they came, and what it used.
    Whole(Bytes, Usage),
}

/// A status line and headers, with the body to come.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: AnswerHeaders,
    pub(crate) source: Source,
}

/// An attempt that failed before any content.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) failure: Failure,
    /// The provider's own words about a bad request, for the client.
    pub(crate) given: Option<Bytes>,
    /// For the log.
    pub(crate) detail: String,
}

impl Failed {
    pub(crate) fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Self { failure: Failure::new(kind), given: None, detail: detail.into() }
    }
}

/// Sends the question and reads the answer up to its first content, within the attempt's clocks.
/// Dropping the future closes the connection.
pub(crate) async fn open(
    gateway: &Gateway,
    question: &Question,
    attempt: &Attempt,
) -> Result<Opened, Failed> {
    let mut seen = false;
    let clocks = &attempt.clocks;
    let limit = clocks.first_content.min(clocks.total);
    let sent_at = Instant::now();
    let opening = async {
        let reply = ask(gateway, question, attempt).await?;
        let opened = read(reply, question, attempt, sent_at, &gateway.clock, &mut seen).await;
        opened.map_err(|failed| discreet(failed, gateway, question, attempt))
    };
    let Ok(opened) = timeout(limit, opening).await else {
        let kind = late(clocks, question.chat.facts.stream, seen);
        return Err(Failed::new(kind, format!("no content within {} ms", limit.as_millis())));
    };
    opened
}

/// A provider may repeat what it was sent: what gives our own secrets away is not passed on.
fn discreet(
    mut failed: Failed,
    gateway: &Gateway,
    question: &Question,
    attempt: &Attempt,
) -> Failed {
    let line = gateway.line(attempt.deployment, &question.chat.facts.model);
    if let Some((Line::OpenAi(line), _)) = line {
        failed.given = failed.given.filter(|words| !line.gives_away(words));
    }
    failed
}

/// What it is called when the first clock runs out.
fn late(clocks: &Clocks, stream: bool, seen: bool) -> FailureKind {
    let total_came_first = clocks.total < clocks.first_content;
    if seen && (!stream || total_came_first) {
        FailureKind::TotalTimeout
    } else {
        FailureKind::FirstTokenTimeout
    }
}

async fn ask(gateway: &Gateway, question: &Question, attempt: &Attempt) -> Result<Reply, Failed> {
    let requested = &question.chat.facts.model;
    let Some((line, model)) = gateway.line(attempt.deployment, requested) else {
        return Err(Failed::new(FailureKind::Local, "the deployment has no provider"));
    };
    match line {
        Line::OpenAi(line) => {
            call(line, question, &model, attempt.clocks.connect, &gateway.clock).await
        }
        Line::Practice(practice) => practice.answer(question, &model).await,
        Line::Unspoken(protocol) => {
            let detail = format!("protocol `{}` is not built yet", protocol.name());
            Err(Failed::new(FailureKind::Untranslatable, detail))
        }
    }
}

async fn call(
    line: &OpenAiLine,
    question: &Question,
    model: &str,
    connect: Duration,
    clock: &Clock,
) -> Result<Reply, Failed> {
    let request =
        line.request(question, model).map_err(|detail| Failed::new(FailureKind::Local, detail))?;
    let sent = line.pool.send(request, connect).await;
    let (response, lease) = sent.map_err(|error| Failed::new(error.kind, error.detail))?;
    let (head, body) = response.into_parts();
    let headers = head.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let headers = AnswerHeaders::read(headers, clock.now());
    let source = Source::Http { body, lease: Some(lease) };
    Ok(Reply { status: head.status.as_u16(), headers, source })
}

async fn read(
    reply: Reply,
    question: &Question,
    attempt: &Attempt,
    sent_at: Instant,
    clock: &Clock,
    seen: &mut bool,
) -> Result<Opened, Failed> {
    let good = (200..300).contains(&reply.status);
    match (good, question.chat.facts.stream, reply.headers.event_stream) {
        (false, _, _) => Err(refusal(reply).await),
        (true, true, true) => {
            let quota = reply.headers.quota;
            let stream = Stream::open(reply, question, &attempt.clocks, sent_at, seen).await?;
            let answer = Answer::Stream(Box::new(stream));
            Ok(Opened { answer, first_content_at: clock.now(), quota })
        }
        (true, false, true) => {
            Err(Failed::new(FailureKind::Server, "a stream came where none was asked for"))
        }
        (true, asked_for_stream, false) => {
            let opened = whole(reply, question, clock, seen).await?;
            if asked_for_stream {
                return Err(Failed::new(FailureKind::Server, "a whole answer came for a stream"));
            }
            Ok(opened)
        }
    }
}

/// An answer that says no.
async fn refusal(mut reply: Reply) -> Failed {
    let mut seen = false;
    let body = timeout(ERROR_TIME, reply.source.whole(MAX_ERROR, &mut seen)).await;
    let body = body.ok().and_then(Result::ok).unwrap_or_default();
    let failure = error_answer(reply.status, &reply.headers, &body);
    let detail = format!("status {}", reply.status);
    let presentable = failure.kind == FailureKind::BadRequest && is_object(&body);
    Failed { failure, given: presentable.then_some(body), detail }
}

async fn whole(
    mut reply: Reply,
    question: &Question,
    clock: &Clock,
    seen: &mut bool,
) -> Result<Opened, Failed> {
    let body = reply.source.whole(MAX_ANSWER, seen).await;
    let body = body.map_err(|detail| Failed::new(FailureKind::Server, detail))?;
    let answer = whole_answer(reply.status, &reply.headers, &body).map_err(|failure| Failed {
        failure,
        given: None,
        detail: "the body is no answer".into(),
    })?;
    let usage = answer.usage_or_estimate(question.input_tokens());
    let first_content_at = clock.now();
    Ok(Opened { answer: Answer::Whole(body, usage), first_content_at, quota: answer.quota })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_answer_is_blamed_only_if_nothing_came() {
        let clocks = |first: u64, total: u64| Clocks {
            connect: Duration::from_secs(1),
            first_content: Duration::from_secs(first),
            idle: Duration::from_secs(1),
            total: Duration::from_secs(total),
        };
        let (stream, whole) = (true, false);
        assert_eq!(late(&clocks(3, 9), stream, false), FailureKind::FirstTokenTimeout);
        assert_eq!(late(&clocks(3, 9), stream, true), FailureKind::FirstTokenTimeout);
        assert_eq!(late(&clocks(9, 3), stream, true), FailureKind::TotalTimeout);
        assert_eq!(late(&clocks(3, 9), whole, false), FailureKind::FirstTokenTimeout);
        assert_eq!(late(&clocks(3, 9), whole, true), FailureKind::TotalTimeout);
    }
}
