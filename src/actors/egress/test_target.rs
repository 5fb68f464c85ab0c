//! The built-in targets of routes, on which every message is delivered, accepted, dropped, fails, or finds nobody
//! (moiji-mobile's test delivery method and filters). They send nothing, and serve their queues like a session.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Handler, Supervised};
use bytes::Bytes;

use crate::actors::context::NodeContext;
use crate::actors::context::ports::QueuePort;
use crate::actors::context::traced::{AttemptOutcome, TracedAttempt};
use crate::actors::runtime::timed_mailbox::measured;
use crate::domain::command_status;
use crate::pb::failed::Why;
use crate::pb::{
    DeliverBatch, Failed, Held, MessageState, ReportHeld, Sent, SentBatch, SettleBatch,
};
use crate::smpp::CommandStatus;

const WINDOW: u32 = 1000;

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
}

// === impl TestTarget ===

impl TestTarget {
    pub fn new(node: Arc<NodeContext>, queue: Arc<QueuePort>, behaviour: Behaviour) -> Self {
        let session = node.binds.next_session();
        Self {
            node,
            queue,
            behaviour,
            session,
        }
    }

    /// Ends messages with their answer: a receipt that comes later would be lost with the process, for nobody else
    /// has it.
    fn complete(&self, batch: DeliverBatch, state: MessageState) {
        self.note(&batch, AttemptOutcome::Ok);
        let theirs = |id: u64| Bytes::from(format!("test-{id}"));
        let done: Vec<u64> = batch
            .deliveries
            .iter()
            .map(|delivery| delivery.id)
            .collect();
        let sent = batch
            .deliveries
            .into_iter()
            .map(|delivery| Sent {
                id: delivery.id,
                attempt: delivery.attempt,
                operator_message_id: theirs(delivery.id),
                latency_ms: 0,
                message: delivery.message,
                receipt_expected: false,
                state: state.into(),
            })
            .collect();
        let operator = self.queue.id;
        self.node.tell_sent(SentBatch {
            operator,
            sent,
            confirm: false,
            session: self.session,
        });
        let room = done.len() as u32;
        self.queue.post(SettleBatch {
            session: self.session,
            done,
            failed: Vec::new(),
            room,
        });
    }

    /// Counts the attempts, and emits their spans.
    fn note(&self, batch: &DeliverBatch, outcome: AttemptOutcome) {
        for delivery in &batch.deliveries {
            let message = delivery.message.as_ref();
            let (what, number) = (delivery.what(), delivery.attempt);
            let attempt = message.and_then(|message| {
                TracedAttempt::begin(&self.node, self.queue.id, message, what, number)
            });
            let trace = attempt.as_ref().and_then(|attempt| attempt.trace_id());
            match outcome {
                AttemptOutcome::Status(status) => {
                    let class = command_status::class(status);
                    self.queue.attempts.refused(class, Duration::ZERO, trace);
                }
                _ => self.queue.attempts.succeeded(Duration::ZERO, trace),
            }
            if let Some(attempt) = attempt {
                attempt.end(&self.node, self.queue.id, "submit_sm", None, outcome);
            }
        }
    }

    fn unreachable(&self, batch: DeliverBatch) {
        let refused = CommandStatus::ESME_RDELIVERYFAILURE.0;
        self.note(&batch, AttemptOutcome::Status(refused));
        let failed: Vec<Failed> = batch
            .deliveries
            .into_iter()
            .map(|delivery| Failed {
                id: delivery.id,
                why: Why::Status.into(),
                status: refused,
                latency_ms: 0,
                attempt: delivery.attempt,
                ..Failed::default()
            })
            .collect();
        let room = failed.len() as u32;
        self.queue.post(SettleBatch {
            session: self.session,
            done: Vec::new(),
            failed,
            room,
        });
    }
}

/// Messages whose senders get no receipts, whatever they have asked for.
fn untold(mut batch: DeliverBatch) -> DeliverBatch {
    let deliveries = batch.deliveries.iter_mut();
    for message in deliveries.filter_map(|delivery| delivery.message.as_mut()) {
        message.registered_delivery = 0;
        message.report_states = 0;
    }
    batch
}

measured!(TestTarget: DeliverBatch);

impl Actor for TestTarget {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.queue.serve(self.session, &ctx.address(), WINDOW);
    }
}

impl Supervised for TestTarget {}

impl Handler<DeliverBatch> for TestTarget {
    type Result = ();

    fn handle(&mut self, batch: DeliverBatch, _: &mut Self::Context) {
        match self.behaviour {
            Behaviour::Delivered => self.complete(batch, MessageState::Delivered),
            Behaviour::Accepted => self.complete(batch, MessageState::Accepted),
            Behaviour::Dropped => self.complete(untold(batch), MessageState::Deleted),
            Behaviour::Failed => self.complete(batch, MessageState::Undeliverable),
            Behaviour::Unreachable => self.unreachable(batch),
        }
    }
}

impl Handler<ReportHeld> for TestTarget {
    type Result = ();

    /// It settles at once and never holds a message.
    fn handle(&mut self, _: ReportHeld, _: &mut Self::Context) {
        self.queue.post(Held {
            session: self.session,
            ids: Vec::new(),
            room: WINDOW,
        });
    }
}
