//! One attempt at one deployment, up to the first content of its answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use opentelemetry::trace::SpanContext;
use pointsman_core::{Attempt, Clocks, Failure, FailureKind, QuotaFacts, Timestamp, Usage};
use pointsman_wire::{
    AnswerHeaders, Dialect, Expected, Prepared, Refused, ResponseFacts, Stamp, Target,
};
use tokio::time::{Instant, timeout};

use crate::attempt::Outgoing;
use crate::clock::Clock;
use crate::gateway::Gateway;
use crate::gunzip::Gunzip;
use crate::line::{self, Route};
use crate::live::Live;
use crate::pool::Pool;
use crate::room::Held;
use crate::source::{NotWhole, Source};
use crate::stream::Stream;

/// The largest error body that is read, in bytes, and how long that may take: the status says
/// enough.
const MAX_ERROR: usize = 1024 * 1024;
const ERROR_TIME: Duration = Duration::from_secs(2);

/// A client's request as an attempt needs it.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) asked: pointsman_wire::Question,
    pub(crate) bytes: Bytes,
    /// The room that they take.
    pub(crate) _held: Held,
    /// The request headers that go into its usage record.
    pub(crate) labels: Vec<(String, String)>,
    /// The span in the client's trace that it comes from.
    pub(crate) parent: Option<SpanContext>,
}

impl Question {
    /// Whether the answer is to be streamed.
    pub(crate) fn stream(&self) -> bool {
        self.asked.facts.stream
    }

    /// What the client speaks.
    pub(crate) fn dialect(&self) -> Dialect {
        self.asked.dialect()
    }
}

/// An answer of which content is in our hands, and none has been delivered.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) answer: Answer,
    /// What the request lost on the way into this provider's protocol, and a whole answer on its way
    /// back.
    pub(crate) lost: Vec<String>,
    pub(crate) first_content_at: Timestamp,
    pub(crate) quota: Option<QuotaFacts>,
}

/// The answer itself.
#[derive(Debug)]
pub(crate) enum Answer {
    /// A stream whose first content has come.
    Stream(Box<Stream>),
    /// All of it.
    Whole {
        /// As the client is to have it.
        body: Bytes,
        /// What it is, if not JSON in the client's protocol.
        content_type: Option<HeaderValue>,
        usage: Usage,
        /// What it says of itself, if that was wanted.
        facts: ResponseFacts,
    },
}

/// A status line and headers, with the body to come.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: AnswerHeaders,
    pub(crate) source: Source,
    pub(crate) expected: Expected,
    /// What the body is, where that goes on to the client.
    pub(crate) content_type: Option<HeaderValue>,
}

/// An attempt that failed before any content.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) failure: Failure,
    /// What is wrong with the request, as a body for the client: in the provider's own words, or in
    /// ours if the provider was not asked.
    pub(crate) given: Option<Bytes>,
    /// For the log.
    pub(crate) detail: String,
}

impl Failed {
    pub(crate) fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Self { failure: Failure::new(kind), given: None, detail: detail.into() }
    }

    /// The request cannot be said in the provider's protocol.
    fn refused(refused: &Refused, client: Dialect) -> Self {
        let given = Some(refused.reply(client).body().into());
        Self { failure: Failure::new(refused.kind()), given, detail: refused.to_string() }
    }
}

impl From<NotWhole> for Failed {
    fn from(why: NotWhole) -> Self {
        match why {
            NotWhole::Broken(detail) => Self::new(FailureKind::Server, detail),
            NotWhole::NoRoom => {
                Self::new(FailureKind::Local, "no room for the answer (`server.max_answers`)")
            }
        }
    }
}

/// Sends the question, with `model` for the model's name, and reads the answer up to its first content,
/// within the attempt's clocks.
/// Dropping the future closes the connection.
pub(crate) async fn open(
    gateway: &Gateway,
    live: &Live,
    question: &Question,
    (attempt, model): (&Attempt, &str),
    outgoing: &mut Outgoing,
) -> Result<Opened, Failed> {
    let mut seen = false;
    let clocks = &attempt.clocks;
    let limit = clocks.first_content.min(clocks.total);
    let sent_at = Instant::now();
    let opening = async {
        let (reply, mut lost) = ask(gateway, live, question, (attempt, model), outgoing).await?;
        let opened = read(reply, question, attempt, sent_at, gateway, &mut seen).await;
        let opened = opened.map_err(|failed| discreet(failed, live, attempt))?;
        lost.extend(opened.lost);
        Ok(Opened { lost, ..opened })
    };
    let Ok(opened) = timeout(limit, opening).await else {
        let kind = late(clocks, question.stream(), seen);
        return Err(Failed::new(kind, format!("no content within {} ms", limit.as_millis())));
    };
    opened
}

