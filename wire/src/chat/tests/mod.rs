//! Tests of the translation to and from this protocol.

mod answer;
mod events;
mod media;
mod request;
mod round_trip;
pub(crate) mod transcripts;
