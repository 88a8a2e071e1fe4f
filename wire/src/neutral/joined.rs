//! Turns as protocols want them whose sides must alternate.

use super::part::Part;
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
    said: impl Fn(&Part<'_>) -> bool,
    missed: impl Fn(&Part<'_>) -> bool,
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
