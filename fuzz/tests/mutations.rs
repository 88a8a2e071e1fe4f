//! Each target over its corpus, and over mutations of it that are the same in every run.

use std::path::Path;

use pointsman_fuzz::{
    answer, answers, config, converse, endpoint, event_stream, headers, journal, relay, requests,
    scenario, translate,
};
use pointsman_generate::Dice;

/// Mutations of each target in an ordinary run, and in a long one.
const FEW: u64 = 2_000;
const MANY: u64 = 100_000;

#[test]
fn configs() {
    mutate(config, &corpus("examples", "yaml"));
}

#[test]
fn scenarios() {
    let mut all = corpus("tests/scenarios", "yaml");
    all.extend((0..50).map(|seed| pointsman_generate::scenario(seed).into_bytes()));
    mutate(scenario, &all);
}

#[test]
fn journals() {
    let runs = (0..20).map(|seed| {
        let text = pointsman_generate::scenario(seed);
        let document = serde_json::from_str(&text).expect("JSON");
        let alone = |_: &str| Err("there are no files here".to_owned());
        let (_, journal) =
            pointsman_core::scenario::record(&document, &alone, 1 << 20).expect("a sound scenario");
        journal
    });
    mutate(journal, &runs.collect::<Vec<_>>());
}

#[test]
fn bodies_of_requests() {
    mutate(requests, &corpus("fuzz/corpus/requests", "json"));
}

#[test]
fn what_is_asked_for() {
    mutate(endpoint, &corpus("fuzz/corpus/endpoint", "txt"));
}

#[test]
fn relays() {
    mutate(relay, &corpus("fuzz/corpus/relay", "txt"));
}

#[test]
fn whole_answers() {
    let bodies = corpus("fuzz/corpus/answer", "json");
    let statuses: [u16; 6] = [200, 400, 404, 429, 500, 529];
    let with = |status: u16, body: &Vec<u8>| [&status.to_be_bytes()[..], body].concat();
    let all = bodies.iter().flat_map(|body| statuses.map(|status| with(status, body)));
    mutate(answer, &all.collect::<Vec<_>>());
}

#[test]
fn headers_of_answers() {
    mutate(headers, &corpus("fuzz/corpus/headers", "txt"));
}

#[test]
fn requests_in_other_words() {
    mutate(translate, &corpus("fuzz/corpus/translate", "json"));
}

#[test]
fn streams_in_other_words() {
    mutate(converse, &corpus("fuzz/corpus/converse", "txt"));
}

#[test]
fn amazons_streams_in_other_words() {
    mutate(event_stream, &corpus("fuzz/corpus/event_stream", "txt"));
}

#[test]
fn answers_in_other_words() {
    mutate(answers, &corpus("fuzz/corpus/answers", "json"));
}

/// The files of a folder of the repository that have this ending.
fn corpus(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let entries = std::fs::read_dir(folder).expect("a folder of the repository");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == ending));
    paths.sort();
    assert!(!paths.is_empty(), "nothing to start from");
    paths.into_iter().map(|path| std::fs::read(path).expect("a readable file")).collect()
}

fn mutate(target: fn(&[u8]), corpus: &[Vec<u8>]) {
    corpus.iter().for_each(|input| target(input));
    let long = std::env::var_os("POINTSMAN_LONG").is_some();
    for seed in 0..if long { MANY } else { FEW } {
        let mut dice = Dice::new(seed);
        let mut input = dice.pick(corpus).clone();
        for _ in 0..dice.within(1..=4) {
            mutation(&mut dice, &mut input, corpus);
        }
        let shown = String::from_utf8_lossy(&input).into_owned();
        if std::panic::catch_unwind(|| target(&input)).is_err() {
            panic!("mutation {seed} breaks it: {shown}");
        }
    }
}

/// Words that mean something somewhere.
const WORDS: [&str; 20] = [
    "0",
    "-1",
    "1e400",
    "18446744073709551615",
    "99999999999999999999d",
    "0ms",
    "null",
    "\"\"",
    "{}",
    "[]",
    "true",
    "\\ud800",
    "\u{feff}",
    "\r\n\r\n",
    "data: [DONE]\n\n",
    "*",
    "a: &a [*a]",
    "---\n",
    "\0",
    "\u{1F600}",
];

/// Changes, removes, repeats or inserts a little, or goes on as another input does.
fn mutation(dice: &mut Dice, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
    let place = |dice: &mut Dice, input: &[u8]| dice.below(input.len() as u64 + 1) as usize;
    let (one, other) = (place(dice, input), place(dice, input));
    let (from, to) = (one.min(other), one.max(other));
    let near = to.min(from + dice.below(16) as usize);
    match dice.below(6) {
        0 if from < input.len() => input[from] = dice.draw() as u8,
        1 => drop(input.drain(from..near)),
        2 => {
            let part = input[from..near].to_vec();
            input.splice(to..to, part);
        }
        3 => drop(input.splice(from..near, dice.pick(&WORDS).bytes())),
        4 => {
            let next = dice.pick(corpus);
            let at = place(dice, next);
            input.truncate(from);
            input.extend_from_slice(&next[at..]);
        }
        _ => input.truncate(to),
    }
}
