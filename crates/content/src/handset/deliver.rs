//! A message as the SMS-DELIVERs that bring it to a handset (3GPP TS 23.040 §9.2.2.1).
//!
//! Called by the interface of a GSM core when it sends a message, and by what accepts one, to refuse at once what could
//! never be sent. Mostly one SMS-DELIVER: what is too long was divided when it was accepted ([`crate::peer::divide`]).
//! One that came by another way, such as a move from another queue, becomes several here.

use bytes::Bytes;

use super::{HandsetRefusal, Handsets, REPLY_PATH, address, times};
use crate::peer::PeerEncoding;
use crate::peer::divide::{self, DividedText};
use crate::{MessageContent, UDHI, payload, ports};
use smsc_config::{LongMessages, UnrepresentableRule};
use smsc_proto::{Message, PayloadKind};
use smsc_smpp::{Tlvs, tag};
use smsc_sms::coding::{DataCoding, with_charset};
use smsc_sms::convert::Alphabet;
use smsc_sms::segment::{self, PartNumbering};
use smsc_sms::tpdu::{Deliver, Tpdu, TpduField, TpduKind, UserData, examine};
use smsc_sms::ucs2;
use smsc_sms::udh::{Concat, UserDataHeader};

/// registered_delivery: a receipt for the final state, whichever (SMPP 3.4 §5.2.17).
const RECEIPT: u32 = 0x03;
/// Stands for an octet that is no septet.
const QUESTION_MARK: u8 = b'?';
/// Below this, data_coding has values of SMPP; above, those of TP-DCS (SMPP 3.4 §5.2.19).
const OF_DCS: u8 = 0x10;
/// TP-DCS of a waiting indication whose text is kept, in the 7-bit alphabet and in UCS-2 (3GPP TS 23.038 §4).
const WAITING: u8 = 0xD0;
const WAITING_UCS2: u8 = 0xE0;
const WAITING_ACTIVE: u8 = 0x08;
/// ms_msg_wait_facilities: a message waits, and its kind (SMPP 3.4 §5.3.2.13).
const FACILITY_ACTIVE: u8 = 0x80;
const FACILITY_KIND: u8 = 0x03;

/// What brings a message to a handset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandsetDelivery {
    /// SMS-DELIVERs, in the order in which they are sent.
    pub tpdus: Vec<Bytes>,
    /// Characters of text and sender that are others now.
    pub changed: usize,
}

/// The SMS-DELIVERs of a message. `more`: others wait for the handset behind it (TP-MMS, §9.2.3.2).
///
/// # Errors
/// See [`HandsetRefusal`].
pub fn deliver(
    message: &Message,
    to: &Handsets,
    more: bool,
) -> Result<HandsetDelivery, HandsetRefusal> {
    let sender = address::of_smpp(
        message.source_ton,
        message.source_npi,
        &message.source,
        to.encoding.policy,
    )?;
    let mut frame = Deliver {
        more_messages: more,
        status_report_indication: message.registered_delivery & RECEIPT != 0,
        reply_path: message.esm_class & REPLY_PATH != 0,
        originating_address: sender.address,
        protocol_identifier: message.protocol_id.to_le_bytes()[0],
        service_centre_time_stamp: times::stamp(message.accepted_at, to.zone),
        ..Deliver::default()
    };
    if let Some(tpdu) = as_it_came(message, &frame)? {
        return Ok(HandsetDelivery {
            tpdus: vec![tpdu],
            changed: sender.changed,
        });
    }
    let mut content = MessageContent::read(message);
    let mut changed = sender.changed + mended(&mut content, to.encoding.policy)?;
    let written = divide::written(&content, &for_handsets(&to.encoding))?;
    changed += written.changed;
    frame.data_coding = data_coding(message, &written);
    let parts = parts(message, &content, written, to.encoding.long)?;
    let last = parts.len().saturating_sub(1);
    let mut tpdus = Vec::with_capacity(parts.len());
    for (number, user_data) in parts.into_iter().enumerate() {
        frame.more_messages = more || number < last;
        frame.user_data = user_data;
        tpdus.push(Tpdu::Deliver(frame.clone()).encode()?.into());
    }
    Ok(HandsetDelivery { tpdus, changed })
}

