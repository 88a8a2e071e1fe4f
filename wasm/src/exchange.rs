//! One client request from its bytes to its answer: the router decides, the wire crate speaks, and
//! this joins the two. The host moves bytes and keeps one timer.

use pointsman_core::{
    Action, Attempt, AttemptNo, Call, Event, Failure, FailureKind, Outcome, Seed, Timestamp, Usage,
};
use pointsman_wire::{
    AnswerHeaders, ClientHeaders, Endpoint, Progress, Question, Stamp, fault_reply, lost_header,
    outcome_reply,
};

use crate::dto::length;
use crate::engine::Engine;
use crate::step::{Bytes, Reply, Step, Then};
use crate::upstream::{News, Upstream};

/// One client request that has become a call.
pub(crate) struct Exchange {
    question: Question,
    bytes: Vec<u8>,
    seed: Seed,
    call: Call,
    phase: Phase,
    /// The client has its status line.
    replied: bool,
    /// What the last attempt found wrong with the request, as a body for the client.
    objection: Option<Vec<u8>>,
    /// What the protocols could not hold of the request and, so far, of the answer.
    lost: Vec<String>,
}

enum Phase {
    Waiting { until: Timestamp },
    Flight(Box<Upstream>),
    Over,
}

impl Exchange {
    /// Begins a request that is routed; without a call if the body cannot be read.
    pub(crate) fn begin(
        engine: &mut Engine,
        (endpoint, headers): (Endpoint, ClientHeaders),
        bytes: Vec<u8>,
        seed: Seed,
        now: Timestamp,
    ) -> (Option<Self>, Step) {
        let dialect = endpoint.dialect();
        let mut question = match Question::read(endpoint, headers, &bytes) {
            Ok(question) => question,
            Err(fault) => return (None, Step::error(fault_reply(dialect, &fault), Vec::new())),
        };
        if engine.router.catalog().wants_prefixes() {
            question.facts.prefix = question.prefix(&bytes);
        }
        let (call, action) = engine.router.begin(question.facts.clone(), seed, now);
        let (phase, replied, objection, lost) = (Phase::Over, false, None, Vec::new());
        let mut exchange = Self { question, bytes, seed, call, phase, replied, objection, lost };
        let step = exchange.follow(engine, action, now, Step::then(Then::End));
        (Some(exchange), step)
    }

    /// The number of the call, as `wakes` lists it.
    pub(crate) fn call_number(&self) -> u64 {
        self.call.id().number()
    }

    /// What the protocols could not hold of the request and, so far, of the answer: empty before
    /// the client has its status line.
    pub(crate) fn lost(&self) -> &[String] {
        &self.lost
    }

    /// The head of the upstream's answer has come.
    pub(crate) fn head(
        &mut self,
        status: u16,
        headers: &[(String, String)],
        now: Timestamp,
    ) -> Step {
        let pairs = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let read = AnswerHeaders::read(pairs, now);
        let media_type = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let media_type = media_type.map(|(_, value)| value.clone());
        if let Phase::Flight(upstream) = &mut self.phase {
            upstream.head(status, read, media_type, self.question.facts.stream);
        }
        Step::then(self.next(now))
    }

    /// A piece of the upstream's body has come.
    pub(crate) fn chunk(&mut self, engine: &mut Engine, bytes: &[u8], now: Timestamp) -> Step {
        self.hear(engine, now, |upstream| upstream.chunk(bytes, now))
    }

    /// The upstream's body has ended.
    pub(crate) fn ended(&mut self, engine: &mut Engine, now: Timestamp) -> Step {
        let stream = self.question.facts.stream;
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
                self.objection = words.filter(|_| failure.kind == FailureKind::BadRequest);
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
        // Before that nothing of it has gone to the client.
        if let Phase::Flight(upstream) = &self.phase
            && upstream.committed
        {
            upstream.lost_of_stream(&mut self.lost);
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
            self.lost.clone_from(&upstream.lost);
            self.replied = true;
            let media_type = match upstream.media_type() {
                Some(media_type) => media_type,
                None if self.question.facts.stream => self.question.stream_type(),
                None => "application/json",
            };
            let mut headers = vec![("content-type".to_owned(), media_type.to_owned())];
            let status = upstream.status();
            headers.extend(engine.headers(&self.call, Some(upstream.attempt.deployment)));
            headers
                .extend(lost_header(&upstream.lost).map(|lost| ("x-pointsman-lost".into(), lost)));
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
                Action::Send(attempt) => match self.send(engine, attempt, now) {
                    Ok(Some(then)) => {
                        step.then = then;
                        break;
                    }
                    Ok(None) => return self.ended(engine, now),
                    Err(failure) => {
                        let event = Event::Failed { attempt: attempt.number, failure, usage: None };
                        self.resume(engine, event, now)
                    }
                },
                other => break self.carry_out(engine, other, now, &mut step),
            };
        }
        step
    }

    /// Makes the request of an attempt; `None` if the answer is ours and has come.
    ///
    /// # Errors
    /// This deployment's protocol cannot hold the request.
    fn send(
        &mut self,
        engine: &Engine,
        attempt: Attempt,
        now: Timestamp,
    ) -> Result<Option<Then>, Failure> {
        let nonce = self.seed.derive(attempt.number.number().into()).0;
        let stamp = Stamp { nonce, created: now.as_micros() / 1_000_000 };
        let (question, bytes) = (&self.question, &self.bytes);
        let target = (attempt.group, attempt.deployment);
        let prepared = engine
            .request(target, &self.call, |target| question.prepare(bytes, target, stamp, now));
        let prepared = prepared.map_err(|refused| {
            self.objection = Some(refused.reply(self.question.dialect()).body());
            Failure::new(refused.kind())
        })?;
        let mut upstream = Upstream::new(attempt, prepared.expected, prepared.lost, now);
        if let Some(answer) = prepared.answer {
            upstream.head(200, AnswerHeaders::default(), None, false);
            upstream.chunk(&answer, now);
            self.phase = Phase::Flight(Box::new(upstream));
            return Ok(None);
        }
        let within = length(upstream.within(now));
        self.phase = Phase::Flight(Box::new(upstream));
        let headers = prepared.head.headers.into_iter().map(|one| (one.name, one.value));
        Ok(Some(Then::Send {
            method: prepared.head.method,
            url: prepared.head.url,
            headers: headers.collect(),
            body: Bytes(prepared.body.to_vec(&self.bytes)),
            within,
        }))
    }

    fn carry_out(&mut self, engine: &mut Engine, action: Action, now: Timestamp, step: &mut Step) {
        match action {
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
        let (dialect, model) = (self.question.dialect(), &self.question.facts.model);
        let Some(reply) = outcome_reply(dialect, outcome, model, now) else { return };
        if self.replied {
            step.chunk.0.extend_from_slice(&self.question.stream_error(&reply));
            return;
        }
        let headers = engine.headers(&self.call, None);
        let at_fault = matches!(
            outcome,
            Outcome::Exhausted { last, .. }
                if matches!(last.kind, FailureKind::BadRequest | FailureKind::Untranslatable)
        );
        let words = self.objection.take().filter(|_| at_fault);
        *step = Step::error(reply, headers);
        if let Some(words) = words {
            step.chunk = Bytes(words);
        }
    }

    /// What the host does while nothing has changed.
    fn next(&mut self, now: Timestamp) -> Then {
        match &mut self.phase {
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
            Phase::Flight(upstream) => upstream.usage_so_far(self.question.input_tokens()),
            Phase::Waiting { .. } | Phase::Over => None,
        }
    }
}
