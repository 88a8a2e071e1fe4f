//! What is written is read back the same.

use pointsman_core::Usage;
use proptest::prelude::*;

use crate::generate::{read_answer, read_request, write_answer, write_request};
use crate::json::Tree;
use crate::neutral::arbitrary::{name, object, share, text, tool, web_citation};
use crate::neutral::{
    Answer, Choice, Citation, Finish, Format, Logprob, Media, Part, Request, Role, Sampling,
    Source, Stamp, Thinking, Tool, ToolChoice, Turn, WriteFor,
};

/// A model that is told how many tokens to think with.
const TARGET: WriteFor<'_> = WriteFor {
    model: "gemini-2.5-pro",
    max_output_default: None,
    openai: false,
    web_search: false,
};

fn plain() -> impl Strategy<Value = Part<'static>> {
    text().prop_map(Part::text)
}

fn media() -> impl Strategy<Value = Part<'static>> {
    let whole = |(media, source, mime)| Part::media(media, source, Some(mime));
    prop::sample::select(vec![
        (Media::Image, Source::Base64("iVBORw0K"), "image/png"),
        (Media::Image, Source::Url("https://a/b"), "image/jpeg"),
        (Media::Audio, Source::Base64("UklGR"), "audio/wav"),
        (Media::Video, Source::Url("https://a/b"), "video/mp4"),
        (Media::File, Source::Base64("JVBERi0x"), "application/pdf"),
    ])
    .prop_map(whole)
}

fn thought() -> impl Strategy<Value = Part<'static>> {
    text().prop_map(|text| Part::Reasoning { text, signature: None, redacted: None })
}

/// A call and its result, which has its own id.
fn call() -> impl Strategy<Value = (Part<'static>, Part<'static>)> {
    let output = prop_oneof![text(), Just("{\"a\":1,\"b\":\"x\"}"), Just("{\"output\":\"x\"}")];
    (name(), name(), object(), prop::option::of(text()), output, any::<bool>()).prop_map(
        |(id, name, arguments, signature, output, failed)| {
            let call = Part::ToolCall { id, name, arguments, signature, cache: None };
            let content = vec![Part::text(output)];
            let result = Part::ToolResult { id, name: Some(name), content, failed, cache: None };
            (call, result)
        },
    )
}

fn turns() -> impl Strategy<Value = Vec<Turn<'static>>> {
    let said = prop::collection::vec(prop_oneof![plain(), media()], 1..3);
    let answered = (prop::option::of(thought()), plain(), prop::collection::vec(call(), 0..3));
    prop::collection::vec((said, answered), 1..4).prop_map(|rounds| {
        let mut turns = Vec::new();
        let mut results = Vec::new();
        for (said, (thought, text, calls)) in rounds {
            let mut parts = core::mem::take(&mut results);
            parts.extend(said);
            turns.push(Turn { role: Role::User, parts, name: None });
            let (calls, next): (Vec<_>, Vec<_>) = calls.into_iter().unzip();
            results = next;
            let parts = thought.into_iter().chain([text]).chain(calls).collect();
            turns.push(Turn { role: Role::Assistant, parts, name: None });
        }
        turns
    })
}

fn tools() -> impl Strategy<Value = (Vec<Tool<'static>>, Option<ToolChoice<'static>>)> {
    let choice = prop_oneof![
        Just(None),
        Just(Some(ToolChoice::Auto)),
        Just(Some(ToolChoice::None)),
        Just(Some(ToolChoice::Required)),
        name().prop_map(|name| Some(ToolChoice::Named(name))),
    ];
    let uncached = tool(Just(None)).prop_map(|tool| Tool { cache: None, ..tool });
    (prop::collection::vec(uncached, 0..3), choice).prop_map(|(tools, choice)| {
        let choice = choice.filter(|_| !tools.is_empty());
        (tools, choice)
    })
}

fn format() -> impl Strategy<Value = Format<'static>> {
    let schema = |schema| Format::Schema { name: None, description: None, schema, strict: None };
    prop_oneof![Just(Format::Json), object().prop_map(schema)]
}

