//! Spans of requests to the HTTP APIs and over the local socket, from `tracing` by way of tracing-opentelemetry.
//!
//! Installed with the log lines (`telemetry/logs.rs`), before anything is configured; spans go into
//! the queue of [`Traces`](super::Traces) from [`attach`] on. Only spans with the target [`TARGET`]
//! come here: those of messages are made when a step is over, without a span that is open meanwhile
//! (`actors/context/traced.rs`).

use std::sync::OnceLock;
use std::time::Duration;

use std::collections::HashMap;

use opentelemetry::Context;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{TraceContextExt as _, TracerProvider as _};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracerProvider, Span, SpanData, SpanProcessor};
use smsc_domain::trace::TraceContext;
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::LookupSpan;

use super::environment::TraceSettings;
use super::queue::{SpanCommand, SpanQueue};

/// Target of the spans that become OpenTelemetry's.
pub const TARGET: &str = "smsc::request";
/// Instrumentation scope, which distinguishes them from the steps of messages.
const SCOPE: &str = "smsc.http";

static QUEUE: OnceLock<SpanQueue> = OnceLock::new();

/// Puts ended spans into the queue, or drops and counts them.
#[derive(Debug)]
struct IntoQueue;

/// The layer; `None` when the environment names no collector.
pub fn layer<S>() -> Option<impl Layer<S>>
where
    S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    // An error is reported when the exporter is started.
    TraceSettings::read(0, |name| std::env::var(name).ok()).ok()??;
    let provider = SdkTracerProvider::builder()
        .with_span_processor(IntoQueue)
        .build();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer(SCOPE))
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_filter(filter_fn(|metadata| {
            metadata.is_span() && metadata.target() == TARGET
        }));
    Some(layer)
}

/// The span of the request that is being carried out, as the parent of what it causes; `None` unless it is recorded.
pub fn current() -> Option<TraceContext> {
    let context = tracing::Span::current().context();
    let span = context.span();
    let span = span.span_context();
    let is_recorded = span.is_valid() && span.is_sampled();
    is_recorded
        .then(|| TraceContext::root(span.trace_id().to_bytes()).below(span.span_id().to_bytes()))
}

/// Makes a span the child of the caller's (W3C Trace Context, section 3.2).
pub fn continue_from(span: &tracing::Span, traceparent: &str) {
    let headers = HashMap::from([("traceparent".to_owned(), traceparent.to_owned())]);
    // Without a collector there is no trace.
    let _ = span.set_parent(TraceContextPropagator::new().extract(&headers));
}

/// From now on spans are exported.
pub(super) fn attach(queue: SpanQueue) {
    // A second start in one process (in tests) leaves them with the first.
    let _ = QUEUE.set(queue);
}

// === impl IntoQueue ===

impl SpanProcessor for IntoQueue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        let Some(queue) = QUEUE.get() else {
            return;
        };
        match queue.commands.try_send(SpanCommand::Span(Box::new(span))) {
            Ok(()) => drop(queue.waiting.inc()),
            Err(_) => drop(queue.full.inc()),
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}
