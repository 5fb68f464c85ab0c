//! Reads the standard OTEL_* variables about traces.
//!
//! The address, headers and timeout of the collector are read by the OTLP exporter itself
//! (OTEL_EXPORTER_OTLP_*, OTEL_EXPORTER_OTLP_TRACES_*); this file reads the others: whether there
//! are traces, the protocol, the files for TLS, the resource, and the batches (OTEL_BSP_*).

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context as _;
use opentelemetry::{Key, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::{EnvResourceDetector, TelemetryResourceDetector};

/// Variables that name a collector; without one there are no traces.
const ENDPOINTS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
];
const PROTOCOLS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    "OTEL_EXPORTER_OTLP_PROTOCOL",
];
/// What we speak.
const GRPC: &str = "grpc";
const KNOWN_PROTOCOLS: [&str; 2] = [GRPC, "http/protobuf"];
/// Files (PEM) for TLS, each with its form for traces alone, which goes before.
const CA: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE",
    "OTEL_EXPORTER_OTLP_CERTIFICATE",
];
const CLIENT_CERTIFICATE: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE",
    "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
];
const CLIENT_KEY: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY",
    "OTEL_EXPORTER_OTLP_CLIENT_KEY",
];
const SERVICE: &str = "smsc";

/// How spans are gathered and where they come from.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "otlp"),
    expect(dead_code, reason = "the exporter reads them")
)]
pub struct TraceSettings {
    pub resource: Resource,
    /// OTLP over gRPC, not over HTTP.
    pub is_grpc: bool,
    /// Over TLS.
    pub is_secure: bool,
    pub files: TlsFiles,
    /// Spans that may wait.
    pub queue: usize,
    /// Most spans of one export.
    pub batch: usize,
    /// How long a span waits for others of its batch.
    pub delay: Duration,
    /// An export that takes longer has failed.
    pub timeout: Duration,
}

/// Files for TLS.
#[derive(Debug, Default)]
pub struct TlsFiles {
    /// Authorities of the collector's certificate; without it those of the machine.
    pub ca: Option<File>,
    /// Our certificate and its key.
    pub client: Option<(File, File)>,
}

/// A file, and the variable that names it.
#[derive(Debug)]
#[cfg_attr(
    not(any(feature = "otlp", test)),
    expect(dead_code, reason = "the exporter reads them")
)]
pub struct File {
    pub variable: &'static str,
    pub path: PathBuf,
}

// === impl TraceSettings ===

impl TraceSettings {
    /// Reads the variables; `None` when there shall be no traces.
    ///
    /// # Errors
    /// A variable that cannot be understood.
    pub fn read(
        node: u8,
        variable: impl Fn(&'static str) -> Option<String>,
    ) -> anyhow::Result<Option<Self>> {
        let set = |name| variable(name).filter(|value| !value.trim().is_empty());
        let is = |name, word: &str| set(name).is_some_and(|value| value.eq_ignore_ascii_case(word));
        let Some(endpoint) = ENDPOINTS.into_iter().find_map(set) else {
            return Ok(None);
        };
        if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
            return Ok(None);
        }
        let protocol = PROTOCOLS.into_iter().find_map(set);
        if let Some(protocol) = &protocol {
            anyhow::ensure!(
                KNOWN_PROTOCOLS.contains(&protocol.as_str()),
                "OTEL_EXPORTER_OTLP_PROTOCOL: {protocol:?} is not known; write \"grpc\" or \
                 \"http/protobuf\""
            );
        }
        let is_secure = endpoint.trim().starts_with("https:");
        let files = files(&set)?;
        anyhow::ensure!(
            is_secure || (files.ca.is_none() && files.client.is_none()),
            "OTEL_EXPORTER_OTLP_ENDPOINT: {endpoint} is without TLS, and there are files for TLS \
             (OTEL_EXPORTER_OTLP_CERTIFICATE, _CLIENT_CERTIFICATE, _CLIENT_KEY); write https://, or unset them"
        );
        let queue = number(&set, "OTEL_BSP_MAX_QUEUE_SIZE", 2_048)?.max(1);
        let batch = number(&set, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512)?;
        Ok(Some(Self {
            resource: resource(node, set("OTEL_SERVICE_NAME")),
            is_grpc: protocol.is_some_and(|protocol| protocol == GRPC),
            is_secure,
            files,
            queue,
            batch: batch.clamp(1, queue),
            delay: milliseconds(&set, "OTEL_BSP_SCHEDULE_DELAY", 5_000)?,
            timeout: milliseconds(&set, "OTEL_BSP_EXPORT_TIMEOUT", 30_000)?,
        }))
    }

    /// Distinguishes this deployment from others that send to the same collector; the same on all
    /// of its nodes.
    pub fn deployment(&self) -> String {
        let of = |key: &'static str| {
            let value = self.resource.get(&Key::from_static_str(key));
            value.map_or_else(String::new, |value| value.to_string())
        };
        [
            "service.name",
            "service.namespace",
            "deployment.environment.name",
            "deployment.environment",
        ]
        .map(of)
        .join("\n")
    }
}

