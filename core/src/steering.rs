//! What steers one call besides the configuration of its group: route rules, the request's
//! preferences, and its caller's key. Settled once, when the call begins.
//!
//! The strategy in force is the first of: the request's own, its `sort` or the suffix of its model
//! name, the key's, the deciding rule's, the last adding rule's, the group's. A name that is no
//! strategy, or one that a caller may not ask for, is passed over with the warning `bad_override`; so is
//! one in a request's preferences that is no deployment's and no provider's.

use core::iter;
use core::time::Duration;

use crate::call::Call;
use crate::catalog::{Catalog, Group, Strategy};
use crate::ceilings::tighter;
use crate::config::{Ceilings, override_strategy};
use crate::id::GroupId;
use crate::model_facts::ModelNo;
use crate::permit::Rights;
use crate::preferences::{Preferences, Sort};
use crate::request::{Request, Warning};
use crate::resolution::{ConcreteName, Resolution};
use crate::route_rules::{Additions, Facts};
use crate::strategy::{Pick, Survivor};
use crate::time::Timestamp;
use crate::trace::{ChosenBy, TraceEntry};

/// What a call carries of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steering {
    /// Instead of any group's.
    strategy: Option<Strategy>,
    /// Besides any group's.
    require: Ceilings,
    /// How many of the request's tags it came with, its key's among them; rules have added the rest.
    pub(crate) own_tags: usize,
}

/// A request that has been looked at by name and by rules.
pub(crate) struct Steered {
    pub(crate) origin: Option<GroupId>,
    pub(crate) concrete: ConcreteName,
    pub(crate) model: Option<ModelNo>,
    pub(crate) steering: Steering,
    /// The tightest deadline of the rules that apply.
    pub(crate) deadline: Option<Duration>,
    /// For the record, if the request wants one.
    pub(crate) entries: Vec<TraceEntry>,
}

impl Catalog {
    /// Finds the request's group and applies the rules: what they add to the request is added.
    pub(crate) fn steer(&self, request: &mut Request, now: Timestamp) -> Steered {
        let tags = self.rights(request.caller).permit().map(|permit| permit.tags.as_slice());
        request.tags.extend(tags.into_iter().flatten().cloned());
        let own_tags = request.tags.len();
        let facts = self.facts(request, own_tags);
        let (found, decides) = self.route(&facts);
        let mut sum = Additions::default();
        let mut also = Vec::new();
        for rule in self.rules.add(&facts) {
            sum.apply(&rule.additions);
            if request.trace {
                also.push(rule.name.clone());
            }
        }
        if let Some(rule) = decides {
            sum.apply(&rule.additions);
        }
        let mut entries = Vec::new();
        if request.trace {
            entries.extend(found.as_ref().map(|found| resolved(&request.model, found, also, now)));
        }
        let prefer = request.prefer.as_ref();
        let sort = prefer.and_then(|prefer| prefer.sort).or_else(|| found.as_ref()?.sort);
        let (concrete, model) = self.concrete_of(&request.model, found.as_ref());
        let origin = found.map(|found| found.group);
        let (asked, bad) = asked_strategy(request, sort, self.rights(request.caller));
        if request.trace && (bad || prefer.is_some_and(|prefer| self.prefers_nobody(prefer))) {
            entries.push(TraceEntry::Warned { at: now, warning: Warning::BadOverride });
        }
        let max_price = prefer.and_then(|prefer| prefer.max_price);
        let own = Ceilings { price_per_call: max_price, ..Ceilings::default() };
        request.priority = sum.priority.unwrap_or(request.priority);
        request.tags.append(&mut sum.tags);
        Steered {
            origin,
            concrete,
            model,
            steering: Steering {
                strategy: asked.or(sum.strategy),
                require: sum.require.and(own),
                own_tags,
            },
            deadline: sum.deadline,
            entries,
        }
    }

    /// Whether a list of a request's preferences has a name that is nobody's.
    fn prefers_nobody(&self, prefer: &Preferences) -> bool {
        let somebodys = |name: &String| {
            self.deployments().any(|(_, own)| own.name == *name)
                || self.providers.iter().any(|own| own.name == *name)
        };
        let mut names = prefer.order.iter().chain(&prefer.only).chain(&prefer.ignore);
        names.any(|name| !somebodys(name))
    }

    /// What rules look at in a request that came with so many of its tags.
    pub(crate) fn facts<'a>(&'a self, request: &'a Request, own_tags: usize) -> Facts<'a> {
        let name = request.model.as_str();
        Facts {
            request,
            base: Sort::split(name).map_or(name, |(base, _)| base),
            key: request.caller.and_then(|caller| self.key_name(caller)),
            tags: request.tags.get(..own_tags).unwrap_or(&request.tags),
        }
    }
}

/// The strategy that the request or its key asks for, and whether a better word was in vain.
fn asked_strategy(
    request: &Request,
    sort: Option<Sort>,
    rights: Rights<'_>,
) -> (Option<Strategy>, bool) {
    let stored = rights.permit().and_then(|permit| permit.strategy.as_deref());
    let asked = [
        request.strategy.as_deref().map(override_strategy),
        sort.map(|sort| Some(sort.strategy())),
        stored.map(override_strategy),
    ];
    let mut bad = false;
    for strategy in asked.into_iter().flatten() {
        if strategy.is_some() {
            return (strategy, bad);
        }
        bad = true;
    }
    (None, bad)
}

impl Call {
    /// Whether its caller may use a group, or a budget of the caller's sends it there.
    pub(crate) fn may_use(&self, catalog: &Catalog, group: GroupId) -> bool {
        let instead = self.downgraded.and_then(|owner| catalog.downgrade(owner));
        self.operator
            || instead == Some(group)
            || catalog.rights(self.request.caller).allow(catalog, group)
    }

    /// The name of the concrete model that it asks for, at deployments that take any.
    pub(crate) fn model<'a>(&'a self, catalog: &'a Catalog) -> &'a str {
        catalog.concrete(&self.request.model, self.route.concrete)
    }

    /// The first of the request's own order that is in the tier.
    pub(crate) fn first_preferred(&self, catalog: &Catalog, tier: &[Survivor]) -> Option<Pick> {
        let index = self.request.prefer.as_ref()?.order.iter().find_map(|name| {
            tier.iter().position(|one| {
                let deployment = catalog.deployment(one.member.deployment);
                *name == deployment.name || *name == catalog.provider(deployment.provider).name
            })
        })?;
        Some(Pick { by: ChosenBy::Order, ..Pick::of(index) })
    }

    /// The strategy in force in a group.
    pub(crate) fn strategy(&self, group: &Group) -> Strategy {
        self.steering.strategy.unwrap_or(group.strategy)
    }

    /// The ceilings in force in a group.
    pub(crate) fn ceilings(&self, group: &Group) -> Ceilings {
        group.require.and(self.steering.require)
    }
}

impl Additions {
    fn apply(&mut self, rule: &Self) {
        self.strategy = rule.strategy.or(self.strategy);
        self.priority = rule.priority.or(self.priority);
        self.require = self.require.and(rule.require);
        self.deadline = tighter(self.deadline, rule.deadline);
        for tag in &rule.tags {
            if !self.tags.contains(tag) {
                self.tags.push(tag.clone());
            }
        }
    }
}

fn resolved(
    requested: &String,
    found: &Resolution<'_>,
    also: Vec<String>,
    at: Timestamp,
) -> TraceEntry {
    TraceEntry::Resolved {
        at,
        chain: iter::once(requested).chain(found.chain).cloned().collect(),
        by: found.by,
        rule: found.rule.map(str::to_owned),
        also,
    }
}
