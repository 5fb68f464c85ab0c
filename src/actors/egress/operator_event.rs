//! What a session with an operator hears of the protocol that it speaks: the same of SMPP and of those of carriers.

use std::time::Instant;

use bytes::Bytes;

use crate::actors::session::bound::InFlight;
use crate::smpp::session::{CloseReason, Event};
use crate::smpp::window::LateWindow;
use crate::smpp::{Body, CommandStatus, Pdu, SubmitSm};

/// An event.
// Boxing the PDU would cost an allocation for each.
#[allow(clippy::large_enum_variant)]
pub(super) enum OperatorEvent {
    /// Dealt with, or to be ignored.
    Nothing,
    /// Our bind was answered; with ESME_ROK it is bound.
    BindResult(CommandStatus),
    /// A request over SMPP, to be answered on its sequence number.
    Request(Pdu),
    /// A receipt or a message of a handset over another protocol, to be answered on this number.
    Brought {
        sequence: u32,
        deliver: SubmitSm,
        /// The text of a part that came in GBK, octet for octet.
        gbk: Option<Bytes>,
    },
    /// A message of ours is settled.
    Answered(OperatorAnswer),
    /// A request was refused before it came here.
    Refused,
    /// The operator unbinds.
    Unbind,
    /// The session has ended.
    Close(CloseReason),
    /// The session has ended, for this reason.
    Ended(String),
    /// The connection is to be closed, because there is no work; the bind stays.
    Asleep,
}

/// The answer to a message of ours.
pub(super) struct OperatorAnswer {
    pub context: InFlight,
    pub status: CommandStatus,
    /// The operator's; may be empty.
    pub message_id: Bytes,
    pub sent_at: Instant,
    /// The message had already expired.
    pub late: bool,
    /// It was refused on this side, and never sent.
    pub unsent: bool,
}

impl OperatorEvent {
    /// A message with this number is settled; `None` if nobody waits for it.
    pub(super) fn settled(
        messages: &mut LateWindow<InFlight>,
        number: u32,
        status: CommandStatus,
        message_id: Bytes,
        unsent: bool,
    ) -> Option<Self> {
        let (entry, late) = messages.answered(number)?;
        Some(Self::Answered(OperatorAnswer {
            context: entry.item,
            status,
            message_id,
            sent_at: entry.sent_at,
            late,
            unsent,
        }))
    }
}

impl From<Event<InFlight>> for OperatorEvent {
    #[inline(always)]
    fn from(event: Event<InFlight>) -> Self {
        match event {
            Event::Nothing | Event::Bind { .. } => Self::Nothing,
            Event::BindResult { status, .. } => Self::BindResult(status),
            Event::Request(pdu) => Self::Request(pdu),
            Event::Response {
                pdu,
                context,
                sent_at,
                late,
            } => Self::Answered(OperatorAnswer {
                context,
                status: pdu.status,
                message_id: match pdu.body {
                    Body::SubmitSmResp(resp)
                    | Body::DeliverSmResp(resp)
                    | Body::DataSmResp(resp) => resp.message_id,
                    _ => Bytes::new(),
                },
                sent_at,
                late,
                unsent: false,
            }),
            Event::Unbind => Self::Unbind,
            Event::Close(reason) => Self::Close(reason),
            Event::Answered { .. } => Self::Refused,
        }
    }
}
