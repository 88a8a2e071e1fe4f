//! OpenTelemetry: traces, metrics and usage records, exported over OTLP.
//!
//! All of it is behind the path of the requests: what is handed over never waits, what finds no room or is
//! not taken by the collector is lost, counted in `pointsman_telemetry_items_total` and warned of.

mod batcher;
mod exporter;
mod instruments;
mod records;
pub(crate) mod semconv;
mod settings;
mod spans;

use std::time::Duration;

use opentelemetry::trace::SpanContext;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::Resource;
use pointsman_core::Config;

use crate::exits::{Exits, variable};
use crate::metrics::Metrics;
use crate::usage::UsageRecord;
use batcher::Fate;
pub(crate) use instruments::{Instruments, Measured};
use records::{Entry, Records};
use semconv::Names;
pub(crate) use spans::{Open, Traces, parent, system_time};

/// What is exported.
#[derive(Debug)]
pub(crate) struct Telemetry {
    pub(crate) traces: Option<Traces>,
    pub(crate) instruments: Option<Instruments>,
    usage: Option<Records>,
    pub(crate) names: &'static Names,
}

impl Telemetry {
    /// Starts to export what the configuration and the standard variables ask for; `None` if that is
    /// nothing. `run` names this process.
    ///
    /// # Errors
    /// Something asked for is not built, or an address is none; the text says what to change.
    pub(crate) fn start(
        config: &Config,
        exits: &Exits,
        metrics: &Metrics,
        run: &str,
    ) -> Result<Option<Self>, String> {
        let Some(settings) = settings::read(config, &variable)? else { return Ok(None) };
        let names = semconv::names(settings.semconv);
        let resource = resource(run);
        let scope = InstrumentationScope::builder("pointsman")
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_schema_url(names.schema_url)
            .build();
        let named = (&resource, &scope);
        let fate = |signal| {
            let (sent, lost) = metrics.telemetry(signal);
            Fate { signal, sent, lost }
        };
        let (sample, propagate) = (settings.sample, settings.propagate);
        let traces = settings.traces.as_ref().map(|to| {
            tracing::info!(to = %to.address, "traces are exported");
            Traces::start(to, exits, sample, propagate, named, fate("traces"))
        });
        let instruments = settings.metrics.as_ref().map(|to| {
            tracing::info!(to = %to.address, "metrics are exported");
            Instruments::start(to, exits, names, named, fate("metrics"))
        });
        let usage = settings.usage.as_ref().map(|to| {
            tracing::info!(to = %to.address, "usage records are exported");
            Records::start(to, exits, named, fate("usage"))
        });
        Ok(Some(Self {
            traces: traces.transpose()?,
            instruments: instruments.transpose()?,
            usage: usage.transpose()?,
            names,
        }))
    }

    /// Whether usage records are wanted.
    pub(crate) const fn wants_usage(&self) -> bool {
        self.usage.is_some()
    }

    /// Hands a usage record over, with the span of its call.
    pub(crate) fn usage(
        &self,
        record: UsageRecord,
        at: std::time::SystemTime,
        span: Option<SpanContext>,
    ) {
        if let Some(usage) = &self.usage {
            usage.give(Entry { record, at, span });
        }
    }

    /// Exports what is there, within `time`.
    pub(crate) async fn finish(&self, time: Duration) {
        let traces = async {
            if let Some(traces) = &self.traces {
                traces.finish(time).await;
            }
        };
        let metrics = async {
            if let Some(instruments) = &self.instruments {
                instruments.finish(time).await;
            }
        };
        let usage = async {
            if let Some(usage) = &self.usage {
                usage.finish(time).await;
            }
        };
        tokio::join!(traces, metrics, usage);
    }
}

/// Who exports: `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` go before our own words.
fn resource(run: &str) -> Resource {
    let named = Resource::builder().build();
    let ours = [
        ("service.name", "pointsman"),
        ("service.version", env!("CARGO_PKG_VERSION")),
        ("service.instance.id", run),
    ];
    let absent = |name: &'static str| {
        named.get(&name.into()).is_none_or(|value| value.as_str().starts_with("unknown_service"))
    };
    let ours = ours.into_iter().filter(|(name, _)| absent(name));
    let ours = ours.map(|(name, value)| KeyValue::new(name, value.to_owned()));
    Resource::builder().with_attributes(ours).build()
}
