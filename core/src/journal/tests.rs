use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::decode::Decoder;
use super::encode::Encoder;
use super::names::Names;
use super::*;
use crate::{
    Action, AttemptNo, Catalog, Change, Config, DeploymentId, Event, Failure, FailureKind, Notice,
    Priority, Request, SecretRef, Seed, Timestamp, Usage,
};

const CONFIG: &str = r#"{ "groups": { "g": { "members": [
    { "id": "a", "limits": { "requests_per_minute": 100 } }, { "id": "b" }, { "id": "c" } ] } } }"#;

fn catalog(json: &str) -> Arc<Catalog> {
    let document = serde_json::from_str(json).unwrap();
    Arc::new(Config::load_scenario(&document).unwrap().catalog)
}

const fn at(micros: u64) -> Timestamp {
    Timestamp::from_micros(1_767_225_600_000_000 + micros)
}

fn request(model: &str) -> Request {
    Request { model: model.into(), input_tokens: 100, ..Request::default() }
}

/// A few calls of every kind.
fn recorded() -> Recorder {
    let mut router = Recorder::new(catalog(CONFIG), at(0), Some(1 << 20));
    for n in 0..20 {
        let now = at(n * 1_000);
        let (mut call, action) = router.begin(request("g"), Seed(n), now);
        let Action::Send(attempt) = action else { panic!("{action:?}") };
        let attempt = attempt.number;
        if n % 5 == 0 {
            router.forget(&call, now);
            continue;
        }
        if n % 3 == 0 {
            let failure = match n {
                3 => Failure::new(FailureKind::RateLimited).retry_after(Duration::from_secs(1)),
                _ => Failure::new(FailureKind::TotalTimeout),
            };
            let failed = Event::Failed { attempt, failure, usage: None };
            let _ = router.resume(&mut call, failed, at(n * 1_000 + 300));
        }
        let cancelled = Event::Cancelled { usage: Some(Usage::default()) };
        let _ = router.resume(&mut call, cancelled, at(n * 1_000 + 500));
        // Late, and rejected.
        router.resume(&mut call, Event::Due, at(n * 1_000 + 600)).unwrap_err();
    }
    router.notice(Notice::Block(DeploymentId::from_number(1)), at(20_000));
    router.notice(Notice::Catalog(Arc::clone(router.catalog())), at(20_001));
    router.notice(Notice::Catalog(catalog(&CONFIG.replace("100", "50"))), at(20_002));
    let _ = router.drain_changes();
    let snapshot = router.snapshot();
    router.restart(catalog(CONFIG), &snapshot, at(20_003)).unwrap();
    let (mut call, _) = router.begin(request("nobody's"), Seed(1), at(19_000));
    router.resume(&mut call, Event::Due, at(20_004)).unwrap_err();
    router
}

fn bytes(router: &mut Recorder) -> Vec<u8> {
    router.journal().unwrap().bytes().to_vec()
}

#[test]
fn a_journal_replays_to_the_same_bytes() {
    let mut router = recorded();
    let journal = bytes(&mut router);
    let replayed = replay(&journal).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((replayed.calls, replayed.cut, replayed.full), (21, 0, false));
    assert_eq!(replayed.outcomes.get("refused"), Some(&1));
    assert_eq!(replayed.outcomes.get("cancelled"), Some(&16));
    assert_eq!(replayed.hash, format!("{:016x}", router.journal().unwrap().hash()));
    assert!(replayed.to > replayed.from);
}

#[test]
fn a_snapshot_may_be_the_beginning() {
    let before = recorded();
    let snapshot = before.snapshot();
    let router = Recorder::restore(catalog(CONFIG), &snapshot, at(30_000), Some(1 << 20));
    let mut router = router.unwrap();
    let _ = router.begin(request("g"), Seed(3), at(30_001));
    assert_eq!(replay(&bytes(&mut router)).unwrap().calls, 1);
}

#[test]
fn a_recorder_without_a_journal_decides_alike() {
    let mut silent = Recorder::new(catalog(CONFIG), at(0), None);
    let mut loud = Recorder::new(catalog(CONFIG), at(0), Some(1 << 20));
    for n in 0..50 {
        let (_, one) = silent.begin(request("g"), Seed(n), at(n));
        let (_, other) = loud.begin(request("g"), Seed(n), at(n));
        assert_eq!(one, other);
    }
    assert!(silent.journal().is_none());
}

#[test]
fn a_tail_cut_short_is_left_out_and_told() {
    let journal = bytes(&mut recorded());
    let mut ends = Vec::new();
    let mut reader = JournalReader::new(&journal).unwrap();
    while reader.read().unwrap().is_some() {
        ends.push(reader.offset());
    }
    for length in journal.len() - 60..journal.len() {
        let replayed = replay(&journal[..length]).unwrap();
        let whole = ends.iter().filter(|end| **end <= length).count();
        assert_eq!(replayed.records, whole as u64);
        assert_eq!(replayed.cut, length - ends[whole - 1]);
    }
}

