//! What a model's name says about what it takes. Converse has members for what all models share; the
//! rest goes under each model's own names, and what a model does not know it answers with an error.
//! The name of an inference profile of one's own tells nothing: such a model is asked everything.

use crate::messages::Claude;

/// A model, as far as its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Model {
    Claude(Claude),
    Nova,
    /// OpenAI's open ones.
    GptOss,
    Mistral,
    /// Another vendor's.
    Other,
    /// Nobody knows whose.
    Unknown,
}

impl Model {
    /// By an id such as `us.anthropic.claude-sonnet-4-5-20250929-v1:0`, or the ARN of one.
    pub(super) fn named(id: &str) -> Self {
        let id = id.to_ascii_lowercase();
        let says = |word: &str| id.contains(word);
        if says("claude") {
            Self::Claude(Claude::named(&id))
        } else if says("amazon.nova") {
            Self::Nova
        } else if says("openai.gpt-oss") {
            Self::GptOss
        } else if says("mistral.") {
            Self::Mistral
        } else if id.rsplit('/').next().is_some_and(|name| name.contains('.')) {
            Self::Other
        } else {
            Self::Unknown
        }
    }

    /// Whether it keeps to a schema, in its answer or in a tool's arguments. Those that do are of
    /// many vendors.
    pub(super) fn keeps_schemas(self) -> bool {
        match self {
            Self::Claude(claude) => claude.keeps_schemas(),
            Self::Nova => false,
            Self::GptOss | Self::Mistral | Self::Other | Self::Unknown => true,
        }
    }

    /// Whether a model of this id searches the web by itself.
    pub(super) fn searches(id: &str) -> bool {
        let id = id.to_ascii_lowercase();
        ["amazon.nova-premier", "amazon.nova-2"].iter().any(|name| id.contains(name))
    }

    /// Whether a class of service other than the usual is to be had. Not every model of other vendors
    /// says so by its name.
    pub(super) const fn has_tiers(self) -> bool {
        matches!(self, Self::Nova | Self::GptOss)
    }

    /// Whether it takes back what its texts rested on.
    pub(super) const fn cites(self) -> bool {
        matches!(self, Self::Claude(_) | Self::Unknown)
    }

    /// Whether it reads thoughts that Claude has signed or kept to itself.
    pub(super) const fn reads_claude(self) -> bool {
        matches!(self, Self::Claude(_) | Self::Unknown)
    }

    /// Whether it caches what stands before a place in the conversation.
    pub(super) const fn caches(self) -> bool {
        matches!(self, Self::Claude(_) | Self::Nova | Self::Unknown)
    }

    /// Whether it caches its tools, and for as long as is said.
    pub(super) const fn caches_tools(self) -> bool {
        matches!(self, Self::Claude(_) | Self::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_whose_a_model_is() {
        for (id, model) in [
            ("amazon.nova-pro-v1:0", Model::Nova),
            ("us.amazon.nova-2-lite-v1:0", Model::Nova),
            ("openai.gpt-oss-120b-1:0", Model::GptOss),
            ("mistral.mistral-large-2407-v1:0", Model::Mistral),
            ("meta.llama3-1-70b-instruct-v1:0", Model::Other),
            ("arn:aws:bedrock:us-east-1:1:application-inference-profile/a1b2", Model::Unknown),
        ] {
            assert_eq!(Model::named(id), model, "{id}");
        }
        let arn = "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-7-v1:0";
        for (id, keeps) in [(arn, true), ("anthropic.claude-3-haiku-20240307-v1:0", false)] {
            let model = Model::named(id);
            assert!(matches!(model, Model::Claude(_)) && model.keeps_schemas() == keeps, "{id}");
        }
    }
}
