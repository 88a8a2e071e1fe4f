//! The messages of a chat completion request: their size, and what is in them besides text.

use crate::fault::{Flaw, wrong};
use crate::json::{Kind, Skimmer};
use crate::tokens::{Estimate, data_url_tokens};

/// Tokens the provider adds around each message.
const MESSAGE_TOKENS: u64 = 4;
/// An image in low detail, and one in high detail of the usual size (four tiles). Its bytes, which
/// may stand in the request as base64, say nothing about its price.
pub(crate) const LOW_DETAIL_TOKENS: u64 = 85;
pub(crate) const HIGH_DETAIL_TOKENS: u64 = 765;
/// Base64 bytes of compressed audio to a token (about ten tokens a second).
pub(crate) const AUDIO_BYTES: u64 = 2_048;

/// What the messages amount to.
#[derive(Default)]
pub(super) struct Messages {
    pub(super) tokens: u64,
    pub(super) images: bool,
    pub(super) audio: bool,
    /// Where the system prompts end that they begin with.
    pub(super) system_end: usize,
}

/// Reads the value of `messages`.
pub(super) fn read_messages(json: &mut Skimmer<'_>) -> Result<Messages, Flaw> {
    let mut reader = Reader::default();
    reader.messages.system_end = json.position();
    let mut leading = true;
    if json.kind()? != Kind::Array {
        return wrong("messages", "a list of messages");
    }
    json.enter()?;
    while json.next_element()? {
        leading &= reader.message(json)?;
        if leading {
            reader.messages.system_end = json.offset();
        }
        reader.message += 1;
    }
    reader.messages.tokens = reader.estimate.tokens();
    Ok(reader.messages)
}

/// Reads the value of `prompt`: a text, several, or tokens.
pub(super) fn read_prompt(json: &mut Skimmer<'_>) -> Result<Messages, Flaw> {
    let mut text = Estimate::default();
    json.walk(&mut |one| text.add_string(one))?;
    Ok(Messages { tokens: text.tokens(), ..Messages::default() })
}

#[derive(Default)]
struct Reader {
    messages: Messages,
    estimate: Estimate,
    /// Where we are, for errors.
    message: usize,
    part: usize,
}

impl Reader {
    /// Whether it is a system prompt.
    fn message(&mut self, json: &mut Skimmer<'_>) -> Result<bool, Flaw> {
        if json.kind()? != Kind::Object {
            return wrong(self.path(""), "an object");
        }
        self.estimate.add_tokens(MESSAGE_TOKENS);
        let mut system = false;
        json.enter()?;
        while let Some(key) = json.next_member()? {
            match (&*key.decode(), json.kind()?) {
                ("content", _) => self.content(json)?,
                ("role", Kind::String) => {
                    system = matches!(&*json.string()?.decode(), "system" | "developer");
                }
                ("role" | "tool_call_id", _) => {
                    json.skip()?;
                }
                _ => self.strings(json)?,
            }
        }
        Ok(system)
    }

    fn content(&mut self, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        match json.kind()? {
            Kind::String => self.estimate.add_string(json.string()?),
            Kind::Null => {
                json.skip()?;
            }
            Kind::Array => {
                json.enter()?;
                self.part = 0;
                while json.next_element()? {
                    self.part(json)?;
                    self.part += 1;
                }
            }
            _ => return wrong(self.path(".content"), "a string or a list of parts"),
        }
        Ok(())
    }

    fn part(&mut self, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        if json.kind()? != Kind::Object {
            return wrong(self.part_path(""), "an object");
        }
        json.enter()?;
        while let Some(key) = json.next_member()? {
            match &*key.decode() {
                "type" => self.part_type(json)?,
                "image_url" => self.image(json)?,
                "input_audio" => {
                    self.messages.audio = true;
                    self.bytes(json, AUDIO_BYTES)?;
                }
                "file" => self.file(json)?,
                _ => self.strings(json)?,
            }
        }
        Ok(())
    }

    fn part_type(&mut self, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        if json.kind()? != Kind::String {
            return wrong(self.part_path(".type"), "a string");
        }
        match &*json.string()?.decode() {
            "image_url" => self.messages.images = true,
            "input_audio" => self.messages.audio = true,
            _ => {}
        }
        Ok(())
    }

    fn image(&mut self, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        self.messages.images = true;
        let mut tokens = HIGH_DETAIL_TOKENS;
        if json.kind()? == Kind::Object {
            json.enter()?;
            while let Some(key) = json.next_member()? {
                let detail = key.decode() == "detail";
                json.walk(&mut |text| {
                    if detail && text.decode() == "low" {
                        tokens = LOW_DETAIL_TOKENS;
                    }
                })?;
            }
        } else {
            json.skip()?;
        }
        self.estimate.add_tokens(tokens);
        Ok(())
    }

    fn bytes(&mut self, json: &mut Skimmer<'_>, bytes_per_token: u64) -> Result<(), Flaw> {
        let length = json.skip()?.len();
        self.estimate.add_tokens((length as u64).div_ceil(bytes_per_token));
        Ok(())
    }

    fn file(&mut self, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        if json.kind()? != Kind::Object {
            json.skip()?;
            return Ok(());
        }
        json.enter()?;
        while let Some(key) = json.next_member()? {
            if key.decode() == "file_data" && json.kind()? == Kind::String {
                let tokens = data_url_tokens(json.string()?.decode().as_bytes());
                self.estimate.add_tokens(tokens);
            } else {
                json.skip()?;
            }
        }
        Ok(())
    }

    fn strings(&mut self, json: &mut Skimmer<'_>) -> Result<(), Flaw> {
        json.walk(&mut |text| self.estimate.add_string(text))?;
        Ok(())
    }

    fn path(&self, member: &str) -> String {
        format!("messages[{}]{member}", self.message)
    }

    fn part_path(&self, member: &str) -> String {
        format!("messages[{}].content[{}]{member}", self.message, self.part)
    }
}
