//! The client's body as it goes on to a provider of the same protocol: the same bytes but for what
//! must change.

use std::borrow::Cow;

use crate::fault::{Flaw, wrong};
use crate::json::{Kind, Skimmer, Span, write_string};
use crate::prefix::Prompt;
use crate::splice::{Edit, Spliced};

/// Longer names than this are nobody's, and names go into logs and errors.
const MAX_MODEL_NAME: usize = 256;

/// How the upstream's body differs from the client's, and what its answer will be like. Holds
/// places in the body, not the body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) length: usize,
    /// The name the client sent.
    pub(crate) model: String,
    /// Every occurrence: which of two a provider believes is not for us to say.
    pub(crate) model_spans: Vec<Span>,
    /// The name stands there without quotes: in a form.
    pub(crate) plain_model: bool,
    pub(crate) stream: bool,
    /// How many answers are asked for.
    pub(crate) choices: u64,
    /// Whether usage is asked for at the end of a stream, or comes unasked.
    pub(crate) usage_asked: bool,
    /// What to change in a stream's request so that it is.
    pub(crate) usage_edits: Vec<Edit>,
    /// What is cut out: the router's own.
    pub(crate) cuts: Vec<Edit>,
    /// Of former answers of other providers, what one of the client's protocol would refuse.
    pub(crate) foreign: Foreign,
    /// Where a name of the model goes in, in a body without one: behind this brace.
    pub(crate) model_at: Option<usize>,
    /// Where the prompt stands.
    pub(crate) prompt: Prompt,
}

/// What an answer that we translated had to leave without the proof that its own provider gives:
/// thoughts, searches, citations. What cuts it out, and where it stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Foreign {
    pub(crate) edits: Vec<Edit>,
    pub(crate) paths: Vec<String>,
    /// Whether the model waits for the results of calls, and no thought that Anthropic takes is left
    /// before them.
    pub(crate) lacks_thought: bool,
    /// Where the request tells the model to think.
    pub(crate) enabled: Option<Span>,
}

impl Asked {
    /// The path has named the model: what the body calls it does not count.
    pub(crate) fn named_elsewhere(&mut self, body: &[u8]) {
        self.model.clear();
        if self.model_spans.is_empty() && !self.plain_model {
            self.model_at = body.iter().position(|&byte| byte == b'{').map(|at| at + 1);
        }
    }

    /// Where thinking must be left out for a model that refuses to go on without the thought that
    /// came before its calls.
    pub(crate) fn thoughtless(&self) -> Option<Edit> {
        let at = self.foreign.enabled.clone().filter(|_| self.foreign.lacks_thought)?;
        Some(Edit { at, text: br#"{"type":"disabled"}"#.to_vec() })
    }

    /// The body without what is the router's own.
    pub(crate) fn for_provider<'b>(&self, body: &'b [u8]) -> Cow<'b, [u8]> {
        if self.cuts.is_empty() {
            return Cow::Borrowed(body);
        }
        Cow::Owned(Spliced::new(self.length, self.cuts.clone()).to_vec(body))
    }

    #[cfg(test)]
    pub(crate) fn rewrite(&self, model: &str) -> Spliced {
        Spliced::new(self.length, self.edits(model))
    }

    /// What changes in the body for a provider that calls the model `model`: the name, and, in a stream,
    /// a request for usage if the client made none.
    pub(crate) fn edits(&self, model: &str) -> Vec<Edit> {
        let mut edits = Vec::new();
        if let Some(at) = self.model_at {
            let mut text = b"\"model\":".to_vec();
            write_string(&mut text, model);
            text.push(b',');
            edits.push(Edit { at: at..at, text });
        }
        if self.stream {
            edits.extend_from_slice(&self.usage_edits);
        }
        edits.extend_from_slice(&self.cuts);
        edits.extend_from_slice(&self.foreign.edits);
        // A name that is right stays as it is written, escapes and all.
        if self.model != model || self.model_spans.len() > 1 {
            let mut name = Vec::new();
            if self.plain_model {
                name.extend_from_slice(model.as_bytes());
            } else {
                write_string(&mut name, model);
            }
            let replace = |at: &Span| Edit { at: at.clone(), text: name.clone() };
            edits.extend(self.model_spans.iter().map(replace));
        }
        edits
    }
}

