//! `cost`: the lowest price of this request, in nano-USD.
//!
//! `input × price + cached input × cached price + expected output × output price`. The cached part is
//! the share that the member's provider found in its cache of late; the expected output is what the
//! members' answers have been like, and no more than the request allows. A member without a price
//! comes after all that have one. With `first_token_ceiling`, a member whose expected time to the
//! first token, times `1 + 6 × failure share`, is above it comes after all that are below, or that nobody
//! has measured yet; if there are none of those, the fastest goes first.

use core::time::Duration;

use super::measured::{Reading, expect, output_tokens};
use super::{Mark, Scene, Survivor, Workspace};
use crate::request::Usage;
use crate::time::micros;

/// How much a failure share of 1 adds to a time that is held against the ceiling.
const FAILURES: f64 = 6.0;

const NO_PRICE: u8 = 1;
const TOO_SLOW: u8 = 2;

/// Fills `work.marks`.
pub(super) fn mark(
    survivors: &[Survivor],
    scene: &Scene<'_>,
    ceiling: Option<Duration>,
    work: &mut Workspace,
) {
    let ceiling = ceiling.filter(|_| scene.request.stream);
    let output = match ceiling {
        Some(_) => expect(survivors, scene, Reading::Here, work),
        None => output_tokens(survivors, scene, &mut work.values),
    };
    work.output = output;
    work.marks.clear();
    work.marks.extend(survivors.iter().map(|one| match nano_usd(one, scene, output) {
        Some(cost) => Mark { class: 0, cost },
        None => Mark { class: NO_PRICE, cost: 0.0 },
    }));
    if let Some(ceiling) = ceiling {
        let most = micros(ceiling) as f64 / 1_000_000.0;
        for (mark, expected) in work.marks.iter_mut().zip(&work.expected) {
            let first = expected.first * (1.0 + FAILURES * expected.fails);
            if expected.measured && first > most || expected.capped {
                *mark = Mark { class: TOO_SLOW, cost: first };
            }
        }
    }
}

/// What this request is expected to cost at a member, in nano-USD; `None` without a price.
pub(super) fn nano_usd(one: &Survivor, scene: &Scene<'_>, output: f64) -> Option<f64> {
    let deployment = scene.catalog.deployment(one.member.deployment);
    let price = deployment.facts_of(scene.model).prices.at(scene.now)?;
    let input = scene.request.input_in(deployment.vocabulary);
    let cached_input = scene.observed(one).cached_of(input);
    let usage = Usage { input, cached_input, output: output as u64, ..Usage::default() };
    Some(price.cost(&usage) as f64)
}
