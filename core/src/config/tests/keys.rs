//! Every key that the core reads is shown by a test that fails without it.
//!
//! Which keys there are, the reader says: it notes all that may stand in each map of a document that
//! has every map. Which keys are shown, the scenario files say: a key is, if a scenario still loads
//! but no longer passes when the key is left out or says something else. What no scenario can show
//! is named here with the test that does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{Config, Faults, SecretRef, Value, yaml_node};
use crate::config::secret::Secrets;
use crate::node::Node;
use crate::scenario::{Traces, run};

/// A document in which every map stands; free names are `N`.
const EVERY_MAP: &str = "
version: 1
server: { admin_token: {}, timeouts: {}, tls: {}, admin_tls: {} }
egress: { proxy: {} }
providers: { N: { proxy: {}, api_key: {}, credentials: {}, limits: {}, mock: {} } }
deployments:
  N: { limits: {}, counting: {}, price: {}, params: {}, supports: {}, models: { N: { price: {}, supports: {} } }, timeouts: {}, retry: {}, breaker: {}, throttle: {}, probe: {} }
groups:
  N:
    members: [ { params: {} } ]
    strategy: { score: {}, latency: {}, cost: {} }
    require: {}
    timeouts: {}
    retry: { backoff: {} }
    breaker: {}
    throttle: {}
    wait: {}
    commit: { hold_back: {} }
    affinity: {}
routes: [ { match: {}, require: {}, strategy: { score: {}, latency: {}, cost: {} } } ]
policy:
  timeouts: {}
  retry: { backoff: {}, budget: {} }
  breaker: {}
  throttle: {}
  wait: {}
  commit: { hold_back: {} }
  affinity: {}
  idempotency: {}
  probe: {}
limits: {}
callers:
  organisations: { N: { limits: {}, budget: { per: {}, on_exceeded: {} } } }
  teams: { N: { limits: {}, budget: { per: {}, on_exceeded: {} } } }
  keys: { N: { previous: {}, limits: {}, budget: { per: {}, on_exceeded: {} } } }
metering: { alerts: {} }
telemetry: { otlp: { headers: {} } }
state: { store: {} }
";

/// Keys that are known where they have no meaning, to say where they belong.
const MISPLACED: &[&str] = &[
    "deployments.N.timeouts.deadline",
    "deployments.N.retry.max_attempts",
    "deployments.N.retry.never",
    "deployments.N.retry.per_kind",
    "deployments.N.retry.longest_wait",
    "deployments.N.retry.backoff",
    "deployments.N.retry.budget",
    "deployments.N.wait",
    "deployments.N.commit",
    "deployments.N.affinity",
    "deployments.N.idempotency",
    "deployments.N.max_fallbacks",
    "groups.N.probe",
    "groups.N.idempotency",
    "groups.N.retry.budget",
];

/// Keys that the core hands on to hosts; a name stands for all below it.
const OF_HOSTS: &[&str] = &[
    "version",
    "server",
    "egress",
    "metering",
    "telemetry",
    "state",
    "providers.N.protocol",
    "providers.N.base_url",
    "providers.N.api_key",
    "providers.N.api_version",
    "providers.N.credentials",
    "providers.N.headers",
    "providers.N.proxy",
    "providers.N.ca",
    "providers.N.query",
    "providers.N.mock",
    "deployments.N.params",
    "groups.N.members.[].params",
];

/// Keys that no scenario can show, and the tests that do: file and function.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("callers.keys.N.sha256", CALLERS, "a_key_is_found_by_its_hash_alone"),
    ("callers.keys.N.expires", CALLERS, EXPIRES),
    ("callers.keys.N.previous.sha256", CALLERS, EXPIRES),
    ("callers.keys.N.previous.until", CALLERS, EXPIRES),
    ("callers.keys.N.budget.soft", CALLERS, "a_soft_limit_is_told_once"),
    ("callers.teams.N.budget.soft", CALLERS, "a_soft_limit_is_told_once"),
    ("callers.organisations.N.budget.soft", CALLERS, "a_soft_limit_is_told_once"),
    ("callers.keys.N.trusted", CALLERS, "trust_is_given_by_the_key_or_by_what_is_around_it"),
    ("callers.teams.N.trusted", CALLERS, "trust_is_given_by_the_key_or_by_what_is_around_it"),
    (
        "callers.organisations.N.trusted",
        CALLERS,
        "trust_is_given_by_the_key_or_by_what_is_around_it",
    ),
    ("policy.probe.every", PROBES, "who_costs_nothing_is_probed_and_who_is_paid_only_if_asked_for"),
    (
        "deployments.N.probe.every",
        PROBES,
        "who_costs_nothing_is_probed_and_who_is_paid_only_if_asked_for",
    ),
];
const EXPIRES: &str = "a_key_expires_and_the_one_before_it_sooner_also_after_a_reload";
const CALLERS: &str = "core/tests/callers.rs";
const PROBES: &str = "core/tests/probes.rs";

