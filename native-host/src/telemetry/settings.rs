//! Where to export to, from the configuration and the standard variables.
//!
//! The variables are those of the OpenTelemetry specification
//! (<https://opentelemetry.io/docs/specs/otel/protocol/exporter/>); the configuration goes before them.

use std::collections::HashMap;
use std::time::Duration;

use http::Uri;
use pointsman_core::{Compression, Config, Otlp, Propagate, Semconv, Signal};

/// What is exported, and how.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) traces: Option<Destination>,
    pub(crate) metrics: Option<Destination>,
    pub(crate) usage: Option<Destination>,
    /// The share of traces that begin here, if the configuration says one.
    pub(crate) sample: Option<f64>,
    pub(crate) propagate: Propagate,
    pub(crate) semconv: Semconv,
}

/// Where one signal goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Destination {
    /// The whole address.
    pub(crate) address: Uri,
    /// Those of the configuration; the exporter adds the variables'.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) gzip: bool,
    /// How long one export may take, with its retries.
    pub(crate) timeout: Duration,
}

/// The most that one export may take, whatever a variable says.
const MAX_TIMEOUT: Duration = Duration::from_secs(60);

type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The settings; `None` if nothing is to be exported.
///
/// # Errors
/// Something asks for what is not built, or no collector is named; the text says what to change.
pub(crate) fn read(config: &Config, env: Env<'_>) -> Result<Option<Settings>, String> {
    let env = |name: &str| env(name).filter(|value| !value.trim().is_empty());
    let env: Env<'_> = &env;
    if env("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    let otlp = config.telemetry.otlp.clone();
    let wanted = otlp.is_some();
    let otlp = otlp.unwrap_or_default();
    let destination = |signal| destination(signal, &otlp, env);
    let traces = destination(Signal::Traces)?;
    let metrics = destination(Signal::Metrics)?;
    let usage = destination(Signal::Usage)?;
    if traces.is_none() && metrics.is_none() && usage.is_none() {
        let named = ENDPOINTS.iter().any(|name| env(name).is_some()) || otlp.endpoint.is_some();
        if wanted && !named {
            return Err("telemetry.otlp: no collector is named: set its `endpoint`, or \
                        OTEL_EXPORTER_OTLP_ENDPOINT"
                .into());
        }
        return Ok(None);
    }
    Ok(Some(Settings {
        traces,
        metrics,
        usage,
        sample: otlp.sample_ppm.map(|ppm| f64::from(ppm) / 1e6),
        propagate: otlp.propagate,
        semconv: otlp.semconv,
    }))
}

const ENDPOINTS: [&str; 4] = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
];

