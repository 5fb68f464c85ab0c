//! The built-in targets of routes, on which every message is delivered, accepted, dropped, fails, or finds nobody
//! (moiji-mobile's test delivery method and filters). They send nothing, and serve their queues like a session.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Handler, Supervised};
use bytes::Bytes;

use crate::actors::context::NodeContext;
use crate::actors::context::ports::QueuePort;
use crate::actors::context::traced::TracedAttempt;
use crate::actors::runtime::timed_mailbox::measured;
use crate::actors::session::bound::InFlight;
use crate::actors::session::served_queue::{RequestRoom, ServedQueue};
use crate::pb::{DeliverBatch, Delivery, MessageState, ReportHeld, Sent, SentBatch};
use crate::smpp::CommandStatus;

/// It settles at once and never holds a message.
const ROOM: RequestRoom = RequestRoom {
    most: 1000,
    held: 0,
    least: 0,
};

/// How a built-in target behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    Delivered,
    /// Its sender is told of success, and of no delivery.
    Accepted,
    /// Its sender is told of nothing.
    Dropped,
    Failed,
    Unreachable,
}

pub struct TestTarget {
    node: Arc<NodeContext>,
    queue: Arc<QueuePort>,
    behaviour: Behaviour,
    session: u64,
    served: ServedQueue,
}

// === impl Behaviour ===

impl Behaviour {
    /// From a queue's name, such as `test:failed`.
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "test:delivered" => Some(Self::Delivered),
            "test:accepted" => Some(Self::Accepted),
            "test:dropped" => Some(Self::Dropped),
            "test:failed" => Some(Self::Failed),
            "test:unreachable" => Some(Self::Unreachable),
            _ => None,
        }
    }

    /// How it ends a message; `None` where nobody takes it.
    fn state(self) -> Option<MessageState> {
        match self {
            Self::Delivered => Some(MessageState::Delivered),
            Self::Accepted => Some(MessageState::Accepted),
            Self::Dropped => Some(MessageState::Deleted),
            Self::Failed => Some(MessageState::Undeliverable),
            Self::Unreachable => None,
        }
    }
}

// === impl TestTarget ===

impl TestTarget {
    pub fn new(node: Arc<NodeContext>, queue: Arc<QueuePort>, behaviour: Behaviour) -> Self {
        let session = node.binds.next_session();
        Self {
            served: ServedQueue::new(&node, session, "submit_sm"),
            node,
            queue,
            behaviour,
            session,
        }
    }

    /// Ends a message with its answer: a receipt that comes later would be lost with the process, for nobody else
    /// has it.
    fn answer(&mut self, mut delivery: Delivery) -> Option<Sent> {
        let (what, id, attempt) = (delivery.what(), delivery.id, delivery.attempt);
        if let (Behaviour::Dropped, Some(message)) = (self.behaviour, &mut delivery.message) {
            // Its sender gets no receipts, whatever it has asked for.
            message.registered_delivery = 0;
            message.report_states = 0;
        }
        let message = delivery.message.as_ref();
        let traced = message.and_then(|message| {
            TracedAttempt::begin(&self.node, self.queue.id, message, what, attempt)
        });
        let context = InFlight {
            id,
            attempt,
            what,
            since: message.map_or(0, |message| message.waits_since()),
            traced,
            ..InFlight::default()
        };
        let Some(state) = self.behaviour.state() else {
            let status = CommandStatus::ESME_RDELIVERYFAILURE.0;
            self.served
                .note(|serving| serving.refused(&context, status, Duration::ZERO));
            return None;
        };
        self.served
            .note(|serving| serving.done(&context, Duration::ZERO, false));
        Some(Sent {
            id,
            attempt,
            operator_message_id: Bytes::from(format!("test-{id}")),
            latency_ms: 0,
            message: delivery.message,
            receipt_expected: false,
            state: state.into(),
        })
    }
}

measured!(TestTarget: DeliverBatch);

impl Actor for TestTarget {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let queue = Arc::clone(&self.queue);
        self.served.join(queue, &ctx.address(), "", ROOM);
    }
}

impl Supervised for TestTarget {
    fn restarting(&mut self, _: &mut Self::Context) {
        self.served.leave();
    }
}

impl Handler<DeliverBatch> for TestTarget {
    type Result = ();

    fn handle(&mut self, batch: DeliverBatch, _: &mut Self::Context) {
        let granted = self.served.granted(batch).unwrap_or_default();
        let answered = granted.into_iter().filter_map(|one| self.answer(one));
        let sent: Vec<Sent> = answered.collect();
        if !sent.is_empty() {
            self.node.tell_sent(SentBatch {
                operator: self.queue.id,
                sent,
                confirm: false,
                session: self.session,
            });
        }
        self.served.settle(ROOM);
    }
}

impl Handler<ReportHeld> for TestTarget {
    type Result = ();

    fn handle(&mut self, ask: ReportHeld, _: &mut Self::Context) {
        self.served.report(&ask, Vec::new(), ROOM);
    }
}
