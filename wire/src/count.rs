//! Counting tokens for a client whose protocol the provider does not speak: asked in the provider's
//! own words, if it counts, else reckoned.

use pointsman_core::Protocol;

use crate::dialect::Dialect;
use crate::fault::RequestFault;
use crate::json::{Json, JsonFault, Tree, object, write_string};
use crate::neutral::{Refused, WriteFor, Written};
use crate::overlay::without;
use crate::pass::Pass;
use crate::target::Target;

/// How to ask a provider for the count: the endpoint, what it speaks, and the body. `None` if it
/// does not count.
pub(crate) fn ask(
    client: Dialect,
    body: &[u8],
    target: &Target<'_>,
) -> Result<Option<(Pass, Dialect, Written)>, Refused> {
    let (pass, provider) = match (client, target.protocol) {
        (Dialect::Messages, Protocol::Gemini) => {
            (Pass::of_call(target.model.to_owned(), "countTokens"), Dialect::Generate)
        }
        (Dialect::Generate, Protocol::Anthropic) => {
            (Pass::of_path("/messages/count_tokens"), Dialect::Messages)
        }
        _ => return Ok(None),
    };
    let Some(pass) = pass else { return Ok(None) };
    let whole = counted_request(client, body);
    let mut tree = Tree::default();
    let json = tree
        .parse(&whole)
        .map_err(|broken| RequestFault::Json(JsonFault::locate(&whole, broken)))?;
    let request = client.read_request(inner(client, json))?;
    let for_target = WriteFor {
        model: target.model,
        max_output_default: Some(1),
        openai: false,
        web_search: target.web_search,
    };
    let written = provider.write_request(&request, &for_target)?;
    let body = match provider {
        Dialect::Generate => generate_body(&written.body, target.model),
        _ => messages_body(&written.body),
    };
    Ok(Some((pass, provider, Written { body, lost: written.lost })))
}

/// The request that is to be counted; one that says nothing of its answer has room for one token.
pub(crate) fn counted_request(client: Dialect, body: &[u8]) -> Vec<u8> {
    let brace = body.iter().position(|&byte| byte == b'{').filter(|_| client == Dialect::Messages);
    let Some(brace) = brace else { return body.to_vec() };
    let (before, after) = body.split_at(brace + 1);
    [before, b"\"max_tokens\":1,", after].concat()
}

