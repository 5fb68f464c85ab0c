//! Encoding without building a [`super::Pdu`] first: the hot path of both sides.
//!
//! Called by sessions for the PDUs that come by the hundred thousand. Everything appends to `out`
//! and allocates only when `out` must grow. Invariant: `command_length` counts exactly what was
//! appended (SMPP 3.4 §5.1.1).

use bytes::{BufMut, BytesMut};

use super::pdu::c_string;
use super::{CommandId, CommandStatus, DataSm, HEADER_LEN, Header, SubmitSm, tag};

/// Fixed octets of a submit_sm: header, integers, a NUL per string, room for short TLVs.
const SUBMIT_SM_FIXED: usize = HEADER_LEN + 32;

/// Appends submit_sm (§4.4.1).
pub fn encode_submit_sm(out: &mut BytesMut, sequence: u32, submit_sm: &SubmitSm) {
    message(out, CommandId::SUBMIT_SM, sequence, submit_sm);
}

/// Appends deliver_sm (§4.6.1).
pub fn encode_deliver_sm(out: &mut BytesMut, sequence: u32, deliver_sm: &SubmitSm) {
    message(out, CommandId::DELIVER_SM, sequence, deliver_sm);
}

/// Appends submit_sm_resp (§4.4.2): an error without a message id has no body.
pub fn encode_submit_sm_resp(
    out: &mut BytesMut,
    sequence: u32,
    status: CommandStatus,
    message_id: &[u8],
) {
    let tail = SubmitRespTail {
        message_id,
        congestion: None,
    };
    encode_message_resp(out, CommandId::SUBMIT_SM_RESP, sequence, status, tail);
}

/// The fields of the answer to a submission besides its status.
#[derive(Clone, Copy, Debug, Default)]
pub struct SubmitRespTail<'a> {
    /// The message's id, empty for none.
    pub message_id: &'a [u8],
    /// congestion_state, for peers of 5.0 (5.0 §4.8.4.18).
    pub congestion: Option<u8>,
}

/// Appends submit_sm_resp or data_sm_resp (§4.4.2, §4.7.2): an error without further fields has no
/// body.
pub fn encode_message_resp(
    out: &mut BytesMut,
    command_id: CommandId,
    sequence: u32,
    status: CommandStatus,
    tail: SubmitRespTail<'_>,
) {
    frame(out, command_id, status, sequence, |out| {
        if status.is_ok() || !tail.message_id.is_empty() || tail.congestion.is_some() {
            c_string(out, tail.message_id);
        }
        if let Some(congestion) = tail.congestion {
            out.put_u16(tag::CONGESTION_STATE);
            out.put_u16(1);
            out.put_u8(congestion);
        }
    });
}

/// Appends data_sm (§4.7.1): what has no field there is left out, and the text is in
/// message_payload.
pub fn encode_data_sm(out: &mut BytesMut, sequence: u32, message: &SubmitSm) {
    let mut tlvs = message.tlvs.clone();
    if !message.short_message.is_empty() {
        tlvs = tlvs.without(&[tag::MESSAGE_PAYLOAD]);
        tlvs.push(tag::MESSAGE_PAYLOAD, &message.short_message);
    }
    let body = DataSm {
        service_type: message.service_type.clone(),
        source_addr_ton: message.source_addr_ton,
        source_addr_npi: message.source_addr_npi,
        source_addr: message.source_addr.clone(),
        dest_addr_ton: message.dest_addr_ton,
        dest_addr_npi: message.dest_addr_npi,
        destination_addr: message.destination_addr.clone(),
        esm_class: message.esm_class,
        registered_delivery: message.registered_delivery,
        data_coding: message.data_coding,
        tlvs,
    };
    frame(
        out,
        CommandId::DATA_SM,
        CommandStatus::ESME_ROK,
        sequence,
        |out| body.encode_body(out),
    );
}

/// Appends deliver_sm_resp with its empty message id, also for errors (§4.6.2).
pub fn encode_deliver_sm_resp(out: &mut BytesMut, sequence: u32, status: CommandStatus) {
    frame(out, CommandId::DELIVER_SM_RESP, status, sequence, |out| {
        out.put_u8(0)
    });
}

/// Appends a PDU that is its header: enquire_link_resp, unbind_resp, cancel_sm_resp, any error.
pub fn encode_empty_resp(
    out: &mut BytesMut,
    command_id: CommandId,
    sequence: u32,
    status: CommandStatus,
) {
    Header {
        length: HEADER_LEN as u32,
        command_id,
        status,
        sequence,
    }
    .encode(out);
}

/// Appends generic_nack (§4.3.1).
pub fn encode_generic_nack(out: &mut BytesMut, sequence: u32, status: CommandStatus) {
    encode_empty_resp(out, CommandId::GENERIC_NACK, sequence, status);
}

/// Appends the refusal of any request: its own response with an error, or generic_nack for an
/// unknown operation. Appends nothing for requests that are never answered (outbind,
/// alert_notification).
pub fn encode_error_resp(
    out: &mut BytesMut,
    request: CommandId,
    sequence: u32,
    status: CommandStatus,
) {
    if request == CommandId::DELIVER_SM {
        encode_deliver_sm_resp(out, sequence, status);
    } else if request.has_response() {
        encode_empty_resp(out, request.response(), sequence, status);
    } else if !request.is_known() && !request.is_response() {
        encode_generic_nack(out, sequence, status);
    }
}

fn message(out: &mut BytesMut, command_id: CommandId, sequence: u32, body: &SubmitSm) {
    out.reserve(
        SUBMIT_SM_FIXED
            + body.service_type.len()
            + body.source_addr.len()
            + body.destination_addr.len()
            + body.schedule_delivery_time.len()
            + body.validity_period.len()
            + body.short_message.len()
            + body.tlvs.raw().len(),
    );
    frame(out, command_id, CommandStatus::ESME_ROK, sequence, |out| {
        body.encode_body(out)
    });
}

/// Header, what `body` appends, and then the length that came of it.
#[inline]
pub(super) fn frame(
    out: &mut BytesMut,
    command_id: CommandId,
    status: CommandStatus,
    sequence: u32,
    body: impl FnOnce(&mut BytesMut),
) {
    let start = out.len();
    Header {
        length: 0,
        command_id,
        status,
        sequence,
    }
    .encode(out);
    body(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}
