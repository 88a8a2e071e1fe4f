//! Strategies over time, through the router alone: streams on a virtual clock.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails loudly"
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use common::{at, catalog, request, router, sent};
use pointsman_core::{
    Action, Call, ChosenBy, Event, Notice, Outcome, Request, Router, Seed, Trace, TraceEntry, Usage,
};

/// What a member does at one moment: milliseconds to the first token and to the end.
type Pace = (u64, u64);

/// A stream that is out.
struct Out {
    call: Call,
    member: String,
    pace: Pace,
    since: u64,
}

/// What came of one call.
struct Made {
    at: u64,
    member: String,
    trace: Trace,
}

/// Streams every `every` milliseconds from `from` to `to`; each ends by itself.
struct Run<'a> {
    router: &'a mut Router,
    pace: &'a dyn Fn(&str, u64) -> Pace,
    events: BTreeMap<(u64, u64), bool>,
    out: BTreeMap<u64, Out>,
    made: Vec<Made>,
    most: BTreeMap<String, u32>,
}

fn run(
    router: &mut Router,
    (from, to, every): (u64, u64, u64),
    pace: &dyn Fn(&str, u64) -> Pace,
) -> (Vec<Made>, BTreeMap<String, u32>) {
    let mut run = Run {
        router,
        pace,
        events: BTreeMap::new(),
        out: BTreeMap::new(),
        made: Vec::new(),
        most: BTreeMap::new(),
    };
    for (n, now) in (from..to).step_by(usize::try_from(every).unwrap()).enumerate() {
        run.until(now);
        run.begin(u64::try_from(n).unwrap(), now);
    }
    run.until(u64::MAX);
    (run.made, run.most)
}

impl Run<'_> {
    fn begin(&mut self, n: u64, now: u64) {
        let request = Request { stream: true, trace: true, ..request("g") };
        let (call, action) = self.router.begin(request, Seed(9).derive(now), at(now));
        let id = sent(&action).deployment;
        let member = self.router.catalog().deployment(id).name.clone();
        let most = self.most.entry(member.clone()).or_default();
        *most = (*most).max(self.router.in_flight(id));
        let pace = (self.pace)(&member, now);
        self.events.insert((now + pace.0, n), true);
        self.out.insert(n, Out { call, member, pace, since: now });
    }

    /// Everything that happens before `now`.
    fn until(&mut self, now: u64) {
        while let Some((&(when, n), &first)) =
            self.events.iter().next().filter(|(key, _)| key.0 < now)
        {
            self.events.remove(&(when, n));
            let Out { mut call, member, pace, since } = self.out.remove(&n).unwrap();
            let attempt = pointsman_core::AttemptNo::from_number(1);
            if first {
                let ready =
                    Event::Ready { attempt, first_content_at: at(when), usage: None, quota: None };
                let _ = self.router.resume(&mut call, ready, at(when)).unwrap();
                self.events.insert((since + pace.1, n), false);
                self.out.insert(n, Out { call, member, pace, since });
                continue;
            }
            let completed = Event::Completed {
                attempt,
                usage: Some(Usage { input: 100, output: 50, ..Usage::default() }),
                ended_at: at(when),
                stalled_by_client: Duration::ZERO,
            };
            let end = self.router.resume(&mut call, completed, at(when)).unwrap();
            assert!(matches!(end, Action::Finish(Outcome::Served { .. })));
            let trace = call.take_trace().unwrap();
            self.made.push(Made { at: since, member, trace });
        }
    }
}

fn chosen_by(made: &Made) -> ChosenBy {
    let decision = made.trace.entries.iter().find_map(|entry| match entry {
        TraceEntry::Decision(decision) => decision.by,
        _ => None,
    });
    decision.unwrap()
}

