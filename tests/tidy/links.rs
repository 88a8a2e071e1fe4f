//! Relative links in Markdown and in doc comments.

use std::path::Path;

use crate::files::{File, root};

/// Links of this file to files that do not exist.
pub(crate) fn check(file: &File) -> Vec<String> {
    let is_prose: fn(&str) -> bool = match file.extension() {
        "md" => |_| true,
        "rs" => |line| line.starts_with("//!") || line.starts_with("///"),
        _ => return Vec::new(),
    };
    let folder = root().join(&file.path);
    let folder = folder.parent().unwrap_or(root());
    let lines = file.text.lines().enumerate();
    lines
        .filter(|(_, line)| is_prose(line.trim_start()))
        .flat_map(|(index, line)| targets(line).map(move |target| (index + 1, target)))
        .filter(|(_, target)| is_file_link(target) && !exists(folder, target))
        .map(|(line, target)| format!("{}:{line}: `{target}` leads nowhere", file.path))
        .collect()
}

/// What stands in the round brackets of each `[text](target)`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
}

/// Links to the web, to anchors and to Rust items are others' to check.
fn is_file_link(target: &str) -> bool {
    !target.contains("://")
        && !target.contains("::")
        && !target.starts_with('#')
        && !target.starts_with("mailto:")
        && (target.contains('/') || target.contains('.'))
}

fn exists(folder: &Path, target: &str) -> bool {
    let path = target.split('#').next().unwrap_or(target);
    folder.join(path).exists()
}

#[cfg(test)]
mod tests {
    use super::{File, check};

    fn faults(path: &str, text: &str) -> usize {
        check(&File { path: path.to_owned(), text: text.to_owned() }).len()
    }

    #[test]
    fn dead_relative_links_are_found() {
        assert_eq!(faults("a.md", "see [core](core/src/lib.rs#x) and [no](no/such.md)"), 1);
        assert_eq!(faults("core/src/a.rs", "/// [there](lib.rs), [not there](none.rs)"), 1);
    }

    #[test]
    fn other_links_are_left_alone() {
        assert_eq!(faults("a.md", "[a](https://example.com/x) [b](#b)"), 0);
        assert_eq!(faults("a.rs", "/// [`x`](crate::X::y)\nlet a = \"[b](no.md)\";"), 0);
    }
}
