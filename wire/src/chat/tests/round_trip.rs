//! What is written is read back as it was.

use proptest::prelude::*;

use super::super::read_request;
use super::request::{said, with, write};
use crate::json::Tree;
use crate::neutral::arbitrary::name;
use crate::neutral::{
    About, Effort, Format, Media, Part, Request, Role, Sampling, Source, Thinking, Tool,
    ToolChoice, Turn,
};

/// Texts that a careless writer or reader would stumble over.
fn text() -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(vec!["a", "two words", "\"q\" \\ \n\t", "é中😀", "\u{1}{}[],:", "null"])
}

fn number() -> impl Strategy<Value = Option<&'static str>> {
    prop::option::of(prop::sample::select(vec!["0", "-1.50", "2e-3", "123456789012345678901"]))
}

fn plain() -> impl Strategy<Value = Part<'static>> {
    text().prop_map(Part::text)
}

fn media() -> impl Strategy<Value = Part<'static>> {
    let kinds = vec![
        (Media::Image, Source::Base64("AA=="), Some("image/png"), None, Some("high")),
        (Media::Image, Source::Url("https://a/?b=c"), None, None, None),
        (Media::Audio, Source::Base64("BB"), Some("audio/wav"), None, None),
        (Media::File, Source::Base64("CC"), Some("application/pdf"), Some("n.pdf"), None),
    ];
    prop::sample::select(kinds).prop_map(|(media, source, mime, name, detail)| Part::Media {
        media,
        source,
        mime,
        name,
        detail,
        cache: None,
        about: About::default(),
    })
}

fn call(id: &'static str) -> impl Strategy<Value = Part<'static>> {
    let arguments = prop::sample::select(vec!["{}", "{\"a\": [1.0, \"\\u00e9\"]}"]);
    (text(), arguments).prop_map(move |(name, arguments)| Part::ToolCall {
        id,
        name,
        arguments,
        signature: None,
        cache: None,
    })
}

/// A turn as the protocol can say it: one result at a time, calls behind texts.
fn turn() -> impl Strategy<Value = Turn<'static>> {
    let said = prop::collection::vec(prop_oneof![plain(), media()], 1..4);
    let spoken = prop::collection::vec(plain(), 0..3);
    let calls = prop_oneof![Just(vec![]), call("c1").prop_map(|call| vec![call])];
    let assistant = (spoken, calls).prop_map(|(parts, calls)| [parts, calls].concat());
    let result = prop::collection::vec(plain(), 1..3).prop_map(|content| {
        vec![Part::ToolResult { id: "c9", name: None, content, failed: false, cache: None }]
    });
    let refusal = text().prop_map(|why| vec![Part::Refusal(why)]);
    prop_oneof![
        (Just(Role::User), said, prop::option::of(text())),
        (Just(Role::Assistant), assistant, prop::option::of(text())),
        (Just(Role::Assistant), refusal, Just(None)),
        (Just(Role::User), result, Just(None)),
    ]
    .prop_map(|(role, parts, name)| Turn { role, parts, name })
}

fn tool() -> impl Strategy<Value = Tool<'static>> {
    let schema = prop::option::of(Just("{\"type\": \"object\"}"));
    (name(), prop::option::of(text()), schema, any::<Option<bool>>()).prop_map(
        |(name, description, schema, strict)| Tool {
            name,
            description,
            schema,
            strict,
            cache: None,
        },
    )
}

fn format() -> impl Strategy<Value = Option<Format<'static>>> {
    let schema = (text(), prop::option::of(text()), any::<Option<bool>>());
    let schema = schema.prop_map(|(name, description, strict)| {
        Some(Format::Schema { name: Some(name), description, schema: "{\"a\" :1}", strict })
    });
    prop_oneof![Just(None), Just(Some(Format::Json)), schema]
}

fn sampling() -> impl Strategy<Value = Sampling<'static>> {
    (number(), number(), number(), number(), number()).prop_map(|(t, p, f, q, seed)| Sampling {
        temperature: t,
        top_p: p,
        top_k: None,
        frequency_penalty: f,
        presence_penalty: q,
        seed,
        logit_bias: seed.map(|_| "{\"1\": 2}"),
    })
}

fn thinking() -> impl Strategy<Value = Option<Thinking>> {
    use Effort as E;
    let all = [E::None, E::Minimal, E::Low, E::Medium, E::High, E::Highest];
    let effort = prop::sample::select(all.to_vec()).prop_map(Some);
    prop::option::of(effort.prop_map(|effort| Thinking { effort, ..Thinking::default() }))
}

prop_compose! {
    fn request()(
        system in prop::collection::vec(plain(), 0..3),
        first in prop::collection::vec(plain(), 1..2),
        mut turns in prop::collection::vec(turn(), 0..5),
        tools in prop::collection::vec(tool(), 0..3),
        choice in prop::sample::select(vec![
            None, Some(ToolChoice::Auto), Some(ToolChoice::None), Some(ToolChoice::Required),
            Some(ToolChoice::Named("t")),
        ]),
        parallel: Option<bool>,
        (format, sampling, thinking) in (format(), sampling(), thinking()),
        (max_output, choices, logprobs) in any::<(Option<u64>, Option<u64>, Option<u64>)>(),
        stop in prop::collection::vec(text(), 0..4),
        user in prop::option::of(text()),
        stream: bool,
    ) -> Request<'static> {
        turns.insert(0, Turn { role: Role::User, parts: first, name: None });
        let tool_choice = choice.filter(|_| !tools.is_empty());
        let parallel_tools = parallel.filter(|_| !tools.is_empty());
        Request {
            system, turns, tools, tool_choice, parallel_tools, format, sampling, max_output, stop,
            choices, thinking, logprobs, user, stream, ..Request::default()
        }
    }
}

/// A result's name is that of the call before it.
fn without_names(mut request: Request<'_>) -> Request<'_> {
    for part in request.turns.iter_mut().flat_map(|turn| &mut turn.parts) {
        if let Part::ToolResult { name, .. } = part {
            *name = None;
        }
    }
    request
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(request in request()) {
        let (body, lost) = write(&request);
        prop_assert_eq!(lost, Vec::<String>::new());
        with(&body, |read| {
            prop_assert_eq!(without_names(read), request);
            Ok(())
        })?;
    }

    #[test]
    fn no_json_can_break_it(text in r#"[\[\]{}":,a-z0-9 ]{0,40}"#) {
        let body = said(&format!(r#""tools":{text},"messages":[{text}]"#));
        if let Ok(json) = Tree::default().parse(body.as_bytes()) {
            let _ = read_request(json);
        }
    }
}
