//! What a mock says, before a protocol puts it into its own words.

use super::ask::{Ask, Cited, sample};
use super::script::Answer;

/// Who speaks, and what it says when the script does not.
#[derive(Clone, Debug)]
pub(crate) struct Voice {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) output_tokens: u64,
}

impl Voice {
    /// An upstream that greets with its name.
    pub(crate) fn named(name: &str) -> Self {
        Self { name: name.to_owned(), text: format!("Hello from {name}."), output_tokens: 20 }
    }
}

/// One answer.
#[derive(Debug)]
pub(crate) struct Speech {
    /// Who speaks.
    pub(crate) name: String,
    pub(crate) model: String,
    pub(crate) blocks: Vec<Block>,
    /// Why it ends, in the words of OpenAI's chat protocol; or [`REFUSAL`].
    pub(crate) finish: String,
    /// What it used, unless the script keeps it secret.
    pub(crate) usage: Option<Spent>,
    /// The client wants the usage at the end of the stream.
    pub(crate) include_usage: bool,
    /// How often it is said, each time as an answer of its own.
    pub(crate) answers: u64,
    /// Tokens come with their probabilities, and with those of so many in their places.
    pub(crate) logprobs: Option<u64>,
    /// What the words for the user cite, where the protocol cites what the client sent.
    pub(crate) cited: Option<Cited>,
}

/// A part of an answer, in the pieces in which it is streamed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Block {
    /// Thoughts.
    Thought(Vec<String>),
    /// Words for the user.
    Text(Vec<String>),
    /// A call of a tool.
    Call(Call),
    /// A search of the web, done by the provider. The words behind it cite what was found.
    Search(Search),
    /// What was found, for protocols that tell.
    Found(Search),
}

/// A search of the web.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Search {
    pub(crate) id: String,
    pub(crate) query: String,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    /// A JSON object, as text.
    pub(crate) arguments: String,
}

/// Tokens, in the classes that have a price of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spent {
    /// All input, with what was read from and written to a cache.
    pub(crate) input: u64,
    pub(crate) cached: u64,
    pub(crate) cache_written: u64,
    /// All output, with reasoning.
    pub(crate) output: u64,
    pub(crate) reasoning: u64,
}

/// As many answers as OpenAI gives at once.
const MOST_ANSWERS: u64 = 128;

/// Why an answer ends that is a refusal.
pub(crate) const REFUSAL: &str = "refusal";

/// The signature under every thought, for protocols that have one: base64, because some insist.
pub(crate) const SIGNATURE: &str = "c2lnbmVkIGJ5IHRoZSBtb2Nr";

impl Speech {
    /// What `voice` answers: what the script says, or else what the request calls for.
    pub(crate) fn new(answer: &Answer, ask: &Ask, voice: &Voice) -> Self {
        let mut blocks = Vec::new();
        if ask.thinks {
            blocks.push(Block::Thought(pieces("Let me think about that.")));
        }
        let spoken = answer.output_tokens.unwrap_or(voice.output_tokens);
        let calls = if answer.text.is_none() { ask.calls() } else { Vec::new() };
        for (nth, tool) in calls.iter().enumerate() {
            blocks.push(Block::Call(Call {
                id: format!("call_{}_{nth}", voice.name),
                name: tool.name.clone(),
                arguments: sample(&tool.parameters).to_string(),
            }));
        }
        if calls.is_empty() && ask.searches {
            let id = format!("srvtoolu_{}", voice.name);
            let search = Search { id, query: ask.text.clone() };
            blocks.extend([Block::Search(search.clone()), Block::Found(search)]);
        }
        if calls.is_empty() {
            blocks.push(Block::Text(match (&answer.text, told(ask)) {
                (Some(text), _) => words(text, spoken),
                (None, Some(text)) => pieces(&text),
                (None, None) => words(&voice.text, spoken),
            }));
        }
        let finish = match calls.is_empty() {
            true if answer.refuses => REFUSAL,
            true => "stop",
            false => "tool_calls",
        };
        let thoughts = if ask.thinks { blocks.first().map_or(0, Block::len) } else { 0 };
        let answers = ask.answers.clamp(1, MOST_ANSWERS);
        let usage = Spent {
            input: answer.input_tokens.unwrap_or(ask.input_tokens),
            cached: answer.cached_tokens,
            cache_written: answer.cache_write_tokens,
            output: answer.output_tokens.unwrap_or_else(|| blocks.iter().map(Block::len).sum())
                * answers,
            reasoning: answer.reasoning_tokens.unwrap_or(thoughts),
        };
        Self {
            name: voice.name.clone(),
            model: ask.model.clone(),
            blocks,
            finish: answer.finish.clone().unwrap_or_else(|| finish.to_owned()),
            usage: (answer.usage != Some(false)).then_some(usage),
            include_usage: ask.include_usage,
            answers,
            logprobs: ask.logprobs,
            cited: ask.cited.clone(),
        }
    }

    /// The search that was done for it.
    pub(crate) fn search(&self) -> Option<&Search> {
        self.blocks.iter().find_map(|block| match block {
            Block::Search(search) => Some(search),
            _ => None,
        })
    }

    /// Whether its words are a refusal.
    pub(crate) fn refuses(&self) -> bool {
        self.finish == REFUSAL
    }

    /// All words for the user.
    pub(crate) fn text(&self) -> Option<String> {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text(pieces) => Some(pieces.concat()),
            _ => None,
        });
        texts.reduce(|all, more| all + &more)
    }

    /// All thoughts.
    pub(crate) fn thoughts(&self) -> Option<String> {
        let thoughts = self.blocks.iter().filter_map(|block| match block {
            Block::Thought(pieces) => Some(pieces.concat()),
            _ => None,
        });
        thoughts.reduce(|all, more| all + &more)
    }

    /// All calls of tools.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            _ => None,
        })
    }
}

impl Block {
    /// Tokens, one a piece.
    fn len(&self) -> u64 {
        match self {
            Self::Thought(pieces) | Self::Text(pieces) => pieces.len() as u64,
            Self::Call(call) => call.pieces().len() as u64,
            Self::Search(_) | Self::Found(_) => 0,
        }
    }
}

impl Call {
    /// The arguments, in the pieces in which they are streamed.
    pub(crate) fn pieces(&self) -> Vec<String> {
        pieces(&self.arguments)
    }

    /// The arguments, as JSON.
    pub(crate) fn input(&self) -> serde_json::Value {
        serde_json::from_str(&self.arguments).unwrap_or_default()
    }
}

/// What the request calls for, if it calls for more than a greeting.
fn told(ask: &Ask) -> Option<String> {
    if let Some(schema) = &ask.schema {
        return Some(sample(schema).to_string());
    }
    if !ask.results.is_empty() {
        return Some(format!("The tool says: {}", ask.results.join("; ")));
    }
    ask.image.as_ref().map(|media_type| format!("I see an image of type {media_type}."))
}

/// The text's words, over and over: `count` of them.
fn words(text: &str, count: u64) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let words = if words.is_empty() { vec!["…"] } else { words };
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let mut all: Vec<String> = Vec::new();
    for (nth, word) in words.iter().cycle().take(count).enumerate() {
        all.push(if nth == 0 { (*word).to_owned() } else { format!(" {word}") });
    }
    all
}

/// The text in pieces of a dozen characters.
fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(12).map(|piece| piece.iter().collect()).collect()
}
