//! The exporters: OpenTelemetry's own for OTLP, sending over our connections.

use std::fmt;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CONTENT_ENCODING, HeaderValue};
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{
    LogExporter, MetricExporter, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use tokio::runtime::Handle;

use super::settings::Destination;
use crate::dial::Connector;
use crate::exits::Exits;
use crate::pool::Pool;
use crate::source::Source;

const CONNECT: Duration = Duration::from_secs(5);
/// The largest answer of a collector, in bytes.
const MAX_ANSWER: usize = 64 * 1024;

/// Sends exports from whatever thread.
struct Sender {
    pool: Arc<Pool>,
    timeout: Duration,
    gzip: bool,
    runtime: Handle,
}

impl Sender {
    fn new(to: &Destination, exits: &Exits) -> Result<Self, String> {
        let connector = Connector::new(&exits.to(&to.address))?;
        let pool = Pool::new(to.address.clone(), connector);
        Ok(Self { pool, timeout: to.timeout, gzip: to.gzip, runtime: Handle::current() })
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

#[async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (pool, timeout) = (Arc::clone(&self.pool), self.timeout);
        let request = if self.gzip { compressed(request)? } else { request };
        let exchange = async move { tokio::time::timeout(timeout, exchange(&pool, request)).await };
        // The SDK exports metrics from a thread without a runtime.
        match self.runtime.spawn(exchange).await {
            Ok(Ok(answer)) => Ok(answer?),
            Ok(Err(_)) => Err(format!("no answer within {timeout:?}").into()),
            Err(_) => Err("the export was cut short".into()),
        }
    }
}

fn compressed(request: Request<Bytes>) -> Result<Request<Bytes>, HttpError> {
    let (mut head, body) = request.into_parts();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&body)?;
    head.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    Ok(Request::from_parts(head, encoder.finish()?.into()))
}

async fn exchange(pool: &Arc<Pool>, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
    let sent = pool.send(|| Ok(request.clone()), CONNECT).await;
    let (response, lease) = sent.map_err(|error| error.detail)?;
    let (head, body) = response.into_parts();
    let mut source = Source::Http { body, lease: Some(lease), gunzip: None };
    let body = source.whole(MAX_ANSWER, &mut false).await?;
    Ok(Response::from_parts(head, body))
}

/// Sends spans.
///
/// # Errors
/// A variable asks for what is not built.
pub(crate) fn spans(to: &Destination, exits: &Exits) -> Result<SpanExporter, String> {
    let builder = SpanExporter::builder().with_http();
    let builder = builder.with_http_client(Sender::new(to, exits)?);
    let builder = builder.with_endpoint(to.address.to_string()).with_timeout(to.timeout);
    let built = builder.with_headers(to.headers.clone()).build();
    built.map_err(|error| format!("traces cannot be exported: {error}"))
}

/// Sends metrics.
///
/// # Errors
/// A variable asks for what is not built.
pub(crate) fn metrics(to: &Destination, exits: &Exits) -> Result<MetricExporter, String> {
    let builder = MetricExporter::builder().with_http();
    let builder = builder.with_http_client(Sender::new(to, exits)?);
    let builder = builder.with_endpoint(to.address.to_string()).with_timeout(to.timeout);
    let built = builder.with_headers(to.headers.clone()).build();
    built.map_err(|error| format!("metrics cannot be exported: {error}"))
}

/// Sends log records.
///
/// # Errors
/// A variable asks for what is not built.
pub(crate) fn logs(to: &Destination, exits: &Exits) -> Result<LogExporter, String> {
    let builder = LogExporter::builder().with_http();
    let builder = builder.with_http_client(Sender::new(to, exits)?);
    let builder = builder.with_endpoint(to.address.to_string()).with_timeout(to.timeout);
    let built = builder.with_headers(to.headers.clone()).build();
    built.map_err(|error| format!("usage records cannot be exported: {error}"))
}
