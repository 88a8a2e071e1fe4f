//! Every scenario file and many generated scenarios, native and in WebAssembly, with every
//! decision: the same bytes. And their journals, executed again.

mod guest;

use std::path::Path;

use guest::{Guest, module};
use pointsman_core::Node;
use pointsman_core::journal::replay;
use pointsman_core::scenario::{Traces, record, run};

/// Generated scenarios in an ordinary run, and in a long one.
const FEW: u64 = 300;
const MANY: u64 = 10_000;
/// Bytes of a journal, at most.
const ROOM: usize = 64 << 20;

/// One test: to compile the module takes most of the time.
#[test]
fn native_and_wasm_report_the_same_bytes() {
    let module = module();
    let imports: Vec<String> = module.imports().map(|import| import.name().to_owned()).collect();
    assert!(imports.is_empty(), "the engine asks its host for {imports:?}");
    let mut guest = Guest::new(&module);

    let scenarios = files();
    assert!(scenarios.len() > 100, "only {} scenarios were found", scenarios.len());
    for (name, scenario) in &scenarios {
        assert!(compare(&mut guest, name, scenario), "{name}: no decision was taken\n{scenario}");
    }
    let long = std::env::var_os("POINTSMAN_LONG").is_some();
    let generated = if long { MANY } else { FEW };
    let mut decided = 0;
    for seed in 0..generated {
        let scenario = pointsman_generate::scenario(seed);
        let name = format!("generated, seed {seed}");
        decided += u64::from(compare(&mut guest, &name, &scenario));
        compare_journals(&mut guest, &name, &scenario);
    }
    // By chance a scenario may have no call.
    assert!(decided * 100 > generated * 95, "of {generated}, {decided} came to a decision");
    let calls = if long { 10_000 } else { 500 };
    compare_journals(&mut guest, "a long run", &pointsman_generate::long(7, calls));
}

/// Whether a decision was taken.
fn compare(guest: &mut Guest, name: &str, scenario: &str) -> bool {
    let native = native(scenario).unwrap_or_else(|fault| panic!("{name}: {fault}\n{scenario}"));
    let wasm = guest.report(scenario).unwrap_or_else(|trap| panic!("{name}: {trap:?}\n{scenario}"));
    if let Some(difference) = difference(&native, &wasm) {
        panic!("{name}: {difference}\n{scenario}");
    }
    native.contains("\"trace\"")
}

/// The journal of a scenario comes to the same, with the hash over every byte of every answer.
fn compare_journals(guest: &mut Guest, name: &str, scenario: &str) {
    let document: Node = serde_json::from_str(scenario).expect("JSON");
    let (_, journal) = record(&document, &alone, ROOM).expect("a sound scenario");
    let replayed = replay(&journal).unwrap_or_else(|error| panic!("{name}: {error}"));
    let native = serde_json::to_string(&replayed).expect("plain data");
    let wasm = guest.replay(&journal).unwrap_or_else(|trap| panic!("{name}: {trap:?}"));
    assert_eq!(native, wasm, "{name}");
}

fn alone(path: &str) -> Result<Node, String> {
    Err(format!("`{path}` is another file"))
}

fn native(scenario: &str) -> Result<String, String> {
    let document: Node = serde_json::from_str(scenario).map_err(|fault| fault.to_string())?;
    let report = run(&document, &alone, Traces::All).map_err(|faults| faults[0].to_string())?;
    serde_json::to_string(&report).map_err(|fault| fault.to_string())
}

/// The first byte that differs, with what stands around it.
fn difference(native: &str, wasm: &str) -> Option<String> {
    const AROUND: usize = 200;
    if native == wasm {
        return None;
    }
    let same = native.bytes().zip(wasm.bytes()).take_while(|(native, wasm)| native == wasm);
    let at = same.count();
    let near = |text: &str| {
        let bytes = &text.as_bytes()[at.saturating_sub(AROUND)..text.len().min(at + AROUND)];
        String::from_utf8_lossy(bytes).into_owned()
    };
    Some(format!("differs from byte {at}\nnative: {}\nwasm:   {}", near(native), near(wasm)))
}

/// Every scenario of every file, as JSON, with a name.
fn files() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let entries = std::fs::read_dir(folder).expect("the folder of the scenarios");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    let mut scenarios = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let options = serde_saphyr::options! { strict_booleans: true };
        let documents: Vec<serde_json::Value> =
            serde_saphyr::from_multiple_with_options(&text, options).expect("YAML");
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        for (index, document) in documents.iter().enumerate() {
            scenarios.push((format!("{name}, document {index}"), document.to_string()));
        }
    }
    scenarios
}

#[test]
fn a_difference_is_shown_where_it_begins() {
    assert_eq!(difference("same", "same"), None);
    let shown = difference("abc", "abd").expect("a difference");
    assert_eq!(shown, "differs from byte 2\nnative: abc\nwasm:   abd");
    assert!(difference("ab", "abc").is_some());
}
