//! Owners of limits above the deployments: keys in teams in organisations in the gateway.
//!
//! A call passes the limits of its key and of everything around that: all of them have room, or none
//! is touched. An owner keeps its place for the router's life, as deployments do, so its state
//! survives reloads.

use std::collections::BTreeMap;

use crate::catalog::Catalog;
use crate::id::{CallerId, GroupId};
use crate::inline::Inline;
use crate::money::BudgetPolicy;
use crate::permit::{Permit, Rights};
use crate::rates::Rates;
use crate::time::Timestamp;

/// The owners whose limits a call passes, the nearest first.
pub(crate) type Chain = Inline<OwnerId, 4>;

/// An owner's place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnerId(u32);

/// One owner.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Owner {
    /// `key NAME`, `team NAME`, `organisation NAME` or `gateway`: unique among owners.
    pub(crate) name: String,
    pub(crate) rates: Rates,
    pub(crate) budget: Option<BudgetPolicy>,
    /// Who is around it, by name.
    pub(crate) within: Option<String>,
}

/// Whose limits a request without a key passes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Anonymous {
    /// No key is configured, so nobody can have one: the gateway's alone.
    #[default]
    Open,
    /// Nobody's: it is refused.
    Reject,
    /// Those of this key.
    As(String),
}

/// A key as the configuration has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyEntry {
    pub(crate) name: String,
    /// The SHA-256 of what is known as this key, and until when.
    pub(crate) hashes: Vec<([u8; 32], Option<Timestamp>)>,
    /// What it may use, in its team and organisation.
    pub(crate) permit: Permit,
}

/// What a key has for its callers.
#[derive(Clone, Debug, PartialEq)]
struct Holder {
    name: String,
    /// `None` if it is no longer configured.
    chain: Option<Chain>,
    permit: Permit,
}

/// The hash of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KnownHash {
    sha256: [u8; 32],
    caller: CallerId,
    /// From when on it is not known any more.
    until: Option<Timestamp>,
}

/// Why a key lets nobody in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCaller {
    /// There is no such key.
    Unknown,
    /// There was until then.
    Expired(Timestamp),
}

/// All owners of a catalog.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Owners {
    /// Those that are no longer configured have no limits.
    all: Vec<Owner>,
    by_name: BTreeMap<String, OwnerId>,
    /// The keys, by [`CallerId`].
    holders: Vec<Holder>,
    callers: BTreeMap<String, CallerId>,
    /// Sorted by hash.
    hashes: Vec<KnownHash>,
    anonymous: Anonymous,
}

impl OwnerId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Owner {
    fn binds(&self) -> bool {
        !self.rates.is_empty() || self.budget.is_some()
    }
}

impl Owners {
    pub(crate) fn new(all: Vec<Owner>, keys: Vec<KeyEntry>, anonymous: Anonymous) -> Self {
        let mut owners = Self { anonymous, ..Self::default() };
        for owner in all {
            owners.put(owner);
        }
        for key in keys {
            owners.put_key(key);
        }
        owners.hashes.sort_unstable_by_key(|known| known.sha256);
        owners
    }

    /// These owners in the places of `previous`; those that are gone stay, without limits.
    pub(crate) fn succeed(self, previous: &Self) -> Self {
        let gone = |owner: &Owner| Owner { name: owner.name.clone(), ..Owner::default() };
        let mut kept = Self {
            all: previous.all.iter().map(gone).collect(),
            by_name: previous.by_name.clone(),
            holders: previous.holders.iter().map(Holder::gone).collect(),
            callers: previous.callers.clone(),
            hashes: Vec::new(),
            anonymous: self.anonymous,
        };
        for owner in self.all {
            kept.put(owner);
        }
        let mut hashes: Vec<Vec<([u8; 32], Option<Timestamp>)>> = vec![vec![]; self.holders.len()];
        for known in self.hashes {
            if let Some(own) = hashes.get_mut(known.caller.index()) {
                own.push((known.sha256, known.until));
            }
        }
        for (holder, hashes) in self.holders.into_iter().zip(hashes) {
            kept.put_key(KeyEntry { name: holder.name, hashes, permit: holder.permit });
        }
        kept.hashes.sort_unstable_by_key(|known| known.sha256);
        kept
    }

    pub(crate) fn all(&self) -> &[Owner] {
        &self.all
    }

