//! What a piece of a streamed answer, or a whole one, amounts to.

use std::borrow::Cow;

use pointsman_core::Usage;

use super::failure::is_empty;
use super::finish::{is_filtered, is_said, is_spoilt};
use super::grounding;
use super::model::Gemini;
use super::read_answer::read_answer;
use super::usage::Counts;
use crate::expected::Whole;
use crate::json::{Broken, Json, Kind, Pull, Skimmer, Tree};
use crate::relay::Chunk;
use crate::skimmed::count;

/// Reads one event's data. The protocol has no terminal event.
pub(crate) fn judge<'a>(json: &mut impl Pull<'a>) -> Result<Chunk, Broken> {
    let mut chunk = Chunk::default();
    match json.kind()? {
        Kind::Object => json.enter()?,
        // Errors may come in a list.
        Kind::Array => {
            json.skip()?;
            json.end()?;
            return Ok(Chunk { error: true, ..chunk });
        }
        _ => return json.broken("an object"),
    }
    let (mut blocked, mut model) = (false, None);
    while let Some(key) = json.next_member()? {
        match (&*key.decode(), json.kind()?) {
            ("modelVersion", Kind::String) => model = Some(json.string()?),
            ("candidates", Kind::Array) => {
                json.enter()?;
                while json.next_element()? {
                    candidate(json, &mut chunk)?;
                }
            }
            ("usageMetadata", _) => chunk.usage = read_usage(json)?,
            ("promptFeedback", Kind::Object) => blocked |= feedback(json)?,
            ("error", kind) => {
                chunk.error |= kind != Kind::Null;
                json.skip()?;
            }
            _ => _ = json.skip()?,
        }
    }
    json.end()?;
    chunk.error |= blocked && chunk.choices == 0;
    chunk.searches = billed(chunk.searches, || model.map(|model| model.decode()));
    Ok(chunk)
}

/// Reads a whole answer. One that a filter, or a call that is none, has left nothing of is an error.
pub(crate) fn judge_whole(body: &[u8]) -> Result<Whole, Broken> {
    let mut tree = Tree::default();
    let json = tree.parse(body)?;
    let error = json.list().is_some() || json.get("error").is_some() || is_empty(json);
    let mut whole = Whole { error, ..Whole::default() };
    if let Some(answer) = read_answer(json) {
        whole.answered = !answer.choices.is_empty();
        whole.usage = answer.usage;
        for candidate in json.get("candidates").and_then(Json::list).unwrap_or_default() {
            let mut text = Skimmer::new(candidate.raw().as_bytes());
            text.walk(&mut |text| whole.output.add_string(text))?;
            let queries = grounding::queries(candidate);
            whole.searches = whole.searches.saturating_add(queries);
        }
        let model = || json.get("modelVersion").and_then(Json::text).map(Cow::Borrowed);
        whole.searches = billed(whole.searches, model);
    }
    Ok(whole)
}

/// How many searches Google bills for so many queries.
fn billed<'m>(queries: u64, model: impl FnOnce() -> Option<Cow<'m, str>>) -> u64 {
    // Of a prompt without queries nothing is looked at.
    let by_prompt =
        queries > 1 && model().is_some_and(|model| Gemini::named(&model).bills_prompts());
    if by_prompt { 1 } else { queries }
}

/// Counts what was searched for.
fn queries<'a>(json: &mut impl Pull<'a>, sum: &mut u64) -> Result<(), Broken> {
    json.enter()?;
    while let Some(key) = json.next_member()? {
        if key.decode() == "webSearchQueries" {
            json.walk(&mut |text| *sum = sum.saturating_add(u64::from(!text.is_empty())))?;
        } else {
            json.skip()?;
        }
    }
    Ok(())
}

