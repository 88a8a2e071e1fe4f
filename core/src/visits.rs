//! The groups that are open to a call, in the order in which one pass looks at them: its own, then
//! its lists, breadth first, each group once. That also ends any cycle of fallbacks.

use crate::call::{Call, Path};
use crate::id::GroupId;
use crate::inline::Inline;
use crate::walk::Walk;

/// Groups looked at in one pass, at most.
const MOST_GROUPS: usize = 32;

/// One group of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) group: GroupId,
    /// It stands in a list for larger windows, where an unknown window passes.
    pub(crate) for_context: bool,
}

/// The groups of a pass, in order; grows as groups are looked at and found empty.
pub(crate) struct Visits {
    order: Inline<Visit, MOST_GROUPS>,
    next: usize,
    /// Whether those count in which the call may make no more attempts.
    spent: bool,
}

impl Visits {
    pub(crate) fn of(call: &Call) -> Self {
        let mut order = Inline::new();
        if let Some(group) = call.route.origin {
            order.push(Visit { group, for_context: false });
        }
        Self { order, next: 0, spent: false }
    }

    /// All that a new call would have open, besides.
    pub(crate) fn for_another(call: &Call) -> Self {
        Self { spent: true, ..Self::of(call) }
    }

    /// The next group to look at. `small_window`: the group before had a member whose window was
    /// too small, which opens its `context_fallbacks` too.
    pub(crate) fn next(
        &mut self,
        walk: &Walk<'_>,
        call: &Call,
        small_window: bool,
    ) -> Option<Visit> {
        if let Some(before) = self.next.checked_sub(1).and_then(|index| self.order.get(index)) {
            self.grow(walk, before.group, call, small_window);
        }
        loop {
            let visit = self.order.get(self.next)?;
            self.next += 1;
            if self.open(walk, call, visit) {
                return Some(visit);
            }
            self.grow(walk, visit.group, call, false);
        }
    }

    fn open(&self, walk: &Walk<'_>, call: &Call, visit: Visit) -> bool {
        let Some(origin) = call.route.origin else { return false };
        if !self.spent && call.route.spent.contains(visit.group) {
            return false;
        }
        if visit.group == origin {
            return call.route.path != Path::Content;
        }
        let most = walk.catalog.group(origin).policy.max_fallbacks;
        call.route.attempts.contains(visit.group) || call.route.fallback_count < most
    }

    fn grow(&mut self, walk: &Walk<'_>, group: GroupId, call: &Call, small_window: bool) {
        if call.request.prefer.as_ref().is_some_and(|prefer| !prefer.allow_fallbacks) {
            return;
        }
        let fallbacks = walk.catalog.fallbacks(call.request.caller, group);
        let group = walk.catalog.group(group);
        match call.route.path {
            Path::Content => self.add(&group.content_fallbacks, false),
            Path::Context => {
                self.add(&group.context_fallbacks, true);
                self.add(fallbacks, false);
            }
            Path::General => {
                if small_window {
                    self.add(&group.context_fallbacks, true);
                }
                self.add(fallbacks, false);
            }
        }
    }

    fn add(&mut self, groups: &[GroupId], for_context: bool) {
        for group in groups {
            if !self.order.iter().any(|visit| visit.group == *group) {
                self.order.push(Visit { group: *group, for_context });
            }
        }
    }
}