fn destination(signal: Signal, otlp: &Otlp, env: Env<'_>) -> Result<Option<Destination>, String> {
    let (word, path) = match signal {
        Signal::Traces => ("TRACES", "/v1/traces"),
        Signal::Metrics => ("METRICS", "/v1/metrics"),
        Signal::Usage => ("LOGS", "/v1/logs"),
    };
    if !otlp.signals.as_ref().is_none_or(|signals| signals.contains(&signal)) {
        return Ok(None);
    }
    let exporter = format!("OTEL_{word}_EXPORTER");
    match env(&exporter).as_deref() {
        Some("none") => return Ok(None),
        None | Some("otlp") => {}
        Some(other) => {
            return Err(format!("{exporter}: `{other}` is not built: there are `otlp` and `none`"));
        }
    }
    let own = |what: &str| {
        let name = format!("OTEL_EXPORTER_OTLP_{word}_{what}");
        env(&name).map(|value| (name, value))
    };
    let all = |what: &str| {
        let name = format!("OTEL_EXPORTER_OTLP_{what}");
        env(&name).map(|value| (name, value))
    };
    let below = |base: &str| format!("{}{path}", base.trim_end_matches('/'));
    let (name, address) = match (&otlp.endpoint, own("ENDPOINT"), all("ENDPOINT")) {
        (Some(base), ..) => ("telemetry.otlp.endpoint".to_owned(), below(base)),
        (None, Some(own), _) => own,
        (None, None, Some((name, base))) => (name, below(&base)),
        (None, None, None) => return Ok(None),
    };
    if let Some((name, protocol)) = own("PROTOCOL").or_else(|| all("PROTOCOL"))
        && protocol != "http/protobuf"
    {
        return Err(format!(
            "{name}: `{protocol}` is not built: set `http/protobuf`, and the collector's port for \
             HTTP (4318 by default)"
        ));
    }
    let sound = |address: &Uri| {
        matches!(address.scheme_str(), Some("http" | "https")) && address.authority().is_some()
    };
    let address: Uri = address.parse().ok().filter(sound).ok_or_else(|| {
        format!("{name}: `{address}` is not an address, such as http://127.0.0.1:4318")
    })?;
    let timeout = own("TIMEOUT").or_else(|| all("TIMEOUT")).map(|(name, value)| {
        let milliseconds = value.parse().map(Duration::from_millis);
        milliseconds.map_err(|_| format!("{name}: `{value}` is no number of milliseconds"))
    });
    let timeout = timeout.transpose()?.unwrap_or(Duration::from_secs(10)).min(MAX_TIMEOUT);
    let gzip = match (otlp.compression, own("COMPRESSION").or_else(|| all("COMPRESSION"))) {
        (Some(compression), _) => compression == Compression::Gzip,
        (None, None) => false,
        (None, Some((name, word))) => match word.to_ascii_lowercase().as_str() {
            "gzip" => true,
            "none" => false,
            _ => return Err(format!("{name}: `{word}` is not built: there are `gzip` and `none`")),
        },
    };
    let headers = otlp.headers.iter();
    let headers = headers.map(|(name, value)| (name.clone(), value.expose().to_owned())).collect();
    Ok(Some(Destination { address, headers, gzip, timeout }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(yaml: &str, env: &[(&str, &str)]) -> Result<Option<Settings>, String> {
        let document = format!(
            "version: 1\nproviders: {{ p: {{ protocol: mock }} }}\n\
             deployments: {{ d: {{ provider: p, model: m }} }}\ngroups: {{ g: {{ members: [d] }} }}\n{yaml}"
        );
        let source = crate::document::Source::new(document, "test".into());
        let loaded = source.load().unwrap_or_else(|faults| panic!("{faults:?}"));
        let find = |wanted: &str| {
            let found = env.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| (*value).to_owned())
        };
        read(&loaded.config, &find)
    }

    fn addresses(settings: Result<Option<Settings>, String>) -> [Option<String>; 3] {
        let settings = settings.unwrap().unwrap();
        [settings.traces, settings.metrics, settings.usage]
            .map(|one| one.map(|one| one.address.to_string()))
    }

    const COLLECTOR: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/x/");

    #[test]
    fn a_variable_alone_turns_it_on_and_nothing_does_not() {
        assert!(settings("", &[]).unwrap().is_none());
        assert!(settings("", &[COLLECTOR, ("OTEL_SDK_DISABLED", "true")]).unwrap().is_none());
        let some = |path: &str| Some(format!("http://c:4318/x/v1/{path}"));
        let all = [some("traces"), some("metrics"), some("logs")];
        assert_eq!(addresses(settings("", &[COLLECTOR])), all);
        let own = ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "https://l/logs");
        let [.., logs] = addresses(settings("", &[COLLECTOR, own]));
        assert_eq!(logs.as_deref(), Some("https://l/logs"));
        let off = ("OTEL_METRICS_EXPORTER", "none");
        assert_eq!(addresses(settings("", &[COLLECTOR, off]))[1], None);
    }

    #[test]
    fn the_configuration_goes_before_the_variables() {
        let yaml =
            "telemetry: { otlp: { endpoint: 'http://mine:1', signals: [traces], sample: 25% } }";
        let read = settings(yaml, &[COLLECTOR]);
        assert_eq!(read.as_ref().unwrap().as_ref().unwrap().sample, Some(0.25));
        assert_eq!(addresses(read), [Some("http://mine:1/v1/traces".into()), None, None]);
    }

    #[test]
    fn a_signal_may_be_compressed_on_its_own() {
        let gzip = |yaml: &str, env: &[_]| {
            let settings = settings(yaml, &[&[COLLECTOR], env].concat()).unwrap().unwrap();
            [settings.traces, settings.metrics, settings.usage].map(|one| one.unwrap().gzip)
        };
        let all = ("OTEL_EXPORTER_OTLP_COMPRESSION", "GZIP");
        let logs = ("OTEL_EXPORTER_OTLP_LOGS_COMPRESSION", "none");
        assert_eq!(gzip("", &[]), [false; 3]);
        assert_eq!(gzip("", &[all, logs]), [true, true, false]);
        assert_eq!(gzip("telemetry: { otlp: { compression: none } }", &[all]), [false; 3]);
        assert_eq!(gzip("telemetry: { otlp: { compression: gzip } }", &[logs]), [true; 3]);
    }

    #[test]
    fn what_is_not_built_or_cannot_be_is_said_with_its_remedy() {
        for (env, part) in [
            (&[COLLECTOR, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")][..], "http/protobuf"),
            (&[COLLECTOR, ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd")], "`gzip` and `none`"),
            (&[COLLECTOR, ("OTEL_TRACES_EXPORTER", "zipkin")], "`zipkin` is not built"),
            (&[COLLECTOR, ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")], "milliseconds"),
            (&[("OTEL_EXPORTER_OTLP_ENDPOINT", "c:4318")], "is not an address"),
        ] {
            let fault = settings("", env).unwrap_err();
            assert!(fault.contains(part), "{fault}");
        }
        let fault = settings("telemetry: { otlp: {} }", &[]).unwrap_err();
        assert!(fault.contains("OTEL_EXPORTER_OTLP_ENDPOINT"), "{fault}");
    }
}
