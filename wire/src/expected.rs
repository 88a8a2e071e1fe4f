//! What is to be made of one attempt's answer: who speaks what on either side.

use std::borrow::Cow;

use pointsman_core::{Failure, FailureKind, QuotaFacts, Usage};

use crate::count;
use crate::dialect::{Dialect, Verdict};
use crate::header::AnswerHeaders;
use crate::json::{Broken, Kind, Skimmer, Tree};
use crate::losses;
use crate::neutral::{Losses, Stamp};
use crate::pass::{self, Form};
use crate::relay::{Relay, Translator};
use crate::reply::ErrorReply;
use crate::response_facts::ResponseFacts;
use crate::tokens::Estimate;

/// What is to be made of one attempt's answer.
#[derive(Clone, Debug)]
pub struct Expected {
    /// What the client speaks.
    pub(crate) client: Dialect,
    /// What the provider speaks.
    pub(crate) provider: Dialect,
    /// How many answers were asked for.
    pub(crate) choices: u64,
    /// Whether the client itself asked for the usage at the end of a stream.
    pub(crate) usage_asked: bool,
    pub(crate) stamp: Stamp,
    /// Whether a stream goes to the client as a JSON list.
    pub(crate) list: bool,
    /// For an answer that may be anything.
    pub(crate) pass: Option<Form>,
    /// Whether the proofs of its thoughts are good for every provider of the client's protocol.
    pub(crate) proven: bool,
    /// Whether what the answer says of itself is wanted.
    pub(crate) facts: bool,
}

/// A whole answer that is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeAnswer {
    /// What the provider says it used, if it does.
    pub usage: Option<Usage>,
    /// Estimated output tokens, for an answer that does not.
    pub output_estimate: u64,
    /// What the headers say about the quota.
    pub quota: Option<QuotaFacts>,
    /// The answer in the client's protocol; `None`: the bytes as they came.
    pub body: Option<Vec<u8>>,
    /// Kinds of things in it that the client's protocol cannot hold, such as `answer.citations`.
    pub lost: Vec<&'static str>,
    /// What it says of itself, if that [is wanted](Expected::with_facts).
    pub facts: ResponseFacts,
}

/// What a whole body amounts to.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    /// There is an answer in it.
    pub(crate) answered: bool,
    pub(crate) usage: Option<Usage>,
    /// Searches of the web, where the usage does not say them.
    pub(crate) searches: u64,
    /// It carries an error in place of an answer.
    pub(crate) error: bool,
    pub(crate) output: Estimate,
}

impl WholeAnswer {
    /// The usage reported, else what the answer is reckoned to have used.
    pub fn usage_or_estimate(&self, input_tokens: u64) -> Usage {
        let output = self.output_estimate;
        let estimate = Usage { input: input_tokens, output, estimated: true, ..Usage::default() };
        self.usage.unwrap_or(estimate)
    }
}

impl Expected {
    /// The same, with what the answer says of itself, if that is wanted: it costs a second look.
    #[must_use]
    pub fn with_facts(self, wanted: bool) -> Self {
        Self { facts: wanted, ..self }
    }

    /// The relay for a streamed answer.
    pub fn relay(&self) -> Relay {
        let Self { client, provider, choices, usage_asked, stamp, list, proven, facts, .. } = *self;
        let relay = Relay::new(provider, choices, !usage_asked).in_list(list).with_facts(facts);
        if client == provider {
            return relay;
        }
        relay.translating(Translator::new(provider, client, stamp, usage_asked, proven))
    }

    /// Whether the answer may be anything, so that its `content-type` goes on to the client.
    pub fn is_opaque(&self) -> bool {
        self.pass.is_some_and(|form| form != Form::Completion)
    }

    /// What a whole answer is, from its status, headers and body.
    ///
    /// # Errors
    /// The failure it is: any status but 2xx, a 2xx with an error inside, or one that is no answer.
    pub fn whole(
        &self,
        status: u16,
        headers: &AnswerHeaders,
        body: &[u8],
    ) -> Result<WholeAnswer, Failure> {
        if !(200..300).contains(&status) {
            return Err(self.failure(status, headers, body));
        }
        let malformed = || failure(Verdict::new(FailureKind::Server, status), headers);
        let whole = match self.pass {
            Some(form) if form != Form::Completion => pass::judge_whole(body, form),
            _ => self.provider.judge_whole(body).map_err(|_| malformed())?,
        };
        if whole.error {
            return Err(self.failure(status, headers, body));
        }
        if !whole.answered {
            return Err(malformed());
        }
        let mut facts = ResponseFacts::default();
        if self.facts {
            facts.read(self.provider, body);
        }
        let (body, lost) = if self.client == self.provider {
            (None, Losses::default())
        } else {
            let (body, lost) = self.translated(body).ok_or_else(malformed)?;
            (Some(body), lost)
        };
        let lost = lost.names().collect();
        let output_estimate = whole.output.tokens();
        let searched =
            |usage: Usage| Usage { searches: usage.searches.max(whole.searches), ..usage };
        let usage = whole.usage.map(searched);
        Ok(WholeAnswer { usage, output_estimate, quota: headers.quota, body, lost, facts })
    }

