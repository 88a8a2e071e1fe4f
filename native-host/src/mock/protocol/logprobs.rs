//! Probabilities of tokens. A piece of an answer is one token here.

use serde_json::{Value, json};

/// What OpenAI's protocols say of a token, with `others` that were as likely as any in its place; the
/// token itself is the first of them.
pub(super) fn of_openai(token: &str, others: u64) -> Value {
    let top: Vec<Value> = ranked(token, others)
        .map(|(token, logprob)| {
            json!({ "token": token, "bytes": token.as_bytes(), "logprob": logprob })
        })
        .collect();
    json!({
        "token": token, "bytes": token.as_bytes(), "logprob": LIKELIEST, "top_logprobs": top,
    })
}

/// What Gemini says of some tokens.
pub(super) fn of_gemini(tokens: &[String], others: u64) -> Value {
    let candidate =
        |(token, logprob): (String, f64)| json!({ "token": token, "logProbability": logprob });
    let chosen: Vec<Value> =
        tokens.iter().map(|token| candidate((token.clone(), LIKELIEST))).collect();
    let top = tokens.iter().map(|token| {
        let ranked: Vec<Value> = ranked(token, others).map(candidate).collect();
        json!({ "candidates": ranked })
    });
    let top: Vec<Value> = top.collect();
    json!({ "chosenCandidates": chosen, "topCandidates": top })
}

pub(super) const LIKELIEST: f64 = -0.25;

fn ranked(token: &str, others: u64) -> impl Iterator<Item = (String, f64)> {
    let token = token.to_owned();
    (0..others.min(20)).scan(LIKELIEST, move |logprob, nth| {
        let name = if nth == 0 { token.clone() } else { format!(" other{nth}") };
        let found = (name, *logprob);
        *logprob -= 1.0;
        Some(found)
    })
}