#[test]
fn every_key_is_shown() {
    let schema = schema();
    for key in MISPLACED {
        assert!(schema.contains(*key), "`{key}` is not known there any more");
    }
    let hosts = |key: &str| OF_HOSTS.iter().any(|host| within(key, host));
    let parent = |key: &str| schema.iter().any(|other| other != key && within(other, key));
    let mut missing: BTreeSet<&str> = schema.iter().map(String::as_str).collect();
    missing.retain(|key| !MISPLACED.contains(key) && !hosts(key) && !parent(key));
    for (key, file, test) in ELSEWHERE {
        assert!(missing.remove(key), "`{key}` is not to be shown elsewhere");
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        assert!(text.contains(&format!("fn {test}(")), "there is no `{test}` in {file}");
    }
    let mut unknown = BTreeSet::new();
    for (text, document) in scenarios() {
        let Some(config) = member(&document, "config") else { continue };
        let mut found = Vec::new();
        leaves(config, &mut Vec::new(), &mut found);
        for steps in found {
            let key = key_of(config, &steps);
            if !schema.contains(&key) && !parent(&key) {
                unknown.insert(format!("{key} in {text}"));
            }
            if missing.contains(key.as_str()) && shows(&document, &steps) {
                missing.remove(key.as_str());
            }
        }
    }
    assert!(unknown.is_empty(), "keys that the schema here lacks: {unknown:#?}");
    assert!(missing.is_empty(), "{} keys without a test: {missing:#?}", missing.len());
}

#[test]
fn a_key_that_is_misplaced_is_a_fault() {
    for key in MISPLACED {
        let steps: Vec<&str> = key.split('.').collect();
        let yaml =
            steps.iter().rev().fold("{}".to_owned(), |inner, key| format!("{{ {key}: {inner} }}"));
        let faults = Faults::default();
        let _ = Config::read(&Value::root(&yaml_node(&yaml), &faults), Secrets::NotNeeded);
        let faults = faults.into_sorted();
        let told =
            faults.iter().any(|one| one.path == *key && one.message.contains("set it in `policy`"));
        assert!(told, "{key}: {faults:?}");
    }
}

/// Every key of the format.
fn schema() -> BTreeSet<String> {
    let faults = Faults::default();
    let node = yaml_node(EVERY_MAP);
    let nothing = |_: &SecretRef| None;
    let _ = Config::read(&Value::root(&node, &faults), Secrets::Lookup(&nothing));
    let known = faults.known.take();
    known.into_iter().map(|path| path.replace("[0]", ".[]")).collect()
}

fn within(key: &str, outer: &str) -> bool {
    key.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// A step from a node to one below it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Item(usize),
}

/// Every value that is no map with keys of the format, by the steps to it.
fn leaves(node: &Node, at: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
    let below: Vec<(Step, &Node)> = match node {
        Node::Map(entries) => {
            entries.iter().map(|(key, node)| (Step::Key(key.clone()), node)).collect()
        }
        Node::List(items) => {
            items.iter().enumerate().map(|(at, node)| (Step::Item(at), node)).collect()
        }
        _ => Vec::new(),
    };
    for (step, node) in below {
        at.push(step);
        found.push(at.clone());
        leaves(node, at, found);
        at.pop();
    }
}

/// The key of the format at the end of these steps: free names are `N`, and what a member says of a
/// deployment in place is said of the deployment.
fn key_of(config: &Node, steps: &[Step]) -> String {
    let mut words: Vec<&str> = Vec::new();
    let mut node = config;
    let mut in_place = false;
    for step in steps {
        // Of a list, or a map of words, the key itself is what is shown.
        let last = words.last().copied().unwrap_or_default();
        let of_format = matches!(step, Step::Key(_)) || ["members", "routes"].contains(&last);
        if !of_format || ["headers", "per_kind", "aliases", "fallbacks"].contains(&last) {
            break;
        }
        let word = match step {
            Step::Item(_) => "[]",
            Step::Key(_) if names_are_free(&words) => "N",
            // The scenarios' word for a deployment that is defined in place.
            Step::Key(key) if in_place && key == "id" => "deployment",
            Step::Key(key) => key,
        };
        if in_place && !["weight", "order", "deployment"].contains(&word) {
            words = vec!["deployments", "N"];
        }
        in_place = false;
        node = below(node, step).unwrap();
        words.push(word);
        if words == ["groups", "N", "members", "[]"] {
            in_place = matches!(node, Node::Map(_));
        }
    }
    words.join(".")
}

