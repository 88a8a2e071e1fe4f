//! One client request from its bytes to its answer: the router decides, the wire crate speaks, and
//! this joins the two. The host moves bytes and keeps one timer.

use pointsman_core::{
    Action, AttemptNo, Call, Event, FailureKind, Outcome, Seed, Timestamp, Usage,
};
use pointsman_wire::AnswerHeaders;
use pointsman_wire::chat::{ChatBody, Progress, fault_reply, outcome_reply, read_chat};

use crate::dto::length;
use crate::engine::Engine;
use crate::step::{Bytes, Reply, Step, Then};
use crate::upstream::{News, Upstream};

/// One client request that has become a call.
pub(crate) struct Exchange {
    asked: Asked,
    call: Call,
    phase: Phase,
    /// The client has its status line.
    replied: bool,
    /// A provider's own words about a request it called bad.
    objection: Option<(u16, Vec<u8>)>,
}

/// What the client asked.
struct Asked {
    bytes: Vec<u8>,
    body: ChatBody,
    model: String,
    stream: bool,
    input_tokens: u64,
}

enum Phase {
    Waiting { until: Timestamp },
    Flight(Box<Upstream>),
    Over,
}

impl Exchange {
    /// Begins a chat completion; without a call if the body cannot be read.
    pub(crate) fn begin(
        engine: &mut Engine,
        bytes: Vec<u8>,
        seed: Seed,
        now: Timestamp,
    ) -> (Option<Self>, Step) {
        let chat = match read_chat(&bytes) {
            Ok(chat) => chat,
            Err(fault) => return (None, Step::error(fault_reply(&fault), Vec::new())),
        };
        let asked = Asked {
            bytes,
            body: chat.body,
            model: chat.facts.model.clone(),
            stream: chat.facts.stream,
            input_tokens: chat.facts.input_tokens.saturating_add(chat.facts.tools_tokens),
        };
        let (call, action) = engine.router.begin(chat.facts, seed, now);
        let mut exchange =
            Self { asked, call, phase: Phase::Over, replied: false, objection: None };
        let step = exchange.follow(engine, action, now, Step::then(Then::End));
        (Some(exchange), step)
    }

    /// The number of the call, as `wakes` lists it.
    pub(crate) fn call_number(&self) -> u64 {
        self.call.id().number()
    }

    /// The head of the upstream's answer has come.
    pub(crate) fn head(
        &mut self,
        status: u16,
        headers: &[(String, String)],
        now: Timestamp,
    ) -> Step {
        let pairs = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let headers = AnswerHeaders::read(pairs, now);
        let relay = self.asked.stream.then(|| self.asked.body.relay());
        if let Phase::Flight(upstream) = &mut self.phase {
            upstream.head(status, headers, relay);
        }
        Step::then(self.next(now))
    }

    /// A piece of the upstream's body has come.
    pub(crate) fn chunk(&mut self, engine: &mut Engine, bytes: &[u8], now: Timestamp) -> Step {
        self.hear(engine, now, |upstream| upstream.chunk(bytes, now))
    }

    /// The upstream's body has ended.
    pub(crate) fn ended(&mut self, engine: &mut Engine, now: Timestamp) -> Step {
        let stream = self.asked.stream;
        self.hear(engine, now, |upstream| upstream.ended(stream))
    }

    /// The upstream cannot be reached, or its connection broke.
    pub(crate) fn broke(&mut self, engine: &mut Engine, now: Timestamp) -> Step {
        self.hear(engine, now, Upstream::broke)
    }

    /// The time of the last `within` is over.
    pub(crate) fn due(&mut self, engine: &mut Engine, now: Timestamp) -> Step {
        match self.phase {
            Phase::Waiting { .. } => self.tell(engine, Event::Due, now),
            Phase::Flight(_) => self.hear(engine, now, |upstream| upstream.due(now)),
            Phase::Over => Step::then(Then::End),
        }
    }

    /// `wakes` listed the call.
    pub(crate) fn woken(&mut self, engine: &mut Engine, now: Timestamp) -> Step {
        self.tell(engine, Event::Woken, now)
    }

    /// The client has the whole answer, which it held up for `stalled`.
    pub(crate) fn delivered(
        &mut self,
        engine: &mut Engine,
        stalled: core::time::Duration,
        now: Timestamp,
    ) -> Step {
        let Phase::Flight(upstream) = &self.phase else { return Step::then(Then::End) };
        let event = Event::Completed {
            attempt: upstream.attempt.number,
            usage: upstream.usage(),
            ended_at: upstream.last_byte_at(),
            stalled_by_client: stalled,
        };
        self.tell(engine, event, now)
    }

    /// The client left.
    pub(crate) fn cancelled(&mut self, engine: &mut Engine, now: Timestamp) -> Step {
        let event = Event::Cancelled { usage: self.usage_so_far() };
        self.tell(engine, event, now);
        self.phase = Phase::Over;
        Step::then(Then::End)
    }

    fn hear(
        &mut self,
        engine: &mut Engine,
        now: Timestamp,
        listen: impl FnOnce(&mut Upstream) -> News,
    ) -> Step {
        let Phase::Flight(upstream) = &mut self.phase else {
            return Step::then(self.next(now));
        };
        let (attempt, quota) = (upstream.attempt.number, upstream.quota());
        match listen(upstream) {
            News::Nothing => Step::then(self.next(now)),
            News::Progress(progress, out) => self.progress(engine, progress, out, now),
            News::Whole { body, usage } => {
                let ready = Event::Ready { attempt, first_content_at: now, usage, quota };
                let mut step = self.commit(engine, ready, now);
                if step.reply.is_some() {
                    step.chunk = Bytes(body);
                    step.then = Then::Deliver;
                }
                step
            }
            News::Failed(failure, words) => {
                if failure.kind == FailureKind::BadRequest {
                    self.objection = failure.status.map(|status| (status, words));
                }
                let event = Event::Failed { attempt, failure, usage: self.usage_so_far() };
                self.tell(engine, event, now)
            }
        }
    }

