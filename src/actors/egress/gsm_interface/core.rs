//! What a network speaks, in the words that the delivery of messages uses.
//!
//! Who delivers (`delivery`, `results`) and who takes what handsets send (`incoming`, `enquiry`, `repeated`) names no
//! protocol: each core translates. Invariant: a message that a core has taken comes back exactly once: with its result,
//! when its time is over, or from [`NetworkCore::take_lost`].

use bytes::{Bytes, BytesMut};
use tokio::time::Instant;

use super::exchange::{
    CoreEvent, CoreNotSent, CoreTick, HandsetSubmission, MtRequest, SubmissionRequest,
};
use super::gsup::GsupCore;
use super::map::SignallingCore;
use super::work::Sending;
use crate::actors::context::NodeContext;
use crate::actors::context::plan::GsmPlan;
use crate::domain::{address, gsm_result};
use crate::map::MapUserError;
use crate::map::session::{MoInvoke, MoRefusal};
use crate::pb::Message;

/// What a network speaks.
pub(super) enum NetworkCore {
    Gsup(Box<GsupCore>),
    Map(Box<SignallingCore>),
}

/// Calls the method of either core that has this name.
macro_rules! of_either {
    ($core:expr, $one:ident => $call:expr) => {
        match $core {
            NetworkCore::Gsup($one) => $call,
            NetworkCore::Map($one) => $call,
        }
    };
}

// === impl NetworkCore ===

impl NetworkCore {
    /// The core of a network, without a connection.
    pub(super) fn new(node: &NodeContext, plan: Option<&GsmPlan>) -> Self {
        if plan.is_some_and(|plan| plan.config.is_map()) {
            Self::Map(Box::new(SignallingCore::new(node, plan)))
        } else {
            Self::Gsup(Box::new(GsupCore::new(node, plan)))
        }
    }

