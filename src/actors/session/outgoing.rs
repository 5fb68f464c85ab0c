//! What a bound session does with deliveries, whichever side it is: sends them within its window
//! and settles them with the queue they came from, in batches.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::{Actor, Addr, Context, Handler};
use bytes::BytesMut;

use crate::actors::context::NodeContext;
use crate::actors::context::item::has_expired;
use crate::actors::context::ports::QueuePort;
use crate::actors::context::traced::{AttemptOutcome, TracedAttempt};
use crate::actors::runtime::timed_mailbox::Timed;
use crate::actors::session::bound::{BoundProtocol, DeliveryOperation, InFlight};
use crate::clock;
use crate::domain::callback::states::RETRYING;
use crate::domain::command_status::RefusalClass;
use crate::pb::delivery::What;
use crate::pb::failed::Why;
use crate::pb::{Credit, DeliverBatch, Failed, Held, Message, ReportHeld, SettleBatch};
use crate::smpp::{CommandStatus, SubmitSm};
use crate::store::SentRow;

/// One delivery, ready to be written.
pub struct Prepared {
    pub pdu: SubmitSm,
    pub keep_message: bool,
    pub receipt_expected: bool,
    /// Characters that the peer's alphabet does not have, and that were replaced.
    pub characters_changed: usize,
    /// The peer cannot be given it: counts as its answer.
    pub refused: Option<CommandStatus>,
}

/// The link between one session and the queue that it serves. Leaving is in `Drop`, so that it
/// happens however the session ends, a panic included.
pub struct Serving {
    node: Arc<NodeContext>,
    session: u64,
    /// Which joining of the session this is.
    joined: u64,
    port: Arc<QueuePort>,
    /// Whom it sends to, and as what.
    peer: Option<SocketAddr>,
    operation: &'static str,
    batch: SettleBatch,
}

// === impl Serving ===

impl Serving {
    /// Joins the queue for an actor, and offers all of its room. `peer` is whom it will send to, by `operation`.
    pub fn join<A>(
        node: &Arc<NodeContext>,
        session: u64,
        port: Arc<QueuePort>,
        actor: &Addr<A>,
        room: u32,
        peer: &str,
        operation: &'static str,
    ) -> Self
    where
        A: Actor<Context = Context<A>> + Handler<Timed<DeliverBatch>> + Handler<ReportHeld>,
    {
        let joined = port.serve(session, actor, room);
        Self {
            node: Arc::clone(node),
            session,
            joined,
            port,
            peer: peer.parse().ok(),
            operation,
            batch: SettleBatch::default(),
        }
    }

    /// Takes no more; what is in the window is still answered for.
    pub fn retire(&self) {
        self.port.retire(self.session);
        self.port.post(Credit {
            session: self.session,
            room: 0,
            retire: true,
            joined: self.joined,
        });
    }

    /// Whether this joining was granted it, and not the one before: from that the queue has taken it back.
    pub fn is_granted(&self, batch: &DeliverBatch) -> bool {
        batch.joined == self.joined
    }

    /// Sends a batch as `operation`, prepared one by one. What cannot be sent is given back.
    pub fn deliver<P: BoundProtocol>(
        &mut self,
        protocol: &mut P,
        batch: DeliverBatch,
        now: Instant,
        out: &mut BytesMut,
        operation: DeliveryOperation,
        mut prepare: impl FnMut(&Message, What) -> Prepared,
    ) {
        // Without a valid lease another node may be sending the same.
        let lawful = self.port.local_lease.is_valid();
        self.operation = operation.name;
        let now_ms = clock::now_ms();
        for delivery in batch.deliveries {
            let what = delivery.what();
            let Some(message) = delivery.message else {
                continue;
            };
            // It may have expired since it was granted: its queue ends it.
            if !lawful || has_expired(delivery.expires, now_ms) {
                self.give_back(delivery.id, delivery.attempt);
                continue;
            }
            let mut prepared = prepare(&message, what);
            if let Some(status) = prepared.refused {
                self.failed(Failed {
                    id: delivery.id,
                    why: Why::Status.into(),
                    status: status.0,
                    attempt: delivery.attempt,
                    unsent: true,
                    ..Failed::default()
                });
                continue;
            }
            let since = message.waits_since();
            let traced =
                TracedAttempt::begin(&self.node, self.port.id, &message, what, delivery.attempt);
            let context = InFlight {
                id: delivery.id,
                attempt: delivery.attempt,
                what,
                message: prepared.keep_message.then_some(message),
                receipt_expected: prepared.receipt_expected,
                since,
                traced,
            };
            if !protocol.send(now, context, operation.encode, &mut prepared.pdu, out) {
                self.give_back(delivery.id, delivery.attempt);
            }
        }
        protocol.end_batch(now, out);
        self.flush();
    }

