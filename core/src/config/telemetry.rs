//! `telemetry`: where traces, metrics and usage records go, and `metering.alerts`: who is told of a
//! budget. Only hosts act on either.

use super::header::is_header_text;
use super::provider::{address, headers};
use super::reader::Value;
use super::secret::{Secret, Secrets};

/// Where what is observed is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Telemetry {
    /// A collector that speaks OTLP, if the document names one or says how to use it.
    pub otlp: Option<Otlp>,
}

/// How to export over OTLP. What is absent, the standard `OTEL_*` variables may say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Otlp {
    /// The collector's base address; each signal has its path below it (`/v1/traces`).
    pub endpoint: Option<String>,
    /// Headers sent with every export. A value may be a secret.
    pub headers: Vec<(String, Secret)>,
    /// How exports are compressed.
    pub compression: Option<Compression>,
    /// What is exported; all of it if absent.
    pub signals: Option<Vec<Signal>>,
    /// The share of the traces that begin here which is recorded, in parts per million. A client's
    /// own decision goes before it.
    pub sample_ppm: Option<u32>,
    /// What of a trace's context goes on to providers.
    pub propagate: Propagate,
    /// By which version of the conventions attributes and metrics are named.
    pub semconv: Semconv,
}

/// How what is exported is compressed on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// With gzip.
    Gzip,
}

/// One kind of what is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A span for each call, and one for each attempt.
    Traces,
    /// Durations and tokens.
    Metrics,
    /// A log record for each call: its usage record.
    Usage,
}

/// What of the W3C trace context is sent to providers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Propagate {
    /// Nothing.
    None,
    /// `traceparent`: numbers without a meaning to others.
    #[default]
    Traceparent,
    /// `tracestate` too, in which whoever called before us may have written anything.
    All,
}

/// A version of OpenTelemetry's semantic conventions for generative AI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Semconv {
    /// 1.36.0: the last with `gen_ai.system`.
    V1_36,
    /// 1.41.0: `gen_ai.provider.name`, the tokens of caches, time to the first chunk.
    #[default]
    V1_41,
}

/// Whom a host tells when a budget crosses its soft limit, besides the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alerts {
    /// The address that gets a POST. It may be a secret itself.
    pub webhook: Secret,
    /// What the message is signed with.
    pub secret: Option<Secret>,
}

impl Telemetry {
    pub(crate) fn read(value: &Value<'_>, secrets: Secrets<'_>) -> Self {
        value.fields(|map| Self { otlp: map.get("otlp").map(|otlp| Otlp::read(&otlp, secrets)) })
    }
}

impl Otlp {
    fn read(value: &Value<'_>, secrets: Secrets<'_>) -> Self {
        let propagate = [
            ("none", Propagate::None),
            ("traceparent", Propagate::Traceparent),
            ("all", Propagate::All),
        ];
        let compression = [("none", Compression::None), ("gzip", Compression::Gzip)];
        let semconv = [("v1.36", Semconv::V1_36), ("v1.41", Semconv::V1_41)];
        value.fields(|map| Self {
            endpoint: map.read("endpoint", |endpoint| {
                address(&endpoint.text()?, "headers").map_err(|fault| endpoint.fault(fault)).ok()
            }),
            headers: map.get("headers").map(|all| headers(&all, secrets)).unwrap_or_default(),
            compression: map.read("compression", |word| word.choice("compression", &compression)),
            signals: map.read("signals", signals),
            sample_ppm: map.read("sample", Value::ppm),
            propagate: map
                .read("propagate", |word| word.choice("part of the context", &propagate))
                .unwrap_or_default(),
            semconv: map
                .read("semconv", |word| word.choice("version of the conventions", &semconv))
                .unwrap_or_default(),
        })
    }
}

fn signals(value: &Value<'_>) -> Option<Vec<Signal>> {
    let words =
        [("traces", Signal::Traces), ("metrics", Signal::Metrics), ("usage", Signal::Usage)];
    let signals = value.list(|word| word.choice("signal", &words))?;
    if value.is_empty() {
        value.fault("names nothing to export; leave `otlp` out instead");
    }
    Some(signals)
}

