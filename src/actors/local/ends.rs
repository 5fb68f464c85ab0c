//! What the end of a session, an SMSC or an HLR to it, and the connection of its program have to do with one another.
//!
//! The end asks the program through the connection, and gets what the program brings; the answers go the same ways.

use actix::Recipient;
use tokio::sync::{mpsc, oneshot};

use crate::actors::context::addresses::post_to;
use crate::pb::local::{Delivered, Done, Failure, NotDelivered, Reason, from_smsc, to_smsc};

/// What the program has done with a message.
pub(super) enum Handled {
    Delivered(Delivered),
    NotDelivered(NotDelivered),
    /// It could not be carried out.
    Failed,
}

/// A request of the program, for the end of its session.
pub(super) struct Brought {
    pub(super) number: u64,
    pub(super) what: to_smsc::What,
}

/// What the end of a session has to do with the connection: handed to `peer` and `network`.
pub(super) struct Ends {
    pub(super) brought: mpsc::Receiver<Brought>,
    asks: Recipient<Ask>,
    answers: Recipient<Answered>,
}

/// A message for the program.
#[derive(actix::Message)]
#[rtype(result = "()")]
pub(super) struct Ask {
    pub(super) what: from_smsc::What,
    pub(super) answer: oneshot::Sender<Handled>,
}

/// The answer to what the program has brought.
#[derive(actix::Message)]
#[rtype(result = "()")]
pub(super) struct Answered {
    pub(super) number: u64,
    pub(super) answer: from_smsc::What,
}

/// The session at the other end is over.
#[derive(actix::Message)]
#[rtype(result = "()")]
pub(super) struct SessionOver(pub(super) u64);

// === impl Ends ===

impl Ends {
    pub(super) fn new(
        brought: mpsc::Receiver<Brought>,
        asks: Recipient<Ask>,
        answers: Recipient<Answered>,
    ) -> Self {
        Self {
            brought,
            asks,
            answers,
        }
    }

    /// Asks the program to deliver a message.
    pub(super) fn ask(&self, what: from_smsc::What) -> oneshot::Receiver<Handled> {
        let (answer, answered) = oneshot::channel();
        post_to(&self.asks, Ask { what, answer });
        answered
    }

    pub(super) fn done(&self, number: u64) {
        self.answer(number, from_smsc::What::Done(Done {}));
    }

    pub(super) fn fail(&self, number: u64, reason: Reason, code: u32, detail: &str) {
        let failure = Failure {
            reason: reason.into(),
            detail: detail.to_owned(),
            code,
        };
        self.answer(number, from_smsc::What::Failure(failure));
    }

    /// It is not known whether what the program has brought was carried out.
    pub(super) fn unanswered(&self, number: u64) {
        let detail = "no answer in time; whether it was carried out is not known";
        self.fail(number, Reason::Unavailable, 0, detail);
    }

    fn answer(&self, number: u64, answer: from_smsc::What) {
        post_to(&self.answers, Answered { number, answer });
    }
}
