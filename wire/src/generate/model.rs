//! What a Gemini model's version says about thinking, as of November 2026. Names that are not
//! Gemini's are taken for the newest.

/// A model, as far as its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gemini {
    version: (u32, u32),
    flash: bool,
}

/// How a model is told how much to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It does not think.
    Nothing,
    /// By tokens, within these limits; it may be told not to think if the flag is set.
    Budget { least: u64, most: u64, off: bool },
    /// By a word.
    Level,
}

impl Gemini {
    /// By a name such as `gemini-2.5-flash-lite`, with anything before and behind.
    pub(super) fn named(model: &str) -> Self {
        let name = model.to_ascii_lowercase();
        let version = name.split_once("gemini-").and_then(|(_, rest)| version(rest));
        Self { version: version.unwrap_or((u32::MAX, 0)), flash: name.contains("flash") }
    }

    pub(super) fn told(self) -> Told {
        match self.version {
            (3.., _) => Told::Level,
            (2, 5..) if self.flash => Told::Budget { least: 512, most: 24_576, off: true },
            (2, 5..) => Told::Budget { least: 128, most: 32_768, off: false },
            _ => Told::Nothing,
        }
    }

    /// Whether it can search the web, and beside that answer in JSON.
    pub(super) fn searches(self) -> bool {
        self.version >= (2, 0)
    }

    /// Whether Google bills a prompt for which the web was searched, and not each query.
    pub(super) fn bills_prompts(self) -> bool {
        self.version < (3, 0)
    }

    pub(super) fn searches_for_json(self) -> bool {
        self.version >= (3, 0)
    }

    /// Whether a class of service other than the usual is to be had.
    pub(super) fn has_tiers(self) -> bool {
        self.version >= (2, 5)
    }

    /// Whether it can be held to the schemas of its tools without being made to call one.
    pub(super) fn validates(self) -> bool {
        self.version >= (2, 5)
    }

    /// Whether it refuses calls of its own that do not carry the signature it gave them, and takes
    /// media in a tool's result.
    pub(super) fn signs_calls(self) -> bool {
        self.version >= (3, 0)
    }
}

fn version(text: &str) -> Option<(u32, u32)> {
    let text = text.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_names() {
        let flash = Told::Budget { least: 512, most: 24_576, off: true };
        let pro = Told::Budget { least: 128, most: 32_768, off: false };
        for (name, told, signs) in [
            ("gemini-1.5-pro", Told::Nothing, false),
            ("gemini-2.0-flash-001", Told::Nothing, false),
            ("gemini-2.5-flash-lite", flash, false),
            ("models/gemini-2.5-pro", pro, false),
            ("gemini-3-pro-preview", Told::Level, true),
            ("gemini-3.8-flash", Told::Level, true),
            ("gemini-flash-latest", Told::Level, true),
        ] {
            let model = Gemini::named(name);
            assert_eq!((model.told(), model.signs_calls()), (told, signs), "{name}");
        }
    }
}
