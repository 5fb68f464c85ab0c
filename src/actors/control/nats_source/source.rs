//! A source and its connection, as the work on its commands needs them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::{self, Context};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::admission::Pace;
use super::board::Standing;
use crate::actors::context::NodeContext;
use crate::actors::ingress::account_api::AccountApi;
use crate::actors::runtime::locks::lock;
use crate::config::NatsSource;

/// What the work on commands of one source has in common.
pub(super) struct Source {
    pub api: AccountApi,
    pub config: NatsSource,
    pub standing: Arc<Standing>,
    pub pace: Mutex<Pace>,
    /// As many as commands may be under way.
    pub slots: Arc<Semaphore>,
    /// Nothing is asked for before this time.
    rests_until: Mutex<Option<Instant>>,
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
    pub(super) fn new(api: AccountApi, config: NatsSource, standing: Arc<Standing>) -> Arc<Self> {
        Arc::new(Self {
            api,
            slots: Arc::new(Semaphore::new(config.in_flight as usize)),
            config,
            standing,
            pace: Mutex::default(),
            rests_until: Mutex::default(),
        })
    }

    pub(super) fn node(&self) -> &NodeContext {
        self.api.node()
    }

    /// The queue of its operator; `None` without one, or if it was removed.
    pub(super) fn operator(&self) -> Option<u32> {
        let name = self.config.operator.as_deref()?;
        let plan = self.node().plan();
        let mut operators = plan.operators();
        let found = operators.find(|operator| operator.config.id == name);
        found.map(|operator| operator.id)
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

// === impl Line ===

impl Line {
    /// Tells the server what became of a command, and waits until it knows.
    pub(super) async fn tell(
        &self,
        message: &jetstream::Message,
        what: jetstream::AckKind,
    ) -> Result<(), async_nats::Error> {
        let to = message.reply.clone().ok_or("it came from no stream")?;
        self.client.request(to, what.into()).await?;
        Ok(())
    }
}
