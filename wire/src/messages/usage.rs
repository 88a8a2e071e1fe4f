//! The `usage` object. Anthropic counts cached input apart; ours is the whole.

use pointsman_core::Usage;

use crate::json::{Json, Object};

/// What has been reported so far. In a stream the input comes first and the output last, each
/// count the whole up to then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    input: u64,
    cache_read: u64,
    cache_write: u64,
    output: u64,
    thinking: u64,
    searches: u64,
    /// Whether any was.
    seen: bool,
}

impl Counts {
    /// Takes the counts of a `usage` object; what it does not name stays as it was.
    pub(super) fn take(&mut self, usage: Option<Json<'_>>) {
        let Some(usage) = usage else { return };
        let mut set = |field: &mut u64, path: &[&str]| {
            if let Some(count) = usage.at(path).and_then(Json::whole) {
                *field = count;
                self.seen = true;
            }
        };
        set(&mut self.input, &["input_tokens"]);
        set(&mut self.cache_read, &["cache_read_input_tokens"]);
        set(&mut self.cache_write, &["cache_creation_input_tokens"]);
        set(&mut self.output, &["output_tokens"]);
        set(&mut self.thinking, &["output_tokens_details", "thinking_tokens"]);
        set(&mut self.searches, &["server_tool_use", "web_search_requests"]);
    }

    /// `None` if nothing was reported.
    pub(super) fn usage(self) -> Option<Usage> {
        let cached = self.cache_read.saturating_add(self.cache_write);
        self.seen.then_some(Usage {
            input: self.input.saturating_add(cached),
            cached_input: self.cache_read,
            cache_write: self.cache_write,
            output: self.output,
            reasoning: self.thinking,
            searches: self.searches,
            estimated: false,
        })
    }
}

/// Writes the member `usage`, which clients take for granted.
pub(super) fn write_usage(object: &mut Object<'_>, usage: Option<Usage>) {
    let usage = usage.unwrap_or_default();
    let cached = usage.cached_input.saturating_add(usage.cache_write);
    object.object("usage", |o| {
        o.whole("input_tokens", usage.input.saturating_sub(cached));
        o.whole("cache_creation_input_tokens", usage.cache_write);
        o.whole("cache_read_input_tokens", usage.cached_input);
        o.whole("output_tokens", usage.output);
        if usage.reasoning > 0 {
            o.object("output_tokens_details", |o| o.whole("thinking_tokens", usage.reasoning));
        }
        if usage.searches > 0 {
            o.object("server_tool_use", |o| o.whole("web_search_requests", usage.searches));
        }
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::{Tree, object};

    fn read(texts: &[&str]) -> Option<Usage> {
        let mut counts = Counts::default();
        for text in texts {
            counts.take(Some(Tree::default().parse(text.as_bytes()).unwrap()));
        }
        counts.usage()
    }

    #[test]
    fn cached_input_is_part_of_the_input() {
        let usage = read(&[r#"{"input_tokens":10,"cache_read_input_tokens":100,
            "cache_creation_input_tokens":1000,"output_tokens":7,
            "output_tokens_details":{"thinking_tokens":3},
            "server_tool_use":{"web_search_requests":2,"web_fetch_requests":5}}"#]);
        let expected = Usage {
            input: 1110,
            cached_input: 100,
            cache_write: 1000,
            output: 7,
            reasoning: 3,
            searches: 2,
            estimated: false,
        };
        assert_eq!(usage, Some(expected));
    }

    #[test]
    fn a_later_report_adds_what_it_names() {
        let start = r#"{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":1}"#;
        let end = r#"{"output_tokens":40,"input_tokens":null}"#;
        let expected = Usage { input: 15, cached_input: 5, output: 40, ..Usage::default() };
        assert_eq!(read(&[start, end]), Some(expected));
        assert_eq!(read(&[r#"{"service_tier":"standard"}"#]), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            fresh in 0..1_u64 << 40, cached in 0..1_u64 << 40, written in 0..1_u64 << 40,
            output in 0..1_u64 << 40, reasoning in 0..1_u64 << 40, searches in 0..9_u64,
        ) {
            let usage = Usage {
                input: fresh + cached + written,
                cached_input: cached,
                cache_write: written,
                output,
                reasoning,
                searches,
                estimated: false,
            };
            let mut out = Vec::new();
            object(&mut out, |o| write_usage(o, Some(usage)));
            let mut tree = Tree::default();
    let json = tree.parse(&out).unwrap();
            let mut counts = Counts::default();
            counts.take(json.get("usage"));
            prop_assert_eq!(counts.usage(), Some(usage));
        }
    }
}
