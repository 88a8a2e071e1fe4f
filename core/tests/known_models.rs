//! What is known of the models behind a deployment for any is what would be known of each alone.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use std::collections::BTreeMap;

use common::callers::HASH;
use common::{at, catalog, request};
use pointsman_core::{
    Action, Capability, Catalog, Event, Known, ModelFacts, Needs, Outcome, Request, Router, Seed,
    Usage,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Names in the table, dated ones, and inventions.
const MODELS: [&str; 10] = [
    "gpt-4o",
    "gpt-4o-2024-11-20",
    "gpt-4o-2024-05-13",
    "gpt-5-nano",
    "o3-mini",
    "gpt-5.5",
    "claude-haiku-4-5",
    "claude-haiku-4-5-20251001",
    "nobody-knows",
    "gpt-4o-next",
];
const PROVIDERS: &str = r#"{
    "openai": { "protocol": "openai" }, "anthropic": { "protocol": "anthropic" },
    "azure": { "protocol": "azure", "base_url": "https://x.openai.azure.com" },
    "lab": { "protocol": "openai", "base_url": "http://lab/v1" } }"#;

fn facts(catalog: &Catalog, deployment: &str, model: &str) -> ModelFacts {
    catalog.facts_of(catalog.deployment_named(deployment).unwrap(), model).clone()
}

/// What a configuration says of a deployment, or of a model.
fn said() -> impl Strategy<Value = Value> {
    let window = prop_oneof![Just(None), (1_000u64..300_000).prop_map(Some)];
    let tools = prop_oneof![Just(None), any::<bool>().prop_map(Some)];
    let price = prop_oneof![2 => Just(None), 1 => (0u64..9, 0u64..40).prop_map(Some)];
    (window, tools, price).prop_map(|(window, tools, price)| {
        let mut supports = json!({});
        if let Some(window) = window {
            supports["context_tokens"] = json!(window);
        }
        if let Some(tools) = tools {
            supports["tools"] = json!(tools);
        }
        let mut said = json!({ "supports": supports });
        if let Some((input, output)) = price {
            said["price"] = json!({ "input": input, "output": output });
        }
        said
    })
}

/// A catalog of one group `x/*` with one deployment `d`, and a key with a budget.
fn one_deployment(
    provider: &str,
    model: &str,
    said: &Value,
    table: bool,
) -> std::sync::Arc<Catalog> {
    let mut deployment = said.clone();
    deployment["provider"] = json!(provider);
    deployment["model"] = json!(model);
    let providers: Value = serde_json::from_str(PROVIDERS).unwrap();
    catalog(
        &json!({
            "known_models": table,
            "providers": providers,
            "deployments": { "d": deployment },
            "groups": { "x/*": { "members": ["d"] } },
            "callers": { "keys": { "k": { "sha256": HASH, "budget": { "usd": 0.5, "per": "day" } } } },
        })
        .to_string(),
    )
}

#[derive(Clone, Debug)]
struct Asked {
    input: u64,
    most_output: Option<u64>,
    tools: bool,
    strict: bool,
    answer: (u64, u64),
}

fn asked() -> impl Strategy<Value = Asked> {
    let most_output = prop_oneof![Just(None), (1u64..20_000).prop_map(Some)];
    let answer = (0u64..300_000, 0u64..5_000);
    (0u64..300_000, most_output, any::<bool>(), any::<bool>(), answer).prop_map(
        |(input, most_output, tools, strict, answer)| Asked {
            input,
            most_output,
            tools,
            strict,
            answer,
        },
    )
}

