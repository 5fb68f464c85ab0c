//! The PDUs of SMPP 3.4 (§4) and 5.0: one struct per body, one enum over all of them.
//!
//! Built by the codec, read by sessions, encoded with [`Pdu::encode`]. The bodies are tables of
//! fields (`pdu/*.rs`): name, type, kind, the status to answer when the field is wrong; `fields.rs`
//! turns a table into struct, decoder and encoder. Invariant: what was decoded encodes to octets
//! that decode to the same value.

mod bind;
mod broadcast;
mod fields;
mod manage;
mod message;

pub use bind::{AlertNotification, BindRequest, BindResp, OutbindRequest};
pub use broadcast::{
    BroadcastSm, BroadcastSmResp, CancelBroadcastSm, QueryBroadcastSm, QueryBroadcastSmResp,
};
use bytes::{BufMut, Bytes, BytesMut};
pub(super) use fields::c_string;
pub use manage::{CancelSm, QuerySm, QuerySmResp, ReplaceSm};
pub use message::{
    DataSm, DataSmResp, DeliverSm, DeliverSmResp, DestAddress, SubmitMulti, SubmitMultiResp,
    SubmitSm, SubmitSmResp, UnsuccessSme,
};

use super::cursor::{Cursor, FieldError};
use super::encode::frame;
use super::{CommandId, CommandStatus};

/// `esm_class` bit: the text begins with a user data header (§5.2.12).
pub const ESM_UDHI: u8 = 0x40;

/// One PDU without its length, which follows from the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// `command_status`: 0 in requests (§5.1.3).
    pub status: CommandStatus,
    /// `sequence_number` (§5.1.4).
    pub sequence: u32,
    /// The body; determines `command_id`.
    pub body: Body,
}

macro_rules! bodies {
    (fields { $($full:ident($body:ident) = $full_id:ident;)* } empty { $($bare:ident = $bare_id:ident;)* }) => {
        /// The body of a PDU, one variant per operation (§4; broadcast: 5.0 §4.4).
        // SubmitSm is by far the largest and by far the most frequent: boxing it would cost the
        // allocation this codec avoids.
        #[allow(clippy::large_enum_variant)]
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Body {
            $(
                #[doc = concat!("[`CommandId::", stringify!($full_id), "`].")]
                $full($body),
            )*
            $(
                #[doc = concat!("[`CommandId::", stringify!($bare_id), "`]: no body.")]
                $bare,
            )*
            /// An operation of neither version, opaque.
            Unknown {
                /// As in the header.
                command_id: CommandId,
                /// Everything behind the header.
                body: Bytes,
            },
        }

        impl Body {
            /// The `command_id` this body belongs to.
            pub fn command_id(&self) -> CommandId {
                match self {
                    $(Body::$full(_) => CommandId::$full_id,)*
                    $(Body::$bare => CommandId::$bare_id,)*
                    Body::Unknown { command_id, .. } => *command_id,
                }
            }

            /// The body with every field empty; `None` for an unknown operation.
            pub fn empty(command_id: CommandId) -> Option<Body> {
                match command_id {
                    $(CommandId::$full_id => Some(Body::$full($body::default())),)*
                    $(CommandId::$bare_id => Some(Body::$bare),)*
                    _ => None,
                }
            }

            /// Reads the mandatory and optional fields of a known operation, `None` for others.
            pub(super) fn decode(
                command_id: CommandId,
                cursor: &mut Cursor<'_>,
            ) -> Result<Option<Body>, FieldError> {
                let body = match command_id {
                    $(CommandId::$full_id => Body::$full($body::decode(cursor)?),)*
                    $(CommandId::$bare_id => Body::$bare,)*
                    _ => return Ok(None),
                };
                cursor.finish()?;
                Ok(Some(body))
            }

            /// Appends the fields.
            fn encode(&self, out: &mut BytesMut) {
                match self {
                    $(Body::$full(body) => body.encode_body(out),)*
                    $(Body::$bare => {})*
                    Body::Unknown { body, .. } => out.put_slice(body),
                }
            }

            /// Whether every field is empty.
            fn is_empty(&self) -> bool {
                match self {
                    $(Body::$full(body) => *body == $body::default(),)*
                    $(Body::$bare => true,)*
                    Body::Unknown { body, .. } => body.is_empty(),
                }
            }
        }
    };
}

