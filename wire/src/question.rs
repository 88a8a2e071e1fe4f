//! One client request: read once, then asked of one target after another.

use core::fmt;

use pointsman_core::{Counted, FailureKind, Request, Timestamp, Vocabulary};

use crate::asked::Asked;
use crate::dialect::Dialect;
use crate::endpoint::{Endpoint, Streaming};
use crate::exact::Exact;
use crate::expected::Expected;
use crate::fault::RequestFault;
use crate::header::ClientHeaders;
use crate::json::{JsonFault, Tree};
use crate::neutral::{Effort, Refused, Stamp, Untranslatable, WriteFor, Written};
use crate::overlay::Spoken;
use crate::pass::{Form, Pass};
use crate::provider;
use crate::relay;
use crate::reply::{ErrorReply, fault_reply, untranslatable_reply};
use crate::splice::{Spliced, are_apart, edit_in_place};
use crate::target::{RequestHead, Target};
use crate::{chat, converse, count, generate, messages, responses};

/// One client request. Holds places in its body, not the body.
#[derive(Clone, Debug)]
pub struct Question {
    /// For [`Router::begin`](pointsman_core); the host adds what headers and keys say.
    pub facts: Request,
    endpoint: Endpoint,
    headers: ClientHeaders,
    pub(crate) asked: Asked,
    /// Whether what has been counted is in part estimated.
    partly_estimated: bool,
}

/// A request as one target is to be sent it.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Where it goes.
    pub head: RequestHead,
    /// What it says; its pieces refer to the client's body.
    pub body: Spliced,
    /// Paths of the client's members that this target's protocol has no word for and that are hints.
    pub lost: Vec<String>,
    /// What is to be made of the answer.
    pub expected: Expected,
    /// The answer itself, where it is ours to give: nobody is to be asked, and it is judged as if it
    /// had come.
    pub answer: Option<Vec<u8>>,
}

impl Question {
    /// Reads a request's body. All of it is checked to be JSON; members that routing does not use
    /// are otherwise the provider's to judge.
    ///
    /// # Errors
    /// The first fault, with its place. Such a request never reaches a provider: [`fault_reply`].
    pub fn read(
        endpoint: Endpoint,
        headers: ClientHeaders,
        body: &[u8],
    ) -> Result<Self, RequestFault> {
        let (named, endpoint) = match endpoint {
            Endpoint::Deployed { model, call } => (Some(model), *call),
            endpoint => (None, endpoint),
        };
        let unnamed = named.is_none();
        let (mut facts, mut asked) = match &endpoint {
            Endpoint::Messages => messages::read_facts(body)?,
            Endpoint::Generate { model, stream } => {
                generate::read_facts(body, model, *stream != Streaming::No)?
            }
            Endpoint::Pass(pass) => pass.read_facts(&headers, body, unnamed)?,
            Endpoint::Chat => chat::read_facts(body, unnamed)?,
            Endpoint::Responses => responses::read_facts(body)?,
            Endpoint::Models(_) | Endpoint::Model(..) | Endpoint::Deployed { .. } => {
                return Err(RequestFault::Missing { path: "model".into() });
            }
        };
        if let Some(named) = named {
            facts.model = named;
            asked.named_elsewhere(body);
        }
        Ok(Self { facts, endpoint, headers, asked, partly_estimated: false })
    }

    pub(crate) const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// What the client speaks.
    pub fn dialect(&self) -> Dialect {
        self.endpoint.dialect()
    }

    /// Input tokens, tools included, as counted, else as reckoned.
    pub fn input_tokens(&self) -> u64 {
        let reckoned = || self.facts.input_tokens.saturating_add(self.facts.tools_tokens);
        let Counted { cl100k, o200k } = self.facts.counted;
        cl100k.max(o200k).unwrap_or_else(reckoned)
    }

    /// Takes note of a count: see [`Question::count_exactly`].
    pub fn counted(&mut self, vocabulary: Vocabulary, exact: Exact) {
        self.facts.counted = self.facts.counted.with(vocabulary, exact.tokens);
        self.partly_estimated |= exact.estimated;
    }

