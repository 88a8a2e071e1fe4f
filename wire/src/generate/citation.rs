//! What a text rests on: `groundingMetadata`, and `citationMetadata` for what was recited.

use crate::json::{Json, List, Object};
use crate::neutral::Citation;

/// The citations of a candidate. Google counts places in bytes; with the `text` they are places in
/// characters.
pub(super) fn read_citations<'a>(candidate: Json<'a>, text: Option<&str>) -> Vec<Citation<'a>> {
    let list = |path: &[&str]| candidate.at(path).and_then(Json::list).unwrap_or_default();
    let chunks = list(&["groundingMetadata", "groundingChunks"]);
    let supports = list(&["groundingMetadata", "groundingSupports"]);
    let mut citations = Vec::new();
    for support in supports {
        let segment = support.get("segment");
        let indices = support.get("groundingChunkIndices").and_then(Json::list);
        for index in indices.unwrap_or_default() {
            let at = index.whole().and_then(|index| usize::try_from(index).ok());
            let Some(chunk) = at.and_then(|at| chunks.get(at)) else { continue };
            let source = chunk.get("web").or_else(|| chunk.get("retrievedContext"));
            let cited = segment.and_then(|segment| segment.get("text")).and_then(Json::text);
            citations.push(citation(source, cited, segment, text));
        }
    }
    let recited = list(&["citationMetadata", "citations"]).iter();
    citations.extend(recited.map(|one| citation(Some(one), None, Some(one), text)));
    citations
}

fn citation<'a>(
    source: Option<Json<'a>>,
    cited: Option<&'a str>,
    segment: Option<Json<'a>>,
    text: Option<&str>,
) -> Citation<'a> {
    let of_source = |key| source.and_then(|source| source.get(key)).and_then(Json::text);
    let place = |key| segment.and_then(|segment| segment.get(key)).and_then(Json::whole);
    let characters = |bytes: u64| {
        let before = text?.get(..usize::try_from(bytes).ok()?)?;
        Some(before.chars().count() as u64)
    };
    // A place at the very beginning is not written.
    let end = place("endIndex").and_then(characters);
    let start = characters(place("startIndex").unwrap_or(0));
    Citation { url: of_source("uri"), title: of_source("title"), cited, span: start.zip(end) }
}

/// Writes the member `groundingMetadata` for citations, each with the text that it belongs to and
/// that text's place among the parts.
pub(super) fn write_citations(o: &mut Object<'_>, citations: &[(usize, &str, &Citation<'_>)]) {
    if citations.is_empty() {
        return;
    }
    o.object("groundingMetadata", |o| {
        o.list("groundingChunks", |list| {
            citations.iter().for_each(|(_, _, citation)| write_chunk(list, citation));
        });
        o.list("groundingSupports", |list| {
            for (index, (part, text, citation)) in citations.iter().enumerate() {
                list.object(|o| {
                    o.object("segment", |o| write_segment(o, *part, text, citation));
                    o.list("groundingChunkIndices", |list| list.raw(&index.to_string()));
                });
            }
        });
    });
}

fn write_chunk(list: &mut List<'_>, citation: &Citation<'_>) {
    list.object(|o| {
        o.object("web", |o| {
            o.some_text("uri", citation.url);
            o.some_text("title", citation.title);
        });
    });
}

fn write_segment(o: &mut Object<'_>, part: usize, text: &str, citation: &Citation<'_>) {
    if part > 0 {
        o.whole("partIndex", part as u64);
    }
    if let Some((start, end)) = citation.span {
        let bytes = |characters: u64| -> usize {
            let count = usize::try_from(characters).unwrap_or(usize::MAX);
            text.chars().take(count).map(char::len_utf8).sum()
        };
        o.whole("startIndex", bytes(start) as u64);
        o.whole("endIndex", bytes(end) as u64);
    }
    o.some_text("text", citation.cited);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Tree, object};

    #[test]
    fn places_are_bytes_there_and_characters_here() {
        let text = "äö is 中 told";
        let one = Citation {
            url: Some("https://a"),
            title: Some("A"),
            cited: Some("中"),
            span: Some((6, 7)),
        };
        let two = Citation { url: Some("https://b"), span: Some((0, 2)), ..Citation::default() };
        let mut out = Vec::new();
        object(&mut out, |o| write_citations(o, &[(0, text, &one), (0, text, &two)]));
        let mut tree = Tree::default();
        let json = tree.parse(&out).unwrap();
        assert_eq!(read_citations(json, Some(text)), [one, two]);
        let segment = json.at(&["groundingMetadata", "groundingSupports"]).unwrap();
        let segment = segment.list().unwrap().first().unwrap().get("segment").unwrap();
        assert_eq!(segment.raw(), r#"{"startIndex":8,"endIndex":11,"text":"中"}"#);
    }

    #[test]
    fn a_place_that_is_none_is_passed_over() {
        let json = br#"{"groundingMetadata":{"groundingChunks":[{"web":{"uri":"u"}}],
            "groundingSupports":[{"segment":{"endIndex":99},"groundingChunkIndices":[0,7]}]}}"#;
        let expected = Citation { url: Some("u"), ..Citation::default() };
        let mut tree = Tree::default();
        let json = tree.parse(json).unwrap();
        assert_eq!(read_citations(json, Some("ä")), [expected]);
    }
}
