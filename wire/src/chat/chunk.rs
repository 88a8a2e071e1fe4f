//! One chunk of a streamed chat completion: is it content, and what else does it say.

use super::finish::{is_broken, is_said};
use super::usage::read_usage;
use crate::json::{Broken, Kind, Pull};
use crate::relay::Chunk;

/// Reads one event's data.
pub(crate) fn judge<'a>(json: &mut impl Pull<'a>) -> Result<Chunk, Broken> {
    let mut reader = Reader::default();
    reader.read(json)?;
    Ok(reader.chunk)
}

#[derive(Default)]
struct Reader {
    chunk: Chunk,
}

impl Reader {
    fn read<'a>(&mut self, json: &mut impl Pull<'a>) -> Result<(), Broken> {
        if json.kind()? != Kind::Object {
            return json.broken("an object");
        }
        json.enter()?;
        while let Some(key) = json.next_member()? {
            match &*key.decode() {
                "choices" if json.kind()? == Kind::Array => {
                    json.enter()?;
                    while json.next_element()? {
                        self.choice(json)?;
                    }
                }
                "usage" => self.chunk.usage = read_usage(json)?,
                "error" => {
                    self.chunk.error = json.kind()? != Kind::Null;
                    json.skip()?;
                }
                _ => {
                    json.skip()?;
                }
            }
        }
        json.end()
    }

    fn choice<'a>(&mut self, json: &mut impl Pull<'a>) -> Result<(), Broken> {
        let place = self.chunk.choices;
        self.chunk.choices += 1;
        if json.kind()? != Kind::Object {
            json.skip()?;
            return Ok(());
        }
        let (mut index, mut finished) = (place as u64, false);
        json.enter()?;
        while let Some(key) = json.next_member()? {
            match &*key.decode() {
                "index" => index = crate::skimmed::count(json)?.unwrap_or(index),
                "delta" => self.delta(json)?,
                "text" => self.strings(json)?,
                "finish_reason" if json.kind()? == Kind::String => {
                    let word = json.string()?.decode();
                    finished = is_said(&word);
                    self.chunk.error |= is_broken(&word);
                }
                _ => {
                    json.skip()?;
                }
            }
        }
        if finished {
            self.chunk.content = true;
            self.chunk.finished |= bit(index);
        }
        Ok(())
    }

    fn delta<'a>(&mut self, json: &mut impl Pull<'a>) -> Result<(), Broken> {
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

    fn tool_call<'a>(&mut self, json: &mut impl Pull<'a>) -> Result<(), Broken> {
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
    fn function<'a>(&mut self, json: &mut impl Pull<'a>) -> Result<(), Broken> {
        self.strings(json)
    }

    /// Every string in the value that comes next is output, and a non-empty one is content.
    fn strings<'a>(&mut self, json: &mut impl Pull<'a>) -> Result<(), Broken> {
        json.walk(&mut |text| {
            self.chunk.content |= !text.is_empty();
            self.chunk.output.add_string(text);
        })?;
        Ok(())
    }

    /// Media are content; how many tokens they are cannot be told from their bytes.
    fn media<'a>(&mut self, json: &mut impl Pull<'a>) -> Result<(), Broken> {
        json.walk(&mut |text| self.chunk.content |= !text.is_empty())?;
        Ok(())
    }
}

/// The bit of a choice; none for an index no request can have.
fn bit(index: u64) -> u128 {
    u32::try_from(index).ok().and_then(|index| 1_u128.checked_shl(index)).unwrap_or(0)
}