    /// Those that are configured.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let configured =
            self.all.iter().filter(|owner| owner.within.is_some() || owner.name == GATEWAY);
        configured.map(|owner| owner.name.as_str())
    }

    pub(crate) fn find(&self, name: &str) -> Option<OwnerId> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn get(&self, id: OwnerId) -> Option<&Owner> {
        self.all.get(id.index())
    }

    /// The owners whose limits bind a request; `None` if it may not be served at all.
    pub(crate) fn chain(&self, caller: Option<CallerId>) -> Option<Chain> {
        let caller = match (caller, &self.anonymous) {
            (Some(caller), _) => caller,
            (None, Anonymous::Open) => return Some(self.chain_from("gateway")),
            (None, Anonymous::Reject) => return None,
            (None, Anonymous::As(key)) => self.callers.get(key).copied()?,
        };
        self.holder(caller)?.chain
    }

    /// What a request may use.
    pub(crate) fn rights(&self, caller: Option<CallerId>) -> Rights<'_> {
        let caller = match (caller, &self.anonymous) {
            (Some(caller), _) => Some(caller),
            (None, Anonymous::Open) => return Rights::Everything,
            (None, Anonymous::Reject) => None,
            (None, Anonymous::As(key)) => self.callers.get(key).copied(),
        };
        let holder = caller.and_then(|caller| self.holder(caller));
        match holder.filter(|holder| holder.chain.is_some()) {
            Some(holder) => Rights::Only(&holder.permit),
            None => Rights::Nothing,
        }
    }

    /// Every permit, for a successor that renumbers what they name.
    pub(crate) fn permits_mut(&mut self) -> impl Iterator<Item = &mut Permit> {
        self.holders.iter_mut().map(|holder| &mut holder.permit)
    }

    /// The keys by name.
    pub(crate) const fn callers(&self) -> &BTreeMap<String, CallerId> {
        &self.callers
    }

    fn holder(&self, caller: CallerId) -> Option<&Holder> {
        self.holders.get(caller.index())
    }

    fn chain_from(&self, name: &str) -> Chain {
        let mut chain = Chain::new();
        let mut next = Some(name);
        for _ in 0..LONGEST {
            let Some(id) = next.and_then(|name| self.find(name)) else { break };
            let Some(owner) = self.get(id) else { break };
            if owner.binds() {
                chain.push(id);
            }
            next = owner.within.as_deref();
        }
        chain
    }

    fn put(&mut self, owner: Owner) {
        let next = OwnerId(u32::try_from(self.all.len()).unwrap_or(u32::MAX));
        let id = *self.by_name.entry(owner.name.clone()).or_insert(next);
        match self.all.get_mut(id.index()) {
            Some(slot) => *slot = owner,
            None => self.all.push(owner),
        }
    }

    fn put_key(&mut self, key: KeyEntry) {
        let chain = Some(self.chain_from(&format!("key {}", key.name)));
        let next = CallerId(u32::try_from(self.holders.len()).unwrap_or(u32::MAX));
        let id = *self.callers.entry(key.name.clone()).or_insert(next);
        let holder = Holder { name: key.name, chain, permit: key.permit };
        match self.holders.get_mut(id.index()) {
            Some(slot) => *slot = holder,
            None => self.holders.push(holder),
        }
        let known = |(sha256, until)| KnownHash { sha256, caller: id, until };
        self.hashes.extend(key.hashes.into_iter().map(known));
    }
}

impl Holder {
    /// The key is no longer configured.
    fn gone(&self) -> Self {
        Self { name: self.name.clone(), chain: None, permit: Permit::default() }
    }
}

/// Who is served without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyless {
    /// Everybody, with whatever key or none: no key is configured.
    Everybody,
    /// Nobody.
    Nobody,
    /// Whoever comes, as this caller.
    As(CallerId),
}

impl Catalog {
    /// Who is served without a key.
    pub fn keyless(&self) -> Keyless {
        match &self.owners.anonymous {
            Anonymous::Open => Keyless::Everybody,
            Anonymous::Reject => Keyless::Nobody,
            Anonymous::As(key) => self.caller_named(key).map_or(Keyless::Nobody, Keyless::As),
        }
    }

    /// The caller whose key has this SHA-256 at `now`.
    ///
    /// The search narrows by the first eight bytes of the hash and compares whole hashes in constant
    /// time. What its timing tells is a part of the hash of the key that was sent, from which no key
    /// can be found.
    ///
    /// # Errors
    /// There is no such key, or not any more.
    pub fn caller_by_hash(&self, sha256: &[u8; 32], now: Timestamp) -> Result<CallerId, NoCaller> {
        let hashes = &self.owners.hashes;
        let first = hashes.partition_point(|known| known.sha256[..8] < sha256[..8]);
        let near = hashes.iter().skip(first);
        let near = near.take_while(|known| known.sha256[..8] == sha256[..8]);
        let known = near.filter(|known| same(&known.sha256, sha256)).last();
        let known = known.ok_or(NoCaller::Unknown)?;
        match known.until {
            Some(until) if now >= until => Err(NoCaller::Expired(until)),
            Some(_) | None => Ok(known.caller),
        }
    }

