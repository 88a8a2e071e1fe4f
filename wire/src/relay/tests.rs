//! What a relay makes of streams in OpenAI's chat protocol.

use proptest::prelude::*;

use super::*;

const ROLE: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\
                    \"content\":\"\"},\"finish_reason\":null}],\"usage\":null}\n\n";
const STOP: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const USAGE: &str = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\
                     \"completion_tokens\":2,\"total_tokens\":11,\
                     \"prompt_tokens_details\":{\"cached_tokens\":4}}}\n\n";
const DONE: &str = "data: [DONE]\n\n";

fn text(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

/// Everything a stream brought.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    out: String,
    /// What had been forwarded when the first content was reported.
    first_content: bool,
    failure: Option<FailureKind>,
    complete: bool,
    done: bool,
    usage: Option<Usage>,
    estimate: Usage,
}

fn run(relay: Relay, stream: &[u8], cuts: &[usize]) -> Seen {
    let mut relay = relay;
    let (mut seen, mut out) = (Seen::default(), Vec::new());
    let mut rest = stream;
    let take = |seen: &mut Seen, progress: Progress, out: &Vec<u8>| {
        assert!(!(seen.first_content && progress.first_content), "first content told twice");
        assert!(!(seen.failure.is_some() && progress.failure.is_some()), "failed twice");
        seen.first_content |= progress.first_content;
        assert!(out.is_empty() || seen.first_content, "delivered before content");
        seen.failure = seen.failure.or(progress.failure.map(|failure| failure.kind));
        (seen.complete, seen.done) = (progress.complete, progress.done);
    };
    for &cut in cuts {
        let (chunk, tail) = rest.split_at(cut.min(rest.len()));
        let progress = relay.push(chunk, &mut out);
        take(&mut seen, progress, &out);
        rest = tail;
    }
    let progress = relay.push(rest, &mut out);
    take(&mut seen, progress, &out);
    let progress = relay.end(&mut out);
    take(&mut seen, progress, &out);
    seen.out = String::from_utf8(out).unwrap();
    (seen.usage, seen.estimate) = (relay.usage(), relay.usage_or_estimate(9));
    seen
}

fn relay(stream: &str) -> Seen {
    run(Relay::new(Dialect::Chat, 1, true), stream.as_bytes(), &[])
}

#[test]
fn a_whole_stream_passes_but_for_the_usage_we_asked_for() {
    let before = [ROLE, &text("Hel"), &text("lo"), STOP].concat();
    let stream = [&before, USAGE, DONE].concat();
    let seen = relay(&stream);
    assert_eq!(seen.out, [&before, DONE].concat());
    let usage = Usage { input: 9, cached_input: 4, output: 2, ..Usage::default() };
    assert_eq!(seen.usage, Some(usage));
    assert!(seen.first_content && seen.complete && seen.done && seen.failure.is_none());
    assert_eq!(run(Relay::new(Dialect::Chat, 1, false), stream.as_bytes(), &[]).out, stream);
}

#[test]
fn nothing_is_delivered_before_content_and_then_everything() {
    let mut relay = Relay::new(Dialect::Chat, 1, true);
    let mut out = Vec::new();
    for held in [": ping\n\n", ROLE, "event: ping\ndata: {}\n\n", "\n", "data:\n\n"] {
        assert_eq!(relay.push(held.as_bytes(), &mut out), Progress::default());
        assert!(out.is_empty());
    }
    let word = text("Hi");
    assert!(relay.push(word.as_bytes(), &mut out).first_content);
    let all = [": ping\n\n", ROLE, "event: ping\ndata: {}\n\n", "\n", "data:\n\n", &word];
    assert_eq!(String::from_utf8(out).unwrap(), all.concat());
}

