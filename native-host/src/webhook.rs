//! A webhook that is told of budgets, behind the path of the requests.
//!
//! Messages are signed as Standard Webhooks has it (<https://www.standardwebhooks.com>): the header
//! `webhook-signature` is `v1,` and the base64 of an HMAC-SHA256 over `ID.TIMESTAMP.BODY`. A message that is not
//! taken is sent again, with the same `webhook-id`, a few times within a minute; after that it is lost, counted and
//! warned of.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use hmac::{Hmac, Mac as _};
use http::{HeaderValue, Method, Request, Uri, header};
use pointsman_core::{Alert, Alerts};
use prometheus_client::metrics::counter::Counter;
use serde_json::json;
use sha2::Sha256;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::dial::Connector;
use crate::exits::Exits;
use crate::pool::Pool;
use crate::source::Source;

/// Messages that may wait.
const ROOM: usize = 256;
/// How long each try may take.
const TRY_TIME: Duration = Duration::from_secs(10);
const CONNECT: Duration = Duration::from_secs(5);
/// How long to wait before each further try.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(15),
];
/// The largest answer that is read, in bytes, and how long it may take; nothing in it matters.
const MAX_ANSWER: usize = 64 * 1024;
const ANSWER_TIME: Duration = Duration::from_secs(1);
/// What a secret that is written in base64 begins with.
const PREFIX: &str = "whsec_";

/// The end to give messages to.
#[derive(Debug)]
pub(crate) struct Webhook {
    queue: Mutex<Option<mpsc::Sender<Message>>>,
    task: Mutex<Option<JoinHandle<()>>>,
    lost: Counter,
}

#[derive(Debug)]
struct Message {
    id: String,
    body: String,
}

struct Receiver {
    address: Uri,
    pool: Arc<Pool>,
    secret: Option<Vec<u8>>,
    sent: Counter,
    lost: Counter,
}

impl Webhook {
    /// Starts to deliver. The counters are of messages that were taken, and of those that were not.
    ///
    /// # Errors
    /// The address or the secret is none; the text says which key.
    pub(crate) fn start(
        alerts: &Alerts,
        exits: &Exits,
        (sent, lost): (Counter, Counter),
    ) -> Result<Self, String> {
        let address = alerts.webhook.expose().parse();
        let address: Uri = address.map_err(|error| format!("metering.alerts.webhook: {error}"))?;
        let connector = Connector::new(&exits.to(&address))?;
        let secret = alerts.secret.as_ref().map(|secret| key(secret.expose())).transpose()?;
        let pool = Pool::new(address.clone(), connector);
        let receiver = Receiver { address, pool, secret, sent, lost: lost.clone() };
        let (queue, messages) = mpsc::channel(ROOM);
        let task = tokio::spawn(receiver.run(messages));
        Ok(Self { queue: Mutex::new(Some(queue)), task: Mutex::new(Some(task)), lost })
    }

    /// Tells of a budget that has crossed its soft limit. Never waits.
    pub(crate) fn tell(&self, alert: &Alert, at: &str) {
        let body = json!({
            "type": "budget.soft_limit_crossed",
            "timestamp": at,
            "data": {
                "owner": alert.owner,
                "spent_nano_usd": alert.spent,
                "budget_nano_usd": alert.budget,
            },
        });
        // Two messages of one moment differ in their owner.
        let id = format!("{at} {}", alert.owner);
        let message = Message { id: hashed(&id), body: body.to_string() };
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.as_ref().is_none_or(|queue| queue.try_send(message).is_err()) {
            self.lost.inc();
        }
    }

    /// Delivers what is there, within `time`.
    pub(crate) async fn finish(&self, time: Duration) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut task) = task else { return };
        if tokio::time::timeout(time, &mut task).await.is_err() {
            task.abort();
            tracing::warn!("the webhook did not take the last alerts in time: they are lost");
        }
    }
}

impl Receiver {
    async fn run(self, mut messages: mpsc::Receiver<Message>) {
        while let Some(message) = messages.recv().await {
            match self.deliver(&message).await {
                Ok(()) => _ = self.sent.inc(),
                Err(problem) => {
                    self.lost.inc();
                    tracing::warn!(problem, message = message.body, "an alert is lost");
                }
            }
        }
    }

    async fn deliver(&self, message: &Message) -> Result<(), String> {
        let mut pauses = PAUSES.iter();
        loop {
            let tried = tokio::time::timeout(TRY_TIME, self.send(message)).await;
            let problem = match tried {
                Ok(Ok(200..=299)) => return Ok(()),
                Ok(Ok(status @ (408 | 429 | 500..))) => format!("status {status}"),
                // Trying again changes nothing.
                Ok(Ok(status)) => return Err(format!("status {status}")),
                Ok(Err(problem)) => problem,
                Err(_) => format!("no answer within {TRY_TIME:?}"),
            };
            let Some(pause) = pauses.next() else { return Err(problem) };
            tokio::time::sleep(*pause).await;
        }
    }

    /// Sends a message once; the status.
    async fn send(&self, message: &Message) -> Result<u16, String> {
        let request = self.request(message)?;
        let sent = self.pool.send(|| Ok(request.clone()), CONNECT).await;
        let (response, lease) = sent.map_err(|error| error.detail)?;
        let (head, body) = response.into_parts();
        let mut source = Source::Http { body, lease: Some(lease), gunzip: None };
        // Read only so that the connection can be kept: the status has said it all.
        let _ = tokio::time::timeout(ANSWER_TIME, source.whole(MAX_ANSWER, &mut false)).await;
        Ok(head.status.as_u16())
    }

    fn request(&self, message: &Message) -> Result<Request<Bytes>, String> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let timestamp = since.as_secs().to_string();
        let mut request = Request::new(Bytes::from(message.body.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.address.clone();
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let mut insert = |name, value: &str| {
            let value = HeaderValue::from_str(value).map_err(|error| error.to_string())?;
            headers.insert(name, value);
            Ok::<_, String>(())
        };
        insert("webhook-id", &message.id)?;
        insert("webhook-timestamp", &timestamp)?;
        if let Some(secret) = &self.secret {
            insert(
                "webhook-signature",
                &signature(secret, &message.id, &timestamp, &message.body)?,
            )?;
        }
        Ok(request)
    }
}

/// The bytes of a secret.
fn key(secret: &str) -> Result<Vec<u8>, String> {
    match secret.strip_prefix(PREFIX) {
        None => Ok(secret.as_bytes().to_vec()),
        // The error would repeat a character of it.
        Some(text) => BASE64
            .decode(text)
            .map_err(|_| format!("metering.alerts.secret: what follows `{PREFIX}` is not base64")),
    }
}

fn signature(secret: &[u8], id: &str, timestamp: &str, body: &str) -> Result<String, String> {
    // A key of any length will do.
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).map_err(|error| error.to_string())?;
    mac.update(format!("{id}.{timestamp}.{body}").as_bytes());
    Ok(format!("v1,{}", BASE64.encode(mac.finalize().into_bytes())))
}

/// A short name for a text.
fn hashed(text: &str) -> String {
    use sha2::Digest as _;
    let hash = Sha256::digest(text.as_bytes());
    format!("msg_{}", hash.iter().take(12).map(|byte| format!("{byte:02x}")).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_as_the_standard_has_it() {
        // The example of the specification's reference libraries.
        let secret = key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed = signature(
            &secret,
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "1614265330",
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(signed.unwrap(), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert_eq!(key("plain").unwrap(), b"plain");
        assert!(key("whsec_!!").is_err());
    }
}