fn names_are_free(words: &[&str]) -> bool {
    matches!(
        words,
        ["providers" | "deployments" | "groups"]
            | ["deployments", "N", "models"]
            | ["callers", "organisations" | "teams" | "keys"]
    )
}

/// Whether a scenario fails when the value there is left out or another.
fn shows(document: &Node, steps: &[Step]) -> bool {
    let steps: Vec<Step> =
        [Step::Key("config".into())].into_iter().chain(steps.iter().cloned()).collect();
    let Some(value) = steps.iter().try_fold(document, |node, step| below(node, step)) else {
        return false;
    };
    others(value).into_iter().any(|other| {
        let mut changed = document.clone();
        put(&mut changed, &steps, other);
        let files = |_: &str| Err("there are no files here".to_owned());
        run(&changed, &files, Traces::OfDifferences).is_ok_and(|report| !report.passed)
    })
}

/// What might stand there instead; `None` is nothing.
fn others(value: &Node) -> Vec<Option<Node>> {
    let words = |all: &[&str]| all.iter().map(|word| Some(Node::Text((*word).into()))).collect();
    let mut others: Vec<Option<Node>> = vec![None];
    let more: Vec<Option<Node>> = match value {
        Node::Bool(truth) => vec![Some(Node::Bool(!truth))],
        Node::Int(_) | Node::Float(_) => [0, 1, 1_000].map(|n| Some(Node::Int(n))).into(),
        Node::Text(text) if text.starts_with(|c: char| c.is_ascii_digit()) => {
            words(&["0", "0s", "1ms", "1h", "0%", "100%"])
        }
        Node::Text(_) => words(&["none", "other", "day", "ordered", "reject", "g"]),
        _ => Vec::new(),
    };
    others.extend(more);
    others
}

fn below<'n>(node: &'n Node, step: &Step) -> Option<&'n Node> {
    match (node, step) {
        (Node::Map(entries), Step::Key(key)) => {
            entries.iter().find(|(name, _)| name == key).map(|(_, node)| node)
        }
        (Node::List(items), Step::Item(at)) => items.get(*at),
        _ => None,
    }
}

fn put(node: &mut Node, steps: &[Step], value: Option<Node>) {
    let Some((step, rest)) = steps.split_first() else { return };
    match (node, step) {
        (Node::Map(entries), Step::Key(key)) => {
            let Some(at) = entries.iter().position(|(name, _)| name == key) else { return };
            match (rest, value) {
                ([], None) => drop(entries.remove(at)),
                ([], Some(value)) => entries[at].1 = value,
                (rest, value) => put(&mut entries[at].1, rest, value),
            }
        }
        (Node::List(items), Step::Item(at)) if *at < items.len() => match (rest, value) {
            ([], None) => drop(items.remove(*at)),
            ([], Some(value)) => items[*at] = value,
            (rest, value) => put(&mut items[*at], rest, value),
        },
        _ => {}
    }
}

fn member<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    below(node, &Step::Key(key.to_owned())).filter(|node| matches!(node, Node::Map(_)))
}

/// Every scenario with its name, the shortest file first.
fn scenarios() -> Vec<(String, Node)> {
    let directory = std::fs::read_dir(root().join("tests/scenarios")).unwrap();
    let files = directory.map(|entry| entry.unwrap().path());
    let mut texts: BTreeMap<usize, Vec<(PathBuf, String)>> = BTreeMap::new();
    for file in files.filter(|file| file.extension().is_some_and(|kind| kind == "yaml")) {
        let text = std::fs::read_to_string(&file).unwrap();
        texts.entry(text.len()).or_default().push((file, text));
    }
    let options = serde_saphyr::options! { strict_booleans: true };
    let documents = |(file, text): (PathBuf, String)| {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let all: Vec<Node> =
            serde_saphyr::from_multiple_with_options(&text, options.clone()).unwrap();
        all.into_iter().map(move |document| (name.clone(), document)).collect::<Vec<_>>()
    };
    texts.into_values().flatten().flat_map(documents).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
