//! What the client asked for, as far as routing needs to know. Never a prompt.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::CallerId;
use crate::idempotency::IdempotencyKey;
use crate::preferences::Preferences;
use crate::vocabulary::{Counted, Vocabulary};

/// The facts of one client request. Hosts build it with the wire crate; scenario files write it out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The model name the client sent.
    pub model: String,
    /// The key that the host has authenticated, if the client sent one.
    pub caller: Option<CallerId>,
    /// Whether the answer is to be streamed.
    pub stream: bool,
    /// Estimated input tokens, without tools.
    pub input_tokens: u64,
    /// Estimated tokens of tool definitions and schemas; they share the context window.
    pub tools_tokens: u64,
    /// What the host has counted of both, for deployments whose vocabulary it knows: goes before the
    /// estimates there.
    pub counted: Counted,
    /// The most output tokens the client allows, if it said so.
    pub max_output_tokens: Option<u64>,
    /// What the answering model must be able to do.
    pub needs: Needs,
    /// Tags that a member must carry, all of them.
    pub tags: Vec<String>,
    /// The only region that may serve this, if the client said so.
    pub region: Option<String>,
    /// The session it belongs to, if the client said so.
    pub session: Option<String>,
    /// The user it is for, if the client said so.
    pub user: Option<String>,
    /// Hashes of the prompt's blocks, from its beginning, each of its own bytes and all before them;
    /// [`PREFIX_BLOCKS`](crate::PREFIX_BLOCKS) of them are looked at.
    pub prefix: Vec<u64>,
    /// What the sender says of its own certainty, for the strategy `lar1`.
    pub lar1: Option<Lar1>,
    /// Interactive before batch.
    pub priority: Priority,
    /// A deadline of this request's own; never later than the policy's.
    pub deadline: Option<Duration>,
    /// How many further attempts there may be in one group after its first: goes before what
    /// deployments and groups say, within the policy's `max_attempts`.
    pub retries: Option<u32>,
    /// The client's idempotency key, if it sent one.
    pub idempotency: Option<IdempotencyKey>,
    /// The path of the request, as in `/v1/chat/completions`, for route rules.
    pub path: Option<String>,
    /// Headers and their values, names in lower case, for route rules. Only those of
    /// [`Catalog::route_headers`](crate::Catalog::route_headers) need be here.
    pub headers: Vec<(String, String)>,
    /// A strategy by its configuration name, instead of the group's.
    pub strategy: Option<String>,
    /// What the client prefers among those that may serve it, if anything.
    pub prefer: Option<Box<Preferences>>,
    /// Record a [`Trace`](crate::Trace) of every decision of this call.
    pub trace: bool,
}

impl Request {
    /// Estimated input tokens, tools included.
    pub(crate) const fn input_estimate(&self) -> u64 {
        self.input_tokens.saturating_add(self.tools_tokens)
    }

    /// Input tokens, tools included, for a deployment that reads in this vocabulary: as counted, else
    /// as estimated.
    pub(crate) fn input_in(&self, vocabulary: Option<Vocabulary>) -> u64 {
        let counted = vocabulary.and_then(|vocabulary| self.counted.of(vocabulary));
        counted.unwrap_or_else(|| self.input_estimate())
    }
}

/// What a sender says of its own certainty: the object `lar1` in a request's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lar1 {
    /// How sure it is, in parts per million.
    pub confidence_ppm: u32,
    /// Where its evidence comes from.
    pub evidence: Evidence,
}

/// Where a sender's evidence comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Evidence {
    /// Not verified.
    Unverified,
    /// From memory.
    Memory,
    /// From elsewhere, or not said.
    Other,
}

/// Capabilities a request can need. `true` means that the request cannot be served without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// Tool (function) calling.
    pub tools: bool,
    /// Image input.
    pub vision: bool,
    /// Audio input or output.
    pub audio: bool,
    /// Output constrained by a JSON schema.
    pub json_schema: bool,
    /// Search performed by the provider.
    pub web_search: bool,
}

/// One capability, by name: the key under `supports`, and a word in a scenario's `needs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// See [`Needs::tools`].
    Tools,
    /// See [`Needs::vision`].
    Vision,
    /// See [`Needs::audio`].
    Audio,
    /// See [`Needs::json_schema`].
    JsonSchema,
    /// See [`Needs::web_search`].
    WebSearch,
}

impl Capability {
    /// Every capability, in the order in which they are checked.
    pub const ALL: [Self; 5] =
        [Self::Tools, Self::Vision, Self::Audio, Self::JsonSchema, Self::WebSearch];

    /// The name used in configuration, traces and errors.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Vision => "vision",
            Self::Audio => "audio",
            Self::JsonSchema => "json_schema",
            Self::WebSearch => "web_search",
        }
    }
}

impl Needs {
    /// Whether `capability` is needed.
    pub const fn has(self, capability: Capability) -> bool {
        match capability {
            Capability::Tools => self.tools,
            Capability::Vision => self.vision,
            Capability::Audio => self.audio,
            Capability::JsonSchema => self.json_schema,
            Capability::WebSearch => self.web_search,
        }
    }

    /// The same needs with `capability` among them.
    pub const fn with(mut self, capability: Capability) -> Self {
        match capability {
            Capability::Tools => self.tools = true,
            Capability::Vision => self.vision = true,
            Capability::Audio => self.audio = true,
            Capability::JsonSchema => self.json_schema = true,
            Capability::WebSearch => self.web_search = true,
        }
        self
    }
}

/// Who goes first when there is not enough for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Somebody is waiting.
    #[default]
    Interactive,
    /// Nobody is waiting.
    Batch,
}

/// What an attempt used: tokens by class, as a provider reports them or the host estimates them, and the
/// searches that the provider made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens, cached ones included.
    pub input: u64,
    /// Input tokens read from the provider's cache; part of `input`.
    pub cached_input: u64,
    /// Input tokens written to the provider's cache; part of `input`.
    pub cache_write: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// Output tokens spent on reasoning; part of `output`.
    pub reasoning: u64,
    /// Searches of the web that the provider made and bills; never reckoned.
    pub searches: u64,
    /// Not what the provider said but what we reckon.
    pub estimated: bool,
}

/// Something about a call that its caller should hear of. A closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warning {
    /// The member that was chosen is not known to have a needed capability.
    UnknownCapability,
    /// A member without a price was refused because the price is limited.
    Unpriced,
    /// What was used is reckoned, not reported.
    EstimatedUsage,
    /// What was asked for is dropped on the way to the member that was chosen.
    LostCapability,
    /// A strategy was asked for that is not one, or not one to ask for.
    BadOverride,
}

impl Warning {
    /// The name used in traces, scenario files and headers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnknownCapability => "unknown_capability",
            Self::Unpriced => "unpriced",
            Self::EstimatedUsage => "estimated_usage",
            Self::LostCapability => "lost_capability",
            Self::BadOverride => "bad_override",
        }
    }
}