    /// The hashes of the prompt's blocks: [`Request::prefix`]. Only a configuration that
    /// [wants them](pointsman_core::Catalog::wants_prefixes) has a use for the work. `body` must be
    /// the body that was read.
    pub fn prefix(&self, body: &[u8]) -> Vec<u64> {
        self.asked.prompt.blocks(body)
    }

    /// The request as `target` is to be sent it; `body` must be the body that was read. Where both
    /// speak the same, that is the client's own bytes but for what must differ.
    ///
    /// # Errors
    /// It cannot be said in the target's protocol, or is at fault in a way that only a translation
    /// sees.
    pub fn prepare(
        &self,
        body: &[u8],
        target: &Target<'_>,
        stamp: Stamp,
        now: Timestamp,
    ) -> Result<Prepared, Refused> {
        let client = self.dialect();
        let pass = match &self.endpoint {
            Endpoint::Pass(pass) => Some(pass),
            _ => None,
        };
        if let Some(pass) = pass.filter(|pass| !pass.is_served_by(target.protocol)) {
            if pass.form == Form::Count {
                return self.count(pass, body, target, stamp);
            }
            return Err(Refused::Untranslatable(Untranslatable {
                path: pass.path.trim_start_matches('/').into(),
                why: "goes to providers of its own protocol alone",
            }));
        }
        let provider = if pass.is_some() { client } else { client.toward(target) };
        let Asked { stream, choices, usage_asked, .. } = self.asked;
        let (sent, lost) = if client == provider {
            self.passed_on(body, provider, target)
        } else {
            let written = self.translated(body, provider, target)?;
            (Spliced::whole(written.body), written.lost)
        };
        let same = (client == provider).then_some(&self.headers);
        let mut head = match pass {
            Some(pass) => provider::pass_head(pass, target, stream, &self.headers),
            None => provider::head(provider, target, stream, same),
        };
        if provider == Dialect::Converse {
            provider::bedrock::sign(&mut head, target, &sent.to_vec(body), now).map_err(|_| {
                let why = "makes an address that cannot be signed";
                Untranslatable { path: "model".into(), why }
            })?;
        }
        let list = matches!(self.endpoint, Endpoint::Generate { stream: Streaming::List, .. });
        let pass = pass.map(|pass| pass.form);
        let proven = provider != Dialect::Converse || converse::is_claude(target.model);
        let expected = Expected {
            client,
            provider,
            choices,
            usage_asked,
            stamp,
            list,
            pass,
            proven,
            facts: false,
        };
        Ok(Prepared { head, body: sent, lost, expected, answer: None })
    }

    /// The client's own body with what must change, and what of the parameters is lost.
    fn passed_on(
        &self,
        body: &[u8],
        provider: Dialect,
        target: &Target<'_>,
    ) -> (Spliced, Vec<String>) {
        let mut edits = self.asked.edits(target.model);
        let mut lost = self.asked.foreign.paths.clone();
        if provider == Dialect::Messages
            && messages::Claude::named(target.model).wants_thoughts()
            && let Some(left) = self.asked.thoughtless()
        {
            edits.push(left);
            lost.push("thinking".to_owned());
        }
        let overlay = target.overlay.filter(|one| !one.is_empty() && !self.is_form());
        let Some(overlay) = overlay else { return (Spliced::new(body.len(), edits), lost) };
        let spoken = self.spoken(provider, target, false);
        if !overlay.names("stream_options")
            && let Ok(changes) = overlay.changes(body, &spoken)
            && are_apart(&edits, &changes.edits)
        {
            edits.extend(changes.edits);
            lost.extend(changes.lost);
            return (Spliced::new(body.len(), edits), lost);
        }
        // Both change the same place: the configuration has the last word.
        let mut whole = Spliced::new(body.len(), edits).to_vec(body);
        if let Ok(changes) = overlay.changes(&whole, &spoken) {
            edit_in_place(&mut whole, changes.edits);
            lost.extend(changes.lost);
        }
        (Spliced::whole(whole), lost)
    }

