//! Every scenario file must pass, and the runner must fail what ought to fail.

use std::path::{Path, PathBuf};

use pointsman_core::Node;
use pointsman_core::scenario::{Report, Traces, run};
use serde_saphyr::options::DuplicateKeyPolicy;

#[test]
fn every_scenario_file_passes() {
    let mut failed = Vec::new();
    let mut played = 0;
    for file in files(&directory("scenarios")).into_iter().chain(files(&directory("traces"))) {
        let text = std::fs::read_to_string(&file).expect("a readable file");
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for document in documents(&text) {
            played += 1;
            match run(&document, &|path| load(&file, path), Traces::OfDifferences) {
                Ok(report) if report.passed => {}
                Ok(report) => failed.push(format!("{name}: {}", differences(&report))),
                Err(faults) => {
                    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
                    failed.push(format!("{name}:\n  {}", lines.join("\n  ")));
                }
            }
        }
    }
    assert!(played > 100, "only {played} scenarios were found");
    assert!(failed.is_empty(), "{} of {played} failed\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn a_report_is_the_same_bytes_each_time() {
    let file = directory("scenarios").join("retry-budget.yaml");
    let text = std::fs::read_to_string(file).expect("a readable file");
    for document in documents(&text) {
        let bytes = || {
            let report = run(&document, &no_files, Traces::All).expect("a sound scenario");
            serde_json::to_string(&report).expect("a report is plain data")
        };
        assert_eq!(bytes(), bytes());
    }
}

#[test]
fn a_wrong_expectation_fails_and_says_what_came_out() {
    for (expect, path, expected, got) in [
        ("by: a", "calls[0].expect.by", "a", "b"),
        ("attempts: [b]", "calls[0].expect.attempts", "[b]", "[a, b]"),
        ("outcome: refused", "calls[0].expect.outcome", "refused", "served"),
        ("status: 429", "calls[0].expect.status", "429", "200"),
        ("waited: 1s", "calls[0].expect.waited", "1s", "0ns"),
        ("ends_at: [1s, 2s]", "calls[0].expect.ends_at", "1s to 2s", "320ms"),
        ("rejected: { b: tried }", "calls[0].expect.rejected.b", "tried", "nothing"),
        ("warnings: [estimated_usage]", "calls[0].expect.warnings", "[estimated_usage]", "[]"),
        ("fallbacks: 1", "calls[0].expect.fallbacks", "1", "0"),
        ("committed: false", "calls[0].expect.committed", "false", "true"),
        ("usage: { output_tokens: 7 }", "calls[0].expect.usage.output_tokens", "7", "20"),
        ("estimated: true", "calls[0].expect.estimated", "true", "false"),
        ("retry_after: 1s", "calls[0].expect.retry_after", "1s", "nothing"),
        ("error: deadline", "calls[0].expect.error", "deadline", "nothing"),
    ] {
        let report = play(&scenario(expect, "{}"));
        assert!(!report.passed, "{expect}");
        let call = &report.calls[0];
        assert!(call.trace.is_some(), "a call that went wrong shows its decisions");
        let shown: Vec<(&str, &str, &str)> = call
            .differences
            .iter()
            .map(|one| (one.path.as_str(), one.expected.as_str(), one.got.as_str()))
            .collect();
        assert_eq!(shown, [(path, expected, got)]);
    }
}

#[test]
fn a_wrong_expectation_of_the_run_fails_too() {
    for (expect, path, got) in [
        ("{ served: 2 }", "expect.served", "1"),
        ("{ refused: [1, 2] }", "expect.refused", "0"),
        ("{ attempts: 1 }", "expect.attempts", "2"),
        ("{ attempts_at: { b: 0 } }", "expect.attempts_at.b", "1"),
        ("{ share: { a: [10%, 100%] } }", "expect.share.a", "0 of 1"),
        ("{ upstream_429: 1 }", "expect.upstream_429", "0"),
        ("{ upstream_failed: 0 }", "expect.upstream_failed", "1"),
        ("{ states: [ { at: 0s, a: { in_flight: 0 } } ] }", "expect.states[0].a.in_flight", "1"),
        ("{ states: [ { at: 1s, a: { gate: tripped } } ] }", "expect.states[0].a.gate", "ready"),
    ] {
        let report = play(&scenario("outcome: served", expect));
        assert!(!report.passed, "{expect}");
        let shown: Vec<(&str, &str)> =
            report.differences.iter().map(|one| (one.path.as_str(), one.got.as_str())).collect();
        assert_eq!(shown, [(path, got)], "{expect}");
    }
}

#[test]
fn right_expectations_pass_and_show_no_trace() {
    let expect = "{ outcome: served, by: [a, b], attempts: [a, b], warnings: [] }";
    let text = scenario("by: b", "{ served: 1, share: { b: 100% } }");
    let report = play(&text.replace("{ by: b }", expect));
    assert!(report.passed, "{}", differences(&report));
    assert_eq!(report.calls[0].trace, None);
}

#[test]
fn faults_of_the_document_are_told_together() {
    let text = "
name: faulty
config: { groups: { g: { members: [ { id: a, wieght: 3 } ], strategy: predicted } } }
replicas: 2
upstreams:
  aa: [ { ok: {} } ]
  a: [ { fail: { status: 500, kind: reset } } ]
calls:
  - { at: 0s, modle: g }
  - { at: 0s, model: g, from: 1s }
  - { at: 0s, model: g, commit: complete, expect: { by: b, cost: -1 } }
controls: [ { at: 1s, store: down } ]
expect: { stats: [], states: [ { at: 1s, replica: 1 } ] }
";
    let faults = run(&documents(text)[0], &no_files, Traces::All).expect_err("a faulty document");
    let shown: Vec<String> = faults.iter().map(ToString::to_string).collect();
    for expected in [
        "config.groups.g.members[0].wieght: unknown key `wieght` (did you mean `weight`?)",
        "replicas: is not built yet",
        "upstreams.a[0].fail: names an error and has a `kind` or `no_end` too: choose one",
        "calls[0].modle: unknown key `modle` (did you mean `model`?)",
        "calls[0].model: is missing",
        "calls[1]: needs `at`, or `from` with `every` and `count`, or `from` with `poisson`, or `trace`",
        "calls[2].commit: is not built yet",
        "calls[2].expect.cost: `-1` is negative",
        "controls[0].store: is not built yet",
        "expect.stats: unknown key `stats` (did you mean `states`?)",
        "expect.states[0].replica: is not built yet",
    ] {
        assert!(shown.iter().any(|line| line == expected), "{expected}\n{shown:#?}");
    }
}

#[test]
fn a_name_that_is_nobodys_is_a_fault_with_a_suggestion() {
    let text = scenario("by: b", "{}").replace("upstreams:\n  a:", "upstreams:\n  aaa:");
    let text = text.replace("[ { id: a }, { id: b } ]", "[ { id: aa }, { id: b } ]");
    let faults = run(&documents(&text)[0], &no_files, Traces::All).expect_err("an unknown name");
    let shown: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["upstreams.aaa: unknown deployment `aaa` (did you mean `aa`?)"]);
}