/// A provider may repeat what it was sent: what gives our own secrets away is not passed on.
fn discreet(mut failed: Failed, live: &Live, attempt: &Attempt) -> Failed {
    if let Some((_, line)) = live.line(attempt.deployment) {
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

/// Asks the question; says with the reply what was lost in translation.
async fn ask(
    gateway: &Gateway,
    live: &Live,
    question: &Question,
    (attempt, model): (&Attempt, &str),
    outgoing: &mut Outgoing,
) -> Result<(Reply, Vec<String>), Failed> {
    let Some((deployment, line)) = live.line(attempt.deployment) else {
        return Err(Failed::new(FailureKind::Local, "the deployment has no provider"));
    };
    let now = gateway.clock.now();
    let stamp = Stamp { nonce: gateway.nonce(), created: now.as_micros() / 1_000_000 };
    let overlay = live.overlay(attempt.group, attempt.deployment);
    let supports = &live.catalog.facts_of(attempt.deployment, model).supports;
    let max_output = supports.output_tokens;
    let web_search = supports.web_search == Some(true);
    let vocabulary = deployment.vocabulary;
    let target = Target { overlay, max_output, web_search, vocabulary, ..line.target(model) };
    let prepared = question.asked.prepare(&question.bytes, &target, stamp, now);
    let nothing = prepared.as_ref().map_or(&[][..], |prepared| &prepared.lost);
    outgoing.prepared(line.address(), model, nothing);
    let mut prepared = prepared.map_err(|refused| Failed::refused(&refused, question.dialect()))?;
    prepared.expected = prepared.expected.with_facts(outgoing.recorded);
    let lost = prepared.lost.clone();
    if let Some(answer) = prepared.answer {
        let source = Source::Ours(Some(answer.into()));
        let (headers, expected) = (AnswerHeaders::default(), prepared.expected);
        return Ok((Reply { status: 200, headers, source, expected, content_type: None }, lost));
    }
    let reply = match &line.route {
        Route::Http(pool) => {
            let connect = attempt.clocks.connect;
            call(pool, prepared, question, connect, &gateway.clock, &outgoing.headers).await
        }
        Route::Practice(practice) => practice.answer(prepared, question, model).await,
    };
    Ok((reply?, lost))
}

async fn call(
    pool: &Arc<Pool>,
    prepared: Prepared,
    question: &Question,
    connect: Duration,
    clock: &Clock,
    trace: &HeaderMap,
) -> Result<Reply, Failed> {
    let body = Bytes::from(prepared.body.to_vec(&question.bytes));
    let request = || line::request(&prepared.head, trace, body.clone());
    let sent = pool.send(request, connect).await;
    let (response, lease) = sent.map_err(|error| Failed::new(error.kind, error.detail))?;
    let (head, body) = response.into_parts();
    let headers = head.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let headers = AnswerHeaders::read(headers, clock.now());
    let content_type = head.headers.get(CONTENT_TYPE).cloned();
    let gunzip = Gunzip::of(head.headers.get(CONTENT_ENCODING));
    let gunzip = gunzip.map_err(|detail| Failed::new(FailureKind::Server, detail))?;
    let source = Source::Http { body, lease: Some(lease), gunzip };
    let (status, expected) = (head.status.as_u16(), prepared.expected);
    Ok(Reply { status, headers, source, expected, content_type })
}

async fn read(
    reply: Reply,
    question: &Question,
    attempt: &Attempt,
    sent_at: Instant,
    gateway: &Gateway,
    seen: &mut bool,
) -> Result<Opened, Failed> {
    let good = (200..300).contains(&reply.status);
    match (good, question.stream(), reply.headers.event_stream) {
        (false, _, _) => Err(refusal(reply).await),
        (true, true, true) => {
            let quota = reply.headers.quota;
            let stream = Stream::open(reply, question, &attempt.clocks, sent_at, seen).await?;
            let answer = Answer::Stream(Box::new(stream));
            Ok(Opened { answer, lost: Vec::new(), first_content_at: gateway.clock.now(), quota })
        }
        (true, false, true) if !reply.expected.is_opaque() => {
            Err(Failed::new(FailureKind::Server, "a stream came where none was asked for"))
        }
        (true, asked_for_stream, _) => {
            let opened = whole(reply, question, gateway, seen).await?;
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
    let failure = reply.expected.failure(reply.status, &reply.headers, &body);
    let detail = format!("status {}", reply.status);
    let given = match failure.kind {
        FailureKind::BadRequest => reply.expected.objection(reply.status, &body),
        _ => None,
    };
    Failed { failure, given: given.map(|words| words.into_owned().into()), detail }
}

async fn whole(
    mut reply: Reply,
    question: &Question,
    gateway: &Gateway,
    seen: &mut bool,
) -> Result<Opened, Failed> {
    let most = usize::try_from(gateway.bounds.max_answer).unwrap_or(usize::MAX);
    let mut held = gateway.answers.hold();
    let body = reply.source.whole_within(most, seen, &mut held).await?;
    let judged = reply.expected.whole(reply.status, &reply.headers, &body);
    let answer = judged.map_err(|failure| Failed {
        failure,
        given: None,
        detail: "the body is no answer".into(),
    })?;
    let usage = answer.usage_or_estimate(question.asked.input_tokens());
    let body = answer.body.map_or(body, Bytes::from);
    if !held.fit(body.len()) {
        return Err(NotWhole::NoRoom.into());
    }
    let body = held.around(body);
    let content_type = reply.content_type.filter(|_| reply.expected.is_opaque());
    Ok(Opened {
        answer: Answer::Whole { body, content_type, usage, facts: answer.facts },
        lost: answer.lost.iter().map(|name| (*name).to_owned()).collect(),
        first_content_at: gateway.clock.now(),
        quota: answer.quota,
    })
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