    /// The request in the target's protocol.
    fn translated(
        &self,
        body: &[u8],
        provider: Dialect,
        target: &Target<'_>,
    ) -> Result<Written, Refused> {
        let client = self.dialect();
        let broken = |broken| RequestFault::Json(JsonFault::locate(body, broken));
        let overlay = target.overlay.filter(|one| !one.is_empty());
        let mut asked = self.asked.for_provider(body);
        if let Some(overlay) = overlay {
            asked = overlay.without_dropped(asked, client, provider).map_err(broken)?;
        }
        let mut written = translate(client, provider, &asked, self.asked.stream, target)?;
        if let Some(overlay) = overlay {
            let spoken = self.spoken(provider, target, true);
            let changes = overlay.changes(&written.body, &spoken).map_err(broken)?;
            edit_in_place(&mut written.body, changes.edits);
        }
        Ok(written)
    }

    fn spoken<'t>(&self, dialect: Dialect, target: &Target<'t>, translated: bool) -> Spoken<'t> {
        let form = match &self.endpoint {
            Endpoint::Pass(pass) => Some(pass.form),
            _ => None,
        };
        Spoken {
            dialect,
            model: target.model,
            openai: target.is_openai(),
            form,
            max_output: self.facts.max_output_tokens,
            lacks_thought: self.asked.foreign.lacks_thought,
            translated,
        }
    }

    /// A count of tokens, for a target that speaks something else.
    fn count(
        &self,
        pass: &Pass,
        body: &[u8],
        target: &Target<'_>,
        stamp: Stamp,
    ) -> Result<Prepared, Refused> {
        let client = self.dialect();
        let body = self.asked.for_provider(body);
        let asked = count::ask(client, &body, target)?;
        let answer = asked.is_none().then(|| self.own_count(client, target));
        let (pass, provider, written) =
            asked.unwrap_or_else(|| (pass.clone(), client, Written::default()));
        let form = Some(Form::Count);
        Ok(Prepared {
            head: provider::pass_head(&pass, target, false, &ClientHeaders::default()),
            body: Spliced::whole(written.body),
            lost: written.lost,
            expected: Expected {
                client,
                provider,
                choices: 1,
                usage_asked: true,
                stamp,
                list: false,
                pass: form,
                proven: true,
                facts: false,
            },
            answer,
        })
    }

    /// The count that is ours to give.
    fn own_count(&self, client: Dialect, target: &Target<'_>) -> Vec<u8> {
        match target.vocabulary.and_then(|own| self.facts.counted.of(own)) {
            Some(counted) => count::answer(client, counted, self.partly_estimated),
            None => count::answer(client, self.input_tokens(), true),
        }
    }

    /// An error inside a streamed answer that has begun, and its end. Nothing that says the answer is
    /// whole follows it.
    pub fn stream_error(&self, error: &ErrorReply) -> Vec<u8> {
        match self.endpoint {
            Endpoint::Generate { stream: Streaming::List, .. } => relay::error_item(&error.body()),
            _ => error.stream_event(),
        }
    }

    /// The `content-type` of a streamed answer.
    pub fn stream_type(&self) -> &'static str {
        match self.endpoint {
            Endpoint::Generate { stream: Streaming::List, .. } => "application/json",
            _ => "text/event-stream",
        }
    }

    fn is_form(&self) -> bool {
        matches!(&self.endpoint, Endpoint::Pass(pass) if pass.form == Form::Multipart)
    }
}

fn translate(
    client: Dialect,
    provider: Dialect,
    body: &[u8],
    stream: bool,
    target: &Target<'_>,
) -> Result<Written, Refused> {
    let (mut tree, mut room) = (Tree::default(), [Tree::default(), Tree::default()]);
    let json =
        tree.parse(body).map_err(|broken| RequestFault::Json(JsonFault::locate(body, broken)))?;
    let mut request = client.read_request(json)?;
    // Gemini's clients say it in the path.
    request.stream = stream;
    if provider == Dialect::Generate
        && let Some(thinking) = &mut request.thinking
    {
        // It alone keeps thoughts to itself unless asked.
        let off = thinking.effort == Some(Effort::None) || thinking.budget == Some(0);
        thinking.shown = thinking.shown.or((!off).then_some(true));
    }
    if let Some(overlay) = target.overlay {
        overlay.fill(&mut request, target.protocol, provider, &mut room);
    }
    let target = WriteFor {
        model: target.model,
        max_output_default: target.max_output,
        openai: target.is_openai(),
        web_search: target.web_search,
    };
    Ok(provider.write_request(&request, &target)?)
}