#[test]
fn a_config_may_be_a_file_of_its_own() {
    let config = "groups: { g: { strategy: ordered, members: [ { id: a }, { id: b } ] } }";
    let text = scenario("by: b", "{}");
    let start = text.find("config:").expect("a config");
    let end = text.find("upstreams:").expect("upstreams");
    let text = format!("{}config: ./own.yaml\n{}", &text[..start], &text[end..]);
    let document = &documents(&text)[0];
    let given = |path: &str| match path {
        "./own.yaml" => Ok(documents(config).remove(0)),
        _ => Err("no such file".to_owned()),
    };
    assert!(run(document, &given, Traces::All).expect("a sound scenario").passed);
    let faults = run(document, &no_files, Traces::All).expect_err("no file");
    assert_eq!(faults[0].to_string(), "config: cannot be read: there are no files here");
}

#[test]
fn recorded_calls_are_a_file_of_their_own() {
    let series = "trace: { file: ./own.csv, speed: 0.5, take: 2 }";
    let text = scenario("by: b", "{ served: 2, cost: 0 }").replace("at: 0s", series);
    let document = &documents(&text)[0];
    let given = |rows: &str| {
        let text = format!("arrival_ms,input_tokens,output_tokens,prefix_blocks\n{rows}");
        move |_: &str| Ok(Node::Text(text.clone()))
    };
    let report = run(document, &given("0,7,5,0-3\n1500,9,11,\n2000,1,1,\n"), Traces::All);
    let report = report.expect("a sound scenario");
    let calls: Vec<(u64, u64, u64)> = report
        .calls
        .iter()
        .filter_map(|call| call.usage.map(|usage| (call.at, usage.input, usage.output)))
        .collect();
    assert_eq!(calls, [(0, 7, 5), (3_000_000, 9, 11)]);
    let faults = run(document, &given("0,7\n"), Traces::All).expect_err("no call");
    let expected = "calls[0].trace.file: `./own.csv` holds no call in line 2";
    assert_eq!(faults[0].to_string(), expected);
}

