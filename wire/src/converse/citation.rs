//! What a text rests on.

use crate::json::{Json, Object};
use crate::neutral::{Citation, Place, Unit};

/// How a document's places are called, with the name of the document's number.
const PLACES: [(Unit, &str, &str); 4] = [
    (Unit::Character, "documentChar", "documentIndex"),
    (Unit::Page, "documentPage", "documentIndex"),
    (Unit::Block, "documentChunk", "documentIndex"),
    (Unit::SearchResult, "searchResultLocation", "searchResultIndex"),
];

/// One citation, of the text that it stands with.
pub(super) fn read_citation(json: Json<'_>) -> Citation<'_> {
    let cited = json.get("sourceContent").and_then(Json::list).unwrap_or_default();
    let web = json.at(&["location", "web", "url"]);
    Citation {
        url: web.or(json.get("source")).and_then(Json::text),
        title: json.get("title").and_then(Json::text),
        cited: cited.iter().find_map(|one| one.get("text")).and_then(Json::text),
        span: None,
        place: PLACES.into_iter().find_map(|(unit, name, document)| {
            let place = json.at(&["location", name])?;
            let whole = |key| place.get(key).and_then(Json::whole);
            let (start, end) = (whole("start")?, whole("end")?);
            Some(Place { unit, document: whole(document)?, start, end })
        }),
    }
}

/// Writes the members of a citation.
pub(super) fn write_citation(o: &mut Object<'_>, citation: &Citation<'_>) {
    o.some_text("title", citation.title);
    if let Some(cited) = citation.cited {
        o.list("sourceContent", |list| list.object(|o| o.text("text", cited)));
    }
    o.object("location", |o| match (citation.place, citation.url) {
        (Some(Place { unit, document, start, end }), _) => {
            let named = PLACES.iter().find(|(one, ..)| *one == unit);
            let Some((_, name, number)) = named else { return };
            o.object(name, |o| {
                o.whole(number, document);
                o.whole("start", start);
                o.whole("end", end);
            });
        }
        (None, Some(url)) => o.object("web", |o| o.text("url", url)),
        (None, None) => {}
    });
}
