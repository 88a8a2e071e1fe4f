//! Content blocks, of requests and of answers.

use super::citation::read_citations;
use super::search::Step;
use crate::fault::RequestFault;
use crate::json::{Fields, Json};
use crate::neutral::{About, Cache, Media, Part, Refused, Search, Source, Untranslatable};

/// Reads the content of a turn or of a tool's result: a text or a list of blocks. What has no
/// place in other protocols and does not matter much goes to `lost`.
pub(super) fn read_content<'a>(
    json: Json<'a>,
    path: &str,
    lost: &mut Vec<String>,
) -> Result<Vec<Part<'a>>, Refused> {
    if let Some(text) = json.text() {
        return Ok(vec![Part::text(text)]);
    }
    let Some(blocks) = json.list() else {
        let path = path.to_owned();
        return Err(RequestFault::Wrong { path, expected: "a string or a list of blocks" }.into());
    };
    let read = |(at, block)| match Step::of(block) {
        Some(_) => Ok(Part::Search(Search::default())),
        None => read_block(block, format!("{path}[{at}]"), lost),
    };
    blocks.iter().enumerate().map(read).collect()
}

/// Reads one block.
pub(super) fn read_block<'a>(
    json: Json<'a>,
    path: String,
    lost: &mut Vec<String>,
) -> Result<Part<'a>, Refused> {
    let mut block = Fields::of(json, path.clone())?;
    let part = match block.need_text("type")? {
        "text" => Part::Text {
            text: block.need_text("text")?,
            citations: read_citations(block.take("citations")),
            cache: read_cache(&mut block)?,
        },
        "image" => media(&mut block, Media::Image, lost)?,
        "document" => media(&mut block, Media::File, lost)?,
        "search_result" => search_result(&mut block, lost)?,
        "thinking" => Part::Reasoning {
            text: block.need_text("thinking")?,
            signature: block.text("signature")?.filter(|signature| !signature.is_empty()),
            redacted: None,
        },
        "redacted_thinking" => {
            let redacted = Some(block.need_text("data")?);
            Part::Reasoning { text: "", signature: None, redacted }
        }
        "tool_use" => tool_use(&mut block)?,
        "tool_result" => tool_result(&mut block, lost)?,
        _ => {
            let why = "is a kind of content that only Anthropic's protocol has";
            return Err(Untranslatable { path, why }.into());
        }
    };
    block.report_rest(lost);
    Ok(part)
}

/// The member `cache_control`.
pub(super) fn read_cache<'a>(block: &mut Fields<'a>) -> Result<Option<Cache<'a>>, RequestFault> {
    let Some(mut cache) = block.fields("cache_control")? else { return Ok(None) };
    Ok(Some(Cache { ttl: cache.text("ttl")? }))
}

fn media<'a>(
    block: &mut Fields<'a>,
    media: Media,
    lost: &mut Vec<String>,
) -> Result<Part<'a>, Refused> {
    let path = block.path("source");
    let Some(mut source) = block.fields("source")? else {
        return Err(block.missing("source").into());
    };
    let whole = match source.need_text("type")? {
        "base64" => Source::Base64(source.need_text("data")?),
        "text" => Source::Text(source.need_text("data")?),
        "url" => Source::Url(source.need_text("url")?),
        "file" => Source::Uploaded(source.need_text("file_id")?),
        "content" => match source.take("content") {
            Some(json) if json.text().is_none() => {
                read_pieces(json, &source.path("content"), lost)?
            }
            _ => Source::Text(source.need_text("content")?),
        },
        _ => {
            let why = "is a kind of source that only Anthropic's protocol has";
            return Err(Untranslatable { path, why }.into());
        }
    };
    Ok(Part::Media {
        media,
        source: whole,
        mime: source.text("media_type")?,
        name: block.text("title")?,
        detail: None,
        cache: read_cache(block)?,
        about: About {
            context: block.text("context")?,
            cited: read_cited(block, lost)?,
            origin: None,
        },
    })
}

fn search_result<'a>(block: &mut Fields<'a>, lost: &mut Vec<String>) -> Result<Part<'a>, Refused> {
    let path = block.path("content");
    let content = block.take("content").ok_or_else(|| block.missing("content"))?;
    Ok(Part::Media {
        media: Media::SearchResult,
        source: read_pieces(content, &path, lost)?,
        mime: None,
        name: Some(block.need_text("title")?),
        detail: None,
        cache: read_cache(block)?,
        about: About {
            context: None,
            cited: read_cited(block, lost)?,
            origin: Some(block.need_text("source")?),
        },
    })
}

/// A text in blocks of its own.
fn read_pieces<'a>(
    json: Json<'a>,
    path: &str,
    lost: &mut Vec<String>,
) -> Result<Source<'a>, Refused> {
    let Some(blocks) = json.list() else {
        let path = path.to_owned();
        return Err(RequestFault::Wrong { path, expected: "a list of text blocks" }.into());
    };
    let mut read = |(at, block)| {
        let mut block = Fields::of(block, format!("{path}[{at}]"))?;
        if block.need_text("type")? != "text" {
            let why = "is a piece of a document that is no text";
            return Err(Untranslatable { path: block.path("type"), why }.into());
        }
        let text = block.need_text("text")?;
        block.report_rest(lost);
        Ok(text)
    };
    blocks.iter().enumerate().map(&mut read).collect::<Result<_, Refused>>().map(Source::Pieces)
}

/// Whether the member `citations` asks for them.
fn read_cited(block: &mut Fields<'_>, lost: &mut Vec<String>) -> Result<bool, RequestFault> {
    let Some(mut citations) = block.fields("citations")? else { return Ok(false) };
    let enabled = citations.flag("enabled")?.unwrap_or(false);
    citations.report_rest(lost);
    Ok(enabled)
}

fn tool_use<'a>(block: &mut Fields<'a>) -> Result<Part<'a>, Refused> {
    // Every call that a tool of the provider's own did not make says that it is `direct`.
    let caller = block.take("caller").and_then(|caller| caller.get("type")).and_then(Json::text);
    if caller.is_some_and(|caller| caller != "direct") {
        let why = "is a call by one of Anthropic's own tools";
        return Err(Untranslatable { path: block.path("caller"), why }.into());
    }
    let arguments =
        block.read("input", "an object", |json| json.members().is_some().then(|| json.raw()))?;
    Ok(Part::ToolCall {
        id: block.need_text("id")?,
        name: block.need_text("name")?,
        arguments: arguments.unwrap_or_default(),
        signature: None,
        cache: read_cache(block)?,
    })
}

fn tool_result<'a>(block: &mut Fields<'a>, lost: &mut Vec<String>) -> Result<Part<'a>, Refused> {
    let path = block.path("content");
    let content = block.take("content").map(|json| read_content(json, &path, lost)).transpose()?;
    Ok(Part::ToolResult {
        id: block.need_text("tool_use_id")?,
        name: None,
        content: content.unwrap_or_default(),
        failed: block.flag("is_error")?.unwrap_or(false),
        cache: read_cache(block)?,
    })
}
