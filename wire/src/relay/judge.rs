//! What becomes of an event: a judgement of what it amounts to, and, for a client that speaks
//! something else, its translation.

use super::chunk::most;
use super::{Chunk, Fate, Phase, Reading, SERVER, Translator};
use crate::dialect::Dialect;
use crate::json::{Broken, Cursor};
use crate::sse::Event;

impl Reading {
    /// Reads an event, and appends to `said` what it is in the client's protocol, if that is another.
    pub(super) fn read(&mut self, event: &Event<'_>, said: &mut Vec<u8>) -> Fate {
        let Some(data) = event.data.filter(|data| !data.is_empty()) else {
            return Fate::Forward;
        };
        if event.name == b"error" {
            return Fate::Fail(self.dialect.classify(200, None, data));
        }
        // Taken out for the time being, so that it may be lent beside `self`.
        let Some(mut translator) = self.translator.take() else {
            let chunk = self.dialect.judge(event.name, data);
            return self.judge(chunk, data);
        };
        let fate = self.translate(&mut translator, event.name, data, said);
        self.translator = Some(translator);
        fate
    }

    /// The judgement and what the client is told come of one tree.
    fn translate(
        &mut self,
        translator: &mut Translator,
        name: &[u8],
        data: &[u8],
        said: &mut Vec<u8>,
    ) -> Fate {
        if self.dialect.ends_with(data) {
            let fate = self.judge(Ok(Chunk::end()), data);
            if !matches!(fate, Fate::Fail(_)) {
                translator.end(said);
            }
            return fate;
        }
        let mut tree = core::mem::take(&mut self.tree);
        let fate = match tree.parse(data) {
            Ok(json) => {
                let chunk = self.dialect.judge_json(name, &mut Cursor::of(json));
                match self.judge(chunk, data) {
                    Fate::Fail(verdict) => Fate::Fail(verdict),
                    fate => translator.read(name, json, said).map_or(Fate::Fail(SERVER), |()| fate),
                }
            }
            Err(_) => Fate::Fail(SERVER),
        };
        self.tree = tree;
        fate
    }

