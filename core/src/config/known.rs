//! What is known of models at their makers' own services, for deployments that do not say it.
//!
//! A table in one dated file. It speaks of a model where its provider's address is the maker's own:
//! what is behind another address only has the same name. Azure's deployments may be named as one
//! likes and priced by region, so of them only abilities are taken, and only if they have a model's
//! name. What a configuration says goes before it, key by key, a price as a whole;
//! `known_models: false` switches it off.

use std::collections::BTreeMap;

use super::provider::{Protocol, ProviderConfig};
use super::units::{count, pico_usd_per_search, pico_usd_per_token};
use crate::catalog::Supports;
use crate::cost::Price;
use crate::model_facts::undated;
use crate::node::Node;
use crate::vocabulary::Vocabulary;

const TABLE: &str = include_str!("known.txt");

/// What the table gave to a deployment, or to one model behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The deployment's place in the document, or that of its `models`.
    pub path: String,
    /// Its name.
    pub deployment: String,
    /// Which of the models behind a deployment that takes any.
    pub model: Option<String>,
    /// What it can do: what the configuration says itself is not here.
    pub supports: Supports,
    /// What it costs, if the configuration does not say.
    pub price: Option<Price>,
    /// The vocabulary that its inputs are counted in, told by its model's name.
    pub vocabulary: Option<Vocabulary>,
}

impl Known {
    /// The day of the table, such as `2026-11-30`.
    pub fn as_of() -> &'static str {
        let title = TABLE.lines().next().unwrap_or_default();
        title.rsplit(' ').next().unwrap_or_default().trim_end_matches('.')
    }

    /// Writes it into a deployment as a configuration would.
    fn write_into(&self, deployment: &mut Vec<(String, Node)>) {
        let Some(model) = &self.model else { return self.write_facts(deployment) };
        let Some(models) = map_under(deployment, "models") else { return };
        if let Some(entry) = map_under(models, model) {
            self.write_facts(entry);
        }
    }

    fn write_facts(&self, entry: &mut Vec<(String, Node)>) {
        let Supports { tools, vision, audio, json_schema, web_search, .. } = self.supports;
        let can = [
            ("tools", tools),
            ("vision", vision),
            ("audio", audio),
            ("json_schema", json_schema),
            ("web_search", web_search),
        ];
        let can = can.into_iter().filter_map(|(key, can)| Some((key, Node::Bool(can?))));
        let sizes = [
            ("context_tokens", self.supports.context_tokens),
            ("output_tokens", self.supports.output_tokens),
        ];
        let sizes =
            sizes.into_iter().filter_map(|(key, size)| Some((key, Node::Int(size?.into()))));
        let supports: Vec<_> =
            can.chain(sizes).map(|(key, value)| (key.to_owned(), value)).collect();
        if !supports.is_empty()
            && let Some(said) = map_under(entry, "supports")
        {
            said.extend(supports);
        }
        if let Some(Price { input, cached_input, cache_write, output, search }) = self.price {
            let all = [
                ("input", input),
                ("cached_input", cached_input),
                ("cache_write", cache_write),
                ("output", output),
            ];
            let text =
                |(key, price): (&str, u64)| (key.to_owned(), Node::Text(usd_per_million(price)));
            let search =
                search.map(|search| ("search".to_owned(), Node::Text(usd_per_thousand(search))));
            let all = all.into_iter().map(text).chain(search).collect();
            entry.push(("price".into(), Node::Map(all)));
        }
        if let Some(vocabulary) = self.vocabulary {
            entry.push(("vocabulary".into(), Node::Text(vocabulary.name().into())));
        }
    }

    /// Whether it says nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.supports == Supports::default() && self.price.is_none() && self.vocabulary.is_none()
    }
}

/// The document with what the table gave it written out, and nothing left to give: it means the same
/// beside another table.
pub(crate) fn written_out(document: &Node, given: &[Known]) -> Node {
    let Node::Map(sections) = document else { return document.clone() };
    let mut sections = sections.clone();
    sections.retain(|(name, _)| name != "known_models");
    sections.push(("known_models".into(), Node::Bool(false)));
    for of_one in given.chunk_by(|one, next| one.deployment == next.deployment) {
        let deployment = of_one.first().map_or("", |known| &known.deployment);
        if let Some(entry) = entry_of(&mut sections, deployment) {
            of_one.iter().for_each(|known| known.write_into(entry));
        }
    }
    Node::Map(sections)
}

