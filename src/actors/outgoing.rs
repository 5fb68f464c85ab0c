//! What a bound session does with deliveries, whichever side it is: sends them within its window
//! and settles them with the queue they came from, in batches.

use std::sync::Arc;
use std::time::Instant;

use actix::Recipient;
use bytes::BytesMut;

use crate::actors::ports::{QueuePort, SessionPort, post};
use crate::pb::delivery::What;
use crate::pb::failed::Why;
use crate::pb::{
    Credit, DeliverBatch, Failed, Held, Message, ReportHeld, SessionDown, SettleBatch,
};
use crate::smpp::SubmitSm;
use crate::smpp::session::Session;

/// The context of one request in the window.
#[derive(Debug, Clone)]
pub struct InFlight {
    pub id: u64,
    pub attempt: u32,
    pub what: What,
    /// Kept when it is needed after the answer.
    pub message: Option<Message>,
    pub receipt_expected: bool,
}

/// One delivery, ready to be written.
pub struct Prepared {
    pub pdu: SubmitSm,
    pub keep_message: bool,
    pub receipt_expected: bool,
}

/// The link between one session and the queue that it serves. Leaving is in `Drop`, so that it
/// happens however the session ends, a panic included.
pub struct Serving {
    session: u64,
    port: Arc<QueuePort>,
    batch: SettleBatch,
}

// === impl Serving ===

impl Serving {
    /// Joins the queue and offers the whole window.
    pub fn join(
        session: u64,
        port: Arc<QueuePort>,
        deliver: Recipient<DeliverBatch>,
        report: Recipient<ReportHeld>,
        window: usize,
    ) -> Self {
        port.join(session, SessionPort::new(deliver, report));
        post(
            &port.addr,
            Credit {
                session,
                room: window as u32,
                retire: false,
            },
        );
        Self {
            session,
            port,
            batch: SettleBatch::default(),
        }
    }

    /// Takes no more; what is in the window is still answered for.
    pub fn retire(&self) {
        self.port.retire(self.session);
        post(
            &self.port.addr,
            Credit {
                session: self.session,
                room: 0,
                retire: true,
            },
        );
    }

    /// Sends a batch as `operation`, prepared one by one. What cannot be sent is given back.
    pub fn deliver(
        &mut self,
        core: &mut Session<InFlight>,
        batch: DeliverBatch,
        now: Instant,
        out: &mut BytesMut,
        operation: fn(&mut BytesMut, u32, &SubmitSm),
        mut prepare: impl FnMut(&Message) -> Prepared,
    ) {
        // Without a valid lease another node may be sending the same.
        let lawful = self.port.tenure.is_valid();
        for delivery in batch.deliveries {
            let what = delivery.what();
            let Some(message) = delivery.message else {
                continue;
            };
            if !lawful {
                self.failed(delivery.id, delivery.attempt, Why::NotSent, 0, 0);
                continue;
            }
            let prepared = prepare(&message);
            let context = InFlight {
                id: delivery.id,
                attempt: delivery.attempt,
                what,
                message: prepared.keep_message.then_some(message),
                receipt_expected: prepared.receipt_expected,
            };
            let sent = core.send(now, context, out, |out, sequence| {
                operation(out, sequence, &prepared.pdu);
            });
            if sent.is_err() {
                self.failed(delivery.id, delivery.attempt, Why::NotSent, 0, 0);
            }
        }
        self.flush();
    }

    /// Answered with ESME_ROK; `room`: whether the window slot is free now.
    pub fn done(&mut self, id: u64, room: bool) {
        self.batch.done.push(id);
        self.batch.room += u32::from(room);
    }

    /// Not delivered, for whichever reason. The window slot is free again.
    pub fn failed(&mut self, id: u64, attempt: u32, why: Why, status: u32, latency_ms: u32) {
        self.batch.failed.push(Failed {
            id,
            why: why.into(),
            status,
            latency_ms,
            attempt,
        });
        self.batch.room += 1;
    }

    /// Sends what has gathered to the queue.
    pub fn flush(&mut self) {
        if self.batch.done.is_empty() && self.batch.failed.is_empty() {
            return;
        }
        let mut batch = std::mem::take(&mut self.batch);
        batch.session = self.session;
        post(&self.port.addr, batch);
    }

    /// Says what this session holds, to a queue that has restarted.
    pub fn report(&self, core: &Session<InFlight>) {
        post(
            &self.port.addr,
            Held {
                session: self.session,
                ids: core.held().map(|held| held.id).collect(),
                room: core.room() as u32,
            },
        );
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.port.leave(self.session);
        post(
            &self.port.addr,
            SessionDown {
                session: self.session,
            },
        );
    }
}
