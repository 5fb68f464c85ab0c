//! A collector of traces inside the test: it accepts OTLP over gRPC or HTTP and exposes the spans.
//!
//! Not part of the harness, because only one program uses it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use mock_collector::{MockServer, Protocol, ServerHandle};
use tokio::runtime::Runtime;

use crate::harness::{SmscBuilder, until};

/// A listening collector.
pub struct Collector {
    // Dropped before the runtime that it runs on.
    server: ServerHandle,
    protocol: &'static str,
    runtime: Runtime,
}

/// A span as it arrived.
#[derive(Debug, Clone)]
pub struct Span {
    pub name: String,
    pub trace_id: String,
    pub id: String,
    /// Empty for a root.
    pub parent: String,
    /// SPAN_KIND_… of OTLP: 1 internal, 2 server, 3 client, 5 consumer.
    pub kind: i32,
    /// Unix nanoseconds.
    pub start: u64,
    pub end: u64,
    pub is_error: bool,
    pub attributes: BTreeMap<String, String>,
    /// Those of the attributes that are numbers.
    pub numbers: BTreeMap<String, i64>,
    pub resource: BTreeMap<String, String>,
    /// Trace and span of each link.
    pub links: Vec<(String, String)>,
}

/// Keys and values of attributes as text, numbers in decimal. A macro, because the crate of their type
/// is not a dependency.
macro_rules! pairs {
    ($attributes:expr) => {
        $attributes
            .iter()
            .map(|pair| {
                let value = pair
                    .value
                    .as_ref()
                    .map(|value| format!("{:?}", value.value));
                (pair.key.clone(), plain(&value.unwrap_or_default()))
            })
            .collect()
    };
}

/// Keys and values of the attributes that are whole numbers.
macro_rules! numbers {
    ($attributes:expr) => {
        $attributes
            .iter()
            .filter_map(|pair| {
                let value = format!("{:?}", pair.value.as_ref()?.value);
                let number = value.split_once("IntValue(")?.1;
                let number = number.trim_end_matches(')').parse().ok()?;
                Some((pair.key.clone(), number))
            })
            .collect()
    };
}

// === impl Collector ===

impl Collector {
    /// Accepts OTLP over gRPC.
    pub fn grpc() -> Self {
        Self::start(Protocol::Grpc, "grpc")
    }

    /// Accepts OTLP over HTTP with protobuf.
    pub fn http() -> Self {
        Self::start(Protocol::HttpBinary, "http/protobuf")
    }

    fn start(kind: Protocol, protocol: &'static str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let server = runtime
            .block_on(MockServer::builder().protocol(kind).start())
            .unwrap();
        Self {
            server,
            protocol,
            runtime,
        }
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.server.addr()
    }

    /// Makes an SMSC send its traces here, without delay.
    pub fn observe(&self, smsc: SmscBuilder) -> SmscBuilder {
        traced(smsc, self.address(), self.protocol)
    }

    /// All spans so far.
    pub fn spans(&self) -> Vec<Span> {
        self.runtime.block_on(self.server.with_collector(|got| {
            let spans = got.spans().iter();
            spans.map(Span::read).collect()
        }))
    }

    /// Waits until there are this many spans.
    pub fn wait_for(&self, count: usize) -> Vec<Span> {
        self.wait_until(&format!("{count} spans"), |spans| spans.len() >= count)
    }

    /// Waits until the spans satisfy the condition.
    pub fn wait_until(&self, what: &str, fits: impl Fn(&[Span]) -> bool) -> Vec<Span> {
        until(what, || {
            let spans = self.spans();
            fits(&spans).then_some(spans)
        })
    }
}

/// Configures an SMSC to use a collector, with the standard variables.
pub fn traced(smsc: SmscBuilder, collector: SocketAddr, protocol: &str) -> SmscBuilder {
    smsc.env(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        &format!("http://{collector}"),
    )
    .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
    .env("OTEL_SERVICE_NAME", "smsc-under-test")
    .env("OTEL_BSP_SCHEDULE_DELAY", "20")
}

// === impl Span ===

impl Span {
    fn read(got: &mock_collector::TestSpan) -> Self {
        let span = got.span();
        Self {
            name: span.name.clone(),
            trace_id: hex(&span.trace_id),
            id: hex(&span.span_id),
            parent: hex(&span.parent_span_id),
            kind: span.kind,
            start: span.start_time_unix_nano,
            end: span.end_time_unix_nano,
            // STATUS_CODE_ERROR
            is_error: span.status.as_ref().is_some_and(|status| status.code == 2),
            attributes: pairs!(&span.attributes),
            numbers: numbers!(&span.attributes),
            resource: pairs!(got.resource_attrs()),
            links: span
                .links
                .iter()
                .map(|link| (hex(&link.trace_id), hex(&link.span_id)))
                .collect(),
        }
    }

    /// The step of a message; the name for spans of requests.
    pub fn step(&self) -> &str {
        self.attributes.get("smsc.step").unwrap_or(&self.name)
    }

    /// The value of an attribute; empty if it is missing.
    pub fn get(&self, key: &str) -> &str {
        self.attributes.get(key).map_or("", String::as_str)
    }
}

/// The text or number in `Some(StringValue("x"))`, `Some(IntValue(7))`.
fn plain(debug: &str) -> String {
    let inner = debug.split_once("Value(").map_or(debug, |(_, inner)| inner);
    let inner = inner.trim_end_matches(')').trim_matches('"');
    inner.replace("\\n", "\n")
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
