//! Two mock upstreams, `east` and `west`, and a gateway in front of them. All ports are free ones.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pointsman::mock::{Mock, Script};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// Longer than anything here takes, on a busy machine too.
const LONG: Duration = Duration::from_secs(20);

/// Everything a test needs; the gateway ends with it.
pub(crate) struct Bench {
    pub(crate) api: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) east: SocketAddr,
    pub(crate) west: SocketAddr,
    gateway: Child,
    config: PathBuf,
}

/// `g`: east, then west. `solo`: east alone. Short clocks.
const CONFIG: &str = r#"
version: 1
server: { listen: "127.0.0.1:0", admin: "127.0.0.1:0", max_body: 64KiB, drain: 10s }
providers:
  a: { protocol: openai, base_url: "http://EAST/v1" }
  b: { protocol: openai, base_url: "http://WEST/v1" }
deployments:
  east: { provider: a, model: east-model }
  west: { provider: b, model: west-model }
groups:
  g: { members: [ { deployment: east, order: 1 }, { deployment: west, order: 2 } ] }
  solo: { members: [ east ] }
policy:
  timeouts: { connect: 3s, first_token: 2s, answer: 8s, idle: 1s, total: 12s, deadline: 15s }
"#;

impl Bench {
    /// With these scripts at `east` and `west`.
    pub(crate) async fn new(east: &str, west: &str) -> Self {
        Self::with(east, west, "").await
    }

    /// With these scripts, and more sections of the config.
    pub(crate) async fn with(east: &str, west: &str, sections: &str) -> Self {
        Self::edited(east, west, sections, &[]).await
    }

    /// The same, with these texts of the config replaced by others.
    pub(crate) async fn edited(
        east: &str,
        west: &str,
        sections: &str,
        edits: &[(&str, &str)],
    ) -> Self {
        let (east, west) = (mock("east", east).await, mock("west", west).await);
        Self::between(east, west, sections, edits)
    }

    /// The same, in front of upstreams that are there already.
    pub(crate) fn between(
        east: SocketAddr,
        west: SocketAddr,
        sections: &str,
        edits: &[(&str, &str)],
    ) -> Self {
        let config =
            edits.iter().fold(CONFIG.to_owned(), |text, (from, to)| text.replace(from, to));
        let config = config.replace("EAST", &east.to_string()).replace("WEST", &west.to_string());
        let path = scratch_file(&(config + sections));
        let (gateway, api, admin) = start(&path);
        Self { api, admin, east, west, gateway, config: path }
    }

    /// Replaces a text in the config's file.
    pub(crate) fn edit(&self, from: &str, to: &str) {
        let text = std::fs::read_to_string(&self.config).expect("the config");
        assert!(text.contains(from), "{from}");
        std::fs::write(&self.config, text.replace(from, to)).expect("room");
    }

    /// The config's file.
    pub(crate) fn config(&self) -> &Path {
        &self.config
    }

    /// Kills the gateway as a power failure would, and starts another with the same config.
    pub(crate) fn crash_and_restart(&mut self) {
        self.gateway.kill().expect("a child of ours");
        self.restart();
    }

    /// Waits until the gateway has ended, and starts another with the same config.
    pub(crate) fn restart(&mut self) {
        self.gateway.wait().expect("a child of ours");
        (self.gateway, self.api, self.admin) = start(&self.config);
    }

    /// Sends a chat request and reads the response to the connection's end.
    pub(crate) async fn chat(&self, model: &str, stream: bool) -> Reply {
        send(self.api, &chat_request(model, stream)).await
    }

    /// Asks a mock for a count until it is `count`.
    pub(crate) async fn until_seen(&self, mock: SocketAddr, what: &str, count: u64) {
        let what_is = format!("`{what}` is {count}");
        until(&what_is, || async { seen(mock, what).await == count }).await;
    }

    /// Reads the metrics until nothing is in flight or reserved.
    pub(crate) async fn until_at_rest(&self) {
        let reached = timeout(LONG, async {
            loop {
                let page = get(self.admin, "/metrics").await.body;
                let busy = |line: &str| {
                    let gauge = line.starts_with("pointsman_in_flight{")
                        || line.starts_with("pointsman_reservations ");
                    gauge && !line.ends_with(" 0")
                };
                if !page.lines().any(busy) {
                    break;
                }
                sleep(Duration::from_millis(10)).await;
            }
        });
        reached.await.expect("everything ends and is settled");
    }

