//! Turns tables of fields into bodies: struct, decoder, encoder.
//!
//! A line of a table reads `name: Type = kind(arguments)`. Decoding calls the method `kind` of
//! `Cursor` with the field's name and the arguments; encoding calls the function `kind` below. The
//! lines stand in the order of the standard's table, which is the order on the wire.

use bytes::{BufMut, Bytes, BytesMut};

use super::super::cursor::{DEST_FLAG_LIST, DEST_FLAG_SME};
use super::super::tlv::put_tlv;
use super::super::{Tlvs, tag};
use super::{DestAddress, UnsuccessSme};

/// Most octets `sm_length` can count; a longer text travels as message_payload (§5.3.2.32).
const SM_LENGTH_MAX: usize = 255;

macro_rules! body {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[$field_meta:meta])*
                $field:ident : $type:ty = $kind:ident $(($($argument:expr),*))?;
            )*
        }
        $(overflow $text:ident)?
    )+) => {$(
        $(#[$meta])*
        #[derive(Clone, Default, PartialEq, Eq)]
        pub struct $name {
            $(
                $(#[$field_meta])*
                pub $field: $type,
            )*
        }

        impl $name {
            /// Reads the fields in the order of the table.
            pub(in crate) fn decode(
                cursor: &mut $crate::cursor::Cursor<'_>,
            ) -> Result<Self, $crate::cursor::FieldError> {
                Ok($name {
                    $($field: cursor.$kind(stringify!($field) $($(, $argument)*)?)?,)*
                })
            }

            /// Appends the fields in the order of the table.
            pub(in crate) fn encode_body(&self, out: &mut ::bytes::BytesMut) {
                $($crate::pdu::fields::$kind(out, &self.$field);)*
                $($crate::pdu::fields::overflow(out, &self.$text);)?
            }
        }
    )+};
}
pub(super) use body;

#[inline]
pub(super) fn octet(out: &mut BytesMut, value: &u8) {
    out.put_u8(*value);
}

/// A NUL inside would end the string for the peer and shift all that follows, so it ends it here.
#[inline]
pub(crate) fn c_string(out: &mut BytesMut, value: &[u8]) {
    if value.is_empty() {
        return out.put_u8(0);
    }
    let end = value.iter().position(|octet| *octet == 0);
    out.put_slice(&value[..end.unwrap_or(value.len())]);
    out.put_u8(0);
}

pub(super) fn password(out: &mut BytesMut, value: &Bytes) {
    c_string(out, value);
}

#[inline]
pub(super) fn time(out: &mut BytesMut, value: &Bytes) {
    c_string(out, value);
}

#[inline]
pub(super) fn short_message(out: &mut BytesMut, value: &Bytes) {
    if value.len() > SM_LENGTH_MAX {
        return out.put_u8(0);
    }
    out.put_u8(value.len() as u8);
    out.put_slice(value);
}

#[inline]
pub(super) fn tlvs(out: &mut BytesMut, value: &Tlvs) {
    out.put_slice(value.raw());
}

/// A text too long for `short_message` follows as message_payload (§5.2.21).
#[inline]
pub(super) fn overflow(out: &mut BytesMut, text: &Bytes) {
    if text.len() > SM_LENGTH_MAX {
        put_tlv(out, tag::MESSAGE_PAYLOAD, text);
    }
}

/// At most 255 destinations can be counted; those beyond are not sent.
pub(super) fn destinations(out: &mut BytesMut, destinations: &[DestAddress]) {
    let count = destinations.len().min(usize::from(u8::MAX));
    out.put_u8(count as u8);
    for destination in &destinations[..count] {
        match destination {
            DestAddress::Sme {
                dest_addr_ton,
                dest_addr_npi,
                destination_addr,
            } => {
                out.put_slice(&[DEST_FLAG_SME, *dest_addr_ton, *dest_addr_npi]);
                c_string(out, destination_addr);
            }
            DestAddress::DistributionList { dl_name } => {
                out.put_u8(DEST_FLAG_LIST);
                c_string(out, dl_name);
            }
        }
    }
}

/// At most 255 failures can be counted, as many as there can be destinations.
pub(super) fn failures(out: &mut BytesMut, failures: &[UnsuccessSme]) {
    let count = failures.len().min(usize::from(u8::MAX));
    out.put_u8(count as u8);
    for failure in &failures[..count] {
        out.put_slice(&[failure.dest_addr_ton, failure.dest_addr_npi]);
        c_string(out, &failure.destination_addr);
        out.put_u32(failure.error_status_code.0);
    }
}
