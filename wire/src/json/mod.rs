//! JSON as far as routing needs it: checked in full, read in passing, never built into a tree.

mod skim;
mod text;

pub use skim::JsonFault;
pub(crate) use skim::{Broken, Kind, Skimmer, Span};
pub(crate) use text::{Escapes, Text, read_escape, write_string};
