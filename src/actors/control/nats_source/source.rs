//! A source and its connection, as the work on its commands needs them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::{self, Context};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::Instant;

use super::admission::Pace;
use super::answers::{Answers, AwaitedAnswer};
use super::board::Standing;
use super::broken::BrokenCommands;
use super::burial::Burials;
use crate::actors::context::NodeContext;
use crate::actors::ingress::account_api::{AccountApi, Command, CommandOutcome};
use crate::actors::runtime::locks::lock;
use crate::config::NatsSource;
use crate::store::redis::Redis;

/// What the work on commands of one source has in common.
pub(super) struct Source {
    pub api: AccountApi,
    pub config: NatsSource,
    pub standing: Arc<Standing>,
    /// Where rates of operators are counted, if they are shared.
    pub redis: Option<Arc<Redis>>,
    /// By queue: that of its operator, and of one that stands in.
    pub paces: Mutex<HashMap<u32, Pace>>,
    /// Answers of operators, for `mode = "operator"`.
    pub answers: Answers,
    /// Commands to be submitted; as many as may be under way at most.
    submits: mpsc::Sender<WaitingCommands>,
    /// Dead letters that could not be published.
    pub burials: Mutex<Burials>,
    /// Commands whose submission has failed by an error of the SMSC.
    pub broken: Mutex<BrokenCommands>,
    /// As many as commands may be under way.
    pub slots: Arc<Semaphore>,
    /// Nothing is asked for before this time.
    rests_until: Mutex<Option<Instant>>,
    /// Whether the server has said that the stream is not there: one that is made later has only commands for this source.
    pub stream_was_missing: AtomicBool,
}

/// Commands that wait to be submitted, and who waits for what becomes of them.
pub(super) struct WaitingCommands {
    pub commands: Vec<Command>,
    /// The queue that they go to; 0 where routes decide.
    pub to: u32,
    /// Whether they may not be in a batch with others.
    pub is_alone: bool,
    pub reply: oneshot::Sender<Vec<CommandOutcome>>,
}

/// Places of commands under way; free again when this is dropped.
pub(super) struct Places {
    standing: Arc<Standing>,
    slots: OwnedSemaphorePermit,
}

/// A consumer, and what is needed to tell it.
pub(super) struct Line {
    pub client: Client,
    pub context: Context,
    /// A command that is worked on for longer asks for more time.
    pub ack_wait: Duration,
}

// === impl Source ===

impl Source {
    /// A source, and where its commands to be submitted and its questions for answers arrive.
    pub(super) fn new(
        api: AccountApi,
        config: NatsSource,
        standing: Arc<Standing>,
        redis: Option<Arc<Redis>>,
    ) -> (
        Arc<Self>,
        mpsc::Receiver<WaitingCommands>,
        mpsc::Receiver<AwaitedAnswer>,
    ) {
        let (submits, waiting) = mpsc::channel(config.in_flight as usize);
        let (answers, asked) = Answers::new(config.in_flight as usize);
        let source = Arc::new(Self {
            api,
            answers,
            submits,
            slots: Arc::new(Semaphore::new(config.in_flight as usize)),
            config,
            standing,
            redis,
            paces: Mutex::default(),
            burials: Mutex::default(),
            broken: Mutex::default(),
            rests_until: Mutex::default(),
            stream_was_missing: AtomicBool::default(),
        });
        (source, waiting, asked)
    }

    /// Has commands submitted; what becomes of them is told, or nothing if that has failed by an error of the SMSC.
    pub(super) async fn submit(
        &self,
        commands: Vec<Command>,
        to: u32,
        is_alone: bool,
    ) -> oneshot::Receiver<Vec<CommandOutcome>> {
        let (reply, answer) = oneshot::channel();
        let waiting = WaitingCommands {
            commands,
            to,
            is_alone,
            reply,
        };
        // If the source was stopped, the reply goes with it.
        let _ = self.submits.send(waiting).await;
        answer
    }

    pub(super) fn node(&self) -> &NodeContext {
        self.api.node()
    }

    /// The queue that its commands go to, 0 where routes decide; `None` while its operator is disabled.
    pub(super) fn target(&self) -> Option<u32> {
        match &self.config.operator {
            None => Some(0),
            Some(name) => self.node().plan().queue_of(name),
        }
    }

    /// The store refuses: nothing is asked for until a delayed command comes again.
    pub(super) fn rest(&self) {
        let until = Instant::now() + self.config.nak_delay;
        *lock(&self.rests_until) = Some(until);
    }

    /// How long the store has still to be left alone, if it has.
    pub(super) fn rest_left(&self) -> Option<Duration> {
        let mut rests = lock(&self.rests_until);
        let left = (*rests)?.saturating_duration_since(Instant::now());
        if left.is_zero() {
            *rests = None;
            return None;
        }
        Some(left)
    }
}

// === impl Places ===

impl Places {
    pub(super) fn new(source: &Source, slots: OwnedSemaphorePermit) -> Self {
        let standing = Arc::clone(&source.standing);
        let count = slots.num_permits() as u64;
        standing.in_flight.fetch_add(count, Ordering::Relaxed);
        Self { standing, slots }
    }

    /// One of them.
    pub(super) fn split_one(&mut self) -> Option<Self> {
        Some(Self {
            slots: self.slots.split(1)?,
            standing: Arc::clone(&self.standing),
        })
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        let count = self.slots.num_permits() as u64;
        self.standing.in_flight.fetch_sub(count, Ordering::Relaxed);
    }
}

// === impl Line ===

impl Line {
    /// Tells the server what became of a command, and does not wait until it knows: that would cost it and us another
    /// message for each. What it is not told is delivered again, and recognised.
    pub(super) async fn tell(
        &self,
        message: &jetstream::Message,
        what: jetstream::AckKind,
    ) -> Result<(), async_nats::Error> {
        let to = message.reply.clone().ok_or("it came from no stream")?;
        self.client.publish(to, what.into()).await?;
        Ok(())
    }
}
