//! The concrete models behind deployments that take their model from the request.
//!
//! Such a deployment answers for many models, of which one may be broken, throttled or slow while
//! the others are well. So each has a state of its own, from its first answer on; until then the
//! deployment's own state stands for it, together with all other names that have not answered, and
//! a flood of invented names takes no memory. What no model can be the cause of is kept apart, in the
//! gates of the deployment *as a whole*: see [`FailureKind::reach`](crate::FailureKind::reach).
//!
//! A deployment keeps [`MOST`] models. The next one takes the place of the model that was used
//! longest ago among those with nothing in flight; if all have, it gets none.

use std::collections::BTreeMap;

use crate::health::Health;
use crate::id::DeploymentId;
use crate::state::{State, StateId, StateKey};
use crate::time::Timestamp;

/// Models that a deployment keeps apart.
pub(crate) const MOST: usize = 1_024;

/// The longest name that is kept, in bytes. Providers' names are far shorter.
const LONGEST_NAME: usize = 256;

/// Stands for all names that have not answered, where a model is named; no model has this name.
pub(crate) const UNPROVEN: &str = "*";

#[derive(Clone, Debug)]
pub(crate) struct Concretes {
    /// Models that a deployment keeps.
    most: usize,
    rosters: BTreeMap<DeploymentId, Roster>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Counts uses.
    uses: u64,
}

/// The models of one deployment.
#[derive(Clone, Debug)]
struct Roster {
    whole: Health,
    slots: BTreeMap<Box<str>, u32>,
}

#[derive(Clone, Debug)]
struct Slot {
    generation: u32,
    /// The number of its latest use.
    used: u64,
    state: State,
}

impl Default for Concretes {
    fn default() -> Self {
        Self::keeping(MOST)
    }
}

impl Concretes {
    /// Keeps so many models of each deployment, and nothing yet.
    pub(crate) const fn keeping(most: usize) -> Self {
        Self { most, rosters: BTreeMap::new(), slots: Vec::new(), free: Vec::new(), uses: 0 }
    }

    /// Whether a deployment takes any model, from now on. What was kept of one that no longer does
    /// is dropped; attempts in flight find nothing.
    pub(crate) fn keep(&mut self, deployment: DeploymentId, takes_any: bool, now: Timestamp) {
        if takes_any {
            let fresh = || Roster { whole: Health::new(now), slots: BTreeMap::new() };
            self.rosters.entry(deployment).or_insert_with(fresh);
        } else if let Some(roster) = self.rosters.remove(&deployment) {
            roster.slots.into_values().for_each(|slot| self.release(slot));
        }
    }

    /// The gates of a deployment as a whole, if it takes any model.
    pub(crate) fn whole(&self, deployment: DeploymentId) -> Option<&Health> {
        self.rosters.get(&deployment).map(|roster| &roster.whole)
    }

    pub(crate) fn whole_mut(&mut self, deployment: DeploymentId) -> Option<&mut Health> {
        self.rosters.get_mut(&deployment).map(|roster| &mut roster.whole)
    }

    /// The state of a model that has answered there.
    pub(crate) fn find(&self, deployment: DeploymentId, model: &str) -> Option<StateId> {
        self.rosters.get(&deployment)?.slots.get(model).map(|slot| id(*slot))
    }

    /// Whether any model has answered at this deployment.
    pub(crate) fn any(&self, deployment: DeploymentId) -> bool {
        self.rosters.get(&deployment).is_some_and(|roster| !roster.slots.is_empty())
    }

    /// The state behind a number that was found in this decision.
    #[expect(clippy::indexing_slicing, reason = "a slot is never taken away")]
    pub(crate) fn state(&self, id: StateId) -> &State {
        &self.slots[slot(id)].state
    }

    #[expect(clippy::indexing_slicing, reason = "a slot is never taken away")]
    pub(crate) fn state_mut(&mut self, id: StateId) -> &mut State {
        &mut self.slots[slot(id)].state
    }

    /// A number as it may be kept.
    pub(crate) fn key(&self, id: StateId) -> StateKey {
        let generation = self.slots.get(slot(id)).map_or(0, |slot| slot.generation);
        StateKey { id, generation }
    }

