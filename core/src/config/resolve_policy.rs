//! From policy keys to the policy in force: the nearest place that sets a key decides it.

use core::time::Duration;

use super::fault::Faults;
use super::policy::{BreakerConfig, PolicyConfig, RetryConfig, ThrottleConfig};
use crate::catalog::{
    BreakerPolicy, Policy, PolicyOverride, RetryBudgetPolicy, RetryPolicy, ThrottlePolicy,
    Timeouts, WaitPolicy,
};
use crate::failure::FailureKind;

impl Default for Policy {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            timeouts: Timeouts {
                connect: seconds(5),
                first_token: seconds(30),
                answer: seconds(180),
                idle: seconds(30),
                total: seconds(600),
                deadline: seconds(900),
            },
            retry: RetryPolicy {
                max_attempts: 4,
                retries: None,
                per_kind: [4; 16],
                backoff_base: Duration::from_millis(500),
                backoff_cap: seconds(8),
                longest_wait: seconds(20),
            },
            breaker: BreakerPolicy {
                consecutive: 3,
                failure_ppm: 250_000,
                min_calls: 10,
                window: seconds(30),
                open: seconds(2),
                max_open: seconds(25),
            },
            throttle: ThrottlePolicy { default: seconds(1), max: seconds(300) },
            wait: WaitPolicy { max: Duration::from_millis(1_500), queue: 1_000 },
            max_fallbacks: 2,
        }
    }
}

impl Default for RetryBudgetPolicy {
    fn default() -> Self {
        Self { ratio_ppm: 100_000, min_per_second: 3, burst: 30 }
    }
}

impl PolicyConfig {
    /// The policy of a group whose own keys these are; `outer` are the document's.
    pub(crate) fn resolve(&self, outer: &Self, faults: &Faults) -> Policy {
        let defaults = Policy::default();
        let (own, outside) = (&self.timeouts, &outer.timeouts);
        let policy = Policy {
            timeouts: Timeouts {
                connect: own.connect.or(outside.connect).unwrap_or(defaults.timeouts.connect),
                first_token: own
                    .first_token
                    .or(outside.first_token)
                    .unwrap_or(defaults.timeouts.first_token),
                answer: own.answer.or(outside.answer).unwrap_or(defaults.timeouts.answer),
                idle: own.idle.or(outside.idle).unwrap_or(defaults.timeouts.idle),
                total: own.total.or(outside.total).unwrap_or(defaults.timeouts.total),
                deadline: own.deadline.or(outside.deadline).unwrap_or(defaults.timeouts.deadline),
            },
            retry: self.retry.over(&outer.retry, &defaults.retry),
            breaker: self.breaker.over(outer.breaker.over(defaults.breaker)),
            throttle: self.throttle.over(outer.throttle.over(defaults.throttle)),
            wait: WaitPolicy {
                max: self.wait.max.or(outer.wait.max).unwrap_or(defaults.wait.max),
                queue: self.wait.queue.or(outer.wait.queue).unwrap_or(defaults.wait.queue),
            },
            max_fallbacks: self
                .max_fallbacks
                .or(outer.max_fallbacks)
                .unwrap_or(defaults.max_fallbacks),
        };
        self.check(&policy, faults);
        policy
    }

    /// The overrides of a deployment whose own keys these are. A breaker or throttle that sets only
    /// some keys has the others of the document's.
    pub(crate) fn overrides(&self, outer: &Self, faults: &Faults) -> PolicyOverride {
        let defaults = Policy::default();
        let breaker = self.breaker.over(outer.breaker.over(defaults.breaker));
        let throttle = self.throttle.over(outer.throttle.over(defaults.throttle));
        self.check(&Policy { breaker, throttle, ..defaults }, faults);
        PolicyOverride {
            connect: self.timeouts.connect,
            first_token: self.timeouts.first_token,
            answer: self.timeouts.answer,
            idle: self.timeouts.idle,
            total: self.timeouts.total,
            retries: self.retry.retries,
            probe_every: self.probe_every,
            breaker: (self.breaker != BreakerConfig::default()).then_some(breaker),
            throttle: (self.throttle != ThrottleConfig::default()).then_some(throttle),
        }
    }

