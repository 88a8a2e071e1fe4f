//! What an answer loses on its way into the client's protocol, whole or in a stream.

use crate::dialect::Dialect;
use crate::messages::is_citable;
use crate::neutral::{Answer, Block, Citation, Delta, Event, Loss, Losses, Part, Search, Source};

/// What a whole answer loses for a client that speaks so.
pub(crate) fn of_answer(client: Dialect, answer: &Answer<'_>) -> Losses {
    let mut lost = answer.lost;
    let most = if is_single(client) { 1 } else { usize::MAX };
    lost.add_if(answer.choices.len() > most, Loss::Choices);
    for choice in answer.choices.iter().take(most) {
        choice.parts.iter().for_each(|part| of_part(client, part, &mut lost));
        lost.add_if(choice.stop.is_some() && client != Dialect::Messages, Loss::StopSequence);
        let unlikely = !choice.logprobs.is_empty() && client == Dialect::Messages;
        lost.add_if(unlikely, Loss::Logprobs);
    }
    lost
}

/// Adds what an event of a stream loses.
pub(crate) fn of_event(client: Dialect, event: &Event<'_>, lost: &mut Losses) {
    let choice = match event {
        Event::Open { choice, .. }
        | Event::Delta { choice, .. }
        | Event::Search { choice, .. }
        | Event::Finish { choice, .. } => *choice,
        Event::Lost(loss) => return lost.add(*loss),
        Event::Start { .. } | Event::Close { .. } | Event::Usage(_) | Event::End => return,
    };
    if choice > 0 && is_single(client) {
        return lost.add(Loss::Choices);
    }
    match event {
        Event::Open { kind: Block::Reasoning { redacted }, .. } => {
            of_thought(client, false, redacted.is_some(), lost);
        }
        Event::Open { kind: Block::ToolCall { signature, .. }, .. } => {
            of_call(client, signature.is_some(), lost);
        }
        Event::Delta { delta, .. } => match delta {
            Delta::Signature(_) => of_thought(client, true, false, lost),
            Delta::Citation(citation) => {
                of_citation(client, citation, lost);
                // The text that a place is in has gone out, as one block.
                let placed = citation.span.is_some() && client == Dialect::Messages;
                lost.add_if(placed, Loss::CitedPlace);
            }
            Delta::Logprobs(_) => lost.add_if(client == Dialect::Messages, Loss::Logprobs),
            Delta::Text(_) | Delta::Arguments(_) => {}
        },
        Event::Search { search, .. } => of_search(client, search, lost),
        Event::Finish { stop, .. } => {
            lost.add_if(stop.is_some() && client != Dialect::Messages, Loss::StopSequence);
        }
        _ => {}
    }
}

/// Whether the protocol gives but one answer.
const fn is_single(client: Dialect) -> bool {
    matches!(client, Dialect::Responses | Dialect::Messages)
}

fn of_part(client: Dialect, part: &Part<'_>, lost: &mut Losses) {
    match part {
        Part::Text { citations, .. } => {
            citations.iter().for_each(|citation| of_citation(client, citation, lost));
        }
        Part::Reasoning { signature, redacted, .. } => {
            of_thought(client, signature.is_some(), redacted.is_some(), lost);
        }
        Part::ToolCall { signature, .. } => of_call(client, signature.is_some(), lost),
        Part::Search(search) => of_search(client, search, lost),
        Part::Media { source, mime, .. } => {
            let held = matches!(source, Source::Base64(_)) && mime.is_some();
            lost.add_if(client != Dialect::Generate || !held, Loss::Media);
        }
        Part::Refusal(_) | Part::ToolResult { .. } => {}
    }
}

/// Proofs and hidden thoughts are Anthropic's, on Bedrock too, and go back there alone.
fn of_thought(client: Dialect, signed: bool, redacted: bool, lost: &mut Losses) {
    let kept = client == Dialect::Messages;
    lost.add_if(signed && !kept, Loss::Signature);
    lost.add_if(redacted && !kept, Loss::RedactedThinking);
}

/// The proof of a call is Google's.
fn of_call(client: Dialect, signed: bool, lost: &mut Losses) {
    lost.add_if(signed && client != Dialect::Generate, Loss::Signature);
}

/// Chat completions have no word for a search, and only Anthropic's for what it failed of.
fn of_search(client: Dialect, search: &Search<'_>, lost: &mut Losses) {
    let failed = search.failed.is_some() && client == Dialect::Generate;
    lost.add_if(failed || client == Dialect::Chat, Loss::WebSearch);
}

fn of_citation(client: Dialect, citation: &Citation<'_>, lost: &mut Losses) {
    let Citation { url, title, cited, place, .. } = citation;
    let (whole, text, place) = match client {
        Dialect::Chat | Dialect::Responses => (url.is_none(), cited.is_some(), place.is_some()),
        Dialect::Messages => (!is_citable(citation), false, false),
        Dialect::Generate => {
            let nothing = url.is_none() && title.is_none() && cited.is_none();
            // Of the web Google says no words.
            let web = url.is_some() && place.is_none();
            (nothing, cited.is_some() && web, place.is_some())
        }
        Dialect::Converse => (false, false, false),
    };
    lost.add_if(whole, Loss::Citations);
    lost.add_if(text && !whole, Loss::CitedText);
    lost.add_if(place && !whole, Loss::CitedPlace);
}

/// Takes the proofs off that another provider of the same protocol would refuse.
pub(crate) fn strip_answer(answer: &mut Answer<'_>) {
    for part in answer.choices.iter_mut().flat_map(|choice| &mut choice.parts) {
        if let Part::Reasoning { signature, redacted, .. } = part {
            answer.lost.add_if(signature.take().is_some(), Loss::Signature);
            answer.lost.add_if(redacted.take().is_some(), Loss::RedactedThinking);
        }
    }
}
