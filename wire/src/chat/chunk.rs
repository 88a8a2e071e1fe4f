//! One chunk of a streamed chat completion: is it content, and what else does it say.

use pointsman_core::Usage;

use super::usage::read_usage;
use crate::json::{Broken, Kind, Skimmer};
use crate::tokens::Estimate;

/// What a chunk says.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// Something the user waits for: text, reasoning, refusal, a tool call's name or arguments,
    /// media, or a finish reason.
    pub(super) content: bool,
    /// How many choices it speaks of.
    pub(super) choices: usize,
    /// One bit for each choice whose finish reason it gives.
    pub(super) finished: u128,
    pub(super) usage: Option<Usage>,
    /// It carries an error in place of an answer.
    pub(super) error: bool,
    /// The output in it.
    pub(super) output: Estimate,
}

impl Chunk {
    pub(super) fn read(data: &[u8]) -> Result<Self, Broken> {
        let mut chunk = Self::default();
        let mut json = Skimmer::new(data);
        if json.kind()? != Kind::Object {
            return json.broken("an object");
        }
        json.enter()?;
        while let Some(key) = json.next_member()? {
            match &*key.decode() {
                "choices" if json.kind()? == Kind::Array => {
                    json.enter()?;
                    while json.next_element()? {
                        chunk.choice(&mut json)?;
                    }
                }
                "usage" => chunk.usage = read_usage(&mut json)?,
                "error" => {
                    chunk.error = json.kind()? != Kind::Null;
                    json.skip()?;
                }
                _ => {
                    json.skip()?;
                }
            }
        }
        json.end()?;
        Ok(chunk)
    }

    fn choice(&mut self, json: &mut Skimmer<'_>) -> Result<(), Broken> {
        let place = self.choices;
        self.choices += 1;
        if json.kind()? != Kind::Object {
            json.skip()?;
            return Ok(());
        }
        let (mut index, mut finished) = (place as u64, false);
        json.enter()?;
        while let Some(key) = json.next_member()? {
            match &*key.decode() {
                "index" => index = super::fields::count(json)?.unwrap_or(index),
                "delta" => self.delta(json)?,
                "text" => self.strings(json)?,
                "finish_reason" => {
                    finished = json.kind()? == Kind::String;
                    json.skip()?;
                }
                _ => {
                    json.skip()?;
                }
            }
        }
        if finished {
            self.content = true;
            self.finished |= bit(index);
        }
        Ok(())
    }

    fn delta(&mut self, json: &mut Skimmer<'_>) -> Result<(), Broken> {
        if json.kind()? != Kind::Object {
            json.skip()?;
            return Ok(());
        }
        json.enter()?;
        while let Some(key) = json.next_member()? {
            match &*key.decode() {
                "content" | "reasoning_content" | "reasoning" | "refusal" => self.strings(json)?,
                "tool_calls" if json.kind()? == Kind::Array => {
                    json.enter()?;
                    while json.next_element()? {
                        self.tool_call(json)?;
                    }
                }
                "function_call" => self.function(json)?,
                "audio" | "images" => self.media(json)?,
                _ => {
                    json.skip()?;
                }
            }
        }
        Ok(())
    }

    fn tool_call(&mut self, json: &mut Skimmer<'_>) -> Result<(), Broken> {
        if json.kind()? != Kind::Object {
            json.skip()?;
            return Ok(());
        }
        json.enter()?;
        while let Some(key) = json.next_member()? {
            if key.decode() == "function" {
                self.function(json)?;
            } else {
                json.skip()?;
            }
        }
        Ok(())
    }

    /// A call's name and arguments.
    fn function(&mut self, json: &mut Skimmer<'_>) -> Result<(), Broken> {
        self.strings(json)
    }

    /// Every string in the value that comes next is output, and a non-empty one is content.
    fn strings(&mut self, json: &mut Skimmer<'_>) -> Result<(), Broken> {
        json.walk(&mut |text| {
            self.content |= !text.is_empty();
            self.output.add_string(text);
        })?;
        Ok(())
    }

    /// Media are content; how many tokens they are cannot be told from their bytes.
    fn media(&mut self, json: &mut Skimmer<'_>) -> Result<(), Broken> {
        json.walk(&mut |text| self.content |= !text.is_empty())?;
        Ok(())
    }
}

/// The bit of a choice; none for an index no request can have.
fn bit(index: u64) -> u128 {
    u32::try_from(index).ok().and_then(|index| 1_u128.checked_shl(index)).unwrap_or(0)
}