/// Reads the value of `model`.
pub(crate) fn read_model(json: &mut Skimmer<'_>, asked: &mut Asked) -> Result<(), Flaw> {
    if json.kind()? != Kind::String {
        return wrong("model", "a string");
    }
    let text = json.string()?;
    let name = text.decode();
    if name.is_empty() || name.len() > MAX_MODEL_NAME {
        return wrong("model", "a name of 1 to 256 bytes");
    }
    asked.model_spans.push(text.span());
    asked.model = name.into_owned();
    Ok(())
}

/// A short text that keeps calls together. Anything else is the provider's to judge.
pub(crate) fn label(json: &mut Skimmer<'_>) -> Result<Option<String>, Flaw> {
    if json.kind()? != Kind::String {
        json.skip()?;
        return Ok(None);
    }
    let text = json.string()?.decode().into_owned();
    Ok((!text.is_empty() && text.len() <= MAX_MODEL_NAME).then_some(text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::chat::read_facts;
    use crate::splice::Piece;

    const ASK: &str = r#""stream_options":{"include_usage":true}"#;

    fn asked(body: &str) -> Asked {
        read_facts(body.as_bytes(), true).unwrap().1
    }

    fn rewrite(body: &str, model: &str) -> String {
        let spliced = asked(body).rewrite(model);
        let whole = spliced.to_vec(body.as_bytes());
        assert_eq!(whole.len(), spliced.len());
        assert!(spliced.slices(body.as_bytes()).all(|piece| !piece.is_empty()));
        String::from_utf8(whole).unwrap()
    }

    #[test]
    fn only_the_name_changes() {
        for body in [
            r#"{"model":"NAME","messages":[]}"#,
            "\n{\t\"messages\" : [ { \"content\" : \"a\\u00e9\\/ \u{1F600}\" } ] ,\r\n \"model\" : NAME }\n ",
            r#"{"seed":123456789012345678901234567890,"x":1.0e-0,"messages":[],"model":"NAME"}"#,
            r#"{"model":"NAME","future":{"model":"keep","deep":[[{"model":"keep"}]]},"messages":[]}"#,
            r#"{"x":1,"x":2,"messages":[],"messages":[],"model":"NAME"}"#,
        ] {
            let quoted = body.replace(": NAME", ": \"NAME\"");
            let ours = quoted.replace("NAME", "my-group");
            let theirs = quoted.replace("NAME", "gpt-4o-2024");
            assert_eq!(rewrite(&ours, "gpt-4o-2024"), theirs);
        }
    }

    #[test]
    fn every_occurrence_of_the_name_changes() {
        let body = r#"{"model":"a","messages":[],"m\u006fdel" : "b"}"#;
        let expected = r#"{"model":"x\"y","messages":[],"m\u006fdel" : "x\"y"}"#;
        assert_eq!(rewrite(body, "x\"y"), expected);
        assert_eq!(rewrite(&body.replace("\"a\"", "\"b\""), "b"), body.replace("\"a\"", "\"b\""));
    }

    #[test]
    fn a_right_name_stays_as_it_is_written() {
        let body = r#"{"model":"gpt\u002d4o","messages":[]}"#;
        let spliced = asked(body).rewrite("gpt-4o");
        assert_eq!(spliced.pieces(), [Piece::Original(0..body.len())]);
    }

    #[test]
    fn the_messages_are_not_copied() {
        let body = format!(r#"{{"messages":["{}"],"model":"m"}}"#, "x".repeat(10_000));
        let body = body.replace("[\"", "[{\"content\":\"").replace("\"]", "\"}]");
        let spliced = asked(&body).rewrite("other");
        let inserted = |piece: &Piece| match piece {
            Piece::Inserted(bytes) => bytes.len(),
            Piece::Original(_) => 0,
        };
        assert_eq!(spliced.pieces().iter().map(inserted).sum::<usize>(), "\"other\"".len());
    }

    #[test]
    fn a_stream_asks_for_usage() {
        for (before, after) in [
            (r#""stream":true"#, format!(r#""stream":true,{ASK}"#)),
            (r#""stream" : true , "n":1"#, format!(r#""stream" : true,{ASK} , "n":1"#)),
            (r#""stream":true,"stream_options":null"#, format!(r#""stream":true,{ASK}"#)),
            (r#""stream":true,"stream_options":{}"#, format!(r#""stream":true,{ASK}"#)),
            (
                r#""stream":true,"stream_options":{"x":1}"#,
                r#""stream":true,"stream_options":{"include_usage":true,"x":1}"#.into(),
            ),
            (
                r#""stream_options":{"include_usage" : false },"stream":true"#,
                r#""stream_options":{"include_usage" : true },"stream":true"#.into(),
            ),
            (
                r#""stream":true,"stream_options":null,"stream_options":{"include_usage":null}"#,
                format!(r#""stream":true,{ASK},{ASK}"#),
            ),
            (r#""stream":true,"stream":true"#, format!(r#""stream":true,"stream":true,{ASK}"#)),
        ] {
            let body = |members: &str| format!(r#"{{"model":"m",{members},"messages":[]}}"#);
            assert_eq!(rewrite(&body(before), "m"), body(&after));
            assert!(!asked(&body(before)).usage_asked);
        }
    }

    #[test]
    fn who_asks_for_usage_or_does_not_stream_sends_what_it_sent() {
        for members in [
            r#""stream":true,"stream_options":{"include_usage":true}"#,
            r#""stream":true,"stream_options":null,"stream_options":{"include_usage":true}"#,
            r#""stream":false"#,
            r#""stream":null,"stream_options":null"#,
            r#""n":1"#,
        ] {
            let body = format!(r#"{{"model":"m",{members},"messages":[]}}"#);
            assert_eq!(rewrite(&body, "m"), body);
        }
    }

    /// Members in any order, spacing and spelling, with the model's value left open.
    fn members() -> impl Strategy<Value = Vec<String>> {
        let member = prop_oneof![
            Just("\"messages\":[]"),
            Just("\"messages\" : [ {\"role\":\"user\",\"content\":\"\\u0041 \\\"model\\\"\"} ]"),
            Just("\"mod\\u0065l\": MODEL"),
            Just("\"x\":{\"model\":\"no\"}"),
            Just("\"stream\":true"),
            Just("\"stream\" :false"),
            Just("\"stream_options\":{ }"),
            Just("\"stream_options\":{\"include_usage\":false,\"y\":[1]}"),
            Just("\"stream_options\":{\"include_usage\":true}"),
            Just("\"n\":1"),
        ];
        prop::collection::vec(member.prop_map(str::to_owned), 0..6).prop_map(|mut members| {
            members.push("\"messages\":[]".into());
            members.push("\"model\" :MODEL".into());
            members
        })
    }

    proptest! {
        #[test]
        fn what_is_sent_is_what_came_but_for_name_and_usage(
            members in members(),
            space in prop_oneof![Just(""), Just(" "), Just("\n\t")],
            name: String,
        ) {
            let comma = format!("{space},{space}");
            let open = format!("{{{space}{}{space}}}", members.join(&comma));
            let body = open.replace("MODEL", "\"group\"");
            let sent = rewrite(&body, &name);
            let parsed: serde_json::Value = serde_json::from_str(&sent).unwrap();
            prop_assert_eq!(parsed["model"].as_str(), Some(&*name));
            if parsed["stream"] == true {
                prop_assert_eq!(parsed["stream_options"]["include_usage"].as_bool(), Some(true));
            } else {
                let expected = open.replace("MODEL", &serde_json::to_string(&name).unwrap());
                let expected = if name == "group" { body } else { expected };
                prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&expected).unwrap(), parsed);
                prop_assert!(sent.len() == expected.len() || name.chars().any(|c| c < ' '));
            }
        }

        #[test]
        fn no_bytes_can_break_it(bytes: Vec<u8>) {
            let _ = read_facts(&bytes, true);
        }
    }
}
