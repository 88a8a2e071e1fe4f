//! Counting a request's input with the vocabularies of models, for `tokens: exact`.
//!
//! It is off the threads that serve: a text of 100 kB takes from a fifth of a millisecond to some
//! twenty, where it is one long run of the same letter. It is bounded in size, in time and in how many
//! are counted at once; a request that does not fit in is not counted, which a metric tells, and stays
//! estimated.

use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use bytes::Bytes;
use pointsman_core::{Catalog, Vocabularies, Vocabulary};
use pointsman_wire::{Exact, Question};
use tiktoken::CoreBpe;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// The largest body that is counted, in bytes: in the worst case half a second of a thread.
const MOST: usize = 1024 * 1024;
/// How long a request waits for its count.
const PATIENCE: Duration = Duration::from_millis(100);

/// Who counts, for all calls.
#[derive(Debug)]
pub(crate) struct Counter {
    /// One for each request that may be counted at the same time: half of the machine's cores.
    threads: Arc<Semaphore>,
}

/// Why a request has not been counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uncounted {
    TooLarge,
    TooSlow,
    /// There is no such count of this request.
    Unknown,
}

impl Uncounted {
    /// The word in the metric.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::TooSlow => "too_slow",
            Self::Unknown => "unknown",
        }
    }
}

impl Counter {
    pub(crate) fn new() -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        Self { threads: Arc::new(Semaphore::new(cores.div_ceil(2))) }
    }

    /// The counts of a request in some vocabularies.
    pub(crate) async fn count(
        &self,
        question: &Question,
        body: &Bytes,
        wanted: Vocabularies,
    ) -> Result<Vec<(Vocabulary, Exact)>, Uncounted> {
        if body.len() > MOST {
            return Err(Uncounted::TooLarge);
        }
        let deadline = Instant::now() + PATIENCE;
        let counting = async {
            let thread = Arc::clone(&self.threads).acquire_owned().await;
            let (question, body) = (question.clone(), body.clone());
            let task = spawn_blocking(move || {
                let _thread = thread;
                wanted.iter().map(|one| count(&question, &body, one, deadline)).collect()
            });
            // Only a panic ends it otherwise: then there is no count.
            task.await.unwrap_or(Err(Uncounted::Unknown))
        };
        timeout(PATIENCE, counting).await.unwrap_or(Err(Uncounted::TooSlow))
    }
}

fn count(
    question: &Question,
    body: &[u8],
    vocabulary: Vocabulary,
    deadline: Instant,
) -> Result<(Vocabulary, Exact), Uncounted> {
    let Some(tokens) = tokenizer(vocabulary) else { return Err(Uncounted::Unknown) };
    let mut late = false;
    let mut encode = |text: &str| {
        late |= Instant::now() > deadline;
        (!late).then(|| tokens.count(text) as u64)
    };
    match question.count_exactly(body, vocabulary, &mut encode) {
        Some(exact) => Ok((vocabulary, exact)),
        None if late => Err(Uncounted::TooSlow),
        None => Err(Uncounted::Unknown),
    }
}

/// What a vocabulary is unpacked to at its first use, for good.
fn tokenizer(vocabulary: Vocabulary) -> Option<&'static CoreBpe> {
    tiktoken::get_encoding(match vocabulary {
        Vocabulary::Cl100k => "cl100k_base",
        Vocabulary::O200k => "o200k_base",
    })
}

/// Unpacks what inputs are to be counted in, so that no request waits for it: a tenth of a second, and
/// 10 to 25 MB of memory, for each.
pub(crate) fn load(catalog: &Catalog) {
    for vocabulary in catalog.deployments().filter_map(|(_, own)| own.vocabulary) {
        tokenizer(vocabulary);
    }
}

#[cfg(test)]
mod tests {
    use pointsman_wire::{ClientHeaders, Endpoint};

    use super::*;

    fn tokens(vocabulary: Vocabulary, text: &str) -> usize {
        tokenizer(vocabulary).unwrap().count(text)
    }

