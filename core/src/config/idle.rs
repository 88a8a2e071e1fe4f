//! What is set and has nothing to act on.

use super::deployment::DeploymentConfig;
use super::document::{Config, Tokens};
use super::fault::shown;
use super::group::GroupConfig;
use super::parameter::Parameter;
use super::params::Params;
use super::policy::RetryConfig;
use super::warnings::ConfigWarning;
use crate::catalog::{Catalog, Group, Limits};
use crate::counting::Counting;

/// The warnings about keys and sections that cannot act where they stand.
pub(crate) fn warnings(config: &Config, catalog: &Catalog) -> Vec<ConfigWarning> {
    let mut all = Vec::new();
    let mut warn = |path: String, name, message: &str| {
        all.push(ConfigWarning { path, name, message: message.to_owned() });
    };
    about_providers(config, &mut warn);
    about_params(config, &mut warn);
    about_vocabularies(config, catalog, &mut warn);
    about_callers(config, catalog, &mut warn);
    for (config, group) in config.groups.iter().zip(&catalog.groups) {
        about_group(config, group, &mut warn);
    }
    let most = catalog.groups.iter().map(|group| group.policy.retry.max_attempts).max();
    about_retries(&config.policy.retry, most, "policy", &mut warn);
    let lists = config.groups.iter().all(|group| group.fallbacks.is_some());
    if lists && !config.default_fallbacks.is_empty() {
        warn("default_fallbacks".into(), NO_EFFECT, "every group has fallbacks of its own");
    }
    about_batch_reserves(config, &mut warn);
    all
}

/// Inputs are counted only in a vocabulary.
fn about_vocabularies(config: &Config, catalog: &Catalog, warn: Warn<'_>) {
    for (own, (_, built)) in config.deployments.iter().zip(catalog.deployments()) {
        let path = own.place.path();
        match (config.tokens, own.vocabulary) {
            (Tokens::Estimate, Some(_)) => {
                let message = "nothing is counted without `tokens: exact`";
                warn(format!("{path}.vocabulary"), NO_EFFECT, message);
            }
            (Tokens::Exact, None) if built.vocabulary.is_none() => warn(
                path.to_owned(),
                "estimated",
                "its input is estimated, not counted: the vocabulary of its model is not known here; \
                 say `vocabulary`, if it is one of OpenAI's",
            ),
            _ => {}
        }
    }
}