impl Alerts {
    pub(crate) fn read(value: &Value<'_>, secrets: Secrets<'_>) -> Option<Self> {
        value.fields(|map| {
            let webhook = map.need("webhook", |webhook| {
                let text = secrets.read_text(webhook)?;
                // What was looked up by nobody is no address.
                let looked_up = !matches!(secrets, Secrets::NotNeeded);
                if looked_up && !is_webhook(text.expose()) {
                    // The address may be a secret: it is not repeated.
                    webhook.fault("is not an address, such as https://alerts.example.com/hook");
                    return None;
                }
                Some(text)
            });
            let secret = map.read("secret", |secret| secrets.read_secret(secret));
            Some(Self { webhook: webhook?, secret })
        })
    }
}

/// An absolute address; unlike a base address it may have a query.
fn is_webhook(text: &str) -> bool {
    let path = text.split(['?', '#']).next().unwrap_or_default();
    !text.contains('#') && is_header_text(text) && address(path, "secret").is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::fault::Faults;
    use crate::config::yaml_node;

    fn read<T>(yaml: &str, read: impl FnOnce(&Value<'_>, Secrets<'_>) -> T) -> (T, Vec<String>) {
        let node = yaml_node(yaml);
        let faults = Faults::default();
        let lookup = |_: &crate::SecretRef| Some("https://hooks.example.com/T/B?x=1".to_owned());
        let value = read(&Value::root(&node, &faults), Secrets::Lookup(&lookup));
        (value, faults.into_sorted().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn what_is_absent_is_left_to_the_environment() {
        let (telemetry, faults) = read("{ otlp: {} }", Telemetry::read);
        assert_eq!(telemetry.otlp, Some(Otlp::default()));
        assert!(faults.is_empty());
        let (telemetry, faults) = read(
            "{ otlp: { endpoint: 'http://c:4318/', headers: { k: v }, compression: gzip, signals: [traces, usage],
               sample: 10%, propagate: none, semconv: v1.36 } }",
            Telemetry::read,
        );
        let expected = Otlp {
            endpoint: Some("http://c:4318".into()),
            headers: vec![("k".into(), Secret::new("v".into()))],
            compression: Some(Compression::Gzip),
            signals: Some(vec![Signal::Traces, Signal::Usage]),
            sample_ppm: Some(100_000),
            propagate: Propagate::None,
            semconv: Semconv::V1_36,
        };
        assert_eq!((telemetry.otlp, faults), (Some(expected), vec![]));
    }

    #[test]
    fn what_cannot_be_is_a_fault_with_its_place() {
        let (_, faults) = read(
            "{ otlp: { endpoint: 'ftp://x', signals: [spans], sample: 200%, semconv: '2',
               compression: zip } }",
            Telemetry::read,
        );
        assert_eq!(faults.len(), 5, "{faults:#?}");
        assert!(faults.iter().all(|fault| fault.starts_with("otlp.")), "{faults:#?}");
        let (_, faults) = read("{ otlp: { signals: [] } }", Telemetry::read);
        assert_eq!(faults.len(), 1, "{faults:#?}");
    }

    #[test]
    fn a_webhook_is_an_address_and_never_shown() {
        let (alerts, faults) = read("{ webhook: { env: HOOK } }", Alerts::read);
        assert_eq!(alerts.unwrap().webhook.expose(), "https://hooks.example.com/T/B?x=1");
        assert!(faults.is_empty(), "{faults:?}");
        let (_, faults) = read("{ webhook: 'hooks.example.com/T0P/S3CRET' }", Alerts::read);
        assert!(faults.len() == 1 && !faults[0].contains("S3CRET"), "{faults:?}");
        let (_, faults) = read("{ secret: { env: S } }", Alerts::read);
        assert_eq!(faults, ["webhook: is missing"]);
    }
}
