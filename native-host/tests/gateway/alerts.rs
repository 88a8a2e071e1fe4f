//! Soft budgets: told once a window, in the log, in the metrics and to a webhook.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use super::bench::{Bench, get, scratch_file};
use super::receiver::{Manner, Received, Receiver};

/// A budget of which the first call spends more than the soft share.
const SECTIONS: &str = r#"
callers:
  anonymous: app
  keys: { app: { sha256: "0000000000000000000000000000000000000000000000000000000000000001",
                 budget: { usd: 1000, per: month, soft: 0.0001% } } }
state: { store: { embedded: STORE } }
metering: { alerts: { webhook: "http://HOOK/hook?team=a", secret: { file: SECRET } } }
"#;
const PRICED: (&str, &str) =
    ("model: east-model }", "model: east-model, price: { input: 1000, output: 1000 } }");
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

async fn alerting(webhook: &Receiver) -> Bench {
    let store = scratch_file("");
    std::fs::remove_file(&store).expect("it was made");
    let secret = scratch_file(SECRET);
    let sections = SECTIONS
        .replace("STORE", store.to_str().expect("a path"))
        .replace("SECRET", secret.to_str().expect("a path"))
        .replace("HOOK", &webhook.address.to_string());
    Bench::edited("ok: { output_tokens: 5 }", "ok: {}", &sections, &[PRICED]).await
}

fn signed_right(message: &Received) -> bool {
    let key = BASE64.decode(SECRET.trim_start_matches("whsec_")).expect("base64");
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key");
    for name in ["webhook-id", "webhook-timestamp"] {
        mac.update(message.header(name).expect(name).as_bytes());
        mac.update(b".");
    }
    mac.update(&message.body);
    let given = message.header("webhook-signature").expect("a signature");
    given == format!("v1,{}", BASE64.encode(mac.finalize().into_bytes()))
}

async fn deliveries(bench: &Bench, result: &str) -> u64 {
    let page = get(bench.admin, "/metrics").await.body;
    let name = format!("pointsman_budget_alert_deliveries_total{{result=\"{result}\"}} ");
    let line = page.lines().find_map(|line| line.strip_prefix(&*name)).expect("a count");
    line.parse().expect("a number")
}

#[tokio::test]
async fn a_soft_limit_is_told_once_a_window_and_not_again_after_a_restart() {
    let webhook = Receiver::new(Manner::Status(204)).await;
    let mut bench = alerting(&webhook).await;
    for _ in 0..3 {
        assert_eq!(bench.chat("solo", false).await.status, 200);
    }
    let told = webhook.until("/hook?team=a", 1).await;
    assert!(signed_right(&told[0]), "{told:?}");
    let message: serde_json::Value = serde_json::from_slice(&told[0].body).expect("JSON");
    assert_eq!(message["type"], "budget.soft_limit_crossed");
    assert_eq!(message["data"]["owner"], "key app");
    assert_eq!(message["data"]["budget_nano_usd"], 1_000_000_000_000_u64);
    assert!(message["data"]["spent_nano_usd"].as_u64() > Some(1_000_000), "{message}");
    let lines = bench.log();
    let lines = lines.iter().filter(|line| line.contains("WARN a budget has crossed"));
    assert_eq!(lines.count(), 1);

    bench.signal("TERM");
    assert_eq!(bench.exit_code().await, Some(0));
    bench.restart();
    for _ in 0..3 {
        assert_eq!(bench.chat("solo", false).await.status, 200);
    }
    bench.signal("TERM");
    assert_eq!(bench.exit_code().await, Some(0));
    assert_eq!(webhook.received("/hook?team=a").len(), 1);
}

#[tokio::test]
async fn a_webhook_that_fails_is_told_again_and_holds_nobody_up() {
    let webhook = Receiver::new(Manner::Status(503)).await;
    let bench = alerting(&webhook).await;
    assert_eq!(bench.chat("solo", false).await.status, 200);
    let first = webhook.until("/hook?team=a", 1).await;
    assert_eq!(bench.chat("solo", false).await.status, 200);
    webhook.becomes(Manner::Status(200));
    let all = webhook.until("/hook?team=a", 2).await;
    assert_eq!(all[1].header("webhook-id"), first[0].header("webhook-id"));
    assert!(signed_right(&all[1]));
    while deliveries(&bench, "sent").await != 1 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(deliveries(&bench, "lost").await, 0);
}

#[tokio::test]
async fn what_a_webhook_refuses_is_lost_and_counted_and_one_that_hangs_does_not_stop_the_end() {
    let webhook = Receiver::new(Manner::Status(404)).await;
    let bench = alerting(&webhook).await;
    assert_eq!(bench.chat("solo", false).await.status, 200);
    webhook.until("/hook?team=a", 1).await;
    while deliveries(&bench, "lost").await != 1 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let webhook = Receiver::new(Manner::Silent).await;
    let mut bench = alerting(&webhook).await;
    assert_eq!(bench.chat("solo", false).await.status, 200);
    bench.signal("TERM");
    assert_eq!(bench.exit_code().await, Some(0));
    assert_eq!(webhook.received("/hook?team=a").len(), 1);
}

#[tokio::test]
async fn the_status_decides_whatever_follows_it_and_a_redirect_is_not_followed() {
    for (manner, result) in [(Manner::Endless, "sent"), (Manner::Status(307), "lost")] {
        let webhook = Receiver::new(manner).await;
        let bench = alerting(&webhook).await;
        assert_eq!(bench.chat("solo", false).await.status, 200);
        while deliveries(&bench, result).await != 1 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert_eq!(webhook.received("/hook?team=a").len(), 1, "{manner:?}");
        assert_eq!(webhook.received("/else").len(), 0, "{manner:?}");
    }
}
