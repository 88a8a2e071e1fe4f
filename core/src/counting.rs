//! How a provider charges its own limits: what it reserves, what it gives back, what it leaves out.
//!
//! A bucket of ours that counts unlike the provider's is either too generous (the provider answers
//! 429) or too strict (capacity is left unused). The presets restate what providers document or are
//! seen to do; each part can be overridden, since tiers and contracts differ.
//!
//! | preset | requests' burst | tokens' burst | output reserved | given back | cached input | output counts |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | none | 1 min | 1 min | `max_tokens` | yes | counts | once |
//! | `openai` | 1 min | 1 min | `max_tokens` | no | counts | once |
//! | `azure` | 10 s | 1 min | `max_tokens` | no | counts | once |
//! | `anthropic` | 1 min | 1 min | `max_tokens` | yes | free | once |
//! | `gemini` | 1 min | 1 min | none | yes | counts | not at all |
//! | `groq` | 1 min | 1 min | expected | yes | free | once |
//! | `bedrock` | 1 min | 1 min | `max_tokens` | yes | counts | once |
//!
//! - *OpenAI* charges on receipt the larger of `max_tokens` and an estimate of the request, and is
//!   not seen to give back what was not used.
//! - *Azure* does the same from prompt and `max_tokens`, and judges requests in slices of one or
//!   ten seconds: 600 a minute are 100 in any ten seconds.
//! - *Anthropic* keeps separate input and output limits as token buckets; reading the cache is free
//!   for most models. Sources disagree on whether `max_tokens` is reserved of the output limit: the
//!   careful answer is the preset, `reserve: expected` the other.
//! - *Gemini* limits requests and input tokens; output is not limited.
//! - *Groq* does not count cached tokens.
//! - *Bedrock* reserves `max_tokens` and gives back what was not used; some models count an output
//!   token five times: `output_weight: 5`.
//!
//! Where `max_tokens` is reserved and the client set none, the expected output takes its place.

use core::time::Duration;

use crate::catalog::Limits;
use crate::limit::Amounts;
use crate::rates::Rates;
use crate::request::Usage;

/// A minute: the burst of a limit of which nothing else is known.
const MINUTE: Duration = Duration::from_secs(60);

/// How a provider charges its limits. The table is in the source of this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counting {
    /// How long a stretch the request limit may be used up in: its bucket holds this much time's
    /// worth; at most a minute.
    pub requests_burst: Duration,
    /// The same of the token limits.
    pub tokens_burst: Duration,
    /// What of the output is reserved before it is known.
    pub reserve: Reserve,
    /// Whether reserved tokens that were not used are given back at the end.
    pub refund: bool,
    /// Whether input read from the provider's cache counts.
    pub cached: bool,
    /// How often an output token counts; zero if it does not.
    pub output_weight: u32,
}

/// What of the output is reserved before it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserve {
    /// The client's maximum, if there is one, else as [`Reserve::Expected`].
    MaxTokens,
    /// What the deployment's answers mostly stay below, or the client's maximum if that is less.
    Expected,
    /// Nothing.
    Nothing,
}

/// What one attempt is reckoned to have used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Used {
    /// Whether the provider counted the request.
    pub(crate) counted: bool,
    /// Whether it turned the request away before any work: then no preset keeps tokens.
    pub(crate) turned_away: bool,
    pub(crate) usage: Usage,
}

impl Used {
    /// Nobody said what was used: what was expected.
    pub(crate) fn all(expected: &Amounts) -> Self {
        let usage = Usage {
            input: expected.input,
            output: expected.output,
            estimated: true,
            ..Usage::default()
        };
        Self::of(usage)
    }

    /// Input and output together.
    pub(crate) const fn tokens(&self) -> u64 {
        self.usage.input.saturating_add(self.usage.output)
    }

    /// What an answer used.
    pub(crate) const fn of(usage: Usage) -> Self {
        Self { counted: true, turned_away: false, usage }
    }
}

impl Default for Counting {
    fn default() -> Self {
        Self {
            requests_burst: MINUTE,
            tokens_burst: MINUTE,
            reserve: Reserve::MaxTokens,
            refund: true,
            cached: true,
            output_weight: 1,
        }
    }
}