#[test]
fn content_is_whatever_the_user_waits_for() {
    for (delta, content) in [
        (r#"{"delta":{"role":"assistant"}}"#, false),
        (r#"{"delta":{"content":""}}"#, false),
        (r#"{"delta":{"content":null,"tool_calls":[]}}"#, false),
        (r#"{"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function"}]}}"#, false),
        (r#"{"delta":{"content":[{"text":"x"}]}}"#, true),
        (r#"{"delta":{"reasoning_content":"hm"}}"#, true),
        (r#"{"delta":{"reasoning":"hm"}}"#, true),
        (r#"{"delta":{"refusal":"no"}}"#, true),
        (r#"{"delta":{"tool_calls":[{"function":{"name":"f","arguments":""}}]}}"#, true),
        (r#"{"delta":{"tool_calls":[{"function":{"arguments":"{"}}]}}"#, true),
        (r#"{"delta":{"function_call":{"name":"f"}}}"#, true),
        (r#"{"delta":{"audio":{"data":"UklG"}}}"#, true),
        (r#"{"delta":{},"finish_reason":"length"}"#, true),
        (r#"{"delta":{},"finish_reason":null}"#, false),
        (r#"{"d\u0065lta":{"cont\u0065nt":"x"}}"#, true),
    ] {
        let frame = format!("data: {{\"choices\":[{delta}]}}\n\n");
        let progress = Relay::new(Dialect::Chat, 1, true).push(frame.as_bytes(), &mut Vec::new());
        assert_eq!(progress.first_content, content, "{delta}");
    }
}

#[test]
fn a_cut_has_one_name_before_content_and_another_after() {
    let seen = relay(ROLE);
    assert_eq!((seen.failure, &*seen.out), (Some(FailureKind::Server), ""));
    let seen = relay("");
    assert_eq!(seen.failure, Some(FailureKind::Server));
    let half = &[ROLE, &text("Hel"), "data: {\"choices\":[{\"ind"].concat();
    let seen = relay(half);
    assert_eq!(seen.failure, Some(FailureKind::BrokenStream));
    assert_eq!(seen.out, [ROLE, &text("Hel")].concat());
    assert!(seen.estimate.estimated && seen.estimate.output > 0 && seen.estimate.input == 9);
}

#[test]
fn an_end_without_done_is_clean_only_with_every_finish_reason() {
    let whole = [&text("Hi"), STOP].concat();
    let seen = relay(&whole);
    assert_eq!((seen.failure, seen.out), (None, [&whole, DONE].concat()));
    let seen = run(Relay::new(Dialect::Chat, 2, true), whole.as_bytes(), &[]);
    assert_eq!(seen.failure, Some(FailureKind::BrokenStream));
    let other = STOP.replace("\"index\":0", "\"index\":1");
    let both = [&*whole, &other].concat();
    let seen = run(Relay::new(Dialect::Chat, 2, true), both.as_bytes(), &[]);
    assert_eq!(seen.failure, None);
}

#[test]
fn a_last_frame_without_its_blank_line_counts_if_whole() {
    let before = [&text("Hi"), STOP].concat();
    let seen = relay(&[&before, "data: [DONE]"].concat());
    assert_eq!((seen.failure, seen.done, seen.out), (None, true, [&before, DONE].concat()));
}

#[test]
fn an_error_inside_is_the_failure_it_names() {
    let error =
        "data: {\"error\":{\"message\":\"slow down\",\"code\":\"rate_limit_exceeded\"}}\n\n";
    let seen = relay(&[ROLE, error].concat());
    assert_eq!((seen.failure, &*seen.out), (Some(FailureKind::RateLimited), ""));
    let event =
        "event: error\ndata: {\"message\":\"Overloaded\",\"type\":\"overloaded_error\"}\n\n";
    assert_eq!(relay(event).failure, Some(FailureKind::Overloaded));
    let late = [&text("Hi"), event, &text("again"), DONE].concat();
    let seen = relay(&late);
    assert_eq!((seen.failure, seen.out), (Some(FailureKind::BrokenStream), text("Hi")));
    assert!(!seen.done);
}

#[test]
fn garbage_ends_the_stream() {
    for garbage in ["data: {\"choices\":[\n\n", "data: <html>\n\n", "data: 7\n\n"] {
        assert_eq!(relay(garbage).failure, Some(FailureKind::Server), "{garbage}");
        let seen = relay(&[&text("Hi"), garbage, &text("more"), DONE].concat());
        assert_eq!((seen.failure, seen.out), (Some(FailureKind::BrokenStream), text("Hi")));
    }
    assert_eq!(relay("<html>\nno stream at all\n").failure, Some(FailureKind::Server));
}

#[test]
fn an_answer_of_nothing_is_a_failure() {
    assert_eq!(relay(&[ROLE, DONE].concat()).failure, Some(FailureKind::Server));
}

#[test]
fn what_follows_done_is_dropped() {
    let whole = [&text("Hi"), STOP, DONE].concat();
    let seen = relay(&[&whole, &text("more"), "garbage"].concat());
    assert_eq!((seen.failure, seen.out), (None, whole));
}

#[test]
fn memory_is_bounded() {
    let mut relay = Relay::new(Dialect::Chat, 1, true);
    let mut out = Vec::new();
    let chunk = [b'x'; 64 * 1024];
    let fails = |relay: &mut Relay, chunk: &[u8], out: &mut Vec<u8>| {
        (0..1_000).find_map(|_| relay.push(chunk, out).failure)
    };
    assert!(fails(&mut relay, &chunk, &mut out).is_some(), "an endless line");
    assert!(out.is_empty());
    let mut relay = Relay::new(Dialect::Chat, 1, true);
    let pings = ": ping\n\n".repeat(8 * 1024);
    assert!(fails(&mut relay, pings.as_bytes(), &mut out).is_some(), "endless pings");
    assert!(out.is_empty());
}

fn frame() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(text("wörld 日本 \\n")),
        1 => Just(ROLE.to_owned()),
        1 => Just(STOP.to_owned()),
        2 => Just(USAGE.to_owned()),
        1 => Just(DONE.to_owned()),
        1 => Just(": comment\n\n".to_owned()),
        1 => Just("\n".to_owned()),
        1 => Just("id: 7\nevent: message\ndata: {\"choices\":\ndata: []}\n\n".to_owned()),
        1 => Just("data: {\"error\":{\"code\":\"content_filter\"}}\n\n".to_owned()),
        1 => Just("data: {oops\n\n".to_owned()),
        1 => Just("data: {\"choices\":[]".to_owned()),
    ]
}

proptest! {
    #[test]
    fn where_the_network_cuts_changes_nothing(
        frames in prop::collection::vec(frame(), 0..10),
        end in prop_oneof![Just("\n"), Just("\r\n"), Just("\r")],
        mark: bool,
        withhold: bool,
        cuts in prop::collection::vec(0_usize..40, 0..60),
    ) {
        let stream = frames.concat().replace('\n', end);
        let stream = if mark { format!("\u{feff}{stream}") } else { stream };
        let whole = run(Relay::new(Dialect::Chat, 1, withhold), stream.as_bytes(), &[]);
        let cut = run(Relay::new(Dialect::Chat, 1, withhold), stream.as_bytes(), &cuts);
        prop_assert_eq!(&whole, &cut);
        let single = run(Relay::new(Dialect::Chat, 1, withhold), stream.as_bytes(), &vec![1; stream.len()]);
        prop_assert_eq!(&whole, &single);
    }

    #[test]
    fn no_bytes_can_break_it(chunks in prop::collection::vec(any::<Vec<u8>>(), 0..10)) {
        let mut relay = Relay::new(Dialect::Chat, 1, true);
        let mut out = Vec::new();
        for chunk in &chunks {
            relay.push(chunk, &mut out);
        }
        relay.end(&mut out);
        prop_assert!(out.len() <= chunks.concat().len() + 20);
    }
}
