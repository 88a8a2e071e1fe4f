//! What a text rests on.

use crate::json::{Json, List, Object};
use crate::neutral::{Citation, Place, Ruler, Unit};

/// How a document's places are called: the citation's type, and the names of document, start and end.
const PLACES: [(Unit, &str, [&str; 3]); 4] = [
    (Unit::Character, "char_location", ["document_index", "start_char_index", "end_char_index"]),
    (Unit::Page, "page_location", ["document_index", "start_page_number", "end_page_number"]),
    (
        Unit::Block,
        "content_block_location",
        ["document_index", "start_block_index", "end_block_index"],
    ),
    (
        Unit::SearchResult,
        "search_result_location",
        ["search_result_index", "start_block_index", "end_block_index"],
    ),
];

/// The citations of a text block.
pub(super) fn read_citations<'a>(list: Option<Json<'a>>) -> Vec<Citation<'a>> {
    let items = list.and_then(Json::list).unwrap_or_default();
    items.iter().map(read_citation).collect()
}

/// One citation, of the text that it stands with.
pub(super) fn read_citation<'a>(json: Json<'a>) -> Citation<'a> {
    let text = |key| json.get(key).and_then(Json::text);
    Citation {
        url: text("url").or_else(|| text("source")),
        title: text("document_title").or_else(|| text("title")),
        cited: text("cited_text"),
        span: None,
        place: read_place(json),
    }
}

fn read_place(json: Json<'_>) -> Option<Place> {
    let kind = json.get("type")?.text()?;
    let (unit, _, keys) = PLACES.into_iter().find(|(_, name, _)| *name == kind)?;
    let [document, start, end] = keys.map(|key| json.get(key).and_then(Json::whole));
    Some(Place { unit, document: document?, start: start?, end: end? })
}

/// Whether the protocol has a word for it: it says where the source is.
pub(crate) fn is_citable(citation: &Citation<'_>) -> bool {
    citation.url.is_some() || citation.place.is_some()
}

/// The member `citations`, if there are any.
pub(super) fn write_citations<'c, 'a: 'c>(
    object: &mut Object<'_>,
    citations: impl Iterator<Item = &'c Citation<'a>> + Clone,
) {
    let mut citations = citations.filter(|one| is_citable(one)).peekable();
    if citations.peek().is_some() {
        object.list("citations", |list| citations.for_each(|one| add(list, one)));
    }
}

fn add(list: &mut List<'_>, citation: &Citation<'_>) {
    list.object(|o| write_citation(o, citation));
}

/// The members of a citation that [is one](is_citable).
pub(super) fn write_citation(o: &mut Object<'_>, citation: &Citation<'_>) {
    let title = |o: &mut Object<'_>, key| match citation.title {
        Some(title) => o.text(key, title),
        None => o.null(key),
    };
    let found = citation.place.and_then(|place| {
        let named = PLACES.iter().find(|(unit, ..)| *unit == place.unit);
        named.map(|(_, kind, keys)| (place, *kind, *keys))
    });
    match found {
        Some((Place { unit, document, start, end }, kind, keys)) => {
            o.text("type", kind);
            for (key, place) in keys.into_iter().zip([document, start, end]) {
                o.whole(key, place);
            }
            if unit == Unit::SearchResult {
                o.text("source", citation.url.unwrap_or_default());
                title(o, "title");
            } else {
                title(o, "document_title");
            }
        }
        None => {
            o.text("type", "web_search_result_location");
            o.text("url", citation.url.unwrap_or_default());
            title(o, "title");
            // Anthropic's own mark of a result; it takes no other's, and does not get this one back.
            o.text("encrypted_index", "");
        }
    }
    o.text("cited_text", citation.cited.unwrap_or_default());
}

