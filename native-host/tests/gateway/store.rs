//! The store: what is spent survives, whatever ends the process.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::bench::{Bench, chat_request, get, post, scratch_file, send, send_until, until};

/// A budget of five dollars a month for whoever comes, at a dollar a million tokens.
const SECTIONS: &str = r#"
callers:
  anonymous: app
  keys: { app: { sha256: "0000000000000000000000000000000000000000000000000000000000000001",
                 budget: { usd: 5, per: month } } }
state: { store: { embedded: STORE } }
"#;
const PRICED: (&str, &str) =
    ("model: east-model }", "model: east-model, price: { input: 1, output: 1 } }");

/// The path of a store that is not there yet.
fn new_store() -> PathBuf {
    let path = scratch_file("");
    std::fs::remove_file(&path).expect("it was made");
    path
}

async fn stored(east: &str, store: &Path) -> Bench {
    let sections = SECTIONS.replace("STORE", store.to_str().expect("a path"));
    Bench::edited(east, "ok: {}", &sections, &[PRICED]).await
}

/// What `app` has spent and reserved, in nano-USD.
async fn money(bench: &Bench) -> (u64, u64) {
    let callers = get(bench.admin, "/callers").await.json();
    let all = callers.as_array().expect("a list").iter();
    let app = all.clone().find(|caller| caller["name"] == "key app").expect("its key");
    let amount = |name: &str| app["budget"][name].as_u64().expect("an amount");
    (amount("spent_nano_usd"), amount("reserved_nano_usd"))
}

/// How often the store has been brought up with the router.
async fn looks(bench: &Bench) -> u64 {
    let page = get(bench.admin, "/metrics").await.body;
    let count = |result: &str| {
        let name = format!("pointsman_store_writes_total{{result=\"{result}\"}} ");
        let count = page.lines().find_map(|line| line.strip_prefix(&name));
        count.map_or(0, |count| count.parse::<u64>().expect("a count"))
    };
    count("ok") + count("idle")
}