    /// The answer in the client's protocol, and what it lost.
    fn translated(&self, body: &[u8]) -> Option<(Vec<u8>, Losses)> {
        let mut tree = Tree::default();
        let body = tree.parse(body).ok()?;
        if self.pass == Some(Form::Count) {
            return Some((count::translated(self.client, body)?, Losses::default()));
        }
        let mut answer = self.provider.read_answer(body)?;
        if !self.proven {
            losses::strip_answer(&mut answer);
        }
        let lost = losses::of_answer(self.client, &answer);
        Some((self.client.write_answer(&answer, self.stamp), lost))
    }

    /// The failure that an answer with this status and body is.
    pub fn failure(&self, status: u16, headers: &AnswerHeaders, body: &[u8]) -> Failure {
        failure(self.provider.classify(status, headers.fault, body), headers)
    }

    /// What the provider itself says about a bad request: its body if the client's library can read
    /// that, else its message in the client's protocol.
    pub fn objection<'a>(&self, status: u16, body: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        if self.client == self.provider {
            return is_object(body).then_some(Cow::Borrowed(body));
        }
        let mut tree = Tree::default();
        let body = tree.parse(body).ok()?;
        let message =
            [&["error", "message"][..], &["message"]].iter().find_map(|path| body.at(path));
        let message: String = message?.text()?.chars().take(MAX_MESSAGE).collect();
        let code = FailureKind::BadRequest.name();
        Some(Cow::Owned(ErrorReply::new(self.client, status, code, &message).body()))
    }
}

/// Of a provider's message no more is passed on, in characters.
const MAX_MESSAGE: usize = 2_000;

fn failure(verdict: Verdict, headers: &AnswerHeaders) -> Failure {
    Failure {
        kind: verdict.kind,
        retry_after: headers.retry_after.or(verdict.retry_after),
        status: Some(verdict.status),
        quota: headers.quota,
    }
}

/// Whether a text is one whole JSON object.
pub(crate) fn is_object(body: &[u8]) -> bool {
    let mut json = Skimmer::new(body);
    let mut whole = || {
        let object = json.kind()? == Kind::Object;
        json.skip()?;
        json.end()?;
        Ok::<_, Broken>(object)
    };
    whole().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAT: Expected = Expected {
        client: Dialect::Chat,
        provider: Dialect::Chat,
        choices: 1,
        usage_asked: false,
        stamp: Stamp { nonce: 1, created: 1 },
        list: false,
        pass: None,
        proven: true,
        facts: false,
    };

    fn judge(status: u16, body: &str) -> Result<WholeAnswer, FailureKind> {
        CHAT.whole(status, &AnswerHeaders::default(), body.as_bytes()).map_err(|f| f.kind)
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
        let headers = AnswerHeaders { retry_after, quota, ..AnswerHeaders::default() };
        let failure = CHAT.whole(429, &headers, b"").unwrap_err();
        let kind = FailureKind::RateLimited;
        assert_eq!(failure, Failure { kind, retry_after, status: Some(429), quota });
    }

    #[test]
    fn only_a_whole_object_is_one() {
        assert!(is_object(br#"{"error":{"message":"no"}}"#));
        for body in [&b"<html>no</html>"[..], b"", b"[]", br#""no""#, br#"{"error":"#, b"{} {}"] {
            assert!(!is_object(body), "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn an_objection_is_passed_on_in_words_the_client_understands() {
        let body = br#"{"type":"error","error":{"message":"max_tokens: too large","type":"x"}}"#;
        assert_eq!(CHAT.objection(400, body).as_deref(), Some(&body[..]));
        let across = Expected { client: Dialect::Messages, ..CHAT };
        let said = across.objection(400, br#"{"error":{"message":"no such tool"}}"#).unwrap();
        let said = String::from_utf8(said.into_owned()).unwrap();
        assert!(said.starts_with(r#"{"type":"error""#) && said.contains("no such tool"), "{said}");
        assert_eq!(across.objection(400, b"<html>"), None);
        assert_eq!(CHAT.objection(400, b"<html>"), None);
    }
}
