//! Why a journal cannot be read.

use core::fmt;

use super::FORMAT;

/// Why a journal cannot be read. Offsets are in bytes from its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalFault {
    /// It does not begin as one.
    NotAJournal,
    /// It has another format than this engine reads.
    OtherFormat {
        /// Its format.
        format: u64,
        /// The version of the engine that wrote it.
        engine: String,
    },
    /// A record is not what it should be.
    Broken {
        /// Where the record begins.
        offset: usize,
        /// What is wrong with it.
        why: String,
    },
}

impl fmt::Display for JournalFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAJournal => f.write_str("this is no journal: it does not begin as one"),
            Self::OtherFormat { format, engine } => write!(
                f,
                "the journal has format {format}, this engine reads {FORMAT}: replay it with \
                 version {engine}, which wrote it"
            ),
            Self::Broken { offset, why } => {
                write!(f, "the record at byte {offset} cannot be read: {why}")
            }
        }
    }
}

impl std::error::Error for JournalFault {}
