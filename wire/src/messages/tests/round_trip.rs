//! What is written is read back the same.

use pointsman_core::Usage;
use proptest::prelude::*;

use crate::json::Tree;
use crate::messages::{read_answer, read_request, write_answer, write_request};
use crate::neutral::arbitrary::{cache, name, object, plain, share, text, tool, web_citation};
use crate::neutral::{
    About, Answer, Choice, Finish, Format, Media, Part, Request, Role, Sampling, Source, Stamp,
    Thinking, ToolChoice, Turn, WriteFor,
};

/// A model that takes every parameter.
const TARGET: WriteFor<'_> =
    WriteFor { model: "other", max_output_default: None, openai: false, web_search: false };

fn media() -> impl Strategy<Value = Part<'static>> {
    let image = prop_oneof![
        Just((Media::Image, Source::Base64("iVBORw0K"), Some("image/png"))),
        Just((Media::Image, Source::Url("https://a/b.jpg"), None)),
    ];
    let file = prop_oneof![
        Just((Media::File, Source::Base64("JVBERi0x"), Some("application/pdf"))),
        Just((Media::File, Source::Url("https://a/b.pdf"), None)),
        text().prop_map(|text| (Media::File, Source::Text(text), Some("text/plain"))),
        pieces().prop_map(|pieces| (Media::File, pieces, None)),
    ];
    let whole = |((media, source, mime), name, cache)| Part::Media {
        media,
        source,
        mime,
        name,
        detail: None,
        cache,
        about: About::default(),
    };
    let found = |(source, origin, name, cited, cache)| Part::Media {
        media: Media::SearchResult,
        source,
        mime: None,
        name: Some(name),
        detail: None,
        cache,
        about: About { context: None, cited, origin: Some(origin) },
    };
    prop_oneof![
        (image, Just(None), cache()).prop_map(whole),
        (file, prop::option::of(text()), cache()).prop_map(whole),
        (pieces(), text(), text(), any::<bool>(), cache()).prop_map(found),
    ]
}

fn pieces() -> impl Strategy<Value = Source<'static>> {
    prop::collection::vec(text(), 1..3).prop_map(Source::Pieces)
}

fn thought() -> impl Strategy<Value = Part<'static>> {
    prop_oneof![
        (text(), text()).prop_map(|(text, signature)| Part::Reasoning {
            text,
            signature: Some(signature),
            redacted: None
        }),
        text().prop_map(|data| Part::Reasoning { text: "", signature: None, redacted: Some(data) }),
    ]
}

/// A call and its result.
fn call() -> impl Strategy<Value = (Part<'static>, Part<'static>)> {
    let content = prop::collection::vec(prop_oneof![plain(), media()], 0..3);
    (name(), object(), content, any::<bool>(), cache(), cache()).prop_map(
        |(called, arguments, content, failed, cache, result_cache)| {
            let id = Box::leak(format!("toolu_{called}").into_boxed_str());
            let call = Part::ToolCall { id, name: called, arguments, signature: None, cache };
            let name = Some(called);
            let result = Part::ToolResult { id, name, content, failed, cache: result_cache };
            (call, result)
        },
    )
}

/// What the user says and what the assistant answers; the calls in it are answered by the next.
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

fn tool_choice() -> impl Strategy<Value = (Option<ToolChoice<'static>>, Option<bool>)> {
    prop_oneof![
        Just((None, None)),
        Just((Some(ToolChoice::None), None)),
        prop::option::of(any::<bool>()).prop_map(|parallel| (Some(ToolChoice::Auto), parallel)),
        prop::option::of(any::<bool>()).prop_map(|parallel| (Some(ToolChoice::Required), parallel)),
        name().prop_map(|name| (Some(ToolChoice::Named(name)), Some(false))),
    ]
}

fn format() -> impl Strategy<Value = Format<'static>> {
    object().prop_map(|schema| Format::Schema {
        name: None,
        description: None,
        schema,
        strict: None,
    })
}

fn thinking() -> impl Strategy<Value = Option<Thinking>> {
    prop_oneof![
        Just(None),
        Just(Some(Thinking { budget: Some(0), ..Thinking::default() })),
        (1_024..30_000_u64, prop::option::of(any::<bool>())).prop_map(|(budget, shown)| Some(
            Thinking { budget: Some(budget), effort: None, shown }
        )),
    ]
}

prop_compose! {
    fn request()(
        system in prop::collection::vec(plain(), 0..3),
        turns in turns(),
        tools in prop::collection::vec(tool(prop_oneof![Just(None), Just(Some(true))]), 0..3),
        (tool_choice, parallel_tools) in tool_choice(),
        format in prop::option::of(format()),
        (temperature, top_p) in (prop::option::of(share()), prop::option::of(share())),
        thinking in thinking(),
        stop in prop::collection::vec(text(), 0..3),
        user in prop::option::of(text()),
        stream: bool,
    ) -> Request<'static> {
        let mut request = Request {
            system, turns, tools, tool_choice, parallel_tools, format, thinking, stop, user, stream,
            max_output: Some(32_000),
            ..Request::default()
        };
        if request.tools.is_empty() {
            (request.tool_choice, request.parallel_tools) = (None, None);
        }
        let thinks = thinking.is_some_and(|thinking| thinking.budget != Some(0));
        let sampling = Sampling { temperature, top_p, top_k: Some("40"), ..Sampling::default() };
        if thinks {
            // What a model that thinks does not take.
            (request.tool_choice, request.parallel_tools) = (None, None);
            request.turns.retain(|turn| turn.role == Role::User);
            request.turns.truncate(1);
        } else {
            request.sampling = sampling;
        }
        request
    }
}

fn answer_part() -> impl Strategy<Value = Part<'static>> {
    let cited = (text(), prop::collection::vec(web_citation(), 0..2))
        .prop_map(|(text, citations)| Part::Text { text, citations, cache: None });
    let call = (name(), name(), object()).prop_map(|(id, name, arguments)| Part::ToolCall {
        id,
        name,
        arguments,
        signature: None,
        cache: None,
    });
    prop_oneof![cited, thought(), call]
}

prop_compose! {
    fn answer()(
        id in name(),
        model in name(),
        parts in prop::collection::vec(answer_part(), 0..4),
        (finish, stop) in prop_oneof![
            Just((Finish::Complete, None)),
            Just((Finish::Length, None)),
            Just((Finish::Refused, None)),
            Just((Finish::ToolCalls, None)),
            text().prop_map(|stop| (Finish::Stop, Some(stop))),
        ],
        input in 100..1_000_u64,
        cached in 0..100_u64,
    ) -> Answer<'static> {
        let usage = Usage { input, cached_input: cached, output: 7, ..Usage::default() };
        let choice = Choice { parts, finish: Some(finish), stop, logprobs: Vec::new() };
        Answer { id: Some(id), model: Some(model), choices: vec![choice], usage: Some(usage), ..Answer::default() }
    }
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
    fn an_answer_that_is_written_is_read_back(answer in answer()) {
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
