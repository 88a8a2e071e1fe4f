//! Where a prompt begins, for routing that keeps calls with the same beginning together.
//!
//! Providers keep what they have computed for a prompt's beginning and need not compute it again
//! for the next prompt that begins so. They read tools, then system prompts, then the conversation,
//! wherever these stand in the body. The first block is all that precedes the conversation, which
//! calls of one application share; if that is short, the conversation fills it up. What follows is
//! cut into blocks of about 512 tokens, the size of the recorded traces
//! (<https://github.com/kvcache-ai/Mooncake>). A block that is not full is none: the next turn would
//! change it.

use core::hash::Hasher as _;

use pointsman_core::PREFIX_BLOCKS;
use twox_hash::XxHash64;

use crate::json::Span;

/// A block in bytes: 512 tokens at four bytes each.
const BLOCK: usize = 2_048;

/// Where the parts of a prompt stand in its body, in the order in which a model reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) tools: Span,
    pub(crate) system: Span,
    /// Without the bracket at its end, behind which a next turn would stand.
    pub(crate) conversation: Span,
}

impl Prompt {
    /// A conversation is the list or text at `span`.
    pub(crate) fn converse(&mut self, span: Span) {
        self.conversation = span.start..span.end.saturating_sub(1).max(span.start);
    }

    /// The hashes of the blocks that are full, each of its own bytes and all before them. The same
    /// in every process: they are XXH64.
    pub(crate) fn blocks(&self, body: &[u8]) -> Vec<u64> {
        let slice = |span: &Span| body.get(span.clone()).unwrap_or_default();
        let (tools, system) = (slice(&self.tools), slice(&self.system));
        let mut rest = slice(&self.conversation);
        let mut room = BLOCK.saturating_sub(tools.len() + system.len());
        let mut hash = XxHash64::with_seed(0);
        hash.write(tools);
        hash.write(system);
        let mut blocks = Vec::new();
        while blocks.len() < PREFIX_BLOCKS {
            let Some((block, tail)) = rest.split_at_checked(room) else { break };
            hash.write(block);
            blocks.push(hash.finish());
            (rest, room) = (tail, BLOCK);
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use crate::{ClientHeaders, Endpoint, Question, Streaming};

    fn prefix(endpoint: Endpoint, body: &str) -> Vec<u64> {
        let question = Question::read(endpoint, ClientHeaders::default(), body.as_bytes());
        question.unwrap().prefix(body.as_bytes())
    }

    /// A body of each protocol: what precedes the conversation, and its messages.
    fn bodies(tools: &str, system: &str, said: &[&str]) -> [(Endpoint, String); 4] {
        let turns = |turn: &dyn Fn(&str) -> String| {
            said.iter().map(|text| turn(text)).collect::<Vec<_>>().join(",")
        };
        let message = |text: &str| format!(r#"{{"role":"user","content":"{text}"}}"#);
        let content = |text: &str| format!(r#"{{"role":"user","parts":[{{"text":"{text}"}}]}}"#);
        let stream = Streaming::No;
        [
            (
                Endpoint::Chat,
                format!(
                    r#"{{"model":"m","messages":[{{"role":"system","content":"{system}"}},{}],
                    "tools":[{{"x":"{tools}"}}]}}"#,
                    turns(&message)
                ),
            ),
            (
                Endpoint::Responses,
                format!(
                    r#"{{"model":"m","input":[{}],"instructions":"{system}",
                    "tools":[{{"x":"{tools}"}}]}}"#,
                    turns(&message)
                ),
            ),
            (
                Endpoint::Messages,
                format!(
                    r#"{{"model":"m","messages":[{}],"system":"{system}",
                    "tools":[{{"x":"{tools}"}}]}}"#,
                    turns(&message)
                ),
            ),
            (
                Endpoint::Generate { model: "m".into(), stream },
                format!(
                    r#"{{"contents":[{}],"systemInstruction":{{"parts":[{{"text":"{system}"}}]}},
                    "tools":[{{"x":"{tools}"}}]}}"#,
                    turns(&content)
                ),
            ),
        ]
    }

    #[test]
    fn a_next_turn_begins_as_the_one_before() {
        let (tools, system) = ("t".repeat(1_000), "s".repeat(3_000));
        let first = "a".repeat(3_000);
        let one = bodies(&tools, &system, &[&first]);
        let two = bodies(&tools, &system, &[&first, "and then?"]);
        let other = bodies(&tools, &system, &[&"b".repeat(3_000)]);
        for (at, (endpoint, body)) in one.iter().enumerate() {
            let blocks = prefix(endpoint.clone(), body);
            assert_eq!(blocks.len(), 2, "{endpoint:?}");
            assert_eq!(blocks, prefix(endpoint.clone(), &two[at].1), "{endpoint:?}");
            let other = prefix(endpoint.clone(), &other[at].1);
            assert_eq!(blocks[0], other[0], "{endpoint:?}: tools and system are the same");
            assert_ne!(blocks[1], other[1], "{endpoint:?}: what is said is not");
        }
        let tools = bodies(&"u".repeat(1_000), &system, &[&first]);
        let system = bodies(&"t".repeat(1_000), &"r".repeat(3_000), &[&first]);
        for (at, (endpoint, body)) in one.iter().enumerate() {
            let first = prefix(endpoint.clone(), body)[0];
            assert_ne!(first, prefix(endpoint.clone(), &tools[at].1)[0], "{endpoint:?}");
            assert_ne!(first, prefix(endpoint.clone(), &system[at].1)[0], "{endpoint:?}");
        }
    }

    #[test]
    fn a_short_beginning_is_filled_up_and_a_short_prompt_has_none() {
        for (endpoint, body) in bodies("t", "s", &["a short question"]) {
            assert!(prefix(endpoint, &body).is_empty(), "{body}");
        }
        for (endpoint, body) in bodies("t", "s", &[&"a".repeat(3_000)]) {
            assert_eq!(prefix(endpoint, &body).len(), 1, "{body}");
        }
    }

    #[test]
    fn a_legacy_completion_begins_with_its_prompt() {
        let body = format!(r#"{{"model":"m","prompt":"{}"}}"#, "p".repeat(5_000));
        let headers = ClientHeaders::default();
        let endpoint = Endpoint::read("POST", "/v1/completions", &headers).unwrap();
        assert_eq!(prefix(endpoint, &body).len(), 2);
    }
}
