//! The example configuration, and what comes back beside the catalog.

use core::time::Duration;

use super::{EXAMPLE, load, load_more, shares};
use crate::catalog::{Policy, RetryBudgetPolicy, Strategy};
use crate::config::{Faults, Loaded, PolicyConfig, Protocol, Server, Store};
use crate::id::GroupId;
use crate::limit::Dimension;

#[test]
fn the_example_loads_whole() {
    let Loaded { config, catalog, not_built, warnings, .. } = load(EXAMPLE).unwrap();
    assert_eq!(
        config.server.admin_token.as_ref().unwrap().expose(),
        "secret-of-POINTSMAN_ADMIN_TOKEN"
    );
    assert_eq!(config.server.bounds.max_body, 32 * 1024 * 1024);
    let azure = config.provider("azure-eu").unwrap();
    assert_eq!(azure.protocol, Protocol::Azure);
    assert_eq!(azure.base_url.as_deref(), Some("https://example-eu.openai.azure.com"));
    assert_eq!(azure.api_version.as_deref(), Some("2025-04-01-preview"));
    let practice = &config.provider("practice").unwrap().mock;
    assert_eq!(practice.first_token, Duration::from_millis(120));
    assert_eq!(practice.output_tokens, 40);
    assert_eq!(config.callers.keys[0].1.caller.budget.as_ref().unwrap().nano_usd, 5_000_000_000);
    assert_eq!(config.state.store, Store::Embedded("./pointsman.db".into()));
    assert_eq!(config.state.journal, None);
    assert_eq!(config.routes[0].matches.headers, [("x-team".to_owned(), "growth".to_owned())]);

    let main = catalog.deployment(catalog.deployment_named("gpt4o-main").unwrap());
    assert_eq!(main.rates.rate(Dimension::Total).unwrap().per_minute, 300_000);
    assert_eq!(
        main.facts.prices.at(crate::time::Timestamp::from_micros(0)).unwrap().cached_input,
        1_250_000
    );
    assert_eq!(main.facts.supports.output_tokens, Some(16_384));
    assert_eq!(main.blocked, None);
    let eu = catalog.deployment(catalog.deployment_named("gpt4o-eu").unwrap());
    assert_eq!(eu.region.as_deref(), Some("eu"));
    assert_eq!(eu.blocked, None);
    assert_eq!(
        shares(&catalog, "gpt-4o"),
        [("gpt4o-main".into(), 3, 0), ("gpt4o-eu".into(), 1, 0), ("lab-qwen".into(), 1, 1)]
    );
    let lab = catalog.deployment_named("lab-qwen").unwrap();
    let policy = catalog.policy(GroupId(0), lab);
    assert_eq!(policy.timeouts.first_token, Duration::from_secs(60));
    assert_eq!(policy.timeouts.connect, Duration::from_secs(5));
    let restricting: Vec<&str> =
        not_built.iter().filter(|key| key.restricts).map(|key| key.path.as_str()).collect();
    assert!(restricting.is_empty(), "{restricting:?}");
    let quiet: Vec<&str> =
        not_built.iter().filter(|key| !key.restricts).map(|key| key.path.as_str()).collect();
    assert!(quiet.is_empty(), "{quiet:?}");
    assert_eq!(warnings, []);
}

#[test]
fn the_defaults_are_those_of_the_example() {
    let config = load(EXAMPLE).unwrap().config;
    let faults = Faults::default();
    let written = config.policy.resolve(&PolicyConfig::default(), &faults);
    assert_eq!(written, Policy::default());
    assert_eq!(config.policy.retry_budget(), RetryBudgetPolicy::default());
    // Equal, and not because the example leaves them out.
    let PolicyConfig { timeouts, retry, breaker, throttle, .. } = &config.policy;
    for clock in [
        timeouts.connect,
        timeouts.first_token,
        timeouts.answer,
        timeouts.idle,
        timeouts.total,
        timeouts.deadline,
        retry.backoff_base,
        retry.backoff_cap,
        retry.longest_wait,
        breaker.window,
        breaker.open,
        breaker.max_open,
        throttle.default,
        throttle.max,
    ] {
        assert!(clock.is_some());
    }
    let counts = [retry.max_attempts, retry.budget_ratio_ppm, retry.budget_min_per_second];
    let more = [retry.budget_burst, breaker.consecutive, breaker.failure_ppm, breaker.min_calls];
    assert!(counts.into_iter().chain(more).all(|count| count.is_some()));
    assert!(config.policy.max_fallbacks.is_some());
    assert_eq!(Server { admin_token: None, ..config.server }, Server::default());
}

