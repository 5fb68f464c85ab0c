//! SMPP 3.4 and 5.0: PDUs, framing, sessions. Pure: octets and instants in, octets and events out.
//!
//! Called by the session actors of both sides (an ESME bound to us, we bound to an operator), which
//! move bytes and execute what [`session::Session`] tells them. Nothing in here reads a clock, opens
//! a socket or knows an actor.
//!
//! Invariants:
//! - a frame is cut by its `command_length` first and nothing inside a body is read past it, so one
//!   bad body never disturbs the PDU that follows (§3.2);
//! - every request that can be answered is answered, on its own `sequence_number`, with the status
//!   of the field that is wrong (§5.1.3);
//! - vendor statuses, unknown TLVs and odd field values survive a round trip unchanged.
//!
//! Decoded fields are [`bytes::Bytes`] slices of the read buffer: keeping one keeps the whole buffer
//! alive, so copy what is queued.
//!
//! Section numbers are those of SMPP 3.4 issue 1.2 unless "5.0" is written.

pub mod codec;
pub mod command;
mod cursor;
pub mod encode;
pub mod header;
pub mod leniency;
pub mod pdu;
pub mod receipt;
pub mod session;
pub mod status;
pub mod tag;
pub mod time;
pub mod timers;
pub mod tlv;
pub mod window;

pub use codec::{BadCommandLength, DEFAULT_MAX_PDU, Decoded, MalformedPdu, decode, next_frame};
pub use command::CommandId;
pub use encode::{
    SubmitRespTail, encode_data_sm, encode_deliver_sm, encode_deliver_sm_resp, encode_empty_resp,
    encode_error_resp, encode_generic_nack, encode_message_resp, encode_submit_sm,
    encode_submit_sm_resp,
};
pub use header::{HEADER_LEN, Header};
pub use leniency::Leniency;
pub use pdu::{
    AlertNotification, BindRequest, BindResp, Body, BroadcastSm, BroadcastSmResp,
    CancelBroadcastSm, CancelSm, DataSm, DataSmResp, DeliverSm, DeliverSmResp, DestAddress,
    ESM_UDHI, OutbindRequest, Pdu, QueryBroadcastSm, QueryBroadcastSmResp, QuerySm, QuerySmResp,
    ReplaceSm, SubmitMulti, SubmitMultiResp, SubmitSm, SubmitSmResp, UnsuccessSme,
};
pub use session::{BindType, Session, SessionConfig};
pub use status::CommandStatus;
pub use tlv::Tlvs;
