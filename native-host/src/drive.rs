//! The run loop: what the core tells to do becomes I/O, and what happened becomes its next event.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Response};
use pointsman_core::{
    Action, Attempt, AttemptNo, Call, Event, Misuse, Outcome, Repetition, Timestamp, Usage,
    WaitReason,
};
use pointsman_wire::{lost_header, outcome_reply};
use tokio::sync::oneshot;

use crate::account::{self, Record};
use crate::attempt::{self, Outgoing};
use crate::body::OutBody;
use crate::client::Client;
use crate::gateway::{Gateway, Step};
use crate::live::Live;
use crate::repeat::Tape;
use crate::reply::{self, Marks};
use crate::stream::{End, Passed, Stream};
use crate::upstream::{self, Answer, Failed, Opened, Question};

/// One call, from the request to its end.
#[derive(Debug)]
pub(crate) struct Drive {
    gateway: Arc<Gateway>,
    /// The configuration by which its latest attempt was decided.
    live: Arc<Live>,
    question: Question,
    client: Client,
    call: Call,
    /// The latest attempt.
    attempt: Option<Attempt>,
    /// The answer that is ready and not yet relayed.
    ready: Option<Answer>,
    /// What the last attempt found wrong with the request, as a body for the client.
    given: Option<Bytes>,
    /// What the request lost in the answering provider's protocol, and the answer in the client's.
    lost: Vec<String>,
    record: Record,
}

/// Drives one call in a task of its own, so that it ends in order whoever leaves. The response, or
/// the beginning of it, comes through `head`.
pub(crate) async fn run(
    gateway: Arc<Gateway>,
    mut question: Question,
    head: oneshot::Sender<Response<OutBody>>,
) {
    let _running = gateway.running();
    let record = Record::begin(&gateway, &mut question);
    let (call, step, tape) = gateway.begin(question.asked.facts.clone());
    let Step { action, live } = step;
    if let Action::Finish(outcome @ Outcome::Repeated { how, .. }) = &action
        && *how != Repetition::Conflict
    {
        repeated(&gateway, &live, &question, tape, head, record, &call, outcome);
        return;
    }
    let head = match tape.filter(|_| call.request().idempotency.is_some()) {
        Some(tape) => record_answer(&gateway, &call, tape, head),
        None => head,
    };
    let client = Client::new(head, Arc::clone(&gateway));
    let (attempt, ready, given, lost) = (None, None, None, Vec::new());
    let mut drive =
        Drive { gateway, live, question, client, call, attempt, ready, given, lost, record };
    let outcome = drive.until_finished(action).await;
    drive.tell(&outcome).await;
    let Drive { gateway, live, call, attempt, mut record, lost, .. } = drive;
    record.lost = lost_header(&lost);
    account::finished(&gateway, &live, &call, attempt.as_ref(), record, &outcome);
}

/// A request that repeats an earlier one: its client gets the answer of that, from the beginning.
#[expect(clippy::too_many_arguments, reason = "all that a call would have owned")]
fn repeated(
    gateway: &Gateway,
    live: &Live,
    question: &Question,
    tape: Option<Tape>,
    head: oneshot::Sender<Response<OutBody>>,
    mut record: Record,
    call: &Call,
    outcome: &Outcome,
) {
    match tape {
        Some(tape) => _ = tokio::spawn(tape.play(head, true)),
        None => {
            let error = reply::no_longer_kept(question.dialect());
            record.status = error.status;
            // A client that has left is told nothing.
            let _ = head.send(reply::error(error, None, None));
        }
    }
    account::finished(gateway, live, call, None, record, outcome);
}

/// Puts a recorder between the call and its client: where the call is to send its answer.
fn record_answer(
    gateway: &Arc<Gateway>,
    call: &Call,
    tape: Tape,
    client: oneshot::Sender<Response<OutBody>>,
) -> oneshot::Sender<Response<OutBody>> {
    let (head, response) = oneshot::channel();
    tokio::spawn(tape.clone().play(client, false));
    let (gateway, call) = (Arc::clone(gateway), call.id());
    tokio::spawn(async move {
        let recorded = tape.record(response, &gateway.tapes).await;
        gateway.tapes.ended(call, recorded, gateway.live().catalog.idempotency_window());
    });
    head
}

