//! What a request costs before it is sent: the facts of a 100 kB body and its rewriting for a
//! provider of the same protocol, `Question::read` and `Question::prepare`.
//!
//! Times are the least of many rounds on a machine that may be busy: compare rows of one run.
//! Allocated bytes are exact, and show that the messages are not copied.
#![expect(clippy::disallowed_types, reason = "a benchmark reads the clock")]
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use pointsman_core::{Protocol, Timestamp};
use pointsman_wire::{ClientHeaders, Endpoint, Question, Stamp, Streaming, Target};

const ROUNDS: u32 = 2_000;
const LENGTH: usize = 100_000;
const STAMP: Stamp = Stamp { nonce: 1, created: 1_767_225_600 };

/// Kinds of text, each repeated to the length.
const TEXTS: [(&str, &str); 6] = [
    ("English", "The points are set before the train comes, never under it. "),
    ("code", "fn next(&mut self) -> Option<u8> {\\n\\tlet one = self.at[\\\"x\\\"];\\n}\\n"),
    ("Japanese", "列車が来る前に転轍機を切り替える。"),
    (
        "JSON in JSON",
        "{\\\"find\\\":\\\"x\\\\\\\\d+\\\",\\\"lines\\\":[12,40],\\\"text\\\":\\\"say \\\\\\\"a\\\\\\\"\\\\nb\\\"}",
    ),
    ("English, quotes escaped", "She said \\u201cset the points before the train comes\\u201d. "),
    ("Russian, escaped", "\\u0442\\u043e\\u0447\\u043a\\u0430 "),
];

fn main() {
    println!("| client | text | read | prepare | both | allocated |");
    println!("| --- | --- | ---: | ---: | ---: | ---: |");
    for (name, text) in TEXTS {
        row("chat", name, Endpoint::Chat, Protocol::Openai, &chat(text));
    }
    let text = TEXTS[0].1;
    row("chat", "400 messages", Endpoint::Chat, Protocol::Openai, &conversation(text));
    row("chat", "50 tools", Endpoint::Chat, Protocol::Openai, &tools(text));
    row("messages", "English", Endpoint::Messages, Protocol::Anthropic, &messages(text));
    row("responses", "English", Endpoint::Responses, Protocol::Azure, &responses(text));
    let generate = Endpoint::Generate { model: "m".into(), stream: Streaming::Events };
    row("generateContent", "English", generate, Protocol::Gemini, &contents(text));
}

fn row(client: &str, text: &str, endpoint: Endpoint, protocol: Protocol, body: &str) {
    // `-- code` runs the rows of that name alone, for a profiler.
    let only = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    if only.is_some_and(|only| only != client && only != text) {
        return;
    }
    let body = body.as_bytes();
    let target = Target {
        model: "theirs",
        base_url: Some("http://127.0.0.1"),
        api_version: (protocol == Protocol::Azure).then_some("v1"),
        ..Target::new(protocol)
    };
    let read = || Question::read(endpoint.clone(), ClientHeaders::default(), body).unwrap();
    let question = read();
    let prepare = || question.prepare(body, &target, STAMP, Timestamp::ZERO).unwrap();
    let sent = prepare().body;
    assert!(sent.len().abs_diff(body.len()) < 100, "{client}: it was translated");
    let allocated = allocation_counter::measure(|| {
        black_box((read(), prepare()));
    });
    let (reading, preparing) = (least(read), least(prepare));
    let micros = |took: Duration| format!("{:.1} µs", took.as_secs_f64() * 1e6);
    println!(
        "| {client} | {text} | {} | {} | {} | {} B |",
        micros(reading),
        micros(preparing),
        micros(reading + preparing),
        allocated.bytes_total
    );
}

fn least<T>(run: impl Fn() -> T) -> Duration {
    let round = |_| {
        let start = Instant::now();
        black_box(run());
        start.elapsed()
    };
    (0..ROUNDS).map(round).min().unwrap()
}

/// As much of a text as a body has room for.
fn repeated(text: &str) -> String {
    text.repeat(LENGTH / text.len())
}

fn chat(text: &str) -> String {
    let text = repeated(text);
    format!(
        r#"{{"model":"m","stream":true,"messages":[{{"role":"system","content":"Be brief."}},
            {{"role":"user","content":"{text}"}}],"temperature":0.5,"max_tokens":100}}"#
    )
}

/// Many short messages.
fn conversation(text: &str) -> String {
    let each = text.repeat(LENGTH / 400 / text.len());
    let message = |n| {
        let role = if n % 2 == 0 { "user" } else { "assistant" };
        format!(r#"{{"role":"{role}","content":"{each}"}}"#)
    };
    let all: Vec<_> = (0..400).map(message).collect();
    format!(r#"{{"model":"m","messages":[{}]}}"#, all.join(","))
}

/// Half of it tools, as agents send.
fn tools(text: &str) -> String {
    let about = text.repeat(LENGTH / 100 / text.len());
    let tool = |n| {
        format!(
            r#"{{"type":"function","function":{{"name":"tool_{n}","description":"{about}",
            "parameters":{{"type":"object","properties":{{"city":{{"type":"string"}},
            "days":{{"type":"integer","minimum":1}}}},"required":["city"]}}}}}}"#
        )
    };
    let all: Vec<_> = (0..50).map(tool).collect();
    let said = text.repeat(LENGTH / 3 / text.len());
    format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":"{said}"}}],"tools":[{}]}}"#,
        all.join(",")
    )
}

fn messages(text: &str) -> String {
    let text = repeated(text);
    format!(
        r#"{{"model":"m","max_tokens":100,"system":"Be brief.","messages":[
            {{"role":"user","content":[{{"type":"text","text":"{text}"}}]}}]}}"#
    )
}

fn responses(text: &str) -> String {
    let text = repeated(text);
    format!(
        r#"{{"model":"m","instructions":"Be brief.","input":[{{"role":"user","content":[
            {{"type":"input_text","text":"{text}"}}]}}],"store":false}}"#
    )
}

fn contents(text: &str) -> String {
    let text = repeated(text);
    format!(r#"{{"contents":[{{"role":"user","parts":[{{"text":"{text}"}}]}}]}}"#)
}