fn thinking() -> impl Strategy<Value = Thinking> {
    (128..32_000_u64, prop::option::of(any::<bool>())).prop_map(|(budget, shown)| Thinking {
        budget: Some(budget),
        effort: None,
        shown,
    })
}

prop_compose! {
    fn request()(
        system in prop::collection::vec(plain(), 0..3),
        turns in turns(),
        (tools, tool_choice) in tools(),
        format in prop::option::of(format()),
        (temperature, top_p, presence_penalty) in (
            prop::option::of(share()), prop::option::of(share()), prop::option::of(share())),
        thinking in prop::option::of(thinking()),
        stop in prop::collection::vec(text(), 0..4),
        (choices, max_output, logprobs) in (
            prop::option::of(1..5_u64), prop::option::of(1..9_u64), prop::option::of(0..5_u64)),
    ) -> Request<'static> {
        let sampling = Sampling {
            temperature, top_p, presence_penalty, top_k: Some("40"), seed: Some("-7"),
            ..Sampling::default()
        };
        Request {
            system, turns, tools, tool_choice, format, thinking, stop, choices, max_output,
            logprobs, sampling,
            ..Request::default()
        }
    }
}

/// Text with citations, each of which has a place in it.
fn cited() -> impl Strategy<Value = Part<'static>> {
    (text(), prop::collection::vec(web_citation(), 0..3)).prop_map(|(text, citations)| {
        let end = text.chars().count() as u64;
        let citations = (0..)
            .zip(citations)
            // Of the web Google says no words.
            .map(|(at, one)| Citation { span: Some((end.min(at), end)), cited: None, ..one });
        Part::Text { text, citations: citations.collect(), cache: None }
    })
}

fn choice() -> impl Strategy<Value = Choice<'static>> {
    let logprobs = prop_oneof![
        Just(Vec::new()),
        Just(vec![Logprob { token: "a", logprob: "-0.50", others: vec![("b", "-1")] }]),
    ];
    let parts = (prop::option::of(thought()), cited(), prop::collection::vec(call(), 0..2));
    (parts, logprobs, any::<bool>()).prop_map(|((thought, text, calls), logprobs, cut)| {
        let finish = match (cut, calls.is_empty()) {
            (true, _) => Finish::Length,
            (false, true) => Finish::Complete,
            (false, false) => Finish::ToolCalls,
        };
        let calls = calls.into_iter().map(|(call, _)| call);
        let parts = thought.into_iter().chain([text]).chain(calls).collect();
        Choice { parts, finish: Some(finish), stop: None, logprobs }
    })
}

proptest! {
    #[test]
    fn a_request_that_is_written_is_read_back(request in request()) {
        let written = write_request(&request, &TARGET).unwrap();
        prop_assert_eq!(&written.lost, &Vec::<String>::new());
        let mut tree = Tree::default();
    let json = tree.parse(&written.body).unwrap();
        let read = read_request(json).unwrap();
        prop_assert_eq!(read, request, "{}", String::from_utf8_lossy(&written.body));
    }

    #[test]
    fn an_answer_that_is_written_is_read_back(
        id in name(), model in name(), choices in prop::collection::vec(choice(), 1..3),
        input in 1..1_000_u64, reasoning in 0..9_u64,
    ) {
        let usage = Usage { input, output: 7 + reasoning, reasoning, ..Usage::default() };
        let answer = Answer { id: Some(id), model: Some(model), choices, usage: Some(usage), ..Answer::default() };
        let body = write_answer(&answer, Stamp { nonce: 1, created: 2 });
        let mut tree = Tree::default();
    let json = tree.parse(&body).unwrap();
        prop_assert_eq!(read_answer(json).unwrap(), answer, "{}", String::from_utf8_lossy(&body));
    }

    #[test]
    fn no_json_can_break_the_readers(text in "[\\[\\]{}:,\"a-z0-9 ]{0,60}") {
        if let Ok(json) = Tree::default().parse(text.as_bytes()) {
            let _ = (read_request(json), read_answer(json));
        }
    }
}
