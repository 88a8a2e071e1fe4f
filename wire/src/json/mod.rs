//! JSON as far as it is needed: skimmed in passing where it goes on as it is, a tree where it must be
//! said anew.

mod build;
mod cursor;
mod fields;
mod pull;
mod skim;
mod text;
mod tree;

pub(crate) use build::{List, Object, list, object};
pub(crate) use cursor::Cursor;
pub(crate) use fields::Fields;
pub(crate) use pull::Pull;
pub use skim::JsonFault;
pub(crate) use skim::{Broken, Kind, Skimmer, Span};
pub(crate) use text::{Escapes, Text, one_unit, read_escape, two_units, write_string};
pub(crate) use tree::{Items, Json, Tree};
