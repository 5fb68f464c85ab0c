//! The connection of a source, its consumer, and taking commands from it within a bound.
//!
//! Commands are asked for only while there is room for them. Those that are there at once are worked on together, until it
//! is decided what becomes of each: one that waits for its operator holds up no other. While the store refuses, nothing is
//! asked for.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::context::{ContextBuilder, GetStreamErrorKind};
use futures_util::StreamExt as _;
use tokio::time::{Instant, sleep, timeout};

use super::admission::{self, OperatorStanding};
use super::progress::SourceProgress;
use super::source::{Line, Places, Source};
use super::take;
use crate::actors::runtime::nats;
use crate::config::SourceMode;

/// After a failure it is tried again after this time.
const AGAIN: Duration = Duration::from_secs(1);
/// A question for commands is over after this time, and asked again.
const ASK_FOR: Duration = Duration::from_secs(2);
/// Most commands that are worked on together.
const TOGETHER: usize = 256;
/// How often the commands that wait in the stream are counted.
const COUNT_EVERY: Duration = Duration::from_secs(2);
/// A node without binds looks again whether it has one after this time.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

// === impl Source ===

impl Source {
    /// Takes commands until this is dropped.
    pub(super) async fn run(self: Arc<Self>) {
        let mut is_told = false;
        loop {
            let why = match self.serve().await {
                Ok(()) => "the connection is lost".to_owned(),
                Err(error) => error.to_string(),
            };
            let name = &self.config.name;
            // Once for each time that it fails, not for each attempt.
            if self.standing.is_connected() || !is_told {
                tracing::warn!(source = name, why, "no commands are taken from NATS");
                is_told = true;
            }
            self.standing.lost(&why);
            sleep(AGAIN).await;
        }
    }

    async fn serve(self: &Arc<Self>) -> Result<(), async_nats::Error> {
        let (consumer, line, mut progress) = self.open().await?;
        self.standing.connected();
        tracing::info!(source = self.config.name, "commands are taken from NATS");
        let line = Arc::new(line);
        let mut counted: Option<Instant> = None;
        while line.client.connection_state() == State::Connected {
            if counted.is_none_or(|at| at.elapsed() >= COUNT_EVERY) {
                counted = Some(Instant::now());
                let info = timeout(self.config.timeout, consumer.get_info()).await??;
                self.standing
                    .waiting
                    .store(info.num_pending, Ordering::Relaxed);
                progress.note(self, &info).await?;
            }
            if let Some(pause) = self.pause() {
                sleep(pause).await;
                continue;
            }
            self.ask(&consumer, &line).await?;
        }
        Ok(())
    }

    /// Asks for as many commands as there is room for, and begins to work on each that comes.
    async fn ask(
        self: &Arc<Self>,
        consumer: &PullConsumer,
        line: &Arc<Line>,
    ) -> Result<(), async_nats::Error> {
        let one = timeout(ASK_FOR, Arc::clone(&self.slots).acquire_owned()).await;
        let Ok(Ok(mut slots)) = one else {
            // Everything waits for answers.
            return Ok(());
        };
        let more = self.slots.available_permits();
        if let Ok(more) = Arc::clone(&self.slots).try_acquire_many_owned(more as u32) {
            slots.merge(more);
        }
        let batch = consumer.batch().max_messages(slots.num_permits());
        let batch = batch.expires(ASK_FOR).messages().await?;
        let mut batch = batch.ready_chunks(TOGETHER);
        while let Some(come) = batch.next().await {
            let mut messages = Vec::with_capacity(come.len());
            let mut failed = None;
            for one in come {
                match one {
                    Ok(message) => messages.push(message),
                    Err(error) => failed = Some(error),
                }
            }
            let Some(slots) = slots.split(messages.len()) else {
                break;
            };
            let places = Places::new(self, slots);
            let (source, line) = (Arc::clone(self), Arc::clone(line));
            // On the heap at once: it is large, and would be moved several times.
            actix::spawn(Box::pin(take::take(source, line, messages, places)));
            if let Some(error) = failed {
                return Err(error);
            }
        }
        Ok(())
    }

    /// How long not to ask for commands, if that is not to be now.
    fn pause(&self) -> Option<Duration> {
        if self.api.is_draining() {
            return Some(LOOK_AGAIN);
        }
        if let Some(left) = self.rest_left() {
            return Some(left);
        }
        let is_elsewhere = self.config.mode == SourceMode::Operator
            && self.target().is_some_and(|queue| {
                admission::standing(self.node(), queue) == OperatorStanding::Elsewhere
            });
        is_elsewhere.then_some(LOOK_AGAIN)
    }

    /// Connects, and finds the consumer or creates it.
    async fn open(&self) -> Result<(PullConsumer, Line, SourceProgress), async_nats::Error> {
        let client = nats::connect(&self.config.connection()).await?;
        let context = ContextBuilder::new()
            .timeout(self.config.timeout)
            .ack_timeout(self.config.timeout)
            .build(client.clone());
        let stream = context.get_stream(&self.config.stream).await;
        let stream = stream.inspect_err(|error| {
            if is_missing(&error.kind()) {
                self.stream_was_missing.store(true, Ordering::Relaxed);
            }
        })?;
        let progress = SourceProgress::read(self, stream.cached_info()).await?;
        let name = self.config.consumer();
        let wanted = pull::Config {
            deliver_policy: progress.begin(self, stream.cached_info()),
            durable_name: Some(name.clone()),
            description: Some("smsc".to_owned()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: self.config.ack_wait,
            filter_subject: self.config.subject.clone(),
            max_ack_pending: i64::from(self.config.in_flight),
            ..pull::Config::default()
        };
        let consumer = stream.get_or_create_consumer(&name, wanted).await?;
        let found = &consumer.cached_info().config;
        if found.ack_policy != AckPolicy::Explicit {
            return Err(format!("the consumer {name} has no explicit acknowledgements").into());
        }
        let line = Line {
            client,
            context,
            ack_wait: found.ack_wait,
        };
        Ok((consumer, line, progress))
    }
}

/// Whether a server says that a stream is not there.
fn is_missing(error: &GetStreamErrorKind) -> bool {
    matches!(error, GetStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND)
}