impl Refused {
    /// What kind of failure it is.
    pub const fn kind(&self) -> FailureKind {
        match self {
            Self::Fault(_) => FailureKind::BadRequest,
            Self::Untranslatable(_) => FailureKind::Untranslatable,
        }
    }

    /// What the client is told if no other target can be asked.
    pub fn reply(&self, dialect: Dialect) -> ErrorReply {
        match self {
            Self::Fault(fault) => fault_reply(dialect, fault),
            Self::Untranslatable(why) => untranslatable_reply(dialect, why),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => fault.fmt(f),
            Self::Untranslatable(why) => why.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use pointsman_core::Protocol;

    use super::*;
    use crate::header::AnswerHeaders;
    use crate::overlay::Overlay;

    const STAMP: Stamp = Stamp { nonce: 7, created: 1_700_000_000 };

    fn prepare(endpoint: Endpoint, body: &str, protocol: Protocol) -> Prepared {
        let question = Question::read(endpoint, ClientHeaders::default(), body.as_bytes()).unwrap();
        let target = Target { model: "theirs", ..Target::new(protocol) };
        question.prepare(body.as_bytes(), &target, STAMP, Timestamp::ZERO).unwrap()
    }

    fn json(bytes: &[u8]) -> serde_json::Value {
        serde_json::from_slice(bytes).unwrap()
    }

    #[test]
    fn a_chat_client_is_answered_by_anthropic() {
        let body = r#"{"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true}"#;
        let prepared = prepare(Endpoint::Chat, body, Protocol::Anthropic);
        assert!(prepared.head.url.ends_with("/v1/messages"), "{}", prepared.head.url);
        let sent = json(&prepared.body.to_vec(body.as_bytes()));
        assert_eq!((&sent["model"], &sent["stream"]), (&"theirs".into(), &true.into()));
        assert_eq!(sent["messages"][0]["role"], "user");

        let stream = concat!(
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"i\",",
            "\"model\":\"c\",\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n",
            "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,",
            "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
            "event: ping\ndata: {\"type\":\"ping\"}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,",
            "\"delta\":{\"type\":\"text_delta\",\"text\":\"Ho\"}}\n\n",
            "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
            "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":",
            "\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n",
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        );
        for cut in [1, 7, stream.len()] {
            let (mut relay, mut out) = (prepared.expected.relay(), Vec::new());
            let mut done = false;
            for chunk in stream.as_bytes().chunks(cut) {
                done |= relay.push(chunk, &mut out).done;
            }
            let out = String::from_utf8(out).unwrap();
            assert!(done && out.ends_with("data: [DONE]\n\n"), "{out}");
            assert!(out.contains(r#""content":"Ho""#) && !out.contains("event:"), "{out}");
            let usage = relay.usage().unwrap();
            assert_eq!((usage.input, usage.output, usage.estimated), (3, 2, false));
        }
    }

    #[test]
    fn a_messages_client_is_answered_by_openai() {
        let body = r#"{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"Hi"}]}"#;
        let prepared = prepare(Endpoint::Messages, body, Protocol::Openai);
        assert!(prepared.head.url.ends_with("/chat/completions"), "{}", prepared.head.url);
        let answer = br#"{"id":"x","model":"g","choices":[{"message":{"role":"assistant",
            "content":"Ho"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,
            "completion_tokens":2}}"#;
        let whole = prepared.expected.whole(200, &AnswerHeaders::default(), answer).unwrap();
        let said = json(&whole.body.unwrap());
        assert_eq!((&said["type"], &said["stop_reason"]), (&"message".into(), &"end_turn".into()));
        assert_eq!(said["content"][0]["text"], "Ho");
        assert_eq!(whole.usage.unwrap().output, 2);
    }

    #[test]
    fn anthropic_is_sent_what_its_client_wrote() {
        let body = "{\"model\" : \"m\",\"max_tokens\":5,\n\"x\":1e3,\"messages\":[] }";
        let prepared = prepare(Endpoint::Messages, body, Protocol::Anthropic);
        let sent = prepared.body.to_vec(body.as_bytes());
        assert_eq!(String::from_utf8(sent).unwrap(), body.replace("\"m\"", "\"theirs\""));
        let answer = br#"{"type":"message","role":"assistant","content":[{"type":"text",
            "text":"Ho"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}}"#;
        let whole = prepared.expected.whole(200, &AnswerHeaders::default(), answer).unwrap();
        assert_eq!((whole.body, whole.usage.unwrap().input), (None, 3));
    }

