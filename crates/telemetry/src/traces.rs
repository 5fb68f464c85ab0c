//! Spans on their way to the collector.
//!
//! Actors call [`Traces::emit`] when a step of a traced message is over: both times are given then,
//! so that no span is open while a message waits. Nothing blocks: spans go into a bounded queue, a
//! thread of its own sends them in batches (`traces/export.rs`), and what does not fit is dropped and
//! counted. The standard OTEL_* variables set the destination (`traces/environment.rs`); without an
//! endpoint nothing is traced at all.

mod environment;
#[cfg(feature = "otlp")]
mod export;
mod queue;
pub mod requests;

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use arc_swap::ArcSwap;
use opentelemetry::trace::{
    Link, SpanContext, SpanId as OtelSpanId, SpanKind, Status, TraceFlags, TraceId as OtelTraceId,
    TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use prometheus_client::metrics::counter::Counter;
use secrecy::ExposeSecret as _;
use tokio::sync::{mpsc, oneshot};

use self::environment::Settings;
use self::queue::{Command, Queue, dropped};
use super::metrics::{Metrics, ReasonLabel};
use smsc_config::{NumberForm, Telemetry};
use smsc_domain::address;
use smsc_domain::trace::{SpanId, TraceContext, TraceId, to_hex, trace_of_failure};

/// How long the process waits at its end for the collector to accept the remaining spans.
const LAST_EXPORT: Duration = Duration::from_secs(2);

/// Where spans go. Cheap to query; one for the process.
pub struct Traces {
    commands: Option<mpsc::Sender<Command>>,
    deployment: String,
    numbers: ArcSwap<Numbers>,
    scope: InstrumentationScope,
    metrics: Arc<Metrics>,
    full: Counter,
    busy: Counter,
    head: Counter,
    parent: Counter,
    failure: Counter,
}

/// How subscribers' numbers are shown.
struct Numbers {
    form: NumberForm,
    key: [u8; 16],
}

/// Which side of a conversation a span is (OpenTelemetry's span kinds).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Answers a peer's request.
    Server,
    /// Waits for a peer's answer.
    Client,
    /// Takes what a peer sent.
    Consumer,
    /// Inside this process.
    Internal,
}

/// One step that is over.
#[derive(Debug)]
pub struct Span {
    id: SpanId,
    context: TraceContext,
    name: &'static str,
    kind: Kind,
    start_us: i64,
    end_us: i64,
    attributes: Vec<KeyValue>,
    link: Option<TraceContext>,
    error: Option<String>,
}

/// Why a message is traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Picked by its id.
    Head,
    /// Its sender requested it.
    Parent,
    /// It failed.
    Failure,
}

// === impl Traces ===

impl Traces {
    /// No traces: nothing is picked, nothing is sent.
    pub fn off(metrics: &Arc<Metrics>) -> Self {
        Self::new(None, String::new(), metrics)
    }

    /// Starts sending to the endpoint of the environment; off without one.
    ///
    /// # Errors
    /// A variable that cannot be understood; the text names it.
    pub fn start(node: u8, metrics: &Arc<Metrics>) -> anyhow::Result<Self> {
        let Some(settings) = Settings::read(node, |name| std::env::var(name).ok())? else {
            return Ok(Self::off(metrics));
        };
        let deployment = settings.deployment();
        let commands = export::start(settings, Arc::clone(metrics))?;
        requests::attach(Queue {
            commands: commands.clone(),
            waiting: metrics.spans_waiting.clone(),
            full: dropped(metrics, "full"),
        });
        Ok(Self::new(Some(commands), deployment, metrics))
    }

    fn new(
        commands: Option<mpsc::Sender<Command>>,
        deployment: String,
        metrics: &Arc<Metrics>,
    ) -> Self {
        let reason = |reason| metrics.traces.get_or_create_owned(&ReasonLabel { reason });
        Self {
            commands,
            deployment,
            numbers: ArcSwap::from_pointee(Numbers {
                form: NumberForm::Masked,
                key: rand::random(),
            }),
            scope: InstrumentationScope::builder("smsc")
                .with_version(env!("CARGO_PKG_VERSION"))
                .build(),
            full: dropped(metrics, "full"),
            busy: dropped(metrics, "busy"),
            head: reason("head"),
            parent: reason("parent"),
            failure: reason("failure"),
            metrics: Arc::clone(metrics),
        }
    }

    /// Whether there is a collector. Otherwise nothing needs to be built.
    pub fn is_on(&self) -> bool {
        self.commands.is_some()
    }

