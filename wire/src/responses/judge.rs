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
    /// It is a search of the web.
    searches: bool,
    whole: Whole,
}

impl Event<'_> {
    fn read_item<'a>(&mut self, json: &mut impl Pull<'a>) -> Result<(), Broken> {
        let (mut search, mut reads) = (false, false);
        json.enter()?;
        while let Some(key) = json.next_member()? {
            match (&*key.decode(), json.kind()?) {
                ("type", Kind::String) => {
                    let kind = json.string()?.decode();
                    self.acts = !matches!(&*kind, "message" | "reasoning");
                    search = kind == SEARCH;
                }
                ("action", Kind::Object) => reads = action(json, &mut Estimate::default())?,
                _ => _ = json.skip()?,
            }
        }
        self.searches = search && !reads;
        Ok(())
    }

    fn chunk(self) -> Chunk {
        let name = self.name.map(|name| name.decode());
        let name = name.as_deref().unwrap_or_default();
        let mut chunk = Chunk { error: self.whole.error, ..Chunk::default() };
        match name {
            "response.completed" | "response.incomplete" => {
                (chunk.usage, chunk.searches) = (self.whole.usage, self.whole.searches);
                (chunk.content, chunk.done, chunk.finished) = (true, true, 1);
            }
            "response.failed" | "error" => chunk.error = true,
            "response.output_item.added" => chunk.content = self.acts,
            "response.output_item.done" => {
                (chunk.content, chunk.searched) = (true, self.searches.into());
            }
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
                items(json, &mut whole)?;
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

/// The items of a response: how much is in them, and how many are searches.
fn items<'a>(json: &mut impl Pull<'a>, whole: &mut Whole) -> Result<(), Broken> {
    json.enter()?;
    while json.next_element()? {
        if json.kind()? != Kind::Object {
            json.walk(&mut |text| whole.output.add_string(text))?;
            continue;
        }
        let (mut search, mut reads) = (false, false);
        json.enter()?;
        while let Some(key) = json.next_member()? {
            match (&*key.decode(), json.kind()?) {
                ("type", Kind::String) => {
                    let kind = json.string()?;
                    search = kind.decode() == SEARCH;
                    whole.output.add_string(kind);
                }
                ("action", Kind::Object) => reads = action(json, &mut whole.output)?,
                _ => json.walk(&mut |text| whole.output.add_string(text))?,
            }
        }
        whole.searches = whole.searches.saturating_add((search && !reads).into());
    }
    Ok(())
}

/// Whether what was done is something else than to search: a page that was found is opened, or looked
/// through, which costs nothing of its own.
fn action<'a>(json: &mut impl Pull<'a>, output: &mut Estimate) -> Result<bool, Broken> {
    let mut reads = false;
    json.enter()?;
    while let Some(key) = json.next_member()? {
        if key.decode() == "type" && json.kind()? == Kind::String {
            let kind = json.string()?;
            reads = kind.decode() != "search";
            output.add_string(kind);
        } else {
            json.walk(&mut |text| output.add_string(text))?;
        }
    }
    Ok(reads)
}

/// The type of an item that is a search of the web.
const SEARCH: &str = "web_search_call";

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

    #[test]
    fn searches_are_counted_and_pages_that_are_read_are_not() {
        let items = r#"{"type":"web_search_call","action":{"type":"search","query":"q"}},
            {"type":"web_search_call","action":{"type":"open_page","url":"u"}},
            {"action":{"type":"find_in_page"},"type":"web_search_call"},
            {"type":"web_search_call","status":"completed"}, 3, {"type":"message","content":[]}"#;
        let body = format!(r#"{{"output":[{items}],"usage":{{"output_tokens":5}}}}"#);
        assert_eq!(judge_whole(body.as_bytes()).unwrap().searches, 2);
        let end = chunk(&format!(r#"{{"type":"response.completed","response":{body}}}"#));
        assert_eq!((end.searches, end.searched), (2, 0));
        for (item, searched) in [
            (r#"{"type":"web_search_call","action":{"type":"search"}}"#, 1),
            (r#"{"action":{"type":"open_page"},"type":"web_search_call"}"#, 0),
            (r#"{"type":"message"}"#, 0),
        ] {
            for (name, here) in [("done", searched), ("added", 0)] {
                let event = format!(r#"{{"type":"response.output_item.{name}","item":{item}}}"#);
                assert_eq!(chunk(&event).searched, here, "{event}");
            }
        }
    }
}