    /// What the gateway has written into its log, line by line.
    pub(crate) fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(log_of(&self.config)).expect("a log");
        text.lines().map(str::to_owned).collect()
    }

    /// The gateway's process.
    pub(crate) fn pid(&self) -> u32 {
        self.gateway.id()
    }

    /// The gate at which a deployment stands.
    pub(crate) async fn gate(&self, deployment: &str) -> String {
        let all = get(self.admin, "/deployments").await.json();
        let mut all = all.as_array().expect("a list").iter();
        let found = all.find(|one| one["name"] == deployment).expect("the deployment");
        found["gate"].as_str().expect("a gate").to_owned()
    }

    /// Sends the gateway a signal: `TERM` or `INT`.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.gateway.id().to_string();
        let sent = Command::new("kill").arg(format!("-{name}")).arg(pid).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Lets the gateway write nothing to any file from now on, as if the disk were full; or lets it again.
    pub(crate) fn fill_disk(&self, full: bool) {
        let most = if full { "--fsize=1:unlimited" } else { "--fsize=unlimited:unlimited" };
        let pid = self.gateway.id().to_string();
        let set = Command::new("prlimit").args(["--pid", &pid, most]).status();
        assert!(set.expect("prlimit runs").success());
    }

    /// The gateway's exit code, once it has ended.
    pub(crate) async fn exit_code(&mut self) -> Option<i32> {
        let ended = timeout(LONG, async {
            loop {
                if let Some(status) = self.gateway.try_wait().expect("a child of ours") {
                    return status.code();
                }
                sleep(Duration::from_millis(10)).await;
            }
        });
        ended.await.expect("the gateway ends")
    }
}

pub(crate) fn log_of(config: &Path) -> PathBuf {
    config.with_extension("log")
}

/// A gateway with this config, and where it listens.
pub(crate) fn start(config: &Path) -> (Child, SocketAddr, SocketAddr) {
    let log = OpenOptions::new().append(true).create(true).open(log_of(config));
    let log = log.expect("a log");
    // A file that may not grow is to be an error there, not a signal.
    let mut gateway = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_pointsman")])
        .args(["serve", "--config"])
        .arg(config)
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .expect("the gateway starts");
    let mut lines = BufReader::new(gateway.stdout.take().expect("its output")).lines();
    let mut address = |before: &str| {
        let line = lines.next().expect("a line").expect("text");
        let rest = line.split(before).nth(1).expect("an address").to_owned();
        let end = rest.find(": ").unwrap_or(rest.len());
        rest[..end].parse().expect("an address and port")
    };
    let (api, admin) = (address("://"), address("://"));
    (gateway, api, admin)
}

impl Drop for Bench {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.gateway.kill();
        let _ = self.gateway.wait();
        let _ = std::fs::remove_file(&self.config);
        let _ = std::fs::remove_file(log_of(&self.config));
    }
}

/// A file of this content, for this test run alone.
pub(crate) fn scratch_file(content: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("pointsman-{}-{number}.yaml", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, content).expect("a scratch file");
    path
}

/// A mock upstream with this script.
pub(crate) async fn mock(name: &str, script: &str) -> SocketAddr {
    let script = Script::parse(script).expect("a script");
    let free = SocketAddr::from(([127, 0, 0, 1], 0));
    let mock = Mock::bind(free, name, script).await.expect("a free port");
    let address = mock.address().expect("an address");
    tokio::spawn(mock.run());
    address
}

/// Gives a mock another script.
pub(crate) async fn script(mock: SocketAddr, script: &str) {
    let reply = send(mock, &post("/script", script)).await;
    assert_eq!(reply.status, 200, "{reply:?}");
}

/// A count of a mock's.
pub(crate) async fn seen(mock: SocketAddr, what: &str) -> u64 {
    get(mock, "/seen").await.json()[what].as_u64().expect("a count")
}

