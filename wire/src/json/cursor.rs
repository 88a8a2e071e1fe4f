//! A tree read in the order of its text.

use super::pull::Pull;
use super::skim::{Broken, Kind};
use super::text::Text;
use super::tree::{Items, Json};

/// What is still to come of a value.
#[derive(Debug, Default)]
pub(crate) struct Cursor<'a> {
    /// Whatever container they are in.
    rest: Items<'a>,
    /// How many containers we are in, which is how deep an item of the innermost lies.
    depth: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn of(json: Json<'a>) -> Self {
        Self { rest: json.alone(), depth: json.depth() }
    }

    /// The next item of the innermost container, which it does not pass; `None` closes that.
    fn next_item(&mut self) -> Option<Json<'a>> {
        let item = self.rest.first().filter(|json| json.depth() == self.depth);
        if item.is_none() {
            self.depth = self.depth.saturating_sub(1);
        }
        item
    }

    /// Passes the value that comes next.
    fn take(&mut self) -> Result<Json<'a>, Broken> {
        let Some(json) = self.rest.first() else { return self.broken("a value") };
        self.rest = self.rest.rest();
        Ok(json)
    }
}

impl<'a> Pull<'a> for Cursor<'a> {
    fn kind(&mut self) -> Result<Kind, Broken> {
        self.rest.first().map_or_else(|| self.broken("a value"), |json| Ok(json.kind()))
    }

    fn enter(&mut self) -> Result<(), Broken> {
        if !matches!(self.kind()?, Kind::Object | Kind::Array) {
            return self.broken("`{` or `[`");
        }
        self.rest = self.rest.entered();
        self.depth += 1;
        Ok(())
    }

    fn next_member(&mut self) -> Result<Option<Text<'a>>, Broken> {
        Ok(self.next_item().map(Json::key))
    }

    fn next_element(&mut self) -> Result<bool, Broken> {
        Ok(self.next_item().is_some())
    }

    fn string(&mut self) -> Result<Text<'a>, Broken> {
        let string = self.take()?.string();
        string.map_or_else(|| self.broken("a string"), Ok)
    }

    fn walk(&mut self, each: &mut impl FnMut(Text<'a>)) -> Result<(), Broken> {
        self.take()?.strings().for_each(each);
        Ok(())
    }

    fn skip(&mut self) -> Result<&'a [u8], Broken> {
        Ok(self.take()?.raw().as_bytes())
    }

    fn end(&mut self) -> Result<(), Broken> {
        if self.rest.is_empty() { Ok(()) } else { self.broken("the end") }
    }

    fn broken<T>(&self, expected: &'static str) -> Result<T, Broken> {
        let at = self.rest.first().map(Json::start).unwrap_or_default();
        Err(Broken { at, expected })
    }
}
