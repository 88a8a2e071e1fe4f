//! What `examples/` and the README show must be true.

use std::path::{Path, PathBuf};

use pointsman_core::scenario::{Traces, run};
use pointsman_core::{Config, Loaded, Node, Outcome, Request, Seed};

#[path = "../examples/minimal.rs"]
#[allow(dead_code, unreachable_pub, reason = "an example has a `main` and no users")]
mod minimal;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn load(name: &str) -> Loaded {
    let document: Node = serde_saphyr::from_str(&read(name)).expect("YAML");
    let loaded = Config::load(&document, &|_secret| Some("secret".to_owned()));
    loaded.unwrap_or_else(|faults| panic!("{name}: {faults:#?}"))
}

#[test]
fn the_whole_configuration_loads() {
    assert!(load("examples/config.example.yaml").catalog.deployments().count() > 4);
}

#[test]
fn two_upstreams_load_without_a_note() {
    let loaded = load("examples/two-upstreams.yaml");
    assert_eq!(loaded.warnings, []);
    assert_eq!(loaded.not_built, []);
}

#[test]
fn what_is_deployed_loads_and_is_built_from_what_is_there() {
    let loaded = load("deploy/config.yaml");
    assert_eq!((loaded.warnings, loaded.not_built), (vec![], vec![]));
    // The image's own toolchain is the one that is pinned.
    let (image, pin) = (read("deploy/Dockerfile"), read("rust-toolchain.toml"));
    let version = image.split("FROM rust:").nth(1).and_then(|rest| rest.split('-').next());
    assert!(pin.contains(&format!("channel = \"{}", version.expect("a version"))), "{version:?}");
    // Cargo wants to see every member of the workspace.
    let context = read("deploy/Dockerfile.dockerignore");
    let workspace = read("Cargo.toml");
    let members = workspace.lines().find(|line| line.starts_with("members = ")).expect("members");
    for member in members.split('"').skip(1).step_by(2).filter(|member| *member != ".") {
        let folder = member.split('/').next().unwrap_or(member);
        assert!(context.lines().any(|line| line == format!("!{folder}")), "{member}");
    }
}

#[test]
fn the_example_scenarios_pass() {
    let documents: Vec<Node> =
        serde_saphyr::from_multiple(&read("examples/scenario.yaml")).expect("YAML");
    assert_eq!(documents.len(), 2);
    let load = |name: &str| {
        let text = read(&format!("examples/{name}"));
        serde_saphyr::from_str(&text).map_err(|error| error.to_string())
    };
    for document in documents {
        let report = run(&document, &load, Traces::OfDifferences).expect("a sound scenario");
        assert!(report.passed, "{}: {report:#?}", report.name);
    }
}

#[test]
fn the_smallest_host_fails_over() {
    let mut host = minimal::Host::new(&read("examples/two-upstreams.yaml")).expect("a host");
    let request = Request { model: "chat".into(), ..Request::default() };
    let outcome = host.serve(request, Seed(7)).expect("a host that keeps the contract");
    assert!(matches!(outcome, Outcome::Served { attempts: 2, .. }), "{outcome:?}");
    let log = ["attempt 1 at east: connect", "attempt 2 at west: ready"];
    assert_eq!(host.log[..2], log);
}

/// Code in the README that stands, word for word, in a file that is tested.
#[test]
fn the_readme_shows_what_the_examples_hold() {
    let readme = read("README.md");
    for (language, file) in
        [("rust", "examples/minimal.rs"), ("yaml", "examples/two-upstreams.yaml")]
    {
        let text = flat(&read(file));
        let shown = blocks(&readme, language);
        assert!(!shown.is_empty(), "the README shows no {language}");
        for block in shown {
            assert!(text.contains(&flat(&block)), "{file} does not contain\n{block}");
        }
    }
}

/// Each `` `name` in [file](file) `` of the table of invariants.
#[test]
fn the_readme_names_tests_that_exist() {
    let readme = read("README.md");
    let mut found = 0;
    for line in readme.lines().filter(|line| line.starts_with('|')) {
        for (before, after) in line.match_indices("` in [").map(|(at, _)| line.split_at(at)) {
            let start = before.rfind('`').map_or(0, |at| at + 1);
            let file = after.split_once("](").and_then(|(_, rest)| rest.split_once(')'));
            let (name, (file, _)) = (&before[start..], file.expect("a link"));
            assert!(read(file).contains(&format!(" {name}(")), "{file} has no `{name}`");
            found += 1;
        }
    }
    assert!(found > 10, "only {found} tests are named");
}

/// The names before each link to a file, in the last column of the table of threats.
#[test]
fn the_threat_model_names_tests_that_exist() {
    let page = read("docs/threat-model.md");
    let mut found = 0;
    for cell in page.lines().filter_map(|line| line.split('|').nth(3)) {
        let mut rest = cell;
        while let Some((names, after)) = rest.split_once("[") {
            let (_, link) = after.split_once("](").expect("a link");
            let (file, after) = link.split_once(')').expect("a link's end");
            let text = read(file.strip_prefix("../").expect("a file of the repository"));
            for name in names.split('`').skip(1).step_by(2) {
                assert!(text.contains(&format!(" {name}(")), "{file} has no `{name}`");
                found += 1;
            }
            rest = after;
        }
    }
    assert!(found > 25, "only {found} tests are named");
}

/// The fenced blocks of one language.
fn blocks(markdown: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let blocks = markdown.split(&fence).skip(1);
    blocks.filter_map(|rest| Some(rest.split_once("```")?.0.to_owned())).collect()
}

/// Lines without their indentation.
fn flat(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("\n").trim().to_owned()
}
