//! The `usageMetadata` object. Gemini counts thoughts apart from the answer, and what its own tools
//! add apart from the prompt.

use pointsman_core::Usage;

use crate::json::{Json, Object};

/// What the object counts, by its keys.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    prompt: Option<u64>,
    cached: u64,
    tools: u64,
    answer: Option<u64>,
    thoughts: u64,
}

impl Counts {
    /// Takes one count; keys that say nothing of their own are passed over.
    pub(super) fn set(&mut self, key: &str, count: u64) {
        match key {
            "promptTokenCount" => self.prompt = Some(count),
            "cachedContentTokenCount" => self.cached = count,
            "toolUsePromptTokenCount" => self.tools = count,
            "candidatesTokenCount" => self.answer = Some(count),
            "thoughtsTokenCount" => self.thoughts = count,
            _ => {}
        }
    }

    /// `None` if nothing was counted.
    pub(super) fn usage(self) -> Option<Usage> {
        (self.prompt.is_some() || self.answer.is_some()).then(|| Usage {
            input: self.prompt.unwrap_or(0).saturating_add(self.tools),
            cached_input: self.cached,
            output: self.answer.unwrap_or(0).saturating_add(self.thoughts),
            reasoning: self.thoughts,
            ..Usage::default()
        })
    }
}

/// Reads the object; `None` if it has no counts.
pub(super) fn read_usage(metadata: Option<Json<'_>>) -> Option<Usage> {
    let mut counts = Counts::default();
    for (key, value) in metadata.and_then(Json::members).unwrap_or_default().iter() {
        if let Some(count) = value.whole() {
            counts.set(key, count);
        }
    }
    counts.usage()
}

/// Writes the member `usageMetadata`, if there is usage.
pub(super) fn write_usage(object: &mut Object<'_>, usage: Option<Usage>) {
    let Some(usage) = usage else { return };
    object.object("usageMetadata", |o| {
        o.whole("promptTokenCount", usage.input);
        if usage.cached_input > 0 {
            o.whole("cachedContentTokenCount", usage.cached_input);
        }
        o.whole("candidatesTokenCount", usage.output.saturating_sub(usage.reasoning));
        if usage.reasoning > 0 {
            o.whole("thoughtsTokenCount", usage.reasoning);
        }
        o.whole("totalTokenCount", usage.input.saturating_add(usage.output));
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::{Tree, object};

    #[test]
    fn thoughts_are_output_and_what_tools_add_is_input() {
        let json = br#"{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":5,
            "thoughtsTokenCount":7,"toolUsePromptTokenCount":2,"totalTokenCount":24}"#;
        let usage =
            Usage { input: 12, cached_input: 4, output: 12, reasoning: 7, ..Usage::default() };
        assert_eq!(read_usage(Some(Tree::default().parse(json).unwrap())), Some(usage));
        let early = br#"{"promptTokenCount":10,"totalTokenCount":10}"#;
        let usage = Usage { input: 10, ..Usage::default() };
        assert_eq!(read_usage(Some(Tree::default().parse(early).unwrap())), Some(usage));
        assert_eq!(read_usage(Some(Tree::default().parse(b"{}").unwrap())), None);
        assert_eq!(read_usage(None), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            input in 0..1_u64 << 40, cached_input in 0..1_u64 << 40, answer in 0..1_u64 << 40,
            reasoning in 0..1_u64 << 40,
        ) {
            let output = answer + reasoning;
            let usage = Usage { input, cached_input, output, reasoning, ..Usage::default() };
            let mut out = Vec::new();
            object(&mut out, |o| write_usage(o, Some(usage)));
            prop_assert_eq!(read_usage(Tree::default().parse(&out).unwrap().get("usageMetadata")), Some(usage));
        }
    }
}
