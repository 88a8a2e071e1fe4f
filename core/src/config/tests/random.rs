//! No document, however odd, does more than fail to load.

use proptest::prelude::*;

use super::{EXAMPLE, everything};
use crate::config::{Config, Faults, Value, yaml_node};
use crate::node::Node;

/// Any document, with a good share of keys and values that mean something.
fn any_node() -> impl Strategy<Value = Node> {
    let text = prop_oneof![
        Just("a".to_owned()),
        Just("20s".to_owned()),
        Just("25%".to_owned()),
        Just("*".to_owned()),
        Just("lab/*".to_owned()),
        Just("mock".to_owned()),
        ".{0,12}",
    ];
    let leaf = prop_oneof![
        Just(Node::Null),
        any::<bool>().prop_map(Node::Bool),
        any::<i128>().prop_map(Node::Int),
        (0_i128..20).prop_map(Node::Int),
        any::<f64>().prop_map(Node::Float),
        text.prop_map(Node::Text),
    ];
    let keys = [
        "version",
        "server",
        "providers",
        "deployments",
        "groups",
        "aliases",
        "routes",
        "policy",
        "limits",
        "callers",
        "members",
        "deployment",
        "weight",
        "order",
        "id",
        "a",
        "b",
        "model",
        "provider",
        "protocol",
        "timeouts",
        "retry",
        "per_kind",
        "server",
        "keys",
        "teams",
        "env",
        "fallbacks",
        "strategy",
        "score",
        "state",
        "store",
        "metering",
        "telemetry",
        "otlp",
        "api_key",
        "base_url",
    ];
    let key = prop_oneof![4 => proptest::sample::select(keys.to_vec()).prop_map(str::to_owned), 1 => ".{0,8}"];
    leaf.prop_recursive(5, 64, 8, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Node::List),
            proptest::collection::vec((key.clone(), inner), 0..8).prop_map(Node::Map),
        ]
    })
}

/// Puts `node` in the place of the `position`th value of the document.
fn replace(document: &mut Node, position: &mut usize, node: &Node) {
    if *position == 0 {
        *document = node.clone();
    }
    *position = position.wrapping_sub(1);
    match document {
        Node::Map(entries) => entries.iter_mut().for_each(|(_, own)| replace(own, position, node)),
        Node::List(items) => items.iter_mut().for_each(|own| replace(own, position, node)),
        _ => {}
    }
}

proptest! {
    #[test]
    fn no_document_panics(node in any_node()) {
        let loaded = Config::load(&node, &everything);
        if let Err(faults) = loaded {
            prop_assert!(!faults.is_empty());
        }
        let faults = Faults::default();
        let loaded = Config::load_scripted(&Value::root(&node, &faults));
        prop_assert_eq!(loaded.is_none(), faults.count() > 0);
    }

    #[test]
    fn the_example_with_one_value_changed_never_panics(at in 0_usize..400, node in any_node()) {
        let mut document = yaml_node(EXAMPLE);
        replace(&mut document, &mut at.clone(), &node);
        let loaded = Config::load(&document, &everything);
        if let Ok(loaded) = loaded {
            for (id, group) in loaded.catalog.groups() {
                for member in &group.members {
                    prop_assert!(loaded.catalog.has(member.deployment));
                    loaded.catalog.policy(id, member.deployment);
                }
            }
        }
    }
}
