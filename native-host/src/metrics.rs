//! What is counted and measured. Every label is a name from the configuration or a word of a closed
//! list, so the number of series is bounded.

mod gauges;

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use pointsman_core::Usage;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

pub(crate) use gauges::{Gauges, gate_name};

type Name = Arc<str>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    group: Name,
    outcome: &'static str,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AttemptLabels {
    deployment: Name,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabels {
    deployment: Name,
    class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GroupLabels {
    group: Name,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DeploymentLabels {
    deployment: Name,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WhyLabels {
    why: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StepLabels {
    to: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OwnerLabels {
    owner: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FailoverLabels {
    from: Name,
    to: Name,
    why: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SignalLabels {
    signal: &'static str,
    result: &'static str,
}

/// All metrics, and the registry that writes them out.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    attempts: Family<AttemptLabels, Counter>,
    tokens: Family<TokenLabels, Counter>,
    searches: Family<DeploymentLabels, Counter>,
    first_content: Family<GroupLabels, Histogram, fn() -> Histogram>,
    total: Family<GroupLabels, Histogram, fn() -> Histogram>,
    overhead: Histogram,
    tasks: Gauge,
    config_revision: Gauge,
    turned_away: Family<WhyLabels, Counter>,
    usage_records: Family<ResultLabels, Counter>,
    store_writes: Family<ResultLabels, Counter>,
    budget_alerts: Family<OwnerLabels, Counter>,
    probes: Family<AttemptLabels, Counter>,
    failovers: Family<FailoverLabels, Counter>,
    telemetry: Family<SignalLabels, Counter>,
    reloads: Family<ResultLabels, Counter>,
    retries: Family<StepLabels, Counter>,
    waits: Family<WhyLabels, Histogram, fn() -> Histogram>,
    cost: Family<GroupLabels, Counter<f64, AtomicU64>>,
    unpriced: Family<GroupLabels, Counter>,
    attempt_duration: Family<DeploymentLabels, Histogram, fn() -> Histogram>,
    attempt_first_content: Family<DeploymentLabels, Histogram, fn() -> Histogram>,
    alerts_sent: Family<ResultLabels, Counter>,
    inputs_counted: Family<ResultLabels, Counter>,
    pub(crate) gauges: Gauges,
}

const SECONDS: [f64; 14] =
    [0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 20.0, 40.0, 90.0, 300.0];
const OVERHEAD: [f64; 9] = [0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.1];

fn seconds() -> Histogram {
    Histogram::new(SECONDS)
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("pointsman"),
            calls: Family::default(),
            attempts: Family::default(),
            tokens: Family::default(),
            searches: Family::default(),
            first_content: Family::new_with_constructor(seconds),
            total: Family::new_with_constructor(seconds),
            overhead: Histogram::new(OVERHEAD),
            tasks: Gauge::default(),
            config_revision: Gauge::default(),
            turned_away: Family::default(),
            usage_records: Family::default(),
            store_writes: Family::default(),
            budget_alerts: Family::default(),
            probes: Family::default(),
            failovers: Family::default(),
            telemetry: Family::default(),
            reloads: Family::default(),
            retries: Family::default(),
            waits: Family::new_with_constructor(seconds),
            cost: Family::default(),
            unpriced: Family::default(),
            attempt_duration: Family::new_with_constructor(seconds),
            attempt_first_content: Family::new_with_constructor(seconds),
            alerts_sent: Family::default(),
            inputs_counted: Family::default(),
            gauges: Gauges::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let to = &mut self.registry;
        to.register("calls", "Calls ended, by how the client saw them end", self.calls.clone());
        to.register("attempts", "Attempts ended, by what became of them", self.attempts.clone());
        to.register("tokens", "Tokens used, by class", self.tokens.clone());
        let help = "Searches of the web that providers made";
        to.register("searches", help, self.searches.clone());
        let help = "From the call's arrival to its first content";
        let first = self.first_content.clone();
        to.register_with_unit("first_content", help, Unit::Seconds, first);
        let help = "From the call's arrival to its end";
        to.register_with_unit("call_duration", help, Unit::Seconds, self.total.clone());
        let help = "From having the request to asking the first upstream";
        to.register_with_unit("overhead", help, Unit::Seconds, self.overhead.clone());
        let help = "Tasks under way: of calls, of connections at either side, and our own";
        to.register("tasks", help, self.tasks.clone());
        let help = "The number of the configuration in force since the start";
        to.register("config_revision", help, self.config_revision.clone());
        let help = "Requests that were not let in, by what was wrong with their key";
        to.register("turned_away", help, self.turned_away.clone());
        let help = "Lines of the usage log, written, or lost for want of room or disk";
        to.register("usage_records", help, self.usage_records.clone());
        let help =
            "Transactions of the store: while they fail, a restart loses what is spent since";
        to.register("store_writes", help, self.store_writes.clone());
        let help = "Times that a budget has crossed its soft limit, once a window";
        to.register("budget_alerts", help, self.budget_alerts.clone());
        to.register("reloads", "Configs loaded again, or not, for a fault", self.reloads.clone());
        let help = "Calls that went on at another deployment, by group and the failure before";
        to.register("failovers", help, self.failovers.clone());
        let help =
            "Spans, usage records and exports of metrics, sent, or lost for want of a collector";
        to.register("telemetry_items", help, self.telemetry.clone());
        let help = "Attempts after a call's first, by where they went";
        to.register("retries", help, self.retries.clone());
        let help = "How long calls waited, by what for";
        to.register_with_unit("wait", help, Unit::Seconds, self.waits.clone());
        let help = "What calls cost, in US dollars, where all they used has a price";
        to.register("cost_usd", help, self.cost.clone());
        let help = "Calls that used something without a price";
        to.register("unpriced_calls", help, self.unpriced.clone());
        let help = "From asking to the end of the answer, or to the failure";
        let durations = self.attempt_duration.clone();
        to.register_with_unit("attempt_duration", help, Unit::Seconds, durations);
        let help = "From asking to the first content";
        let first = self.attempt_first_content.clone();
        to.register_with_unit("attempt_first_content", help, Unit::Seconds, first);
        let help = "Webhook calls about budgets, sent, or lost for want of an answer or of room";
        to.register("budget_alert_deliveries", help, self.alerts_sent.clone());
        let help = "Inputs that were to be counted, and what came of it";
        to.register("inputs_counted", help, self.inputs_counted.clone());
        self.gauges.register(to);
        to.register("probes", "Active probes, by what they found", self.probes.clone());
    }

    /// A call has ended.
    pub(crate) fn call(&self, group: &Name, outcome: &'static str, status: u16, took: Duration) {
        let labels = CallLabels { group: Arc::clone(group), outcome, status };
        self.calls.get_or_create(&labels).inc();
        let labels = GroupLabels { group: Arc::clone(group) };
        self.total.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// A call has its first content.
    pub(crate) fn first_content(&self, group: &Name, after: Duration) {
        let labels = GroupLabels { group: Arc::clone(group) };
        self.first_content.get_or_create(&labels).observe(after.as_secs_f64());
    }

    /// The first attempt of a call is about to be sent.
    pub(crate) fn overhead(&self, took: Duration) {
        self.overhead.observe(took.as_secs_f64());
    }

    /// An attempt is made after a call's first.
    pub(crate) fn retry(&self, to: &'static str) {
        self.retries.get_or_create(&StepLabels { to }).inc();
    }

    /// A call has waited.
    pub(crate) fn waited(&self, why: &'static str, length: Duration) {
        self.waits.get_or_create(&WhyLabels { why }).observe(length.as_secs_f64());
    }

    /// What a call cost, in billionths of a dollar; `None` if something it used has no price.
    pub(crate) fn cost(&self, group: &Name, nano_usd: Option<u64>) {
        let labels = GroupLabels { group: Arc::clone(group) };
        match nano_usd {
            Some(0) => {}
            Some(cost) => _ = self.cost.get_or_create(&labels).inc_by(cost as f64 / 1e9),
            None => _ = self.unpriced.get_or_create(&labels).inc(),
        }
    }

    /// How long an attempt took, and its first content.
    pub(crate) fn attempt_took(&self, deployment: &Name, all: Duration, first: Option<Duration>) {
        let labels = DeploymentLabels { deployment: Arc::clone(deployment) };
        self.attempt_duration.get_or_create(&labels).observe(all.as_secs_f64());
        if let Some(first) = first {
            self.attempt_first_content.get_or_create(&labels).observe(first.as_secs_f64());
        }
    }

    /// The counters of webhook calls that were answered, and of those that were not.
    pub(crate) fn alert_deliveries(&self) -> (Counter, Counter) {
        let counter = |result| self.alerts_sent.get_or_create_owned(&ResultLabels { result });
        (counter("sent"), counter("lost"))
    }

    /// An input was to be counted: `counted`, or why it is estimated.
    pub(crate) fn counted(&self, result: &'static str) {
        self.inputs_counted.get_or_create(&ResultLabels { result }).inc();
    }

    /// An attempt has ended: `ok`, or the failure's kind.
    pub(crate) fn attempt(&self, deployment: &Name, result: &'static str) {
        let labels = AttemptLabels { deployment: Arc::clone(deployment), result };
        self.attempts.get_or_create(&labels).inc();
    }

    /// Tokens that a deployment is reckoned to have used, and the searches that its provider made.
    pub(crate) fn tokens(&self, deployment: &Name, usage: &Usage) {
        let classes = [
            ("input", usage.input),
            ("cached_input", usage.cached_input),
            ("cache_write", usage.cache_write),
            ("output", usage.output),
            ("reasoning", usage.reasoning),
        ];
        for (class, count) in classes.into_iter().filter(|(_, count)| *count > 0) {
            let labels = TokenLabels { deployment: Arc::clone(deployment), class };
            self.tokens.get_or_create(&labels).inc_by(count);
        }
        if usage.searches > 0 {
            let labels = DeploymentLabels { deployment: Arc::clone(deployment) };
            self.searches.get_or_create(&labels).inc_by(usage.searches);
        }
    }

    /// Tasks under way, read when somebody asks.
    pub(crate) fn tasks(&self, alive: usize) {
        self.tasks.set(i64::try_from(alive).unwrap_or(i64::MAX));
    }

    /// The number of the configuration in force, read when somebody asks.
    pub(crate) fn config_revision(&self, number: u64) {
        self.config_revision.set(i64::try_from(number).unwrap_or(i64::MAX));
    }

    /// A request was not let in, for want of a key or of the right one.
    pub(crate) fn turned_away(&self, why: &'static str) {
        self.turned_away.get_or_create(&WhyLabels { why }).inc();
    }

    /// The counters of usage records that are written, and of those that are lost.
    pub(crate) fn usage_records(&self) -> (Counter, Counter) {
        let counter = |result| self.usage_records.get_or_create_owned(&ResultLabels { result });
        (counter("written"), counter("lost"))
    }

    /// The counters of what is exported of a signal, and of what is lost.
    pub(crate) fn telemetry(&self, signal: &'static str) -> (Counter, Counter) {
        let counter = |result| self.telemetry.get_or_create_owned(&SignalLabels { signal, result });
        (counter("sent"), counter("lost"))
    }

    /// A call goes on at another deployment.
    pub(crate) fn failover(&self, from: &Name, to: &Name, why: &'static str) {
        let labels = FailoverLabels { from: Arc::clone(from), to: Arc::clone(to), why };
        self.failovers.get_or_create(&labels).inc();
    }

    /// The store was written (`ok`), could not be (`failed`), or had it all (`idle`).
    pub(crate) fn store_write(&self, result: &'static str) {
        self.store_writes.get_or_create(&ResultLabels { result }).inc();
    }

    /// A budget has crossed its soft limit.
    pub(crate) fn budget_alert(&self, owner: &str) {
        self.budget_alerts.get_or_create(&OwnerLabels { owner: owner.to_owned() }).inc();
    }

    /// An active probe found its deployment `up` or `down`.
    pub(crate) fn probe(&self, deployment: &Name, result: &'static str) {
        let labels = AttemptLabels { deployment: Arc::clone(deployment), result };
        self.probes.get_or_create(&labels).inc();
    }

    /// Another config came into force (`ok`), or did not (`failed`).
    pub(crate) fn reload(&self, result: &'static str) {
        self.reloads.get_or_create(&ResultLabels { result }).inc();
    }

    /// Everything in the text format.
    pub(crate) fn render(&self) -> String {
        let mut page = String::new();
        if text::encode(&mut page, &self.registry).is_err() {
            // Writing to a string does not fail; if it did, an empty page would look healthy.
            page.clear();
            let _ = write!(page, "# the metrics could not be written");
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_what_was_counted() {
        let metrics = Metrics::new();
        let group: Name = "chat".into();
        metrics.call(&group, "served", 200, Duration::from_secs(1));
        metrics.attempt(&"east".into(), "rate_limited");
        metrics.tokens(&"east".into(), &Usage { output: 7, searches: 2, ..Usage::default() });
        let page = metrics.render();
        for line in [
            r#"pointsman_calls_total{group="chat",outcome="served",status="200"} 1"#,
            r#"pointsman_attempts_total{deployment="east",result="rate_limited"} 1"#,
            r#"pointsman_tokens_total{deployment="east",class="output"} 7"#,
            r#"pointsman_searches_total{deployment="east"} 2"#,
        ] {
            assert!(page.contains(line), "{line} is not in\n{page}");
        }
    }

    /// One series of everything.
    fn touched() -> Metrics {
        let (metrics, second) = (Metrics::new(), Duration::from_secs(1));
        let name: Name = "x".into();
        let usage = Usage { output: 7, searches: 1, ..Usage::default() };
        metrics.call(&name, "served", 200, second);
        metrics.first_content(&name, second);
        metrics.attempt(&name, "ok");
        metrics.attempt_took(&name, second, Some(second));
        metrics.tokens(&name, &usage);
        metrics.cost(&name, Some(1));
        metrics.cost(&name, None);
        metrics.retry("fallback");
        metrics.failover(&name, &name, "server");
        metrics.waited("capacity", second);
        metrics.turned_away("no_key");
        metrics.budget_alert("key x");
        metrics.probe(&name, "up");
        metrics.reload("ok");
        metrics.store_write("ok");
        metrics.counted("counted");
        let _ = (metrics.usage_records(), metrics.telemetry("traces"), metrics.alert_deliveries());
        metrics.gauges.touch();
        metrics
    }

    /// Name, type and labels of what a page has, as a row of the table in the documentation begins.
    fn rows(page: &str) -> Vec<String> {
        let mut rows = Vec::new();
        for line in page.lines() {
            let Some((name, kind)) =
                line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
            else {
                continue;
            };
            let series = page.lines().find(|line| {
                let rest = line.strip_prefix(name).unwrap_or("#");
                !line.starts_with('#') && (rest.starts_with(['{', ' ', '_']))
            });
            let labels = series.and_then(|series| series.split_once('{')).map(|(_, rest)| rest);
            let labels = labels.into_iter().flat_map(|labels| labels.split("=\""));
            let labels = labels.filter_map(|part| part.rsplit(['"', ',', '{']).next());
            let labels = labels.filter(|label| label.chars().all(|c| c.is_ascii_lowercase()));
            let labels: Vec<String> =
                labels.filter(|l| !l.is_empty() && *l != "le").map(|l| format!("`{l}`")).collect();
            let total = if kind == "counter" { "_total" } else { "" };
            rows.push(format!("| `{name}{total}` | {kind} | {} |", labels.join(", ")));
        }
        rows.sort();
        rows
    }

    #[test]
    fn every_metric_is_in_the_documentation_with_its_labels() {
        let document = include_str!("../../docs/observability.md");
        let mut written: Vec<String> = document
            .lines()
            .filter(|line| line.starts_with("| `pointsman_"))
            .map(|line| line.split('|').take(4).collect::<Vec<_>>().join("|") + "|")
            .collect();
        written.sort();
        assert_eq!(rows(&touched().render()), written);
    }
}
