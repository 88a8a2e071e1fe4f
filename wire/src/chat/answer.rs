//! A whole (not streamed) chat completion.

use super::finish::is_broken;
use super::usage::read_usage;
use crate::expected::Whole;
use crate::json::{Broken, Kind, Skimmer};

/// What a whole body amounts to.
pub(crate) fn judge_whole(body: &[u8]) -> Result<Whole, Broken> {
    let mut whole = Whole::default();
    let mut json = Skimmer::new(body);
    match json.kind()? {
        Kind::Object => json.enter()?,
        // Gemini's endpoint for OpenAI's protocol wraps its errors in a list.
        _ => {
            whole.error = true;
            json.skip()?;
            json.end()?;
            return Ok(whole);
        }
    }
    while let Some(key) = json.next_member()? {
        match &*key.decode() {
            "choices" if json.kind()? == Kind::Array => choices(&mut whole, &mut json)?,
            "usage" => whole.usage = read_usage(&mut json)?,
            "error" => {
                whole.error = json.kind()? != Kind::Null;
                json.skip()?;
            }
            _ => {
                json.skip()?;
            }
        }
    }
    json.end()?;
    Ok(whole)
}

fn choices(whole: &mut Whole, json: &mut Skimmer<'_>) -> Result<(), Broken> {
    json.enter()?;
    while json.next_element()? {
        if json.kind()? != Kind::Object {
            json.skip()?;
            continue;
        }
        whole.answered = true;
        json.enter()?;
        while let Some(key) = json.next_member()? {
            if key.decode() == "finish_reason" && json.kind()? == Kind::String {
                whole.error |= is_broken(&json.string()?.decode());
            } else {
                json.walk(&mut |text| whole.output.add_string(text))?;
            }
        }
    }
    Ok(())
}