    #[test]
    fn what_cannot_be_said_is_named() {
        let body = r#"{"model":"m","messages":[{"role":"user","content":"Hi"}],"n":3}"#;
        let question =
            Question::read(Endpoint::Chat, ClientHeaders::default(), body.as_bytes()).unwrap();
        let target = Target::new(Protocol::Anthropic);
        let refused = question.prepare(body.as_bytes(), &target, STAMP, Timestamp::ZERO);
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind(), FailureKind::Untranslatable);
        let reply = refused.reply(question.dialect());
        let error = json(&reply.body());
        assert_eq!((reply.status, &error["error"]["param"]), (400, &"n".into()));
    }

    #[test]
    fn an_overlay_changes_what_is_sent() {
        let node = |text: &str| pointsman_core::Node::Text(text.into());
        let params = pointsman_core::Params {
            set: vec![("user".into(), node("us"))],
            drop: vec!["seed".into()],
            ..Default::default()
        };
        let overlay = Overlay::new(&params);
        let body = r#"{"model":"m","max_tokens":5,"seed":1,"messages":[]}"#;
        let question =
            Question::read(Endpoint::Messages, ClientHeaders::default(), body.as_bytes()).unwrap();
        let target =
            Target { overlay: Some(&overlay), model: "m", ..Target::new(Protocol::Anthropic) };
        let sent = question.prepare(body.as_bytes(), &target, STAMP, Timestamp::ZERO).unwrap();
        let expected = r#"{"model":"m","max_tokens":5,"messages":[],"metadata":{"user_id":"us"}}"#;
        assert_eq!(sent.body.to_vec(body.as_bytes()), expected.as_bytes());
    }

    #[test]
    fn what_passes_through_goes_to_its_own_protocol_alone() {
        let body = r#"{"model":"m","input":"x"}"#;
        let pass = Endpoint::read("POST", "/v1/embeddings", &ClientHeaders::default()).unwrap();
        let prepared = prepare(pass.clone(), body, Protocol::Openai);
        assert_eq!(prepared.head.url, "https://api.openai.com/v1/embeddings");
        assert!(prepared.expected.is_opaque());
        let question = Question::read(pass, ClientHeaders::default(), body.as_bytes()).unwrap();
        let target = Target::new(Protocol::Anthropic);
        let refused = question.prepare(body.as_bytes(), &target, STAMP, Timestamp::ZERO);
        assert_eq!(refused.unwrap_err().kind(), FailureKind::Untranslatable);
    }

    #[test]
    fn a_gemini_client_may_want_a_list() {
        let body = r#"{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}"#;
        let path = "/v1beta/models/g:streamGenerateContent";
        let endpoint = Endpoint::read("POST", path, &ClientHeaders::default()).unwrap();
        let prepared = prepare(endpoint, body, Protocol::Openai);
        let stream = concat!(
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Ho\"}}]}\n\n",
            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
            "data: [DONE]\n\n",
        );
        let mut out = Vec::new();
        assert!(prepared.expected.relay().push(stream.as_bytes(), &mut out).done);
        let list = json(&out);
        assert_eq!(list[0]["candidates"][0]["content"]["parts"][0]["text"], "Ho");
        assert!(list.as_array().unwrap().len() > 1, "{list}");
    }
}