    /// The caller whose key has this name, unless it is no longer configured.
    pub fn caller_named(&self, key: &str) -> Option<CallerId> {
        let id = self.owners.callers.get(key).copied()?;
        self.owners.holder(id)?.chain.map(|_| id)
    }

    /// The name of a caller's key.
    pub fn key_name(&self, caller: CallerId) -> Option<&str> {
        self.owners.holder(caller).map(|holder| holder.name.as_str())
    }

    /// The names of the team and of the organisation that a caller's key is in.
    pub fn around(&self, caller: CallerId) -> (Option<&str>, Option<&str>) {
        let within = |name: &str| self.owners.get(self.owners.find(name)?)?.within.as_deref();
        let Some(key) = self.key_name(caller) else { return (None, None) };
        let around = within(&format!("key {key}"));
        let team = around.and_then(|around| around.strip_prefix("team "));
        let organisation = match team {
            Some(_) => around.and_then(within),
            None => around,
        };
        (team, organisation.and_then(|around| around.strip_prefix("organisation ")))
    }

    /// The group that serves what is over an owner's budget.
    pub(crate) fn downgrade(&self, owner: OwnerId) -> Option<GroupId> {
        self.owners.get(owner)?.budget?.on_exceeded
    }
}

fn same(one: &[u8; 32], other: &[u8; 32]) -> bool {
    one.iter().zip(other).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

const GATEWAY: &str = "gateway";
/// Key, team, organisation, gateway.
const LONGEST: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Limits;

    fn owner(name: &str, within: &str) -> Owner {
        let rates = Rates::new(&Limits { concurrent: Some(1), ..Limits::default() });
        Owner { name: name.into(), rates, within: Some(within.into()), ..Owner::default() }
    }

    fn owners(keys: &[(&str, u8)]) -> Owners {
        let mut all = vec![
            Owner { within: None, ..owner("gateway", "") },
            owner("organisation o", "gateway"),
            owner("team t", "organisation o"),
        ];
        all.extend(keys.iter().map(|(name, _)| owner(&format!("key {name}"), "team t")));
        let keys = keys.iter().map(|(name, hash)| KeyEntry {
            name: (*name).to_owned(),
            hashes: vec![([*hash; 32], None)],
            permit: Permit::default(),
        });
        Owners::new(all, keys.collect(), Anonymous::Reject)
    }

    fn names(owners: &Owners, caller: Option<CallerId>) -> Option<Vec<&str>> {
        let chain = owners.chain(caller)?;
        Some(chain.iter().filter_map(|id| Some(owners.get(id)?.name.as_str())).collect())
    }

    #[test]
    fn a_key_is_within_everything_around_it() {
        let owners = owners(&[("a", 1), ("b", 2)]);
        let around = ["key b", "team t", "organisation o", "gateway"];
        assert_eq!(names(&owners, Some(CallerId(1))), Some(around.to_vec()));
        assert_eq!(names(&owners, None), None);
        assert_eq!(names(&owners, Some(CallerId(2))), None);
    }

    #[test]
    fn a_callers_team_and_organisation_have_names() {
        let node = crate::config::yaml_node(&format!(
            "{{ groups: {{ g: {{ members: [ {{ id: a }} ] }} }},
                callers: {{ organisations: {{ o: {{}} }}, teams: {{ t: {{ organisation: o }} }},
                  keys: {{ k: {{ sha256: '{}', team: t }}, lone: {{ sha256: '{}' }} }} }} }}",
            "0".repeat(64),
            "1".repeat(64)
        ));
        let catalog = crate::Config::load_scenario(&node).unwrap().catalog;
        let around = |key| catalog.around(catalog.caller_named(key).unwrap());
        assert_eq!(around("k"), (Some("t"), Some("o")));
        assert_eq!(around("lone"), (None, None));
    }

    #[test]
    fn places_and_numbers_outlive_a_reload() {
        let first = owners(&[("a", 1), ("b", 2)]);
        let second = owners(&[("c", 3), ("b", 4)]).succeed(&first);
        assert_eq!(second.find("key b"), first.find("key b"));
        assert_eq!(names(&second, Some(CallerId(0))), None, "a is gone");
        assert_eq!(names(&second, Some(CallerId(1))).unwrap()[0], "key b");
        assert_eq!(names(&second, Some(CallerId(2))).unwrap()[0], "key c");
        let known: Vec<_> = second.hashes.iter().map(|one| (one.sha256, one.caller)).collect();
        assert_eq!(known, [([3; 32], CallerId(2)), ([4; 32], CallerId(1))]);
        let third = owners(&[("a", 5)]).succeed(&second);
        assert_eq!(names(&third, Some(CallerId(0))).unwrap()[0], "key a");
    }
}
