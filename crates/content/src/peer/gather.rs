//! Several short messages as the one that they are parts of.
//!
//! Called by the assembly actor. Keeps true that the whole is the parts' text in order, and that it
//! asks for what any of its parts asked for.

use bytes::{Bytes, BytesMut};
use encoding_rs::GBK;

use super::{CARRIERS, SHORT_MESSAGE};
use crate::{MessageContent, UDHI, as_stored};
use smsc_proto::{Composition, Message, PayloadKind};
use smsc_smpp::{Tlvs, tag};
use smsc_sms::coding::{DataCoding, with_charset};
use smsc_sms::ucs2;

/// The whole of parts that are in order, without id and queue; `None` without parts.
pub fn gather(parts: &[Message]) -> Option<Message> {
    let first = parts.first()?;
    let contents: Vec<MessageContent> = parts.iter().map(MessageContent::read).collect();
    let [lead, others @ ..] = contents.as_slice() else {
        return None;
    };
    let alike = others.iter().all(|content| {
        content.coding == lead.coding
            && content.alphabet == lead.alphabet
            && content.header.shifts() == lead.header.shifts()
    });
    let mut body = BytesMut::new();
    let mut header = lead.header.clone();
    let mut data_coding = first.data_coding.to_le_bytes()[0];
    // Parts may be written differently; what has no text among them stays octets.
    if let Some(text) = text_of_gbk(parts) {
        data_coding = with_charset(data_coding, DataCoding::Ucs2);
        body.extend(ucs2::encode(&text));
    } else {
        match (alike, texts(&contents)) {
            (false, Some(texts)) => {
                header.set_shifts(Default::default());
                data_coding = with_charset(data_coding, DataCoding::Ucs2);
                texts
                    .iter()
                    .for_each(|text| body.extend(ucs2::encode(text)));
            }
            _ => contents
                .iter()
                .for_each(|content| body.extend_from_slice(&content.body)),
        }
    }
    let mut octets = header.encode();
    octets.extend_from_slice(&body);
    let mut tlvs = Tlvs::from_raw(first.tlvs.clone()).without(CARRIERS);
    let mut short_message = Bytes::from(octets);
    if short_message.len() > SHORT_MESSAGE {
        tlvs.push(tag::MESSAGE_PAYLOAD, &short_message);
        short_message = Bytes::new();
    }
    let asked = |bits: u32| {
        parts
            .iter()
            .any(|part| part.registered_delivery & 0x03 == bits)
    };
    let registered = match (asked(1), asked(2), asked(3)) {
        (true, _, _) | (_, true, true) => 1,
        (_, true, false) => 2,
        (_, false, true) => 3,
        (false, false, false) => 0,
    };
    Some(Message {
        id: 0,
        esm_class: if header.is_empty() {
            first.esm_class & !UDHI
        } else {
            first.esm_class | UDHI
        },
        data_coding: data_coding.into(),
        alphabet: as_stored(lead.alphabet).into(),
        // Each part had its own TPDU.
        payload_kind: PayloadKind::Smpp.into(),
        tpdu: Vec::new(),
        short_message,
        tlvs: tlvs.raw().clone(),
        registered_delivery: first.registered_delivery & !0x03 | registered,
        priority: parts.iter().map(|part| part.priority).max().unwrap_or(0),
        due_at: parts.iter().map(|part| part.due_at).max().unwrap_or(0),
        expires_at: parts.iter().map(|part| part.expires_at).min().unwrap_or(0),
        report_states: parts.iter().fold(0, |set, part| set | part.report_states),
        composition: Some(Box::new(Composition {
            made_of: parts.iter().map(|part| part.id).collect(),
            ..Composition::default()
        })),
        ..first.clone()
    })
}

/// The text of parts that all came in GBK.
fn text_of_gbk(parts: &[Message]) -> Option<String> {
    let mut octets = Vec::new();
    for part in parts {
        let gbk = &part.composition.as_deref()?.gbk;
        if gbk.is_empty() {
            return None;
        }
        octets.extend_from_slice(gbk);
    }
    Some(GBK.decode_without_bom_handling(&octets).0.into_owned())
}

/// What each of them says; `None` if one of them is no text.
pub fn texts(contents: &[MessageContent]) -> Option<Vec<String>> {
    contents.iter().map(MessageContent::text).collect()
}