/// Until what has changed by now is in the store: one look may be under way, the next sees it all.
async fn until_written(bench: &Bench) {
    let before = looks(bench).await;
    while looks(bench).await < before + 2 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

/// A call of at most seven tokens of output: what is reserved for it is not much more than what it
/// costs.
async fn call(bench: &Bench) {
    let body = r#"{"model":"solo","max_tokens":7,"messages":[{"role":"user","content":"hi"}]}"#;
    assert_eq!(send(bench.api, &post("/v1/chat/completions", body)).await.status, 200);
}

#[tokio::test]
async fn twenty_crashes_count_nothing_twice_and_lose_no_more_than_the_last_moment() {
    let store = new_store();
    let mut bench = stored("ok: { output_tokens: 7 }", &store).await;
    call(&bench).await;
    bench.until_at_rest().await;
    let (cost, _) = money(&bench).await;
    assert!(cost > 0);
    let mut least = cost;
    for round in 0..20 {
        until_written(&bench).await;
        // These may be lost, and one that was under way at the last write counts at its estimate.
        for _ in 0..2 {
            call(&bench).await;
        }
        bench.crash_and_restart();
        let (spent, reserved) = money(&bench).await;
        assert_eq!(reserved, 0, "nothing is in flight after a restart");
        assert!((least..least + 3 * cost).contains(&spent), "round {round}: {spent} of {least}");
        for _ in 0..3 {
            call(&bench).await;
        }
        bench.until_at_rest().await;
        least = spent + 3 * cost;
        assert_eq!(money(&bench).await.0, least, "each call counts once");
    }
    std::fs::remove_file(store).expect("a store");
}

#[tokio::test]
async fn a_stop_loses_nothing_and_what_was_in_flight_at_a_crash_is_spent() {
    let store = new_store();
    let slow = "ok: { first_token: 20ms, per_token: 50ms, output_tokens: 200 }";
    let mut bench = stored(slow, &store).await;
    let (client, _) = send_until(bench.api, &chat_request("solo", true), "Hello").await;
    until_written(&bench).await;
    let (spent, reserved) = money(&bench).await;
    assert!(spent == 0 && reserved > 0);
    bench.crash_and_restart();
    drop(client);
    assert_eq!(money(&bench).await, (reserved, 0), "it settles at its estimate");

    let (client, _) = send_until(bench.api, &chat_request("solo", true), "Hello").await;
    drop(client);
    bench.until_at_rest().await;
    let (spent, _) = money(&bench).await;
    bench.signal("TERM");
    bench.restart();
    assert_eq!(money(&bench).await, (spent, 0));
    std::fs::remove_file(store).expect("a store");
}

#[tokio::test]
async fn a_spent_budget_is_refused_and_a_restart_does_not_make_it_whole() {
    let store = new_store();
    let sections =
        SECTIONS.replace("STORE", store.to_str().expect("a path")).replace("usd: 5", "usd: 0.0006");
    let mut bench =
        Bench::edited("ok: { output_tokens: 300 }", "ok: {}", &sections, &[PRICED]).await;
    let mut last = bench.chat("solo", false).await;
    for _ in 0..3 {
        if last.status == 429 {
            break;
        }
        last = bench.chat("solo", false).await;
    }
    assert_eq!((last.status, last.error_code().as_str()), (429, "over_budget"), "{last:?}");
    assert!(last.body.contains("the budget of key app"), "{last:?}");
    bench.until_at_rest().await;
    bench.signal("TERM");
    bench.restart();
    assert_eq!(bench.chat("solo", false).await.error_code(), "over_budget");
    std::fs::remove_file(store).expect("a store");
}

/// Why the store cannot be written, as an operator is told.
async fn problem(bench: &Bench) -> Option<String> {
    let status = get(bench.admin, "/status").await.json();
    status["store"]["problem"].as_str().map(str::to_owned)
}

#[tokio::test]
async fn a_store_that_is_moved_away_is_told_and_nothing_is_lost_once_it_is_back() {
    let store = new_store();
    let away = store.with_extension("away");
    let mut bench = stored("ok: { output_tokens: 7 }", &store).await;
    call(&bench).await;
    bench.until_at_rest().await;
    let (once, _) = money(&bench).await;
    until_written(&bench).await;

    std::fs::rename(&store, &away).expect("a store");
    call(&bench).await;
    until("it is told", || async { problem(&bench).await.is_some() }).await;
    assert!(problem(&bench).await.expect("one").contains("put it back"));
    let made = send(bench.admin, &post("/keys", r#"{ "name": "late" }"#)).await;
    assert_eq!(made.status, 409, "{made:?}");
    // Another store in its place is somebody else's.
    std::fs::copy(&away, &store).expect("a copy");
    let before = std::fs::read(&store).expect("the copy");
    until("it is another", || async {
        call(&bench).await;
        problem(&bench).await.is_some_and(|problem| problem.contains("that one back"))
    })
    .await;
    assert!(before == std::fs::read(&store).expect("the copy"), "it was written to");

    std::fs::rename(&away, &store).expect("the store");
    until("it is over", || async { problem(&bench).await.is_none() }).await;
    bench.until_at_rest().await;
    until_written(&bench).await;
    let (spent, _) = money(&bench).await;
    assert!(spent > once, "{spent}");
    bench.crash_and_restart();
    assert_eq!(money(&bench).await, (spent, 0));
    drop(bench);
    std::fs::remove_file(store).expect("a store");
}

#[tokio::test]
async fn on_a_full_disk_calls_go_on_and_nothing_is_lost_once_there_is_room() {
    let store = new_store();
    let mut bench = stored("ok: { output_tokens: 7 }", &store).await;
    call(&bench).await;
    bench.until_at_rest().await;
    let (once, _) = money(&bench).await;
    until_written(&bench).await;

    bench.fill_disk(true);
    call(&bench).await;
    until("it is told", || async { problem(&bench).await.is_some() }).await;
    let page = get(bench.admin, "/metrics").await.body;
    assert!(page.contains(r#"pointsman_store_writes_total{result="failed"} "#), "{page}");
    // A key that a restart would not know is not made.
    let made = send(bench.admin, &post("/keys", r#"{ "name": "late" }"#)).await;
    assert_eq!(made.status, 409, "{made:?}");
    assert!(!get(bench.admin, "/keys").await.body.contains("late"));
    call(&bench).await;

    bench.fill_disk(false);
    until("it is over", || async { problem(&bench).await.is_none() }).await;
    bench.until_at_rest().await;
    until_written(&bench).await;
    bench.crash_and_restart();
    assert_eq!(money(&bench).await, (3 * once, 0));
    let made = send(bench.admin, &post("/keys", r#"{ "name": "late" }"#)).await;
    assert_eq!(made.status, 200, "{made:?}");
    drop(bench);
    std::fs::remove_file(store).expect("a store");
}

/// A config that needs the store that it names.
fn config_with(store: &str) -> PathBuf {
    scratch_file(&format!(
        "version: 1
server: {{ listen: '127.0.0.1:0', admin: '127.0.0.1:0' }}
providers: {{ p: {{ protocol: mock }} }}
deployments: {{ d: {{ provider: p, model: m, price: {{ input: 1, output: 1 }} }} }}
groups: {{ g: {{ members: [d] }} }}
callers: {{ teams: {{ t: {{ budget: {{ usd: 1, per: day }} }} }} }}
state: {{ store: {store} }}
"
    ))
}

/// What a gateway says that does not start.
fn refusal(command: &mut Command, store: &str) -> String {
    let config = config_with(store);
    let output = command.args(["serve", "--config"]).arg(&config).output().expect("it runs");
    std::fs::remove_file(config).expect("a config");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn a_store_that_cannot_be_used_stops_the_start_and_is_named() {
    let serve = |store: &str| refusal(&mut Command::new(env!("CARGO_BIN_EXE_pointsman")), store);
    let damaged = scratch_file("this is no store");
    let said = serve(&format!("{{ embedded: {} }}", damaged.display()));
    assert!(said.contains("is no store, or is damaged"), "{said}");
    assert_eq!(std::fs::read(&damaged).expect("still there"), b"this is no store");
    let said = serve("memory");
    assert!(said.contains("callers.teams.t.budget: a budget needs a store"), "{said}");
}

/// The program for somebody without rights of their own: root may write where nobody else may.
fn unprivileged(folder: &Path) -> Command {
    let binary = folder.join("pointsman");
    if !binary.exists() {
        std::fs::copy(env!("CARGO_BIN_EXE_pointsman"), &binary).expect("room");
    }
    let mut command = Command::new(binary);
    if std::fs::metadata("/proc/self").expect("Linux").uid() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

const NOBODY: u32 = 65_534;

#[tokio::test]
async fn a_store_or_a_folder_that_may_only_be_read_is_named_and_left_as_it_is() {
    let store = new_store();
    let mut bench = stored("ok: { output_tokens: 7 }", &store).await;
    call(&bench).await;
    bench.until_at_rest().await;
    bench.signal("TERM");
    assert_eq!(bench.exit_code().await, Some(0));
    let folder = store.with_extension("folder");
    std::fs::create_dir(&folder).expect("room");
    let readable = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("ours");
    };
    let inside = folder.join("store");
    std::fs::rename(&store, &inside).expect("one file system");
    let mut program = unprivileged(&folder);
    readable(&inside, 0o444);
    let before = std::fs::read(&inside).expect("a store");
    let said = refusal(&mut program, &format!("{{ embedded: {} }}", inside.display()));
    assert!(said.contains("cannot be opened for writing"), "{said}");
    assert!(said.contains(inside.to_str().expect("a path")), "{said}");
    assert!(std::fs::read(&inside).expect("still there") == before);

    readable(&folder, 0o555);
    let absent = folder.join("absent");
    let said =
        refusal(&mut unprivileged(&folder), &format!("{{ embedded: {} }}", absent.display()));
    assert!(said.contains("cannot be begun") && said.contains("absent"), "{said}");
    assert!(!absent.exists());
    readable(&folder, 0o755);
    std::fs::remove_dir_all(folder).expect("ours");
}

#[tokio::test]
async fn limits_in_debt_are_in_debt_after_a_restart() {
    let store = new_store();
    let sections = format!(
        "limits: {{ tokens_per_minute: 400 }}\nstate: {{ store: {{ embedded: {} }} }}\n",
        store.display()
    );
    let mut bench = Bench::with("ok: { output_tokens: 5000 }", "ok: {}", &sections).await;
    call(&bench).await;
    bench.until_at_rest().await;
    let left = async |bench: &Bench| {
        let callers = get(bench.admin, "/callers").await.json();
        let gateway =
            callers.as_array().expect("a list").iter().find(|one| one["name"] == "gateway");
        let limits = gateway.expect("the gateway")["limits"].as_array().expect("limits").clone();
        limits[0]["left"].as_i64().expect("a number")
    };
    assert!(left(&bench).await < -3_000, "{}", left(&bench).await);
    until_written(&bench).await;
    bench.crash_and_restart();
    assert!(left(&bench).await < -3_000, "{}", left(&bench).await);
    let refused = bench.chat("solo", false).await;
    assert_eq!((refused.status, refused.error_code().as_str()), (429, "over_limit"), "{refused:?}");
    drop(bench);
    std::fs::remove_file(store).expect("a store");
}
