//! What of a body is for the router and not for a provider, which would refuse it: it is read, and
//! cut out of what is sent on.
//!
//! - `provider`: whom the client prefers, as OpenRouter's clients write it
//!   (<https://openrouter.ai/docs/features/provider-routing>). Its `max_price` is the most that the
//!   whole call may cost in USD. A member that is not known here may be a restriction, so it is a
//!   fault.
//! - `tags` and `metadata.tags`: lists of tags that a member must carry, as LiteLLM's clients write
//!   them. `metadata.tags` is ours only if it is a list: OpenAI's own metadata are texts.
//! - `metadata.lar1`: LiteLLM's hint for its strategy of that name.

use pointsman_core::{Evidence, Lar1, Preferences, Request, Sort};

use crate::asked::Asked;
use crate::fault::{Flaw, wrong};
use crate::json::{Kind, Skimmer, Span};
use crate::prefix::Prompt;
use crate::skimmed::{flag, list, object};
use crate::splice::{Cutter, Edit};

/// Names in one list, and bytes in one name.
const MOST_NAMES: usize = 64;
const LONGEST_NAME: usize = 256;
/// Tags of one request.
const MOST_TAGS: usize = 16;

/// What a body says to the router.
#[derive(Debug, Default)]
pub(crate) struct Routing {
    tags: Vec<String>,
    prefer: Option<Box<Preferences>>,
    lar1: Option<Lar1>,
    prompt: Prompt,
    cuts: Vec<Edit>,
}