#[test]
fn the_first_difference_is_named_with_its_decisions() {
    let journal = bytes(&mut recorded());
    let mut reader = JournalReader::new(&journal).unwrap();
    let mut seventh = None;
    let mut begun = 0;
    while let Some(entry) = reader.read().unwrap() {
        begun += u64::from(matches!(entry.input, Input::Begin { .. }));
        if begun == 7 {
            seventh = Some((entry, reader.offset()));
            break;
        }
    }
    let (entry, end) = seventh.unwrap();
    // A record's hash is its last four bytes.
    let mut forged = journal.clone();
    forged[end - 1] ^= 1;
    let Err(ReplayError::Differs(first)) = replay(&forged) else { panic!("not noticed") };
    assert_eq!((first.record, first.offset), (entry.number, entry.offset));
    assert_eq!((first.call, first.input), (Some(7), "begin"));
    assert_eq!(first.got, format!("{} with other details", first.expected));
    let trace = first.trace.unwrap();
    assert!(trace.entries.len() > 1, "{trace:?}");
    // The byte before the hash is the deployment.
    let mut forged = journal.clone();
    forged[end - 5] = (forged[end - 5] + 1) % 3;
    let Err(ReplayError::Differs(first)) = replay(&forged) else { panic!("not noticed") };
    assert_ne!(first.expected, first.got);
    assert!(first.expected.starts_with("send to "), "{first:?}");
    let shown = ReplayError::Differs(first).to_string();
    assert!(shown.starts_with(&format!("record {} (byte ", entry.number)), "{shown}");
}

#[test]
fn a_journal_ends_when_it_has_no_room() {
    let mut router = Recorder::new(catalog(CONFIG), at(0), Some(2_000));
    for n in 0..200 {
        let _ = router.begin(request("g"), Seed(n), at(n));
    }
    let journal = bytes(&mut router);
    assert!(journal.len() <= 2_000);
    let replayed = replay(&journal).unwrap();
    assert!(replayed.full && replayed.calls > 10, "{replayed:?}");
    assert_eq!(replayed.calls + router.journal().unwrap().lost(), 200);
}

#[test]
fn other_formats_and_other_files_are_told_apart() {
    assert_eq!(replay(b"{}"), Err(ReplayError::Unreadable(JournalFault::NotAJournal)));
    let mut journal = bytes(&mut recorded());
    journal[MAGIC.len()] = FORMAT as u8 + 1;
    let Err(ReplayError::Unreadable(fault)) = replay(&journal) else { panic!("read") };
    let shown = fault.to_string();
    let expected = format!("has format {}, this engine reads {FORMAT}", FORMAT + 1);
    assert!(shown.contains(&expected), "{shown}");
}

#[test]
fn what_if_counts_first_decisions() {
    let journal = bytes(&mut recorded());
    let same = what_if(&journal, &catalog(CONFIG)).unwrap();
    assert_eq!(same.calls, 21);
    assert_eq!(same.before.get("refused: unknown_model"), Some(&1));
    // The first begin of the journal would have been decided just so; rotations and draws agree.
    assert_eq!((same.changed, &same.before), (0, &same.after), "{same:?}");
    let only = r#"{ "groups": { "g": { "members": [ { "id": "c" } ] } } }"#;
    let other = what_if(&journal, &catalog(only)).unwrap();
    assert_eq!(other.after.get("send to c"), Some(&20), "{other:?}");
    assert_eq!(other.changed, 20 - same.before.get("send to c").unwrap());
    assert_eq!(other.changes.len() as u64, other.changed);
}

#[test]
fn a_document_keeps_no_secret_and_builds_the_same_catalog() {
    let json = r#"{ "version": 1, "server": { "listen": "127.0.0.1:1" },
      "providers": {
        "p": { "protocol": "openai", "api_key": { "env": "THERE" }, "headers": { "x-key": "sk-secret" } },
        "q": { "protocol": "openai", "api_key": { "env": "ABSENT", "optional": true } },
        "r": { "protocol": "bedrock", "region": "a", "credentials": {
          "access_key_id": { "env": "THERE" }, "secret_access_key": { "env": "THERE" } } },
        "s": { "protocol": "bedrock", "region": "a", "credentials": {
          "access_key_id": { "env": "ABSENT", "optional": true },
          "secret_access_key": { "env": "ABSENT", "optional": true } } } },
      "deployments": { "d": { "provider": "p", "model": "m" }, "e": { "provider": "q", "model": "m" },
        "f": { "provider": "r", "model": "m" }, "g": { "provider": "s", "model": "m" } },
      "groups": { "g": { "members": ["d", "e", "f", "g"] } } }"#;
    let document = serde_json::from_str(json).unwrap();
    let lookup = |wanted: &SecretRef| {
        (*wanted == SecretRef::Env("THERE".into())).then(|| "sk-looked-up".to_owned())
    };
    let catalog = Config::load(&document, &lookup).unwrap().catalog;
    let text = String::from_utf8_lossy(&catalog.document);
    for hidden in ["sk-", "THERE", "x-key", "127.0.0.1"] {
        assert!(!text.contains(hidden), "{hidden}");
    }
    let again = document::load(&catalog.document).unwrap();
    assert_eq!(again, catalog);
    for (name, blocked) in [("d", false), ("e", true), ("f", false), ("g", true)] {
        let id = again.deployment_named(name).unwrap();
        assert_eq!(again.deployment(id).blocked.is_some(), blocked, "{name}: its key is as it was");
    }
    assert!(document::load(&[1, 9]).is_err());
    let mut deep = vec![1];
    deep.extend([6, 1].repeat(100_000));
    assert!(document::load(&deep).is_err(), "no deeper than a configuration");
}

