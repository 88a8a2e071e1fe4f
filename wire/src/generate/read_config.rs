//! The member `generationConfig`.

use super::members::Members;
use super::resolution::read_resolution;
use super::schema::json_schema;
use crate::fault::RequestFault;
use crate::json::Json;
use crate::neutral::{Effort, Format, Refused, Request, Sampling, Thinking, Untranslatable};

/// Reads the object into `request`.
pub(super) fn read_config<'a>(
    mut config: Members<'a>,
    request: &mut Request<'a>,
    lost: &mut Vec<String>,
) -> Result<(), Refused> {
    only_text(&mut config)?;
    request.sampling = Sampling {
        temperature: config.number("temperature")?,
        top_p: config.number("topP")?,
        top_k: config.number("topK")?,
        frequency_penalty: config.number("frequencyPenalty")?,
        presence_penalty: config.number("presencePenalty")?,
        seed: config.number("seed")?,
        logit_bias: None,
    };
    request.choices = config.whole("candidateCount")?;
    request.max_output = config.whole("maxOutputTokens")?;
    request.stop = config.texts("stopSequences")?;
    request.format = format(&mut config)?;
    request.thinking = thinking(&mut config, lost)?;
    let others = config.whole("logprobs")?;
    if config.flag("responseLogprobs")?.unwrap_or(false) {
        request.logprobs = Some(others.unwrap_or(0));
    }
    if let Some(word) = config.text("mediaResolution")?
        && !read_resolution(word, &mut request.turns)
    {
        lost.push(config.path("mediaResolution"));
    }
    config.report_rest(lost);
    Ok(())
}

/// Other protocols answer in text.
fn only_text(config: &mut Members<'_>) -> Result<(), Refused> {
    let why = "is something that only Gemini's protocol has";
    let refuse = |path| Err(Untranslatable { path, why }.into());
    let modalities = config.texts("responseModalities")?;
    if modalities.iter().any(|modality| !modality.eq_ignore_ascii_case("text")) {
        return refuse(config.path("responseModalities"));
    }
    for key in ["responseFormat", "speechConfig", "imageConfig"] {
        if config.take(key).is_some() {
            return refuse(config.path(key));
        }
    }
    Ok(())
}

fn format<'a>(config: &mut Members<'a>) -> Result<Option<Format<'a>>, Refused> {
    let own = config.object("responseSchema")?.map(json_schema);
    let schema = config.object("responseJsonSchema")?.map(Json::raw).or(own);
    match config.text("responseMimeType")? {
        None | Some("text/plain") => Ok(None),
        Some("application/json") => Ok(Some(match schema {
            Some(schema) => Format::Schema { name: None, description: None, schema, strict: None },
            None => Format::Json,
        })),
        Some(_) => {
            let why = "is neither plain text nor JSON";
            Err(Untranslatable { path: config.path("responseMimeType"), why }.into())
        }
    }
}

fn thinking(
    config: &mut Members<'_>,
    lost: &mut Vec<String>,
) -> Result<Option<Thinking>, RequestFault> {
    let Some(mut config) = config.members("thinkingConfig")? else { return Ok(None) };
    let level = config.text("thinkingLevel")?.map(str::to_ascii_uppercase);
    let effort = match level.as_deref() {
        None | Some("THINKING_LEVEL_UNSPECIFIED") => None,
        Some("MINIMAL") => Some(Effort::Minimal),
        Some("LOW") => Some(Effort::Low),
        Some("MEDIUM") => Some(Effort::Medium),
        Some("HIGH") => Some(Effort::High),
        Some("XHIGH") => Some(Effort::Highest),
        Some(_) => {
            let expected = "`MINIMAL`, `LOW`, `MEDIUM`, `HIGH` or `XHIGH`";
            return Err(RequestFault::Wrong { path: config.path("thinkingLevel"), expected });
        }
    };
    // -1 lets the model decide, which is as good as not to say.
    let budget = config.number("thinkingBudget")?.filter(|budget| !budget.starts_with('-'));
    let budget = match budget.map(str::parse) {
        Some(Ok(budget)) => Some(budget),
        None => None,
        Some(Err(_)) => {
            let expected = "a whole number";
            return Err(RequestFault::Wrong { path: config.path("thinkingBudget"), expected });
        }
    };
    let shown = config.flag("includeThoughts")?;
    config.report_rest(lost);
    Ok(Some(Thinking { effort, budget, shown }))
}
