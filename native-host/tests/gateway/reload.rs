//! Another config, and other keys, while calls run.

use std::path::PathBuf;

use super::bench::{
    Bench, Reply, chat_request, get, post, read_to_end, scratch_file, send, send_until,
    with_headers,
};

const SLOW: &str = "ok: { first_token: 50ms, per_token: 40ms, output_tokens: 40 }";
/// As it stands in the bench's config.
const MEMBERS: &str = "solo: { members: [ east ] }";

async fn reload(bench: &Bench, query: &str) -> Reply {
    send(bench.admin, &post(&format!("/reload{query}"), "")).await
}

#[tokio::test]
async fn a_reload_changes_what_is_new_and_streams_go_on() {
    let bench = Bench::new(SLOW, "ok: {}").await;
    let (client, raw) = send_until(bench.api, &chat_request("solo", true), "Hello").await;
    bench.edit(MEMBERS, "renamed: { members: [ west ] }");
    let dry = reload(&bench, "?dry_run=true").await.json();
    assert_eq!(dry["changes"]["added"], serde_json::json!(["groups.renamed"]), "{dry}");
    assert_eq!(dry["changes"]["removed"], serde_json::json!(["groups.solo"]), "{dry}");
    assert_eq!(bench.chat("renamed", false).await.status, 404, "nothing has changed");

    assert_eq!(reload(&bench, "").await.status, 200);
    assert_eq!(bench.chat("renamed", false).await.by(), Some("west"));
    assert_eq!(bench.chat("solo", false).await.status, 404);
    let reply = read_to_end(client, raw).await;
    assert!(reply.is_whole_stream() && reply.by() == Some("east"), "{reply:?}");
    bench.until_at_rest().await;
    let records = get(bench.admin, "/decisions").await.json();
    let first = records.as_array().expect("a list").iter().find(|one| one["decision"] == 1);
    assert_eq!(first.expect("it is kept")["group"], "solo", "named as it was then");
}

