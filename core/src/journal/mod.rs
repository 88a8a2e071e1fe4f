//! The journal: every input of the core, in the order in which the router took them.
//!
//! The router is a function of its inputs, so its inputs are all that need be kept: executing them
//! again gives every decision again. Three things follow from one file.
//!
//! - [`replay`] executes it and compares: after a change of the engine, on another machine, in
//!   WebAssembly; and to reconstruct, with its trace, a decision that nobody traced when it was made.
//! - [`what_if`] asks at each call that began what another configuration would have done then.
//! - [`JournalReader`] gives the records, to look something up.
//!
//! A host that uses a [`Recorder`] in the place of a [`Router`](crate::Router) keeps one by passing
//! a size; it takes the bytes from time to time and puts them wherever it likes. It holds no prompt
//! and no answer, for no input does, and of the configuration no secret. For the state at one
//! moment take a [`Snapshot`](crate::Snapshot), for one call's reasons a [`Trace`](crate::Trace);
//! both are smaller than the journal of a day.
//!
//! # The bytes
//!
//! A *number* is a varint: seven bits a byte, the lowest first, the top bit set in all but the last.
//! A signed one is zigzagged before. A journal is
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | `PMJOURNL` |
//! | number | the format, [`FORMAT`] |
//! | number, bytes | the version of the engine, as text |
//! | … | records, to the end |
//!
//! and a record is
//!
//! | bytes | what |
//! | --- | --- |
//! | number | the length of the rest |
//! | signed | the host's clock, in microseconds after the record before |
//! | number, … | the [`Input`]: the variant, then its fields in order |
//! | number, … | the [`Answer`], in the same way |
//! | 4 | the lower half of the running hash, little-endian |
//!
//! Fields are written one after another and do not describe themselves; a time is the difference
//! from the record's own; a name is written once and is then the place of its hash in a table of
//! 1,024. The hash covers all records so far and, of each, the whole answer, of which the record
//! itself keeps only the gist. A record whose writer was stopped in its midst is left out by readers
//! and reported. A journal starts with a router's first moment, because calls in flight are in no
//! snapshot; when its buffer has no room, it ends with a record that says so and is not resumed.
//!
//! An engine reads the format of its own version. Decisions differ between versions, so an old
//! journal proves something only to the engine that wrote it.

mod bytes;
mod decode;
mod document;
mod encode;
mod fault;
mod input;
mod names;
mod reader;
mod recorder;
mod replay;
mod what_if;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use document::write as document_of;
pub use fault::JournalFault;
pub use input::{Answer, CatalogRef, Input};
pub use reader::{Entry, JournalReader};
pub use recorder::Recorder;
pub use replay::{Divergence, ReplayError, Replayed, replay};
pub use what_if::{Changed, WhatIf, what_if};
pub use writer::JournalWriter;

/// The number of the format described here. It rises with every change of what an input holds.
pub const FORMAT: u64 = 5;

const MAGIC: &[u8] = b"PMJOURNL";
const ENGINE: &str = env!("CARGO_PKG_VERSION");
/// A record's length at most, in bytes: room for the document of ten thousand deployments.
const LONGEST_RECORD: usize = 16 << 20;
