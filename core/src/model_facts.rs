//! What is known of the models behind a deployment: what they take, can do and cost.
//!
//! A deployment that names its model has one set of facts. One that takes any has its own, for names
//! of which nothing else is known, and those of each model that its configuration or the table of
//! known models names; there a name stands for its dated versions too, unless they are named
//! themselves. A call's model is looked up by name once, when the call is resolved. From then on it is
//! a number, by which each deployment finds what it knows.

use std::collections::{BTreeMap, BTreeSet};

use crate::catalog::{Catalog, Deployment};
use crate::id::DeploymentId;
use crate::name_index::NameIndex;
use crate::prices::Prices;
use crate::request::Request;
use crate::supports::Supports;

/// What is known of one model at one deployment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelFacts {
    /// What it can do and how much it takes, as far as known.
    pub supports: Supports,
    /// What it costs, as far as known.
    pub prices: Prices,
}

impl ModelFacts {
    /// What is said here, and else what `other` says; a price as a whole.
    #[must_use]
    pub(crate) fn or(&self, other: &Self) -> Self {
        let own = if self.prices.is_empty() { &other.prices } else { &self.prices };
        Self { supports: self.supports.or(&other.supports), prices: own.clone() }
    }
}

/// A model of which some deployment that takes any knows something. Means the same only in one
/// catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ModelNo(u32);

/// What a call asks of a deployment: its request, and the model behind one that takes any, if
/// anybody knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) request: &'a Request,
    pub(crate) model: Option<ModelNo>,
}

/// The names of those models.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelNames(Option<NameIndex<ModelNo>>);

/// What one deployment that takes any knows of models, by number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Models(Vec<(ModelNo, ModelFacts)>);

impl ModelNames {
    /// The names that deployments know.
    pub(crate) fn of<'n>(known: impl Iterator<Item = &'n str>) -> Self {
        let names: BTreeSet<&str> = known.collect();
        let numbers = (0..).map(ModelNo);
        let all: BTreeMap<String, ModelNo> =
            names.into_iter().map(str::to_owned).zip(numbers).collect();
        Self((!all.is_empty()).then(|| NameIndex::new(all)))
    }

    /// The number of a model; `None` if no deployment knows anything of it.
    pub(crate) fn find(&self, name: &str) -> Option<ModelNo> {
        let index = self.0.as_ref()?;
        index.get(name).or_else(|| index.get(undated(name)?)).copied()
    }

    /// What a deployment knows by name, by number.
    pub(crate) fn numbered(&self, known: &BTreeMap<String, ModelFacts>) -> Models {
        let Some(index) = &self.0 else { return Models::default() };
        let facts = |name: &str| known.get(name).or_else(|| known.get(undated(name)?));
        let all = index.iter().filter_map(|(name, no)| Some((*no, facts(name)?.clone())));
        // By name, which is by number.
        Models(all.collect())
    }
}

impl Models {
    pub(crate) fn get(&self, model: ModelNo) -> Option<&ModelFacts> {
        let place = self.0.binary_search_by_key(&model, |(no, _)| *no).ok()?;
        self.0.get(place).map(|(_, facts)| facts)
    }

    /// All that is known, in the order of names.
    pub(crate) fn each(&self) -> impl Iterator<Item = &ModelFacts> {
        self.0.iter().map(|(_, facts)| facts)
    }
}

/// Of how many models the price is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priced {
    /// Of the one model, or of any.
    All,
    /// Of some behind `model: "*"`.
    Some,
    /// Of none.
    None,
}

impl Deployment {
    /// How many of the models that it serves have a price: all, some or none.
    pub(crate) fn priced(&self) -> Priced {
        let some = || self.models.each().any(|one| !one.prices.is_empty());
        match self.facts.prices.is_empty() {
            false => Priced::All,
            true if some() => Priced::Some,
            true => Priced::None,
        }
    }

    /// What is known here of the model that a call asks for.
    pub(crate) fn facts_of(&self, model: Option<ModelNo>) -> &ModelFacts {
        model.and_then(|model| self.models.get(model)).unwrap_or(&self.facts)
    }
}

impl Catalog {
    /// What is known of a model at a deployment: the name matters only at one that takes any.
    ///
    /// # Panics
    ///
    /// As [`Catalog::deployment`].
    pub fn facts_of(&self, id: DeploymentId, model: &str) -> &ModelFacts {
        let deployment = self.deployment(id);
        let known = deployment.takes_any().then(|| self.models.find(model)).flatten();
        deployment.facts_of(known)
    }
}

/// A name without the date behind it, `-20250929` or `-2024-11-20`, if it has one.
pub(crate) fn undated(model: &str) -> Option<&str> {
    ["-dddddddd", "-dddd-dd-dd"].into_iter().find_map(|form| {
        let (name, date) = model.split_at_checked(model.len().checked_sub(form.len())?)?;
        let fits = |(byte, form): (u8, u8)| match form {
            b'd' => byte.is_ascii_digit(),
            other => byte == other,
        };
        date.bytes().zip(form.bytes()).all(fits).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_taken_off_a_name() {
        for (name, without) in [
            ("gpt-4o-2024-11-20", Some("gpt-4o")),
            ("claude-sonnet-4-5-20250929", Some("claude-sonnet-4-5")),
            ("a-2024", None),
            ("ä-20240101", Some("ä")),
            ("ä20240101", None),
            ("-20240101", Some("")),
            ("", None),
        ] {
            assert_eq!(undated(name), without, "{name}");
        }
    }
}
