//! A whole (not streamed) chat completion.

use pointsman_core::{Failure, FailureKind, QuotaFacts, Usage};

use super::failure::{error_answer, read_kind};
use super::usage::read_usage;
use crate::header::AnswerHeaders;
use crate::json::{Broken, Kind, Skimmer};
use crate::tokens::Estimate;

/// An answer that is one. Its bytes go to the client as they came; its `model` says who answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeAnswer {
    /// What the provider says it used, if it does.
    pub usage: Option<Usage>,
    /// Estimated output tokens, for an answer that does not.
    pub output_estimate: u64,
    /// What the headers say about the quota.
    pub quota: Option<QuotaFacts>,
}

impl WholeAnswer {
    /// The usage reported, else what the answer is reckoned to have used.
    pub fn usage_or_estimate(&self, input_tokens: u64) -> Usage {
        let output = self.output_estimate;
        let estimate = Usage { input: input_tokens, output, estimated: true, ..Usage::default() };
        self.usage.unwrap_or(estimate)
    }
}

/// What a whole answer is, from its status, headers and body.
///
/// # Errors
/// The failure it is: any status but 2xx, a 2xx with an error inside, or one that is not a chat
/// completion with at least one choice.
pub fn whole_answer(
    status: u16,
    headers: &AnswerHeaders,
    body: &[u8],
) -> Result<WholeAnswer, Failure> {
    if !(200..300).contains(&status) {
        return Err(error_answer(status, headers, body));
    }
    let AnswerHeaders { retry_after, quota, .. } = *headers;
    let failure = |(kind, status)| Failure { kind, retry_after, status: Some(status), quota };
    let malformed = || failure((FailureKind::Server, status));
    let completion = Completion::read(body).map_err(|_| malformed())?;
    if completion.error {
        return Err(failure(read_kind(status, body)));
    }
    if !completion.has_choice {
        return Err(malformed());
    }
    let output_estimate = completion.output.tokens();
    Ok(WholeAnswer { usage: completion.usage, output_estimate, quota })
}

#[derive(Default)]
struct Completion {
    has_choice: bool,
    usage: Option<Usage>,
    error: bool,
    output: Estimate,
}

impl Completion {
    fn read(body: &[u8]) -> Result<Self, Broken> {
        let mut completion = Self::default();
        let mut json = Skimmer::new(body);
        match json.kind()? {
            Kind::Object => json.enter()?,
            // Gemini's endpoint for OpenAI's protocol wraps its errors in a list.
            _ => {
                completion.error = true;
                json.skip()?;
                json.end()?;
                return Ok(completion);
            }
        }
        while let Some(key) = json.next_member()? {
            match &*key.decode() {
                "choices" if json.kind()? == Kind::Array => completion.choices(&mut json)?,
                "usage" => completion.usage = read_usage(&mut json)?,
                "error" => {
                    completion.error = json.kind()? != Kind::Null;
                    json.skip()?;
                }
                _ => {
                    json.skip()?;
                }
            }
        }
        json.end()?;
        Ok(completion)
    }

    fn choices(&mut self, json: &mut Skimmer<'_>) -> Result<(), Broken> {
        json.enter()?;
        while json.next_element()? {
            self.has_choice |= json.kind()? == Kind::Object;
            json.walk(&mut |text| self.output.add_string(text))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(status: u16, body: &str) -> Result<WholeAnswer, FailureKind> {
        whole_answer(status, &AnswerHeaders::default(), body.as_bytes()).map_err(|f| f.kind)
    }

    #[test]
    fn a_completion_is_an_answer() {
        let body = r#"{"id":"x","choices":[{"index":0,"message":{"role":"assistant",
            "content":"Hello there"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,
            "completion_tokens":12,"prompt_tokens_details":{"cached_tokens":4,"audio_tokens":0},
            "completion_tokens_details":{"reasoning_tokens":5}},"error":null}"#;
        let usage =
            Usage { input: 9, cached_input: 4, output: 12, reasoning: 5, ..Usage::default() };
        let answer = judge(200, body).unwrap();
        assert_eq!(answer.usage, Some(usage));
        assert_eq!(answer.usage_or_estimate(1), usage);
    }

    #[test]
    fn without_usage_there_is_an_estimate() {
        let body = r#"{"choices":[{"message":{"content":"one two three four"}}],"usage":null}"#;
        let answer = judge(200, body).unwrap();
        assert_eq!(answer.usage, None);
        let usage = answer.usage_or_estimate(7);
        assert!(usage.estimated && usage.input == 7 && (3..8).contains(&usage.output), "{usage:?}");
    }

    #[test]
    fn what_is_no_completion_is_a_failure() {
        for body in [
            "",
            "<html>",
            "{}",
            "[]",
            "null",
            r#"{"choices":[]}"#,
            r#"{"choices":[7]}"#,
            r#"{"choices":{}}"#,
            r#"{"choices":[{"message":{}}]"#,
            r#"{"choices":[{"message":{}}]} x"#,
        ] {
            assert_eq!(judge(200, body), Err(FailureKind::Server), "{body}");
        }
    }

    #[test]
    fn an_error_inside_a_200_is_the_failure_it_names() {
        for (body, kind) in [
            (r#"{"error":{"code":"insufficient_quota"}}"#, FailureKind::QuotaExhausted),
            (r#"{"error":{"code":429,"message":"slow down"}}"#, FailureKind::RateLimited),
            (r#"[{"error":{"code":503}}]"#, FailureKind::Overloaded),
            (r#"{"error":{"message":"boom"},"choices":[{}]}"#, FailureKind::Server),
            (r#"{"error":"boom"}"#, FailureKind::Server),
        ] {
            assert_eq!(judge(200, body), Err(kind), "{body}");
        }
    }

    #[test]
    fn a_failure_carries_what_the_headers_say() {
        let retry_after = Some(core::time::Duration::from_secs(2));
        let quota = Some(QuotaFacts { requests_left: Some(0), ..QuotaFacts::default() });
        let headers = AnswerHeaders { retry_after, quota, event_stream: false };
        let failure = whole_answer(429, &headers, b"").unwrap_err();
        let kind = FailureKind::RateLimited;
        assert_eq!(failure, Failure { kind, retry_after, status: Some(429), quota });
    }
}
