//! The `usage` of a response.

use pointsman_core::Usage;

use crate::json::Object;

/// Writes `usage`; `null` if nobody says it.
pub(super) fn write_usage(o: &mut Object<'_>, usage: Option<&Usage>) {
    let Some(usage) = usage else { return o.null("usage") };
    o.object("usage", |o| {
        o.whole("input_tokens", usage.input);
        o.object("input_tokens_details", |o| {
            o.whole("cached_tokens", usage.cached_input);
            o.whole("cache_write_tokens", usage.cache_write);
        });
        o.whole("output_tokens", usage.output);
        o.object("output_tokens_details", |o| o.whole("reasoning_tokens", usage.reasoning));
        o.whole("total_tokens", usage.input.saturating_add(usage.output));
    });
}