#[tokio::test]
async fn a_config_with_a_fault_changes_nothing() {
    let bench = Bench::new("ok: {}", "ok: {}").await;
    bench.edit(MEMBERS, "solo: { members: [ nobody ] }");
    let refused = reload(&bench, "").await;
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(refused.body.contains("groups.solo.members[0]"), "{refused:?}");
    assert_eq!(bench.chat("solo", false).await.by(), Some("east"));
    let page = get(bench.admin, "/metrics").await.body;
    assert!(page.contains(r#"pointsman_reloads_total{result="failed"} 1"#), "{page}");
    // A budget needs a store, on a reload too.
    bench.edit("members: [ nobody ]", "members: [ east ]");
    bench.edit(
        "\npolicy:",
        "\ncallers: { teams: { t: { budget: { usd: 1, per: day } } } }\npolicy:",
    );
    assert!(reload(&bench, "").await.body.contains("a budget needs a store"));
}

#[tokio::test]
async fn a_hangup_reloads_and_what_is_unchanged_keeps_its_state() {
    let bench = Bench::new("fail: { status: 429, retry_after: 300s }", "ok: {}").await;
    assert_eq!(bench.chat("g", false).await.by(), Some("west"));
    bench.edit(MEMBERS, "added: { members: [ west ] }");
    bench.signal("HUP");
    while bench.chat("added", false).await.status != 200 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let deployments = get(bench.admin, "/deployments").await.json();
    assert_eq!(deployments[0]["gate"], "throttled", "{deployments}");
}

/// The number of the config in force, and why the last file was not put in force.
async fn status(bench: &Bench) -> (u64, Option<String>) {
    let status = get(bench.admin, "/status").await.json();
    let problem = status["config"]["last_reload"]["problem"].as_str().map(str::to_owned);
    (status["config"]["revision"].as_u64().expect("a number"), problem)
}

const WATCHED: (&str, &str) = ("max_body: 64KiB,", "max_body: 64KiB, watch: 100ms,");

#[tokio::test]
async fn a_file_that_changes_is_loaded_and_one_with_a_fault_is_told() {
    let bench = Bench::edited("ok: {}", "ok: {}", "", &[WATCHED]).await;
    assert_eq!(status(&bench).await, (1, None));
    bench.edit(MEMBERS, "added: { members: [ west ] }");
    while bench.chat("added", false).await.status != 200 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(status(&bench).await, (2, None));
    bench.edit("added: { members: [ west ] }", "added: { members: [ wset ] }");
    let problem = loop {
        if let (2, Some(problem)) = status(&bench).await {
            break problem;
        }
    };
    assert!(problem.contains("did you mean `west`?"), "{problem}");
    assert_eq!(bench.chat("added", false).await.by(), Some("west"), "the last good one");
    // It is not tried again and again.
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let page = get(bench.admin, "/metrics").await.body;
    assert!(page.contains(r#"pointsman_reloads_total{result="failed"} 1"#), "{page}");
    bench.edit("added: { members: [ wset ] }", "mended: { members: [ east ] }");
    while bench.chat("mended", false).await.status != 200 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(status(&bench).await, (3, None));
    assert!(get(bench.admin, "/metrics").await.body.contains("pointsman_config_revision 3"));
}

#[tokio::test]
async fn links_that_lead_elsewhere_and_secrets_that_change_are_noticed() {
    let folder = scratch_file("");
    std::fs::remove_file(&folder).expect("it was made");
    for (version, key) in [("1", "sk-the-first-key\n"), ("2", "sk-the-second-key\n")] {
        std::fs::create_dir_all(folder.join(version)).expect("room");
        std::fs::write(folder.join(version).join("key"), key).expect("room");
    }
    // As Kubernetes mounts a secret: a link to a link.
    let link = |version: &str| {
        std::os::unix::fs::symlink(version, folder.join("..new")).expect("room");
        std::fs::rename(folder.join("..new"), folder.join("..data")).expect("room");
    };
    link("1");
    std::os::unix::fs::symlink("..data/key", folder.join("key")).expect("room");
    let from = "a: { protocol: openai, base_url: \"http://EAST/v1\" }";
    let key = format!("api_key: {{ file: {} }}", folder.join("key").display());
    let to = from.replace(" }", &format!(", {key} }}"));
    let bench = Bench::edited("ok: {}", "ok: {}", "", &[WATCHED, (from, &to)]).await;
    let sent = async || {
        assert_eq!(bench.chat("solo", false).await.status, 200);
        get(bench.east, "/seen").await.json()["last_authorization"].to_string()
    };
    assert!(sent().await.contains("the-first-key"));
    link("2");
    while !sent().await.contains("the-second-key") {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    std::fs::remove_dir_all(folder).expect("it was made");
}

/// A gateway whose store is new, and the path of that.
async fn stored() -> (Bench, PathBuf) {
    let store = scratch_file("");
    std::fs::remove_file(&store).expect("it was made");
    let state = format!("state: {{ store: {{ embedded: {} }} }}\n", store.display());
    (Bench::with("ok: {}", "ok: {}", &state).await, store)
}

async fn as_key(bench: &Bench, key: &str, model: &str) -> u16 {
    let headers = format!("authorization: Bearer {key}\r\n");
    send(bench.api, &with_headers(&chat_request(model, false), &headers)).await.status
}

async fn command(bench: &Bench, method: &str, path: &str, body: &str) -> Reply {
    send(bench.admin, &post(path, body).replacen("POST", method, 1)).await
}

#[tokio::test]
async fn keys_are_made_rotated_and_revoked_and_survive_a_restart() {
    let (mut bench, store) = stored().await;
    assert_eq!(bench.chat("g", false).await.status, 200, "open, as no key is configured");
    let made = command(&bench, "POST", "/keys", r#"{ "name": "app", "groups": ["g"] }"#).await;
    assert_eq!(made.status, 200, "{made:?}");
    let first = made.json()["key"].as_str().expect("a key").to_owned();
    assert_eq!(bench.chat("g", false).await.status, 401, "closed by the first key");
    assert_eq!(
        (as_key(&bench, &first, "g").await, as_key(&bench, &first, "solo").await),
        (200, 403)
    );

    bench.signal("TERM");
    bench.restart();
    assert_eq!(as_key(&bench, &first, "g").await, 200);
    let rotated = command(&bench, "POST", "/keys/app/rotate", r#"{ "grace": "0s" }"#).await;
    let second = rotated.json()["key"].as_str().expect("a key").to_owned();
    assert_eq!((as_key(&bench, &first, "g").await, as_key(&bench, &second, "g").await), (401, 200));
    let list = get(bench.admin, "/keys").await;
    assert!(list.body.contains("\"store\"") && !list.body.contains(&second), "{list:?}");

    assert_eq!(command(&bench, "DELETE", "/keys/app", "").await.status, 200);
    assert_eq!(as_key(&bench, &second, "g").await, 401);
    assert_eq!(bench.chat("g", false).await.status, 401, "the last key does not open the door");
    bench.signal("TERM");
    bench.restart();
    assert_eq!(bench.chat("g", false).await.status, 401);
    std::fs::remove_file(store).expect("a store");
}

#[tokio::test]
async fn an_old_key_is_valid_for_its_grace_and_none_after_its_end() {
    let (mut bench, store) = stored().await;
    let key = |reply: Reply| reply.json()["key"].as_str().expect("a key").to_owned();
    let first = key(command(&bench, "POST", "/keys", r#"{ "name": "app" }"#).await);
    let second = key(command(&bench, "POST", "/keys/app/rotate", "").await);
    assert_eq!((as_key(&bench, &first, "g").await, as_key(&bench, &second, "g").await), (200, 200));
    // One grace at a time.
    let third = key(command(&bench, "POST", "/keys/app/rotate", r#"{ "grace": "1s" }"#).await);
    assert_eq!(as_key(&bench, &first, "g").await, 401);
    bench.signal("TERM");
    bench.restart();
    assert_eq!(as_key(&bench, &third, "g").await, 200);
    while as_key(&bench, &second, "g").await == 200 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let expire = async |at: &str| {
        command(&bench, "POST", "/keys/app/expire", &format!(r#"{{ "at": {at} }}"#)).await
    };
    assert_eq!(expire("\"2199-01-01\"").await.status, 200);
    assert!(get(bench.admin, "/keys").await.body.contains("2199-01-01T00:00:00"));
    assert_eq!(as_key(&bench, &third, "g").await, 200);
    assert_eq!(expire("\"2020-01-01T00:00:00Z\"").await.status, 200);
    let headers = format!("x-api-key: {third}\r\n");
    let reply = send(bench.api, &with_headers(&chat_request("g", false), &headers)).await;
    assert!(reply.status == 401 && reply.body.contains("this key has expired"), "{reply:?}");
    assert_eq!(expire("null").await.status, 200);
    assert_eq!(as_key(&bench, &third, "g").await, 200);
    let wrong = expire("\"soon\"").await;
    assert!(wrong.status == 409 && wrong.body.contains("is not a UTC time"), "{wrong:?}");
    let page = get(bench.admin, "/metrics").await.body;
    assert!(page.contains(r#"pointsman_turned_away_total{why="expired"} 2"#), "{page}");
    std::fs::remove_file(store).expect("a store");
}

#[tokio::test]
async fn the_command_line_works_on_the_keys_of_a_running_gateway() {
    let (bench, store) = stored().await;
    let admin = format!("http://{}", bench.admin);
    let run = |arguments: &[&str]| {
        let ran = std::process::Command::new(env!("CARGO_BIN_EXE_pointsman"))
            .arg("keys")
            .args(arguments)
            .args(["--admin", &admin])
            .output();
        let ran = ran.expect("it runs");
        let told = String::from_utf8([ran.stdout, ran.stderr].concat()).expect("text");
        (ran.status.success(), told)
    };
    let key = |told: &str| {
        let line = told.lines().next().expect("a line");
        line.strip_prefix("key: ").expect("a key").to_owned()
    };
    let (ok, made) = run(&["make", "a/b", "--entry", r#"{"groups":["g"]}"#]);
    assert!(ok, "{made}");
    let first = key(&made);
    assert_eq!(
        (as_key(&bench, &first, "g").await, as_key(&bench, &first, "solo").await),
        (200, 403)
    );
    let (ok, rotated) = run(&["rotate", "a/b", "--grace", "10m"]);
    assert!(ok && rotated.contains("The old one is valid until 2"), "{rotated}");
    assert_eq!(as_key(&bench, &key(&rotated), "g").await, 200);
    assert!(run(&["expire", "a/b", "--at", "2020-01-01"]).0);
    assert_eq!(as_key(&bench, &key(&rotated), "g").await, 401);
    let (_, list) = run(&["list"]);
    assert!(list.contains("\"a/b\"") && list.contains("2020-01-01T00:00:00.000Z"), "{list}");
    assert!(run(&["revoke", "a/b"]).0);
    let (ok, told) = run(&["revoke", "a/b"]);
    assert!(!ok && told.contains("the store has no key `a/b`"), "{told}");
    let nobody = std::process::Command::new(env!("CARGO_BIN_EXE_pointsman"))
        .args(["keys", "list", "--admin", "http://127.0.0.1:1"])
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&nobody.stderr).into_owned();
    assert!(told.contains("cannot ask the gateway at `http://127.0.0.1:1`"), "{told}");
    std::fs::remove_file(store).expect("a store");
}

#[tokio::test]
async fn a_key_with_a_fault_is_not_made() {
    let (bench, store) = stored().await;
    for (body, status, part) in [
        (r#"{ "name": "a", "groups": ["nobody"] }"#, 409, "callers.keys.a.groups[0]"),
        (r#"{ "name": "a", "limit": 3 }"#, 409, "did you mean `limits`?"),
        (r#"{ "name": "" }"#, 400, "`name`"),
        (r#"{ "name": "a", "sha256": "00" }"#, 400, "sha256"),
        ("[]", 400, "the body"),
    ] {
        let reply = command(&bench, "POST", "/keys", body).await;
        assert_eq!(reply.status, status, "{body}: {reply:?}");
        assert!(reply.body.contains(part), "{body}: {reply:?}");
    }
    assert_eq!(command(&bench, "DELETE", "/keys/a", "").await.status, 409);
    assert_eq!(bench.chat("g", false).await.status, 200, "nothing has changed");
    std::fs::remove_file(store).expect("a store");
    let without = Bench::new("ok: {}", "ok: {}").await;
    let reply = command(&without, "POST", "/keys", r#"{ "name": "a" }"#).await;
    assert!(reply.status == 409 && reply.body.contains("state.store"), "{reply:?}");
}