/// A text in pieces, each with what it rests on: citations say here by where they stand what they
/// belong to. `start` is where the text begins among all of its choice, in characters.
pub(super) fn pieces<'t, 'c, 'a>(
    text: &'t str,
    start: u64,
    citations: &'c [Citation<'a>],
) -> Vec<(&'t str, Vec<&'c Citation<'a>>)> {
    let mut ruler = Ruler::default();
    ruler.add(text);
    let length = ruler.characters();
    let inside = |place: u64| place.saturating_sub(start).min(length);
    let span = |citation: &Citation<'_>| match citation.span {
        Some((from, to)) => (inside(from), inside(to)),
        None => (0, length),
    };
    let mut ends: Vec<u64> = citations.iter().map(span).flat_map(|(from, to)| [from, to]).collect();
    ends.push(length);
    ends.retain(|end| *end > 0 || length == 0);
    ends.sort_unstable();
    ends.dedup();
    let (mut from, mut begun) = (0, 0);
    let mut pieces: Vec<(&str, Vec<_>)> = Vec::with_capacity(ends.len());
    let bytes = |place| {
        let byte = ruler.byte_at(place).and_then(|byte| usize::try_from(byte).ok());
        byte.unwrap_or(text.len())
    };
    let last = ends.len().saturating_sub(1);
    for (at, end) in ends.into_iter().enumerate() {
        let belongs = |citation: &&Citation<'_>| {
            let (_, to) = span(citation);
            to == end || (to == 0 && at == 0)
        };
        let own: Vec<_> = citations.iter().filter(belongs).collect();
        let piece = text.get(bytes(from)..bytes(end)).unwrap_or_default();
        // A block must not be blank: what is goes with a neighbour.
        if own.is_empty() && piece.trim().is_empty() && at < last {
            continue;
        }
        match pieces.last_mut().filter(|_| own.is_empty() && piece.trim().is_empty()) {
            Some((before, _)) => *before = text.get(bytes(begun)..bytes(end)).unwrap_or_default(),
            None => pieces.push((piece, own)),
        }
        (begun, from) = (from, end);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Tree, object};

    #[test]
    fn citations_there_and_back() {
        let web = Citation {
            url: Some("https://a"),
            title: Some("A"),
            cited: Some("x"),
            ..Citation::default()
        };
        let mut all = vec![web.clone(), Citation { title: None, cited: Some(""), ..web.clone() }];
        for (unit, ..) in PLACES {
            let place = Some(Place { unit, document: 1, start: 2, end: 3 });
            let url = (unit == Unit::SearchResult).then_some("https://a");
            all.push(Citation { url, place, ..web.clone() });
        }
        for citation in all {
            let mut out = Vec::new();
            object(&mut out, |o| write_citations(o, core::iter::once(&citation)));
            let mut tree = Tree::default();
            let json = tree.parse(&out).unwrap();
            assert_eq!(read_citations(json.get("citations")), [citation]);
        }
    }

    #[test]
    fn what_does_not_say_where_it_is_from_is_none() {
        let mut out = Vec::new();
        let nowhere = Citation { cited: Some("x"), ..Citation::default() };
        object(&mut out, |o| write_citations(o, core::iter::once(&nowhere)));
        assert_eq!(out, b"{}");
    }

    #[test]
    fn a_text_is_cut_where_sources_change() {
        let at = |url, span| Citation { url: Some(url), span, ..Citation::default() };
        let urls = |pieces: Vec<(&str, Vec<&Citation<'_>>)>| -> Vec<String> {
            let tell = |(text, own): (&str, Vec<&Citation<'_>>)| {
                let urls: Vec<_> = own.iter().filter_map(|one| one.url).collect();
                format!("{text}={}", urls.join("+"))
            };
            pieces.into_iter().map(tell).collect()
        };
        let text = "Käse ist gelb. Ja.";
        for (citations, expected) in [
            (vec![], vec!["Käse ist gelb. Ja.="]),
            (vec![at("a", None)], vec!["Käse ist gelb. Ja.=a"]),
            (
                vec![at("a", Some((103, 114))), at("b", Some((103, 114)))],
                vec!["Käs=", "e ist gelb.=a+b", " Ja.="],
            ),
            (
                vec![at("a", Some((100, 114))), at("b", Some((105, 118)))],
                vec!["Käse =", "ist gelb.=a", " Ja.=b"],
            ),
            // A block must not be blank.
            (
                vec![at("a", Some((100, 104))), at("b", Some((105, 114)))],
                vec!["Käse=a", " ist gelb.=b", " Ja.="],
            ),
            (vec![at("a", Some((100, 105)))], vec!["Käse =a", "ist gelb. Ja.="]),
            // Of another text, or of nothing.
            (
                vec![at("a", Some((3, 50))), at("b", Some((900, 901)))],
                vec!["Käse ist gelb. Ja.=a+b"],
            ),
        ] {
            assert_eq!(urls(pieces(text, 100, &citations)), expected);
        }
        assert_eq!(urls(pieces("", 0, &[at("a", None)])), ["=a"]);
        assert_eq!(urls(pieces("a \n", 0, &[at("a", Some((0, 1)))])), ["a \n=a"]);
        assert_eq!(urls(pieces(" ", 0, &[])), [" ="]);
    }
}
