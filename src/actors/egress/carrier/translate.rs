//! Messages of SMPP in the terms of carriers, and the other way: called by [`super::bind`] and [`super::pending`]. Pure.

use std::mem;

use bytes::Bytes;

use super::gateway::{CarrierMessage, Incoming};
use crate::actors::session::smpp_terms::{carrying, esm_class, wants_receipt};
use crate::carrier::link_id::{link_id, push_link_id};
use crate::carrier::text::{self, Format};
use crate::content::pdu;
use crate::domain::period::{HOUR_MS, MINUTE_MS};
use crate::pb::Message;
use crate::smpp::SubmitSm;
use crate::smpp::time::format_absolute;
use crate::sms::coding::{DataCoding, coding};
use crate::sms::ucs2;
use crate::sms::udh::UserDataHeader;

/// Octets of an absolute time (§7.1.1).
const TIME: usize = 16;
/// How much later it is in China, in milliseconds, and how times say so.
const CHINA: i64 = 8 * HOUR_MS;
const IN_CHINA: &str = "032+";

/// A submit_sm in the terms of carriers; its address and text are taken out of it.
pub(super) fn draft_of(message: &mut SubmitSm, gbk: bool) -> CarrierMessage {
    let content = if message.short_message.is_empty() {
        message.payload()
    } else {
        mem::take(&mut message.short_message)
    };
    let has_header = message.esm_class & esm_class(true) != 0;
    let header = has_header.then(|| UserDataHeader::split(&content).ok());
    let header = header.flatten();
    let concat = header.as_ref().and_then(|(header, _)| header.concat());
    let part = concat.map_or((1, 1), |concat| (concat.total, concat.sequence));
    let text_at = header.map_or(0, |(_, text)| content.len() - text.len());
    let (format, content) = written(message.data_coding, content, text_at, gbk);
    // Relative times have no meaning here.
    let absolute = |time: &Bytes| {
        if time.len() == TIME && !time.ends_with(b"R") {
            time.clone()
        } else {
            Bytes::new()
        }
    };
    CarrierMessage {
        from: mem::take(&mut message.source_addr),
        wants_report: wants_receipt(message),
        protocol_id: message.protocol_id,
        priority: message.priority_flag,
        has_header,
        format,
        content,
        part,
        valid_until: absolute(&message.validity_period),
        deliver_at: absolute(&message.schedule_delivery_time),
        link_id: link_id(message),
    }
}

/// Until when a message is valid that is sent now (Unix milliseconds), as an absolute time: carriers know no others.
pub(in crate::actors::egress) fn validity(message: &Message, now: i64) -> Bytes {
    let left = pdu::validity_left(message, now);
    if !left.ends_with(b"R") {
        return left;
    }
    // The same for messages that came one after the other, which may go to their recipients in one request.
    let step = if message.expires_at - now > HOUR_MS {
        MINUTE_MS
    } else {
        1_000
    };
    time_in_china(message.expires_at - message.expires_at.rem_euclid(step))
}

/// A moment as the local time of China, which is right for whoever does not read the offset, too.
pub(super) fn time_in_china(ms: i64) -> Bytes {
    let local = format_absolute(ms + CHINA);
    // Without the tenths and the offset.
    match local.get(..12) {
        Some(digits) => format!("{digits}{IN_CHINA}").into(),
        None => Bytes::new(),
    }
}

/// Msg_Fmt and the content, for octets in this data_coding whose text begins behind the header.
fn written(data_coding: u8, content: Bytes, text_at: usize, gbk: bool) -> (u8, Bytes) {
    let anew = |text: &str, formats: &[Format]| {
        let (format, octets) = text::choose(formats, text);
        let octets = [&content[..text_at], &octets].concat();
        (format as u8, Bytes::from(octets))
    };
    match coding(data_coding) {
        // The session writes the default alphabet as ASCII.
        DataCoding::Default | DataCoding::Ascii => (Format::Ascii as u8, content),
        DataCoding::Ucs2 if gbk => {
            let text = ucs2::decode(&content[text_at..]);
            match text::encode(Format::Gbk, &text) {
                Some(octets) => {
                    let octets = [&content[..text_at], &octets].concat();
                    (Format::Gbk as u8, Bytes::from(octets))
                }
                // Half a character of a part stays what it is.
                None => (Format::Ucs2 as u8, content),
            }
        }
        DataCoding::Ucs2 => (Format::Ucs2 as u8, content),
        DataCoding::Octets => (Format::Binary as u8, content),
        DataCoding::Latin1 => {
            let text: String = content[text_at..].iter().copied().map(char::from).collect();
            anew(&text, &[Format::Ascii])
        }
        DataCoding::Other(other) => (other, content),
    }
}

/// A message of a handset as deliver_sm.
pub(super) fn deliver_of(incoming: Incoming) -> SubmitSm {
    let has_header = incoming.has_header;
    let (data_coding, content) = text::for_smpp(incoming.format, incoming.content, has_header);
    let mut message = SubmitSm {
        source_addr: incoming.from,
        destination_addr: incoming.to,
        esm_class: esm_class(has_header),
        protocol_id: incoming.protocol_id,
        data_coding,
        ..SubmitSm::default()
    };
    push_link_id(&mut message.tlvs, &incoming.link_id);
    carrying(message, content)
}