impl Drive {
    async fn until_finished(&mut self, mut action: Action) -> Outcome {
        loop {
            let event = match action {
                Action::Send(attempt) => self.send(attempt).await,
                Action::Relay(attempt) => self.relay(attempt).await,
                Action::Wait { until, why } => self.wait(until, why).await,
                // There is no strategy of the host's own, and no shared store.
                Action::Rank { .. } => Event::Declined,
                Action::Claim(_) => Event::StoreDown,
                // One attempt at a time: there is nothing to keep doing.
                Action::Continue => self.given_up().await,
                Action::Finish(outcome) => return outcome,
            };
            let step = match self.gateway.resume(&mut self.call, event) {
                Ok(step) => step,
                Err(misuse) => return self.misused(&misuse),
            };
            if matches!(step.action, Action::Send(_)) {
                self.live = step.live;
            }
            action = step.action;
        }
    }

    /// Opens an attempt, up to its first content.
    async fn send(&mut self, attempt: Attempt) -> Event {
        if self.attempt.replace(attempt).is_none() {
            self.record.first_attempt(&self.gateway);
        }
        let mut outgoing =
            attempt::begins(&self.gateway, &self.live, &self.call, &attempt, &mut self.record);
        let opened = tokio::select! {
            biased;
            opened = open(&self.gateway, &self.live, &self.question, (&attempt, &self.call), &mut outgoing) => {
                Some(opened)
            }
            () = self.client.gone() => None,
        };
        attempt::made(&mut self.record, outgoing);
        let Some(opened) = opened else { return Event::Cancelled { usage: None } };
        match opened {
            Ok(opened) => {
                let usage = match &opened.answer {
                    Answer::Whole { usage, .. } => Some(*usage),
                    Answer::Stream(_) => None,
                };
                self.ready = Some(opened.answer);
                self.lost = opened.lost;
                self.record.first_content_at = Some(opened.first_content_at);
                Event::Ready {
                    attempt: attempt.number,
                    first_content_at: opened.first_content_at,
                    usage,
                    quota: opened.quota,
                }
            }
            Err(failed) => {
                let (gateway, live) = (&self.gateway, &self.live);
                attempt::failed(gateway, live, &self.call, &attempt, &failed, &mut self.record);
                self.given = failed.given;
                Event::Failed { attempt: attempt.number, failure: failed.failure, usage: None }
            }
        }
    }

    /// Hands the answer to the client. From here on nobody else may answer.
    async fn relay(&mut self, attempt: AttemptNo) -> Event {
        match self.ready.take() {
            Some(Answer::Stream(stream)) => self.relay_stream(attempt, stream).await,
            Some(Answer::Whole { body, content_type, usage, facts }) => {
                self.record.facts = facts;
                self.relay_whole(attempt, body, content_type, usage).await
            }
            None => self.given_up().await,
        }
    }

    async fn relay_stream(&mut self, attempt: AttemptNo, mut stream: Box<Stream>) -> Event {
        let marks = marks(&self.gateway, &self.live, &self.call, self.attempt.as_ref(), &self.lost);
        let stream_type = self.question.asked.stream_type();
        let Some(pieces) =
            self.client.begin_stream(|body| reply::stream(&marks, stream_type, body))
        else {
            return Event::Cancelled { usage: Some(stream.usage()) };
        };
        let gone = std::pin::pin!(self.client.gone());
        let passed = stream.pass_on(&pieces, &self.gateway.clock, gone, &mut self.lost).await;
        let Passed { end, usage, facts } = passed;
        self.record.facts = facts;
        let usage = Some(usage);
        match end {
            End::Delivered { ended_at, stalled_by_client } => {
                Event::Completed { attempt, usage, ended_at, stalled_by_client }
            }
            End::Failed { failure, detail } => {
                self.record.detail = Some(detail);
                Event::Failed { attempt, failure, usage }
            }
            End::GivenUp => Event::Cancelled { usage },
        }
    }

