//! Tests of the translation to and from this protocol.

mod answer;
mod events;
mod exchange;
mod request;
mod transcripts;