    /// Applies a (new) configuration.
    pub fn configure(&self, telemetry: &Telemetry) {
        let key = telemetry.number_key.as_ref();
        self.numbers.store(Arc::new(Numbers {
            form: telemetry.numbers,
            key: key.map_or(self.numbers.load().key, |key| {
                address::key_of(key.expose_secret())
            }),
        }));
    }

    /// Counts a message that is traced from now on.
    pub fn count(&self, reason: Reason) {
        match reason {
            Reason::Head => self.head.inc(),
            Reason::Parent => self.parent.inc(),
            Reason::Failure => self.failure.inc(),
        };
    }

    /// The trace of a message that failed without having been picked.
    pub fn of_failure(&self, message: u64) -> TraceId {
        trace_of_failure(&self.deployment, message)
    }

    /// Whether a span would find room now; when not, it is counted as dropped.
    pub fn has_room(&self) -> bool {
        let room = self
            .commands
            .as_ref()
            .is_some_and(|commands| commands.capacity() > 0);
        if !room && self.is_on() {
            self.full.inc();
        }
        room
    }

    /// Counts a failure that is not traced, because too many are being read.
    pub fn too_busy(&self) {
        self.busy.inc();
    }

    /// A subscriber's number in the configured form.
    pub fn number(&self, number: &[u8]) -> String {
        let numbers = self.numbers.load();
        match numbers.form {
            NumberForm::Masked => address::mask(number),
            NumberForm::Hashed => address::hash(&numbers.key, number),
            NumberForm::Full => address::printable(number),
        }
    }

    /// Sends a span, or drops it.
    pub fn emit(&self, span: Span) {
        let Some(commands) = &self.commands else {
            return;
        };
        tracing::debug!(
            target: "smsc::traced",
            trace_id = %to_hex(&span.context.trace_id),
            span_id = %to_hex(&span.id),
            step = span.name,
            us = span.end_us - span.start_us,
            error = span.error.as_deref(),
            "step of a traced message"
        );
        let data = span.into_data(&self.scope);
        match commands.try_send(Command::Span(Box::new(data))) {
            Ok(()) => drop(self.metrics.spans_waiting.inc()),
            Err(_) => drop(self.full.inc()),
        }
    }

    /// Flushes the remaining spans to the collector, for a short time only.
    pub async fn flush(&self) {
        let Some(commands) = &self.commands else {
            return;
        };
        let (done, flushed) = oneshot::channel();
        let flush = async {
            if commands.send(Command::Flush(done)).await.is_ok() {
                let _ = flushed.await;
            }
        };
        if tokio::time::timeout(LAST_EXPORT, flush).await.is_err() {
            tracing::warn!("the collector does not take the last spans; they are lost");
        }
    }
}

// === impl Span ===

impl Span {
    /// A step named `name` with this id, below the span that the context names, from and to the
    /// given Unix microseconds.
    pub fn new(
        context: TraceContext,
        id: SpanId,
        name: &'static str,
        kind: Kind,
        (start_us, end_us): (i64, i64),
    ) -> Self {
        Self {
            id,
            context,
            name,
            kind,
            // Clocks of two nodes differ, and any clock may step back.
            start_us: start_us.min(end_us),
            end_us,
            attributes: Vec::with_capacity(16),
            link: None,
            error: None,
        }
    }

    /// With a random id: no other span refers to it.
    pub fn leaf(context: TraceContext, name: &'static str, kind: Kind, times: (i64, i64)) -> Self {
        Self::new(context, fresh_id(), name, kind, times)
    }

    /// With an attribute.
    pub fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.attributes.push(KeyValue::new(key, value));
        self
    }

    /// Linked with the trace that it continues.
    pub fn linked(mut self, link: Option<TraceContext>) -> Self {
        self.link = link;
        self
    }

    /// Failed, for a reason out of few (`error.type`).
    pub fn failed(mut self, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        self.attributes
            .push(KeyValue::new("error.type", reason.clone()));
        self.error = Some(reason);
        self
    }

    fn into_data(self, scope: &InstrumentationScope) -> SpanData {
        let mut links = SpanLinks::default();
        links.links.extend(self.link.map(|link| {
            Link::new(
                span_context(&link, link.parent),
                vec![KeyValue::new("smsc.link", "message")],
                0,
            )
        }));
        SpanData {
            span_context: span_context(&self.context, self.id),
            parent_span_id: OtelSpanId::from_bytes(self.context.parent),
            parent_span_is_remote: false,
            span_kind: match self.kind {
                Kind::Server => SpanKind::Server,
                Kind::Client => SpanKind::Client,
                Kind::Consumer => SpanKind::Consumer,
                Kind::Internal => SpanKind::Internal,
            },
            name: self.name.into(),
            start_time: moment(self.start_us),
            end_time: moment(self.end_us),
            attributes: self.attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links,
            status: match self.error {
                Some(reason) => Status::error(reason),
                None => Status::Unset,
            },
            instrumentation_scope: scope.clone(),
        }
    }
}

