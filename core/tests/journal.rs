//! Journals of whole runs: a generated run of ten thousand calls replays to the same bytes, any
//! bytes at all are read without a panic, and a warm record allocates nothing.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails loudly")]

mod common;

use std::sync::OnceLock;

use common::{answer, at, catalog, request, sent};
use pointsman_core::journal::{Input, JournalReader, Recorder, ReplayError, replay, what_if};
use pointsman_core::scenario::record;
use pointsman_core::{Event, Failure, FailureKind, Node, Seed};
use proptest::prelude::*;

const ROOM: usize = 64 << 20;

/// The journal of a generated run, and the run's report as JSON.
fn generated(calls: usize, seed: u64) -> (String, Vec<u8>) {
    let text = pointsman_generate::long(seed, calls);
    let document: Node = serde_json::from_str(&text).unwrap();
    let no_files = |_: &str| Err("there are no files here".to_owned());
    let (report, journal) =
        record(&document, &no_files, ROOM).unwrap_or_else(|faults| panic!("{:?}", faults.first()));
    assert!(report.passed, "{:?}", report.differences);
    (serde_json::to_string(&report.totals).unwrap(), journal)
}

#[test]
fn a_run_of_ten_thousand_calls_replays_to_the_same_bytes() {
    let (totals, journal) = generated(10_000, 7);
    let replayed = replay(&journal).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(replayed.calls, 10_000);
    assert_eq!((replayed.cut, replayed.full), (0, false));
    for outcome in ["served", "broken", "refused", "exhausted", "cancelled"] {
        let count = replayed.outcomes.get(outcome).copied().unwrap_or(0);
        assert!(count > 10, "only {count} {outcome}: {totals}");
    }
    let mut kinds = std::collections::BTreeSet::new();
    let mut reader = JournalReader::new(&journal).unwrap();
    while let Some(entry) = reader.read().unwrap() {
        kinds.insert(entry.input.name());
    }
    for kind in ["restore", "new catalog", "notice", "wakes", "forget", "woken", "due"] {
        assert!(kinds.contains(kind), "no {kind} in {kinds:?}");
    }
    let per_call = journal.len() / 10_000;
    assert!(per_call < 256, "{per_call} bytes per call");
    assert_eq!(generated(10_000, 7).1, journal, "the run itself comes out the same");
}

#[test]
fn another_seed_is_another_journal() {
    let (_, one) = generated(200, 1);
    let (_, other) = generated(200, 2);
    assert_ne!(replay(&one).unwrap().hash, replay(&other).unwrap().hash);
}

#[test]
fn a_warm_record_allocates_nothing() {
    const GROUP: &str = r#"{ "groups": { "g": { "members": [{ "id": "a" }, { "id": "b" }] } } }"#;
    let mut router = Recorder::new(catalog(GROUP), at(0), Some(1 << 20));
    for n in 0..20 {
        let request = request("g");
        let info = allocation_counter::measure(|| {
            let (mut call, action) = router.begin(request, Seed(n), at(n));
            let failed = Event::Failed {
                attempt: sent(&action).number,
                failure: Failure::new(FailureKind::TotalTimeout),
                usage: None,
            };
            let second = sent(&router.resume(&mut call, failed, at(n)).unwrap());
            for event in answer(second.number) {
                let _ = router.resume(&mut call, event, at(n)).unwrap();
            }
            let _ = router.wakes();
        });
        assert!(n < 3 || info.count_total == 0, "{} allocations", info.count_total);
        router.journal().unwrap().clear();
    }
}

/// Whatever the bytes are, reading them ends without a panic.
fn survives(bytes: &[u8]) {
    if let Ok(mut reader) = JournalReader::new(bytes) {
        while let Ok(Some(entry)) = reader.read() {
            assert!(entry.offset < bytes.len());
        }
    }
    let other = catalog(r#"{ "groups": { "g": { "members": [{ "id": "a" }] } } }"#);
    for result in [replay(bytes).err(), what_if(bytes, &other).err()].into_iter().flatten() {
        assert!(!result.to_string().is_empty());
    }
}

/// A short journal to damage.
fn sample() -> Vec<u8> {
    static SAMPLE: OnceLock<Vec<u8>> = OnceLock::new();
    SAMPLE.get_or_init(|| generated(40, 3).1).clone()
}

proptest! {

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        survives(&bytes);
        survives(&[&b"PMJOURNL\x01\x051.2.3"[..], &bytes].concat());
    }

    #[test]
    fn a_damaged_journal_is_read_without_a_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = sample();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        survives(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        survives(&bytes);
    }

    #[test]
    fn damage_to_an_input_is_noticed(place in any::<prop::sample::Index>(), bit in 0..8u32) {
        let sound = sample();
        let mut reader = JournalReader::new(&sound).unwrap();
        let header = reader.offset();
        while let Some(entry) = reader.read().unwrap() {
            if matches!(entry.input, Input::Begin { .. }) {
                break;
            }
        }
        let place = header + place.index(sound.len() - header);
        let mut damaged = sound.clone();
        damaged[place] ^= 1 << bit;
        match replay(&damaged) {
            Err(ReplayError::Unreadable(_) | ReplayError::Differs(_)) => {}
            // A length that reaches beyond the end looks like a tail cut short.
            Ok(replayed) => prop_assert!(replayed.cut > 0, "at {place}: {replayed:?}"),
        }
    }
}
