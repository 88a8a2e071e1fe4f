//! JSON written member by member, in the order in which it is to stand.

use super::text::write_string;

/// An object being written.
#[derive(Debug)]
pub(crate) struct Object<'o> {
    out: &'o mut Vec<u8>,
    fresh: bool,
}

/// A list being written.
#[derive(Debug)]
pub(crate) struct List<'o> {
    out: &'o mut Vec<u8>,
    fresh: bool,
}

/// Appends an object whose members `fill` writes.
pub(crate) fn object<R>(out: &mut Vec<u8>, fill: impl FnOnce(&mut Object<'_>) -> R) -> R {
    out.push(b'{');
    let result = fill(&mut Object { out, fresh: true });
    out.push(b'}');
    result
}

/// Appends a list whose items `fill` writes.
pub(crate) fn list<R>(out: &mut Vec<u8>, fill: impl FnOnce(&mut List<'_>) -> R) -> R {
    out.push(b'[');
    let result = fill(&mut List { out, fresh: true });
    out.push(b']');
    result
}

impl Object<'_> {
    fn key(&mut self, key: &str) -> &mut Vec<u8> {
        comma(self.out, &mut self.fresh);
        write_string(self.out, key);
        self.out.push(b':');
        self.out
    }

    pub(crate) fn text(&mut self, key: &str, text: &str) {
        write_string(self.key(key), text);
    }

    /// Nothing if there is no text.
    pub(crate) fn some_text(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }

    /// JSON that is written already.
    pub(crate) fn raw(&mut self, key: &str, json: &str) {
        self.key(key).extend_from_slice(json.as_bytes());
    }

    /// Nothing if there is none.
    pub(crate) fn some_raw(&mut self, key: &str, json: Option<&str>) {
        if let Some(json) = json {
            self.raw(key, json);
        }
    }

    pub(crate) fn whole(&mut self, key: &str, number: u64) {
        write_whole(self.key(key), number);
    }

    pub(crate) fn flag(&mut self, key: &str, flag: bool) {
        self.raw(key, if flag { "true" } else { "false" });
    }

    pub(crate) fn null(&mut self, key: &str) {
        self.raw(key, "null");
    }

    pub(crate) fn object<R>(&mut self, key: &str, fill: impl FnOnce(&mut Object<'_>) -> R) -> R {
        object(self.key(key), fill)
    }

    pub(crate) fn list<R>(&mut self, key: &str, fill: impl FnOnce(&mut List<'_>) -> R) -> R {
        list(self.key(key), fill)
    }
}

impl List<'_> {
    fn next(&mut self) -> &mut Vec<u8> {
        comma(self.out, &mut self.fresh);
        self.out
    }

    pub(crate) fn text(&mut self, text: &str) {
        write_string(self.next(), text);
    }

    /// JSON that is written already.
    pub(crate) fn raw(&mut self, json: &str) {
        self.next().extend_from_slice(json.as_bytes());
    }

    pub(crate) fn object<R>(&mut self, fill: impl FnOnce(&mut Object<'_>) -> R) -> R {
        object(self.next(), fill)
    }
}

/// Appends a number in decimal digits.
fn write_whole(out: &mut Vec<u8>, number: u64) {
    if number >= 10 {
        write_whole(out, number / 10);
    }
    out.push(b'0' + (number % 10) as u8);
}

fn comma(out: &mut Vec<u8>, fresh: &mut bool) {
    if !core::mem::replace(fresh, false) {
        out.push(b',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_items_stand_in_order() {
        let mut out = Vec::new();
        object(&mut out, |o| {
            o.text("t", "a \"b\"");
            o.some_text("absent", None);
            o.list("l", |l| {
                l.text("x");
                l.raw("1.50");
                l.object(|o| o.whole("n", 1_070));
                l.raw("[]");
            });
            o.object("o", |o| o.flag("f", true));
            o.null("z");
        });
        let expected = r#"{"t":"a \"b\"","l":["x",1.50,{"n":1070},[]],"o":{"f":true},"z":null}"#;
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
