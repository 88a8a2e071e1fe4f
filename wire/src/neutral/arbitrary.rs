//! Pieces of requests and answers as a test may invent them. What they borrow is never given back,
//! which a test can afford.

use proptest::prelude::*;

use super::{About, Cache, Citation, Event, Media, Part, Source, Tool};

fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// A text that is not empty, of any characters, without white space at its end, which is not said
/// where an answer is begun.
pub(crate) fn text() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        "[a-zA-Z ,.]{1,20}[a-z]",
        any::<String>().prop_map(|text| format!("x{text}x")),
        Just("\"\\\n\u{1}ä中😀".to_owned()),
    ]
    .prop_map(leak)
}

/// A name or an id as every protocol takes it.
pub(crate) fn name() -> impl Strategy<Value = &'static str> {
    "[a-z][a-z0-9_-]{0,12}".prop_map(leak)
}

/// A JSON object as somebody wrote it.
pub(crate) fn object() -> impl Strategy<Value = &'static str> {
    let member = ("[a-z]{1,4}", prop_oneof![Just("1.50"), Just("\"\\u00e9\""), Just("[ {} ]")]);
    prop::collection::vec(member, 0..3).prop_map(|members| {
        let members: Vec<_> =
            members.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
        leak(format!("{{{}}}", members.join(" ,")))
    })
}

/// A number between 0 and 1 as somebody wrote it.
pub(crate) fn share() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["0", "0.0", "0.70", "1", "2.5e-1"][..])
}

pub(crate) fn cache() -> impl Strategy<Value = Option<Cache<'static>>> {
    prop_oneof![
        3 => Just(None),
        1 => Just(Some(Cache { ttl: None })),
        1 => Just(Some(Cache { ttl: Some("1h") })),
    ]
}

/// What the client's own search found, in two pieces, to be cited.
pub(crate) fn found() -> Part<'static> {
    Part::Media {
        media: Media::SearchResult,
        source: Source::Pieces(vec!["one", "two"]),
        mime: None,
        name: Some("T"),
        detail: None,
        cache: None,
        about: About { context: None, cited: true, origin: Some("https://a.b") },
    }
}

/// Text without citations.
pub(crate) fn plain() -> impl Strategy<Value = Part<'static>> {
    (text(), cache()).prop_map(|(text, cache)| Part::Text { text, citations: Vec::new(), cache })
}

pub(crate) fn tool(
    strict: impl Strategy<Value = Option<bool>>,
) -> impl Strategy<Value = Tool<'static>> {
    (name(), prop::option::of(text()), object(), strict, cache()).prop_map(
        |(name, description, schema, strict, cache)| Tool {
            name,
            description,
            schema: Some(schema),
            strict,
            cache,
        },
    )
}

/// A citation of a page in the web, which says nothing of places.
pub(crate) fn web_citation() -> impl Strategy<Value = Citation<'static>> {
    (text(), prop::option::of(text()), text()).prop_map(|(url, title, cited)| Citation {
        url: Some(url),
        title,
        cited: Some(cited),
        span: None,
        place: None,
    })
}

/// An event that does not borrow from where it was read.
pub(crate) fn keep(event: &Event<'_>) -> Event<'static> {
    use super::{Block, Delta};
    let own = |text: &str| leak(text.to_owned());
    let some = |text: Option<&str>| text.map(own);
    match event {
        Event::Start { id, model } => Event::Start { id: some(*id), model: some(*model) },
        Event::Open { choice, block, kind } => Event::Open {
            choice: *choice,
            block: *block,
            kind: match kind {
                Block::Text => Block::Text,
                Block::Refusal => Block::Refusal,
                Block::Reasoning { redacted } => Block::Reasoning { redacted: some(*redacted) },
                Block::ToolCall { id, name, signature } => {
                    Block::ToolCall { id: own(id), name: own(name), signature: some(*signature) }
                }
            },
        },
        Event::Delta { choice, block, delta } => Event::Delta {
            choice: *choice,
            block: *block,
            delta: match delta {
                Delta::Text(text) => Delta::Text(own(text)),
                Delta::Arguments(text) => Delta::Arguments(own(text)),
                Delta::Signature(text) => Delta::Signature(own(text)),
                Delta::Citation(citation) => Delta::Citation(Citation {
                    url: some(citation.url),
                    title: some(citation.title),
                    cited: some(citation.cited),
                    span: citation.span,
                    place: citation.place,
                }),
                Delta::Logprobs(all) => Delta::Logprobs(
                    all.iter()
                        .map(|one| super::Logprob {
                            token: own(one.token),
                            logprob: own(one.logprob),
                            others: one.others.iter().map(|(a, b)| (own(a), own(b))).collect(),
                        })
                        .collect(),
                ),
            },
        },
        Event::Search { choice, search } => {
            let page = |page: &super::Page<'_>| super::Page {
                url: own(page.url),
                title: some(page.title),
            };
            Event::Search {
                choice: *choice,
                search: super::Search {
                    queries: search.queries.iter().map(|query| own(query)).collect(),
                    found: search.found.iter().map(page).collect(),
                    failed: some(search.failed),
                },
            }
        }
        Event::Lost(loss) => Event::Lost(*loss),
        Event::Close { choice, block } => Event::Close { choice: *choice, block: *block },
        Event::Finish { choice, finish, stop } => {
            Event::Finish { choice: *choice, finish: *finish, stop: some(*stop) }
        }
        Event::Usage(usage) => Event::Usage(*usage),
        Event::End => Event::End,
    }
}
