//! A stream as a JSON list of its data, for clients of Gemini's that do not ask for events.

use crate::sse::{Event, Frames};

/// How far the list is.
#[derive(Debug, Default)]
pub(super) struct List {
    begun: bool,
    scratch: Vec<u8>,
}

impl List {
    /// Takes whole frames and appends their data as items.
    pub(super) fn take(&mut self, frames: &[u8], out: &mut Vec<u8>) {
        let mut cutter = Frames::new();
        let mut rest = frames;
        while let Ok(cut) = cutter.next(rest) {
            let Some(frame) = cut.frame else { break };
            let data = Event::read(frame, &mut self.scratch).data;
            if let Some(data) = data.filter(|data| !data.is_empty()) {
                out.extend_from_slice(if core::mem::replace(&mut self.begun, true) {
                    b",\r\n"
                } else {
                    b"["
                });
                out.extend_from_slice(data);
            }
            rest = rest.get(cut.taken..).unwrap_or_default();
        }
    }

    /// Begins the list if nothing has: with an item that says nothing, so that whatever comes next,
    /// an [error](error_item) too, follows one.
    pub(super) fn begin(&mut self, out: &mut Vec<u8>) {
        if !core::mem::replace(&mut self.begun, true) {
            out.extend_from_slice(b"[{}");
        }
    }

    /// Nothing follows.
    pub(super) fn close(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.begun { b"]" } else { b"[]" });
    }
}

/// An error as the last item of a list that has begun.
pub(crate) fn error_item(body: &[u8]) -> Vec<u8> {
    [b",\r\n", body, b"]"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_become_items() {
        let (mut list, mut out) = (List::default(), Vec::new());
        list.take(b"data: {\"a\":1}\n\n: no item\n\ndata: {\"b\":2}\r\n\r\n", &mut out);
        list.take(b"", &mut out);
        list.close(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "[{\"a\":1},\r\n{\"b\":2}]");
        let mut out = Vec::new();
        List::default().close(&mut out);
        assert_eq!(out, b"[]");
    }
}
