//! Metrics for backends that take OTLP. The metrics page is the primary place: it has everything.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use opentelemetry::metrics::{Histogram, MeterProvider as _};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::MetricExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider, Temporality};
use pointsman_core::Usage;

use super::batcher::Fate;
use super::exporter;
use super::semconv::{self, Names};
use super::settings::Destination;
use crate::exits::Exits;

/// What is measured of attempts.
#[derive(Debug)]
pub(crate) struct Instruments {
    duration: Histogram<f64>,
    tokens: Histogram<u64>,
    first_chunk: Option<Histogram<f64>>,
    provider: Mutex<Option<SdkMeterProvider>>,
}

/// An attempt that has ended.
#[derive(Debug)]
pub(crate) struct Measured {
    /// Who was asked for what; every value is from the configuration or a closed list.
    pub(crate) attributes: Vec<KeyValue>,
    pub(crate) took: Duration,
    /// To the first content of a stream.
    pub(crate) first_chunk: Option<Duration>,
    /// What it used, if it had an answer.
    pub(crate) usage: Option<Usage>,
    pub(crate) error: Option<&'static str>,
}

impl Instruments {
    /// Starts to export, as often as `OTEL_METRIC_EXPORT_INTERVAL` says (once a minute).
    ///
    /// # Errors
    /// A variable asks for what is not built.
    pub(crate) fn start(
        to: &Destination,
        exits: &Exits,
        names: &Names,
        (resource, scope): (&Resource, &InstrumentationScope),
        fate: Fate,
    ) -> Result<Self, String> {
        let exporter = Counted { exporter: exporter::metrics(to, exits)?, fate };
        let provider = SdkMeterProvider::builder()
            .with_resource(resource.clone())
            .with_reader(PeriodicReader::builder(exporter).build())
            .build();
        let meter = provider.meter_with_scope(scope.clone());
        let seconds = |name: &'static str, what: &'static str| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(what);
            histogram.with_boundaries(semconv::SECONDS.to_vec()).build()
        };
        Ok(Self {
            duration: seconds(semconv::OPERATION_DURATION, "GenAI operation duration"),
            first_chunk: names
                .first_chunk_metric
                .map(|name| seconds(name, "From asking to the first content of a stream")),
            tokens: meter
                .u64_histogram(semconv::TOKEN_USAGE)
                .with_unit("{token}")
                .with_description("Input and output tokens used")
                .with_boundaries(semconv::TOKENS.to_vec())
                .build(),
            provider: Mutex::new(Some(provider)),
        })
    }

    /// An attempt has ended.
    pub(crate) fn record(&self, measured: &Measured) {
        let mut attributes = measured.attributes.clone();
        if let (Some(histogram), Some(after)) = (&self.first_chunk, measured.first_chunk) {
            histogram.record(after.as_secs_f64(), &attributes);
        }
        if let Some(usage) = measured.usage {
            for (kind, count) in [("input", usage.input), ("output", usage.output)] {
                attributes.push(KeyValue::new(semconv::TOKEN_TYPE, kind));
                self.tokens.record(count, &attributes);
                attributes.pop();
            }
        }
        if let Some(error) = measured.error {
            attributes.push(KeyValue::new(semconv::ERROR, error));
        }
        self.duration.record(measured.took.as_secs_f64(), &attributes);
    }

    /// Exports what is there, within `time`.
    pub(crate) async fn finish(&self, time: Duration) {
        let provider = self.provider.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(provider) = provider else { return };
        // The SDK blocks the thread that ends it, for as long as the collector takes: a thread of its
        // own, which the end of the process does not wait for.
        let (done, told) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            // What is not exported is counted there.
            let _ = provider.shutdown_with_timeout(time);
            let _ = done.send(());
        });
        if tokio::time::timeout(time, told).await.is_err() {
            tracing::warn!("the collector did not take the last metrics in time");
        }
    }
}

/// Counts exports.
#[derive(Debug)]
struct Counted {
    exporter: MetricExporter,
    fate: Fate,
}

impl PushMetricExporter for Counted {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let result = self.exporter.export(metrics).await;
        match &result {
            Ok(()) => self.fate.sent.inc(),
            // The next one has these counts too: they are late, unless it is the last.
            Err(_) => self.fate.lost.inc(),
        };
        result
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.exporter.temporality()
    }
}