type Warn<'w> = &'w mut dyn FnMut(String, &'static str, &str);

fn about_providers(config: &Config, warn: Warn<'_>) {
    for provider in &config.providers {
        let name = &provider.name;
        let uses =
            |own: &Option<super::Reference>| own.as_ref().is_some_and(|own| own.name == *name);
        let path = provider.place.path();
        if !path.is_empty() && !config.deployments.iter().any(|own| uses(&own.provider)) {
            warn(path.to_owned(), "unused_provider", "no deployment is there");
        }
    }
    for own in &config.deployments {
        let at = own.provider.as_ref().and_then(|name| config.provider(&name.name));
        let limits = [Some(own.limits), at.map(|provider| provider.limits)];
        let limited = limits.into_iter().flatten().any(|limits| has_rates(&limits));
        if own.counting.is_some_and(|counting| counting != Counting::default()) && !limited {
            let path = format!("{}.counting", own.place.path());
            warn(path, NO_EFFECT, "neither it nor its provider has a rate to be counted");
        }
    }
}

/// Parameters that a deployment's protocol has no word for.
fn about_params(config: &Config, warn: Warn<'_>) {
    let mut look = |path: &str, deployment: &DeploymentConfig, params: &Params| {
        let at = deployment.provider.as_ref().and_then(|name| config.provider(&name.name));
        let Some(protocol) = at.map(|provider| provider.protocol) else { return };
        for (section, all) in [("default", &params.default), ("set", &params.set)] {
            let known = all.iter().filter_map(|(name, _)| Parameter::named(name));
            for parameter in known.filter(|one| !one.has_place(protocol)) {
                let path = format!("{path}.params.{section}.{}", parameter.name());
                let word = protocol.name();
                warn(path, NO_EFFECT, &format!("{word}'s protocol has no place for it"));
            }
        }
        for (at, name) in params.drop.iter().enumerate() {
            if Parameter::named(name).is_some_and(|one| one.is_required(protocol)) {
                let path = format!("{path}.params.drop[{at}]");
                let word = protocol.name();
                warn(path, NO_EFFECT, &format!("{word}'s protocol must have it, so it stays"));
            }
        }
    };
    for own in &config.deployments {
        look(&own.place.path(), own, &own.params);
    }
    for group in &config.groups {
        for (at, member) in group.members.iter().enumerate() {
            if let Some(own) = config.deployment(&member.deployment.name) {
                look(&format!("{}.members[{at}]", group.place.path()), own, &member.params);
            }
        }
    }
}

fn about_callers(config: &Config, catalog: &Catalog, warn: Warn<'_>) {
    let callers = &config.callers;
    for (name, _) in &callers.teams {
        let mut teams = callers.keys.iter().filter_map(|(_, key)| key.team.as_ref());
        if !teams.any(|team| team.name == *name) {
            warn(format!("callers.teams.{}", shown(name)), "unused_team", "no key is in it");
        }
    }
    for (name, _) in &callers.organisations {
        let mut around = callers.teams.iter().filter_map(|(_, team)| team.organisation.as_ref());
        if !around.any(|of| of.name == *name) {
            let path = format!("callers.organisations.{}", shown(name));
            warn(path, "unused_organisation", "no team is in it");
        }
    }
    for (name, key) in &callers.keys {
        let caller = catalog.caller_named(name);
        let own = key.caller.fallbacks.iter();
        for group in own.flat_map(|(group, fallbacks)| [group].into_iter().chain(fallbacks)) {
            let found = catalog.resolve(&group.name).map(|found| found.group);
            if found.is_some_and(|found| !catalog.permits(caller, found)) {
                warn(group.place.path().to_owned(), NO_EFFECT, "its key may not use this group");
            }
        }
    }
}

fn about_group(config: &GroupConfig, group: &Group, warn: Warn<'_>) {
    let path = config.place.path();
    let wait = &config.policy.wait;
    if wait.queue.is_some() && group.policy.wait.max.is_zero() {
        warn(format!("{path}.wait.queue"), NO_EFFECT, "`wait.max` is zero: nobody waits");
    }
    if config.fallbacks.as_ref().is_some_and(|own| !own.is_empty())
        && group.policy.max_fallbacks == 0
    {
        warn(format!("{path}.fallbacks"), NO_EFFECT, "`max_fallbacks` is zero");
    }
    about_retries(&config.policy.retry, Some(group.policy.retry.max_attempts), &path, warn);
}

fn about_retries(retry: &RetryConfig, most: Option<u32>, path: &str, warn: Warn<'_>) {
    let Some(most) = most else { return };
    let message = format!("`max_attempts` is {most}: there are never so many");
    if retry.retries.is_some_and(|retries| retries >= most && retries != 0) {
        warn(format!("{path}.retry.retries"), NO_EFFECT, &message);
    }
    for (kind, _) in retry.per_kind.iter().filter(|(_, attempts)| *attempts > most) {
        warn(format!("{path}.retry.per_kind.{}", kind.name()), NO_EFFECT, &message);
    }
}

fn about_batch_reserves(config: &Config, warn: Warn<'_>) {
    let mut look = |path: String, limits: &Limits| {
        if limits.batch_reserve_ppm != 0 && !has_rates(limits) && limits.concurrent.is_none() {
            warn(path, "idle_batch_reserve", "there is no limit beside it to be a share of");
        }
    };
    look("limits.batch_reserve".into(), &config.limits);
    let providers = config.providers.iter().map(|own| (&own.place, &own.limits));
    let deployments = config.deployments.iter().map(|own| (&own.place, &own.limits));
    for (place, limits) in providers.chain(deployments) {
        look(format!("{}.limits.batch_reserve", place.path()), limits);
    }
    let callers = &config.callers;
    let around = [("organisations", &callers.organisations), ("teams", &callers.teams)];
    let around = around
        .into_iter()
        .flat_map(|(section, all)| all.iter().map(move |(name, own)| (section, name, &own.limits)));
    let keys = callers.keys.iter().map(|(name, key)| ("keys", name, &key.caller.limits));
    for (section, name, limits) in around.chain(keys) {
        look(format!("callers.{section}.{}.limits.batch_reserve", shown(name)), limits);
    }
}

const fn has_rates(limits: &Limits) -> bool {
    limits.requests_per_minute.is_some()
        || limits.tokens_per_minute.is_some()
        || limits.input_tokens_per_minute.is_some()
        || limits.output_tokens_per_minute.is_some()
}

const NO_EFFECT: &str = "no_effect";
