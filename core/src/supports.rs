//! What a deployment can do, as far as it is known.

use crate::request::Capability;

/// What a deployment can do. `None` is unknown: it passes with a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Supports {
    /// See [`Capability::Tools`].
    pub tools: Option<bool>,
    /// See [`Capability::Vision`].
    pub vision: Option<bool>,
    /// See [`Capability::Audio`].
    pub audio: Option<bool>,
    /// See [`Capability::JsonSchema`].
    pub json_schema: Option<bool>,
    /// See [`Capability::WebSearch`].
    pub web_search: Option<bool>,
    /// Its window, in tokens: input, tools and output together.
    pub context_tokens: Option<u64>,
    /// The most output tokens it produces.
    pub output_tokens: Option<u64>,
}

impl Supports {
    /// What is known of one capability.
    pub const fn has(&self, capability: Capability) -> Option<bool> {
        match capability {
            Capability::Tools => self.tools,
            Capability::Vision => self.vision,
            Capability::Audio => self.audio,
            Capability::JsonSchema => self.json_schema,
            Capability::WebSearch => self.web_search,
        }
    }
}
