//! The queue against a naive model, and what fairness promises.

use proptest::prelude::*;

use super::*;
use crate::id::CallerId;

const PLACES: u32 = 2;

#[derive(Clone, Debug)]
enum Step {
    Join {
        caller: u32,
        batch: bool,
        tokens: u64,
        places: u32,
    },
    /// Capacity for one comes free; who gets it uses this much.
    Free {
        place: u32,
        used: u64,
    },
    /// A call that has not waited gets an attempt.
    Pass {
        caller: u32,
        batch: bool,
        tokens: u64,
        place: u32,
    },
    /// The nth of those who wait gives up.
    Leave {
        n: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let join = (0u32..3, any::<bool>(), 1u64..1_000, 1u32..4);
    let join = join.prop_map(|(caller, batch, tokens, places)| Step::Join {
        caller,
        batch,
        tokens,
        places,
    });
    let free = (0..PLACES, 0u64..2_000).prop_map(|(place, used)| Step::Free { place, used });
    let pass = (0u32..3, any::<bool>(), 1u64..1_000, 0..PLACES);
    let pass =
        pass.prop_map(|(caller, batch, tokens, place)| Step::Pass { caller, batch, tokens, place });
    let leave = (0usize..8).prop_map(|n| Step::Leave { n });
    prop_oneof![4 => join, 3 => free, 1 => pass, 1 => leave]
}

/// One that waits.
#[derive(Clone, Debug)]
struct Waiting {
    call: u64,
    flow: Flow,
    places: Vec<DeploymentId>,
    tokens: u64,
    start: u64,
    arrival: u64,
}

/// Everything looked for by going through all of it.
#[derive(Default)]
struct Model {
    waiting: Vec<Waiting>,
    marks: Vec<(Flow, u64)>,
    /// Where everything that was served started.
    served: Vec<(Priority, DeploymentId, u64)>,
    arrivals: u64,
}

impl Model {
    fn mark(&self, flow: Flow) -> u64 {
        self.marks.iter().find(|(known, _)| *known == flow).map_or(0, |(_, mark)| *mark)
    }

    fn set(&mut self, flow: Flow, mark: u64) {
        self.marks.retain(|(known, _)| *known != flow);
        self.marks.push((flow, mark));
    }

    fn start(&self, flow: Flow, places: &[DeploymentId]) -> u64 {
        let here = self
            .served
            .iter()
            .filter(|(priority, place, _)| *priority == flow.priority && places.contains(place));
        here.map(|(.., start)| *start).fold(self.mark(flow), u64::max)
    }

    fn best(&self, place: DeploymentId) -> Option<Waiting> {
        let here = self.waiting.iter().filter(|one| one.places.contains(&place));
        here.min_by_key(|one| (one.flow.priority, one.start, one.arrival)).cloned()
    }

