//! Traces: one span for each call, and below it one for each attempt.
//!
//! A span is of the call's own task alone and goes to the exporter when it ends. Nothing a client or a
//! provider wrote goes into it but the names of models, and those cut short.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderMap;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt as _, TraceState,
    Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, InstrumentationScope, KeyValue};
use opentelemetry_http::{HeaderExtractor, HeaderInjector};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{
    Sampler, SdkTracer, SdkTracerProvider, Span, SpanData, SpanExporter as _, SpanProcessor,
};
use pointsman_core::{Propagate, Timestamp};

use super::batcher::{Batcher, Fate};
use super::exporter;
use super::settings::Destination;
use crate::exits::Exits;

/// Makes spans and hands them to the exporter.
#[derive(Debug)]
pub(crate) struct Traces {
    tracer: SdkTracer,
    spans: Arc<Batcher<SpanData>>,
    propagate: Propagate,
    /// Ends the tracer when dropped.
    _provider: SdkTracerProvider,
}

/// A span of a call or of an attempt.
#[derive(Debug)]
pub(crate) struct Open(Span);

impl Traces {
    /// Starts to export.
    ///
    /// # Errors
    /// A variable asks for what is not built.
    pub(crate) fn start(
        to: &Destination,
        exits: &Exits,
        sample: Option<f64>,
        propagate: Propagate,
        (resource, scope): (&Resource, &InstrumentationScope),
        fate: Fate,
    ) -> Result<Self, String> {
        let mut exporter = exporter::spans(to, exits)?;
        exporter.set_resource(resource);
        let exporter = Arc::new(exporter);
        let export = move |batch| {
            let exporter = Arc::clone(&exporter);
            async move { exporter.export(batch).await.map_err(|error| error.to_string()) }
        };
        let spans = Arc::new(Batcher::start(fate, to.timeout, export));
        let mut builder = SdkTracerProvider::builder()
            .with_resource(resource.clone())
            .with_span_processor(Queue(Arc::clone(&spans)));
        if let Some(share) = sample {
            let sampler = Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(share)));
            builder = builder.with_sampler(sampler);
        }
        let provider = builder.build();
        let tracer = provider.tracer_with_scope(scope.clone());
        Ok(Self { tracer, spans, propagate, _provider: provider })
    }

    /// The span of a call that began `at`, within its client's trace if it named one.
    pub(crate) fn call(
        &self,
        name: String,
        parent: Option<SpanContext>,
        at: Timestamp,
        attributes: Vec<KeyValue>,
    ) -> Open {
        self.open(name, SpanKind::Server, parent, at, attributes)
    }

    /// The span of an attempt that is made `at`.
    pub(crate) fn attempt(
        &self,
        name: String,
        call: &Open,
        at: Timestamp,
        attributes: Vec<KeyValue>,
    ) -> Open {
        let parent = Some(call.0.span_context().clone());
        self.open(name, SpanKind::Client, parent, at, attributes)
    }

    fn open(
        &self,
        name: String,
        kind: SpanKind,
        parent: Option<SpanContext>,
        at: Timestamp,
        attributes: Vec<KeyValue>,
    ) -> Open {
        let builder = SpanBuilder::from_name(name)
            .with_kind(kind)
            .with_start_time(system_time(at))
            .with_attributes(attributes);
        let context = match parent.map(|parent| self.without_words(parent)) {
            Some(parent) => Context::new().with_remote_span_context(parent),
            None => Context::new(),
        };
        Open(self.tracer.build_with_context(builder, &context))
    }

    /// A context without its `tracestate`, in which whoever called before may have written anything,
    /// unless that is to go on.
    fn without_words(&self, context: SpanContext) -> SpanContext {
        if self.propagate == Propagate::All {
            return context;
        }
        let (trace, span, flags) = (context.trace_id(), context.span_id(), context.trace_flags());
        SpanContext::new(trace, span, flags, context.is_remote(), TraceState::NONE)
    }

    /// The headers that tell a provider of an attempt's span.
    pub(crate) fn headers(&self, attempt: &Open) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if self.propagate == Propagate::None {
            return headers;
        }
        let context = Context::new().with_remote_span_context(attempt.0.span_context().clone());
        TraceContextPropagator::new().inject_context(&context, &mut HeaderInjector(&mut headers));
        if self.propagate == Propagate::Traceparent {
            headers.remove("tracestate");
        }
        headers
    }

    /// Exports what is there, within `time`.
    pub(crate) async fn finish(&self, time: Duration) {
        self.spans.finish(time).await;
    }
}

/// The trace that a client's request belongs to, if it says so.
pub(crate) fn parent(headers: &HeaderMap) -> Option<SpanContext> {
    headers.get("traceparent")?;
    let context = TraceContextPropagator::new().extract(&HeaderExtractor(headers));
    let parent = context.span().span_context().clone();
    parent.is_valid().then_some(parent)
}

impl Open {
    /// Whether what is set on it is seen by anybody.
    pub(crate) fn is_recorded(&self) -> bool {
        self.0.is_recording()
    }

    pub(crate) fn set(&mut self, attributes: impl IntoIterator<Item = KeyValue>) {
        self.0.set_attributes(attributes);
    }

    pub(crate) fn rename(&mut self, name: String) {
        self.0.update_name(name);
    }

    /// For records that belong to it.
    pub(crate) fn context(&self) -> SpanContext {
        self.0.span_context().clone()
    }

    /// It ends `at`; with `error`, badly.
    pub(crate) fn end(mut self, at: Timestamp, error: Option<&'static str>) {
        if let Some(error) = error {
            self.0.set_attribute(KeyValue::new(super::semconv::ERROR, error));
            self.0.set_status(Status::error(error));
        }
        self.0.end_with_timestamp(system_time(at));
    }
}

/// Hands spans that have ended to the batcher.
#[derive(Debug)]
struct Queue(Arc<Batcher<SpanData>>);

impl SpanProcessor for Queue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() {
            self.0.give(span);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// A time of ours as the SDK has it.
pub(crate) fn system_time(at: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(at.as_micros())
}
