//! What a piece of a streamed answer, or a whole one, amounts to.

use super::finish::{is_filtered, is_spoilt};
use super::read_answer::read_answer;
use crate::expected::Whole;
use crate::json::{Broken, Json, Kind, Pull, Tree};
use crate::relay::Chunk;
use crate::skimmed::usage_apart;

/// Reads one event, which its `name` says the kind of. The protocol has no terminal event: the last
/// one, `metadata`, has the usage.
pub(crate) fn judge<'a>(name: &[u8], json: &mut impl Pull<'a>) -> Result<Chunk, Broken> {
    let mut chunk = Chunk::default();
    if json.kind()? != Kind::Object {
        return json.broken("an object");
    }
    json.enter()?;
    while let Some(key) = json.next_member()? {
        match (name, &*key.decode(), json.kind()?) {
            (_, "start" | "delta", Kind::Object) => block(json, &mut chunk)?,
            (b"messageStop", "stopReason", Kind::String) => {
                chunk.finished = 1;
                chunk.blocked = leaves_nothing(&json.string()?.decode());
                chunk.content = !chunk.blocked;
            }
            (b"metadata", "usage", Kind::Object) => chunk.usage = usage_apart(json, USAGE)?,
            _ => _ = json.skip()?,
        }
    }
    json.end()?;
    Ok(chunk)
}

const USAGE: [&str; 4] =
    ["inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens", "outputTokens"];

/// A block that begins, or a piece of one: an object with one member, which says what it is.
fn block<'a>(json: &mut impl Pull<'a>, chunk: &mut Chunk) -> Result<(), Broken> {
    json.enter()?;
    while let Some(key) = json.next_member()? {
        match (&*key.decode(), json.kind()?) {
            // Where a text comes from is no part of it.
            ("toolUseId" | "type" | "signature" | "citation" | "format", _) => _ = json.skip()?,
            ("toolUse" | "reasoningContent" | "image" | "source", Kind::Object) => {
                block(json, chunk)?;
            }
            ("redactedContent" | "bytes", _) => {
                json.walk(&mut |text| chunk.content |= !text.is_empty())?;
            }
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

/// Whether an answer that ended so, and holds nothing, is none.
fn leaves_nothing(reason: &str) -> bool {
    is_filtered(reason) || is_spoilt(reason)
}

/// Reads a whole answer. One that a filter, or a call that is none, has left nothing of is an error.
pub(crate) fn judge_whole(body: &[u8]) -> Result<Whole, Broken> {
    let mut tree = Tree::default();
    let json = tree.parse(body)?;
    let mut whole = Whole::default();
    if let Some(answer) = read_answer(json) {
        let reason = json.get("stopReason").and_then(Json::text);
        let empty = answer.choices.iter().all(|choice| choice.parts.is_empty());
        whole.error = empty && reason.is_some_and(leaves_nothing);
        whole.answered = true;
        whole.usage = answer.usage;
        answer.each_text(&mut |text| whole.output.add_text(text));
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Skimmer;

    fn chunk(name: &str, data: &str) -> Chunk {
        judge(name.as_bytes(), &mut Skimmer::new(data.as_bytes())).unwrap()
    }

    #[test]
    fn content_is_whatever_the_user_waits_for() {
        for (name, data, content) in [
            ("messageStart", r#"{"role":"assistant"}"#, false),
            ("contentBlockStart", r#"{"start":{},"contentBlockIndex":0}"#, false),
            (
                "contentBlockStart",
                r#"{"start":{"toolUse":{"toolUseId":"t","name":"f"}},"contentBlockIndex":0}"#,
                true,
            ),
            ("contentBlockDelta", r#"{"delta":{"text":""},"contentBlockIndex":0}"#, false),
            ("contentBlockDelta", r#"{"delta":{"text":"x"},"p":"abc"}"#, true),
            ("contentBlockDelta", r#"{"delta":{"reasoningContent":{"text":"hm"}}}"#, true),
            ("contentBlockDelta", r#"{"delta":{"reasoningContent":{"signature":"x"}}}"#, false),
            (
                "contentBlockDelta",
                r#"{"delta":{"reasoningContent":{"redactedContent":"eA=="}}}"#,
                true,
            ),
            ("contentBlockDelta", r#"{"delta":{"toolUse":{"input":""}}}"#, false),
            ("contentBlockDelta", r#"{"delta":{"toolUse":{"input":"{"}}}"#, true),
            ("contentBlockDelta", r#"{"delta":{"citation":{"title":"x"}}}"#, false),
            ("contentBlockStop", r#"{"contentBlockIndex":0}"#, false),
            ("messageStop", r#"{"stopReason":"end_turn"}"#, true),
            ("messageStop", r#"{}"#, false),
            ("somethingNew", r#"{"text":"x"}"#, false),
        ] {
            assert_eq!(chunk(name, data).content, content, "{name} {data}");
        }
    }

    #[test]
    fn ends_and_usage_are_seen() {
        assert_eq!(chunk("messageStop", r#"{"stopReason":"tool_use"}"#).finished, 1);
        let filtered = chunk("messageStop", r#"{"stopReason":"guardrail_intervened"}"#);
        assert!(filtered.blocked && !filtered.content && filtered.finished == 1);
        assert!(chunk("messageStop", r#"{"stopReason":"malformed_tool_use"}"#).blocked);
        let end = chunk("metadata", r#"{"usage":{"inputTokens":3,"outputTokens":2}}"#);
        assert_eq!((end.usage.unwrap().input, end.content, end.finished), (3, false, 0));
        for (name, data) in [("messageStop", "[]"), ("x", "{} 1")] {
            let data = &mut Skimmer::new(data.as_bytes());
            assert!(judge(name.as_bytes(), data).is_err());
        }
    }

    #[test]
    fn a_whole_answer_is_one_or_none() {
        let whole = |body: &str| judge_whole(body.as_bytes()).unwrap();
        let answer = |content: &str, reason: &str| {
            whole(&format!(
                r#"{{"output":{{"message":{{"role":"assistant","content":[{content}]}}}},
                "stopReason":"{reason}","usage":{{"inputTokens":3,"outputTokens":2}}}}"#
            ))
        };
        let said = answer(r#"{"text":"Hello"}"#, "end_turn");
        assert!(said.answered && !said.error && said.usage.unwrap().output == 2);
        for reason in ["content_filtered", "malformed_tool_use", "malformed_model_output"] {
            assert!(answer("", reason).error, "{reason}");
        }
        assert!(!answer(r#"{"text":"Sorry."}"#, "guardrail_intervened").error);
        assert!(!whole(r#"{"message":"x"}"#).answered);
    }
}