fn candidate<'a>(json: &mut impl Pull<'a>, chunk: &mut Chunk) -> Result<(), Broken> {
    let (mut index, mut finished, mut stopped) = (chunk.choices as u64, false, false);
    let earlier = core::mem::replace(&mut chunk.content, false);
    chunk.blocked |= chunk.choices == 0;
    chunk.choices += 1;
    if json.kind()? != Kind::Object {
        chunk.content = earlier;
        chunk.blocked = false;
        json.skip()?;
        return Ok(());
    }
    json.enter()?;
    while let Some(key) = json.next_member()? {
        match (&*key.decode(), json.kind()?) {
            ("index", _) => index = count(json)?.unwrap_or(index),
            ("finishReason", Kind::String) => {
                let reason = json.string()?.decode();
                finished = is_said(&reason);
                stopped = is_filtered(&reason) || is_spoilt(&reason);
            }
            ("content", Kind::Object) => content(json, chunk)?,
            (grounding::METADATA, Kind::Object) => queries(json, &mut chunk.searches)?,
            _ => _ = json.skip()?,
        }
    }
    chunk.blocked &= stopped && !chunk.content;
    chunk.content |= earlier || finished;
    if finished {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        chunk.finished |= 1_u128.checked_shl(index).unwrap_or(0);
    }
    Ok(())
}

fn content<'a>(json: &mut impl Pull<'a>, chunk: &mut Chunk) -> Result<(), Broken> {
    json.enter()?;
    while let Some(key) = json.next_member()? {
        if key.decode() != "parts" || json.kind()? != Kind::Array {
            json.skip()?;
            continue;
        }
        json.enter()?;
        while json.next_element()? {
            part(json, chunk)?;
        }
    }
    Ok(())
}

