//! The `usage` object. Amazon counts cached input apart; ours is the whole.

use pointsman_core::Usage;

use crate::json::Json;

/// Reads it; `None` if it has no counts.
pub(super) fn read_usage(usage: Option<Json<'_>>) -> Option<Usage> {
    let count = |key| usage?.get(key).and_then(Json::whole);
    let (input, output) = (count("inputTokens"), count("outputTokens"));
    let read = count("cacheReadInputTokens").unwrap_or(0);
    let written = count("cacheWriteInputTokens").unwrap_or(0);
    let counted = input.is_some() || output.is_some();
    counted.then_some(Usage {
        input: input.unwrap_or(0).saturating_add(read).saturating_add(written),
        cached_input: read,
        cache_write: written,
        output: output.unwrap_or(0),
        ..Usage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Tree;

    #[test]
    fn cached_input_is_part_of_the_input() {
        let read = |text: &str| read_usage(Tree::default().parse(text.as_bytes()).ok());
        let usage = Usage {
            input: 1_110,
            cached_input: 100,
            cache_write: 1_000,
            output: 7,
            ..Usage::default()
        };
        let text = r#"{"inputTokens":10,"outputTokens":7,"totalTokens":1117,
            "cacheReadInputTokens":100,"cacheWriteInputTokens":1000}"#;
        assert_eq!(read(text), Some(usage));
        assert_eq!(read(r#"{"inputTokens":3,"outputTokens":null}"#).unwrap().input, 3);
        assert_eq!(read("{}"), None);
        assert_eq!(read_usage(None), None);
    }
}