bodies! {
    fields {
        BindTransmitter(BindRequest) = BIND_TRANSMITTER;
        BindTransmitterResp(BindResp) = BIND_TRANSMITTER_RESP;
        BindReceiver(BindRequest) = BIND_RECEIVER;
        BindReceiverResp(BindResp) = BIND_RECEIVER_RESP;
        BindTransceiver(BindRequest) = BIND_TRANSCEIVER;
        BindTransceiverResp(BindResp) = BIND_TRANSCEIVER_RESP;
        Outbind(OutbindRequest) = OUTBIND;
        SubmitSm(SubmitSm) = SUBMIT_SM;
        SubmitSmResp(SubmitSmResp) = SUBMIT_SM_RESP;
        DeliverSm(DeliverSm) = DELIVER_SM;
        DeliverSmResp(DeliverSmResp) = DELIVER_SM_RESP;
        DataSm(DataSm) = DATA_SM;
        DataSmResp(DataSmResp) = DATA_SM_RESP;
        SubmitMulti(SubmitMulti) = SUBMIT_MULTI;
        SubmitMultiResp(SubmitMultiResp) = SUBMIT_MULTI_RESP;
        QuerySm(QuerySm) = QUERY_SM;
        QuerySmResp(QuerySmResp) = QUERY_SM_RESP;
        CancelSm(CancelSm) = CANCEL_SM;
        ReplaceSm(ReplaceSm) = REPLACE_SM;
        AlertNotification(AlertNotification) = ALERT_NOTIFICATION;
        BroadcastSm(BroadcastSm) = BROADCAST_SM;
        BroadcastSmResp(BroadcastSmResp) = BROADCAST_SM_RESP;
        QueryBroadcastSm(QueryBroadcastSm) = QUERY_BROADCAST_SM;
        QueryBroadcastSmResp(QueryBroadcastSmResp) = QUERY_BROADCAST_SM_RESP;
        CancelBroadcastSm(CancelBroadcastSm) = CANCEL_BROADCAST_SM;
    }
    empty {
        Unbind = UNBIND;
        UnbindResp = UNBIND_RESP;
        CancelSmResp = CANCEL_SM_RESP;
        ReplaceSmResp = REPLACE_SM_RESP;
        EnquireLink = ENQUIRE_LINK;
        EnquireLinkResp = ENQUIRE_LINK_RESP;
        CancelBroadcastSmResp = CANCEL_BROADCAST_SM_RESP;
        GenericNack = GENERIC_NACK;
    }
}

// === impl Pdu ===

impl Pdu {
    /// A request: status 0.
    pub fn request(sequence: u32, body: Body) -> Pdu {
        Pdu {
            status: CommandStatus::ESME_ROK,
            sequence,
            body,
        }
    }

    /// A response to the request with this `sequence_number`.
    pub fn response(status: CommandStatus, sequence: u32, body: Body) -> Pdu {
        Pdu {
            status,
            sequence,
            body,
        }
    }

    /// The `command_id` of the body.
    pub fn command_id(&self) -> CommandId {
        self.body.command_id()
    }

    /// Appends the whole PDU.
    ///
    /// A response with an error status and no fields has no body (§4.1.2, §4.4.2); deliver_sm_resp
    /// keeps its one NUL, since §4.6.2 knows no such exception.
    pub fn encode(&self, out: &mut BytesMut) {
        let command_id = self.command_id();
        let bare = command_id.is_response()
            && !self.status.is_ok()
            && command_id != CommandId::DELIVER_SM_RESP
            && self.body.is_empty();
        frame(out, command_id, self.status, self.sequence, |out| {
            if !bare {
                self.body.encode(out);
            }
        });
    }
}
