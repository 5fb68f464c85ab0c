//! Octets to PDUs: first the frame, then, inside it only, the body (SMPP 3.4 §3.2).
//!
//! Called by the socket loops ([`next_frame`]) and the session ([`decode`]). There are two kinds of
//! errors: an implausible `command_length` ends the session, everything else is [`MalformedPdu`],
//! answered, and the next PDU is read normally.

use bytes::{Buf, Bytes, BytesMut};

use super::cursor::{Cursor, FieldError};
pub use super::encode::{
    SubmitRespTail, encode_data_sm, encode_deliver_sm, encode_deliver_sm_resp, encode_empty_resp,
    encode_error_resp, encode_generic_nack, encode_message_resp, encode_submit_sm,
    encode_submit_sm_resp,
};
use super::{Body, CommandId, CommandStatus, HEADER_LEN, Header, Leniency, Pdu};

/// Longest PDU accepted unless configured otherwise, in octets.
pub const DEFAULT_MAX_PDU: usize = 64 * 1024;

/// A `command_length` below 16 or above the limit: where the next PDU starts is unknown, so the
/// answer is generic_nack ESME_RINVCMDLEN and the end of the session (§4.3, §5.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("command_length {length} is out of bounds")]
pub struct BadCommandLength {
    /// The `command_length` as received.
    pub length: u32,
    /// The header, when all of its 16 octets had arrived.
    pub header: Option<Header>,
}

/// What became of one frame.
// Boxing the PDU would cost the one allocation this codec avoids.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// A PDU of which every field was read.
    Pdu(Pdu),
    /// The header was read, the body not.
    Malformed(MalformedPdu),
}

/// A PDU whose body could not be read; answer it with `status` on its `sequence_number`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedPdu {
    /// The header as received.
    pub header: Header,
    /// The status that names the wrong field (§5.1.3).
    pub status: CommandStatus,
    /// The wrong field's name in the standard, for logs.
    pub field: &'static str,
}

/// Cuts the next PDU off `buf`: exactly `command_length` octets, or nothing while they are not all
/// there. No octets are copied.
///
/// # Errors
/// [`BadCommandLength`] when `command_length` is below 16 or above `max_len`; `buf` is left as it is.
pub fn next_frame(buf: &mut BytesMut, max_len: usize) -> Result<Option<Bytes>, BadCommandLength> {
    let Some(length) = buf.first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*length);
    let wanted = length as usize;
    if wanted < HEADER_LEN || wanted > max_len {
        return Err(BadCommandLength {
            length,
            header: Header::parse(buf),
        });
    }
    if buf.remaining() < wanted {
        return Ok(None);
    }
    Ok(Some(buf.split_to(wanted).freeze()))
}

/// Reads one frame as cut by [`next_frame`]. Reads nothing outside it and never panics, whatever the
/// octets are.
///
/// The body of a response is optional: absent it reads as empty, and when the status is an error a
/// body that cannot be read counts as absent (§4.4.2). A response of unknown `command_id` becomes
/// [`Body::Unknown`], since nothing may be answered to it.
pub fn decode(frame: &Bytes, leniency: &Leniency) -> Decoded {
    let Some(header) = Header::parse(frame) else {
        return Decoded::Malformed(MalformedPdu {
            header: Header::default(),
            status: CommandStatus::ESME_RINVCMDLEN,
            field: "command_length",
        });
    };
    match decode_body(&header, frame, leniency) {
        Ok(body) => Decoded::Pdu(Pdu {
            status: header.status,
            sequence: header.sequence,
            body,
        }),
        Err(error) => Decoded::Malformed(MalformedPdu {
            header,
            status: error.status,
            field: error.field,
        }),
    }
}

fn decode_body(header: &Header, frame: &Bytes, leniency: &Leniency) -> Result<Body, FieldError> {
    let command_id = header.command_id;
    if command_id.is_response() {
        return decode_response(header, frame, leniency);
    }
    let mut cursor = Cursor::new(frame, HEADER_LEN, false, leniency);
    Body::decode(command_id, &mut cursor)?.ok_or(unknown_command())
}

fn decode_response(
    header: &Header,
    frame: &Bytes,
    leniency: &Leniency,
) -> Result<Body, FieldError> {
    let command_id: CommandId = header.command_id;
    let unknown = || Body::Unknown {
        command_id,
        body: frame.slice(HEADER_LEN..),
    };
    if frame.len() == HEADER_LEN {
        return Ok(Body::empty(command_id).unwrap_or_else(unknown));
    }
    let mut cursor = Cursor::new(frame, HEADER_LEN, true, leniency);
    match Body::decode(command_id, &mut cursor) {
        Ok(body) => Ok(body.unwrap_or_else(unknown)),
        Err(_) if !header.status.is_ok() => Ok(Body::empty(command_id).unwrap_or_else(unknown)),
        Err(error) => Err(error),
    }
}

fn unknown_command() -> FieldError {
    FieldError {
        field: "command_id",
        status: CommandStatus::ESME_RINVCMDID,
    }
}

#[cfg(test)]
mod tests;
