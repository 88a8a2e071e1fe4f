//! Searches of the web that a provider makes itself: the wish for them, and what they found.

use crate::fault::RequestFault;
use crate::json::{Fields, Object};

/// The wish that the provider search the web.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WebSearch<'a> {
    /// Where it stands in the client's request.
    pub(crate) path: String,
    /// The only domains to find anything in; any, if there are none.
    pub(crate) allowed: Vec<&'a str>,
    /// Domains to find nothing in.
    pub(crate) blocked: Vec<&'a str>,
    pub(crate) location: Option<Location<'a>>,
    /// The most searches.
    pub(crate) max_uses: Option<u64>,
    /// How much of what is found is read: `low`, `medium`, `high`.
    pub(crate) context: Option<&'a str>,
}

/// Where the user is, about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Location<'a> {
    pub(crate) city: Option<&'a str>,
    pub(crate) region: Option<&'a str>,
    pub(crate) country: Option<&'a str>,
    pub(crate) timezone: Option<&'a str>,
}

/// A search that the provider made.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Search<'a> {
    pub(crate) queries: Vec<&'a str>,
    pub(crate) found: Vec<Page<'a>>,
    /// What it failed of, in the provider's word.
    pub(crate) failed: Option<&'a str>,
}

/// A page that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page<'a> {
    pub(crate) url: &'a str,
    pub(crate) title: Option<&'a str>,
}

impl<'a> Location<'a> {
    /// Reads the members, which OpenAI and Anthropic call the same.
    pub(crate) fn read(
        mut fields: Fields<'a>,
        lost: &mut Vec<String>,
    ) -> Result<Self, RequestFault> {
        fields.take("type");
        let location = Self {
            city: fields.text("city")?,
            region: fields.text("region")?,
            country: fields.text("country")?,
            timezone: fields.text("timezone")?,
        };
        fields.report_rest(lost);
        Ok(location)
    }

    /// Writes the members.
    pub(crate) fn write(self, o: &mut Object<'_>) {
        o.some_text("city", self.city);
        o.some_text("region", self.region);
        o.some_text("country", self.country);
        o.some_text("timezone", self.timezone);
    }
}

/// Who takes a search made here for its own would refuse it: this is how ours are told from
/// others. `prefix` is the protocol's.
pub(crate) fn is_ours(id: &str, prefix: &str) -> bool {
    let Some((nonce, number)) = id.strip_prefix(prefix).and_then(|rest| rest.split_once('_'))
    else {
        return false;
    };
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    nonce.len() == 16 && nonce.bytes().all(hex) && number.bytes().all(|byte| byte.is_ascii_digit())
}
