//! A chat completion request read into the neutral model.

use super::effort::{EFFORTS, read_effort};
use super::read_messages::read_messages;
use super::read_tools::read_tools;
use super::search::read_search;
use super::tier::find_tier;
use crate::fault::RequestFault;
use crate::json::{Fields, Json};
use crate::neutral::{Format, Hint, Refused, Request, Sampling, Thinking, Untranslatable};

/// Members that only OpenAI's protocols have and that change no answer in kind.
const HINTS: [&str; 7] = [
    "metadata",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "service_tier",
    "store",
    "verbosity",
];

const SAFETY: &str = "safety_identifier";

/// Members without which the answer would be another, and which no other protocol has.
const OWN: [(&str, &str); 3] = [
    ("functions", "is of an old form that has no place in another protocol: use `tools`"),
    ("function_call", "is of an old form that has no place in another protocol: use `tool_choice`"),
    ("moderation", "asks for a judgement that only the provider can give"),
];

/// Reads the whole body.
///
/// # Errors
/// The body is at fault, or says what no other protocol can.
pub(crate) fn read_request<'a>(body: Json<'a>) -> Result<Request<'a>, Refused> {
    let mut top = Fields::of(body, "")?;
    let mut request = Request::default();
    refuse_own(&mut top)?;
    // The relay's.
    top.take("stream_options");
    request.web_search = read_search(&mut top, &mut request.lost)?;
    request.stream = top.flag("stream")?.unwrap_or(false);
    read_messages(&mut top, &mut request)?;
    read_tools(&mut top, &mut request)?;
    request.format = read_format(&mut top, &mut request.lost)?;
    read_common(&mut top, &mut request)?;
    request.logprobs = read_logprobs(&mut top)?;
    match request.user {
        // Its newer name.
        None => request.user = top.text(SAFETY)?,
        Some(_) => read_hint(&mut top, SAFETY, &mut request),
    }
    HINTS.iter().for_each(|name| read_hint(&mut top, name, &mut request));
    find_tier(&mut request);
    top.report_rest(&mut request.lost);
    Ok(request)
}

/// Reads a request of which there are parameters alone.
///
/// # Errors
/// One is of the wrong type.
pub(crate) fn read_parameters<'a>(body: Json<'a>) -> Result<Request<'a>, RequestFault> {
    let mut request = Request::default();
    read_common(&mut Fields::of(body, "")?, &mut request)?;
    Ok(request)
}

/// What other protocols say as simply.
fn read_common<'a>(top: &mut Fields<'a>, request: &mut Request<'a>) -> Result<(), RequestFault> {
    request.sampling = read_sampling(top)?;
    request.max_output = read_max_output(top)?;
    request.stop = read_stop(top)?;
    request.choices = top.whole("n")?;
    let effort = top.read("reasoning_effort", EFFORTS, |json| read_effort(json.text()?))?;
    request.thinking =
        effort.map(|effort| Thinking { effort: Some(effort), ..Thinking::default() });
    request.user = top.text("user")?;
    Ok(())
}

fn refuse_own(top: &mut Fields<'_>) -> Result<(), Untranslatable> {
    for (key, why) in OWN {
        if top.take(key).is_some() {
            return Err(Untranslatable { path: key.to_owned(), why });
        }
    }
    let speaks = |json: Json<'_>| json.text() != Some("text");
    if top.take("modalities").and_then(Json::list).is_some_and(|kinds| kinds.iter().any(speaks)) {
        let why = "asks for an answer that is not text";
        return Err(Untranslatable { path: "modalities".to_owned(), why });
    }
    Ok(())
}

fn read_format<'a>(
    top: &mut Fields<'a>,
    lost: &mut Vec<String>,
) -> Result<Option<Format<'a>>, Refused> {
    let Some(mut format) = top.fields("response_format")? else { return Ok(None) };
    let read = match format.need_text("type")? {
        "text" => None,
        "json_object" => Some(Format::Json),
        "json_schema" => {
            let Some(mut inner) = format.fields("json_schema")? else {
                return Err(format.missing("json_schema").into());
            };
            let read = Format::Schema {
                name: inner.text("name")?,
                description: inner.text("description")?,
                schema: inner.take("schema").map_or("{}", Json::raw),
                strict: inner.flag("strict")?,
            };
            inner.report_rest(lost);
            Some(read)
        }
        _ => {
            let path = format.path("type");
            return Err(Untranslatable { path, why: "is a form only this protocol has" }.into());
        }
    };
    format.report_rest(lost);
    Ok(read)
}

fn read_sampling<'a>(top: &mut Fields<'a>) -> Result<Sampling<'a>, RequestFault> {
    let object = |json: Json<'a>| json.members().map(|_| json.raw());
    Ok(Sampling {
        temperature: top.number("temperature")?,
        top_p: top.number("top_p")?,
        // Not OpenAI's own, but common among those who speak its protocol.
        top_k: top.number("top_k")?,
        frequency_penalty: top.number("frequency_penalty")?,
        presence_penalty: top.number("presence_penalty")?,
        seed: top.number("seed")?,
        logit_bias: top.read("logit_bias", "an object", object)?,
    })
}

/// Some clients write -1 for no limit.
fn read_max_output(top: &mut Fields<'_>) -> Result<Option<u64>, RequestFault> {
    let mut limit = |key| {
        top.read(key, "a whole number", |json| {
            let negative = json.number()?.starts_with('-');
            if negative { Some(None) } else { json.whole().map(Some) }
        })
    };
    let (new, old) = (limit("max_completion_tokens")?, limit("max_tokens")?);
    Ok(new.flatten().or(old.flatten()))
}

fn read_stop<'a>(top: &mut Fields<'a>) -> Result<Vec<&'a str>, RequestFault> {
    let read = |json: Json<'a>| match json.list() {
        Some(items) => items.iter().map(Json::text).collect(),
        None => json.text().map(|text| vec![text]),
    };
    Ok(top.read("stop", "a string or a list of strings", read)?.unwrap_or_default())
}

fn read_logprobs(top: &mut Fields<'_>) -> Result<Option<u64>, RequestFault> {
    let (asked, others) = (top.flag("logprobs")?, top.whole("top_logprobs")?);
    Ok((asked == Some(true)).then_some(others.unwrap_or(0)))
}

fn read_hint<'a>(top: &mut Fields<'a>, name: &'static str, request: &mut Request<'a>) {
    if let Some(json) = top.take(name) {
        request.lost.push(name.to_owned());
        request.openai.push(Hint { path: name, name, json: json.raw() });
    }
}
