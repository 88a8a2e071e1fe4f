//! The parts of a content, in a request.

use std::collections::{BTreeMap, VecDeque};

use super::members::Members;
use crate::fault::RequestFault;
use crate::json::Json;
use crate::neutral::{About, Media, Part, Refused, Source, Untranslatable};

/// Files that lie at Google, which alone can read them.
const UPLOADED: [&str; 3] = ["https://generativelanguage.googleapis.com/", "gs://", "files/"];
/// Kinds of parts that come of tools of Google's own.
const ONLY_HERE: [&str; 2] = ["executableCode", "codeExecutionResult"];

/// Reads the parts of one request. Calls need not have ids here: those without are given one, and
/// results are matched with them by name and order.
#[derive(Debug, Default)]
pub(super) struct PartReader<'a> {
    calls: usize,
    /// Calls without an id of their own that no result has answered yet, by name.
    waiting: BTreeMap<&'a str, VecDeque<&'a str>>,
}

impl<'a> PartReader<'a> {
    pub(super) fn read(
        &mut self,
        json: Json<'a>,
        path: String,
        lost: &mut Vec<String>,
    ) -> Result<Part<'a>, Refused> {
        let mut part = Members::of(json, path.clone())?;
        for key in ONLY_HERE {
            if part.take(key).is_some() {
                let why = "is a kind of content that only Gemini's protocol has";
                return Err(Untranslatable { path: part.path(key), why }.into());
            }
        }
        let thought = part.flag("thought")?.unwrap_or(false);
        let signature = part.text("thoughtSignature")?;
        let read = if let Some(text) = part.text("text")? {
            // A signature says what was thought, not what was said: other protocols have no place.
            lost.extend(signature.map(|_| part.path("thoughtSignature")));
            if thought {
                Part::Reasoning { text, signature: None, redacted: None }
            } else {
                Part::text(text)
            }
        } else if let Some(blob) = part.members("inlineData")? {
            inline(blob)?
        } else if let Some(file) = part.members("fileData")? {
            uploaded(file)?
        } else if let Some(call) = part.take("functionCall") {
            self.call(call, part.path("functionCall"), signature)?
        } else if let Some(result) = part.take("functionResponse") {
            self.result(result, part.path("functionResponse"), lost)?
        } else {
            let expected = "text, data, a function's call or its response";
            return Err(RequestFault::Wrong { path, expected }.into());
        };
        part.report_rest(lost);
        Ok(read)
    }

    fn call(
        &mut self,
        json: Json<'a>,
        path: String,
        signature: Option<&'a str>,
    ) -> Result<Part<'a>, Refused> {
        let mut call = Members::of(json, path)?;
        let name = call.need_text("name")?;
        self.calls += 1;
        let id = match call.text("id")? {
            Some(id) => id,
            None => {
                let made = json.keep(|| format!("call_{}", self.calls));
                self.waiting.entry(name).or_default().push_back(made);
                made
            }
        };
        let arguments = call.object("args")?.map(Json::raw).unwrap_or_default();
        Ok(Part::ToolCall { id, name, arguments, signature, cache: None })
    }

    fn result(
        &mut self,
        json: Json<'a>,
        path: String,
        lost: &mut Vec<String>,
    ) -> Result<Part<'a>, Refused> {
        let mut result = Members::of(json, path)?;
        let name = result.need_text("name")?;
        let waiting = || self.waiting.get_mut(name).and_then(VecDeque::pop_front);
        let Some(id) = result.text("id")?.or_else(waiting) else {
            let expected = "the response to a call before it";
            return Err(RequestFault::Wrong { path: result.path("name"), expected }.into());
        };
        let (text, failed) = match result.object("response")? {
            Some(response) => output(response),
            None => ("", false),
        };
        let mut content = vec![Part::text(text)];
        for (at, json) in result.items("parts")?.iter().enumerate() {
            let path = format!("{}[{at}]", result.path("parts"));
            content.push(self.read(json, path, lost)?);
        }
        result.report_rest(lost);
        Ok(Part::ToolResult { id, name: Some(name), content, failed, cache: None })
    }
}

/// A response is an object. Where all it has is its output or an error, that is what it says.
fn output<'a>(response: Json<'a>) -> (&'a str, bool) {
    let one = response.members().filter(|members| members.len() == 1);
    match one.and_then(|members| members.iter().next()) {
        Some(("error", value)) => (value.text().unwrap_or(value.raw()), true),
        Some(("output" | "result", value)) => (value.text().unwrap_or(value.raw()), false),
        _ => (response.raw(), false),
    }
}

fn inline<'a>(mut blob: Members<'a>) -> Result<Part<'a>, Refused> {
    let mime = blob.need_text("mimeType")?;
    let source = Source::Base64(blob.need_text("data")?);
    let name = blob.text("displayName")?;
    Ok(Part::Media {
        media: kind(mime),
        source,
        mime: Some(mime),
        name,
        detail: None,
        cache: None,
        about: About::default(),
    })
}

fn uploaded<'a>(mut file: Members<'a>) -> Result<Part<'a>, Refused> {
    let mime = file.text("mimeType")?;
    let uri = file.need_text("fileUri")?;
    let here = UPLOADED.iter().any(|start| uri.starts_with(start));
    let source = if here { Source::Uploaded(uri) } else { Source::Url(uri) };
    let media = mime.map_or(Media::File, kind);
    let name = file.text("displayName")?;
    Ok(Part::Media {
        media,
        source,
        mime,
        name,
        detail: None,
        cache: None,
        about: About::default(),
    })
}

/// What kind of media has this type.
pub(super) fn kind(mime: &str) -> Media {
    match mime.split('/').next() {
        Some("image") => Media::Image,
        Some("audio") => Media::Audio,
        Some("video") => Media::Video,
        _ => Media::File,
    }
}