/// Waits until it is so.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, is: impl Fn() -> F) {
    let reached = timeout(LONG, async {
        while !is().await {
            sleep(Duration::from_millis(10)).await;
        }
    });
    reached.await.unwrap_or_else(|_| panic!("it never came to this: {what}"));
}

/// Another script for a mock, from now on.
pub(crate) async fn direct(mock: SocketAddr, script: &str) {
    assert_eq!(send(mock, &post("/script", script)).await.status, 200);
}

/// A response as it came, the body without its chunk lines.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
    /// The body ended as HTTP says it must.
    pub(crate) ended_clean: bool,
}

impl Reply {
    /// Reads a whole response.
    pub(crate) fn read(raw: &[u8]) -> Self {
        let (head, body, ended_clean) = parts(raw);
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let body = String::from_utf8_lossy(&body).into_owned();
        Self { status: status.expect("a status"), head, body, ended_clean }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let prefix = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(&prefix))
    }

    pub(crate) fn by(&self) -> Option<&str> {
        self.header("x-pointsman-deployment")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn error_code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }

    /// A stream that says it is whole.
    pub(crate) fn is_whole_stream(&self) -> bool {
        self.body.ends_with("data: [DONE]\n\n") && self.ended_clean
    }
}

/// A raw answer's head in lower case, its body without the lines of its chunks, and whether that ended
/// as HTTP says it must.
pub(crate) fn parts(raw: &[u8]) -> (String, Vec<u8>, bool) {
    let end = raw.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&raw[..end]).to_ascii_lowercase();
    let mut rest = &raw[end + 4..];
    if !head.contains("transfer-encoding: chunked") {
        return (head, rest.to_vec(), true);
    }
    let mut body = Vec::new();
    while let Some(line) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&rest[..line]).expect("text");
        let size = usize::from_str_radix(size, 16).expect("a size");
        let data = &rest[line + 2..];
        if size == 0 || data.len() < size + 2 {
            body.extend(&data[..size.min(data.len())]);
            return (head, body, size == 0 && data == b"\r\n");
        }
        body.extend(&data[..size]);
        rest = &data[size + 2..];
    }
    (head, body, false)
}

pub(crate) fn chat_request(model: &str, stream: bool) -> String {
    let body = format!(
        r#"{{"model":"{model}","stream":{stream},"messages":[{{"role":"user","content":"hi"}}]}}"#
    );
    post("/v1/chat/completions", &body)
}

/// The same request with more headers, each with its line's end.
pub(crate) fn with_headers(request: &str, headers: &str) -> String {
    request.replacen("\r\n", &format!("\r\n{headers}"), 1)
}

pub(crate) fn post(path: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

pub(crate) async fn get(address: SocketAddr, path: &str) -> Reply {
    send(address, &format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n")).await
}

/// Sends bytes and reads what comes until the other side closes.
pub(crate) async fn send(address: SocketAddr, request: &str) -> Reply {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(request.as_bytes()).await.expect("room for the request");
    read_to_end(stream, Vec::new()).await
}

/// Reads on until the other side closes.
pub(crate) async fn read_to_end(mut stream: TcpStream, mut raw: Vec<u8>) -> Reply {
    let end = timeout(LONG, stream.read_to_end(&mut raw)).await.expect("an end in time");
    end.expect("an orderly close");
    Reply::read(&raw)
}

/// Sends a request and reads until `part` has come; the connection stays open.
pub(crate) async fn send_until(
    address: SocketAddr,
    request: &str,
    part: &str,
) -> (TcpStream, Vec<u8>) {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(request.as_bytes()).await.expect("room for the request");
    let mut raw = Vec::new();
    let reached = timeout(LONG, async {
        while !String::from_utf8_lossy(&raw).contains(part) {
            let count = stream.read_buf(&mut raw).await.expect("more bytes");
            assert!(count > 0, "the stream ended before `{part}` came");
        }
    });
    reached.await.unwrap_or_else(|_| panic!("`{part}` never came"));
    (stream, raw)
}

/// As [`send`], for a task of its own.
pub(crate) async fn send_owned(address: SocketAddr, request: String) -> Reply {
    send(address, &request).await
}
