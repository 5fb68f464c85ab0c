//! The thread that sends spans to the collector, a batch at a time.
//!
//! Started by [`Traces`](super::Traces). Guarantees that a collector that is slow, away or refuses
//! affects spans only: they are counted, and the log has one line when this begins and one when it
//! ends.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use prometheus_client::metrics::counter::Counter;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use super::environment::TraceSettings;
use super::queue::{SpanCommand, dropped};
use super::transport::{self, Cause};
use crate::metrics::Metrics;

/// Pauses before a batch that was not taken is sent once more.
const AGAIN: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];

struct ExportWorker {
    exporter: SpanExporter,
    /// Why the last request over HTTP failed, which the exporter does not say.
    cause: Cause,
    commands: mpsc::Receiver<SpanCommand>,
    settings: TraceSettings,
    metrics: Arc<Metrics>,
    refused: Counter,
    /// The collector has not taken the last batch.
    failing: bool,
}

/// Starts the thread; gives the bounded queue to it.
///
/// # Errors
/// The exporter cannot be built from the environment; the text names the variable.
pub fn start(
    settings: TraceSettings,
    metrics: Arc<Metrics>,
) -> anyhow::Result<mpsc::Sender<SpanCommand>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let built = {
        // Connections belong to this runtime.
        let _inside = runtime.enter();
        transport::exporter(&settings)
    };
    let (mut exporter, cause) = match built {
        Ok(built) => built,
        Err(error) => {
            // The caller may be inside another runtime, where this one may not wait for its end.
            runtime.shutdown_background();
            return Err(error);
        }
    };
    exporter.set_resource(&settings.resource);
    let (sender, commands) = mpsc::channel(settings.queue);
    let worker = ExportWorker {
        exporter,
        cause,
        commands,
        refused: dropped(&metrics, "refused"),
        metrics,
        settings,
        failing: false,
    };
    std::thread::Builder::new()
        .name("traces".to_owned())
        .spawn(move || runtime.block_on(worker.run()))?;
    Ok(sender)
}

// === impl ExportWorker ===

impl ExportWorker {
    async fn run(mut self) {
        let mut batch = Vec::with_capacity(self.settings.batch);
        loop {
            let flush = match self.gather(&mut batch).await {
                Ok(flush) => flush,
                Err(()) => return self.send(&mut batch, true).await,
            };
            self.send(&mut batch, flush.is_some()).await;
            if let Some(flushed) = flush {
                let _ = flushed.send(());
            }
        }
    }

    /// Waits until a batch is full, its time is over, or a flush is requested. An error when all
    /// senders are gone.
    async fn gather(
        &mut self,
        batch: &mut Vec<SpanData>,
    ) -> Result<Option<oneshot::Sender<()>>, ()> {
        let mut until = None;
        while batch.len() < self.settings.batch {
            let next = match until {
                None => self.commands.recv().await,
                Some(until) => match timeout_at(until, self.commands.recv()).await {
                    Ok(next) => next,
                    Err(_) => break,
                },
            };
            match next {
                Some(SpanCommand::Span(span)) => {
                    batch.push(*span);
                    until.get_or_insert_with(|| Instant::now() + self.settings.delay);
                }
                Some(SpanCommand::Flush(flushed)) => return Ok(Some(flushed)),
                None => return Err(()),
            }
        }
        Ok(None)
    }

    async fn send(&mut self, batch: &mut Vec<SpanData>, last: bool) {
        let count = batch.len();
        if count == 0 {
            return;
        }
        let spans = std::mem::take(batch);
        let mut pauses = AGAIN.iter().take(if last { 0 } else { AGAIN.len() });
        let taken = loop {
            let sent = timeout(self.settings.timeout, self.exporter.export(spans.clone())).await;
            let error = match sent {
                Ok(Ok(())) => break true,
                Ok(Err(error)) => match self.cause.take() {
                    Some(cause) => format!("{error}: {cause}"),
                    None => error.to_string(),
                },
                Err(_) => format!("no answer within {:?}", self.settings.timeout),
            };
            if !self.failing {
                self.failing = true;
                let error = smsc_tls::reworded(&error);
                tracing::warn!(
                    %error,
                    "the collector does not take spans; until it does they are dropped and counted"
                );
            }
            match pauses.next() {
                Some(pause) => tokio::time::sleep(*pause).await,
                None => break false,
            }
        };
        self.metrics.spans_waiting.dec_by(count as i64);
        if !taken {
            self.refused.inc_by(count as u64);
            return;
        }
        self.metrics.spans_exported.inc_by(count as u64);
        if self.failing {
            self.failing = false;
            tracing::info!("the collector takes spans again");
        }
    }
}
