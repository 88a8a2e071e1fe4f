//! Providers like OpenAI.

use pointsman_wire::AnswerHeaders;
use serde_json::{Value, json};

use super::{FailureKind, Heard, Protocol, check, relay, run};

const STOP: [&str; 4] = ["stop", "completed", "end_turn", "STOP"];
const CALLS: [&str; 4] = ["tool_calls", "completed", "tool_use", "STOP"];
const LENGTH: [&str; 4] = ["length", "max_output_tokens", "max_tokens", "MAX_TOKENS"];
const FILTERED: [&str; 4] = ["content_filter", "content_filter", "refusal", "SAFETY"];
const REFUSED: [&str; 4] = ["stop", "completed", "refusal", "SAFETY"];

/// The chunks as events; one without choices is the delta of the first choice, and one of `null` the
/// end of all.
fn stream(chunks: &[Value]) -> String {
    let event = |chunk: &Value| {
        let chunk = match chunk {
            Value::Null => return "data: [DONE]\n\n".to_owned(),
            whole if whole.get("choices").is_some() => whole.clone(),
            delta => piece(delta, Value::Null),
        };
        format!("data: {chunk}\n\n")
    };
    chunks.iter().map(event).collect()
}

fn piece(delta: &Value, finish: impl Into<Value>) -> Value {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish.into()});
    json!({"id": "c1", "object": "chat.completion.chunk", "model": "gpt", "choices": [choice]})
}

fn end(finish: &str) -> Value {
    piece(&json!({}), finish)
}

fn say(text: &str) -> Value {
    json!({"content": text})
}

fn role() -> Value {
    json!({"role": "assistant", "content": null})
}

fn text(text: &str) -> Heard {
    Heard { model: "gpt".into(), text: text.into(), ..Heard::default() }
}

fn ok(what: &str, chunks: &[Value], expected: &Heard, finish: [&str; 4]) {
    check(what, Protocol::Openai, stream(chunks).as_bytes(), expected, finish);
}

#[test]
fn ends() {
    let (a, b, stop, done) = (say("a"), say("b"), end("stop"), Value::Null);
    let said = |what, chunks: &[&Value], finish| {
        let chunks: Vec<_> = chunks.iter().map(|&chunk| chunk.clone()).collect();
        ok(what, &chunks, &text("ab"), finish);
    };
    said("plain", &[&role(), &a, &b, &stop, &done], STOP);
    said("no done", &[&role(), &a, &b, &stop], STOP);
    said("done twice, and more behind it", &[&a, &b, &stop, &done, &done, &a], STOP);
    said("all in one", &[&piece(&say("ab"), "stop")], STOP);
    said("no finish reason", &[&a, &b, &done], STOP);
    said("an empty one until the end", &[&piece(&a, ""), &piece(&b, ""), &stop, &done], STOP);
    said("a finish reason in every chunk", &[&piece(&a, "stop"), &piece(&b, "stop"), &done], STOP);
    said("no delta", &[&a, &piece(&Value::Null, Value::Null), &b, &stop], STOP);
    said("length", &[&a, &b, &end("length"), &done], LENGTH);
    let mut filtered = end("content_filter");
    filtered["choices"][0]["content_filter_results"] = json!({"hate": {"filtered": true}});
    said("filtered", &[&a, &b, &filtered, &done], FILTERED);
    let azure = json!({"choices": [], "created": 0, "id": "", "model": "", "object": "",
        "prompt_filter_results": [{"prompt_index": 0}]});
    said("azure", &[&azure, &a, &b, &stop, &done], STOP);
}

#[test]
fn usage() {
    let used = Heard { usage: Some((3, 2)), ..text("ab") };
    let count = |mut chunk: Value, tokens: u64| {
        chunk["usage"] = json!({"prompt_tokens": 3, "completion_tokens": tokens});
        chunk
    };
    let apart = count(json!({"choices": [], "model": "gpt"}), 2);
    ok("apart", &[say("a"), say("b"), end("stop"), apart, Value::Null], &used, STOP);
    let each = [count(piece(&say("a"), Value::Null), 1), count(piece(&say("b"), "stop"), 2)];
    ok("in every chunk", &each, &used, STOP);
}