    /// `None` if the model has lost its state since.
    pub(crate) fn get(&self, key: StateKey) -> Option<&State> {
        let slot = self.slots.get(slot(key.id))?;
        (slot.generation == key.generation).then_some(&slot.state)
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self, key: StateKey) -> Option<&mut State> {
        let slot = self.slots.get_mut(slot(key.id))?;
        (slot.generation == key.generation).then_some(&mut slot.state)
    }

    /// An attempt goes out under it.
    pub(crate) fn touch(&mut self, key: StateKey) {
        let uses = self.uses.saturating_add(1);
        if let Some(slot) = self.slots.get_mut(slot(key.id)) {
            slot.used = uses;
            self.uses = uses;
        }
    }

    /// The state of a model, which begins as `fresh` if it has none yet. `None` if it gets none.
    pub(crate) fn admit(
        &mut self,
        deployment: DeploymentId,
        model: &str,
        fresh: impl FnOnce() -> State,
    ) -> Option<StateKey> {
        if let Some(known) = self.find(deployment, model) {
            return Some(self.key(known));
        }
        if model.len() > LONGEST_NAME || model == UNPROVEN {
            return None;
        }
        let roster = self.rosters.get(&deployment)?;
        if roster.slots.len() >= self.most {
            let name = self.idlest(roster)?.to_owned();
            let slot = self.rosters.get_mut(&deployment)?.slots.remove(name.as_str())?;
            self.release(slot);
        }
        let slot = self.place(fresh());
        self.rosters.get_mut(&deployment)?.slots.insert(model.into(), slot);
        let key = self.key(id(slot));
        self.touch(key);
        Some(key)
    }

    /// The models of a deployment, by name.
    pub(crate) fn each(&self, deployment: DeploymentId) -> impl Iterator<Item = (&str, &State)> {
        let roster = self.rosters.get(&deployment);
        let slots = roster.into_iter().flat_map(|roster| &roster.slots);
        slots.filter_map(|(name, slot)| Some((&**name, &self.slots.get(*slot as usize)?.state)))
    }

    /// The same, the one that was used longest ago first.
    pub(crate) fn by_use(&self, deployment: DeploymentId) -> Vec<(&str, &State)> {
        let roster = self.rosters.get(&deployment);
        let slots = roster.into_iter().flat_map(|roster| &roster.slots);
        let mut all: Vec<(&str, &Slot)> = slots
            .filter_map(|(name, slot)| Some((&**name, self.slots.get(*slot as usize)?)))
            .collect();
        all.sort_by_key(|(_, slot)| slot.used);
        all.into_iter().map(|(name, slot)| (name, &slot.state)).collect()
    }

    /// Shows the gates of every model of a deployment, by name.
    pub(crate) fn each_health(
        &mut self,
        deployment: DeploymentId,
        mut visit: impl FnMut(&str, &mut Health),
    ) {
        let Some(roster) = self.rosters.get(&deployment) else { return };
        for (name, slot) in &roster.slots {
            if let Some(slot) = self.slots.get_mut(*slot as usize) {
                visit(name, &mut slot.state.health);
            }
        }
    }

    /// The model that was used longest ago of those with nothing in flight.
    fn idlest<'a>(&self, roster: &'a Roster) -> Option<&'a str> {
        let slots = roster.slots.iter();
        let slots = slots.filter_map(|(name, slot)| Some((name, self.slots.get(*slot as usize)?)));
        let idle = slots.filter(|(_, slot)| slot.state.in_flight == 0);
        idle.min_by_key(|(_, slot)| slot.used).map(|(name, _)| &**name)
    }

    fn place(&mut self, state: State) -> u32 {
        if let Some(free) = self.free.pop()
            && let Some(slot) = self.slots.get_mut(free as usize)
        {
            slot.state = state;
            return free;
        }
        self.slots.push(Slot { generation: 0, used: 0, state });
        u32::try_from(self.slots.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }

    fn release(&mut self, number: u32) {
        if let Some(slot) = self.slots.get_mut(number as usize) {
            slot.generation = slot.generation.wrapping_add(1);
            self.free.push(number);
        }
    }
}

const fn id(slot: u32) -> StateId {
    StateId(u32::MAX - slot)
}

const fn slot(id: StateId) -> usize {
    (u32::MAX - id.0) as usize
}