    fn progress(
        &mut self,
        engine: &mut Engine,
        progress: Progress,
        out: Vec<u8>,
        now: Timestamp,
    ) -> Step {
        let Some((attempt, quota)) = self.in_flight() else { return Step::then(Then::End) };
        let mut step = Step::then(Then::End);
        if progress.first_content {
            let ready = Event::Ready { attempt, first_content_at: now, usage: None, quota };
            step = self.commit(engine, ready, now);
            if step.reply.is_none() {
                return step;
            }
        }
        step.chunk = Bytes(out);
        if let Some(failure) = progress.failure {
            let event = Event::Failed { attempt, failure, usage: self.usage_so_far() };
            let action = self.resume(engine, event, now);
            return self.follow(engine, action, now, step);
        }
        step.then = if progress.done { Then::Deliver } else { self.next(now) };
        step
    }

    /// Reports the first content; the step holds the head for the client if the router commits.
    fn commit(&mut self, engine: &mut Engine, ready: Event, now: Timestamp) -> Step {
        let action = self.resume(engine, ready, now);
        if let (Action::Relay(_), Phase::Flight(upstream)) = (&action, &mut self.phase) {
            upstream.committed = true;
            self.replied = true;
            let media_type =
                if self.asked.stream { "text/event-stream" } else { "application/json" };
            let mut headers = vec![("content-type".to_owned(), media_type.to_owned())];
            let status = upstream.status();
            headers.extend(engine.headers(&self.call, Some(upstream.attempt.deployment)));
            let mut step = Step::then(self.next(now));
            step.reply = Some(Reply { status, headers });
            return step;
        }
        self.follow(engine, action, now, Step::then(Then::End))
    }

    fn tell(&mut self, engine: &mut Engine, event: Event, now: Timestamp) -> Step {
        let action = self.resume(engine, event, now);
        self.follow(engine, action, now, Step::then(Then::End))
    }

    /// An event that came too late has changed nothing: the host goes on with what it was told.
    fn resume(&mut self, engine: &mut Engine, event: Event, now: Timestamp) -> Action {
        engine.router.resume(&mut self.call, event, now).unwrap_or(Action::Continue)
    }

    /// From an action to a step, added to what `step` already holds.
    fn follow(
        &mut self,
        engine: &mut Engine,
        mut action: Action,
        now: Timestamp,
        mut step: Step,
    ) -> Step {
        // This host has no strategy and no store of its own, and says so.
        loop {
            action = match action {
                Action::Rank { .. } => self.resume(engine, Event::Declined, now),
                Action::Claim(_) => self.resume(engine, Event::StoreDown, now),
                other => break self.carry_out(engine, other, now, &mut step),
            };
        }
        step
    }

    fn carry_out(&mut self, engine: &mut Engine, action: Action, now: Timestamp, step: &mut Step) {
        match action {
            Action::Send(attempt) => {
                let upstream = Upstream::new(attempt, now);
                let within = length(upstream.within(now));
                self.phase = Phase::Flight(Box::new(upstream));
                let asked = &self.asked;
                step.then = engine.request(attempt.deployment, &asked.model, |target| {
                    let head = pointsman_wire::chat::chat_head(target, asked.stream);
                    let headers = head.headers.into_iter().map(|one| (one.name, one.value));
                    Then::Send {
                        method: head.method,
                        url: head.url,
                        headers: headers.collect(),
                        body: Bytes(asked.body.rewrite(target).to_vec(&asked.bytes)),
                        within,
                    }
                });
            }
            Action::Wait { until, .. } => {
                self.phase = Phase::Waiting { until };
                step.then = self.next(now);
            }
            Action::Finish(outcome) => self.finish(engine, &outcome, now, step),
            // The rest changes nothing here.
            _ => step.then = self.next(now),
        }
    }

    fn finish(&mut self, engine: &Engine, outcome: &Outcome, now: Timestamp, step: &mut Step) {
        self.phase = Phase::Over;
        step.then = Then::End;
        let Some(reply) = outcome_reply(outcome, &self.asked.model, now) else { return };
        if self.replied {
            step.chunk.0.extend_from_slice(&reply.stream_event());
            return;
        }
        let headers = engine.headers(&self.call, None);
        let bad = matches!(
            outcome,
            Outcome::Exhausted { last, .. } if last.kind == FailureKind::BadRequest
        );
        *step = match self.objection.take() {
            Some((status, words)) if bad => Step::json(status, headers, words),
            _ => Step::error(reply, headers),
        };
    }

    /// What the host does while nothing has changed.
    fn next(&self, now: Timestamp) -> Then {
        match &self.phase {
            Phase::Waiting { until } => Then::Wait { within: length(until.since(now)) },
            Phase::Flight(upstream) => Then::Read { within: length(upstream.within(now)) },
            Phase::Over => Then::End,
        }
    }

    fn in_flight(&self) -> Option<(AttemptNo, Option<pointsman_core::QuotaFacts>)> {
        match &self.phase {
            Phase::Flight(upstream) => Some((upstream.attempt.number, upstream.quota())),
            Phase::Waiting { .. } | Phase::Over => None,
        }
    }

    fn usage_so_far(&self) -> Option<Usage> {
        match &self.phase {
            Phase::Flight(upstream) => upstream.usage_so_far(self.asked.input_tokens),
            Phase::Waiting { .. } | Phase::Over => None,
        }
    }
}