    /// What it speaks, as the kind of a bind.
    pub(super) fn protocol(&self) -> &'static str {
        match self {
            Self::Gsup(_) => "gsup",
            Self::Map(_) => "map",
        }
    }

    /// To whom it is connected, for the log.
    pub(super) fn peer(&self) -> &'static str {
        match self {
            Self::Gsup(_) => "HLR",
            Self::Map(_) => "signalling network",
        }
    }

    /// The core of a signalling network.
    pub(super) fn map(&mut self) -> Option<&mut SignallingCore> {
        match self {
            Self::Gsup(_) => None,
            Self::Map(map) => Some(map),
        }
    }

    /// By what a core addresses the recipient of a message: also the key of its line. `imsi` is what is known now.
    ///
    /// # Errors
    /// The status with which the message is refused.
    pub(super) fn subscriber_of(
        &self,
        message: &Message,
        imsi: Option<String>,
    ) -> Result<String, u32> {
        match self {
            Self::Gsup(_) => {
                let known = imsi.filter(|imsi| !imsi.is_empty());
                let imsi = known.unwrap_or_else(|| message.imsi.clone());
                if imsi.is_empty() {
                    return Err(gsm_result::GSUP_NO_IMSI);
                }
                Ok(imsi)
            }
            Self::Map(_) => {
                let number = address::plain(&message.destination);
                if !address::is_international(&number) {
                    return Err(gsm_result::map::MAP_UNWRITABLE);
                }
                Ok(String::from_utf8_lossy(&number).into_owned())
            }
        }
    }

    /// The status of a message that cannot be written.
    pub(super) fn unwritable(&self) -> u32 {
        match self {
            Self::Gsup(_) => gsm_result::GSUP_UNWRITABLE,
            Self::Map(_) => gsm_result::map::MAP_UNWRITABLE,
        }
    }

    /// Whether an answer may still come for a message whose time was over, and would be taken for that to the next one.
    pub(super) fn answers_late(&self) -> bool {
        matches!(self, Self::Gsup(_))
    }

    /// IMSI and number of a subscriber, either empty where it is not known. `msisdn` is the number that messages have.
    pub(super) fn names_of(&self, subscriber: &str, msisdn: String) -> (String, String) {
        match self {
            Self::Gsup(_) => (subscriber.to_owned(), msisdn),
            Self::Map(_) if msisdn.is_empty() => (String::new(), subscriber.to_owned()),
            Self::Map(_) => (String::new(), msisdn),
        }
    }

    /// Whether messages may be sent.
    pub(super) fn is_ready(&self) -> bool {
        of_either!(self, one => one.is_ready())
    }

    /// Whether so much waits to be written that no more should be read.
    pub(super) fn is_filling(&self) -> bool {
        match self {
            Self::Gsup(gsup) => gsup.is_filling(),
            // Whoever does not read is cut off.
            Self::Map(_) => false,
        }
    }

    /// What was kept from being read may be read, unless the interface still `is_busy`.
    pub(super) fn resume(&self, is_busy: bool) {
        match self {
            // Its socket asks again.
            Self::Gsup(gsup) => gsup.resume(),
            Self::Map(map) => map.hold_reading(is_busy),
        }
    }

    /// Takes octets that the socket of the interface has read.
    pub(super) fn receive(&mut self, octets: &BytesMut, now: Instant) {
        match self {
            Self::Gsup(gsup) => gsup.receive(octets, now),
            // Its sockets are those of the gateways' tasks.
            Self::Map(_) => {}
        }
    }

    /// What came, one after another, until there is no more.
    pub(super) fn next_event(&mut self) -> Option<CoreEvent> {
        of_either!(self, one => one.next_event())
    }

    /// Sends a message; it comes back with its result.
    ///
    /// # Errors
    /// [`CoreNotSent`], with the message.
    pub(super) fn send(
        &mut self,
        request: &MtRequest<'_>,
        sending: Box<Sending>,
        now: Instant,
    ) -> Result<(), CoreNotSent> {
        of_either!(self, one => one.send(request, sending, now))
    }

    /// Nothing follows for a subscriber for now.
    pub(super) fn end_run(&mut self, subscriber: &str, now: Instant) {
        match self {
            // Each message is a request of its own.
            Self::Gsup(_) => {}
            Self::Map(map) => map.end_run(subscriber, now),
        }
    }

    /// Tells a handset that its message is taken: RP-ACK.
    pub(super) fn accept(&mut self, submission: &HandsetSubmission) {
        match (self, &submission.request) {
            (Self::Gsup(gsup), SubmissionRequest::Gsup(request)) => gsup.accept(request),
            (Self::Map(map), SubmissionRequest::Map(invoke)) => map.answer(*invoke, None),
            (Self::Map(map), SubmissionRequest::MapForward(invoke)) => {
                map.answer_forward(*invoke, Ok(()));
            }
            // The network speaks something else since.
            _ => {}
        }
    }

    /// Tells a handset that its message is not taken: RP-ERROR with this RP-cause (3GPP TS 24.011 §8.2.5.4), and an
    /// SMS-SUBMIT-REPORT that says more.
    pub(super) fn refuse(
        &mut self,
        submission: &HandsetSubmission,
        cause: u8,
        report: Option<Bytes>,
    ) {
        match (self, &submission.request) {
            (Self::Gsup(gsup), SubmissionRequest::Gsup(request)) => {
                gsup.refuse(request, cause, report);
            }
            (Self::Map(map), SubmissionRequest::Map(invoke)) => {
                map.answer(*invoke, Some(MoRefusal { cause, report }));
            }
            // Its sender is no handset, and gets no report of one.
            (Self::Map(map), SubmissionRequest::MapForward(invoke)) => {
                let error = MapUserError::of_refused_forward(cause);
                map.answer_forward(*invoke, Err(error));
            }
            _ => {}
        }
    }

    /// Answers where a subscriber of ours is: with an id in place of the IMSI, or by the code of an error of MAP.
    pub(super) fn answer_routing(&mut self, invoke: MoInvoke, answer: Result<&str, u8>) {
        if let Self::Map(map) = self {
            map.answer_routing(invoke, answer);
        }
    }

    /// Refuses what another service centre brings with an error of MAP.
    pub(super) fn refuse_forward(&mut self, invoke: MoInvoke, error: MapUserError) {
        if let Self::Map(map) = self {
            map.answer_forward(invoke, Err(error));
        }
    }

    /// Does not answer what another service centre brings.
    pub(super) fn drop_invoke(&mut self, invoke: MoInvoke) {
        if let Self::Map(map) = self {
            map.drop_invoke(invoke);
        }
    }

    /// Looks at the clock.
    pub(super) fn on_tick(&mut self, now: Instant) -> CoreTick {
        of_either!(self, one => one.on_tick(now))
    }

    /// Closes the connection at once.
    pub(super) fn cut(&mut self) {
        of_either!(self, one => one.cut())
    }

    /// Every message that has no result, in no order, and whether it was sent: the connection is over.
    pub(super) fn take_lost(&mut self) -> Vec<(Sending, bool)> {
        of_either!(self, one => one.take_lost())
    }
}