#[test]
fn what_the_table_of_models_says_is_written_out() {
    let json = r#"{
      "known_models": true,
      "providers": { "p": { "protocol": "openai", "api_key": { "env": "A" } } },
      "deployments": {
        "d": { "provider": "p", "model": "gpt-4o", "supports": { "tools": false } },
        "e": { "provider": "p", "model": "gpt-4o", "price": { "input": 1, "output": 2 } },
        "f": { "provider": "p", "model": "nobody-knows" },
        "w": { "provider": "p", "model": "*", "supports": { "tools": false },
               "models": { "gpt-4o": { "price": { "input": 1, "output": 2 } }, "mine": {} } },
        "x": { "provider": "p", "model": "*", "price": { "input": 1, "output": 2 } } },
      "groups": { "g": { "members": ["d", "e", "f", "w", "x", { "id": "h", "provider": "p", "model": "gpt-4o" }] } } }"#;
    let document = serde_json::from_str(json).unwrap();
    let loaded = Config::load_scenario(&document).unwrap();
    let of_any = |one: &&crate::Known| one.model.is_some();
    assert_eq!(loaded.known.iter().filter(|one| !of_any(one)).count(), 3);
    let models = loaded.known.iter().filter(of_any).count();
    assert!(models > 60, "{models}, of two deployments");
    let catalog = loaded.catalog;
    let price = |name: &str| {
        catalog
            .deployment(catalog.deployment_named(name).unwrap())
            .facts
            .prices
            .at(Timestamp::from_micros(0))
    };
    assert!(price("d").is_some() && price("d") != price("e") && price("d") == price("h"));
    assert_eq!(document::load(&catalog.document).unwrap(), catalog);
    let text = String::from_utf8_lossy(&catalog.document);
    assert_eq!(text.matches("known_models").count(), 1);
    assert_eq!(text.matches("context_tokens").count(), 3 + models, "no table is needed to read it");
}

fn through<T: Serialize + for<'d> Deserialize<'d>>(value: &T) -> T {
    let mut out = Vec::new();
    let mut names = Names::default();
    value.serialize(&mut Encoder::new(&mut out, Some(&mut names), at(5))).unwrap();
    let mut names = Names::default();
    let mut decoder = Decoder::new(&out, &mut names, at(5));
    let read = T::deserialize(&mut decoder).unwrap();
    assert!(decoder.rest().is_empty());
    read
}

#[test]
fn every_input_comes_back() {
    let usage = Some(Usage { input: 5, estimated: true, ..Usage::default() });
    let attempt = AttemptNo::from_number(2);
    let failure = Failure {
        kind: FailureKind::RateLimited,
        retry_after: Some(Duration::from_millis(1_500)),
        status: Some(429),
        quota: Some(crate::QuotaFacts { tokens_left: Some(3), ..Default::default() }),
    };
    let id = DeploymentId::from_number(300);
    let reservation = crate::ReservationId::from_number(u64::MAX);
    for event in [
        Event::Due,
        Event::Woken,
        Event::Cancelled { usage },
        Event::Ready { attempt, first_content_at: at(3), usage, quota: None },
        Event::Failed { attempt, failure, usage: None },
        Event::Completed {
            attempt,
            usage,
            ended_at: Timestamp::NEVER,
            stalled_by_client: Duration::from_nanos(1),
        },
        Event::Closed { attempt, usage: None },
        Event::Granted { reservation, candidate: id },
        Event::Denied { by: id, until: Timestamp::ZERO },
        Event::StoreDown,
        Event::Ranked(vec![id, id]),
        Event::Declined,
    ] {
        assert_eq!(through(&event), event);
    }
    let change = Change {
        deployment: "a".into(),
        model: None,
        epoch: 7,
        open_for: Some(9),
        throttled_for: 0,
    };
    for notice in [
        Notice::Block(id),
        Notice::Unblock(id),
        Notice::Clear(id),
        Notice::Probe { deployment: id, up: true },
        Notice::Change(change),
    ] {
        assert_eq!(through(&notice), notice);
    }
    let request = Request {
        model: "g".into(),
        tags: vec!["x".into(), "x".into(), String::new(), "y".repeat(1_000)],
        region: Some("eu".into()),
        priority: Priority::Batch,
        deadline: Some(Duration::from_secs(5)),
        retries: Some(0),
        max_output_tokens: Some(u64::MAX),
        ..Request::default()
    };
    assert_eq!(through(&request), request);
    let snapshot = recorded().snapshot();
    assert_eq!(through(&snapshot), snapshot);
    assert_eq!(through(&Seed(u64::MAX - 3)), Seed(u64::MAX - 3));
}
