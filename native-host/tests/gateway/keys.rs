//! Keys that are made, rotated and revoked while calls run.

use std::path::PathBuf;

use super::bench::{
    Bench, Reply, chat_request, get, post, read_to_end, scratch_file, send, send_owned, send_until,
    with_headers,
};

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

fn key_of(reply: &Reply) -> String {
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()["key"].as_str().expect("a key").to_owned()
}

/// The same command many times at once.
async fn at_once(bench: &Bench, path: &str, body: &str) -> Vec<Reply> {
    let request = post(path, body);
    let all = (0..8).map(|_| tokio::spawn(send_owned(bench.admin, request.clone())));
    let mut replies = Vec::new();
    for one in all.collect::<Vec<_>>() {
        replies.push(one.await.expect("a reply"));
    }
    replies
}

#[tokio::test]
async fn of_many_at_once_one_makes_the_key_and_the_last_two_rotations_hold() {
    let (bench, store) = stored().await;
    let made = at_once(&bench, "/keys", r#"{ "name": "app" }"#).await;
    let (made, refused): (Vec<_>, Vec<_>) = made.iter().partition(|reply| reply.status == 200);
    assert_eq!(made.len(), 1, "{made:?}");
    assert!(refused.iter().all(|reply| reply.status == 409), "{refused:?}");
    assert_eq!(as_key(&bench, &key_of(made[0]), "g").await, 200);

    let mut valid = 0;
    for reply in at_once(&bench, "/keys/app/rotate", "").await {
        valid += usize::from(as_key(&bench, &key_of(&reply), "g").await == 200);
    }
    assert_eq!(valid, 2, "the latest, and the one before it for its grace");
    std::fs::remove_file(store).expect("a store");
}

#[tokio::test]
async fn a_grace_is_never_shorter_than_was_said_and_an_end_must_be() {
    let (bench, store) = stored().await;
    let first = key_of(&command(&bench, "POST", "/keys", r#"{ "name": "app" }"#).await);
    let began = std::time::Instant::now();
    let rotated = command(&bench, "POST", "/keys/app/rotate", r#"{ "grace": "900ms" }"#).await;
    let second = key_of(&rotated);
    while as_key(&bench, &first, "g").await == 200 {}
    assert!(began.elapsed() >= std::time::Duration::from_millis(900), "{rotated:?}");
    assert_eq!(as_key(&bench, &second, "g").await, 200);

    let ended = command(&bench, "POST", "/keys/app/expire", r#"{ "at": "2020-01-01" }"#).await;
    assert_eq!(ended.status, 200, "{ended:?}");
    for body in ["", "{}", r#"{ "when": "2030-01-01" }"#] {
        let reply = command(&bench, "POST", "/keys/app/expire", body).await;
        assert_eq!(reply.status, 400, "{body}: {reply:?}");
    }
    assert_eq!(as_key(&bench, &second, "g").await, 401, "nothing said is not `never`");
    std::fs::remove_file(store).expect("a store");
}

#[tokio::test]
async fn keys_change_whatever_has_become_of_the_files() {
    let secret = scratch_file("sk-of-the-provider");
    let store = scratch_file("");
    std::fs::remove_file(&store).expect("it was made");
    let state = format!("state: {{ store: {{ embedded: {} }} }}\n", store.display());
    let from = "a: { protocol: openai,";
    let to = format!("{from} api_key: {{ file: {} }},", secret.display());
    let bench = Bench::edited("ok: {}", "ok: {}", &state, &[(from, &to)]).await;
    let app = key_of(&command(&bench, "POST", "/keys", r#"{ "name": "app" }"#).await);
    std::fs::remove_file(&secret).expect("it was made");
    bench.edit("version: 1", "version: [");
    let other = key_of(&command(&bench, "POST", "/keys", r#"{ "name": "other" }"#).await);
    assert_eq!(as_key(&bench, &app, "solo").await, 200);
    let seen = get(bench.east, "/seen").await.json();
    assert!(seen["last_authorization"].to_string().contains("sk-of-the-provider"), "{seen}");
    assert_eq!(command(&bench, "DELETE", "/keys/app", "").await.status, 200);
    assert_eq!((as_key(&bench, &app, "g").await, as_key(&bench, &other, "g").await), (401, 200));
    std::fs::remove_file(store).expect("a store");
}

#[tokio::test]
async fn a_config_that_disagrees_with_a_key_of_the_store_says_where_that_key_is() {
    let (mut bench, store) = stored().await;
    bench.edit("version: 1", "version: 1\ncallers: { teams: { t: {} } }");
    assert_eq!(send(bench.admin, &post("/reload", "")).await.status, 200);
    for name in ["in.a team", "app"] {
        let body = format!(r#"{{ "name": "{name}", "team": "t" }}"#);
        assert_eq!(command(&bench, "POST", "/keys", &body).await.status, 200);
    }
    let hash = "1".repeat(64);
    let twice =
        format!("callers: {{ teams: {{ t: {{}} }}, keys: {{ app: {{ sha256: '{hash}' }} }} }}");
    for (callers, keys) in [("callers: {}", &["in.a team", "app"][..]), (&twice, &["app"])] {
        bench.edit("callers: { teams: { t: {} } }", callers);
        let told = send(bench.admin, &post("/reload", "")).await;
        assert_eq!(told.status, 409, "{told:?}");
        for key in keys {
            assert!(told.body.contains(&format!("a key `{key}` is in the store")), "{told:?}");
        }
        bench.edit(callers, "callers: { teams: { t: {} } }");
    }
    // One that is made only now does not lie there.
    let told = command(&bench, "POST", "/keys", r#"{ "name": "new", "team": "nobody" }"#).await;
    assert_eq!(told.status, 409, "{told:?}");
    assert!(told.body.contains("callers.keys.new.team: unknown team `nobody`"), "{told:?}");
    assert!(!told.body.contains("is in the store"), "{told:?}");
    // It can be left out of the config as soon as the store's keys are gone.
    for path in ["/keys/in.a%20team", "/keys/app"] {
        assert_eq!(command(&bench, "DELETE", path, "").await.status, 200);
    }
    bench.edit("callers: { teams: { t: {} } }", "callers: {}");
    assert_eq!(send(bench.admin, &post("/reload", "")).await.status, 200);
    bench.signal("TERM");
    bench.restart();
    std::fs::remove_file(store).expect("a store");
}

#[tokio::test]
async fn a_key_that_is_revoked_ends_no_call_that_it_began() {
    let slow = "ok: { first_token: 50ms, per_token: 40ms, output_tokens: 40 }";
    let store = scratch_file("");
    std::fs::remove_file(&store).expect("it was made");
    let state = format!("state: {{ store: {{ embedded: {} }} }}\n", store.display());
    let bench = Bench::with(slow, "ok: {}", &state).await;
    let key = key_of(&command(&bench, "POST", "/keys", r#"{ "name": "app" }"#).await);
    let headers = format!("authorization: Bearer {key}\r\n");
    let request = with_headers(&chat_request("solo", true), &headers);
    let (client, raw) = send_until(bench.api, &request, "Hello").await;
    assert_eq!(command(&bench, "DELETE", "/keys/app", "").await.status, 200);
    assert_eq!(as_key(&bench, &key, "solo").await, 401);
    let reply = read_to_end(client, raw).await;
    assert!(reply.is_whole_stream(), "{reply:?}");
    bench.until_at_rest().await;
    let first = get(bench.admin, "/decisions").await.json();
    assert_eq!(first[0]["key"], "app", "{first}");
    std::fs::remove_file(store).expect("a store");
}
