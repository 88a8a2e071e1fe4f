//! Inputs that a host has counted: what is reserved for them.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::{answer, at, catalog, request, router, sent};
use pointsman_core::{
    Counted, Event, Request, Router, Seed, TraceEntry, Usage, Vocabularies, Vocabulary,
};

const CONFIG: &str = r#"{ "tokens": "exact", "groups": { "g": { "members": [
    { "id": "a", "vocabulary": "o200k", "limits": { "input_tokens_per_minute": 1000000 } } ] } } }"#;

/// What would be taken of the limit on input.
fn taken(router: &Router, request: &Request) -> i64 {
    let trace = router.explain(request, Seed(1), at(0));
    let limits = trace.entries.iter().find_map(|entry| match entry {
        TraceEntry::Decision(decision) => Some(decision.limits.clone()),
        _ => None,
    });
    limits.unwrap().iter().map(|one| one.before - one.after).sum()
}

#[test]
fn an_estimate_is_corrected_and_a_count_never() {
    let mut router = router(CONFIG);
    let counted = |o200k| Counted { o200k, cl100k: Some(9) };
    let estimated = request("g");
    let exact = Request { counted: counted(Some(150)), ..request("g") };
    assert_eq!((taken(&router, &estimated), taken(&router, &exact)), (100, 150));
    // Providers say twice what was estimated, whether it was counted too or not.
    for n in 0..20 {
        let asked = if n % 2 == 0 { estimated.clone() } else { exact.clone() };
        let (mut call, action) = router.begin(asked, Seed(n), at(0));
        let [ready, completed] = answer(sent(&action).number);
        let _ = router.resume(&mut call, ready, at(0)).unwrap();
        let Event::Completed { attempt, ended_at, stalled_by_client, .. } = completed else {
            panic!("not an end")
        };
        let usage = Some(Usage { input: 200, output: 20, ..Usage::default() });
        let completed = Event::Completed { attempt, usage, ended_at, stalled_by_client };
        let _ = router.resume(&mut call, completed, at(0)).unwrap();
    }
    assert_eq!((taken(&router, &estimated), taken(&router, &exact)), (200, 150));
    let elsewhere = Request { counted: counted(None), ..request("g") };
    assert_eq!(taken(&router, &elsewhere), 200);
}

#[test]
fn it_is_known_before_a_call_what_is_worth_counting() {
    let catalog = catalog(
        r#"{ "tokens": "exact", "groups": {
            "plain": { "members": [ { "id": "a" } ], "fallbacks": [] },
            "first": { "members": [ { "id": "b", "vocabulary": "o200k" } ], "fallbacks": ["second"] },
            "second": { "members": [ { "id": "c" } ], "context_fallbacks": ["third"] },
            "third": { "members": [ { "id": "d", "vocabulary": "cl100k" } ], "fallbacks": ["first"] } },
           "routes": [ { "name": "r", "match": { "model": "ruled" }, "group": "third" } ] }"#,
    );
    let all = Vocabularies::of(Vocabulary::ALL);
    for (name, expected) in [
        ("plain", Vocabularies::default()),
        ("first", all),
        ("second", all),
        ("ruled", all),
        ("b", Vocabularies::of([Vocabulary::O200k])),
        ("nobody", Vocabularies::default()),
    ] {
        assert_eq!(catalog.vocabularies(&request(name)), expected, "{name}");
    }
}

#[test]
fn a_model_of_openais_is_known_by_its_name_where_its_maker_serves_it() {
    let vocabulary = |provider: &str, rest: &str| {
        let catalog = catalog(&format!(
            r#"{{ "providers": {{ "p": {provider} }}, {rest} "deployments":
                {{ "a": {{ "provider": "p", "model": "gpt-4o-mini" }} }} }}"#
        ));
        catalog.deployment(catalog.deployment_named("a").unwrap()).vocabulary
    };
    let openai = r#"{ "protocol": "openai" }"#;
    let azure = r#"{ "protocol": "azure", "base_url": "https://x.openai.azure.com" }"#;
    let other = r#"{ "protocol": "openai", "base_url": "https://x.example.com/v1" }"#;
    let exact = r#""tokens": "exact","#;
    assert_eq!(vocabulary(openai, exact), Some(Vocabulary::O200k));
    assert_eq!(vocabulary(azure, exact), Some(Vocabulary::O200k));
    assert_eq!(vocabulary(other, exact), None);
    assert_eq!(vocabulary(openai, r#""tokens": "exact", "known_models": false,"#), None);
    assert_eq!(vocabulary(openai, ""), None);
}
