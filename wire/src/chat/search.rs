//! Searching the web: `web_search_options`, which OpenAI's models of search take, and many of those
//! who speak like OpenAI.

use crate::json::{Fields, Json, Object};
use crate::neutral::{Location, Refused, Request, ToolChoice, Untranslatable, WebSearch, WriteFor};

const OPTIONS: &str = "web_search_options";

/// Whether a model of this name searches the web for every answer.
pub(super) fn is_search_model(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or_default();
    name.starts_with("gpt-")
        && ["-search-preview", "-search-api"].iter().any(|end| name.contains(end))
}

/// Reads the wish for a search, which the model's name may be.
pub(super) fn read_search<'a>(
    top: &mut Fields<'a>,
    lost: &mut Vec<String>,
) -> Result<Option<WebSearch<'a>>, Refused> {
    let model = top.take("model").and_then(Json::text).unwrap_or_default();
    let Some(mut options) = top.fields(OPTIONS)? else {
        let search = WebSearch { path: "model".to_owned(), ..WebSearch::default() };
        return Ok(is_search_model(model).then_some(search));
    };
    let location = match options.fields("user_location")? {
        Some(mut about) => {
            about.take("type");
            let inner = about.fields("approximate")?;
            about.report_rest(lost);
            inner
        }
        None => None,
    };
    let location = location.map(|fields| Location::read(fields, lost)).transpose()?;
    let context = options.text("search_context_size")?;
    options.report_rest(lost);
    let path = OPTIONS.to_owned();
    Ok(Some(WebSearch { path, location, context, ..WebSearch::default() }))
}

/// Writes the wish. Who does not know the member would leave it out and answer all the same, so that it
/// is for those alone who are known to search.
pub(super) fn write_search(
    request: &Request<'_>,
    target: &WriteFor<'_>,
    o: &mut Object<'_>,
    lost: &mut Vec<String>,
) -> Result<(), Untranslatable> {
    let Some(search) = &request.web_search else { return Ok(()) };
    if request.tool_choice == Some(ToolChoice::None) {
        lost.push(search.path.clone());
        return Ok(());
    }
    let refuse = |why| Err(Untranslatable { path: search.path.clone(), why });
    // OpenAI's other models search in responses alone.
    let known = target.web_search && !target.openai;
    if !known && !is_search_model(target.model) {
        return refuse(
            "asks for a search of the web, which this model is not known to do in chat completions \
             (`supports: { web_search: true }` says that a deployment does)",
        );
    }
    if !search.allowed.is_empty() || !search.blocked.is_empty() {
        return refuse("names domains to search, which the chat protocol cannot");
    }
    lost.extend(search.max_uses.map(|_| format!("{}.max_uses", search.path)));
    o.object(OPTIONS, |o| {
        o.some_text("search_context_size", search.context);
        if let Some(location) = search.location {
            o.object("user_location", |o| {
                o.text("type", "approximate");
                o.object("approximate", |o| location.write(o));
            });
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_of_search_are_known_by_their_names() {
        for model in [
            "gpt-4o-search-preview",
            "openai/gpt-4o-mini-search-preview-2025-03-11",
            "gpt-5-search-api",
        ] {
            assert!(is_search_model(model), "{model}");
        }
        for model in ["gpt-4o", "my-search-api", "gpt-4o/search", ""] {
            assert!(!is_search_model(model), "{model}");
        }
    }
}