    /// From the table and the examples of OpenAI's cookbook, and, from the fifth on, what OpenAI's own
    /// tokenizer (as the crate `tiktoken-rs` has it) makes of them.
    #[test]
    fn known_texts_have_their_known_counts() {
        for (text, cl100k, o200k) in [
            ("antidisestablishmentarianism", 6, 6),
            ("2 + 2 = 4", 7, 7),
            ("お誕生日おめでとう", 9, 8),
            ("tiktoken is great!", 6, 6),
            ("don't DON'T we'll", 6, 3),
            ("<|endoftext|>", 7, 7),
            ("\n\n\n   x", 3, 3),
            ("", 0, 0),
        ] {
            assert_eq!(tokens(Vocabulary::Cl100k, text), cl100k, "{text}");
            assert_eq!(tokens(Vocabulary::O200k, text), o200k, "{text}");
        }
    }

    #[test]
    fn a_text_that_never_breaks_is_counted_too() {
        for letter in ["a", " ", "=", "\u{3000}", "é", "\n"] {
            let text = letter.repeat(20_000);
            for vocabulary in Vocabulary::ALL {
                assert!(tokens(vocabulary, &text) > 0, "{letter:?}");
            }
        }
    }

    const MESSAGES: &str = r#""messages":[
        {"role":"system","content":"You are a helpful, pattern-following assistant that translates corporate jargon into plain English."},
        {"role":"system","name":"example_user","content":"New synergies will help drive top-line growth."},
        {"role":"system","name":"example_assistant","content":"Things working well together will increase revenue."},
        {"role":"system","name":"example_user","content":"Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage."},
        {"role":"system","name":"example_assistant","content":"Let's talk later when we're less busy about how to do better."},
        {"role":"user","content":"This late pivot means we don't have time to boil the ocean for the client deliverable."}]"#;

    const TOOLS: &str = r#""messages":[
        {"role":"system","content":"You are a helpful assistant that can answer to questions about the weather."},
        {"role":"user","content":"What's the weather like in San Francisco?"}],
        "tools":[{"type":"function","function":{"name":"get_current_weather",
            "description":"Get the current weather in a given location","parameters":{"type":"object",
            "properties":{"location":{"type":"string","description":"The city and state, e.g. San Francisco, CA"},
                "unit":{"type":"string","description":"The unit of temperature to return","enum":["celsius","fahrenheit"]}},
            "required":["location"]}}}]"#;

    /// The requests of OpenAI's cookbook, and what its API said they came to: for GPT-4, for GPT-4o.
    #[tokio::test]
    async fn requests_come_to_what_the_api_said() {
        let counter = Counter::new();
        for vocabulary in Vocabulary::ALL {
            tokenizer(vocabulary);
        }
        let all = Vocabularies::of(Vocabulary::ALL);
        for (members, cl100k, o200k) in [(MESSAGES, 129, 124), (TOOLS, 105, 101)] {
            let body = Bytes::from(format!(r#"{{"model":"m",{members}}}"#));
            let question = Question::read(Endpoint::Chat, ClientHeaders::default(), &body).unwrap();
            let counted = counter.count(&question, &body, all).await.unwrap();
            let exact = |tokens| Exact { tokens, estimated: false };
            let expected = [(Vocabulary::Cl100k, exact(cl100k)), (Vocabulary::O200k, exact(o200k))];
            assert_eq!(counted, expected);
        }
    }

    #[tokio::test]
    async fn what_is_too_large_or_too_slow_is_not_counted() {
        let all = Vocabularies::of(Vocabulary::ALL);
        let body = |text: &str| {
            Bytes::from(format!(r#"{{"model":"m","messages":[{{"content":"{text}"}}]}}"#))
        };
        let ask =
            |body: &Bytes| Question::read(Endpoint::Chat, ClientHeaders::default(), body).unwrap();
        let counter = Counter::new();
        let large = body(&" ".repeat(MOST));
        assert_eq!(counter.count(&ask(&large), &large, all).await, Err(Uncounted::TooLarge));
        let small = body("hi");
        let busy = Counter { threads: Arc::new(Semaphore::new(0)) };
        assert_eq!(busy.count(&ask(&small), &small, all).await, Err(Uncounted::TooSlow));
        let past = Instant::now() - Duration::from_secs(1);
        let late = count(&ask(&small), &small, Vocabulary::O200k, past);
        assert_eq!(late, Err(Uncounted::TooSlow));
        assert!(counter.count(&ask(&small), &small, all).await.is_ok());
    }
}