    /// The retry budget, which is the document's alone.
    pub(crate) fn retry_budget(&self) -> RetryBudgetPolicy {
        let defaults = RetryBudgetPolicy::default();
        let retry = &self.retry;
        RetryBudgetPolicy {
            ratio_ppm: retry.budget_ratio_ppm.unwrap_or(defaults.ratio_ppm),
            min_per_second: retry.budget_min_per_second.unwrap_or(defaults.min_per_second),
            burst: retry.budget_burst.unwrap_or(defaults.burst),
        }
    }
}

impl PolicyConfig {
    /// Notes what contradicts itself once everything is filled in, in sections that stand here: a
    /// length of time that grows must not start beyond its longest.
    fn check(&self, policy: &Policy, faults: &Faults) {
        let Policy { retry, breaker, throttle, .. } = policy;
        let fault = |key, message: String| faults.add(&self.place.absent(key), message);
        if self.retry != RetryConfig::default() && retry.backoff_base > retry.backoff_cap {
            fault("retry", "has a `backoff.base` above its `cap`".into());
        }
        if self.breaker != BreakerConfig::default() && breaker.open > breaker.max_open {
            fault("breaker", "has an `open` above its `max_open`".into());
        }
        if self.throttle != ThrottleConfig::default() && throttle.default > throttle.max {
            fault("throttle", "has a `default` above its `max`".into());
        }
        let never = self.retry.never.iter().flatten();
        for kind in never.filter(|&&kind| self.retry.own_cap(kind).is_some()) {
            fault("retry", format!("has `{}` under `never` and `per_kind`", kind.name()));
        }
    }
}

impl RetryConfig {
    fn over(&self, outer: &Self, defaults: &RetryPolicy) -> RetryPolicy {
        let max_attempts =
            self.max_attempts.or(outer.max_attempts).unwrap_or(defaults.max_attempts);
        let allowed = |kind: FailureKind| {
            let outside = || match &self.never {
                // A list here stands in the place of the one outside.
                Some(_) => outer.own_cap(kind),
                None => outer.cap(kind),
            };
            self.cap(kind).or_else(outside).unwrap_or(max_attempts).min(max_attempts)
        };
        RetryPolicy {
            max_attempts,
            retries: self.retries.or(outer.retries).or(defaults.retries),
            per_kind: FailureKind::ALL.map(allowed),
            backoff_base: self.backoff_base.or(outer.backoff_base).unwrap_or(defaults.backoff_base),
            backoff_cap: self.backoff_cap.or(outer.backoff_cap).unwrap_or(defaults.backoff_cap),
            longest_wait: self.longest_wait.or(outer.longest_wait).unwrap_or(defaults.longest_wait),
        }
    }

    /// What these keys allow after a failure of a kind, if they say.
    fn cap(&self, kind: FailureKind) -> Option<u32> {
        let never = self.never.iter().flatten().any(|&never| never == kind);
        if never { Some(1) } else { self.own_cap(kind) }
    }

    fn own_cap(&self, kind: FailureKind) -> Option<u32> {
        self.per_kind.iter().find(|&&(named, _)| named == kind).map(|&(_, cap)| cap)
    }
}

impl BreakerConfig {
    fn over(self, outer: BreakerPolicy) -> BreakerPolicy {
        BreakerPolicy {
            consecutive: self.consecutive.unwrap_or(outer.consecutive),
            failure_ppm: self.failure_ppm.unwrap_or(outer.failure_ppm),
            min_calls: self.min_calls.unwrap_or(outer.min_calls),
            window: self.window.unwrap_or(outer.window),
            open: self.open.unwrap_or(outer.open),
            max_open: self.max_open.unwrap_or(outer.max_open),
        }
    }
}

impl ThrottleConfig {
    fn over(self, outer: ThrottlePolicy) -> ThrottlePolicy {
        ThrottlePolicy {
            default: self.default.unwrap_or(outer.default),
            max: self.max.unwrap_or(outer.max),
        }
    }
}
