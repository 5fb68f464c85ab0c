//! What a session with an operator hears of the protocol that it speaks: the same of SMPP and of those of carriers.

use std::time::Instant;

use bytes::Bytes;

use crate::actors::receipts::said::OperatorReport;
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
    /// A request over SMPP, to be answered on its sequence number.
    Request(Pdu),
    /// A request was refused before it came here.
    Refused,
    /// The operator unbinds.
    Unbind,
    /// What there is in every protocol.
    Bind(BindEvent),
}

/// What a bind says of itself and of messages, whatever it speaks; small, because some wait until they are asked for.
pub(super) enum BindEvent {
    /// Our bind was answered; with ESME_ROK it is bound.
    BindResult(CommandStatus),
    /// Brought over another protocol than SMPP, to be answered on this number.
    Brought(u32, BroughtContent),
    /// A message of ours is settled.
    Answered(OperatorAnswer),
    /// The session has ended.
    Close(CloseReason),
    /// The session has ended, for this reason.
    Ended(String),
    /// The connection is to be closed, because there is no work; the bind stays.
    Asleep,
}

/// What an operator brings over another protocol.
pub(super) enum BroughtContent {
    Report(OperatorReport),
    /// A message of a handset.
    Message {
        deliver: Box<SubmitSm>,
        /// The text of a part that came in GBK, octet for octet.
        gbk: Option<Bytes>,
    },
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

impl BindEvent {
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
            Event::BindResult { status, .. } => Self::Bind(BindEvent::BindResult(status)),
            Event::Request(pdu) => Self::Request(pdu),
            Event::Response {
                pdu,
                context,
                sent_at,
                late,
            } => Self::Bind(BindEvent::Answered(OperatorAnswer {
                context,
                status: pdu.status,
                // A small copy, so that the read buffer is free again.
                message_id: match pdu.body {
                    Body::SubmitSmResp(resp)
                    | Body::DeliverSmResp(resp)
                    | Body::DataSmResp(resp) => Bytes::copy_from_slice(&resp.message_id),
                    _ => Bytes::new(),
                },
                sent_at,
                late,
                unsent: false,
            })),
            Event::Unbind => Self::Unbind,
            Event::Close(reason) => Self::Bind(BindEvent::Close(reason)),
            Event::Answered { .. } => Self::Refused,
        }
    }
}