    /// Answered with ESME_ROK after this time; `room`: whether the window slot is free now.
    pub fn done(&mut self, context: &InFlight, after: Duration, room: bool) {
        self.port.attempts.succeeded(after, context.trace_id());
        self.trace(context, AttemptOutcome::Ok);
        self.batch.done.push(context.id);
        self.batch.room += u32::from(room);
    }

    /// Answered with another command_status after this time.
    pub fn refused(&mut self, context: &InFlight, status: u32, after: Duration) {
        let class = self.node.plan().retry_of(self.port.id).class(status);
        self.port.attempts.refused(class, after, context.trace_id());
        self.node.metrics.attempt_refused(&self.port.name, status);
        self.trace(context, AttemptOutcome::Status(status));
        self.failed(failure_of(context, Why::Status, status, after));
        self.tell_of(context);
    }

    /// The peer refused it after its time was over and its outcome taken for unknown.
    pub fn refused_late(&mut self, context: &InFlight, status: u32, after: Duration) {
        self.add_failure(Failed {
            late: true,
            ..failure_of(context, Why::Status, status, after)
        });
        self.tell_of(context);
    }

    /// No answer came, or can come any more.
    pub fn unanswered(&mut self, context: &InFlight) {
        self.port.attempts.unanswered();
        self.trace(context, AttemptOutcome::Unanswered);
        self.failed(failure_of(context, Why::Unknown, 0, Duration::ZERO));
        self.tell_of(context);
    }

    /// No answer came, or can come any more; the session is told when that is durable.
    pub fn unanswered_confirmed(&mut self, context: &InFlight) {
        self.unanswered(context);
        self.mark(|failed| failed.confirm = true);
    }

    /// Gives the queue the message of the failure that was just noted, if its sender hears of it.
    fn tell_of(&mut self, context: &InFlight) {
        let message = context.message.as_ref();
        if let Some(message) = message.filter(|message| message.report_states & RETRYING != 0) {
            self.mark(|failed| failed.message = Some(message.clone()));
        }
    }

    /// Says more of the failure that was just noted.
    fn mark(&mut self, mark: impl FnOnce(&mut Failed)) {
        if let Some(failed) = self.batch.failed.last_mut() {
            mark(failed);
        }
    }

    /// The connection has gone before the answer came.
    pub fn lost(&mut self, context: &InFlight) {
        self.unanswered(context);
        self.mark(|failed| failed.lost = true);
    }

    /// The connection has gone before the answer came: the peer ended the session, or was silent until it was ended.
    pub fn ended(&mut self, context: &InFlight) {
        self.lost(context);
        self.mark(|failed| failed.ended = true);
    }

    /// Says of the failure that was just noted that the peer was never sent the message.
    pub fn unsent(&mut self) {
        self.mark(|failed| failed.unsent = true);
    }

    /// Says of the failure that was just noted whether others to the same subscriber have failed like it.
    pub fn repeated(&mut self, repeated: bool) {
        self.mark(|failed| failed.repeated = repeated);
    }

    /// Not taken, and to be sent again after a pause; `status` is `None` where no answer came.
    pub fn later(
        &mut self,
        context: &InFlight,
        status: Option<u32>,
        after: Duration,
        pause: Duration,
    ) {
        self.note_failure(context, status, RefusalClass::Temporary, after);
        let number = status.unwrap_or(SentRow::NO_ANSWER);
        self.add_failure(Failed {
            pause_ms: u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
            ..failure_of(context, Why::Later, number, after)
        });
    }

