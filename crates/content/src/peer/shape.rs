//! A message as its peer wants it: its text in the peer's alphabet, its part numbered the peer's
//! way, its octets where the peer looks for them.
//!
//! Called by the sessions for each message they send. What is stored stays as it came, so that a
//! message that fails over to another peer is written anew for that one.

use bytes::Bytes;

use super::divide::{self, is_gsm};
use super::{CARRIERS, PeerEncoding, SHORT_MESSAGE, together};
use crate::{MessageContent, UDHI, alphabet_of};
use smsc_config::{LongMessages, UnrepresentableRule};
use smsc_proto::Message;
use smsc_smpp::{SubmitSm, tag};
use smsc_sms::coding::{DataCoding, coding, with_charset};
use smsc_sms::convert::{self, Alphabet};
use smsc_sms::segment::{self, USER_DATA};
use smsc_sms::udh::{Concat, UserDataHeader};
use smsc_sms::{gsm7, pack, ucs2};

/// Message type bits of esm_class (SMPP 3.4 §5.2.12).
const MESSAGE_TYPE: u32 = 0x3C;
/// Those of a receipt, of a conversation that was aborted, and of an intermediate notification.
const REPORTS: [u32; 3] = [0x04, 0x18, 0x20];

/// Writes a message for a peer with this encoding, into the PDU that was made of it. Says how many
/// characters were changed.
pub fn shape(pdu: &mut SubmitSm, message: &Message, to: &PeerEncoding) -> usize {
    let alphabet_differs = match coding(pdu.data_coding) {
        DataCoding::Default => alphabet_of(message) != to.alphabet,
        // Who gets user data only knows neither.
        DataCoding::Latin1 | DataCoding::Ascii => to.user_data_only,
        _ => false,
    };
    let framed = message.esm_class & UDHI != 0 || !message.tlvs.is_empty();
    let form_may_differ = framed && to.long != LongMessages::AsIs;
    if !(alphabet_differs || form_may_differ) || is_report(message) {
        return 0;
    }
    let content = MessageContent::read(message);
    let numbering = numbering_for(&content, pdu, to.long);
    let whole_elsewhere = to.long == LongMessages::Payload && pdu.short_message.is_empty();
    if !alphabet_differs && numbering == Numbering::AsItIs && !whole_elsewhere {
        return 0;
    }
    let mut header = content.header.clone();
    let (body, coding, changed) = if alphabet_differs {
        in_alphabet(&content, &mut header, to)
    } else {
        (content.body.clone(), content.coding, 0)
    };
    if coding != content.coding {
        pdu.data_coding = with_charset(pdu.data_coding, coding);
    }
    let mut tlvs = std::mem::take(&mut pdu.tlvs);
    if !tlvs.is_empty() {
        tlvs = tlvs.without(CARRIERS);
    }
    match (content.part, numbering) {
        (None, _) => {}
        (Some(part), Numbering::InFields) => {
            tlvs.push(tag::SAR_MSG_REF_NUM, &part.reference.to_be_bytes());
            tlvs.push(tag::SAR_TOTAL_SEGMENTS, &[part.total]);
            tlvs.push(tag::SAR_SEGMENT_SEQNUM, &[part.sequence]);
        }
        (Some(part), numbering) => {
            let part = match numbering {
                Numbering::InHeader { wide } => numbered(part, wide),
                _ => part,
            };
            header.set_concat(Some(part));
        }
    }
    let octets = framed_body(
        &header,
        body,
        coding == DataCoding::Default && to.alphabet == Alphabet::GsmPacked,
    );
    pdu.esm_class = if header.is_empty() {
        pdu.esm_class & !(UDHI as u8)
    } else {
        pdu.esm_class | UDHI as u8
    };
    if octets.len() <= SHORT_MESSAGE {
        pdu.short_message = octets;
    } else {
        pdu.short_message = Bytes::new();
        tlvs.push(tag::MESSAGE_PAYLOAD, &octets);
    }
    pdu.tlvs = tlvs;
    changed
}

/// Whether a message tells of another one; such a text is not written anew. What a user acknowledges is a text.
pub(super) fn is_report(message: &Message) -> bool {
    REPORTS.contains(&(message.esm_class & MESSAGE_TYPE))
}

/// How a part's place has to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbering {
    AsItIs,
    InHeader { wide: bool },
    InFields,
}

fn numbering_for(content: &MessageContent, pdu: &SubmitSm, long: LongMessages) -> Numbering {
    let Some(part) = content.part else {
        return Numbering::AsItIs;
    };
    let in_fields = pdu.tlvs.get(tag::SAR_MSG_REF_NUM).is_some();
    match long {
        LongMessages::Sar => Numbering::InFields,
        LongMessages::Udh if in_fields || part.wide => Numbering::InHeader { wide: false },
        LongMessages::Udh16 if in_fields || !part.wide => Numbering::InHeader { wide: true },
        _ if in_fields => Numbering::InFields,
        _ => Numbering::AsItIs,
    }
}

