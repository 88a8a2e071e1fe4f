//! JSON pulled value by value, whether from its text or from a tree that has been made of it.

use super::skim::{Broken, Kind, Skimmer};
use super::text::Text;

/// Both ways of reading say the same of the same text, so that what is read is written down once.
/// The methods are those of [`Skimmer`]; a tree has been checked, so there only what the reader
/// expects may be missing.
pub(crate) trait Pull<'a> {
    /// The kind of the value that comes next.
    fn kind(&mut self) -> Result<Kind, Broken>;
    /// Goes into the object or array that comes next.
    fn enter(&mut self) -> Result<(), Broken>;
    /// The key of the next member, whose value comes next; `None` closes the object.
    fn next_member(&mut self) -> Result<Option<Text<'a>>, Broken>;
    /// Whether another element comes next; `false` closes the array.
    fn next_element(&mut self) -> Result<bool, Broken>;
    /// The string that comes next.
    fn string(&mut self) -> Result<Text<'a>, Broken>;
    /// Passes the value that comes next, and shows every string value (not the keys) in it.
    fn walk(&mut self, each: &mut impl FnMut(Text<'a>)) -> Result<(), Broken>;
    /// Passes the value that comes next, and gives its bytes.
    fn skip(&mut self) -> Result<&'a [u8], Broken>;
    /// Checks that nothing follows.
    fn end(&mut self) -> Result<(), Broken>;
    /// The error that something else was expected here.
    fn broken<T>(&self, expected: &'static str) -> Result<T, Broken>;
}

impl<'a> Pull<'a> for Skimmer<'a> {
    fn kind(&mut self) -> Result<Kind, Broken> {
        self.kind()
    }

    fn enter(&mut self) -> Result<(), Broken> {
        self.enter()
    }

    fn next_member(&mut self) -> Result<Option<Text<'a>>, Broken> {
        self.next_member()
    }

    fn next_element(&mut self) -> Result<bool, Broken> {
        self.next_element()
    }

    fn string(&mut self) -> Result<Text<'a>, Broken> {
        self.string()
    }

    fn walk(&mut self, each: &mut impl FnMut(Text<'a>)) -> Result<(), Broken> {
        self.walk(each).map(|_| ())
    }

    fn skip(&mut self) -> Result<&'a [u8], Broken> {
        self.skip().map(|span| self.slice(span))
    }

    fn end(&mut self) -> Result<(), Broken> {
        self.end()
    }

    fn broken<T>(&self, expected: &'static str) -> Result<T, Broken> {
        self.broken(expected)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cursor, Tree};
    use super::*;

    /// All that pulling tells of a value.
    fn pull<'a>(json: &mut impl Pull<'a>, told: &mut String) -> Result<(), Broken> {
        let kind = json.kind()?;
        told.push_str(&format!("{kind:?} "));
        match kind {
            Kind::Object => {
                json.enter()?;
                while let Some(key) = json.next_member()? {
                    told.push_str(&key.decode());
                    pull(json, told)?;
                }
            }
            Kind::Array => {
                json.enter()?;
                while json.next_element()? {
                    pull(json, told)?;
                }
            }
            Kind::String => told.push_str(&format!("{:?}", json.string()?)),
            _ => told.push_str(&format!("{:?}", json.skip()?)),
        }
        told.push('.');
        Ok(())
    }

    const TEXTS: [&str; 6] = [
        "1",
        " [ ] ",
        r#"{"a":{},"b":[[],[[]],{}],"c":{"d":[1,{"e":[]}],"f":null},"g":true}"#,
        r#"[{"a":"x\n"},{"a\u00e9":"\u00e9"},"",["y"],[[["\"z"]]]]"#,
        r#"{"a":1,"a":{"b":-2.50e3},"":[false]}"#,
        r#"[[[]],[],[[],[]]]"#,
    ];

    #[test]
    fn a_tree_tells_what_its_text_tells() {
        let mut tree = Tree::default();
        for text in TEXTS {
            let (mut of_text, mut of_tree) = (String::new(), String::new());
            let mut skimmer = Skimmer::new(text.as_bytes());
            pull(&mut skimmer, &mut of_text).unwrap();
            let mut cursor = Cursor::of(tree.parse(text.as_bytes()).unwrap());
            assert!(Pull::end(&mut cursor).is_err());
            pull(&mut cursor, &mut of_tree).unwrap();
            assert_eq!(of_tree, of_text);
            assert!(Pull::end(&mut cursor).is_ok() && Pull::kind(&mut cursor).is_err());
        }
    }

    #[test]
    fn a_tree_is_passed_over_as_its_text_is() {
        let mut tree = Tree::default();
        for text in TEXTS {
            let (mut of_text, mut of_tree) = (Vec::new(), Vec::new());
            let mut skimmer = Skimmer::new(text.as_bytes());
            let skipped = Pull::skip(&mut Skimmer::new(text.as_bytes())).unwrap();
            Pull::walk(&mut skimmer, &mut |text| of_text.push(format!("{text:?}"))).unwrap();
            let json = tree.parse(text.as_bytes()).unwrap();
            assert_eq!(Pull::skip(&mut Cursor::of(json)).unwrap(), skipped);
            let mut cursor = Cursor::of(json);
            Pull::walk(&mut cursor, &mut |text| of_tree.push(format!("{text:?}"))).unwrap();
            assert_eq!(of_tree, of_text);
            assert!(Pull::end(&mut cursor).is_ok());
        }
    }

    #[test]
    fn what_a_tree_has_not_is_told() {
        let mut tree = Tree::default();
        let mut cursor = Cursor::of(tree.parse(b"[1,2]").unwrap());
        assert!(Pull::next_element(&mut Cursor::default()).is_ok_and(|more| !more));
        Pull::enter(&mut cursor).unwrap();
        assert!(Pull::next_element(&mut cursor).unwrap());
        assert!(Pull::enter(&mut cursor).is_err());
        assert!(Pull::string(&mut cursor).is_err());
    }
}
