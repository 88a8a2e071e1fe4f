//! The kept models against plain lists in the order of use.

use proptest::prelude::*;

use crate::concrete::Concretes;
use crate::id::DeploymentId;
use crate::state::{State, StateKey};
use crate::time::Timestamp;

const MOST: usize = 3;
const NOW: Timestamp = Timestamp::from_micros(1);

#[derive(Clone, Debug)]
enum Move {
    /// A model answers; its state is marked, so that it is known again.
    Answer { deployment: u32, model: u8 },
    /// An attempt goes out, if the model has a state.
    Send { deployment: u32, model: u8 },
    /// One of the attempts out ends.
    End(usize),
    /// A reload: whether the deployment takes any model.
    Keep { deployment: u32, takes_any: bool },
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let pair = || (0u32..2, 0u8..6);
    let one = prop_oneof![
        6 => pair().prop_map(|(deployment, model)| Move::Answer { deployment, model }),
        6 => pair().prop_map(|(deployment, model)| Move::Send { deployment, model }),
        5 => (0usize..8).prop_map(Move::End),
        1 => (0u32..2, any::<bool>())
            .prop_map(|(deployment, takes_any)| Move::Keep { deployment, takes_any }),
    ];
    prop::collection::vec(one, 1..120)
}

/// What is kept of one model.
#[derive(Clone, Debug)]
struct Kept {
    model: u8,
    mark: u64,
    in_flight: u32,
}

/// The models of a deployment, the one that was used longest ago first; `None` of one that takes
/// a single model.
#[derive(Clone, Debug, Default)]
struct Model([Option<Vec<Kept>>; 2]);

impl Model {
    fn answer(&mut self, deployment: u32, model: u8, mark: u64) -> Option<u64> {
        let list = self.0[deployment as usize].as_mut()?;
        if let Some(known) = list.iter().find(|one| one.model == model) {
            return Some(known.mark);
        }
        if list.len() >= MOST {
            let idle = list.iter().position(|one| one.in_flight == 0)?;
            list.remove(idle);
        }
        list.push(Kept { model, mark, in_flight: 0 });
        Some(mark)
    }

    fn send(&mut self, deployment: u32, model: u8) -> Option<u64> {
        let list = self.0[deployment as usize].as_mut()?;
        let place = list.iter().position(|one| one.model == model)?;
        let mut one = list.remove(place);
        one.in_flight += 1;
        let mark = one.mark;
        list.push(one);
        Some(mark)
    }

    fn end(&mut self, mark: u64) -> bool {
        let mut all = self.0.iter_mut().flatten().flatten();
        let found = all.find(|one| one.mark == mark);
        found.map(|one| one.in_flight -= 1).is_some()
    }
}

fn name(model: u8) -> String {
    format!("model {model}")
}

proptest! {
    #[test]
    fn the_same_models_are_kept(moves in moves()) {
        let mut model = Model::default();
        let mut real = Concretes::keeping(MOST);
        // What is out: the number that the attempt remembers, and the state's mark.
        let mut out: Vec<(StateKey, u64)> = Vec::new();
        for (mark, one) in (1u64..).zip(moves) {
            match one {
                Move::Answer { deployment, model: which } => {
                    let expected = model.answer(deployment, which, mark);
                    let fresh = || State::new(mark, NOW);
                    let key = real.admit(DeploymentId(deployment), &name(which), fresh);
                    let got = key.and_then(|key| Some(real.get_mut(key)?.observed.name));
                    prop_assert_eq!(got, expected);
                }
                Move::Send { deployment, model: which } => {
                    let expected = model.send(deployment, which);
                    let found = real.find(DeploymentId(deployment), &name(which));
                    prop_assert_eq!(found.map(|id| real.state(id).observed.name), expected);
                    if let Some((id, mark)) = found.zip(expected) {
                        let key = real.key(id);
                        real.touch(key);
                        real.state_mut(id).in_flight += 1;
                        out.push((key, mark));
                    }
                }
                Move::End(which) => {
                    if which < out.len() {
                        let (key, mark) = out.swap_remove(which);
                        let state = real.get_mut(key).filter(|state| state.observed.name == mark);
                        let kept = state.map(|state| state.in_flight -= 1).is_some();
                        prop_assert_eq!(kept, model.end(mark));
                    }
                }
                Move::Keep { deployment, takes_any } => {
                    real.keep(DeploymentId(deployment), takes_any, NOW);
                    let list = &mut model.0[deployment as usize];
                    *list = takes_any.then(|| list.take().unwrap_or_default());
                }
            }
            for deployment in 0..2 {
                let by_use = real.by_use(DeploymentId(deployment));
                let got = by_use.iter().map(|(name, state)| (*name, state.observed.name));
                let list = model.0[deployment as usize].iter().flatten();
                let expected: Vec<_> = list.map(|one| (name(one.model), one.mark)).collect();
                let got: Vec<_> = got.map(|(name, mark)| (name.to_owned(), mark)).collect();
                prop_assert_eq!(got, expected);
            }
        }
    }
}