    /// Takes down what an event amounts to, and says what becomes of it.
    fn judge(&mut self, chunk: Result<Chunk, Broken>, data: &[u8]) -> Fate {
        let Ok(chunk) = chunk else { return Fate::Fail(SERVER) };
        if chunk.error || (chunk.blocked && self.phase == Phase::Waiting) {
            return Fate::Fail(self.dialect.classify(200, None, data));
        }
        self.content |= chunk.content;
        self.note_facts(&chunk, data);
        self.finished |= chunk.finished;
        self.output.add(chunk.output);
        self.usage = match (self.usage, chunk.usage) {
            // Its counts come one after another.
            (Some(before), Some(now)) if self.dialect == Dialect::Messages => {
                Some(most(before, now))
            }
            (before, now) => now.or(before),
        };
        self.searches = self.searches.saturating_add(chunk.searched).max(chunk.searches);
        if let Some(usage) = &mut self.usage {
            usage.searches = usage.searches.max(self.searches);
        }
        if chunk.done {
            // Without content this is the streamed form of an empty answer.
            let empty = self.phase == Phase::Waiting && !chunk.content;
            return if empty { Fate::Fail(SERVER) } else { Fate::Done };
        }
        if chunk.content {
            Fate::Content
        } else if self.withhold_usage && chunk.usage.is_some() && chunk.choices == 0 {
            Fate::Withhold
        } else {
            Fate::Forward
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::Tree;

    const NAMES: [&str; 3] = ["messageStop", "metadata", "contentBlockDelta"];

    /// What the protocols call their members.
    const KEYS: [&str; 48] = [
        "choices",
        "delta",
        "index",
        "text",
        "content",
        "reasoning",
        "refusal",
        "tool_calls",
        "function",
        "function_call",
        "arguments",
        "audio",
        "finish_reason",
        "usage",
        "prompt_tokens",
        "output_tokens",
        "prompt_tokens_details",
        "cached_tokens",
        "error",
        "type",
        "message",
        "content_block",
        "stop_reason",
        "signature",
        "data",
        "item",
        "response",
        "output",
        "candidates",
        "parts",
        "thought",
        "inlineData",
        "functionCall",
        "finishReason",
        "usageMetadata",
        "promptTokenCount",
        "candidatesTokenCount",
        "promptFeedback",
        "blockReason",
        "start",
        "stopReason",
        "toolUse",
        "reasoningContent",
        "bytes",
        "inputTokens",
        "outputTokens",
        "t\\u0065xt",
        "\\n",
    ];

    const VALUES: [&str; 24] = [
        "null",
        "true",
        "false",
        "0",
        "1",
        "12.0",
        "-3",
        "1e3",
        "300",
        "99999999999999999999",
        "\"\"",
        "\"stop\"",
        "\"a few words\"",
        "\"a \\\"b\\\"\\n\"",
        "\"\\u0442\\u043e 7\\ud800\"",
        "\"точка\"",
        "\"SAFETY\"",
        "\"message_stop\"",
        "\"error\"",
        "\"response.completed\"",
        "\"response.output_text.delta\"",
        "\"guardrail_intervened\"",
        "{}",
        "[]",
    ];

    fn document() -> impl Strategy<Value = String> {
        let value = prop::sample::select(&VALUES[..]).prop_map(str::to_owned);
        value.prop_recursive(6, 40, 5, |inner| {
            let member = (prop::sample::select(&KEYS[..]), inner.clone());
            let member = member.prop_map(|(key, value)| format!("\"{key}\": {value}"));
            prop_oneof![
                3 => prop::collection::vec(member, 0..5)
                    .prop_map(|members| format!("{{{}}}", members.join(" ,"))),
                1 => prop::collection::vec(inner, 0..4)
                    .prop_map(|items| format!("[{} ]", items.join(","))),
            ]
        })
    }

    /// What is judged of a text and of its tree.
    fn both(name: &str, text: &str) -> [(String, String); 5] {
        let dialects = [
            Dialect::Chat,
            Dialect::Responses,
            Dialect::Messages,
            Dialect::Generate,
            Dialect::Converse,
        ];
        let (name, text) = (name.as_bytes(), text.as_bytes());
        let said = |chunk: Result<Chunk, Broken>| {
            chunk.map_or_else(|_| "broken".to_owned(), |chunk| format!("{chunk:?}"))
        };
        dialects.map(|dialect| {
            let mut tree = Tree::default();
            let of_tree = tree.parse(text);
            let of_tree = of_tree.and_then(|json| dialect.judge_json(name, &mut Cursor::of(json)));
            (said(dialect.judge(name, text)), said(of_tree))
        })
    }

    proptest! {
        #[test]
        fn a_tree_is_judged_as_its_text(
            name in prop::sample::select(&NAMES[..]),
            text in document(),
            kept in 0..2_000_usize,
        ) {
            for (of_text, of_tree) in both(name, &text) {
                prop_assert_eq!(of_text, of_tree, "{}", text);
            }
            let cut = text.get(..kept).unwrap_or(&text);
            for (of_text, of_tree) in both(name, cut) {
                prop_assert_eq!(of_text, of_tree, "{}", cut);
            }
        }

        #[test]
        fn a_piece_of_an_answer_is_judged_as_its_text(
            name in prop::sample::select(&NAMES[..]),
            inner in document(),
        ) {
            for around in [
                "{\"choices\":[{\"delta\":{\"content\":@},\"finish_reason\":\"stop\"},{\"delta\":@}],\"usage\":@}",
                "{\"candidates\":[{\"content\":{\"parts\":[@,{\"text\":@}]}},@],\"usageMetadata\":@}",
                "{\"type\":\"response.output_text.delta\",\"item\":@,\"delta\":@,\"response\":@}",
                "{\"content_block\":@,\"message\":@,\"start\":@,\"usage\":@}",
            ] {
                let text = around.replace('@', &inner);
                for (of_text, of_tree) in both(name, &text) {
                    prop_assert_eq!(of_text, of_tree, "{}", text);
                }
            }
        }
    }
}
