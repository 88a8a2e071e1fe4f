//! Stamps: installed once, and again only when what was asked for changes.

use std::path::{Path, PathBuf};

use crate::Result;

/// A file that holds what was asked for when a folder was last filled.
pub(crate) struct Stamp {
    path: PathBuf,
    wanted: String,
}

impl Stamp {
    /// The stamp of `folder`, filled from these files with this version of the tool.
    pub(crate) fn new(folder: &Path, version: &str, files: &[PathBuf]) -> Result<Self> {
        let mut wanted = format!("{version}\n");
        for file in files {
            let text = std::fs::read_to_string(file)
                .map_err(|error| format!("cannot read `{}`: {error}", file.display()))?;
            wanted.push_str(&text);
        }
        Ok(Self { path: folder.join(".pointsman-stamp"), wanted })
    }

    /// Whether the folder already holds this.
    pub(crate) fn is_fresh(&self) -> bool {
        std::fs::read_to_string(&self.path).is_ok_and(|found| found == self.wanted)
    }

    /// To be called once the folder has been filled.
    pub(crate) fn write(&self) -> Result {
        std::fs::write(&self.path, &self.wanted)
            .map_err(|error| format!("cannot write `{}`: {error}", self.path.display()))
    }
}
