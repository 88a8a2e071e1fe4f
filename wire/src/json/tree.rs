//! JSON as a tree that remembers its own bytes: for what is to be said anew in another protocol.
//!
//! What only passes through (a schema, a tool's arguments, a number) is copied as it was written,
//! so that no digit, escape or order of keys is lost on the way.

use std::borrow::Cow;
use std::cell::OnceCell;

use super::skim::{Broken, Kind, Skimmer};

/// A value and the bytes it was read from.
#[derive(Clone, Debug)]
pub(crate) struct Json<'a> {
    raw: &'a str,
    form: Form<'a>,
    /// See [`Json::keep`].
    kept: OnceCell<Box<str>>,
}

#[derive(Clone, Debug)]
enum Form<'a> {
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
    List(Vec<Json<'a>>),
    Text(Cow<'a, str>),
    Number,
    Flag(bool),
    Null,
}

impl<'a> Json<'a> {
    /// Reads a whole text.
    pub(crate) fn parse(text: &'a [u8]) -> Result<Self, Broken> {
        let whole = core::str::from_utf8(text)
            .map_err(|error| Broken { at: error.valid_up_to(), expected: "UTF-8" })?;
        let mut json = Skimmer::new(text);
        let value = Self::read(whole, &mut json)?;
        json.end()?;
        Ok(value)
    }

    /// The skimmer's limit on nesting is the limit of this recursion.
    fn read(whole: &'a str, json: &mut Skimmer<'a>) -> Result<Self, Broken> {
        let start = json.position();
        let form = match json.kind()? {
            Kind::Object => {
                let mut members = Vec::new();
                json.enter()?;
                while let Some(key) = json.next_member()? {
                    members.push((key.decode(), Self::read(whole, json)?));
                }
                Form::Object(members)
            }
            Kind::Array => {
                let mut items = Vec::new();
                json.enter()?;
                while json.next_element()? {
                    items.push(Self::read(whole, json)?);
                }
                Form::List(items)
            }
            Kind::String => Form::Text(json.string()?.decode()),
            kind => {
                let span = json.skip()?;
                match kind {
                    Kind::Number => Form::Number,
                    Kind::Bool => Form::Flag(json.slice(span) == b"true"),
                    _ => Form::Null,
                }
            }
        };
        let raw = whole.get(start..json.offset()).unwrap_or_default();
        Ok(Self { raw, form, kept: OnceCell::new() })
    }

    /// As it was written.
    pub(crate) fn raw(&self) -> &'a str {
        self.raw
    }

    /// What a reader makes of the value when its own text will not do, kept for as long as the
    /// value. Made once; whoever asks again gets the same.
    pub(crate) fn keep(&self, make: impl FnOnce() -> String) -> &str {
        self.kept.get_or_init(|| make().into_boxed_str())
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.form, Form::Null)
    }

    /// A string's text, without quotes and escapes.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.form {
            Form::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&[Self]> {
        match &self.form {
            Form::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn members(&self) -> Option<&[(Cow<'a, str>, Self)]> {
        match &self.form {
            Form::Object(members) => Some(members),
            _ => None,
        }
    }

    pub(crate) fn flag(&self) -> Option<bool> {
        match self.form {
            Form::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    /// A number as it was written.
    pub(crate) fn number(&self) -> Option<&'a str> {
        matches!(self.form, Form::Number).then_some(self.raw)
    }

    /// A whole number that is not negative. `12.0`, as some write it, is one.
    pub(crate) fn whole(&self) -> Option<u64> {
        let digits = self.number()?;
        digits.strip_suffix(".0").unwrap_or(digits).parse().ok()
    }

    /// The member of an object; of a repeated one the last. One that is `null` is absent.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let members = self.members()?.iter().rev();
        let mut found = members.filter(|(name, _)| name == key).map(|(_, value)| value);
        found.next().filter(|value| !value.is_null())
    }

    /// The member at the end of a path of keys.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |json, key| json.get(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_bytes() {
        let text = r#" {"a":[1, 2.50e1 ,"x\u00e9\n"],"b":{"k":null,"n":12.0},"a ":true} "#;
        let json = Json::parse(text.as_bytes()).unwrap();
        assert_eq!(json.raw(), text.trim());
        let list = json.get("a").and_then(Json::list).unwrap();
        assert_eq!((list[1].number(), list[1].whole()), (Some("2.50e1"), None));
        assert_eq!((list[2].text(), list[2].raw()), (Some("xé\n"), r#""x\u00e9\n""#));
        assert_eq!(json.at(&["b", "n"]).and_then(Json::whole), Some(12));
        assert!(json.at(&["b", "k"]).is_none());
        assert_eq!(json.get("a ").and_then(Json::flag), Some(true));
    }

    #[test]
    fn what_is_made_of_a_value_is_kept_with_it() {
        let json = Json::parse(b"1").unwrap();
        assert_eq!((json.keep(|| "one".into()), json.keep(|| "two".into())), ("one", "one"));
    }

    #[test]
    fn of_a_repeated_member_the_last_counts() {
        let json = Json::parse(br#"{"a":1,"a":2}"#).unwrap();
        assert_eq!(json.get("a").and_then(Json::whole), Some(2));
    }

    #[test]
    fn what_is_not_json_is_told_where() {
        assert_eq!(Json::parse(br#"{"a":}"#).unwrap_err().at, 5);
        assert_eq!(Json::parse(b"1 2").unwrap_err().at, 2);
        assert!(Json::parse("[".repeat(200).as_bytes()).is_err());
    }
}