#[test]
fn faults_of_arrivals_are_told() {
    for (series, expected) in [
        (
            "from: 0s, poisson: { rate: 0, for: 1s }",
            "calls[0].poisson.rate: must be more than zero",
        ),
        (
            "from: 0s, poisson: { rate: 1M, for: 1h }",
            "calls[0].poisson.rate: `1M` is not a number, such as 2 or 0.5",
        ),
        (
            "from: 0s, poisson: { rate: 100000, for: 1h }",
            "calls[0].poisson: makes more than 100000 calls",
        ),
        ("from: 0s, poisson: { rate: 1 }", "calls[0].poisson.for: is missing"),
        (
            "trace: { file: own.csv }",
            "calls[0].trace.file: cannot be read: there are no files here",
        ),
    ] {
        let text = scenario("by: b", "{}").replace("at: 0s", series);
        let faults = run(&documents(&text)[0], &no_files, Traces::All).expect_err(series);
        assert_eq!(faults[0].to_string(), expected);
    }
}

/// A call that fails at `a` and is served by `b`.
fn scenario(call: &str, run: &str) -> String {
    format!(
        "name: a scenario of the tests\n\
         config: {{ groups: {{ g: {{ strategy: ordered, members: [ {{ id: a }}, {{ id: b }} ] }} }} }}\n\
         upstreams:\n  a: [ {{ fail: {{ status: 500 }} }} ]\n\
         calls:\n  - {{ at: 0s, model: g, expect: {{ {call} }} }}\n\
         expect: {run}\n"
    )
}

fn play(text: &str) -> Report {
    run(&documents(text)[0], &no_files, Traces::OfDifferences).expect("a sound scenario")
}

fn differences(report: &Report) -> String {
    let calls = report.calls.iter().flat_map(|call| {
        let label = call.call.as_str();
        call.differences.iter().map(move |one| (label, one, Some(call)))
    });
    let run = report.differences.iter().map(|one| ("run", one, None));
    let mut text = report.name.clone();
    for (label, one, call) in calls.chain(run).take(5) {
        text += &format!("\n  {label}: {}: expected {}, got {}", one.path, one.expected, one.got);
        if let Some(call) = call {
            text += &format!("\n    {}", serde_json::to_string(call).unwrap_or_default());
        }
    }
    text
}

fn documents(text: &str) -> Vec<Node> {
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        strict_booleans: true,
    };
    serde_saphyr::from_multiple_with_options(text, options).expect("YAML")
}

fn load(scenario: &Path, path: &str) -> Result<Node, String> {
    let file = scenario.with_file_name(path);
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    if path.ends_with(".csv") {
        return Ok(Node::Text(text));
    }
    documents(&text).into_iter().next().ok_or_else(|| "it is empty".to_owned())
}

fn no_files(_: &str) -> Result<Node, String> {
    Err("there are no files here".to_owned())
}

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("the directory of the scenarios");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    files
}