fn files(set: &impl Fn(&'static str) -> Option<String>) -> anyhow::Result<TlsFiles> {
    let file = |names: [&'static str; 2]| {
        names.into_iter().find_map(|variable| {
            let path = PathBuf::from(set(variable)?.trim());
            Some(File { variable, path })
        })
    };
    let client = match (file(CLIENT_CERTIFICATE), file(CLIENT_KEY)) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        (Some(_), None) => anyhow::bail!(
            "OTEL_EXPORTER_OTLP_CLIENT_KEY: is not set, and a client certificate needs its key"
        ),
        (None, Some(_)) => anyhow::bail!(
            "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: is not set, and a client key needs its certificate"
        ),
    };
    Ok(TlsFiles {
        ca: file(CA),
        client,
    })
}

/// OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME over our own.
fn resource(node: u8, service: Option<String>) -> Resource {
    let own = [
        KeyValue::new("service.name", SERVICE),
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("service.instance.id", format!("node-{node}")),
    ];
    let resource = Resource::builder_empty()
        .with_attributes(own)
        .with_detector(Box::new(TelemetryResourceDetector))
        .with_detector(Box::new(EnvResourceDetector::new()));
    match service {
        Some(name) => resource.with_service_name(name).build(),
        None => resource.build(),
    }
}

fn number<T: FromStr>(
    set: &impl Fn(&'static str) -> Option<String>,
    name: &'static str,
    otherwise: T,
) -> anyhow::Result<T> {
    let Some(text) = set(name) else {
        return Ok(otherwise);
    };
    let read = text.trim().parse().ok();
    read.with_context(|| format!("{name}: {text:?} is not a number; write digits only"))
}

fn milliseconds(
    set: &impl Fn(&'static str) -> Option<String>,
    name: &'static str,
    otherwise: u64,
) -> anyhow::Result<Duration> {
    Ok(Duration::from_millis(number(set, name, otherwise)?.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&'static str, &str)]) -> anyhow::Result<Option<TraceSettings>> {
        TraceSettings::read(3, |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4317");

    #[test]
    fn without_an_endpoint_there_are_no_traces() {
        assert!(read(&[]).unwrap().is_none());
        assert!(
            read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")])
                .unwrap()
                .is_none()
        );
        for off in [
            ("OTEL_SDK_DISABLED", "TRUE"),
            ("OTEL_TRACES_EXPORTER", "none"),
        ] {
            assert!(read(&[ENDPOINT, off]).unwrap().is_none(), "{off:?}");
        }
    }

    #[test]
    fn the_standard_defaults_and_what_overrides_them() {
        let settings = read(&[ENDPOINT]).unwrap().expect("on");
        assert_eq!((settings.queue, settings.batch), (2_048, 512));
        assert_eq!(settings.delay, Duration::from_secs(5));
        let settings = read(&[
            ENDPOINT,
            ("OTEL_SERVICE_NAME", "sms-test"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "100"),
            ("OTEL_BSP_SCHEDULE_DELAY", "50"),
        ]);
        let settings = settings.unwrap().expect("on");
        assert_eq!((settings.queue, settings.batch), (100, 100));
        assert_eq!(settings.delay, Duration::from_millis(50));
        assert!(settings.deployment().starts_with("sms-test\n"));
    }

    #[test]
    fn what_cannot_be_understood_is_named() {
        for (name, value) in [
            ("OTEL_BSP_SCHEDULE_DELAY", "5s"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ] {
            let error = read(&[(name, value), ENDPOINT]).unwrap_err().to_string();
            assert!(error.starts_with(name) && error.contains(value), "{error}");
        }
    }

    #[test]
    fn tls_needs_an_endpoint_with_it_and_both_files_of_a_client() {
        const SECURE: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4317");
        const CA: (&str, &str) = ("OTEL_EXPORTER_OTLP_CERTIFICATE", "ca.pem");
        const CERTIFICATE: (&str, &str) = ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "cert.pem");
        const KEY: (&str, &str) = ("OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", "key.pem");
        let settings = read(&[SECURE, CA, CERTIFICATE, KEY]).unwrap().expect("on");
        assert!(settings.is_secure && !settings.is_grpc);
        let (certificate, key) = settings.files.client.expect("a client certificate");
        assert_eq!((certificate.variable, key.variable), (CERTIFICATE.0, KEY.0));
        assert_eq!(
            settings.files.ca.expect("an authority").path,
            PathBuf::from("ca.pem")
        );
        for (set, named) in [
            (&[SECURE, CERTIFICATE][..], "OTEL_EXPORTER_OTLP_CLIENT_KEY"),
            (&[SECURE, KEY], "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"),
            (&[ENDPOINT, CA], "OTEL_EXPORTER_OTLP_ENDPOINT"),
        ] {
            let error = read(set).unwrap_err().to_string();
            assert!(error.starts_with(named), "{error}");
        }
    }
}
