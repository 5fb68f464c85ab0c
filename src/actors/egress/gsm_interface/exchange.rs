//! What the delivery of messages and what a network speaks have to say to one another, in the words of no protocol.
//!
//! Made and read by `delivery`, `results` and `incoming` on one side, by `gsup` and `map` on the other. No behaviour.

use bytes::Bytes;

use super::work::Sending;
use crate::gsup::message::GsupMessage;
use crate::map::session::{MoInvoke, ScreeningReport};
use crate::map::{ForeignForward, RoutingQuestion};

/// A TPDU for a handset.
pub(super) struct MtRequest<'a> {
    /// By what the core addresses it; see [`NetworkCore::subscriber_of`].
    pub(super) subscriber: &'a str,
    /// The number of the service centre, in digits.
    pub(super) smsc: String,
    pub(super) tpdu: &'a Bytes,
    /// Others wait for the subscriber.
    pub(super) more: bool,
    /// One of them follows in this run.
    pub(super) follows: bool,
    /// It is to be tried although the network may know that the subscriber is away.
    pub(super) is_urgent: bool,
}

/// What the network says to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MtResult {
    /// The handset has it.
    Arrived,
    /// It does not, with this status (`domain::gsm_result`).
    Refused { status: u32, scope: FailureScope },
    /// Nobody knows whether it has it; the status says why.
    Unknown(u32),
}

/// Whom a refusal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureScope {
    /// This message; others to the subscriber may be tried.
    Message,
    /// The subscriber: what comes for it waits, if this message is tried again.
    Line,
    /// Nobody knows where the subscriber is: what comes for it waits, or ends as this message does.
    Run,
}

/// Why a core has not taken a message, which comes back.
#[derive(Debug)]
pub(super) enum CoreNotSent {
    /// It can never be written, and why.
    Unwritable(Box<Sending>, String),
    /// A request about this subscriber is under way, or an answer may still come.
    Busy(Box<Sending>),
    /// There is no connection, or no room.
    NotNow(Box<Sending>),
}

/// What a handset has submitted, until it is answered.
#[derive(Debug)]
pub(super) struct HandsetSubmission {
    /// By what the core addresses the handset.
    pub(super) subscriber: String,
    /// Its IMSI; empty where the network does not say it.
    pub(super) imsi: String,
    /// Its number; `None` where the network does not say it as it should.
    pub(super) msisdn: Option<String>,
    pub(super) tpdu: Option<Bytes>,
    /// To what the answer is one.
    pub(super) request: SubmissionRequest,
}

/// The request of a submission, as its core has got it.
#[derive(Debug)]
pub(super) enum SubmissionRequest {
    Gsup(Box<GsupMessage>),
    Map(MoInvoke),
    /// What another service centre brings for a subscriber of ours: home routing.
    MapForward(MoInvoke),
}

/// What came of the network.
#[derive(Debug)]
pub(super) enum CoreEvent {
    /// Messages may be sent.
    Ready,
    /// The answer to a message.
    Result(Box<Sending>, MtResult),
    /// The answer to the message of a subscriber that was given up.
    Late(String, MtResult),
    Submission(Box<HandsetSubmission>),
    /// Another network asks where a subscriber of ours is.
    RoutingAsked(Box<RoutingQuestion>),
    /// Another service centre brings a message for a subscriber of ours.
    Forwarded(Box<ForeignForward>),
    /// A subscriber is there again, or has memory again.
    SubscriberReady(String),
    /// What cannot be read, and why; with a request that can be answered.
    Malformed(String, Option<Box<HandsetSubmission>>),
    /// The firewall has looked at a request of somebody else: what a rule has found, or nothing.
    Screened(Option<Box<ScreeningReport>>),
    /// Something that nobody here waits for.
    Other,
    /// The connection is to be closed.
    Closed(String),
}

/// What the time has brought.
#[derive(Default)]
pub(super) struct CoreTick {
    /// Messages that were not answered in time, with the status that says so.
    pub(super) expired: Vec<(Sending, u32)>,
    /// The connection is to be closed.
    pub(super) ended: Option<CoreEnd>,
}

/// The end of a connection.
pub(super) struct CoreEnd {
    pub(super) why: String,
    /// The other side has broken off, or is silent: what was under way may be why.
    pub(super) is_broken: bool,
}