    async fn relay_whole(
        &mut self,
        attempt: AttemptNo,
        body: Bytes,
        content_type: Option<HeaderValue>,
        usage: Usage,
    ) -> Event {
        let ended_at = self.gateway.clock.now();
        let (body, handed_over) = OutBody::watched(body);
        let marks = marks(&self.gateway, &self.live, &self.call, self.attempt.as_ref(), &self.lost);
        let response = reply::whole(&marks, content_type, body);
        let delivered = self.client.send(response) && handed_over.await.is_ok();
        if !delivered {
            return Event::Cancelled { usage: Some(usage) };
        }
        let stalled_by_client = self.gateway.clock.now().since(ended_at);
        Event::Completed { attempt, usage: Some(usage), ended_at, stalled_by_client }
    }

    async fn wait(&mut self, until: Timestamp, why: WaitReason) -> Event {
        let since = self.gateway.clock.now();
        let bell = self.gateway.bell(self.call.id());
        let event = tokio::select! {
            () = tokio::time::sleep_until(self.gateway.clock.instant(until)) => Event::Due,
            () = bell.notified() => Event::Woken,
            () = self.client.gone() => Event::Cancelled { usage: None },
        };
        let length = self.gateway.clock.now().since(since);
        self.gateway.metrics.waited(why.name(), length);
        event
    }

    async fn given_up(&mut self) -> Event {
        self.client.gone().await;
        Event::Cancelled { usage: None }
    }

    /// This host broke the contract: the call cannot go on, and the log says so.
    fn misused(&mut self, misuse: &Misuse) -> Outcome {
        tracing::error!(decision = self.call.id().number(), %misuse, "a call was driven wrongly");
        match self.gateway.resume(&mut self.call, Event::Cancelled { usage: None }) {
            Ok(Step { action: Action::Finish(outcome), .. }) => outcome,
            Ok(_) | Err(_) => Outcome::Cancelled { usage: Usage::default(), cost: None },
        }
    }

    /// Tells the client how it ended, if the answer has not done so itself.
    async fn tell(&mut self, outcome: &Outcome) {
        let now = self.gateway.clock.now();
        let (dialect, model) = (self.question.dialect(), &self.question.asked.facts.model);
        let error = match outcome {
            // Whoever left needs no words; whoever is still there was cut by a drain.
            Outcome::Cancelled { .. } => Some(reply::cut_by_drain(dialect)),
            outcome => outcome_reply(dialect, outcome, model, now),
        };
        let Some(error) = error else { return };
        if !self.client.waits_for_head() {
            return self.client.break_off(self.question.asked.stream_error(&error)).await;
        }
        self.record.status = error.status;
        let given = self.given.take();
        let marks = marks(&self.gateway, &self.live, &self.call, self.attempt.as_ref(), &self.lost);
        self.client.send(reply::error(error, given, Some(&marks)));
    }
}

/// Opens an attempt, up to where its answer counts as begun.
async fn open(
    gateway: &Gateway,
    live: &Live,
    question: &Question,
    (attempt, call): (&Attempt, &Call),
    outgoing: &mut Outgoing,
) -> Result<Opened, Failed> {
    let model = live.catalog.upstream_model(attempt.deployment, call);
    let mut opened = upstream::open(gateway, live, question, (attempt, model), outgoing).await?;
    if let Answer::Stream(stream) = &mut opened.answer {
        stream.hold(live.commit(attempt.group), &gateway.answers).await?;
    }
    Ok(opened)
}

/// Where a call has got to, for the headers.
fn marks<'a>(
    gateway: &Gateway,
    live: &'a Live,
    call: &Call,
    attempt: Option<&Attempt>,
    lost: &'a [String],
) -> Marks<'a> {
    Marks {
        decision: call.id().number(),
        group: call.group().map(|group| &**live.group_name(Some(group))),
        deployment: attempt.map(|attempt| &**live.deployment_name(attempt.deployment)),
        attempts: call.attempts(),
        fallbacks: call.fallbacks(),
        allowance: gateway.allowance(call.request().caller),
        now: gateway.clock.now(),
        lost,
    }
}