/// In place of the exporter, in a build without it.
#[cfg(not(feature = "otlp"))]
mod export {
    use super::{Arc, Command, Metrics, Settings, mpsc};

    pub fn start(_: Settings, _: Arc<Metrics>) -> anyhow::Result<mpsc::Sender<Command>> {
        anyhow::bail!(
            "OTEL_EXPORTER_OTLP_ENDPOINT: this build cannot send traces: build with --features otlp, \
             or unset the variable"
        )
    }
}

/// The id of a span that is not derived elsewhere.
pub fn fresh_id() -> SpanId {
    rand::random::<u64>().max(1).to_be_bytes()
}

fn span_context(context: &TraceContext, span: SpanId) -> SpanContext {
    SpanContext::new(
        OtelTraceId::from_bytes(context.trace_id),
        OtelSpanId::from_bytes(span),
        TraceFlags::new(context.flags),
        false,
        TraceState::NONE,
    )
}

fn moment(us: i64) -> std::time::SystemTime {
    UNIX_EPOCH + Duration::from_micros(us.max(0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smsc_domain::trace::Step;

    fn metrics() -> Arc<Metrics> {
        Arc::new(Metrics::new(&mut Default::default()))
    }

    fn span() -> Span {
        let context = TraceContext::root([7; 16]);
        Span::leaf(context, "attempt", Kind::Client, (2_000, 1_000))
    }

    #[test]
    fn what_does_not_fit_is_dropped_and_counted() {
        let metrics = metrics();
        let (commands, _worker) = mpsc::channel(1);
        let traces = Traces::new(Some(commands), String::new(), &metrics);
        assert!(traces.has_room());
        (0..3).for_each(|_| traces.emit(span()));
        assert_eq!(metrics.spans_waiting.get(), 1);
        assert_eq!(dropped(&metrics, "full").get(), 2);
        assert!(!traces.has_room());
    }

    #[test]
    fn without_a_collector_nothing_is_kept() {
        let metrics = metrics();
        let traces = Traces::off(&metrics);
        traces.emit(span());
        assert!(!traces.is_on() && !traces.has_room());
        assert_eq!(metrics.spans_waiting.get(), 0);
        assert_eq!(dropped(&metrics, "full").get(), 0);
    }

    #[test]
    fn numbers_look_as_configured() {
        let traces = Traces::off(&metrics());
        let shown = |numbers, key: Option<&str>| {
            traces.configure(&Telemetry {
                numbers,
                number_key: key.map(Into::into),
                ..Telemetry::default()
            });
            traces.number(b"447700900123")
        };
        assert_eq!(shown(NumberForm::Masked, None), "4477*****123");
        assert_eq!(shown(NumberForm::Full, None), "447700900123");
        let hashed = shown(NumberForm::Hashed, Some("key"));
        assert_eq!(hashed.len(), 16);
        assert_eq!(hashed, shown(NumberForm::Hashed, Some("key")));
        assert_ne!(hashed, shown(NumberForm::Hashed, Some("other")));
    }

    #[test]
    fn a_span_says_what_it_was_told() {
        let old = TraceContext::root([9; 16]).below([1; 8]);
        let context = TraceContext::root([7; 16]).below([2; 8]);
        let id = smsc_domain::trace::span_id([7; 16], 5, Step::End, 0);
        let span = Span::new(context, id, "receipt", Kind::Consumer, (1_000, 3_500))
            .with("smsc.parts", 2)
            .linked(Some(old))
            .failed("UNDELIVERABLE");
        let data = span.into_data(&InstrumentationScope::builder("test").build());
        assert_eq!(data.span_context.span_id().to_bytes(), id);
        assert_eq!(data.parent_span_id.to_bytes(), [2; 8]);
        assert_eq!(data.status, Status::error("UNDELIVERABLE"));
        let link = &data.links.links[0].span_context;
        assert_eq!(link.trace_id().to_bytes(), [9; 16]);
        assert_eq!(link.span_id().to_bytes(), [1; 8]);
        let took = data.end_time.duration_since(data.start_time);
        assert_eq!(took.ok(), Some(Duration::from_micros(2_500)));
        assert!(
            data.attributes
                .contains(&KeyValue::new("error.type", "UNDELIVERABLE"))
        );
        // A clock that steps back makes no span of a negative length.
        let back = super::tests::span().into_data(&InstrumentationScope::builder("test").build());
        assert!(back.start_time <= back.end_time);
    }
}