/// Whether a message can be sent to handsets.
///
/// # Errors
/// See [`HandsetRefusal`].
pub fn check(message: &Message, to: &Handsets) -> Result<(), HandsetRefusal> {
    deliver(message, to, false).map(drop)
}

/// The alphabet of handsets, whatever was configured.
fn for_handsets(encoding: &PeerEncoding) -> PeerEncoding {
    PeerEncoding {
        alphabet: Alphabet::Gsm,
        ..encoding.clone()
    }
}

/// A message that came as a TPDU and still is what came: its user data octet for octet. `None` for all others, and for
/// user data that does not fit.
fn as_it_came(message: &Message, frame: &Deliver) -> Result<Option<Bytes>, HandsetRefusal> {
    let kind = match message.payload_kind() {
        PayloadKind::SmsSubmit => TpduKind::Submit,
        PayloadKind::SmsDeliver => TpduKind::Deliver,
        PayloadKind::Smpp => return Ok(None),
    };
    let examined = examine(kind, &Bytes::copy_from_slice(&message.tpdu));
    let mut frame = frame.clone();
    let user_data = match examined.tpdu {
        Ok(Tpdu::Submit(submit)) => {
            frame.data_coding = submit.data_coding;
            submit.user_data
        }
        Ok(Tpdu::Deliver(deliver)) => {
            frame.data_coding = deliver.data_coding;
            frame.loop_prevention = deliver.loop_prevention;
            frame.status_report_indication |= deliver.status_report_indication;
            // When the first service centre got it.
            if deliver.service_centre_time_stamp.is_possible() {
                frame.service_centre_time_stamp = deliver.service_centre_time_stamp;
            }
            deliver.user_data
        }
        _ => return Ok(None),
    };
    let is_odd = |field| matches!(field, TpduField::UserDataLength | TpduField::UserData);
    if (examined.notes.oddities.iter()).any(|oddity| is_odd(oddity.field)) {
        // As far as it could be read.
        frame.user_data = user_data;
        return Ok(Tpdu::Deliver(frame).encode().ok().map(Bytes::from));
    }
    let spans = &examined.notes.fields;
    let place = |field| spans.iter().find(|span| span.field == field);
    let Some(length) = place(TpduField::UserDataLength) else {
        return Ok(None);
    };
    let end = place(TpduField::UserData).map_or(length.at + 1, |span| span.at + span.octets);
    let mut octets = Tpdu::Deliver(frame).encode()?;
    // The length of no user data.
    octets.pop();
    octets.extend_from_slice(&message.tpdu[length.at..end]);
    // TP-UDHI is the same bit in all TPDUs (§9.2.3.23).
    octets[0] |= message.tpdu[0] & UDHI as u8;
    Ok(Some(octets.into()))
}

/// Replaces what no handset could read, and counts it: octets that are no septets, half a character of UCS-2.
fn mended(
    content: &mut MessageContent,
    policy: UnrepresentableRule,
) -> Result<usize, HandsetRefusal> {
    let mut changed = 0;
    match (content.coding, content.alphabet) {
        (DataCoding::Other(data_coding), _) => return Err(HandsetRefusal::Coding(data_coding)),
        (DataCoding::Default, Alphabet::Gsm) => {
            changed = content.body.iter().filter(|octet| **octet > 0x7F).count();
            if changed > 0 {
                let septet = |octet: &u8| match octet {
                    0..=0x7F => *octet,
                    _ => QUESTION_MARK,
                };
                content.body = content.body.iter().map(septet).collect();
            }
        }
        // The other half may be in the next part.
        (DataCoding::Ucs2, _)
            if !content.body.len().is_multiple_of(2) && content.part.is_none() =>
        {
            content.body = ucs2::encode(&ucs2::decode(&content.body)).into();
            changed = 1;
        }
        _ => {}
    }
    if policy == UnrepresentableRule::Refuse && changed > 0 {
        Err(divide::DivideRefusal::Character {
            character: char::REPLACEMENT_CHARACTER,
        }
        .into())
    } else {
        Ok(changed)
    }
}

