//! A piece of a turn or of an answer.

use std::borrow::Cow;

use super::search::Search;

/// A piece of content.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part<'a> {
    Text {
        text: &'a str,
        citations: Vec<Citation<'a>>,
        cache: Option<Cache<'a>>,
    },
    Media {
        media: Media,
        source: Source<'a>,
        /// Its type, such as `image/png`, where it is said.
        mime: Option<&'a str>,
        /// A document's name.
        name: Option<&'a str>,
        /// How closely an image is to be looked at: `low`, `high`, `auto`.
        detail: Option<&'a str>,
        cache: Option<Cache<'a>>,
        about: About<'a>,
    },
    /// What the model thought before it spoke.
    Reasoning {
        text: &'a str,
        /// The provider's proof that it is its own; only its own protocol can read it.
        signature: Option<&'a str>,
        /// Thought that only the provider can read, in place of `text`.
        redacted: Option<&'a str>,
    },
    /// Why the model will not answer, in its words.
    Refusal(&'a str),
    /// A search that the provider made. In a request it is a step of a former answer, and says no more
    /// than that: only who made it can read what it found, and the text that rests on it stays.
    Search(Search<'a>),
    ToolCall {
        id: &'a str,
        name: &'a str,
        /// JSON as it was written; an empty text is no arguments.
        arguments: &'a str,
        signature: Option<&'a str>,
        cache: Option<Cache<'a>>,
    },
    ToolResult {
        /// The call it answers.
        id: &'a str,
        /// The tool's name, where the protocol says it or an earlier call does.
        name: Option<&'a str>,
        /// Text and media.
        content: Vec<Part<'a>>,
        failed: bool,
        cache: Option<Cache<'a>>,
    },
}

/// What is said of a document besides what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct About<'a> {
    pub(crate) context: Option<&'a str>,
    /// Whether the answer is to cite it.
    pub(crate) cited: bool,
    /// Where a search result is from: an address, or a name of the client's own.
    pub(crate) origin: Option<&'a str>,
}

/// What kind of media it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Image,
    Audio,
    Video,
    /// A PDF or another document.
    File,
    /// What the client's own search found.
    SearchResult,
}

/// Where media is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source<'a> {
    /// In the request itself, in base64.
    Base64(&'a str),
    Url(&'a str),
    /// A document that is plain text.
    Text(&'a str),
    /// The same, in pieces by whose numbers it is cited.
    Pieces(Vec<&'a str>),
    /// At the provider, which alone knows the name.
    Uploaded(&'a str),
}

/// A place up to which the provider is asked to cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cache<'a> {
    /// How long, such as `5m` or `1h`; the provider's default if absent.
    pub(crate) ttl: Option<&'a str>,
}

/// What a text rests on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Citation<'a> {
    pub(crate) url: Option<&'a str>,
    pub(crate) title: Option<&'a str>,
    /// The words of the source.
    pub(crate) cited: Option<&'a str>,
    /// What of the answer rests on it, in characters of all text of its choice, where that is said;
    /// else it is the text that it stands with.
    pub(crate) span: Option<(u64, u64)>,
    /// Where in what the client sent itself the source is.
    pub(crate) place: Option<Place>,
}

/// A place in one of the client's own documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) unit: Unit,
    /// Which document, or search result, of the request.
    pub(crate) document: u64,
    pub(crate) start: u64,
    /// Behind the end.
    pub(crate) end: u64,
}

/// What the places of a document are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Character,
    Page,
    /// Pieces that the client cut it into.
    Block,
    /// The same, of a search result.
    SearchResult,
}

impl<'a> Source<'a> {
    /// What a URL points to, and its type where the URL says it: what a `data:` URL holds in base64
    /// is in the request itself.
    pub(crate) fn of_url(url: &'a str) -> (Self, Option<&'a str>) {
        let held = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        match held {
            Some((kind, data)) => {
                let mime = kind.split(';').next().filter(|mime| !mime.is_empty());
                (Self::Base64(data), mime)
            }
            None => (Self::Url(url), None),
        }
    }

    /// Whether it is plain text.
    pub(crate) const fn is_text(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Pieces(_))
    }

    /// The plain text that it is, for protocols that hold such a document as text.
    pub(crate) fn as_text(&self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => Some(Cow::Borrowed(*text)),
            Self::Pieces(pieces) => Some(Cow::Owned(pieces.join("\n"))),
            Self::Base64(_) | Self::Url(_) | Self::Uploaded(_) => None,
        }
    }
}

/// The `data:` URL of something in base64.
pub(crate) fn data_url(mime: &str, base64: &str) -> String {
    format!("data:{mime};base64,{base64}")
}

impl<'a> Part<'a> {
    /// Plain text.
    pub(crate) fn text(text: &'a str) -> Self {
        Self::Text { text, citations: Vec::new(), cache: None }
    }

    /// Whether Anthropic's protocol and Bedrock's take it at all: they have no blank texts, no thoughts
    /// without proof of whose they are, and no searches of others.
    pub(crate) fn is_taken_by_claude(&self) -> bool {
        match self {
            Self::Text { text, .. } | Self::Refusal(text) => !text.trim().is_empty(),
            Self::Reasoning { signature, redacted, .. } => {
                signature.is_some() || redacted.is_some()
            }
            Self::Media { .. } | Self::ToolCall { .. } | Self::ToolResult { .. } => true,
            Self::Search(_) => false,
        }
    }

    /// Media of which nothing else is said.
    pub(crate) fn media(media: Media, source: Source<'a>, mime: Option<&'a str>) -> Self {
        let about = About::default();
        Self::Media { media, source, mime, name: None, detail: None, cache: None, about }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_url_is_what_it_holds() {
        for (url, source, mime) in [
            ("data:image/png;base64,AA==", Source::Base64("AA=="), Some("image/png")),
            ("data:text/plain;charset=utf-8;base64,AA", Source::Base64("AA"), Some("text/plain")),
            ("data:;base64,AA", Source::Base64("AA"), None),
            ("data:text/plain,hi", Source::Url("data:text/plain,hi"), None),
            ("https://a/b;base64,c", Source::Url("https://a/b;base64,c"), None),
        ] {
            assert_eq!(Source::of_url(url), (source, mime), "{url}");
        }
        assert_eq!(Source::of_url(&data_url("a/b", "AA")), (Source::Base64("AA"), Some("a/b")));
    }
}
