//! Endpoints that go to a provider of the same protocol as they are: the model's name is changed,
//! and nothing is translated.

use pointsman_core::{Protocol, Request};

use crate::asked::{Asked, label, read_model};
use crate::dialect::Dialect;
use crate::expected::Whole;
use crate::fault::{Flaw, RequestFault};
use crate::form;
use crate::header::ClientHeaders;
use crate::json::{Broken, Kind, Skimmer};
use crate::routing::Routing;
use crate::skimmed::whole_number;
use crate::tokens::Estimate;
use crate::{chat, messages};

/// One such endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// What is spoken on both sides.
    pub(crate) dialect: Dialect,
    /// The path under a provider's base URL, or the call behind the model's name.
    pub(crate) path: &'static str,
    pub(crate) form: Form,
    /// The model, where the path names it.
    pub(crate) model: Option<String>,
}

/// What the body is, and what comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A legacy completion: answered as a chat completion is, streamed too.
    Completion,
    /// JSON, answered with whatever it is.
    Json,
    /// JSON, answered with a count, which costs nothing.
    Count,
    /// A form with a file in it, answered with whatever it is.
    Multipart,
}

const PATHS: [(&str, Dialect, Form); 11] = [
    ("/completions", Dialect::Chat, Form::Completion),
    ("/embeddings", Dialect::Chat, Form::Json),
    ("/moderations", Dialect::Chat, Form::Json),
    ("/rerank", Dialect::Chat, Form::Json),
    ("/images/generations", Dialect::Chat, Form::Json),
    ("/images/edits", Dialect::Chat, Form::Multipart),
    ("/images/variations", Dialect::Chat, Form::Multipart),
    ("/audio/speech", Dialect::Chat, Form::Json),
    ("/audio/transcriptions", Dialect::Chat, Form::Multipart),
    ("/audio/translations", Dialect::Chat, Form::Multipart),
    ("/messages/count_tokens", Dialect::Messages, Form::Count),
];

impl Pass {
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        let (path, dialect, form) = *PATHS.iter().find(|(known, ..)| *known == path)?;
        Some(Self { dialect, path, form, model: None })
    }

    /// One of Gemini's, which name the model in the path.
    pub(crate) fn of_call(model: String, call: &str) -> Option<Self> {
        (call == "countTokens").then_some(Self {
            dialect: Dialect::Generate,
            path: "countTokens",
            form: Form::Count,
            model: Some(model),
        })
    }

    /// Whether a provider of this protocol has it.
    pub(crate) fn is_served_by(&self, protocol: Protocol) -> bool {
        match self.dialect {
            Dialect::Chat | Dialect::Responses => {
                matches!(protocol, Protocol::Openai | Protocol::Azure)
            }
            Dialect::Messages => protocol == Protocol::Anthropic,
            Dialect::Generate => protocol == Protocol::Gemini,
            Dialect::Converse => protocol == Protocol::Bedrock,
        }
    }

    /// What routing needs to know of a request.
    pub(crate) fn read_facts(
        &self,
        headers: &ClientHeaders,
        body: &[u8],
        named: bool,
    ) -> Result<(Request, Asked), RequestFault> {
        let (mut facts, mut asked) = match self.form {
            Form::Completion => return chat::read_completion(body, named),
            Form::Count if self.dialect == Dialect::Messages => {
                let (facts, asked) = messages::read_facts(body)?;
                (Request { max_output_tokens: Some(0), ..facts }, asked)
            }
            Form::Multipart => form::read_facts(headers, body)?,
            Form::Json | Form::Count => read_json(body).map_err(|flaw| flaw.locate(body))?,
        };
        if let Some(model) = &self.model {
            asked.model.clone_from(model);
            asked.model_spans.clear();
        } else if asked.model_spans.is_empty() && (named || asked.plain_model) {
            return Err(RequestFault::Missing { path: "model".into() });
        }
        facts.model.clone_from(&asked.model);
        (asked.length, asked.choices, asked.usage_asked) = (body.len(), 1, true);
        Ok((facts, asked))
    }
}

/// Members whose every string is input.
const INPUT: [&str; 11] = [
    "input",
    "prompt",
    "query",
    "documents",
    "messages",
    "system",
    "contents",
    "systemInstruction",
    "generateContentRequest",
    "tools",
    "text",
];

