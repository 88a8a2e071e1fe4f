//! Members as Google reads them: in `camelCase` or in `snake_case`, and one thing where a list of
//! things is meant.

use std::borrow::Cow;

use crate::fault::RequestFault;
use crate::json::{Fields, Items, Json};

/// An object of a request; keys are asked for in `camelCase`.
#[derive(Debug)]
pub(super) struct Members<'a>(Fields<'a>);

impl<'a> Members<'a> {
    /// # Errors
    /// It is not an object.
    pub(super) fn of(json: Json<'a>, path: impl Into<String>) -> Result<Self, RequestFault> {
        Fields::of(json, path).map(Self)
    }

    pub(super) fn path(&self, key: &str) -> String {
        self.0.path(key)
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Json<'a>> {
        let key = self.key(key);
        self.0.take(&key)
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<&'a str>, RequestFault> {
        let key = self.key(key);
        self.0.text(&key)
    }

    pub(super) fn need_text(&mut self, key: &str) -> Result<&'a str, RequestFault> {
        let key = self.key(key);
        self.0.need_text(&key)
    }

    pub(super) fn flag(&mut self, key: &str) -> Result<Option<bool>, RequestFault> {
        let key = self.key(key);
        self.0.flag(&key)
    }

    pub(super) fn whole(&mut self, key: &str) -> Result<Option<u64>, RequestFault> {
        let key = self.key(key);
        self.0.whole(&key)
    }

    pub(super) fn number(&mut self, key: &str) -> Result<Option<&'a str>, RequestFault> {
        let key = self.key(key);
        self.0.number(&key)
    }

    pub(super) fn texts(&mut self, key: &str) -> Result<Vec<&'a str>, RequestFault> {
        let key = self.key(key);
        self.0.texts(&key)
    }

    /// An object as it was written.
    pub(super) fn object(&mut self, key: &str) -> Result<Option<Json<'a>>, RequestFault> {
        let key = self.key(key);
        self.0.read(&key, "an object", |json| json.members().map(|_| json))
    }

    /// The things of a list, or the one thing in its place.
    pub(super) fn items(&mut self, key: &str) -> Result<Items<'a>, RequestFault> {
        let key = self.key(key);
        let read = |json: Json<'a>| match json.members() {
            Some(_) => Some(json.alone()),
            None => json.list(),
        };
        Ok(self.0.read(&key, "a list", read)?.unwrap_or_default())
    }

    pub(super) fn members(&mut self, key: &str) -> Result<Option<Self>, RequestFault> {
        let path = self.path(key);
        self.take(key).map(|json| Self::of(json, path)).transpose()
    }

    pub(super) fn missing(&self, key: &str) -> RequestFault {
        self.0.missing(key)
    }

    pub(super) fn report_rest(&self, lost: &mut Vec<String>) {
        self.0.report_rest(lost);
    }

    /// The key as it stands in the object.
    fn key<'k>(&self, camel: &'k str) -> Cow<'k, str> {
        if !self.0.has(camel) {
            let snake = snake(camel);
            if self.0.has(&snake) {
                return Cow::Owned(snake);
            }
        }
        Cow::Borrowed(camel)
    }
}

fn snake(camel: &str) -> String {
    let mut snake = String::with_capacity(camel.len() + 4);
    for c in camel.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// `snake_case` as `camelCase`; anything else as it is.
pub(crate) fn camel(key: &str) -> Cow<'_, str> {
    if !key.contains('_') {
        return Cow::Borrowed(key);
    }
    let mut camel = String::with_capacity(key.len());
    let mut upper = false;
    for c in key.chars() {
        match c {
            '_' => upper = !camel.is_empty(),
            _ if core::mem::take(&mut upper) => camel.push(c.to_ascii_uppercase()),
            _ => camel.push(c),
        }
    }
    Cow::Owned(camel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Tree;

    #[test]
    fn keys_are_found_in_both_spellings() {
        let json = br#"{"system_instruction":"a","generationConfig":"b","topK":null,"x_y":1}"#;
        let mut tree = Tree::default();
        let json = tree.parse(json).unwrap();
        let mut members = Members::of(json, "").unwrap();
        assert_eq!(members.text("systemInstruction").unwrap(), Some("a"));
        assert_eq!(members.text("generationConfig").unwrap(), Some("b"));
        assert_eq!(members.text("topK").unwrap(), None);
        let mut lost = Vec::new();
        members.report_rest(&mut lost);
        assert_eq!(lost, ["x_y"]);
    }

    #[test]
    fn spellings() {
        assert_eq!(snake("allowedFunctionNames"), "allowed_function_names");
        assert_eq!(camel("any_of"), "anyOf");
        assert_eq!(camel("type"), "type");
    }

    #[test]
    fn one_thing_may_stand_for_a_list() {
        let mut tree = Tree::default();
        let json = tree.parse(br#"{"parts":{"text":"a"},"contents":[{},{}],"x":1}"#).unwrap();
        let mut members = Members::of(json, "").unwrap();
        assert_eq!(members.items("parts").unwrap().len(), 1);
        assert_eq!(members.items("contents").unwrap().len(), 2);
        assert_eq!(members.items("absent").unwrap().len(), 0);
        assert!(members.items("x").is_err());
    }
}
