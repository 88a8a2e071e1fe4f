//! The shapes that cross the boundary: mirrors of the core's types, for JavaScript.
//!
//! Unions are tagged by `type`, names are those of traces and scenario files, deployments and
//! groups go by name. Every time is a whole number of microseconds, exact below 2^53; what lies
//! beyond ("never") is `Infinity`.

mod action;
mod event;
mod facts;
mod number;

pub(crate) use action::ActionDto;
pub(crate) use event::EventDto;
pub(crate) use facts::RequestDto;
pub(crate) use number::{length, timestamp, whole};
