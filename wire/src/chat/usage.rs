//! The `usage` object of an answer, in the names of chat completions and of responses.

use pointsman_core::Usage;

use crate::json::{Broken, Kind, Pull};
use crate::skimmed::count;

/// Reads the value of `usage`; `None` if it is `null` or has no counts.
pub(crate) fn read_usage<'a>(json: &mut impl Pull<'a>) -> Result<Option<Usage>, Broken> {
    if json.kind()? != Kind::Object {
        json.skip()?;
        return Ok(None);
    }
    json.enter()?;
    let mut usage = Usage::default();
    let mut counted = false;
    while let Some(key) = json.next_member()? {
        match &*key.decode() {
            "prompt_tokens" | "input_tokens" => counted |= set(&mut usage.input, json)?,
            "completion_tokens" | "output_tokens" => counted |= set(&mut usage.output, json)?,
            // DeepSeek's name for it.
            "prompt_cache_hit_tokens" => {
                set(&mut usage.cached_input, json)?;
            }
            "prompt_tokens_details"
            | "completion_tokens_details"
            | "input_tokens_details"
            | "output_tokens_details" => details(&mut usage, json)?,
            _ => {
                json.skip()?;
            }
        }
    }
    Ok(counted.then_some(usage))
}

fn details<'a>(usage: &mut Usage, json: &mut impl Pull<'a>) -> Result<(), Broken> {
    if json.kind()? != Kind::Object {
        json.skip()?;
        return Ok(());
    }
    json.enter()?;
    while let Some(key) = json.next_member()? {
        match &*key.decode() {
            "cached_tokens" => set(&mut usage.cached_input, json)?,
            "cache_write_tokens" => set(&mut usage.cache_write, json)?,
            "reasoning_tokens" => set(&mut usage.reasoning, json)?,
            _ => json.skip().map(|_| false)?,
        };
    }
    Ok(())
}

/// Sets `field` if a count comes next.
fn set<'a>(field: &mut u64, json: &mut impl Pull<'a>) -> Result<bool, Broken> {
    let count = count(json)?;
    *field = count.unwrap_or(*field);
    Ok(count.is_some())
}