    /// Not taken, and not to be sent again: for this reason, and with this error code if it is a message.
    pub fn give_up(
        &mut self,
        context: &InFlight,
        status: Option<u32>,
        after: Duration,
        reason: String,
        error: String,
    ) {
        self.note_failure(context, status, RefusalClass::Permanent, after);
        let number = status.unwrap_or(SentRow::NO_ANSWER);
        self.add_failure(Failed {
            reason,
            error,
            ..failure_of(context, Why::GivenUp, number, after)
        });
    }

    fn note_failure(
        &self,
        context: &InFlight,
        status: Option<u32>,
        class: RefusalClass,
        after: Duration,
    ) {
        match status {
            Some(status) => {
                self.port.attempts.refused(class, after, context.trace_id());
                self.trace(context, AttemptOutcome::Status(status));
            }
            None => {
                self.port.attempts.unanswered();
                self.trace(context, AttemptOutcome::Unanswered);
            }
        }
    }

    /// Done without having been sent: it is out of date.
    pub fn passed_over(&mut self, context: &InFlight) {
        self.batch.done.push(context.id);
    }

    /// Was not sent, and is not to be tried before this pause is over: its subscriber is not there.
    pub fn waits(&mut self, context: &InFlight, pause: Duration) {
        self.paused(context, pause, Why::Waits);
    }

    /// Was not sent because of where it goes, and is not to be tried before this pause is over; nothing is recorded.
    pub fn held_up(&mut self, context: &InFlight, pause: Duration) {
        self.paused(context, pause, Why::HeldUp);
    }

    fn paused(&mut self, context: &InFlight, pause: Duration, why: Why) {
        self.add_failure(Failed {
            pause_ms: u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
            ..failure_of(context, why, 0, Duration::ZERO)
        });
    }

    /// Goes back to the front of its queue: it was not sent.
    pub fn give_back(&mut self, id: u64, attempt: u32) {
        self.failed(Failed {
            attempt,
            ..Failed::not_sent(id)
        });
    }

    /// Sends what has gathered to the queue, with so much room, whatever became free. For sessions whose
    /// room is not that of a window.
    pub fn settle(&mut self, room: u32) {
        self.batch.room = room;
        if room > 0 || !self.batch.done.is_empty() || !self.batch.failed.is_empty() {
            self.post_batch();
        }
    }

    fn post_batch(&mut self) {
        let mut batch = std::mem::take(&mut self.batch);
        batch.session = self.session;
        batch.joined = self.joined;
        self.port.post(batch);
    }

    /// Says what a session without a window holds, to a queue that has restarted.
    pub fn report_held(&self, ask: &ReportHeld, ids: Vec<u64>, room: u32) {
        self.port.post(Held {
            session: self.session,
            ids,
            room,
            question: ask.question,
            joined: self.joined,
        });
    }

    fn trace(&self, context: &InFlight, outcome: AttemptOutcome) {
        if let Some(attempt) = &context.traced {
            attempt.end(&self.node, self.port.id, self.operation, self.peer, outcome);
        }
    }

    /// Not delivered, for whichever reason. The window slot is free again.
    fn failed(&mut self, failed: Failed) {
        self.add_failure(failed);
        self.batch.room += 1;
    }

    /// Adds a failure to what the queue is told, with its time: the queue may hear of it much later, and a pause begins now.
    fn add_failure(&mut self, failed: Failed) {
        self.batch.failed.push(Failed {
            at: clock::now_ms(),
            ..failed
        });
    }

    /// Sends what has gathered to the queue.
    pub fn flush(&mut self) {
        if self.batch.done.is_empty() && self.batch.failed.is_empty() {
            return;
        }
        self.post_batch();
    }

    /// Says what this session holds, to a queue that has restarted.
    pub fn report(&self, ask: &ReportHeld, protocol: &impl BoundProtocol) {
        let held = protocol.messages().iter();
        let ids = held.map(|(_, entry)| entry.item.id).collect();
        self.report_held(ask, ids, protocol.room() as u32);
    }
}

/// What its queue is told of a message that was not delivered.
fn failure_of(context: &InFlight, why: Why, status: u32, after: Duration) -> Failed {
    Failed {
        id: context.id,
        why: why.into(),
        status,
        latency_ms: after.as_millis() as u32,
        attempt: context.attempt,
        ..Failed::default()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.port.session_down(self.session);
    }
}