/// What comes of a call, and what its key has spent then.
fn call(router: &mut Router, model: &str, asked: &Asked, n: u64) -> String {
    let mut needs = Needs::default();
    if asked.tools {
        needs = needs.with(Capability::Tools);
    }
    let prefer = asked.strict.then(|| {
        Box::new(pointsman_core::Preferences { require_parameters: true, ..Default::default() })
    });
    let request = Request {
        caller: router.catalog().caller_named("k"),
        input_tokens: asked.input,
        max_output_tokens: asked.most_output,
        needs,
        prefer,
        ..request(&format!("x/{model}"))
    };
    let (mut call, mut action) = router.begin(request, Seed(n), at(n));
    let reserved = router.owner_money("key k", at(n));
    let outcome = loop {
        action = match action {
            Action::Send(attempt) => {
                let ready = common::answer(attempt.number)[0].clone();
                router.resume(&mut call, ready, at(n)).unwrap()
            }
            Action::Relay(attempt) => {
                let usage =
                    Usage { input: asked.answer.0, output: asked.answer.1, ..Usage::default() };
                let completed = Event::Completed {
                    attempt,
                    usage: Some(usage),
                    ended_at: at(n),
                    stalled_by_client: std::time::Duration::ZERO,
                };
                router.resume(&mut call, completed, at(n)).unwrap()
            }
            Action::Finish(outcome) => break outcome,
            other => panic!("{other:?}"),
        };
    };
    let outcome = match outcome {
        Outcome::Refused(refusal) => format!("{:?} {:?}", refusal.reason, refusal.candidates),
        other => format!("{} {:?}", other.name(), call.cost()),
    };
    format!("{outcome} {reserved:?} {:?}", router.owner_money("key k", at(n)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// A deployment for any decides, reserves and settles as one that names the model.
    #[test]
    fn behind_any_a_model_is_served_as_if_it_were_named(
        provider in prop::sample::select(vec!["openai", "anthropic", "azure", "lab"]),
        model in prop::sample::select(MODELS.to_vec()),
        said in said(), table in any::<bool>(),
        calls in prop::collection::vec(asked(), 1..12),
    ) {
        let any = one_deployment(provider, "*", &said, table);
        let named = one_deployment(provider, model, &said, table);
        prop_assert_eq!(facts(&any, "d", model), facts(&named, "d", model));
        let (mut any, mut named) = (Router::new(any, at(0)), Router::new(named, at(0)));
        for (n, asked) in (0..).zip(&calls) {
            let found = call(&mut any, model, asked, n);
            prop_assert_eq!(found, call(&mut named, model, asked, n), "{:?}", asked);
        }
    }

    /// Whatever several deployments say of models, each finds its own word, also after a reload in
    /// which models have other numbers.
    #[test]
    fn each_deployment_finds_its_own_word(
        all in prop::collection::vec(
            (said(), prop::collection::btree_map("[ab]{1,2}(-2024(-11-20|1120))?", said(), 0..5)), 1..4),
        asked in prop::collection::vec("[ab]{1,2}(-2024(-11-20|1120))?", 1..20),
    ) {
        type Said = (Value, BTreeMap<String, Value>);
        let load = |all: &[Said]| {
            let mut deployments = json!({});
            for (n, (own, models)) in all.iter().enumerate() {
                let mut own = own.clone();
                own["model"] = json!("*");
                own["models"] = json!(models);
                deployments[format!("d{n}")] = own;
            }
            let names: Vec<String> = (0..all.len()).map(|n| format!("d{n}")).collect();
            let groups = json!({ "g": { "members": names } });
            catalog(&json!({ "deployments": deployments, "groups": groups }).to_string())
        };
        let naive = |(own, models): &Said, asked: &str| {
            let undated = asked.split("-2024").next().unwrap();
            let Some(said) = models.get(asked).or_else(|| models.get(undated)) else {
                return own.clone();
            };
            let mut merged = own.clone();
            for (key, value) in said["supports"].as_object().unwrap() {
                merged["supports"][key] = value.clone();
            }
            if let Some(price) = said.get("price") {
                merged["price"] = price.clone();
            }
            merged
        };
        let expected = |said: &Value| {
            let alone = one_deployment("lab", "m", said, false);
            facts(&alone, "d", "m")
        };
        let first = load(&all);
        let turned: Vec<Said> = all.iter().rev().cloned().collect();
        let next = (*load(&turned)).clone().succeed(&first);
        for (catalog, all) in [(&*first, &all), (&next, &turned)] {
            for (n, said) in all.iter().enumerate() {
                for asked in &asked {
                    let found = facts(catalog, &format!("d{n}"), asked);
                    prop_assert_eq!(found, expected(&naive(said, asked)), "{} at d{}", asked, n);
                }
            }
        }
    }
}

#[test]
fn the_table_says_what_it_gave_to_each_model_of_whom() {
    let text = format!(
        r#"{{ "providers": {PROVIDERS},
            "deployments": {{ "d": {{ "provider": "anthropic", "model": "*", "supports": {{ "tools": false }},
                "models": {{ "claude-haiku-4-5": {{ "price": {{ "input": 7, "output": 7 }} }} }} }} }},
            "groups": {{ "g": {{ "members": ["d"] }} }} }}"#
    );
    let node = serde_json::from_str(&text).unwrap();
    let known = pointsman_core::Config::load_scenario(&node).unwrap().known;
    let of = |model: &str| -> &Known {
        known.iter().find(|one| one.model.as_deref() == Some(model)).unwrap()
    };
    let haiku = of("claude-haiku-4-5");
    assert_eq!(haiku.path, "deployments.d.models");
    assert_eq!((haiku.price, haiku.supports.tools), (None, None), "what is said is not filled in");
    assert_eq!(haiku.supports.context_tokens, Some(200_000));
    assert!(of("claude-sonnet-5").price.is_some());
    assert!(known.iter().all(|one| one.deployment == "d" && one.model.is_some()));
}
