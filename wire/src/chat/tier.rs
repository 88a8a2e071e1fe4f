//! The class of service, in the words of OpenAI's protocols.

use crate::neutral::{Request, Tier, Wanted};

/// What it is called.
pub(crate) const NAME: &str = "service_tier";

const TIERS: [(Tier, &str); 4] = [
    (Tier::Auto, "auto"),
    (Tier::Standard, "default"),
    (Tier::Flex, "flex"),
    (Tier::Priority, "priority"),
];

/// Finds the class among the hints of a request, if it is one that others have too.
pub(crate) fn find_tier(request: &mut Request<'_>) {
    let json = request.openai.iter().find(|hint| hint.name == NAME).map(|hint| hint.json);
    let word = json.map(|json| json.trim_matches('"'));
    let found = TIERS.iter().find(|(_, known)| Some(*known) == word);
    request.tier = found.map(|(tier, _)| Wanted { tier: *tier, path: NAME });
}

/// The word for it.
pub(super) fn tier_name(tier: Tier) -> &'static str {
    TIERS.iter().find(|(known, _)| *known == tier).map_or("auto", |(_, name)| name)
}