impl Routing {
    /// Visits the members of a body that is one object, but for what is the router's; `visit` passes
    /// the value behind each key. Those of `metadata` come as `metadata.user_id`.
    pub(crate) fn read(
        body: &[u8],
        mut visit: impl FnMut(&str, &mut Skimmer<'_>) -> Result<(), Flaw>,
    ) -> Result<Self, Flaw> {
        let mut read = Self::default();
        let mut cut = Cutter::default();
        let mut json = Skimmer::new(body);
        if json.kind()? != Kind::Object {
            json.broken("an object")?;
        }
        json.enter()?;
        while let Some(key) = json.next_member()? {
            let name = key.decode();
            let value = json.position();
            let ours = match &*name {
                "provider" => {
                    read.prefer = preferences(&mut json)?.map(Box::new);
                    true
                }
                "tags" => {
                    read.take_tags(&mut json, "tags")?;
                    true
                }
                "metadata" => {
                    read.metadata(&mut json, &mut visit)?;
                    false
                }
                name => {
                    visit(name, &mut json)?;
                    read.prompt(name, value..json.offset(), body);
                    false
                }
            };
            cut.next(key.span().start..json.offset(), ours, &mut read.cuts);
        }
        cut.end(&mut read.cuts);
        json.end()?;
        Ok(read)
    }

    /// Writes it into the facts and into what is to be sent.
    pub(crate) fn apply(self, facts: &mut Request, asked: &mut Asked) {
        (facts.tags, facts.prefer, facts.lar1) = (self.tags, self.prefer, self.lar1);
        asked.cuts = self.cuts;
        asked.prompt = self.prompt;
    }

    fn prompt(&mut self, name: &str, span: Span, body: &[u8]) {
        // What OpenAI keeps for a client is an object of the same name.
        let kept = name == "prompt" && body.get(span.start) == Some(&b'{');
        match name {
            "tools" | "functions" => self.prompt.tools = span,
            "system" | "instructions" | "systemInstruction" | "system_instruction" => {
                self.prompt.system = span;
            }
            "messages" | "input" | "contents" | "prompt" if !kept => self.prompt.converse(span),
            _ => {}
        }
    }

    /// The prompt of a body whose system prompts stand in its conversation, before this place.
    pub(crate) fn system_ends(&mut self, at: usize) {
        let Prompt { system, conversation, .. } = &mut self.prompt;
        if (conversation.start..conversation.end).contains(&at) {
            *system = conversation.start..at;
            conversation.start = at;
        }
    }

    fn metadata(
        &mut self,
        json: &mut Skimmer<'_>,
        visit: &mut impl FnMut(&str, &mut Skimmer<'_>) -> Result<(), Flaw>,
    ) -> Result<(), Flaw> {
        if !object(json, "metadata")? {
            return Ok(());
        }
        let mut cut = Cutter::default();
        while let Some(key) = json.next_member()? {
            let ours = match (&*key.decode(), json.kind()?) {
                ("tags", Kind::Array) => {
                    self.take_tags(json, "metadata.tags")?;
                    true
                }
                ("lar1", Kind::Object) => {
                    self.lar1 = Some(lar1(json)?);
                    true
                }
                (name, _) => {
                    visit(&format!("metadata.{name}"), json)?;
                    false
                }
            };
            cut.next(key.span().start..json.offset(), ours, &mut self.cuts);
        }
        cut.end(&mut self.cuts);
        Ok(())
    }

    fn take_tags(&mut self, json: &mut Skimmer<'_>, path: &str) -> Result<(), Flaw> {
        self.tags.append(&mut names(json, path, "a list of at most 16 tags")?);
        if self.tags.len() > MOST_TAGS {
            return wrong(path, "a list of at most 16 tags");
        }
        Ok(())
    }
}

fn preferences(json: &mut Skimmer<'_>) -> Result<Option<Preferences>, Flaw> {
    const NAMES: &str = "a list of at most 64 names";
    if !object(json, "provider")? {
        return Ok(None);
    }
    let mut read = Preferences::default();
    while let Some(key) = json.next_member()? {
        let path = format!("provider.{}", key.decode());
        match &*key.decode() {
            "order" => read.order = names(json, &path, NAMES)?,
            "only" => read.only = names(json, &path, NAMES)?,
            "ignore" => read.ignore = names(json, &path, NAMES)?,
            "sort" => read.sort = sort(json)?,
            "allow_fallbacks" => read.allow_fallbacks = flag(json, &path)?.unwrap_or(true),
            "require_parameters" => read.require_parameters = flag(json, &path)?.unwrap_or(false),
            "max_price" => read.max_price = price(json)?,
            _ => {
                return wrong(
                    path,
                    "left out: known here are order, only, ignore, sort, allow_fallbacks, \
                     require_parameters and max_price",
                );
            }
        }
    }
    Ok(Some(read))
}

fn names(json: &mut Skimmer<'_>, path: &str, expected: &'static str) -> Result<Vec<String>, Flaw> {
    let mut names = Vec::new();
    if !list(json, path)? {
        return Ok(names);
    }
    while json.next_element()? {
        let text = if json.kind()? == Kind::String { Some(json.string()?.decode()) } else { None };
        let name = text.filter(|name| (1..=LONGEST_NAME).contains(&name.len()));
        match name {
            Some(name) if names.len() < MOST_NAMES => names.push(name.into_owned()),
            _ => return wrong(path, expected),
        }
    }
    Ok(names)
}

fn sort(json: &mut Skimmer<'_>) -> Result<Option<Sort>, Flaw> {
    let word = match json.kind()? {
        Kind::Null => {
            json.skip()?;
            return Ok(None);
        }
        Kind::String => Some(json.string()?.decode()),
        _ => None,
    };
    let known = |word: &str| Sort::WORDS.iter().find(|(name, _)| *name == word);
    match word.as_deref().and_then(known) {
        Some((_, sort)) => Ok(Some(*sort)),
        None => wrong("provider.sort", "fastest, cheapest, latency, throughput or price"),
    }
}

/// USD for the whole call, as nano-USD.
fn price(json: &mut Skimmer<'_>) -> Result<Option<u64>, Flaw> {
    if json.kind()? == Kind::Null {
        json.skip()?;
        return Ok(None);
    }
    match number(json)? {
        Some(usd) if (0.0..=1e9).contains(&usd) => Ok(Some((usd * 1e9).round() as u64)),
        _ => wrong("provider.max_price", "a number: USD for the whole call"),
    }
}

fn lar1(json: &mut Skimmer<'_>) -> Result<Lar1, Flaw> {
    let mut read = Lar1 { confidence_ppm: 0, evidence: Evidence::Other };
    json.enter()?;
    while let Some(key) = json.next_member()? {
        match (&*key.decode(), json.kind()?) {
            ("confidence", _) => match number(json)? {
                Some(share) if (0.0..=1.0).contains(&share) => {
                    read.confidence_ppm = (share * 1e6).round() as u32;
                }
                _ => return wrong("metadata.lar1.confidence", "a number from 0 to 1"),
            },
            ("evidence", Kind::String) => {
                read.evidence = match &*json.string()?.decode() {
                    "UNVERIFIED" => Evidence::Unverified,
                    "MEM" => Evidence::Memory,
                    _ => Evidence::Other,
                };
            }
            _ => _ = json.skip()?,
        }
    }
    Ok(read)
}

fn number(json: &mut Skimmer<'_>) -> Result<Option<f64>, Flaw> {
    let kind = json.kind()?;
    let span = json.skip()?;
    let text = core::str::from_utf8(json.slice(span)).ok().filter(|_| kind == Kind::Number);
    Ok(text.and_then(|text| text.parse().ok()))
}

#[cfg(test)]
mod tests {
    use pointsman_core::{Protocol, Timestamp};

    use super::*;
    use crate::{ClientHeaders, Endpoint, Question, Stamp, Streaming, Target};

    fn question(endpoint: Endpoint, body: &str) -> Result<Question, String> {
        let read = Question::read(endpoint, ClientHeaders::default(), body.as_bytes());
        read.map_err(|fault| fault.to_string())
    }

    fn sent(endpoint: Endpoint, body: &str, protocol: Protocol) -> String {
        let target = Target { model: "m", ..Target::new(protocol) };
        let stamp = Stamp { nonce: 1, created: 1 };
        let question = question(endpoint, body).unwrap();
        let prepared = question.prepare(body.as_bytes(), &target, stamp, Timestamp::ZERO).unwrap();
        assert_eq!(prepared.lost, [""; 0], "{body}");
        String::from_utf8(prepared.body.to_vec(body.as_bytes())).unwrap()
    }

    /// What each protocol's client must say besides.
    fn clients() -> [(Endpoint, Protocol, &'static str); 4] {
        let generate = Endpoint::Generate { model: "m".into(), stream: Streaming::No };
        [
            (Endpoint::Chat, Protocol::Openai, r#""model":"m","messages":[]"#),
            (Endpoint::Responses, Protocol::Openai, r#""model":"m","input":"hi""#),
            (Endpoint::Messages, Protocol::Anthropic, r#""model":"m","messages":[]"#),
            (generate, Protocol::Gemini, r#""contents":[]"#),
        ]
    }

    #[test]
    fn wherever_it_stands_it_is_cut_out_and_nothing_else() {
        for (endpoint, protocol, rest) in clients() {
            let clean = |body: &str| sent(endpoint.clone(), body, protocol);
            let plain = format!("{{ {rest} ,\n\"x\" : 1e400 }}");
            assert_eq!(clean(&plain), plain);
            for (ours, expected) in [
                (format!("{{ \"tags\":[\"a\"] ,{rest}}}"), format!("{{ {rest}}}")),
                (format!("{{{rest} , \"tags\" : [\"a\"] }}"), format!("{{{rest} }}")),
                (
                    format!("{{\"provider\":{{}},\"tags\":null,{rest},\"tags\":[],\"x\":1}}"),
                    format!("{{{rest},\"x\":1}}"),
                ),
                (
                    format!("{{{rest},\"metadata\":{{\"tags\":[\"a\"],\"k\":\"v\"}}}}"),
                    format!("{{{rest},\"metadata\":{{\"k\":\"v\"}}}}"),
                ),
                (
                    format!("{{\"metadata\":{{\"k\":\"v\", \"lar1\":{{}}}},{rest}}}"),
                    format!("{{\"metadata\":{{\"k\":\"v\"}},{rest}}}"),
                ),
                (
                    format!("{{{rest},\"metadata\":{{\"tags\":\"theirs\"}}}}"),
                    format!("{{{rest},\"metadata\":{{\"tags\":\"theirs\"}}}}"),
                ),
            ] {
                assert_eq!(clean(&ours), expected, "{ours}");
            }
        }
    }

    #[test]
    fn it_is_not_lost_in_translation_but_used() {
        let body = r#"{"model":"m","messages":[{"role":"user","content":"hi"}],
            "provider":{"order":["a"]},"tags":["b"]}"#;
        let said = sent(Endpoint::Chat, body, Protocol::Anthropic);
        assert!(!said.contains("provider") && !said.contains("tags"), "{said}");
    }

    #[test]
    fn a_stream_asks_for_usage_all_the_same() {
        let body = r#"{"model":"m","messages":[],"stream":true,"tags":["a"]}"#;
        let expected =
            body.replace(r#""tags":["a"]"#, r#""stream_options":{"include_usage":true}"#);
        assert_eq!(sent(Endpoint::Chat, body, Protocol::Openai), expected);
    }

    #[test]
    fn it_becomes_facts() {
        for (endpoint, _, rest) in clients() {
            let body = format!(
                r#"{{"provider":{{"order":["a"],"only":["a","b"],"ignore":["c"],"sort":"price",
                    "allow_fallbacks":false,"require_parameters":true,"max_price":0.01}},{rest},
                    "tags":["x"],"metadata":{{"tags":["y"],
                    "lar1":{{"confidence":0.25,"evidence":"MEM","time":1}}}}}}"#
            );
            let facts = question(endpoint, &body).unwrap().facts;
            let expected = Preferences {
                order: vec!["a".into()],
                only: vec!["a".into(), "b".into()],
                ignore: vec!["c".into()],
                sort: Some(Sort::Cheapest),
                allow_fallbacks: false,
                require_parameters: true,
                max_price: Some(10_000_000),
            };
            assert_eq!(facts.prefer.as_deref(), Some(&expected));
            assert_eq!(facts.tags, ["x", "y"]);
            let lar1 = Lar1 { confidence_ppm: 250_000, evidence: Evidence::Memory };
            assert_eq!(facts.lar1, Some(lar1));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (endpoint, _, rest) in clients() {
            for (ours, place) in [
                (r#""provider":"azure""#, "`provider` must be an object"),
                (r#""provider":{"zdr":true}"#, "`provider.zdr` must be left out"),
                (r#""provider":{"only":"a"}"#, "`provider.only` must be a list"),
                (r#""provider":{"only":[7]}"#, "`provider.only` must be a list of at most 64"),
                (r#""provider":{"sort":"best"}"#, "`provider.sort` must be fastest"),
                (r#""provider":{"max_price":{"prompt":1}}"#, "`provider.max_price` must be"),
                (r#""provider":{"max_price":-1}"#, "`provider.max_price` must be"),
                (r#""provider":{"allow_fallbacks":1}"#, "`provider.allow_fallbacks` must be"),
                (r#""tags":"a""#, "`tags` must be a list"),
                (r#""tags":[""]"#, "`tags` must be a list of at most 16"),
                (r#""metadata":7"#, "`metadata` must be an object"),
                (r#""metadata":{"tags":[7]}"#, "`metadata.tags` must be a list of at most 16"),
                (r#""metadata":{"lar1":{"confidence":2}}"#, "`metadata.lar1.confidence` must be"),
            ] {
                let fault = question(endpoint.clone(), &format!("{{{rest},{ours}}}")).unwrap_err();
                assert!(fault.starts_with(place), "{fault}");
            }
        }
        let tags = format!("{:?}", vec!["t"; 17]);
        let body = format!(r#"{{"model":"m","messages":[],"tags":{tags}}}"#);
        assert!(question(Endpoint::Chat, &body).unwrap_err().contains("16 tags"));
    }
}
