//! Turns as protocols want them whose sides must alternate.

use super::part::{Cache, Part};
use super::request::{Request, Role};

/// Neighbouring turns of one role, with the place of every part.
#[derive(Debug)]
pub(crate) struct Joined<'r, 'a> {
    pub(crate) role: Role,
    pub(crate) parts: Vec<(String, &'r Part<'a>)>,
}

/// The turns without those of the system and the parts that are not `said`, neighbours of one role
/// joined. Names have no place in them; those, and of the parts left out what is `missed`, are `lost`.
pub(crate) fn joined<'r, 'a>(
    request: &'r Request<'a>,
    said: impl Fn(&Part<'a>) -> bool,
    missed: impl Fn(&Part<'a>) -> bool,
    lost: &mut Vec<String>,
) -> Vec<Joined<'r, 'a>> {
    let mut turns: Vec<Joined<'r, 'a>> = Vec::new();
    for (at, turn) in request.turns.iter().enumerate() {
        if turn.role == Role::System {
            continue;
        }
        if turn.name.is_some() {
            lost.push(format!("messages[{at}].name"));
        }
        for (place, part) in turn.parts.iter().enumerate() {
            let path = format!("messages[{at}].content[{place}]");
            if !said(part) {
                lost.extend(missed(part).then_some(path));
                continue;
            }
            match turns.last_mut().filter(|last| last.role == turn.role) {
                Some(last) => last.parts.push((path, part)),
                None => turns.push(Joined { role: turn.role, parts: vec![(path, part)] }),
            }
        }
    }
    turns
}

/// The texts of the system that are `said`, where they all stand before the turns. What it says in the
/// middle is moved there, and its place is `lost`.
pub(crate) fn system<'r, 'a>(
    request: &'r Request<'a>,
    said: impl Fn(&Part<'a>) -> bool,
    lost: &mut Vec<String>,
) -> Vec<(&'a str, Option<Cache<'a>>)> {
    let late = request.turns.iter().enumerate();
    let late = late.filter(|(_, turn)| turn.role == Role::System);
    lost.extend(late.clone().map(|(at, _)| format!("messages[{at}]")));
    let parts = request.system.iter().chain(late.flat_map(|(_, turn)| &turn.parts));
    let text = |part: &'r Part<'a>| match part {
        Part::Text { text, cache, .. } if said(part) => Some((*text, *cache)),
        _ => None,
    };
    parts.filter_map(text).collect()
}

/// The text with which the assistant's answer is to begin, without the white space at its end, if it
/// has some: Anthropic's models refuse that.
pub(crate) fn prefill<'a>(turns: &[Joined<'_, 'a>]) -> Option<Part<'a>> {
    let last = turns.last().filter(|turn| turn.role == Role::Assistant)?;
    let (_, Part::Text { text, citations, cache }) = last.parts.last()? else { return None };
    let said = text.trim_end();
    let cut = said.len() < text.len();
    cut.then(|| Part::Text { text: said, citations: citations.clone(), cache: *cache })
}

/// Puts the text in the place of the last part.
pub(crate) fn begin_with<'r, 'a>(turns: &mut [Joined<'r, 'a>], prefill: Option<&'r Part<'a>>) {
    let last = turns.last_mut().and_then(|turn| turn.parts.last_mut());
    if let (Some((_, last)), Some(prefill)) = (last, prefill) {
        *last = prefill;
    }
}