/// The map under a key, which begins empty if there is none. `None` if something else stands there.
fn map_under<'n>(
    entry: &'n mut Vec<(String, Node)>,
    key: &str,
) -> Option<&'n mut Vec<(String, Node)>> {
    if !entry.iter().any(|(name, _)| name == key) {
        entry.push((key.to_owned(), Node::Map(Vec::new())));
    }
    match entry.iter_mut().find(|(name, _)| name == key) {
        Some((_, Node::Map(map))) => Some(map),
        _ => None,
    }
}

/// Where a deployment is defined: in its section, or in the place of a member.
fn entry_of<'n>(
    sections: &'n mut [(String, Node)],
    deployment: &str,
) -> Option<&'n mut Vec<(String, Node)>> {
    let (mut own, mut members) = (None, Vec::new());
    for (name, section) in sections {
        match (name.as_str(), section) {
            ("deployments", Node::Map(all)) => {
                own = all.iter_mut().find(|(name, _)| name == deployment).map(|(_, entry)| entry);
            }
            ("groups", Node::Map(groups)) => {
                for (_, group) in groups {
                    let Node::Map(keys) = group else { continue };
                    let list = keys.iter_mut().find(|(key, _)| key == "members");
                    if let Some((_, Node::List(list))) = list {
                        members.extend(list);
                    }
                }
            }
            _ => {}
        }
    }
    let defines = |node: &Node| matches!(node.get("id"), Some(Node::Text(id)) if id == deployment);
    let entry = own.or_else(|| members.into_iter().find(|member| defines(member)));
    match entry {
        Some(Node::Map(entry)) => Some(entry),
        _ => None,
    }
}

/// The table, by host and model.
#[derive(Debug, Default)]
pub(crate) struct Table(BTreeMap<(&'static str, &'static str), &'static str>);

impl Table {
    pub(crate) fn read() -> Self {
        let mut table = BTreeMap::new();
        let mut host = "";
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            match line.split_once(' ') {
                Some(("@", name)) => host = name,
                Some((model, facts)) => _ = table.insert((host, model), facts),
                None => {}
            }
        }
        Self(table)
    }

    /// What is known of a provider's model.
    pub(crate) fn find(
        &self,
        provider: &ProviderConfig,
        model: &str,
    ) -> Option<(Supports, Option<Price>)> {
        let host = maker(provider)?;
        let names = [Some(model), undated(model)];
        let line = names.into_iter().flatten().find_map(|name| self.0.get(&(host, name)))?;
        let (supports, price) = facts(line)?;
        Some((supports, price.filter(|_| provider.protocol != Protocol::Azure)))
    }

    /// The names of a provider's models.
    pub(crate) fn models(&self, provider: &ProviderConfig) -> Vec<&'static str> {
        let Some(maker) = maker(provider) else { return Vec::new() };
        self.0.keys().filter(|(host, _)| *host == maker).map(|(_, name)| *name).collect()
    }
}

/// Whether a provider's models have OpenAI's names.
pub(super) fn names_openais(provider: &ProviderConfig) -> bool {
    provider.protocol == Protocol::Azure || host(provider) == Some(OPENAI)
}

const OPENAI: &str = "api.openai.com";

/// The host of whoever has made a provider's models.
fn maker(provider: &ProviderConfig) -> Option<&str> {
    if provider.protocol == Protocol::Azure { Some(OPENAI) } else { host(provider) }
}

/// Where a provider is.
fn host(provider: &ProviderConfig) -> Option<&str> {
    let Some(base_url) = &provider.base_url else {
        return match provider.protocol {
            Protocol::Openai => Some(OPENAI),
            Protocol::Anthropic => Some("api.anthropic.com"),
            Protocol::Gemini => Some("generativelanguage.googleapis.com"),
            Protocol::Azure | Protocol::Bedrock | Protocol::Mock => None,
        };
    };
    base_url.strip_prefix("https://")?.split('/').next()
}

/// A price in pico-USD per token, as a configuration says it.
fn usd_per_million(price: u64) -> String {
    format!("{}.{:06}", price / 1_000_000, price % 1_000_000)
}

/// The price of a search in pico-USD, as a configuration says it.
fn usd_per_thousand(price: u64) -> String {
    format!("{}.{:09}", price / 1_000_000_000, price % 1_000_000_000)
}

