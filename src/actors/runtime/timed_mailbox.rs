//! Measured mailboxes: how many messages wait, how long they wait, and how long each takes to handle.
//!
//! Used on the data path, where each message is a batch, so that the cost is a few clock reads per
//! batch. An actor takes part with [`measured!`]; the kinds of actors are in [`Mailboxes`].

use std::time::Instant;

use actix::Message;

use crate::telemetry::metrics::{Mailbox, Metrics};

/// The kinds of actors with a measured mailbox.
pub struct Mailboxes {
    pub ingest: Mailbox,
    pub queue: Mailbox,
    pub session: Mailbox,
    pub correlation: Mailbox,
    pub receipts: Mailbox,
    pub throttle: Mailbox,
}

/// A message in a mailbox; it has the same result as the message itself.
pub struct Timed<M> {
    message: M,
    waiting: QueuedMessage,
}

/// A message that waits; counted until this is dropped.
struct QueuedMessage {
    mailbox: Mailbox,
    since: Instant,
}

/// A message is being handled.
pub struct Handling {
    mailbox: Mailbox,
    since: Instant,
}

impl<M: Message> Message for Timed<M> {
    type Result = M::Result;
}

// === impl Mailboxes ===

impl Mailboxes {
    pub fn new(metrics: &Metrics) -> Self {
        Self {
            ingest: metrics.mailbox("ingest"),
            queue: metrics.mailbox("queue"),
            session: metrics.mailbox("session"),
            correlation: metrics.mailbox("correlation"),
            receipts: metrics.mailbox("receipts"),
            throttle: metrics.mailbox("throttle"),
        }
    }
}

// === impl Timed ===

impl<M> Timed<M> {
    /// Counts the message as waiting from now on.
    pub fn new(message: M, mailbox: &Mailbox) -> Self {
        mailbox.depth.inc();
        Self {
            message,
            waiting: QueuedMessage {
                mailbox: Mailbox::clone(mailbox),
                since: Instant::now(),
            },
        }
    }

    /// The message, and the measurement of its handling, which ends with [`Handling::done`].
    pub fn open(self) -> (M, Handling) {
        let now = Instant::now();
        let mailbox = Mailbox::clone(&self.waiting.mailbox);
        mailbox
            .wait
            .observe(now.duration_since(self.waiting.since).as_secs_f64());
        (
            self.message,
            Handling {
                mailbox,
                since: now,
            },
        )
    }
}

impl Drop for QueuedMessage {
    fn drop(&mut self) {
        self.mailbox.depth.dec();
    }
}

// === impl Handling ===

impl Handling {
    /// The handler has returned; work that it has spawned does not count.
    pub fn done(self) {
        self.mailbox
            .handling
            .observe(self.since.elapsed().as_secs_f64());
    }
}

/// Implements the handlers of [`Timed`] messages for an actor.
macro_rules! measured {
    ($actor:ty: $($message:ty),+) => {$(
        impl ::actix::Handler<$crate::actors::runtime::timed_mailbox::Timed<$message>> for $actor {
            type Result = <$actor as ::actix::Handler<$message>>::Result;

            fn handle(
                &mut self,
                timed: $crate::actors::runtime::timed_mailbox::Timed<$message>,
                ctx: &mut Self::Context,
            ) -> Self::Result {
                let (message, handling) = timed.open();
                let answer = <$actor as ::actix::Handler<$message>>::handle(self, message, ctx);
                handling.done();
                answer
            }
        }
    )+};
}

pub(crate) use measured;