    /// It is gone: what its caller has waiting behind it moves up, or back.
    fn remove(&mut self, call: u64, used: u64) {
        let Some(at) = self.waiting.iter().position(|one| one.call == call) else { return };
        let gone = self.waiting.remove(at);
        let moved = |start: u64| start.saturating_sub(gone.tokens).saturating_add(used);
        let mark = moved(self.mark(gone.flow));
        self.set(gone.flow, mark);
        for one in &mut self.waiting {
            if one.flow == gone.flow && one.arrival > gone.arrival {
                one.start = moved(one.start);
            }
        }
        if self.waiting.is_empty() {
            self.marks.clear();
            self.served.clear();
        }
    }
}

const fn flow(caller: u32, batch: bool) -> Flow {
    let priority = if batch { Priority::Batch } else { Priority::Interactive };
    // One of the three has no key.
    let caller = if caller == 0 { None } else { Some(CallerId(caller)) };
    Flow { priority, caller }
}

fn amounts(tokens: u64) -> Amounts {
    Amounts { requests: 1, input: tokens / 2, output: tokens - tokens / 2 }
}

fn joining(call: u64, flow: Flow, tokens: u64, waits_for: Vec<DeploymentId>) -> Joining {
    let (group, until) = (GroupId(0), Timestamp::NEVER);
    let waits_for = waits_for.into_iter().map(Wanted::of).collect();
    Joining { call: CallId(call), flow, group, amounts: amounts(tokens), waits_for, until }
}

/// The call that is woken when capacity for one comes free.
fn woken(queue: &mut Queue, place: DeploymentId) -> Option<u64> {
    let _ = queue.wake(|_, _| false, |_| true, |_, _, _| false);
    queue.release(place);
    queue.wake(|_, _| false, |_| true, |_, _, _| true).first().map(|call| call.number())
}

fn serve(queue: &mut Queue, call: u64, flow: Flow, tokens: u64, place: DeploymentId, used: u64) {
    if let Some(charge) = queue.serve(CallId(call), flow, &amounts(tokens), place) {
        queue.settle(charge, used);
    }
}

proptest! {
    #[test]
    fn the_queue_does_what_the_model_does(steps in prop::collection::vec(step(), 1..80)) {
        let (mut queue, mut model) = (Queue::default(), Model::default());
        for (n, step) in (0u64..).zip(steps) {
            match step {
                Step::Join { caller, batch, tokens, places } => {
                    let flow = flow(caller, batch);
                    let places = (0..PLACES).filter(|place| places >> place & 1 == 1);
                    let places: Vec<DeploymentId> = places.map(DeploymentId).collect();
                    let start = model.start(flow, &places);
                    model.arrivals += 1;
                    let arrival = model.arrivals;
                    let one = Waiting { call: n, flow, places: places.clone(), tokens, start, arrival };
                    model.waiting.push(one);
                    model.set(flow, start + tokens);
                    queue.join(joining(n, flow, tokens, places));
                }
                Step::Free { place, used } => {
                    let place = DeploymentId(place);
                    let best = model.best(place);
                    prop_assert_eq!(woken(&mut queue, place), best.as_ref().map(|one| one.call));
                    if let Some(one) = best {
                        model.served.push((one.flow.priority, place, one.start));
                        serve(&mut queue, one.call, one.flow, one.tokens, place, used);
                        model.remove(one.call, used);
                    }
                }
                Step::Pass { caller, batch, tokens, place } => {
                    let (flow, place) = (flow(caller, batch), DeploymentId(place));
                    if !model.waiting.is_empty() {
                        let start = model.start(flow, &[place]);
                        model.served.push((flow.priority, place, start));
                        model.set(flow, start + tokens);
                    }
                    serve(&mut queue, n, flow, tokens, place, tokens);
                }
                Step::Leave { n } => {
                    let Some(call) = model.waiting.get(n).map(|one| one.call) else { continue };
                    model.remove(call, 0);
                    queue.leave(CallId(call));
                }
            }
        }
        prop_assert_eq!(queue.is_empty(), model.waiting.is_empty());
    }

    /// While both always have a call waiting, neither gets more than one call of each ahead of the
    /// other; and one that comes late has as much as the others from then on, not more.
    #[test]
    fn nobody_is_served_more_than_one_call_ahead(
        sizes in prop::collection::vec((1u64..1_000, 1u64..1_000, 1u64..1_000), 20..60),
        late in 0usize..30,
    ) {
        let place = DeploymentId(0);
        let mut queue = Queue::default();
        let mut served = [0u64; 3];
        let mut waiting: Vec<(u64, u32, u64)> = Vec::new();
        let mut calls = 0;
        for (turn, (a, b, c)) in sizes.into_iter().enumerate() {
            if turn == late {
                served = [0; 3];
            }
            for (caller, tokens) in [(0, a), (1, b), (2, c)] {
                let comes = caller != 2 || turn >= late;
                if comes && !waiting.iter().any(|(_, known, _)| *known == caller) {
                    calls += 1;
                    waiting.push((calls, caller, tokens));
                    queue.join(joining(calls, flow(caller, false), tokens, vec![place]));
                }
            }
            let call = woken(&mut queue, place);
            let Some(at) = waiting.iter().position(|(one, ..)| Some(*one) == call) else {
                return Err(TestCaseError::fail("somebody waits and nobody was woken"));
            };
            let (call, caller, tokens) = waiting.remove(at);
            serve(&mut queue, call, flow(caller, false), tokens, place, tokens);
            served[caller as usize] += tokens;
            let present = if turn >= late { &served[..] } else { &served[..2] };
            let (least, most) = (present.iter().min(), present.iter().max());
            prop_assert!(most.unwrap() - least.unwrap() < 2_000, "{served:?}");
        }
    }
}
