//! A responses request read into the neutral model.

use super::read_input::read_input;
use super::read_tools::read_tools;
use crate::chat::{EFFORTS, find_tier, read_effort};
use crate::fault::RequestFault;
use crate::json::{Fields, Json};
use crate::neutral::{Format, Hint, Part, Refused, Request, Thinking, Untranslatable};

/// Members that only OpenAI's protocols have and that change no answer in kind.
const HINTS: [&str; 5] = [
    "metadata",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "service_tier",
];

/// Members that speak of what OpenAI itself keeps or does.
const OWN: [(&str, &str); 5] = [
    ("previous_response_id", KEPT),
    ("conversation", KEPT),
    ("prompt", KEPT),
    ("moderation", "asks for a judgement that only OpenAI itself can give"),
    ("background_options", LATER),
];
const KEPT: &str = "names something that OpenAI keeps, so only OpenAI itself can answer";
const LATER: &str = "asks for an answer to be fetched later, which only OpenAI itself keeps";
const STORED: &str = "asks for the answer to be kept, which only OpenAI itself does";

const SAFETY: &str = "safety_identifier";

/// What asks for probabilities, among the things to include.
const LOGPROBS: &str = "message.output_text.logprobs";
/// What asks for the pages that a search found.
const SOURCES: &str = "web_search_call.action.sources";

/// Reads the whole body.
///
/// # Errors
/// The body is at fault, or says what no other protocol can.
pub(crate) fn read_request<'a>(body: Json<'a>) -> Result<Request<'a>, Refused> {
    let mut top = Fields::of(body, "")?;
    let mut request = Request::default();
    refuse_own(&mut top)?;
    // The target's, and what only pads a stream.
    top.take("model");
    top.take("stream_options");
    request.stream = top.flag("stream")?.unwrap_or(false);
    request.system.extend(top.text("instructions")?.map(Part::text));
    read_input(&mut top, &mut request)?;
    read_tools(&mut top, &mut request)?;
    // The only tool of the provider's own that others have too.
    if let Some(search) = &mut request.web_search {
        search.max_uses = top.whole("max_tool_calls")?;
    }
    read_text(&mut top, &mut request)?;
    request.sampling.temperature = top.number("temperature")?;
    request.sampling.top_p = top.number("top_p")?;
    request.max_output = top.whole("max_output_tokens")?;
    request.thinking = read_reasoning(&mut top, &mut request.lost)?;
    request.logprobs = read_logprobs(&mut top, &mut request.lost)?;
    request.user = top.text("user")?;
    match request.user {
        // Its newer name.
        None => request.user = top.text(SAFETY)?,
        Some(_) => read_hint(&mut top, SAFETY, SAFETY, SAFETY, &mut request),
    }
    for name in HINTS {
        read_hint(&mut top, name, name, name, &mut request);
    }
    find_tier(&mut request);
    top.report_rest(&mut request.lost);
    Ok(request)
}

fn refuse_own(top: &mut Fields<'_>) -> Result<(), Refused> {
    let own = |path: &str, why| Err(Untranslatable { path: path.to_owned(), why }.into());
    for (key, why) in OWN {
        if top.take(key).is_some() {
            return own(key, why);
        }
    }
    for (key, why) in [("store", STORED), ("background", LATER)] {
        if top.flag(key)? == Some(true) {
            return own(key, why);
        }
    }
    Ok(())
}

fn read_hint<'a>(
    fields: &mut Fields<'a>,
    key: &str,
    path: &'static str,
    name: &'static str,
    request: &mut Request<'a>,
) {
    if let Some(json) = fields.take(key) {
        request.lost.push(path.to_owned());
        request.openai.push(Hint { path, name, json: json.raw() });
    }
}

/// Reads `text`: the form of the answer, and how long-winded it is.
fn read_text<'a>(top: &mut Fields<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    let Some(mut text) = top.fields("text")? else { return Ok(()) };
    if let Some(mut format) = text.fields("format")? {
        request.format = read_format(&mut format)?;
        format.report_rest(&mut request.lost);
    }
    read_hint(&mut text, "verbosity", "text.verbosity", "verbosity", request);
    text.report_rest(&mut request.lost);
    Ok(())
}

fn read_format<'a>(format: &mut Fields<'a>) -> Result<Option<Format<'a>>, Refused> {
    Ok(match format.need_text("type")? {
        "text" => None,
        "json_object" => Some(Format::Json),
        "json_schema" => Some(Format::Schema {
            name: format.text("name")?,
            description: format.text("description")?,
            schema: format.take("schema").ok_or_else(|| format.missing("schema"))?.raw(),
            strict: format.flag("strict")?,
        }),
        _ => {
            let why = "is a form only this protocol has";
            return Err(Untranslatable { path: format.path("type"), why }.into());
        }
    })
}

fn read_reasoning(
    top: &mut Fields<'_>,
    lost: &mut Vec<String>,
) -> Result<Option<Thinking>, RequestFault> {
    let Some(mut reasoning) = top.fields("reasoning")? else { return Ok(None) };
    let effort = reasoning.read("effort", EFFORTS, |json| read_effort(json.text()?))?;
    // Which of the two forms is meant matters only to OpenAI.
    let summary = [reasoning.text("summary")?, reasoning.text("generate_summary")?];
    let shown = summary.iter().any(Option::is_some).then_some(true);
    reasoning.report_rest(lost);
    let said = effort.is_some() || shown.is_some();
    Ok(said.then_some(Thinking { effort, budget: None, shown }))
}

fn read_logprobs(
    top: &mut Fields<'_>,
    lost: &mut Vec<String>,
) -> Result<Option<u64>, RequestFault> {
    let others = top.whole("top_logprobs")?;
    let mut asked = others.is_some_and(|others| others > 0);
    for (place, item) in top.list("include")?.unwrap_or_default().iter().enumerate() {
        match item.text() {
            Some(LOGPROBS) => asked = true,
            // They are in every answer that is translated.
            Some(SOURCES) => {}
            _ => lost.push(format!("include[{place}]")),
        }
    }
    Ok(asked.then_some(others.unwrap_or(0)))
}
