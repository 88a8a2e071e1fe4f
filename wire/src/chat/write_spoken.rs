//! Citations, probabilities and usage, as answers and chunks have them alike.

use pointsman_core::Usage;

use crate::json::{List, Object};
use crate::neutral::{Citation, Logprob};

/// Appends one of a message's `annotations`. Only what has a URL has a place there. One that does
/// not say what rests on it stands for `text`, in characters of the whole content.
pub(super) fn write_citation(list: &mut List<'_>, citation: &Citation<'_>, text: (u64, u64)) {
    let Some(url) = citation.url else { return };
    let (start, end) = citation.span.unwrap_or(text);
    list.object(|o| {
        o.text("type", "url_citation");
        o.object("url_citation", |o| {
            o.whole("start_index", start);
            o.whole("end_index", end);
            o.text("url", url);
            o.text("title", citation.title.unwrap_or(url));
        });
    });
}

/// Writes the `logprobs` of a choice; `null` if there are none.
pub(super) fn write_logprobs(o: &mut Object<'_>, logprobs: &[Logprob<'_>]) {
    if logprobs.is_empty() {
        return o.null("logprobs");
    }
    o.object("logprobs", |o| {
        o.list("content", |l| {
            for Logprob { token, logprob, others } in logprobs {
                l.object(|o| {
                    write_token(o, token, logprob);
                    o.list("top_logprobs", |l| {
                        others.iter().for_each(|(token, logprob)| {
                            l.object(|o| write_token(o, token, logprob));
                        });
                    });
                });
            }
        });
        o.null("refusal");
    });
}

/// Which bytes a token is nobody else says.
fn write_token(o: &mut Object<'_>, token: &str, logprob: &str) {
    o.text("token", token);
    o.raw("logprob", logprob);
    o.null("bytes");
}

/// Writes `usage`.
pub(super) fn write_usage(o: &mut Object<'_>, usage: &Usage) {
    o.object("usage", |o| {
        o.whole("prompt_tokens", usage.input);
        o.whole("completion_tokens", usage.output);
        o.whole("total_tokens", usage.input.saturating_add(usage.output));
        o.object("prompt_tokens_details", |o| {
            o.whole("cached_tokens", usage.cached_input);
            if usage.cache_write > 0 {
                o.whole("cache_write_tokens", usage.cache_write);
            }
        });
        o.object("completion_tokens_details", |o| o.whole("reasoning_tokens", usage.reasoning));
    });
}