fn numbered(part: Concat, wide: bool) -> Concat {
    Concat {
        reference: if wide {
            part.reference
        } else {
            part.reference & 0xFF
        },
        wide,
        ..part
    }
}

/// The text in the peer's alphabet, or as its policy says.
fn in_alphabet(
    content: &MessageContent,
    header: &mut UserDataHeader,
    to: &PeerEncoding,
) -> (Bytes, DataCoding, usize) {
    let is_default = content.coding == DataCoding::Default;
    if is_default && content.alphabet == Alphabet::Gsm && is_gsm(to.alphabet) {
        return (content.body.clone(), content.coding, 0);
    }
    let has_one_octet_each =
        |alphabet| matches!(alphabet, Alphabet::Gsm | Alphabet::Latin1 | Alphabet::Ascii);
    if is_default
        && header.is_empty()
        && has_one_octet_each(content.alphabet)
        && has_one_octet_each(to.alphabet)
        && gsm7::reads_as_ascii(&content.body)
    {
        return (content.body.clone(), content.coding, 0);
    }
    let text = content.text().unwrap_or_default();
    let shifts = header.shifts();
    // Septets are packed behind the header, when that is known.
    let alphabet = match to.alphabet {
        Alphabet::GsmPacked => Alphabet::Gsm,
        other => other,
    };
    if let Ok(octets) = convert::encode(&text, alphabet, shifts) {
        return (octets.into(), DataCoding::Default, 0);
    }
    let as_ucs2 = || (Bytes::from(ucs2::encode(&text)), DataCoding::Ucs2, 0);
    match to.policy {
        UnrepresentableRule::Ucs2 => match divide::written(content, to) {
            Ok(written) => {
                *header = written.header;
                (written.octets, written.coding, 0)
            }
            Err(_) => as_ucs2(),
        },
        // Refused when it was accepted; here it has come by another way, and has to go.
        policy => {
            let policy = match policy {
                UnrepresentableRule::Refuse => UnrepresentableRule::Replace,
                policy => policy,
            };
            let forced = convert::force(&text, alphabet, shifts, policy.into());
            (forced.octets.into(), DataCoding::Default, forced.changed)
        }
    }
}

fn framed_body(header: &UserDataHeader, body: Bytes, packed: bool) -> Bytes {
    let body = match (packed, header.is_empty()) {
        (false, true) => return body,
        (false, false) => body,
        (true, true) => return pack::pack_text(&body).into(),
        (true, false) => pack::pack(&body, pack::fill_bits(header.octets())).into(),
    };
    let mut octets = header.encode();
    octets.extend_from_slice(&body);
    octets.into()
}

/// Whether a part can be sent to a peer by itself, written and numbered the way the peer wants.
pub fn fits_as_part(message: &Message, content: &MessageContent, to: &PeerEncoding) -> bool {
    let Some(part) = content.part else {
        return true;
    };
    if to.long == LongMessages::Payload {
        return false;
    }
    let unchanged = message.short_message.len() <= USER_DATA
        && (coding(message.data_coding.to_le_bytes()[0]) != DataCoding::Default
            || content.alphabet == to.alphabet);
    // What leaves: text in another data_coding than 0 goes on as it is.
    let (octets, units, mut header) = if together::is_rewritten(message, to) {
        match divide::written(content, to) {
            Ok(written) => (written.octets, written.units, written.header),
            Err(_) => return true,
        }
    } else {
        let (octets, units) = content.units();
        (octets, units, content.header.clone())
    };
    let is_wide = match to.long {
        LongMessages::AsIs => part.wide && message.esm_class & UDHI != 0,
        long => long == LongMessages::Udh16,
    };
    header.set_concat(Some(numbered(part, is_wide)));
    // One that is too long already is not made worse by passing it on as it is.
    let same_form = match to.long {
        LongMessages::Udh => !part.wide,
        LongMessages::Udh16 => part.wide && !content.is_numbered_by_tlvs,
        LongMessages::AsIs => true,
        _ => false,
    };
    (same_form && unchanged) || segment::fits(octets.len(), units, header.octets())
}

/// How a PDU carries a long text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LongForm {
    /// One of several parts, numbered in a header or in fields.
    Parts,
    /// In message_payload.
    Payload,
}

/// How a PDU carries a long text, if it does.
pub fn long_form(pdu: &SubmitSm) -> Option<LongForm> {
    if u32::from(pdu.esm_class) & UDHI != 0 {
        let (header, _) = UserDataHeader::split(&pdu.short_message).ok()?;
        return header.concat().map(|_| LongForm::Parts);
    }
    if pdu.tlvs.is_empty() {
        return None;
    }
    if pdu.tlvs.get(tag::SAR_TOTAL_SEGMENTS).is_some() {
        return Some(LongForm::Parts);
    }
    let payload = pdu.tlvs.get(tag::MESSAGE_PAYLOAD);
    payload.map(|_| LongForm::Payload)
}
