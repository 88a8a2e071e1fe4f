//! Transcripts kept as files under `tests/golden`. With `UPDATE_GOLDEN=1` in the environment a test
//! writes what it found instead of comparing.

use std::path::PathBuf;

use crate::json::{Json, Tree};
use crate::sse::{Event as Frame, Frames};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// A transcript's input.
pub(crate) fn read(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Compares what a test found with what it is to find.
pub(crate) fn check(name: &str, found: &[u8]) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path(name), found).unwrap();
    }
    assert_eq!(String::from_utf8_lossy(found), String::from_utf8_lossy(&read(name)), "{name}");
}

/// JSON as a transcript holds it: one member a line.
pub(crate) fn pretty(json: &[u8]) -> Vec<u8> {
    let value: serde_json::Value = serde_json::from_slice(json).unwrap();
    let mut text = serde_json::to_vec_pretty(&value).unwrap();
    text.push(b'\n');
    text
}

/// Shows the name and data of every event in a stream that comes in pieces of `cut` bytes.
pub(crate) fn each_event(stream: &[u8], cut: usize, mut show: impl FnMut(&[u8], Json<'_>)) {
    let mut frames = Frames::new();
    for chunk in stream.chunks(cut.max(1)) {
        let mut rest = chunk;
        frames.late_feed(&mut rest);
        while !rest.is_empty() {
            let taken = {
                let cut = frames.next(rest).unwrap();
                let mut scratch = Vec::new();
                let event = cut.frame.map(|frame| Frame::read(frame, &mut scratch));
                if let Some(Frame { name, data: Some(data) }) = event {
                    show(name, Tree::default().parse(data).unwrap());
                }
                cut.taken
            };
            rest = &rest[taken..];
        }
    }
}
