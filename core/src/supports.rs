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
    /// What is said here, and else what `other` says.
    #[must_use]
    pub(crate) fn or(&self, other: &Self) -> Self {
        Self {
            tools: self.tools.or(other.tools),
            vision: self.vision.or(other.vision),
            audio: self.audio.or(other.audio),
            json_schema: self.json_schema.or(other.json_schema),
            web_search: self.web_search.or(other.web_search),
            context_tokens: self.context_tokens.or(other.context_tokens),
            output_tokens: self.output_tokens.or(other.output_tokens),
        }
    }

    /// What is said here of which `other` says nothing.
    #[must_use]
    pub(crate) fn without(&self, other: &Self) -> Self {
        Self {
            tools: self.tools.filter(|_| other.tools.is_none()),
            vision: self.vision.filter(|_| other.vision.is_none()),
            audio: self.audio.filter(|_| other.audio.is_none()),
            json_schema: self.json_schema.filter(|_| other.json_schema.is_none()),
            web_search: self.web_search.filter(|_| other.web_search.is_none()),
            context_tokens: self.context_tokens.filter(|_| other.context_tokens.is_none()),
            output_tokens: self.output_tokens.filter(|_| other.output_tokens.is_none()),
        }
    }

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
