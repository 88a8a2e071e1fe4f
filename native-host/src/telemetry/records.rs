//! Usage records as OTLP logs: what the usage log has, field by field, in the body of a log record.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use opentelemetry::logs::{AnyValue, LogRecord as _, Logger as _, LoggerProvider as _, Severity};
use opentelemetry::trace::SpanContext;
use opentelemetry::{InstrumentationScope, Key};
use opentelemetry_otlp::LogExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::logs::{
    LogBatch, LogExporter as _, SdkLogRecord, SdkLogger, SdkLoggerProvider,
};
use serde_json::Value;

use super::batcher::{Batcher, Fate};
use super::settings::Destination;
use super::{exporter, semconv};
use crate::exits::Exits;
use crate::usage::UsageRecord;

/// A usage record, when its call ended, and the span it belongs to.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) record: UsageRecord,
    pub(crate) at: SystemTime,
    pub(crate) span: Option<SpanContext>,
}

/// Sends usage records.
#[derive(Debug)]
pub(crate) struct Records(Batcher<Entry>);

impl Records {
    /// Starts to export.
    ///
    /// # Errors
    /// A variable asks for what is not built.
    pub(crate) fn start(
        to: &Destination,
        exits: &Exits,
        (resource, scope): (&Resource, &InstrumentationScope),
        fate: Fate,
    ) -> Result<Self, String> {
        let mut exporter = exporter::logs(to, exits)?;
        exporter.set_resource(resource);
        // Only makes empty records: nothing is emitted through it.
        let logger = SdkLoggerProvider::builder().build().logger_with_scope(scope.clone());
        let shared = Arc::new((exporter, logger, scope.clone()));
        let export = move |batch| send(Arc::clone(&shared), batch);
        Ok(Self(Batcher::start(fate, to.timeout, export)))
    }

    /// Hands a record over, if there is room. Never waits.
    pub(crate) fn give(&self, entry: Entry) {
        self.0.give(entry);
    }

    /// Exports what is there, within `time`.
    pub(crate) async fn finish(&self, time: Duration) {
        self.0.finish(time).await;
    }
}

async fn send(
    shared: Arc<(LogExporter, SdkLogger, InstrumentationScope)>,
    batch: Vec<Entry>,
) -> Result<(), String> {
    let (exporter, logger, scope) = &*shared;
    let records: Vec<SdkLogRecord> = batch.iter().map(|entry| log_record(logger, entry)).collect();
    let records: Vec<_> = records.iter().map(|record| (record, scope)).collect();
    exporter.export(LogBatch::new(&records)).await.map_err(|error| error.to_string())
}

fn log_record(logger: &SdkLogger, entry: &Entry) -> SdkLogRecord {
    let mut log = logger.create_log_record();
    log.set_event_name(semconv::USAGE_EVENT);
    log.set_timestamp(entry.at);
    log.set_observed_timestamp(entry.at);
    log.set_severity_number(Severity::Info);
    // A record always has a form in JSON: it is a struct of texts, numbers and a map of texts.
    let fields = serde_json::to_value(&entry.record).unwrap_or_default();
    if let Some(body) = any_value(fields) {
        log.set_body(body);
    }
    if let Some(span) = &entry.span {
        log.set_trace_context(span.trace_id(), span.span_id(), Some(span.trace_flags()));
    }
    log
}

/// A value of JSON; `None` for null, which OTLP leaves out.
fn any_value(value: Value) -> Option<AnyValue> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(value) => AnyValue::Boolean(value),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => AnyValue::Int(whole),
            None => AnyValue::Double(number.as_f64()?),
        },
        Value::String(text) => AnyValue::String(text.into()),
        Value::Array(items) => {
            AnyValue::ListAny(Box::new(items.into_iter().filter_map(any_value).collect()))
        }
        Value::Object(fields) => {
            let field = |(name, value)| Some((Key::from(name), any_value(value)?));
            AnyValue::Map(Box::new(fields.into_iter().filter_map(field).collect()))
        }
    })
}
