//! Another config, and other keys, while calls run.

use std::path::Path;

use super::bench::{
    Bench, Reply, chat_request, get, log_of, post, read_to_end, scratch_file, send, send_until,
    start,
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

#[tokio::test]
async fn what_only_stands_elsewhere_is_unchanged_and_keeps_its_connections() {
    let bench = Bench::new("ok: {}", "ok: {}").await;
    for model in ["solo", "g"] {
        assert_eq!(bench.chat(model, false).await.status, 200);
    }
    let connections = async || get(bench.east, "/seen").await.json()["connections"].as_u64();
    let before = connections().await;
    let provider = "  first: { protocol: mock }\n  a:";
    bench.edit("  a:", provider);
    bench.edit("  east:", "  first: { provider: first, model: m }\n  east:");
    bench.edit("  g:", "  first: { members: [ first ] }\n  g:");
    let changes = reload(&bench, "").await.json()["changes"].clone();
    let added = serde_json::json!(["providers.first", "deployments.first", "groups.first"]);
    assert_eq!((&changes["added"], &changes["changed"]), (&added, &serde_json::json!([])));
    assert_eq!(bench.chat("first", false).await.by(), Some("first"));
    for model in ["solo", "g"] {
        assert_eq!(bench.chat(model, false).await.by(), Some("east"));
    }
    assert_eq!(connections().await, before, "none is new");
}

/// Puts another file in the place of the config, at once.
fn swap(bench: &Bench, text: &str) {
    let new = scratch_file(text);
    std::fs::rename(new, bench.config()).expect("room");
}

async fn until_served(bench: &Bench, model: &str) {
    while bench.chat(model, false).await.status != 200 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_file_put_in_place_while_the_gateway_starts_is_loaded() {
    // The first look may come before or after; none of either may be taken for what is in force.
    for _ in 0..5 {
        let bench = Bench::edited("ok: {}", "ok: {}", "", &[WATCHED]).await;
        let text = std::fs::read_to_string(bench.config()).expect("the config");
        swap(&bench, &text.replace(MEMBERS, "swapped: { members: [ west ] }"));
        until_served(&bench, "swapped").await;
    }
}

#[tokio::test]
async fn whatever_stands_in_the_place_of_a_config_the_last_good_one_stays() {
    let bench = Bench::edited("ok: {}", "ok: {}", "", &[WATCHED]).await;
    let text = std::fs::read_to_string(bench.config()).expect("the config");
    let pipe = |path: &Path| {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.expect("mkfifo runs").success());
    };
    type Trouble<'a> = (&'a dyn Fn(&Path), &'a str);
    let troubles: [Trouble<'_>; 5] = [
        (&|_| {}, "cannot read"),
        (&|path| std::fs::create_dir(path).expect("room"), "it is no file"),
        (&pipe, "it is no file"),
        (&|path| std::fs::write(path, "").expect("room"), "expected a map"),
        (&|path| std::fs::write(path, [0xff, 0xfe]).expect("room"), "UTF-8"),
    ];
    for (number, (trouble, told)) in troubles.into_iter().enumerate() {
        std::fs::remove_file(bench.config()).expect("it is there");
        trouble(bench.config());
        let refused = reload(&bench, "").await;
        assert!(refused.status == 409 && refused.body.contains(told), "{told}: {refused:?}");
        assert_eq!(bench.chat("g", false).await.status, 200, "{told}");
        assert!(status(&bench).await.1.is_some_and(|problem| problem.contains(told)), "{told}");
        let path = bench.config();
        let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir(path));
        let name = format!("mended-{number}");
        std::fs::write(path, text.replace("solo:", &format!("{name}:"))).expect("room");
        until_served(&bench, &name).await;
    }
}

#[tokio::test]
async fn a_hangup_never_ends_the_gateway_however_early_it_comes() {
    let config = scratch_file(
        "{ version: 1, server: { listen: '127.0.0.1:0', admin: '127.0.0.1:0' },
           providers: { p: { protocol: mock } }, deployments: { d: { provider: p, model: m } },
           groups: { g: { members: [ d ] } } }",
    );
    for _ in 0..5 {
        let (mut gateway, ..) = start(&config);
        let pid = gateway.id().to_string();
        for name in ["-HUP", "-HUP", "-TERM"] {
            let sent = std::process::Command::new("kill").args([name, &pid]).status();
            assert!(sent.expect("kill runs").success());
        }
        assert_eq!(gateway.wait().expect("a child of ours").code(), Some(0));
    }
    let _ = std::fs::remove_file(log_of(&config));
    std::fs::remove_file(config).expect("it was made");
}
