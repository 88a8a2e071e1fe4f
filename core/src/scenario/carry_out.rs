//! Carries out what the router tells the scenario's host to do.

use core::time::Duration;

use super::play::play;
use super::queue::{Class, Happening};
use super::record::Record;
use super::server::Turn;
use super::upstream::{Answer, Behaviour, Script};
use super::world::{Flight, Stage, Wait, World};
use crate::action::{Action, Attempt, Event};
use crate::call::Call;
use crate::config::Commit;
use crate::id::AttemptNo;
use crate::request::Request;
use crate::time::Timestamp;

impl World<'_> {
    /// Carries out an action of a call that has no attempt in flight any more. Says how many calls
    /// that ended.
    pub(super) fn perform(&mut self, index: usize, stage: Stage, action: Action) -> usize {
        let Some(mut call) = self.left(index, stage) else { return 0 };
        let mut action = action;
        loop {
            let event = match action {
                Action::Send(attempt) => {
                    let flight = self.send(index, &call, &attempt);
                    self.set(index, Stage::Flying(call, Box::new(flight)));
                    return 0;
                }
                Action::Wait { until, .. } => {
                    self.wait(index, call, until);
                    return 0;
                }
                Action::Finish(outcome) => {
                    self.ids.remove(&call.id());
                    let (clock, now) = (self.clock(), self.now);
                    let catalog = self.router.catalog();
                    if let Some(record) = self.records.get_mut(index) {
                        record.finished(now, &outcome, *call, catalog, clock);
                    }
                    return 1;
                }
                // This host has no strategy of its own, and no shared store.
                Action::Rank { .. } => Event::Declined,
                Action::Claim(_) => Event::StoreDown,
                Action::Relay(_) | Action::Continue => {
                    return self.breach(index, call, "an action without an attempt in flight");
                }
            };
            let clock = self.clock();
            action = match self.router.resume(&mut call, event, clock) {
                Ok(next) => next,
                Err(misuse) => return self.breach(index, call, &misuse.to_string()),
            };
        }
    }

    /// The engine did what it must not: the call is given up and the run has failed.
    pub(super) fn breach(&mut self, index: usize, call: Box<Call>, what: &str) -> usize {
        self.breaches.push(format!("core and host disagree: {what}"));
        self.ids.remove(&call.id());
        self.with_record(index, |record, now| record.lost(now, *call));
        1
    }

    fn send(&mut self, index: usize, call: &Call, attempt: &Attempt) -> Flight {
        let name = self.router.catalog().deployment(attempt.deployment).name.clone();
        let usual = Script::default();
        let scripted = self.scripted(&name, call, attempt);
        let script = self.plan.scripts.get(&scripted).unwrap_or(&usual);
        let stretch = script.stretch_at(self.now);
        let turn = self.turns.entry((scripted.clone(), stretch)).or_default();
        let behaviour = script.behaviour(stretch, *turn).cloned().unwrap_or_default();
        *turn = turn.saturating_add(1);
        self.sends = self.sends.saturating_add(1);
        let (behaviour, turn) = self.served(index, &scripted, behaviour, call.request());
        let group = &self.router.catalog().group(attempt.group).name;
        let commit = self.config.commits.get(group).copied().unwrap_or(Commit::FirstContent);
        let mut play = play(&behaviour, &attempt.clocks, commit, call.request());
        if let Some(stalls) = self.plan.calls.get(index).and_then(|call| call.stalls) {
            play.hold_up(stalls, &attempt.clocks);
        }
        let number = attempt.number;
        if let Some(ready) = play.ready {
            let what = Happening::Ready { call: index, attempt: number };
            self.queue.push(self.now.saturating_add(ready), Class::Upstream, self.sends, what);
        }
        let what = Happening::End { call: index, attempt: number };
        let (class, rank) =
            if play.by_clock { (Class::Timer, 0) } else { (Class::Upstream, self.sends) };
        self.queue.push(self.now.saturating_add(play.ends), class, rank, what);
        self.with_record(index, |record, now| record.sent(now, name));
        Flight { number, sent_at: self.now, play, turn }
    }

    /// Whose script an attempt follows: that of its model at this deployment, else the deployment's.
    fn scripted(&self, name: &str, call: &Call, attempt: &Attempt) -> String {
        let model = self.router.upstream_model(attempt.deployment, call);
        let of_model = format!("{name}/{model}");
        if self.plan.scripts.contains_key(&of_model) { of_model } else { name.to_owned() }
    }

    /// What becomes of a behaviour for this call: a server with a capacity says when it answers, and a
    /// recording how much.
    fn served(
        &mut self,
        index: usize,
        name: &str,
        behaviour: Behaviour,
        request: &Request,
    ) -> (Behaviour, Option<(String, Turn)>) {
        let recorded = self.plan.calls.get(index).and_then(|call| call.output_tokens);
        match behaviour {
            Behaviour::Serve(capacity) => {
                let input = request.input_tokens.saturating_add(request.tools_tokens);
                let output = recorded.unwrap_or(Answer::default().output_tokens);
                let server = self.servers.entry(name.to_owned()).or_default();
                let (answer, turn) = server.serve(&capacity, self.sends, (input, output), self.now);
                (Behaviour::Answer(answer), Some((name.to_owned(), turn)))
            }
            Behaviour::Answer(answer) => {
                let output_tokens = recorded.unwrap_or(answer.output_tokens);
                (Behaviour::Answer(Answer { output_tokens, ..answer }), None)
            }
            Behaviour::Fault(fault) => (Behaviour::Fault(fault), None),
        }
    }

    fn wait(&mut self, index: usize, call: Box<Call>, until: Timestamp) {
        self.waits = self.waits.saturating_add(1);
        let wait = Wait { number: self.waits, since: self.now };
        self.set(index, Stage::Waiting(call, wait));
        self.come_back(index, wait.number, until);
    }

    /// Sets the timer of a wait: a length, by the host's clock of now.
    pub(super) fn come_back(&mut self, index: usize, wait: u64, until: Timestamp) {
        let length = until.since(self.clock());
        let what = Happening::Due { call: index, wait };
        self.queue.push(self.now.saturating_add(length), Class::Timer, 0, what);
    }

    /// Calls that the router lists are woken at this instant, each once until it was.
    pub(super) fn schedule_wakes(&mut self) {
        for (rank, id) in self.router.wakes().into_iter().enumerate() {
            if let Some(&call) = self.ids.get(&id)
                && self.waking.insert(call)
            {
                self.queue.push(self.now, Class::Wake, rank as u64, Happening::Woken { call });
            }
        }
    }

    /// Takes the call out of a stage, and notes how long it has waited.
    pub(super) fn left(&mut self, index: usize, stage: Stage) -> Option<Box<Call>> {
        match stage {
            Stage::Absent => None,
            Stage::Flying(call, flight) => {
                if let Some((name, turn)) = &flight.turn
                    && let Some(server) = self.servers.get_mut(name)
                {
                    server.leave(*turn, self.now);
                }
                Some(call)
            }
            Stage::Waiting(call, wait) => {
                self.with_record(index, |record, now| {
                    record.waited(now.saturating_sub(wait.since))
                });
                Some(call)
            }
        }
    }

    /// The call and its flight, if this attempt is the one in flight.
    pub(super) fn take_flight(
        &mut self,
        index: usize,
        attempt: AttemptNo,
    ) -> Option<(Box<Call>, Box<Flight>)> {
        match self.take(index) {
            Stage::Flying(call, flight) if flight.number == attempt => Some((call, flight)),
            other => {
                self.set(index, other);
                None
            }
        }
    }

    pub(super) fn take(&mut self, index: usize) -> Stage {
        self.calls
            .get_mut(index)
            .map_or(Stage::Absent, |stage| core::mem::replace(stage, Stage::Absent))
    }

    pub(super) fn set(&mut self, index: usize, stage: Stage) {
        if let Some(place) = self.calls.get_mut(index) {
            *place = stage;
        }
    }

    pub(super) fn with_record(&mut self, index: usize, note: impl FnOnce(&mut Record, Duration)) {
        let now = self.now;
        if let Some(record) = self.records.get_mut(index) {
            note(record, now);
        }
    }
}
