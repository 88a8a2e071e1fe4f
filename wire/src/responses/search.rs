//! Searching the web: the tool of OpenAI's own, and the items that say what it did.

use crate::json::{Fields, Json, Object};
use crate::neutral::{Location, Page, Refused, Search, Untranslatable, WebSearch, is_ours};

/// Whether a tool of this type is the search, of whichever version.
pub(super) fn is_search(kind: &str) -> bool {
    kind == "web_search"
        || kind == "web_search_preview"
        || kind.starts_with("web_search_2")
        || kind.starts_with("web_search_preview_2")
}

/// Reads the tool, of which the type is known.
pub(super) fn read_tool<'a>(
    mut tool: Fields<'a>,
    path: String,
    lost: &mut Vec<String>,
) -> Result<WebSearch<'a>, Refused> {
    if tool.flag("external_web_access")? == Some(false) {
        let path = tool.path("external_web_access");
        let why = "asks for a search in what OpenAI has kept of the web, which only OpenAI can do";
        return Err(Untranslatable { path, why }.into());
    }
    let location = tool.fields("user_location")?;
    let location = location.map(|fields| Location::read(fields, lost)).transpose()?;
    let mut search = WebSearch {
        path,
        location,
        context: tool.text("search_context_size")?,
        ..WebSearch::default()
    };
    if let Some(mut filters) = tool.fields("filters")? {
        search.allowed = filters.texts("allowed_domains")?;
        search.blocked = filters.texts("blocked_domains")?;
        filters.report_rest(lost);
    }
    tool.report_rest(lost);
    Ok(search)
}

/// Whether an item is a search that was made. Only who made it can read what it found.
pub(super) fn is_step(item: Json<'_>) -> bool {
    item.get("type").and_then(Json::text) == Some("web_search_call")
}

/// Whether an item of this id is a thought or a search of our telling.
pub(super) fn is_foreign(id: &str) -> bool {
    ["rs_", "ws_"].iter().any(|prefix| is_ours(id, prefix))
}

/// Writes the members of an item that is a search.
pub(super) fn write_search(o: &mut Object<'_>, id: &str, search: &Search<'_>, status: &str) {
    o.text("id", id);
    o.text("type", "web_search_call");
    o.text("status", status);
    o.object("action", |o| {
        o.text("type", "search");
        o.text("query", search.queries.first().copied().unwrap_or_default());
        o.list("queries", |list| search.queries.iter().for_each(|query| list.text(query)));
        o.list("sources", |list| {
            for Page { url, .. } in &search.found {
                list.object(|o| {
                    o.text("type", "url");
                    o.text("url", url);
                });
            }
        });
    });
}

/// How a search ended.
pub(super) const fn status(search: &Search<'_>) -> &'static str {
    if search.failed.is_some() { "failed" } else { "completed" }
}
