//! A call of a tool, in protocols stricter than whoever made it.

use std::borrow::Cow;

use crate::expected::is_object;
use crate::json::Object;

use super::request::{Request, Untranslatable};

/// Writes the arguments of a call where they must be an object.
pub(crate) fn write_arguments(o: &mut Object<'_>, member: &str, arguments: &str) {
    if arguments.trim().is_empty() {
        o.raw(member, "{}");
    } else if is_object(arguments.as_bytes()) {
        o.raw(member, arguments);
    } else {
        // What Anthropic asks for in place of arguments that were cut or never were an object.
        o.object(member, |o| o.text("INVALID_JSON", arguments));
    }
}

/// An id of ASCII letters, digits and `others`, at most `longest` of them; one that is not is made
/// so, a call's and its result's alike. Of a long one its end tells it from others.
pub(crate) fn legal_id<'a>(id: &'a str, others: &str, longest: usize) -> Cow<'a, str> {
    let legal = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
    if id.chars().all(legal) && (1..=longest).contains(&id.len()) {
        return Cow::Borrowed(id);
    }
    let over = id.chars().count().saturating_sub(longest);
    let made: String = id.chars().skip(over).map(|c| if legal(c) { c } else { '_' }).collect();
    Cow::Owned(if made.is_empty() { "_".to_owned() } else { made })
}

/// Checks the names of tools where they are ASCII letters, digits, `_` and `-`, at most `longest` of
/// them. One that is not cannot be made so: the client would not know the name that it is called by.
///
/// # Errors
/// The first that is not, with its place.
pub(crate) fn check_names(
    request: &Request<'_>,
    longest: usize,
    why: &'static str,
) -> Result<(), Untranslatable> {
    let legal = |c: u8| c.is_ascii_alphanumeric() || b"_-".contains(&c);
    let fits = |name: &str| name.bytes().all(legal) && (1..=longest).contains(&name.len());
    match request.tools.iter().position(|tool| !fits(tool.name)) {
        Some(at) => Err(Untranslatable { path: format!("tools[{at}].function.name"), why }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::object;
    use crate::neutral::Tool;

    #[test]
    fn arguments_are_always_an_object() {
        for (arguments, expected) in [
            ("", "{}"),
            (" \n", "{}"),
            (r#"{ "a" : 1 }"#, r#"{ "a" : 1 }"#),
            (r#"{"a":"#, r#"{"INVALID_JSON":"{\"a\":"}"#),
            ("[1]", r#"{"INVALID_JSON":"[1]"}"#),
        ] {
            let mut out = Vec::new();
            object(&mut out, |o| write_arguments(o, "input", arguments));
            assert_eq!(String::from_utf8(out).unwrap(), format!(r#"{{"input":{expected}}}"#));
        }
    }

    #[test]
    fn a_name_that_the_target_would_refuse_is_found() {
        let long = "x".repeat(65);
        for (name, fits) in [
            ("get_weather-2", true),
            ("x", true),
            (&*long, false),
            ("", false),
            ("a.b", false),
            ("wetter_für", false),
        ] {
            let tool =
                |name| Tool { name, description: None, schema: None, strict: None, cache: None };
            let request = Request { tools: vec![tool("ok"), tool(name)], ..Request::default() };
            let found = check_names(&request, 64, "why").map_err(|one| one.path);
            let expected = if fits { Ok(()) } else { Err("tools[1].function.name".to_owned()) };
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn ids_are_made_legal_and_their_ends_stay() {
        for (id, expected) in [
            ("a-1_b", "a-1_b"),
            ("", "_"),
            ("f.g:0", "f_g_0"),
            ("ä", "_"),
            ("0123456789", "23456789"),
            ("ää23456789", "23456789"),
        ] {
            assert_eq!(legal_id(id, "_-", 8), expected, "{id}");
        }
    }
}
