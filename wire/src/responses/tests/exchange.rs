//! Whole exchanges, through the crate's own door.

use pointsman_core::{FailureKind, Protocol, Timestamp};

use crate::endpoint::Endpoint;
use crate::header::AnswerHeaders;
use crate::neutral::Stamp;
use crate::question::{Prepared, Question};
use crate::target::Target;

const STAMP: Stamp = Stamp { nonce: 7, created: 1_700_000_000 };

fn question(body: &str) -> Question {
    Question::read(Endpoint::Responses, crate::header::ClientHeaders::default(), body.as_bytes())
        .unwrap()
}

fn prepare(body: &str, target: &Target<'_>) -> Prepared {
    question(body).prepare(body.as_bytes(), target, STAMP, Timestamp::ZERO).unwrap()
}

fn openai() -> Target<'static> {
    Target { model: "theirs", ..Target::new(Protocol::Openai) }
}

/// One that is like OpenAI.
fn alike() -> Target<'static> {
    Target { base_url: Some("https://like.example/v1"), ..openai() }
}

const KEPT: &str = r#"{"previous_response_id":"resp_1","model" : "m","store":true,"x":1e3}"#;

#[test]
fn openai_is_sent_what_the_client_wrote() {
    let prepared = prepare(KEPT, &openai());
    assert!(prepared.head.url.ends_with("/v1/responses"), "{}", prepared.head.url);
    let sent = String::from_utf8(prepared.body.to_vec(KEPT.as_bytes())).unwrap();
    assert_eq!(sent, KEPT.replace("\"m\"", "\"theirs\""));
    let answer = br#"{"object":"response","status":"completed","error":null,"output":[],
        "usage":{"input_tokens":3,"output_tokens":2}}"#;
    let whole = prepared.expected.whole(200, &AnswerHeaders::default(), answer).unwrap();
    assert_eq!((whole.body, whole.usage.unwrap().input), (None, 3));
}

#[test]
fn who_is_only_like_openai_cannot_know_what_that_keeps() {
    let refused =
        question(KEPT).prepare(KEPT.as_bytes(), &alike(), STAMP, Timestamp::ZERO).unwrap_err();
    assert_eq!(refused.kind(), FailureKind::Untranslatable);
    let reply = refused.reply(crate::Dialect::Responses);
    let error: serde_json::Value = serde_json::from_slice(&reply.body()).unwrap();
    assert_eq!((reply.status, &error["error"]["param"]), (400, &"previous_response_id".into()));
}

/// What the relay of `prepared` makes of a stream that comes in pieces of `cut` bytes.
fn relay(prepared: &Prepared, stream: &str, cut: usize) -> (String, bool, Option<FailureKind>) {
    let (mut relay, mut out) = (prepared.expected.relay(), Vec::new());
    let (mut done, mut failure) = (false, None);
    for chunk in stream.as_bytes().chunks(cut) {
        let progress = relay.push(chunk, &mut out);
        done |= progress.done;
        failure = failure.or(progress.failure.map(|failure| failure.kind));
    }
    (String::from_utf8(out).unwrap(), done, failure)
}

const ASKED: &str = r#"{"model":"m","input":"hi","stream":true}"#;

#[test]
fn openais_own_stream_goes_on_as_it_came() {
    let stream = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":\
        {\"error\":null,\"output\":[]}}\n\nevent: response.output_text.delta\ndata: {\"type\":\
        \"response.output_text.delta\",\"delta\":\"Ho\"}\n\nevent: response.completed\ndata: \
        {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":3}}}\n\n";
    for cut in [1, 7, stream.len()] {
        let seen = relay(&prepare(ASKED, &openai()), stream, cut);
        assert_eq!(seen, (stream.to_owned(), true, None));
    }
}

#[test]
fn a_response_that_failed_is_the_failure_it_names() {
    let stream = "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":\
        {\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"m\"}}}\n\n";
    let (out, done, failure) = relay(&prepare(ASKED, &openai()), stream, 9);
    assert_eq!((&*out, done, failure), ("", false, Some(FailureKind::RateLimited)));
}

#[test]
fn a_responses_client_is_answered_in_chat() {
    let prepared = prepare(ASKED, &alike());
    assert!(prepared.head.url.ends_with("/v1/chat/completions"), "{}", prepared.head.url);
    let sent = prepared.body.to_vec(ASKED.as_bytes());
    let expected = r#"{"model":"theirs","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}"#;
    assert_eq!(String::from_utf8(sent).unwrap(), expected);
    let stream = "data: {\"id\":\"x\",\"model\":\"g\",\"choices\":[{\"index\":0,\"delta\":\
        {\"content\":\"Ho\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\
        \"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\
        \"completion_tokens\":2}}\n\ndata: [DONE]\n\n";
    for cut in [1, 7, stream.len()] {
        let (out, done, failure) = relay(&prepared, stream, cut);
        let names: Vec<_> = out.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
        assert_eq!(
            names,
            [
                "response.created",
                "response.in_progress",
                "response.output_item.added",
                "response.content_part.added",
                "response.output_text.delta",
                "response.output_text.done",
                "response.content_part.done",
                "response.output_item.done",
                "response.completed",
            ]
        );
        assert!(done && failure.is_none() && !out.contains("[DONE]"), "{out}");
        assert!(out.contains(r#""total_tokens":5"#), "{out}");
    }
}
