//! How the next token is drawn, in what a model takes of it.

use super::model::Samples;
use crate::neutral::Sampling;

/// The members that are written, and the paths of those that are not as they were given.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Drawn<'a> {
    pub(crate) temperature: Option<&'a str>,
    pub(crate) top_p: Option<&'a str>,
    pub(crate) top_k: Option<&'a str>,
    pub(crate) lost: Vec<&'static str>,
}

/// What is left of `sampling` for a model that takes `takes`. No temperature is above 1.
pub(crate) fn draw<'a>(sampling: Sampling<'a>, takes: Samples) -> Drawn<'a> {
    let temperature = sampling.temperature.filter(|_| takes != Samples::None);
    let alone = takes == Samples::One && temperature.is_some();
    let top_p = sampling.top_p.filter(|_| takes != Samples::None && !alone);
    let top_k = sampling.top_k.filter(|_| takes != Samples::None);
    let hot = temperature.is_some_and(|given| given.parse::<f64>().is_ok_and(|value| value > 1.0));
    let temperature = if hot { Some("1") } else { temperature };
    let lost = [
        ("temperature", sampling.temperature, temperature),
        ("top_p", sampling.top_p, top_p),
        ("top_k", sampling.top_k, top_k),
    ];
    let lost = lost.into_iter().filter(|(_, given, kept)| given.is_some() && kept.is_none());
    let lost = lost.map(|(path, ..)| path).chain(hot.then_some("temperature")).collect();
    Drawn { temperature, top_p, top_k, lost }
}
