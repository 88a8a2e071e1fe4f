//! One event of a streamed response, and a whole one: is it content, and what else does it say.

use crate::chat::read_usage;
use crate::expected::Whole;
use crate::json::{Broken, Kind, Pull, Skimmer, Text};
use crate::relay::Chunk;
use crate::tokens::Estimate;

/// Reads one event's data; its name is in it once more, as `type`.
pub(crate) fn judge<'a>(json: &mut impl Pull<'a>) -> Result<Chunk, Broken> {
    let mut event = Event::default();
    if json.kind()? != Kind::Object {
        return json.broken("an object");
    }
    json.enter()?;
    while let Some(key) = json.next_member()? {
        match (&*key.decode(), json.kind()?) {
            ("type", Kind::String) => event.name = Some(json.string()?),
            ("delta", Kind::String) => event.delta = Some(json.string()?),
            ("item", Kind::Object) => event.read_item(json)?,
            ("response", Kind::Object) => event.whole = read_response(json)?,
            // An event that is an error of the gateway in front of the provider.
            ("error", kind) => {
                event.whole.error |= kind != Kind::Null;
                json.skip()?;
            }
            _ => _ = json.skip()?,
        }
    }
    json.end()?;
    Ok(event.chunk())
}

/// Reads a whole body.
pub(crate) fn judge_whole(body: &[u8]) -> Result<Whole, Broken> {
    let mut json = Skimmer::new(body);
    if json.kind()? != Kind::Object {
        return json.broken("an object");
    }
    let whole = read_response(&mut json)?;
    json.end()?;
    Ok(whole)
}

#[derive(Default)]
struct Event<'a> {
    name: Option<Text<'a>>,
    delta: Option<Text<'a>>,
    /// An item is told of that is neither a message nor a thought: those say nothing yet.
    acts: bool,
    whole: Whole,
}

impl Event<'_> {
    fn read_item<'a>(&mut self, json: &mut impl Pull<'a>) -> Result<(), Broken> {
        json.enter()?;
        while let Some(key) = json.next_member()? {
            if key.decode() == "type" && json.kind()? == Kind::String {
                self.acts = !matches!(&*json.string()?.decode(), "message" | "reasoning");
            } else {
                json.skip()?;
            }
        }
        Ok(())
    }

    fn chunk(self) -> Chunk {
        let name = self.name.map(|name| name.decode());
        let name = name.as_deref().unwrap_or_default();
        let mut chunk = Chunk { error: self.whole.error, ..Chunk::default() };
        match name {
            "response.completed" | "response.incomplete" => {
                chunk.usage = self.whole.usage;
                (chunk.content, chunk.done, chunk.finished) = (true, true, 1);
            }
            "response.failed" | "error" => chunk.error = true,
            "response.output_item.added" => chunk.content = self.acts,
            "response.output_item.done" => chunk.content = true,
            _ => {
                if let Some(delta) = self.delta.filter(|_| name.ends_with(".delta")) {
                    chunk.content = !delta.is_empty();
                    chunk.output.add_string(delta);
                }
            }
        }
        chunk
    }
}

fn read_response<'a>(json: &mut impl Pull<'a>) -> Result<Whole, Broken> {
    let mut whole = Whole::default();
    json.enter()?;
    while let Some(key) = json.next_member()? {
        match (&*key.decode(), json.kind()?) {
            ("output", Kind::Array) => {
                whole.answered = true;
                whole.output = Estimate::default();
                json.walk(&mut |text| whole.output.add_string(text))?;
            }
            ("usage", _) => whole.usage = read_usage(json)?,
            ("error", kind) => {
                whole.error = kind != Kind::Null;
                json.skip()?;
            }
            _ => _ = json.skip()?,
        }
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(data: &str) -> Chunk {
        judge(&mut Skimmer::new(data.as_bytes())).unwrap()
    }

    #[test]
    fn content_is_whatever_the_user_waits_for() {
        for (data, content) in [
            (r#"{"type":"response.created","response":{"output":[],"error":null}}"#, false),
            (
                r#"{"type":"response.output_item.added","item":{"type":"message","content":[]}}"#,
                false,
            ),
            (r#"{"type":"response.output_item.added","item":{"type":"reasoning"}}"#, false),
            (r#"{"type":"response.output_item.added","item":{"type":"function_call"}}"#, true),
            (r#"{"type":"response.output_item.added","item":{"type":"web_search_call"}}"#, true),
            (r#"{"type":"response.output_item.done","item":{"type":"message"}}"#, true),
            (r#"{"type":"response.content_part.added","part":{"type":"output_text"}}"#, false),
            (r#"{"delta":"a","type":"response.output_text.delta"}"#, true),
            (r#"{"type":"response.output_text.delta","delta":""}"#, false),
            (r#"{"type":"response.reasoning_summary_text.delta","delta":"hm"}"#, true),
            (r#"{"type":"response.function_call_arguments.delta","delta":"{"}"#, true),
            (r#"{"type":"response.completed","response":{"output":[]}}"#, true),
            (r#"{"type":"keepalive","sequence_number":3}"#, false),
        ] {
            assert_eq!(chunk(data).content, content, "{data}");
        }
    }

    #[test]
    fn ends_errors_and_usage_are_seen() {
        for name in ["completed", "incomplete"] {
            let end = chunk(&format!(
                r#"{{"type":"response.{name}","response":{{"error":null,"usage":{{"input_tokens":9,
                "input_tokens_details":{{"cached_tokens":4,"cache_write_tokens":1}},
                "output_tokens":5,"output_tokens_details":{{"reasoning_tokens":2}}}}}}}}"#
            ));
            assert!(end.done && !end.error && end.finished == 1);
            let usage = end.usage.unwrap();
            assert_eq!((usage.input, usage.cached_input, usage.cache_write), (9, 4, 1));
            assert_eq!((usage.output, usage.reasoning), (5, 2));
        }
        for error in [
            r#"{"type":"error","code":"server_error","message":"m"}"#,
            r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded"}}}"#,
            r#"{"error":{"message":"m"}}"#,
        ] {
            assert!(chunk(error).error, "{error}");
        }
        assert!(["[]", "{"].iter().all(|data| judge(&mut Skimmer::new(data.as_bytes())).is_err()));
    }

    #[test]
    fn a_whole_response_is_an_answer_unless_it_failed() {
        let whole = |body: &str| judge_whole(body.as_bytes()).unwrap();
        let good = whole(r#"{"output":[{"content":[{"text":"some words"}]}],"error":null}"#);
        assert!(good.answered && !good.error && good.output.tokens() > 1);
        assert!(whole(r#"{"error":{"code":"server_error"},"output":[]}"#).error);
        assert!(!whole(r#"{"object":"list"}"#).answered);
    }
}
