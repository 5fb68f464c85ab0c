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
mod span;
#[cfg(feature = "otlp")]
mod transport;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use opentelemetry::InstrumentationScope;
use prometheus_client::metrics::counter::Counter;
use secrecy::ExposeSecret as _;
use tokio::sync::{mpsc, oneshot};

use self::environment::TraceSettings;
use self::queue::{SpanCommand, SpanQueue, dropped};
use super::metrics::{Metrics, ReasonLabel};
use smsc_config::{NumberForm, Telemetry};
use smsc_domain::address;
use smsc_domain::trace::{TraceId, to_hex, trace_of_failure};

pub use self::span::{Span, SpanSide, fresh_id};

/// How long the process waits at its end for the collector to accept the remaining spans.
const LAST_EXPORT: Duration = Duration::from_secs(2);

/// Where spans go. Cheap to query; one for the process.
pub struct Traces {
    commands: Option<mpsc::Sender<SpanCommand>>,
    deployment: String,
    numbers: ArcSwap<NumberDisplay>,
    scope: InstrumentationScope,
    metrics: Arc<Metrics>,
    full: Counter,
    busy: Counter,
    head: Counter,
    parent: Counter,
    failure: Counter,
}

/// How subscribers' numbers are shown.
struct NumberDisplay {
    form: NumberForm,
    key: [u8; 16],
}

/// Why a message is traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceReason {
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
        let Some(settings) = TraceSettings::read(node, |name| std::env::var(name).ok())? else {
            return Ok(Self::off(metrics));
        };
        let deployment = settings.deployment();
        let commands = export::start(settings, Arc::clone(metrics))?;
        requests::attach(SpanQueue {
            commands: commands.clone(),
            waiting: metrics.spans_waiting.clone(),
            full: dropped(metrics, "full"),
        });
        Ok(Self::new(Some(commands), deployment, metrics))
    }

    fn new(
        commands: Option<mpsc::Sender<SpanCommand>>,
        deployment: String,
        metrics: &Arc<Metrics>,
    ) -> Self {
        let reason = |reason| metrics.traces.get_or_create_owned(&ReasonLabel { reason });
        Self {
            commands,
            deployment,
            numbers: ArcSwap::from_pointee(NumberDisplay {
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
        self.numbers.store(Arc::new(NumberDisplay {
            form: telemetry.numbers,
            key: key.map_or(self.numbers.load().key, |key| {
                address::key_of(key.expose_secret())
            }),
        }));
    }

    /// Counts a message that is traced from now on.
    pub fn count(&self, reason: TraceReason) {
        match reason {
            TraceReason::Head => self.head.inc(),
            TraceReason::Parent => self.parent.inc(),
            TraceReason::Failure => self.failure.inc(),
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
            step = span.step,
            us = span.end_us - span.start_us,
            error = span.error.as_deref(),
            "step of a traced message"
        );
        let data = span.into_data(&self.scope);
        match commands.try_send(SpanCommand::Span(Box::new(data))) {
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
            if commands.send(SpanCommand::Flush(done)).await.is_ok() {
                let _ = flushed.await;
            }
        };
        if tokio::time::timeout(LAST_EXPORT, flush).await.is_err() {
            tracing::warn!("the collector does not take the last spans; they are lost");
        }
    }
}

/// In place of the exporter, in a build without it.
#[cfg(not(feature = "otlp"))]
mod export {
    use super::{Arc, Metrics, SpanCommand, TraceSettings, mpsc};

    pub fn start(_: TraceSettings, _: Arc<Metrics>) -> anyhow::Result<mpsc::Sender<SpanCommand>> {
        anyhow::bail!(
            "OTEL_EXPORTER_OTLP_ENDPOINT: this build cannot send traces: build with --features otlp, \
             or unset the variable"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smsc_domain::trace::TraceContext;

    fn metrics() -> Arc<Metrics> {
        Arc::new(Metrics::new(&mut Default::default()))
    }

    fn span() -> Span {
        let context = TraceContext::root([7; 16]);
        Span::leaf(context, "attempt", SpanSide::Client, 2_000, 1_000)
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
}
