//! Places in a text, in bytes and in characters.

/// More changes of width than this are not kept.
const MAX_RUNS: usize = 65_536;

/// Measures a text as it comes, without keeping it: of ASCII alone it remembers nothing.
#[derive(Debug, Default)]
pub(crate) struct Ruler {
    bytes: u64,
    characters: u64,
    runs: Vec<Run>,
    /// There were too many: nothing is known any more.
    full: bool,
}

/// From here on characters are so wide.
#[derive(Clone, Copy, Debug)]
struct Run {
    byte: u64,
    character: u64,
    width: u64,
}

impl Ruler {
    /// More of the text.
    pub(crate) fn add(&mut self, text: &str) {
        if text.is_ascii() {
            return self.run(1, text.len() as u64);
        }
        text.chars().for_each(|c| self.run(c.len_utf8() as u64, 1));
    }

    /// How long the text is, in characters.
    pub(crate) const fn characters(&self) -> u64 {
        self.characters
    }

    /// The place in characters that is so many bytes behind the beginning; `None` if there is none.
    pub(crate) fn character_at(&self, byte: u64) -> Option<u64> {
        let run = self.last(|run| run.byte <= byte);
        let inside = byte - run.byte;
        let exact = !self.full && byte <= self.bytes && inside.is_multiple_of(run.width);
        exact.then(|| run.character + inside / run.width)
    }

    /// The place in bytes that is so many characters behind the beginning; `None` if there is none.
    pub(crate) fn byte_at(&self, character: u64) -> Option<u64> {
        let run = self.last(|run| run.character <= character);
        let fits = !self.full && character <= self.characters;
        fits.then(|| run.byte + (character - run.character) * run.width)
    }

    fn run(&mut self, width: u64, count: u64) {
        if self.runs.last().map_or(1, |run| run.width) != width {
            self.full |= self.runs.len() == MAX_RUNS;
            if !self.full {
                self.runs.push(Run { byte: self.bytes, character: self.characters, width });
            }
        }
        self.bytes += width * count;
        self.characters += count;
    }

    /// The last run of those that lie before a place; a text begins as ASCII.
    fn last(&self, before: impl Fn(&Run) -> bool) -> Run {
        let count = self.runs.partition_point(before);
        let run = count.checked_sub(1).and_then(|at| self.runs.get(at));
        run.copied().unwrap_or(Run { byte: 0, character: 0, width: 1 })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ascii_is_not_remembered() {
        let mut ruler = Ruler::default();
        ruler.add("some words");
        assert_eq!(
            (ruler.runs.len(), ruler.character_at(10), ruler.byte_at(11)),
            (0, Some(10), None)
        );
    }

    proptest! {
        #[test]
        fn places_are_the_texts_own(pieces: Vec<String>) {
            let text = pieces.concat();
            let mut ruler = Ruler::default();
            pieces.iter().for_each(|piece| ruler.add(piece));
            prop_assert_eq!(ruler.characters(), text.chars().count() as u64);
            for byte in 0..text.len() + 2 {
                let place = text.get(..byte).map(|before| before.chars().count() as u64);
                prop_assert_eq!(ruler.character_at(byte as u64), place, "{:?} {}", text, byte);
                if let Some(place) = place {
                    prop_assert_eq!(ruler.byte_at(place), Some(byte as u64));
                }
            }
            prop_assert_eq!(ruler.byte_at(ruler.characters() + 1), None);
        }
    }
}