impl Counting {
    /// The preset of this name.
    pub fn preset(name: &str) -> Option<Self> {
        let plain = Self::default();
        Some(match name {
            "openai" => Self { refund: false, ..plain },
            "azure" => Self { requests_burst: Duration::from_secs(10), refund: false, ..plain },
            "anthropic" => Self { cached: false, ..plain },
            "gemini" => Self { reserve: Reserve::Nothing, output_weight: 0, ..plain },
            "groq" => Self { reserve: Reserve::Expected, cached: false, ..plain },
            "bedrock" => plain,
            _ => return None,
        })
    }

    /// What an attempt takes of the limits. `expected` is what it is expected to use, its output the
    /// client's maximum if there is one; `usual` is what the deployment's answers mostly stay below.
    pub(crate) fn reserve(&self, expected: &Amounts, usual: u64) -> Amounts {
        let output = match self.reserve {
            Reserve::MaxTokens => expected.output,
            Reserve::Expected => expected.output.min(usual),
            Reserve::Nothing => 0,
        };
        Amounts { output: self.weigh(output), ..*expected }
    }

    /// What of the limits is gone for good, of which `reserved` had been taken.
    pub(crate) fn charge(&self, reserved: &Amounts, used: &Used) -> Amounts {
        if !used.counted {
            return Amounts::default();
        }
        let free = if self.cached { 0 } else { used.usage.cached_input };
        let input = used.usage.input.saturating_sub(free);
        let output = self.weigh(used.usage.output);
        if self.refund || used.turned_away {
            return Amounts { requests: 1, input, output };
        }
        Amounts {
            requests: 1,
            input: input.max(reserved.input),
            output: output.max(reserved.output),
        }
    }

    /// A deployment's limits with the bursts of its provider.
    pub(crate) fn shape(&self, limits: &Limits) -> Rates {
        Rates::with_bursts(limits, Some(self.requests_burst), Some(self.tokens_burst))
    }

    fn weigh(&self, output: u64) -> u64 {
        output.saturating_mul(u64::from(self.output_weight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED: Amounts = Amounts { requests: 1, input: 100, output: 1_000 };

    fn served() -> Used {
        let usage = Usage { input: 90, cached_input: 40, output: 200, ..Usage::default() };
        Used { counted: true, turned_away: false, usage }
    }

    /// (reserved input, reserved output, charged input, charged output)
    fn row(name: &str) -> (u64, u64, u64, u64) {
        let counting = Counting::preset(name).unwrap();
        let reserved = counting.reserve(&EXPECTED, 300);
        let charged = counting.charge(&reserved, &served());
        (reserved.input, reserved.output, charged.input, charged.output)
    }

    #[test]
    fn each_preset_charges_as_its_provider_does() {
        assert_eq!(row("openai"), (100, 1_000, 100, 1_000));
        assert_eq!(row("azure"), (100, 1_000, 100, 1_000));
        assert_eq!(row("anthropic"), (100, 1_000, 50, 200));
        assert_eq!(row("gemini"), (100, 0, 90, 0));
        assert_eq!(row("groq"), (100, 300, 50, 200));
        assert_eq!(row("bedrock"), (100, 1_000, 90, 200));
        assert_eq!(Counting::preset("other"), None);
    }

    #[test]
    fn a_weight_counts_reserved_and_used_alike() {
        let counting = Counting { output_weight: 5, ..Counting::default() };
        let reserved = counting.reserve(&EXPECTED, 300);
        assert_eq!((reserved.output, counting.charge(&reserved, &served()).output), (5_000, 1_000));
    }

    #[test]
    fn who_was_turned_away_pays_no_tokens_and_who_was_not_counted_nothing() {
        let openai = Counting::preset("openai").unwrap();
        let used = Used { counted: true, turned_away: true, usage: Usage::default() };
        let requests = Amounts { requests: 1, ..Amounts::default() };
        assert_eq!(openai.charge(&EXPECTED, &used), requests);
        let failed = Used { turned_away: false, ..used };
        assert_eq!(openai.charge(&EXPECTED, &failed), EXPECTED, "kept by this preset");
        assert_eq!(
            Counting::default().charge(&EXPECTED, &failed),
            requests,
            "given back by others"
        );
        let nothing = Used { counted: false, ..used };
        assert_eq!(openai.charge(&EXPECTED, &nothing), Amounts::default());
    }
}
