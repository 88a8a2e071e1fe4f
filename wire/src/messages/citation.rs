//! What a text rests on.

use crate::json::{Json, List, Object};
use crate::neutral::Citation;

/// The citations of a text block.
pub(super) fn read_citations<'a>(list: Option<Json<'a>>) -> Vec<Citation<'a>> {
    let items = list.and_then(Json::list).unwrap_or_default();
    items.iter().map(read_citation).collect()
}

/// One citation. Its places are in the document, not in the answer, so they say nothing here.
pub(super) fn read_citation<'a>(json: Json<'a>) -> Citation<'a> {
    let text = |key| json.get(key).and_then(Json::text);
    Citation {
        url: text("url").or_else(|| text("source")),
        title: text("document_title").or_else(|| text("title")),
        cited: text("cited_text"),
        span: None,
    }
}

/// The member `citations`, if there are any.
pub(super) fn write_citations(object: &mut Object<'_>, citations: &[Citation<'_>]) {
    if !citations.is_empty() {
        object.list("citations", |list| citations.iter().for_each(|one| add(list, one)));
    }
}

fn add(list: &mut List<'_>, citation: &Citation<'_>) {
    list.object(|o| write_citation(o, citation));
}

/// The members of a citation: of the web where it has an address, else of the one document.
pub(super) fn write_citation(o: &mut Object<'_>, citation: &Citation<'_>) {
    let cited = citation.cited.unwrap_or_default();
    let title = |o: &mut Object<'_>, key| match citation.title {
        Some(title) => o.text(key, title),
        None => o.null(key),
    };
    if let Some(url) = citation.url {
        o.text("type", "web_search_result_location");
        o.text("url", url);
        title(o, "title");
        o.text("encrypted_index", "");
    } else {
        o.text("type", "char_location");
        o.whole("document_index", 0);
        title(o, "document_title");
        o.whole("start_char_index", 0);
        o.whole("end_char_index", cited.chars().count() as u64);
    }
    o.text("cited_text", cited);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Tree, object};

    #[test]
    fn citations_there_and_back() {
        for citation in [
            Citation { url: Some("https://a"), title: Some("A"), cited: Some("x"), span: None },
            Citation { url: None, title: Some("A"), cited: Some("ä"), span: None },
            Citation { url: Some("https://a"), title: None, cited: Some(""), span: None },
        ] {
            let mut out = Vec::new();
            object(&mut out, |o| write_citations(o, core::slice::from_ref(&citation)));
            let mut tree = Tree::default();
            let json = tree.parse(&out).unwrap();
            assert_eq!(read_citations(json.get("citations")), [citation]);
        }
    }

    #[test]
    fn a_citation_of_a_document_has_its_title() {
        let json = br#"{"type":"page_location","cited_text":"x","document_index":0,
            "document_title":"D","start_page_number":1,"end_page_number":2}"#;
        let mut tree = Tree::default();
        let json = tree.parse(json).unwrap();
        let expected = Citation { title: Some("D"), cited: Some("x"), ..Citation::default() };
        assert_eq!(read_citation(json), expected);
    }
}