/// TP-DCS (3GPP TS 23.038 §4) of a text as it is written, with the class of its data_coding and the waiting indication
/// of its TLV.
fn data_coding(message: &Message, written: &DividedText) -> u8 {
    let own = match message.data_coding.to_le_bytes()[0] {
        // Values of SMPP, some of which mean another thing there.
        0..OF_DCS => written.coding.data_coding(),
        grouped => with_charset(grouped, written.coding),
    };
    let group = match own {
        0x00 => WAITING,
        0x08 => WAITING_UCS2,
        _ => return own,
    };
    let tlvs = Tlvs::from_raw(message.tlvs.clone());
    let Some([facility]) = tlvs.get(tag::MS_MSG_WAIT_FACILITIES) else {
        return own;
    };
    let active = match facility & FACILITY_ACTIVE {
        0 => 0,
        _ => WAITING_ACTIVE,
    };
    group | active | facility & FACILITY_KIND
}

/// The user data of each SMS-DELIVER.
fn parts(
    message: &Message,
    content: &MessageContent,
    written: DividedText,
    long: LongMessages,
) -> Result<Vec<UserData>, HandsetRefusal> {
    let is_wide = long == LongMessages::Udh16;
    let mut header = written.header;
    if let Some(ports) = ports(message).filter(|_| header.ports().is_none()) {
        header.push(ports);
    }
    if let Some(part) = content.part {
        let header = numbered(message, content, header, part, is_wide);
        if !segment::fits(written.octets.len(), written.units, header.octets()) {
            return Err(HandsetRefusal::Part);
        }
        let body = written.octets;
        return Ok(vec![UserData { header, body }]);
    }
    let form = if is_wide {
        PartNumbering::Sixteen
    } else {
        PartNumbering::Eight
    };
    let bodies = segment::split(&written.octets, written.units, &header, form)
        .map_err(|_| divide::DivideRefusal::TooLong)?;
    let total = u8::try_from(bodies.len()).map_err(|_| divide::DivideRefusal::TooLong)?;
    let numbers = (1..=total).zip(bodies);
    Ok(numbers
        .map(|(sequence, body)| {
            let mut header = header.clone();
            if total > 1 {
                header.set_concat(Some(Concat {
                    reference: reference(message.id),
                    wide: is_wide,
                    total,
                    sequence,
                }));
            }
            UserData { header, body }
        })
        .collect())
}

/// The header of a part: as it came, if nothing in it had to change; numbered by TLVs, as the interface numbers.
fn numbered(
    message: &Message,
    content: &MessageContent,
    mut header: UserDataHeader,
    part: Concat,
    is_wide: bool,
) -> UserDataHeader {
    let own = match message.esm_class & UDHI {
        0 => None,
        _ => UserDataHeader::split(&payload(message)).ok(),
    };
    let own = own.map(|(own, _)| own).filter(|own| own.concat().is_some());
    match own {
        Some(own) if header == content.header => return own,
        Some(_) => header.set_concat(Some(part)),
        None => header.set_concat(Some(Concat {
            wide: is_wide,
            ..part
        })),
    };
    header
}

/// What numbers the parts of a message: the same each time it is sent. Messages of one sender that follow one another
/// have other milliseconds in their ids, or another sequence number; the low octet counts for 8 bits.
fn reference(id: u64) -> u16 {
    ((id >> 20) ^ id) as u16
}
