//! The repository's own files.

use std::path::{Path, PathBuf};
use std::process::Command;

/// One text file.
pub(crate) struct File {
    /// From the root, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// What follows the last dot of its name; empty if there is none.
    pub(crate) fn extension(&self) -> &str {
        let name = self.name();
        name.rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// The last part of its path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// Folders that are made, not written.
const MADE: [&str; 5] = ["target", "node_modules", "dist", ".git", ".venv"];

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The text of the file at this path from the root.
pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every text file of the repository; what is no UTF-8 is left out.
pub(crate) fn files() -> Vec<File> {
    let paths = tracked().unwrap_or_else(walked);
    let read = |path: String| {
        let text = std::fs::read_to_string(root().join(&path)).ok()?;
        Some(File { path, text })
    };
    paths.into_iter().filter_map(read).collect()
}

/// As git knows them: tracked, or new and not ignored.
fn tracked() -> Option<Vec<String>> {
    let arguments = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
    let output = Command::new("git").args(arguments).current_dir(root()).output().ok()?;
    let text = output.status.success().then(|| String::from_utf8(output.stdout).ok())??;
    Some(text.split_terminator('\0').map(str::to_owned).collect())
}

/// Without git, for example in an unpacked archive.
fn walked() -> Vec<String> {
    let mut folders = vec![PathBuf::new()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(root().join(&folder)).into_iter().flatten().flatten();
        for entry in entries {
            let path = folder.join(entry.file_name());
            if !path.file_name().is_some_and(|name| MADE.iter().any(|made| name == *made)) {
                if root().join(&path).is_dir() {
                    folders.push(path);
                } else {
                    found.push(path.to_string_lossy().replace('\\', "/"));
                }
            }
        }
    }
    found.sort();
    found
}
