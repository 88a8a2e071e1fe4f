//! What a text rests on.

use crate::json::Json;
use crate::neutral::Citation;

/// One citation. Its places are in the document, not in the answer, so they say nothing here.
pub(super) fn read_citation(json: Json<'_>) -> Citation<'_> {
    let cited = json.get("sourceContent").and_then(Json::list).unwrap_or_default();
    Citation {
        url: json.at(&["location", "web", "url"]).and_then(Json::text),
        title: json.get("title").and_then(Json::text),
        cited: cited.iter().find_map(|one| one.get("text")).and_then(Json::text),
        span: None,
    }
}
