//! The commands that end by themselves.

use std::process::{Command, Output};

use super::bench::scratch_file;

fn pointsman(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pointsman"));
    command.args(arguments).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The repository's file.
fn file(path: &str) -> String {
    format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn check_reports_every_fault_with_its_place() {
    let path = scratch_file(
        "version: 1
severs: { listen: 127.0.0.1:1 }
providers: { p: { protocol: openay } }
deployments: { d: { provider: q, model: m } }
groups: { g: { members: [e], stategy: weighted } }
",
    );
    let output = pointsman(&["check", path.to_str().expect("a path")]);
    let found = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{found}");
    for part in
        ["severs", "providers.p.protocol", "deployments.d.provider", "members[0]", "stategy"]
    {
        let line = found.lines().find(|line| line.contains(part));
        assert!(line.is_some_and(|line| line.starts_with("error: ")), "{part}: {found}");
    }
    assert!(found.contains("did you mean `server`?"), "{found}");
    let json = pointsman(&["check", "--json", path.to_str().expect("a path")]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["faults"].as_array().map(Vec::len), Some(5), "{json}");
}

#[test]
fn check_names_the_line_of_broken_yaml() {
    let path = scratch_file("version: 1\nserver:\n  listen: x\n a: [\n");
    let output = pointsman(&["check", path.to_str().expect("a path")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("line 4"), "{}", text(&output.stdout));
}

#[test]
fn the_example_is_checked_and_explained() {
    let example = file("examples/config.example.yaml");
    assert_eq!(pointsman(&["check", &example]).status.code(), Some(0));
    let plain = pointsman(&["explain", "--config", &example, "--model", "gpt-4o"]);
    let plain = text(&plain.stdout);
    assert!(plain.contains("=> attempt 1 goes to lab-qwen"), "{plain}");
    assert!(plain.contains("gpt4o-main") && plain.contains("blocked"), "{plain}");
    let large = ["--needs", "tools", "--input-tokens", "150000"];
    let large =
        pointsman(&[&["explain", "--config", &example, "--model", "gpt-4o"], &large[..]].concat());
    let large = text(&large.stdout);
    assert!(large.contains("context_too_small"), "{large}");
    let explain = ["explain", "--config", &example, "--model", "gpt-4o", "--key"];
    let as_key = pointsman(&[&explain[..], &["growth-app"]].concat());
    let as_key = text(&as_key.stdout);
    assert!(as_key.contains("limit key growth-app requests"), "{as_key}");
    let nobody = pointsman(&[&explain[..], &["nobody"]].concat());
    assert_eq!(nobody.status.code(), Some(1));
}

#[test]
fn what_is_asked_for_and_not_built_is_not_served() {
    let path = scratch_file(
        "version: 1
providers: { p: { protocol: mock } }
deployments: { d: { provider: p, model: m } }
groups: { g: { members: [d] } }
state: { store: { redis: 'redis://127.0.0.1:6379' } }
",
    );
    let served = pointsman(&["serve", "--config", path.to_str().expect("a path")]);
    assert_eq!(served.status.code(), Some(1));
    assert!(text(&served.stderr).contains("state.store"), "{}", text(&served.stderr));
}

#[test]
fn explain_gives_the_record_as_json() {
    let output = pointsman(&["explain", "--model", "demo", "--json"]);
    let view: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(view["view"], "operator");
    assert_eq!(view["trace"]["requested"], "demo");
}

#[test]
fn scenarios_pass_or_say_what_differed() {
    let good = file("tests/scenarios/weights-one-to-nine.yaml");
    let output = pointsman(&["test", &good]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).ends_with("1 passed, 0 failed\n"), "{}", text(&output.stdout));
    let bad = scratch_file(
        "name: wrong
config: { groups: { g: { members: [ { id: east } ] } } }
calls: [ { at: 0s, model: g, expect: { outcome: refused } } ]
",
    );
    let output = pointsman(&["test", &good, bad.to_str().expect("a path")]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("expected refused, got served"), "{said}");
    assert!(said.ends_with("1 passed, 1 failed\n"), "{said}");
}

#[test]
fn a_command_line_that_is_not_understood_is_another_exit_code() {
    assert_eq!(pointsman(&["explain"]).status.code(), Some(2));
    assert_eq!(
        pointsman(&["explain", "--model", "demo", "--needs", "magic"]).status.code(),
        Some(1)
    );
}

#[test]
fn a_key_is_not_made_under_a_name_that_no_config_takes() {
    for name in ["", " ", "a\nb", &"x".repeat(10_000)] {
        let made = pointsman(&["keys", "new", name]);
        let said = text(&made.stderr);
        let path = scratch_file(&format!(
            "version: 1\ncallers: {{ keys: {{ {}: {{ sha256: \"{}\" }} }} }}\n",
            serde_json::Value::from(name),
            "0".repeat(64)
        ));
        let checked = pointsman(&["check", path.to_str().expect("a path")]);
        assert_eq!(made.status.code(), checked.status.code(), "{name:?}: {said}");
        assert_eq!(made.stdout.is_empty(), made.status.code() != Some(0), "{name:?}: {said}");
    }
    assert_eq!(pointsman(&["keys", "new", ""]).status.code(), Some(1));
}

#[test]
fn a_file_without_a_record_is_no_usage_log() {
    let foreign = scratch_file("{\"other\": 1}\nnothing\n");
    let summed = pointsman(&["usage", foreign.to_str().expect("a path")]);
    assert_eq!(summed.status.code(), Some(1));
    assert!(text(&summed.stderr).contains("no usage log"), "{}", text(&summed.stderr));
    let empty = scratch_file("");
    assert_eq!(pointsman(&["usage", empty.to_str().expect("a path")]).status.code(), Some(0));
}