#[test]
fn thoughts_and_refusals() {
    let both = Heard { thought: "hmso".into(), ..text("ab") };
    for key in ["reasoning_content", "reasoning"] {
        let thought = |text: &str| json!({"content": "", key: text});
        let last = json!({"content": "b", "reasoning_content": null});
        let chunks = [role(), thought("hm"), say("a"), thought("so"), last, end("stop")];
        ok("thoughts between", &chunks, &both, STOP);
    }
    let refused = Heard { refusal: "no.".into(), ..text("") };
    let refusal = |text: &str| json!({"refusal": text});
    ok("refusal", &[role(), refusal("no"), refusal("."), end("stop")], &refused, REFUSED);
    let mut probable = piece(&say("ab"), Value::Null);
    probable["choices"][0]["logprobs"] = json!({"content":
        [{"token": "ab", "logprob": -0.1, "bytes": null, "top_logprobs": []}], "refusal": null});
    ok("probabilities", &[role(), probable, end("stop")], &text("ab"), STOP);
}

/// Calls as they are heard, each of an id, a name and arguments.
fn calls(calls: &[[&str; 3]]) -> Heard {
    let own = |call: &[&str; 3]| call.map(str::to_owned).into();
    Heard { calls: calls.iter().map(own).collect(), ..text("") }
}

/// A delta of calls, each of what it says: its index, id, name and arguments.
fn tools(calls: &[[Value; 4]]) -> Value {
    let call = |[index, id, name, arguments]: &[Value; 4]| {
        let mut call = json!({"type": "function", "function": {}});
        for (key, value) in [("index", index), ("id", id)] {
            if !value.is_null() {
                call[key] = value.clone();
            }
        }
        for (key, value) in [("name", name), ("arguments", arguments)] {
            if !value.is_null() {
                call["function"][key] = value.clone();
            }
        }
        call
    };
    json!({"tool_calls": calls.iter().map(call).collect::<Vec<_>>()})
}

/// One of them; `_` is not said.
fn tool(index: u64, id: &str, name: &str, arguments: &str) -> Value {
    let said = |text: &str| if text == "_" { Value::Null } else { json!(text) };
    tools(&[[json!(index), said(id), said(name), said(arguments)]])
}

