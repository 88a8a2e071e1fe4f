//! What a client understood of an answer.

use serde_json::Value;

use super::way::{Client, Way};
use crate::bench::Reply;

/// An answer as its client reads it.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) reply: Reply,
    pub(crate) text: String,
    pub(crate) model: Option<String>,
    /// Why it ended, if it says so.
    pub(crate) finish: Option<String>,
    /// It says that it is whole: a stream by its terminal event, any other by its status.
    pub(crate) whole: bool,
    /// The error it tells, in a body or in an event of its own.
    pub(crate) error: Option<Value>,
}

impl Said {
    pub(crate) fn read(way: Way, reply: &Reply) -> Self {
        let reply = reply.clone();
        let mut said = Self {
            text: String::new(),
            model: None,
            finish: None,
            whole: false,
            error: None,
            reply,
        };
        if said.reply.status != 200 || !way.stream {
            let body = said.reply.json();
            said.error = body.get("error").cloned();
            said.whole = said.reply.status == 200;
            said.take(way.client, &body, false);
            return said;
        }
        for line in said.reply.body.clone().lines() {
            match line.strip_prefix("data: ") {
                Some("[DONE]") => said.whole = way.client == Client::Chat,
                Some(data) => {
                    assert!(!said.whole, "nothing comes behind the end: {said:?}");
                    let data = serde_json::from_str(data).expect("JSON in every event");
                    said.take(way.client, &data, true);
                }
                None => {}
            }
        }
        said.whole &= said.reply.ended_clean;
        said
    }

    fn take(&mut self, client: Client, data: &Value, event: bool) {
        let text = |pointer: &str| data.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let (words, finish, model) = match (client, event) {
            (Client::Chat, true) => {
                ("/choices/0/delta/content", "/choices/0/finish_reason", "/model")
            }
            (Client::Chat, false) => {
                ("/choices/0/message/content", "/choices/0/finish_reason", "/model")
            }
            (Client::Messages, true) => ("/delta/text", "/delta/stop_reason", "/message/model"),
            (Client::Messages, false) => ("/content/0/text", "/stop_reason", "/model"),
        };
        self.text += &text(words).unwrap_or_default();
        self.finish = self.finish.take().or(text(finish));
        self.model = self.model.take().or(text(model));
        self.whole |= event && text("/type").as_deref() == Some("message_stop");
        if let (true, Some(error)) = (event, data.get("error")) {
            self.error = Some(error.clone());
        }
    }

    pub(crate) fn attempts(&self) -> u32 {
        self.reply.header("x-pointsman-attempts").and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// It is the whole answer of this one, and of nobody else, and the headers say so.
    pub(crate) fn is_whole_by(&self, name: &str) {
        assert_eq!((self.reply.status, self.reply.by()), (200, Some(name)), "{self:?}");
        assert!(self.whole && self.error.is_none() && self.finish.is_some(), "{self:?}");
        let other = if name == "east" { "west" } else { "east" };
        assert!(self.text.contains(name) && !self.text.contains(other), "{self:?}");
        assert_eq!(self.model.as_deref(), Some(&*format!("{name}-model")), "{self:?}");
    }

    /// It broke off behind its first content: an error says so, and nothing says that it is whole.
    pub(crate) fn is_broken(&self) {
        assert_eq!((self.reply.status, self.reply.by()), (200, Some("east")), "{self:?}");
        assert!(self.error.is_some(), "{self:?}");
        assert!(!self.whole && self.finish.is_none(), "{self:?}");
        assert!(!self.text.contains("west"), "no mixture of two answers: {self:?}");
    }

    /// A refusal of this status, in words that fit a client's library.
    pub(crate) fn is_refused(&self, status: u16) {
        assert_eq!(self.reply.status, status, "{self:?}");
        let words = self.error.as_ref().and_then(|error| error["message"].as_str());
        assert!(words.is_some_and(|words| !words.is_empty()), "{self:?}");
    }
}
