//! The router together with the configuration that a host needs besides it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pointsman_core::{
    Call, Config, DeploymentId, Duty, GroupId, Loaded, Node, Notice, Protocol, Router, Secret,
    SecretRef, Timestamp,
};
use pointsman_wire::{Overlay, Target};

/// The router, and where its deployments are.
pub(crate) struct Engine {
    pub(crate) router: Router,
    pub(crate) config: Config,
    /// What is valid in the configuration and still has no effect, or hardly the one meant.
    pub(crate) notes: Vec<String>,
    /// What the configuration changes in requests, by the deployment's name.
    overlays: BTreeMap<String, Overlay>,
    /// The same for the members of groups that have their own, by the group's name and the
    /// deployment's.
    member_overlays: BTreeMap<(String, String), Overlay>,
}

/// Finds the value of an environment variable.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads a configuration.
///
/// # Errors
/// Every fault as a line of text.
pub(crate) fn load(document: &Node, environment: Environment<'_>) -> Result<Loaded, Vec<String>> {
    let lookup = |wanted: &SecretRef| match wanted {
        SecretRef::Env(name) => environment(name),
        // A host without files.
        SecretRef::File(_) => None,
    };
    let loaded = Config::load(document, &lookup);
    loaded.map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

/// What is worth saying about a configuration without a fault.
pub(crate) fn notes(loaded: &Loaded) -> Vec<String> {
    let not_built = loaded.not_built.iter();
    let not_built = not_built.map(|key| format!("{}: not built yet; {}", key.path, key.instead));
    let warnings = loaded.warnings.iter();
    let warnings = warnings.map(|warning| format!("{}: {}", warning.path, warning.message));
    not_built.chain(warnings).collect()
}

impl Engine {
    /// An engine that has seen nothing yet.
    ///
    /// # Errors
    /// Every fault as a line of text; a key that restricts or stores something and is not built is
    /// one.
    pub(crate) fn new(
        document: &Node,
        environment: Environment<'_>,
        now: Timestamp,
    ) -> Result<Self, Vec<String>> {
        let loaded = load(document, environment)?;
        let refused = refused(&loaded);
        if !refused.is_empty() {
            return Err(refused);
        }
        let mut notes = notes(&loaded);
        notes.extend(undone(&loaded));
        let mut router = Router::new(Arc::new(loaded.catalog), now);
        for (path, id) in unspoken(&loaded.config, &router) {
            router.notice(Notice::Block(id), now);
            notes.push(format!("{path}: blocked, this host does not speak its protocol"));
        }
        let deployments = loaded.config.deployments.iter();
        let overlays = deployments.map(|one| (one.name.clone(), Overlay::new(&one.params)));
        let overlays = overlays.collect();
        let members = loaded.config.member_params();
        let member_overlays = members
            .map(|(group, name, params)| ((group.into(), name.into()), Overlay::new(&params)))
            .collect();
        Ok(Self { router, config: loaded.config, notes, overlays, member_overlays })
    }

    /// Makes a request to a deployment with `make`, given where it is and what it is called there.
    pub(crate) fn request<T>(
        &self,
        (group, deployment): (GroupId, DeploymentId),
        call: &Call,
        make: impl FnOnce(&Target<'_>) -> T,
    ) -> T {
        let catalog = self.router.catalog();
        let name = &catalog.provider(catalog.deployment(deployment).provider).name;
        let provider = self.config.provider(name);
        let exposed = |pairs: Option<&Vec<(String, Secret)>>| -> Vec<(String, String)> {
            let pairs = pairs.into_iter().flatten();
            pairs.map(|(name, value)| (name.clone(), value.expose().to_owned())).collect()
        };
        let headers = exposed(provider.map(|provider| &provider.headers));
        let query = exposed(provider.map(|provider| &provider.query));
        let base_url = provider.and_then(|provider| provider.base_url.as_deref());
        let api_key = provider.and_then(|provider| provider.api_key.as_ref());
        let deployment_name = &catalog.deployment(deployment).name;
        let member = (catalog.group(group).name.clone(), deployment_name.clone());
        let own = self.member_overlays.get(&member);
        let overlay = own.or_else(|| self.overlays.get(deployment_name));
        let model = self.router.upstream_model(deployment, call);
        let supports = &catalog.facts_of(deployment, model).supports;
        make(&Target {
            overlay,
            max_output: supports.output_tokens,
            web_search: supports.web_search == Some(true),
            base_url,
            api_key: api_key.map(|key| key.expose()),
            credentials: provider.and_then(|provider| provider.credentials.as_ref()),
            region: provider.and_then(|provider| provider.region.as_deref()),
            headers: &headers,
            query: &query,
            api_version: provider.and_then(|provider| provider.api_version.as_deref()),
            model,
            ..Target::new(provider.map_or(Protocol::Openai, |provider| provider.protocol))
        })
    }

    /// The headers that tell a client what became of its call.
    pub(crate) fn headers(&self, call: &Call, by: Option<DeploymentId>) -> Vec<(String, String)> {
        let catalog = self.router.catalog();
        let deployment = by.map(|id| catalog.deployment(id).name.clone());
        let group = call.group().map(|id| catalog.group(id).name.clone());
        let pairs = [
            ("x-pointsman-deployment", deployment),
            ("x-pointsman-group", group),
            ("x-pointsman-attempts", Some(call.attempts().to_string())),
            ("x-pointsman-fallbacks", Some(call.fallbacks().to_string())),
            ("x-pointsman-decision", Some(call.id().number().to_string())),
        ];
        let set = pairs.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        // A header holds no line end and no letter outside ASCII.
        set.filter(|(_, value)| value.bytes().all(|byte| matches!(byte, b' '..=b'~'))).collect()
    }

    /// The names that clients may ask for, patterns aside.
    pub(crate) fn model_names(&self) -> Vec<&str> {
        let groups = self.config.groups.iter().map(|group| group.name.as_str());
        let aliases = self.config.aliases.iter().map(|alias| alias.name.as_str());
        groups.chain(aliases).filter(|name| !name.contains('*')).collect()
    }
}

/// Keys that restrict or store something and that nobody would act on.
fn refused(loaded: &Loaded) -> Vec<String> {
    let duties = loaded.config.duties();
    let here = duties.iter().filter(|(duty, _)| duty.restricts()).map(|(_, path)| path.as_str());
    let anywhere = loaded.not_built.iter().filter(|key| key.restricts);
    let paths: BTreeSet<&str> = anywhere.map(|key| key.path.as_str()).chain(here).collect();
    let why = "this host does not act on it yet, and serving without it would be wrong";
    paths.iter().map(|path| format!("{path}: {why}")).collect()
}

/// What this host does of what only makes serving better.
const FULFILLED: [Duty; 1] = [Duty::Prefixes];

/// Keys that nothing relies on and that this host does not act on.
fn undone(loaded: &Loaded) -> Vec<String> {
    let told = |path: &str| loaded.not_built.iter().any(|key| key.path == path);
    let duties = loaded.config.duties().into_iter();
    let undone =
        duties.filter(|(duty, path)| !duty.restricts() && !FULFILLED.contains(duty) && !told(path));
    undone.map(|(_, path)| format!("{path}: this host does not act on it")).collect()
}

/// Deployments of providers that answer without a network: only the native host plays those.
fn unspoken(config: &Config, router: &Router) -> Vec<(String, DeploymentId)> {
    let catalog = router.catalog();
    let mut found = Vec::new();
    for deployment in &config.deployments {
        let Some(id) = catalog.deployment_named(&deployment.name) else { continue };
        let provider = config.provider(&catalog.provider(catalog.deployment(id).provider).name);
        if provider.is_some_and(|provider| provider.protocol == Protocol::Mock) {
            found.push((format!("deployments.{}", deployment.name), id));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_host_does_not_act_on_is_noted() {
        let document = r#"{ "version": 1, "tokens": "exact",
            "providers": { "p": { "protocol": "openai" } },
            "deployments": { "d": { "provider": "p", "model": "gpt-4o", "probe": { "every": "5s" } } },
            "groups": { "g": { "members": ["d"], "commit": "complete", "affinity": { "by": "prefix" } } } }"#;
        let node: Node = serde_json::from_str(document).unwrap();
        let engine = Engine::new(&node, &|_| None, Timestamp::ZERO).unwrap();
        let about = |path: &str| engine.notes.iter().filter(|note| note.starts_with(path)).count();
        for path in ["tokens", "deployments.d.probe", "groups.g.commit"] {
            assert_eq!(about(path), 1, "{path}: {:?}", engine.notes);
        }
        assert_eq!(about("groups.g.affinity"), 0);
    }
}