/// The request itself, which one of Gemini's clients may have wrapped.
pub(crate) fn inner(client: Dialect, json: Json<'_>) -> Json<'_> {
    let wrapped = json.get("generateContentRequest").filter(|_| client == Dialect::Generate);
    wrapped.unwrap_or(json)
}

/// Gemini wants the model's name a second time, inside the request.
fn generate_body(request: &[u8], model: &str) -> Vec<u8> {
    let collection = if model.contains('/') { "" } else { "models/" };
    let mut body = b"{\"generateContentRequest\":{\"model\":".to_vec();
    write_string(&mut body, &format!("{collection}{model}"));
    body.push(b',');
    body.extend_from_slice(request.get(1..).unwrap_or_default());
    body.push(b'}');
    body
}

/// Anthropic counts what goes in, and refuses what speaks of the answer.
fn messages_body(request: &[u8]) -> Vec<u8> {
    let of_answers = [
        "max_tokens",
        "stream",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
        "metadata",
        "service_tier",
    ];
    without(request, &of_answers)
}

/// A provider's count in the client's protocol; `None` if it is none.
pub(crate) fn translated(client: Dialect, body: Json<'_>) -> Option<Vec<u8>> {
    let tokens = body.get("input_tokens").or_else(|| body.get("totalTokens"))?.whole()?;
    Some(answer(client, tokens, false))
}

/// A count; one that is reckoned says so.
pub(crate) fn answer(client: Dialect, tokens: u64, estimated: bool) -> Vec<u8> {
    let mut out = Vec::new();
    object(&mut out, |o| {
        let name = if client == Dialect::Generate { "totalTokens" } else { "input_tokens" };
        o.whole(name, tokens);
        if estimated {
            o.flag("estimated", true);
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use pointsman_core::Timestamp;

    use crate::header::AnswerHeaders;
    use crate::{ClientHeaders, Endpoint, Prepared, Question, Stamp, Target};

    use super::*;

    const MESSAGES: (&str, &str) = (
        "/v1/messages/count_tokens",
        r#"{"model":"g","system":"be brief","messages":[{"role":"user","content":"Hello there"}],
            "tools":[{"name":"f","input_schema":{"type":"object"}}]}"#,
    );
    const PLAIN: (&str, &str) = (
        "/v1beta/models/g:countTokens",
        r#"{"contents":[{"role":"user","parts":[{"text":"Hello there"}]}]}"#,
    );
    const WHOLE: (&str, &str) = (
        "/v1beta/models/g:countTokens",
        r#"{"generateContentRequest":{"model":"models/g","contents":[{"role":"user",
            "parts":[{"text":"Hello there"}]}],"generationConfig":{"temperature":1}}}"#,
    );

    fn prepare((path, body): (&str, &str), protocol: Protocol) -> (Prepared, serde_json::Value) {
        let headers = ClientHeaders::default();
        let endpoint = Endpoint::read("POST", path, &headers).unwrap();
        let question = Question::read(endpoint, headers, body.as_bytes()).unwrap();
        let target = Target { model: "theirs", ..Target::new(protocol) };
        let stamp = Stamp { nonce: 1, created: 1 };
        let prepared = question.prepare(body.as_bytes(), &target, stamp, Timestamp::ZERO).unwrap();
        let sent =
            serde_json::from_slice(&prepared.body.to_vec(body.as_bytes())).unwrap_or_default();
        (prepared, sent)
    }

    fn heard(prepared: &Prepared, answer: &str) -> serde_json::Value {
        let whole =
            prepared.expected.whole(200, &AnswerHeaders::default(), answer.as_bytes()).unwrap();
        assert_eq!(whole.usage, Some(Default::default()), "counting costs nothing");
        serde_json::from_slice(&whole.body.unwrap_or_else(|| answer.as_bytes().to_vec())).unwrap()
    }

    #[test]
    fn who_counts_is_asked_in_its_own_words() {
        let (prepared, sent) = prepare(MESSAGES, Protocol::Gemini);
        assert!(prepared.head.url.ends_with("/models/theirs:countTokens"), "{}", prepared.head.url);
        let inner = &sent["generateContentRequest"];
        assert_eq!(
            (&inner["model"], sent.as_object().unwrap().len()),
            (&"models/theirs".into(), 1)
        );
        assert_eq!(inner["contents"][0]["parts"][0]["text"], "Hello there");
        assert!(inner["tools"].is_array() && inner["systemInstruction"].is_object(), "{sent}");
        let count = heard(&prepared, r#"{"totalTokens":31,"promptTokensDetails":[]}"#);
        assert_eq!(count, serde_json::json!({ "input_tokens": 31 }));

        for asked in [PLAIN, WHOLE] {
            let (prepared, sent) = prepare(asked, Protocol::Anthropic);
            assert!(prepared.head.url.ends_with("/messages/count_tokens"), "{}", prepared.head.url);
            let names: Vec<&String> = sent.as_object().unwrap().keys().collect();
            assert_eq!(names, ["messages", "model"], "{sent}");
            assert_eq!(sent["model"], "theirs");
            let count = heard(&prepared, r#"{"input_tokens":14}"#);
            assert_eq!(count, serde_json::json!({ "totalTokens": 14 }));
        }
    }

    #[test]
    fn for_who_does_not_count_it_is_reckoned_and_says_so() {
        for (asked, name) in
            [(MESSAGES, "input_tokens"), (PLAIN, "totalTokens"), (WHOLE, "totalTokens")]
        {
            for protocol in [Protocol::Openai, Protocol::Azure, Protocol::Bedrock, Protocol::Mock] {
                let (prepared, _) = prepare(asked, protocol);
                let answer = String::from_utf8(prepared.answer.clone().unwrap()).unwrap();
                let count = heard(&prepared, &answer);
                assert_eq!(count["estimated"], true, "{count}");
                assert!((2..60).contains(&count[name].as_u64().unwrap()), "{count}");
            }
        }
    }
}