const F: [&str; 3] = ["x", "f", r#"{"a":1}"#];
const G: [&str; 3] = ["y", "g", r#"{"b":2}"#];

fn called(what: &str, deltas: &[Value], expected: &[[&str; 3]]) {
    for reason in ["tool_calls", "stop"] {
        ok(what, &[deltas, &[end(reason), Value::Null]].concat(), &calls(expected), CALLS);
    }
}

#[test]
fn calls_by_index() {
    let (x, y) = (tool(0, "x", "f", ""), tool(1, "y", "g", ""));
    let (a, b) = (tool(0, "_", "_", r#"{"a":"#), tool(0, "_", "_", "1}"));
    let (c, d) = (tool(1, "_", "_", r#"{"b":"#), tool(1, "_", "_", "2}"));
    for (what, deltas) in [
        ("one after the other", [&x, &a, &b, &y, &c, &d]),
        ("names first", [&x, &y, &a, &b, &c, &d]),
        ("by turns", [&x, &a, &y, &c, &b, &d]),
        ("the second first", [&x, &y, &c, &d, &a, &b]),
    ] {
        let mut deltas = deltas.map(Value::clone).to_vec();
        called(what, &deltas, &[F, G]);
        deltas.push(tool(0, "_", "_", ""));
        called("nothing more of a call that ended", &deltas, &[F, G]);
    }
    called("from 1", &[tool(1, "x", "f", r#"{"a":1}"#)], &[F]);
    called("no arguments", std::slice::from_ref(&x), &[["x", "f", "{}"]]);
    called("empty ones", &[x.clone(), tool(0, "_", "_", "{}")], &[["x", "f", "{}"]]);
    let bare = [x.clone(), y.clone(), tool(1, "_", "_", r#"{"b":2}"#)];
    called("no arguments, and others", &bare, &[["x", "f", "{}"], G]);
    let named = tool(0, "_", "f", "_");
    called(
        "id before the name",
        &[tool(0, "x", "_", "_"), named.clone(), a.clone(), b.clone()],
        &[F],
    );
    called("arguments before it", &[tool(0, "x", "_", r#"{"a":"#), named, b.clone()], &[F]);
    let last = piece(&b, "tool_calls");
    ok("with the end", &[x.clone(), a.clone(), last], &calls(&[F]), CALLS);
    let looked = Heard { text: "I look".into(), ..calls(&[F]) };
    ok("text before", &[say("I look"), x, a, say(""), b, end("tool_calls")], &looked, CALLS);
}

#[test]
fn calls_whole() {
    let both = |first: Value, second: Value| {
        let row = |index: Value, [id, name, arguments]: [&str; 3]| {
            [index, json!(id), json!(name), json!(arguments)]
        };
        vec![tools(&[row(first, F), row(second, G)])]
    };
    called("in one chunk", &both(json!(0), json!(1)), &[F, G]);
    // As Gemini's endpoint for this protocol and Ollama have said it.
    called("of one index", &both(json!(0), json!(0)), &[F, G]);
    called("without an index", &both(json!(null), json!(null)), &[F, G]);
    let (f, g) = (json!({"a": 1}), json!({"b": 2}));
    for index in [json!(0), json!(null)] {
        let each = |[id, name, arguments]: [&str; 3]| {
            tools(&[[index.clone(), json!(id), json!(name), json!(arguments)]])
        };
        called("a chunk each", &[each(F), each(G)], &[F, G]);
        let again = ["z", "f", r#"{"a":1}"#];
        called("the same twice", &[each(F), each(again)], &[F, again]);
        let nameless = |name: &str, arguments: &Value| {
            tools(&[[index.clone(), Value::Null, json!(name), arguments.clone()]])
        };
        let made = [["", "f", r#"{"a":1}"#], ["", "g", r#"{"b":2}"#]];
        called("no ids, and objects", &[nameless("f", &f), nameless("g", &g)], &made);
        let repeated = |text: &str| tools(&[[index.clone(), json!("x"), json!("f"), json!(text)]]);
        called("all in every delta", &[repeated(""), repeated("{\"a\":"), repeated("1}")], &[F]);
        let renamed =
            |id: &str, text: &str| tools(&[[index.clone(), json!(id), Value::Null, json!(text)]]);
        let deltas = [each(["x", "f", ""]), renamed("u", "{\"a\":"), renamed("v", "1}")];
        called("another id in every delta", &deltas, &[F]);
    }
}

#[test]
fn what_breaks_never_looks_whole() {
    let begun = tool(0, "x", "f", r#"{"a":"#);
    for client in ["responses", "messages", "generate"] {
        for rest in [&[][..], &[tool(0, "x", "f", r#"{"a":"#), tool(1, "y", "g", "{}")]] {
            let chunks = [&[role(), say("a"), begun.clone()], rest].concat();
            let relay = relay(client, Protocol::Openai);
            let (out, failure) = run(relay, stream(&chunks).as_bytes(), 5);
            assert_eq!(failure, Some(FailureKind::BrokenStream));
            for end in ["finishReason", "response.completed", "message_delta"] {
                assert!(!out.contains(end), "{out}");
            }
        }
    }
}

#[test]
fn an_answer_that_the_provider_broke_off_is_a_failure() {
    for word in ["error", "abort", "insufficient_system_resource"] {
        for client in super::CLIENTS {
            for (begun, kind) in
                [(&[][..], FailureKind::Server), (&[say("a")], FailureKind::BrokenStream)]
            {
                let chunks = [&[role()], begun, &[end(word), Value::Null]].concat();
                let relay = relay(client, Protocol::Openai);
                let (out, failure) = run(relay, stream(&chunks).as_bytes(), 5);
                assert_eq!(failure, Some(kind), "{client}: {word}");
                assert!(!out.contains("DONE") && !out.contains("\"finish_reason\":\""), "{out}");
            }
            let choice = json!({"message": say("a"), "finish_reason": word});
            let body = json!({"choices": [choice]}).to_string();
            let (_, expected) = super::asked(client, Protocol::Openai);
            let whole = expected.whole(200, &AnswerHeaders::default(), body.as_bytes());
            assert_eq!(whole.unwrap_err().kind, FailureKind::Server);
        }
    }
}

#[test]
fn a_call_that_was_cut_is_not_complete() {
    for (arguments, status) in [(r#"{"a":"#, "incomplete"), (r#"{"a":1}"#, "completed")] {
        let chunks = [tool(0, "x", "f", arguments), end("length"), Value::Null];
        let relay = relay("responses", Protocol::Openai);
        let (out, _) = run(relay, stream(&chunks).as_bytes(), 5);
        let last = out.rsplit("data: ").next().unwrap();
        let response = &serde_json::from_str::<Value>(last).unwrap()["response"];
        assert_eq!(response["status"], "incomplete");
        assert_eq!(response["output"][0]["status"], status, "{response}");
        assert_eq!(response["output"][0]["arguments"], arguments);
    }
}
