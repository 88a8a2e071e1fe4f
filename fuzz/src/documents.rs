//! Configs, scenarios and journals.

use pointsman_core::journal::replay;
use pointsman_core::scenario::{Traces, run};
use pointsman_core::{Action, Config, Node, Request, Router, SecretRef, Seed, Timestamp};
use serde_saphyr::options::DuplicateKeyPolicy;

/// Calls of one scenario, and groups of one config, beyond which a run is not worth its time.
const MOST: i128 = 100;
/// No word that a message could have of itself.
const SECRET: &str = "hunter2-7f3a";
const NOW: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);

/// A config loads, or says why not; what loads can route.
pub fn config(data: &[u8]) {
    for document in documents(data) {
        let set = |_: &SecretRef| Some(SECRET.to_owned());
        match Config::load(&document, &set) {
            Ok(loaded) => route(loaded.catalog),
            Err(faults) => {
                assert!(!faults.is_empty(), "refused without a reason");
                for fault in faults {
                    assert!(!fault.to_string().contains(SECRET), "a secret in a message");
                }
            }
        }
    }
}

fn route(catalog: pointsman_core::Catalog) {
    let names: Vec<String> =
        catalog.groups().take(MOST as usize).map(|(_, group)| group.name.clone()).collect();
    let mut router = Router::new(catalog.into(), NOW);
    for name in names {
        let request = Request { model: name.replace('*', "x"), ..Request::default() };
        let (_, action) = router.begin(request, Seed(7), NOW);
        assert!(!matches!(action, Action::Continue | Action::Relay(_)), "{action:?}");
    }
}

/// A scenario has faults, or plays the same twice and leaves nothing behind.
pub fn scenario(data: &[u8]) {
    for document in documents(data).iter().filter(|document| is_short(document)) {
        let alone = |path: &str| Err(format!("`{path}` is another file"));
        match run(document, &alone, Traces::All) {
            Ok(report) => {
                let again = run(document, &alone, Traces::All);
                assert_eq!(Some(&report), again.as_ref().ok(), "another report of the same");
                let left = |path: &str| path.starts_with("run.");
                let left = report.differences.iter().find(|one| left(&one.path));
                assert!(left.is_none(), "{left:?}");
            }
            Err(faults) => assert!(!faults.is_empty(), "refused without a reason"),
        }
    }
}

/// A journal replays, or says where it is broken.
pub fn journal(data: &[u8]) {
    if let Err(error) = replay(data) {
        assert!(!error.to_string().is_empty(), "refused without a reason");
    }
}

/// YAML as every host reads it; JSON, which is YAML too, by the faster way.
fn documents(data: &[u8]) -> Vec<Node> {
    if let Ok(document) = serde_json::from_slice(data) {
        return vec![document];
    }
    let Ok(text) = core::str::from_utf8(data) else { return Vec::new() };
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_multiple_with_options(text, options).unwrap_or_default()
}

/// Whether it names no long series of calls.
fn is_short(node: &Node) -> bool {
    match node {
        Node::List(items) => items.iter().all(is_short),
        Node::Map(entries) => entries.iter().all(|(key, value)| match value {
            Node::Int(count) if key == "count" => *count <= MOST,
            Node::Text(_) if key == "count" => false,
            value => is_short(value),
        }),
        _ => true,
    }
}
