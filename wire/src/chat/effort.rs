//! OpenAI's names for how hard a model is to think.

use crate::neutral::Effort;

/// What a name must be.
pub(crate) const EFFORTS: &str =
    "one of `none`, `minimal`, `low`, `medium`, `high`, `xhigh` and `max`";

pub(crate) fn read_effort(name: &str) -> Option<Effort> {
    Some(match name {
        "none" => Effort::None,
        "minimal" => Effort::Minimal,
        "low" => Effort::Low,
        "medium" => Effort::Medium,
        "high" => Effort::High,
        "xhigh" | "max" => Effort::Highest,
        _ => return None,
    })
}

/// The highest is `xhigh`, which more models know than `max`.
pub(crate) fn effort_name(effort: Effort) -> &'static str {
    match effort {
        Effort::None => "none",
        Effort::Minimal => "minimal",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Highest => "xhigh",
    }
}