fn group(members: &str) -> String {
    format!(r#"{{ "groups": {{ "g": {{ "strategy": "predicted", "members": [{members}] }} }} }}"#)
}

const FOUR: &str = r#"{ "id": "a" }, { "id": "b" }, { "id": "c" }, { "id": "d" }"#;

#[test]
fn a_recovered_member_has_its_share_again_within_two_minutes() {
    let mut router = router(&group(FOUR));
    let pace = |member: &str, now: u64| match (member, now) {
        ("a", ..60_000) => (6_000, 8_000),
        _ => (300, 1_000),
    };
    let (made, _) = run(&mut router, (0, 240_000, 50), &pace);
    let share = |from: u64, to: u64| {
        let of = |name: Option<&str>| {
            let within = made.iter().filter(|one| (from..to).contains(&one.at));
            within.filter(|one| name.is_none_or(|name| one.member == name)).count()
        };
        of(Some("a")) as f64 / of(None) as f64
    };
    assert!(share(20_000, 60_000) < 0.05, "while slow: {}", share(20_000, 60_000));
    assert!(share(180_000, 240_000) >= 0.8 / 4.0, "recovered: {}", share(180_000, 240_000));
}

#[test]
fn at_most_one_call_in_a_hundred_explores_and_none_a_dear_member() {
    let members = r#"{ "id": "a", "price": { "input": 1, "output": 1 } }, { "id": "slow", "price": { "input": 1, "output": 1 } },
        { "id": "b", "price": { "input": 1, "output": 1 } }, { "id": "dear", "price": { "input": 5, "output": 5 } },
        { "id": "unpriced" }"#;
    let mut router = router(&group(members));
    let pace = |member: &str, _| match member {
        "a" | "b" => (300, 1_000),
        _ => (9_000, 12_000),
    };
    let (made, _) = run(&mut router, (0, 200_000, 50), &pace);
    let explored: Vec<usize> =
        (0..made.len()).filter(|n| chosen_by(&made[*n]) == ChosenBy::Exploration).collect();
    assert!(!explored.is_empty() && explored.len() * 100 <= made.len(), "{}", explored.len());
    let members: BTreeSet<&str> = explored.iter().map(|n| made[*n].member.as_str()).collect();
    assert!(members.contains("slow"), "{members:?}");
    assert!(!members.contains("dear") && !members.contains("unpriced"), "{members:?}");
}

#[test]
fn a_member_that_a_reload_brings_is_not_flooded() {
    for strategy in ["predicted", "latency", "peak_ewma"] {
        let with = |members: &str| group(members).replace("predicted", strategy);
        let mut router = router(&with(r#"{ "id": "a" }, { "id": "b" }"#));
        let pace = |member: &str, _| match member {
            "new" => (20_000, 30_000),
            _ => (300, 1_000),
        };
        let _ = run(&mut router, (0, 30_000, 20), &pace);
        let loaded = catalog(&with(r#"{ "id": "a" }, { "id": "b" }, { "id": "new" }"#));
        router.notice(Notice::Catalog(loaded), at(40_000));
        let (made, most) = run(&mut router, (40_000, 60_000, 20), &pace);
        // Nothing is known of it for 20 s: two in flight, and no more.
        assert!(most.get("new").is_none_or(|most| *most <= 2), "{strategy}: {most:?}");
        assert!(made.iter().filter(|one| one.member == "new").count() <= 2, "{strategy}");
    }
}

#[test]
fn groups_remember_apart() {
    let text = r#"{ "groups": {
        "g": { "strategy": "round_robin", "members": [{ "id": "a" }, { "id": "b" }] },
        "h": { "strategy": "round_robin", "members": ["a", "b"] } } }"#;
    let text = text.replace(r#"["a", "b"]"#, r#"[{ "deployment": "a" }, { "deployment": "b" }]"#);
    let mut router = router(&text);
    let mut next = |group: &str| {
        let (_, action) = router.begin(request(group), Seed(1), at(0));
        sent(&action).deployment.number()
    };
    let turns: Vec<u32> = ["g", "h", "g", "h"].map(&mut next).to_vec();
    assert_eq!(turns, [0, 0, 1, 1]);
}

#[test]
fn what_is_drained_is_never_chosen_by_any_strategy() {
    for strategy in [
        "weighted",
        "round_robin",
        "least_busy",
        "usage",
        "latency",
        "peak_ewma",
        "cost",
        "predicted",
        "affinity",
        "ordered",
        "lar1",
    ] {
        let members = r#"{ "id": "none", "weight": 0, "price": { "input": 0, "output": 0 } }, { "id": "a", "weight": 1 }, { "id": "b", "weight": 5 }"#;
        let mut router = router(&group(members).replace("predicted", strategy));
        let (made, _) = run(&mut router, (0, 20_000, 50), &|_, _| (300, 1_000));
        assert!(made.iter().all(|one| one.member != "none"), "{strategy}");
    }
}

#[test]
fn what_was_learnt_outlives_a_restart() {
    let text = group(FOUR);
    let mut before = router(&text);
    let pace = |member: &str, _| if member == "a" { (4_000, 6_000) } else { (300, 1_000) };
    let _ = run(&mut before, (0, 30_000, 50), &pace);
    let snapshot = before.snapshot();
    let mut after = Router::restore(catalog(&text), &snapshot, at(40_000)).unwrap();
    let (made, _) = run(&mut after, (40_000, 45_000, 50), &pace);
    assert!(made.iter().filter(|one| one.member == "a").count() <= 1);
}

#[test]
fn an_explanation_names_the_terms_of_a_prediction() {
    let mut router = router(&group(FOUR));
    let _ = run(&mut router, (0, 30_000, 50), &|_, _| (300, 1_000));
    let trace = router.explain(&Request { stream: true, ..request("g") }, Seed(1), at(31_000));
    let TraceEntry::Decision(decision) = &trace.entries[1] else { panic!("{trace:?}") };
    assert_eq!(decision.by, Some(ChosenBy::Strategy));
    for verdict in &decision.candidates {
        assert!(verdict.score.is_some());
        let names: Vec<&str> = verdict.terms.iter().map(|term| term.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "first_token_seconds",
                "seconds_per_token",
                "output_tokens",
                "failure_share",
                "first_token_p95_seconds",
                "total_p95_seconds",
                "fullness"
            ]
        );
    }
}
