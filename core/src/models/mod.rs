//! Naive models, each slow and plain, against which the real thing is checked on random events.

mod breaker;
mod bucket;
mod concrete;
