//! `lar1`: LiteLLM's preset, which sends a request to a class of members by what its sender says of
//! its own certainty. A member's class is one of its tags.
//!
//! Unverified evidence goes to `cloud-smart`, evidence from memory to `cloud-fast`; else a confidence
//! below 0.3 goes to `cloud-smart`, below 0.5 to `cloud-fast`, below 0.7 to `local`, and any other to
//! `deep`. The first member of the class in the configuration's order serves, else the first of all.

use super::{Pick, Scene, Survivor};
use crate::request::{Evidence, Lar1};

pub(super) fn pick(survivors: &[Survivor], scene: &Scene<'_>) -> Option<Pick> {
    let class = scene.request.lar1.map(class);
    let carries = |one: &Survivor| {
        let tags = &scene.catalog.deployment(one.member.deployment).tags;
        class.is_some_and(|class| tags.iter().any(|tag| tag == class))
    };
    let first = survivors.iter().enumerate().min_by_key(|(_, one)| (!carries(one), one.place))?;
    Some(Pick::of(first.0))
}

const fn class(hint: Lar1) -> &'static str {
    match (hint.evidence, hint.confidence_ppm) {
        (Evidence::Unverified, _) => "cloud-smart",
        (Evidence::Memory, _) => "cloud-fast",
        (Evidence::Other, 0..300_000) => "cloud-smart",
        (Evidence::Other, 300_000..500_000) => "cloud-fast",
        (Evidence::Other, 500_000..700_000) => "local",
        (Evidence::Other, 700_000..) => "deep",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_by_certainty() {
        let of = |confidence_ppm, evidence| class(Lar1 { confidence_ppm, evidence });
        assert_eq!(of(900_000, Evidence::Unverified), "cloud-smart");
        assert_eq!(of(100_000, Evidence::Memory), "cloud-fast");
        assert_eq!(of(299_999, Evidence::Other), "cloud-smart");
        assert_eq!(of(300_000, Evidence::Other), "cloud-fast");
        assert_eq!(of(699_999, Evidence::Other), "local");
        assert_eq!(of(700_000, Evidence::Other), "deep");
    }
}
