//! The upstream's body, made from the client's: the same bytes but for what must change.

use super::head::Target;
use super::relay::Relay;
use crate::json::{Span, write_string};
use crate::splice::{Edit, Spliced};

/// How the upstream's body differs from the client's, and what its answer will be like. Holds
/// places in the body, not the body.
#[derive(Clone, Debug)]
pub struct ChatBody {
    pub(super) length: usize,
    pub(super) model: String,
    /// Every occurrence: which of two a provider believes is not for us to say.
    pub(super) model_spans: Vec<Span>,
    pub(super) stream: bool,
    pub(super) choices: u64,
    pub(super) usage_asked: bool,
    pub(super) usage_edits: Vec<Edit>,
}

impl ChatBody {
    /// The body to send to `target`: its name for the model, and, in a stream, a request for
    /// usage if the client made none. The pieces refer to the body that was read.
    pub fn rewrite(&self, target: &Target<'_>) -> Spliced {
        let mut edits = Vec::new();
        if self.stream {
            edits.extend_from_slice(&self.usage_edits);
        }
        // A name that is right stays as it is written, escapes and all.
        if self.model != target.model || self.model_spans.len() > 1 {
            let mut name = Vec::new();
            write_string(&mut name, target.model);
            let replace = |at: &Span| Edit { at: at.clone(), text: name.clone() };
            edits.extend(self.model_spans.iter().map(replace));
        }
        Spliced::new(self.length, edits)
    }

    /// The relay for the streamed answer to this request.
    pub fn relay(&self) -> Relay {
        Relay::new(self.choices, !self.usage_asked)
    }
}
