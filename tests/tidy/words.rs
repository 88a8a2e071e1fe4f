//! Words that do not belong in a finished repository. They are written in pieces here, so that
//! this file passes its own check.

use crate::files::File;

/// Marks of unfinished work, as whole words.
const MARKS: [&str; 4] =
    [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("HA", "CK")];

/// Phrases about how the text came about, in any case. Names of models and providers are this
/// project's subject and stay.
const PHRASES: [&str; 12] = [
    concat!("as an a", "i"),
    concat!("ai-gene", "rated"),
    concat!("ai gene", "rated"),
    concat!("claude", " code"),
    concat!("co", "pilot"),
    concat!("chat", "gpt"),
    concat!("co-author", "ed-by"),
    concat!("design ", "page"),
    concat!("shared", "/design"),
    concat!("shared", "/research"),
    concat!("my instr", "uctions"),
    concat!("this sess", "ion of the"),
];

/// Hosts of package registries.
const REGISTRIES: [&str; 5] = [
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
    concat!("npm", "js.org"),
    concat!("npm", "js.com"),
];

/// Folders that exist on one machine only.
const MACHINE: [&str; 5] = [
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("C:", "\\"),
];

/// The faults of one file.
pub(crate) fn check(file: &File) -> Vec<String> {
    // Made by package managers; what they may name is checked apart.
    if matches!(file.name(), "Cargo.lock" | "package-lock.json") {
        return Vec::new();
    }
    let lines = file.text.lines().enumerate();
    lines
        .filter_map(|(index, line)| {
            let word = fault(line)?;
            Some(format!("{}:{}: contains `{word}`", file.path, index + 1))
        })
        .collect()
}

fn fault(line: &str) -> Option<&'static str> {
    let lower = line.to_lowercase();
    let mark = MARKS.into_iter().find(|word| is_whole_word(line, word));
    let phrase = || PHRASES.into_iter().find(|phrase| is_whole_word(&lower, phrase));
    let registry = || REGISTRIES.into_iter().find(|host| lower.contains(*host));
    let machine = || MACHINE.into_iter().find(|path| starts_a_path(line, path));
    let tracker = || numbered_issue(&lower).then_some(concat!("iss", "ue and its number"));
    mark.or_else(phrase).or_else(registry).or_else(machine).or_else(tracker)
}

/// Whether `word` occurs with no letter or digit on either side.
fn is_whole_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + word.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

/// Whether an absolute path begins so: `target/x/` is not one.
fn starts_a_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '~' | '}'))
    })
}

/// A number in some tracker means nothing to a reader of the repository.
fn numbered_issue(lower: &str) -> bool {
    let word = concat!("iss", "ue ");
    lower.match_indices(word).any(|(at, _)| {
        let next = lower.get(at + word.len()..).and_then(|text| text.chars().next());
        next.is_some_and(|c| c == '#' || c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn faults_are_found() {
        for line in [
            concat!("// TO", "DO: later"),
            concat!("see iss", "ue #12"),
            concat!("from index.crates", ".io"),
            concat!("in /wo", "rk/main"),
            concat!("`/ho", "me/me`"),
            concat!("Written As An A", "I."),
        ] {
            assert!(fault(line).is_some(), "{line}");
        }
    }

    #[test]
    fn honest_lines_pass() {
        for line in [
            concat!("the method", "oTO", "DOor"),
            concat!("target/wo", "rk/x"),
            "model: claude-sonnet-4-5",
            "an issue of taste",
            "as an air line",
        ] {
            assert_eq!(fault(line), None, "{line}");
        }
    }
}
