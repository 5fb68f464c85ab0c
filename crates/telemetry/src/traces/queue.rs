//! The bounded queue between those that make spans and the thread that sends them.

use opentelemetry_sdk::trace::SpanData;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{mpsc, oneshot};

use crate::metrics::{Metrics, ReasonLabel};

/// Requests to the thread.
#[cfg_attr(
    not(feature = "otlp"),
    expect(dead_code, reason = "the exporter reads them")
)]
pub enum SpanCommand {
    Span(Box<SpanData>),
    /// Sends everything before, and reports when that is done.
    Flush(oneshot::Sender<()>),
}

/// The way to the thread.
pub struct SpanQueue {
    pub commands: mpsc::Sender<SpanCommand>,
    pub waiting: Gauge,
    pub full: Counter,
}

/// The counter of lost spans for one reason.
pub fn dropped(metrics: &Metrics, reason: &'static str) -> Counter {
    metrics
        .spans_dropped
        .get_or_create_owned(&ReasonLabel { reason })
}
