//! An object read member by member; what nobody read is told, so that nothing is dropped in
//! silence.

use super::tree::{Items, Json, Members};
use crate::fault::RequestFault;

/// The members of an object, and which of them have been read.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    members: Members<'a>,
    read: Vec<bool>,
    /// Where the object stands, such as `messages[2]`; empty for the whole body.
    path: String,
}

impl<'a> Fields<'a> {
    /// # Errors
    /// It is not an object.
    pub(crate) fn of(json: Json<'a>, path: impl Into<String>) -> Result<Self, RequestFault> {
        let path = path.into();
        match json.members() {
            Some(members) => Ok(Self { members, read: vec![false; members.len()], path }),
            None => Err(RequestFault::Wrong { path, expected: "an object" }),
        }
    }

    /// The path of a member.
    pub(crate) fn path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Whether there is such a member, `null` or not.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.members.iter().any(|(name, _)| name == key)
    }

    /// A member; of a repeated one the last. One that is `null` is absent.
    pub(crate) fn take(&mut self, key: &str) -> Option<Json<'a>> {
        let mut found = None;
        for ((name, value), read) in self.members.iter().zip(&mut self.read) {
            if name == key {
                *read = true;
                found = Some(value);
            }
        }
        found.filter(|value| !value.is_null())
    }

    /// Like [`Self::take`], as what `read` makes of it.
    ///
    /// # Errors
    /// `read` makes nothing of it; `expected` says what it must be.
    pub(crate) fn read<T>(
        &mut self,
        key: &str,
        expected: &'static str,
        read: impl FnOnce(Json<'a>) -> Option<T>,
    ) -> Result<Option<T>, RequestFault> {
        let Some(value) = self.take(key) else { return Ok(None) };
        match read(value) {
            Some(value) => Ok(Some(value)),
            None => Err(RequestFault::Wrong { path: self.path(key), expected }),
        }
    }

    pub(crate) fn text(&mut self, key: &str) -> Result<Option<&'a str>, RequestFault> {
        self.read(key, "a string", Json::text)
    }

    pub(crate) fn need_text(&mut self, key: &str) -> Result<&'a str, RequestFault> {
        self.text(key)?.ok_or_else(|| self.missing(key))
    }

    pub(crate) fn flag(&mut self, key: &str) -> Result<Option<bool>, RequestFault> {
        self.read(key, "`true` or `false`", Json::flag)
    }

    pub(crate) fn whole(&mut self, key: &str) -> Result<Option<u64>, RequestFault> {
        self.read(key, "a whole number", Json::whole)
    }

    /// A number as it was written.
    pub(crate) fn number(&mut self, key: &str) -> Result<Option<&'a str>, RequestFault> {
        self.read(key, "a number", Json::number)
    }

    pub(crate) fn list(&mut self, key: &str) -> Result<Option<Items<'a>>, RequestFault> {
        self.read(key, "a list", Json::list)
    }

    /// A list of strings; empty if it is absent.
    pub(crate) fn texts(&mut self, key: &str) -> Result<Vec<&'a str>, RequestFault> {
        let read = |json: Json<'a>| json.list()?.iter().map(Json::text).collect();
        Ok(self.read(key, "a list of strings", read)?.unwrap_or_default())
    }

    /// The members of an object inside this one.
    pub(crate) fn fields(&mut self, key: &str) -> Result<Option<Self>, RequestFault> {
        let path = self.path(key);
        self.take(key).map(|json| Self::of(json, path)).transpose()
    }

    pub(crate) fn missing(&self, key: &str) -> RequestFault {
        RequestFault::Missing { path: self.path(key) }
    }

    /// Adds the path of every member that has a value and was not read.
    pub(crate) fn report_rest(&self, lost: &mut Vec<String>) {
        for ((name, value), read) in self.members.iter().zip(&self.read) {
            if !read && !value.is_null() {
                lost.push(self.path(name));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::*;

    #[test]
    fn what_was_not_read_is_told() {
        let mut tree = Tree::default();
        let json = tree.parse(br#"{"a":"x","b":{"c":1,"d":2},"e":null,"f":3}"#).unwrap();
        let mut fields = Fields::of(json, "").unwrap();
        assert_eq!(fields.text("a").unwrap(), Some("x"));
        let mut inner = fields.fields("b").unwrap().unwrap();
        assert_eq!(inner.whole("c").unwrap(), Some(1));
        let mut lost = Vec::new();
        inner.report_rest(&mut lost);
        fields.report_rest(&mut lost);
        assert_eq!(lost, ["b.d", "f"]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_path() {
        let mut tree = Tree::default();
        let json = tree.parse(br#"{"b":{"c":"x"}}"#).unwrap();
        let mut inner = Fields::of(json, "").unwrap().fields("b").unwrap().unwrap();
        assert_eq!(inner.whole("c").unwrap_err().to_string(), "`b.c` must be a whole number");
        assert_eq!(inner.need_text("z").unwrap_err().to_string(), "`b.z` is missing");
        assert!(Fields::of(json, "").unwrap().list("b").is_err());
    }
}