fn read_json(body: &[u8]) -> Result<(Request, Asked), Flaw> {
    let (mut facts, mut asked) = (Request::default(), Asked::default());
    let mut input = Estimate::default();
    let routing = Routing::read(body, |key, json| {
        match key {
            "model" => read_model(json, &mut asked)?,
            "user" => facts.user = label(json)?,
            "max_tokens" => facts.max_output_tokens = whole_number(json, "max_tokens")?,
            key if INPUT.contains(&key) => {
                json.walk(&mut |text| input.add_string(text))?;
            }
            _ => _ = json.skip()?,
        }
        Ok(())
    })?;
    facts.input_tokens = input.tokens();
    routing.apply(&mut facts, &mut asked);
    // What comes back is no text that a model writes token by token.
    facts.max_output_tokens = facts.max_output_tokens.or(Some(0));
    Ok((facts, asked))
}

/// What an answer amounts to that may be anything: JSON with or without usage, text, sound.
pub(crate) fn judge_whole(body: &[u8], form: Form) -> Whole {
    let usage = (form == Form::Count).then(Default::default);
    let answered = Whole { answered: !body.is_empty(), usage, ..Whole::default() };
    read_answer(body, form).unwrap_or(answered)
}

fn read_answer(body: &[u8], form: Form) -> Result<Whole, Broken> {
    let mut whole = Whole { answered: true, ..Whole::default() };
    let mut json = Skimmer::new(body);
    if json.kind()? != Kind::Object {
        return json.broken("an object");
    }
    json.enter()?;
    while let Some(key) = json.next_member()? {
        match &*key.decode() {
            "usage" => whole.usage = chat::read_usage(&mut json)?,
            "error" => {
                whole.error = json.kind()? != Kind::Null;
                json.skip()?;
            }
            _ => _ = json.skip()?,
        }
    }
    json.end()?;
    if form == Form::Count {
        whole.usage = Some(Default::default());
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, body: &str) -> Result<(Request, Asked), RequestFault> {
        let pass = Pass::of_path(path).unwrap();
        pass.read_facts(&ClientHeaders::default(), body.as_bytes(), true)
    }

    #[test]
    fn an_embedding_is_counted_and_its_model_replaced() {
        let body = r#"{"input":["one two three","four"], "model":"m","x":"not counted"}"#;
        let (facts, asked) = read("/embeddings", body).unwrap();
        assert_eq!(&*facts.model, "m");
        assert!((4..9).contains(&facts.input_tokens), "{}", facts.input_tokens);
        let sent = asked.rewrite("theirs").to_vec(body.as_bytes());
        assert_eq!(String::from_utf8(sent).unwrap(), body.replace("\"m\"", "\"theirs\""));
        let fault = read("/embeddings", r#"{"input":"x"}"#).unwrap_err();
        assert_eq!(fault.to_string(), "`model` is missing");
    }

    #[test]
    fn a_legacy_completion_streams_and_asks_for_usage() {
        let body = r#"{"model":"m","prompt":"one two three","stream":true}"#;
        let (facts, asked) = read("/completions", body).unwrap();
        assert!(facts.stream && facts.input_tokens > 2);
        let sent = String::from_utf8(asked.rewrite("m").to_vec(body.as_bytes())).unwrap();
        assert!(sent.contains(r#""stream_options":{"include_usage":true}"#), "{sent}");
    }

    #[test]
    fn whatever_comes_back_is_judged_by_what_it_says() {
        let judge = |body: &[u8]| judge_whole(body, Form::Json);
        let usage = judge(br#"{"data":[],"usage":{"prompt_tokens":8,"total_tokens":8}}"#).usage;
        assert_eq!(usage.map(|usage| (usage.input, usage.output)), Some((8, 0)));
        assert!(judge(br#"{"error":{"message":"x"}}"#).error);
        assert!(judge(b"ID3\xff\xfb").answered && !judge(b"").answered);
        let count = judge_whole(br#"{"input_tokens":12}"#, Form::Count).usage;
        assert_eq!(count, Some(pointsman_core::Usage::default()));
    }

    #[test]
    fn a_count_may_name_its_model_in_the_path() {
        let pass = Pass::of_call("g".into(), "countTokens").unwrap();
        let (facts, asked) = pass
            .read_facts(&ClientHeaders::default(), br#"{"contents":[{"parts":[]}]}"#, true)
            .unwrap();
        assert_eq!((&*facts.model, asked.model_spans.len()), ("g", 0));
        assert_eq!(Pass::of_call("g".into(), "predict"), None);
    }
}