fn part<'a>(json: &mut impl Pull<'a>, chunk: &mut Chunk) -> Result<(), Broken> {
    if json.kind()? != Kind::Object {
        json.skip()?;
        return Ok(());
    }
    json.enter()?;
    while let Some(key) = json.next_member()? {
        match &*key.decode() {
            "thought" | "thoughtSignature" => _ = json.skip()?,
            // How many tokens media are cannot be told from their bytes.
            "inlineData" | "fileData" => {
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

fn feedback<'a>(json: &mut impl Pull<'a>) -> Result<bool, Broken> {
    let mut blocked = false;
    json.enter()?;
    while let Some(key) = json.next_member()? {
        blocked |= key.decode() == "blockReason" && json.kind()? == Kind::String;
        json.skip()?;
    }
    Ok(blocked)
}

fn read_usage<'a>(json: &mut impl Pull<'a>) -> Result<Option<Usage>, Broken> {
    if json.kind()? != Kind::Object {
        json.skip()?;
        return Ok(None);
    }
    let mut counts = Counts::default();
    json.enter()?;
    while let Some(key) = json.next_member()? {
        let key = key.decode();
        if let Some(count) = count(json)? {
            counts.set(&key, count);
        }
    }
    Ok(counts.usage())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(data: &str) -> Chunk {
        judge(&mut Skimmer::new(data.as_bytes())).unwrap()
    }

    fn part(part: &str) -> Chunk {
        chunk(&format!(r#"{{"candidates":[{{"content":{{"parts":[{part}],"role":"model"}}}}]}}"#))
    }

    #[test]
    fn content_is_whatever_the_user_waits_for() {
        for (of, content) in [
            (r#"{"text":""}"#, false),
            (r#"{"text":"x"}"#, true),
            (r#"{"text":"hm","thought":true}"#, true),
            (r#"{"text":"","thoughtSignature":"eA=="}"#, false),
            (r#"{"functionCall":{"name":"f","args":{}}}"#, true),
            (r#"{"inlineData":{"mimeType":"image/png","data":"eA=="}}"#, true),
        ] {
            assert_eq!(part(of).content, content, "{of}");
        }
        assert!(!chunk(r#"{"candidates":[],"usageMetadata":{"promptTokenCount":1}}"#).content);
        assert!(part(r#"{"text":"one two three"}"#).output.tokens() > 1);
        let image = part(r#"{"inlineData":{"mimeType":"image/png","data":"eAeAeA"}}"#);
        assert_eq!(image.output.tokens(), 0);
    }

    #[test]
    fn searches_are_counted_as_they_are_billed() {
        let answer = |queries: &str, model: &str| {
            format!(
                r#"{{"candidates":[{{"content":{{"parts":[{{"text":"x"}}]}},
                "groundingMetadata":{{"webSearchQueries":{queries},"groundingChunks":[]}}}}],
                "usageMetadata":{{"promptTokenCount":1}},"modelVersion":"{model}"}}"#
            )
        };
        for (queries, model, searches) in [
            (r#"["a","b"]"#, "gemini-3.5-flash", 2),
            (r#"["a","b"]"#, "gemini-2.5-flash", 1),
            (r#"["a"]"#, "gemini-2.5-flash", 1),
            ("[]", "gemini-2.5-flash", 0),
            (r#"["a",""]"#, "", 1),
            ("null", "gemini-3.5-flash", 0),
        ] {
            let answer = answer(queries, model);
            assert_eq!(chunk(&answer).searches, searches, "{answer}");
            assert_eq!(judge_whole(answer.as_bytes()).unwrap().searches, searches, "{answer}");
        }
        assert_eq!(part(r#"{"text":"x"}"#).searches, 0);
    }

    #[test]
    fn ends_are_told_by_choice() {
        let two = chunk(
            r#"{"candidates":[{"finishReason":"STOP","index":0},{"index":1},
            {"finishReason":"MAX_TOKENS","index":2}]}"#,
        );
        assert_eq!((two.finished, two.choices, two.content, two.done), (0b101, 3, true, false));
        assert_eq!(chunk(r#"{"candidates":[{"finishReason":"STOP"}]}"#).finished, 1);
        let open = r#"{"candidates":[{"finishReason":"FINISH_REASON_UNSPECIFIED"}]}"#;
        assert_eq!(chunk(open).finished, 0);
        assert_eq!(chunk(r#"{"candidates":[{"finishReason":"STOP","index":999}]}"#).finished, 0);
    }

    #[test]
    fn usage_and_errors_are_seen() {
        let usage = r#"{"usageMetadata":{"promptTokenCount":20,"candidatesTokenCount":9,
            "thoughtsTokenCount":5,"cachedContentTokenCount":8,"totalTokenCount":34}}"#;
        let usage = chunk(usage).usage.unwrap();
        assert_eq!((usage.input, usage.cached_input), (20, 8));
        assert_eq!((usage.output, usage.reasoning), (14, 5));
        for data in [
            r#"{"error":{"code":503,"status":"UNAVAILABLE"}}"#,
            r#"[{"error":{"code":503}}]"#,
            r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#,
        ] {
            assert!(chunk(data).error, "{data}");
        }
        let fine = r#"{"promptFeedback":{"safetyRatings":[]},"candidates":[{}]}"#;
        assert!(!chunk(fine).error);
        for data in ["7", "{", "{} x", ""] {
            assert!(judge(&mut Skimmer::new(data.as_bytes())).is_err(), "{data}");
        }
    }

    #[test]
    fn what_a_filter_left_nothing_of_is_blocked() {
        for (data, blocked) in [
            (r#"{"candidates":[{"finishReason":"SAFETY"}]}"#, true),
            (r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#, true),
            (r#"{"candidates":[{"content":{"parts":[]},"finishReason":"RECITATION"}]}"#, true),
            (
                r#"{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"SAFETY"}]}"#,
                false,
            ),
            (r#"{"candidates":[{"finishReason":"SAFETY"},{"finishReason":"STOP"}]}"#, false),
            (r#"{"candidates":[{"finishReason":"STOP"},{"finishReason":"SAFETY"}]}"#, false),
            (r#"{"candidates":[7]}"#, false),
            (r#"{"candidates":[{}]}"#, false),
            ("{}", false),
        ] {
            assert_eq!(chunk(data).blocked, blocked, "{data}");
        }
    }

    #[test]
    fn a_whole_answer_has_a_candidate_that_holds_something() {
        let whole = |body: &str| judge_whole(body.as_bytes()).unwrap();
        let answer = whole(
            r#"{"candidates":[{"content":{"parts":[{"text":"one two"}]},"finishReason":"STOP"}],
            "usageMetadata":{"promptTokenCount":2,"candidatesTokenCount":3}}"#,
        );
        assert!(answer.answered && !answer.error && answer.output.tokens() > 1);
        assert_eq!(answer.usage.map(|usage| usage.output), Some(3));
        for (body, answered, error) in [
            ("{}", false, false),
            (r#"{"candidates":[]}"#, false, false),
            (r#"{"error":{"code":500}}"#, false, true),
            (r#"[{"error":{"code":500}}]"#, false, true),
            (r#"{"promptFeedback":{"blockReason":"OTHER"}}"#, false, true),
            (r#"{"candidates":[{"finishReason":"SAFETY"}]}"#, true, true),
        ] {
            let found = whole(body);
            assert_eq!((found.answered, found.error), (answered, error), "{body}");
        }
    }
}