#[test]
fn no_secret_is_ever_printed() {
    let loaded = load(EXAMPLE).unwrap();
    let printed = format!("{loaded:?}");
    assert!(!printed.contains("secret-of-"), "a secret is in the Debug output");
    assert!(!printed.contains("org-example"), "a header's value is in the Debug output");
}

#[test]
fn strategies_by_name_and_which_have_no_use_for_weights() {
    let loaded = load_more(
        "groups: { g: { members: [a], strategy: latency-based-routing }, h: { members: [b], strategy: least-busy }, i: { members: [{ deployment: c, weight: 2 }], strategy: ordered }, j: { members: [{ deployment: c, weight: 0 }] } }",
    );
    let loaded = loaded.unwrap();
    let strategies: Vec<Strategy> =
        loaded.catalog.groups().map(|(_, group)| group.strategy).collect();
    assert_eq!(
        strategies,
        [
            Strategy::Latency { buffer_ppm: 100_000 },
            Strategy::LeastBusy,
            Strategy::Ordered,
            Strategy::Predicted
        ]
    );
    assert_eq!(loaded.not_built, []);
    let warnings: Vec<(&str, &str)> =
        loaded.warnings.iter().map(|warning| (warning.path.as_str(), warning.name)).collect();
    assert_eq!(warnings, [("groups.i", "weight_ignored"), ("groups.j", "all_drained")]);
    let loaded = load_more("groups: { g: { members: [a, { deployment: b, order: 2 }] } }").unwrap();
    assert_eq!(shares(&loaded.catalog, "g"), [("a".into(), 1, 1), ("b".into(), 1, 0)]);
    assert!(loaded.warnings.iter().any(|warning| warning.name == "order_missing"));
}

#[test]
fn strategies_with_parameters() {
    let strategy = |text: &str| {
        let group = format!("groups: {{ g: {{ members: [a], strategy: {text} }} }}");
        load_more(&group).map(|loaded| loaded.catalog.group(GroupId(0)).strategy)
    };
    let score = Strategy::Score { latency_ppm: 600_000, cost_ppm: 400_000 };
    assert_eq!(strategy("{ score: { latency: 0.6, cost: 40% } }").unwrap(), score);
    let latency = Strategy::Latency { buffer_ppm: 250_000 };
    assert_eq!(strategy("{ latency: { buffer: 25% } }").unwrap(), latency);
    let cost = Strategy::Cost { first_token_ceiling: Some(Duration::from_secs(2)) };
    assert_eq!(strategy("{ cost: { first_token_ceiling: 2s } }").unwrap(), cost);
    for (text, fault) in [
        ("{ score: { latency: 0, cost: 0 } }", "needs a `latency` or a `cost` above 0"),
        ("{ latency: {}, cost: {} }", "needs one of `score`, `latency` and `cost`"),
        ("{}", "needs one of `score`, `latency` and `cost`"),
        ("{ predicted: {} }", "unknown key `predicted`"),
        ("{ latency: { bufer: 1 } }", "unknown key `bufer`"),
        ("fastest", "unknown strategy `fastest`"),
        // No word falls back to some other strategy in silence.
        ("Weighted", "unknown strategy `Weighted`"),
        ("latency-based", "unknown strategy `latency-based`"),
    ] {
        let faults = strategy(text).unwrap_err();
        assert!(faults.iter().any(|line| line.contains(fault)), "{text}: {faults:?}");
    }
}