/// What a line says behind the model's name.
fn facts(line: &str) -> Option<(Supports, Option<Price>)> {
    let mut words = line.split_whitespace();
    let (window, output, can) = (words.next()?, words.next()?, words.next()?);
    let can = |letter: char| can.contains(letter).then_some(true);
    let supports = Supports {
        tools: can('t'),
        vision: can('v'),
        audio: can('a'),
        json_schema: can('j'),
        web_search: can('w'),
        context_tokens: Some(count(window).ok()?),
        output_tokens: Some(count(output).ok()?),
    };
    let mut price = || words.next().and_then(|word| pico_usd_per_token(word).ok());
    let (input, cached_input, cache_write, output) = (price(), price(), price(), price());
    let search = words.next().and_then(|word| pico_usd_per_search(word).ok());
    let price = input.zip(output).map(|(input, output)| Price {
        input,
        cached_input: cached_input.unwrap_or(input),
        cache_write: cache_write.unwrap_or(input),
        output,
        search,
    });
    Some((supports, price))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(protocol: Protocol, base_url: Option<&str>) -> ProviderConfig {
        let base_url = base_url.map(str::to_owned);
        ProviderConfig { protocol, base_url, ..ProviderConfig::scripted() }
    }

    #[test]
    fn every_line_has_its_form() {
        let date: Vec<usize> =
            Known::as_of().split('-').map(|part| part.parse().unwrap()).collect();
        assert!(date[0] >= 2026 && (1..=12).contains(&date[1]) && (1..=31).contains(&date[2]));
        let lines = TABLE.lines().filter(|line| !line.starts_with(['#', '@'])).count();
        let table = Table::read();
        assert_eq!(table.0.len(), lines, "a model stands twice, or a line has no facts");
        for ((host, model), line) in &table.0 {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert!(matches!(words.len(), 7 | 8), "{model}");
            assert!(
                host.contains('.') && words[2].chars().all(|c| "tvajw-".contains(c)),
                "{model}"
            );
            let (supports, price) = facts(line).unwrap();
            let (window, output) = (supports.context_tokens, supports.output_tokens);
            assert!(output.unwrap() > 0 && output <= window, "{model}");
            let prices = &words[3..7];
            if let Some(search) = words.get(7) {
                let search = pico_usd_per_search(search).unwrap();
                assert!(supports.web_search == Some(true) && price.unwrap().search == Some(search));
            }
            assert_eq!(price.is_some(), prices[0] != "-" && prices[3] != "-", "{model}");
            assert_eq!(price.is_none(), prices.iter().all(|word| *word == "-"), "{model}");
            for word in prices.iter().filter(|word| **word != "-") {
                pico_usd_per_token(word).unwrap();
            }
            if let Some(price) = price {
                assert!(price.cached_input <= price.input && price.output > 0, "{model}");
            }
        }
        assert!(TABLE.len() < 10_000, "it is part of every WASM module");
    }

    #[test]
    fn a_model_is_known_at_its_makers_own_address_alone() {
        let table = Table::read();
        let find =
            |protocol, base_url, model: &str| table.find(&provider(protocol, base_url), model);
        let (supports, price) = find(Protocol::Openai, None, "gpt-4o").unwrap();
        assert_eq!((supports.context_tokens, supports.tools), (Some(128_000), Some(true)));
        assert_eq!((supports.audio, price.unwrap().output), (None, 10_000_000));
        let own = Some("https://api.openai.com/v1");
        assert!(find(Protocol::Openai, own, "gpt-4o").is_some());
        for elsewhere in ["http://127.0.0.1:8000/v1", "https://openrouter.ai/api/v1"] {
            assert_eq!(find(Protocol::Openai, Some(elsewhere), "gpt-4o"), None, "{elsewhere}");
        }
        assert_eq!(find(Protocol::Openai, None, "my-model"), None);
        assert_eq!(find(Protocol::Mock, None, "gpt-4o"), None);
        let azure = find(Protocol::Azure, Some("https://x.openai.azure.com"), "gpt-4o").unwrap();
        assert_eq!(azure, (supports, None));
    }

    #[test]
    fn a_dated_name_is_its_models_unless_it_has_a_line() {
        let table = Table::read();
        let openai = provider(Protocol::Openai, None);
        let find = |model: &str| table.find(&openai, model);
        assert_eq!(find("gpt-4o-2024-11-20"), find("gpt-4o"));
        assert_ne!(find("gpt-4o-2024-05-13"), find("gpt-4o"));
        assert_eq!(find("gpt-4o-next"), None);
        let anthropic = provider(Protocol::Anthropic, None);
        assert!(table.find(&anthropic, "claude-sonnet-4-5-20250929").is_some());
    }
}
