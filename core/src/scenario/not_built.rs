//! The keys of the scenario format whose effect the engine does not have yet. Whoever builds one
//! deletes its name here.

use crate::config::Fields;

/// Where a key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    /// At the top of a scenario.
    Top,
    /// In one of `calls`.
    Call,
    /// In a call's `expect`.
    CallExpect,
    /// In one of `controls`.
    Control,
    /// In the run's `expect`.
    RunExpect,
    /// In one of `expect.states`.
    State,
}

const fn keys(section: Section) -> &'static [&'static str] {
    match section {
        Section::Top => &["replicas"],
        Section::Call => &["commit"],
        Section::CallExpect => &[],
        Section::Control => &["store", "partition", "skew", "replica"],
        Section::RunExpect => &[],
        Section::State => &["replica"],
    }
}

/// Whether a key is part of the format and has no effect yet.
pub(super) fn lists(section: Section, key: &str) -> bool {
    keys(section).contains(&key)
}

/// Notes a fault for each key of the map that is part of the format but has no effect yet.
pub(super) fn refuse(fields: &mut Fields<'_>, section: Section) {
    for key in keys(section) {
        if let Some(value) = fields.get(key) {
            value.fault("is not built yet");
        }
    }
}
