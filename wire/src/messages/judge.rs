//! One event of a streamed message: is it content, and what else does it say.

use crate::json::{Broken, Kind, Pull};
use crate::relay::Chunk;
use crate::skimmed::usage_apart;

/// Reads one event's data; its name is in it once more, as `type`.
pub(crate) fn judge<'a>(json: &mut impl Pull<'a>) -> Result<Chunk, Broken> {
    let mut chunk = Chunk::default();
    if json.kind()? != Kind::Object {
        return json.broken("an object");
    }
    json.enter()?;
    while let Some(key) = json.next_member()? {
        let kind = json.kind()?;
        match (&*key.decode(), kind) {
            ("type", Kind::String) => {
                let name = json.string()?.decode();
                chunk.done = name == "message_stop";
                chunk.error |= name == "error";
            }
            ("error", kind) => {
                chunk.error |= kind != Kind::Null;
                json.skip()?;
            }
            ("message", Kind::Object) => message(json, &mut chunk)?,
            ("content_block" | "delta", Kind::Object) => block(json, &mut chunk)?,
            ("usage", _) => chunk.usage = usage_apart(json, USAGE)?,
            _ => _ = json.skip()?,
        }
    }
    json.end()?;
    Ok(chunk)
}

/// The message as it begins: of no content yet, but with the usage of its input.
fn message<'a>(json: &mut impl Pull<'a>, chunk: &mut Chunk) -> Result<(), Broken> {
    json.enter()?;
    while let Some(key) = json.next_member()? {
        if key.decode() == "usage" {
            chunk.usage = usage_apart(json, USAGE)?;
        } else {
            json.skip()?;
        }
    }
    Ok(())
}

/// A block that begins, a piece of one, or the end of the message.
fn block<'a>(json: &mut impl Pull<'a>, chunk: &mut Chunk) -> Result<(), Broken> {
    json.enter()?;
    while let Some(key) = json.next_member()? {
        match &*key.decode() {
            "type" | "id" | "tool_use_id" | "signature" | "stop_sequence" | "citation" => {
                json.skip()?;
            }
            "stop_reason" => {
                let ended = json.kind()? == Kind::String;
                chunk.content |= ended;
                chunk.finished |= u128::from(ended);
                json.skip()?;
            }
            "data" => json.walk(&mut |text| chunk.content |= !text.is_empty())?,
            _ => {
                json.walk(&mut |text| {
                    chunk.content |= !text.is_empty();
                    chunk.output.add_string(text);
                })?;
            }
        }
    }
    Ok(())
}

const USAGE: [&str; 4] =
    ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Skimmer;

    fn chunk(data: &str) -> Chunk {
        judge(&mut Skimmer::new(data.as_bytes())).unwrap()
    }

    #[test]
    fn content_is_whatever_the_user_waits_for() {
        for (data, content) in [
            (r#"{"type":"message_start","message":{"content":[],"model":"m"}}"#, false),
            (r#"{"type":"ping"}"#, false),
            (r#"{"type":"content_block_start","content_block":{"type":"text","text":""}}"#, false),
            (r#"{"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#, true),
            (r#"{"content_block":{"type":"redacted_thinking","data":"eA=="}}"#, true),
            (r#"{"delta":{"type":"text_delta","text":"x"}}"#, true),
            (r#"{"delta":{"type":"thinking_delta","thinking":"hm"}}"#, true),
            (r#"{"delta":{"type":"signature_delta","signature":"eA=="}}"#, false),
            (r#"{"delta":{"type":"input_json_delta","partial_json":""}}"#, false),
            (r#"{"delta":{"type":"input_json_delta","partial_json":"{"}}"#, true),
            (r#"{"delta":{"stop_reason":"end_turn","stop_sequence":null}}"#, true),
            (r#"{"type":"content_block_stop","index":0}"#, false),
        ] {
            assert_eq!(chunk(data).content, content, "{data}");
        }
    }

    #[test]
    fn ends_errors_and_usage_are_seen() {
        let stop = chunk(
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},
            "usage":{"output_tokens":7}}"#,
        );
        assert_eq!((stop.finished, stop.usage.unwrap().output), (1, 7));
        let searched = chunk(
            r#"{"type":"message_delta","usage":{"output_tokens":7,
            "server_tool_use":{"web_fetch_requests":4,"web_search_requests":3}}}"#,
        );
        assert_eq!(searched.usage.unwrap().searches, 3);
        for odd in ["null", "3", "{}", r#"{"web_search_requests":null}"#] {
            let odd = format!(r#"{{"usage":{{"output_tokens":7,"server_tool_use":{odd}}}}}"#);
            assert_eq!(chunk(&odd).usage.unwrap().searches, 0, "{odd}");
        }
        let start = chunk(
            r#"{"type":"message_start","message":{"usage":{"input_tokens":10,
            "cache_read_input_tokens":100,"cache_creation_input_tokens":5}}}"#,
        );
        let usage = start.usage.unwrap();
        assert_eq!((usage.input, usage.cached_input, usage.cache_write), (115, 100, 5));
        assert!(chunk(r#"{"type":"message_stop"}"#).done);
        assert!(chunk(r#"{"type":"error","error":{"type":"overloaded_error"}}"#).error);
    }
}
