//! The content of a stored message: its characters, its place in a longer text, how many short
//! messages it takes.
//!
//! Pure, between the fields of SMPP and [`smsc_sms`]. Used by ingest, sessions, queues, traces, the
//! admin API and exports, so that all of them read the same text.

pub mod compose;
pub mod door;
pub mod handset;
pub mod pdu;
pub mod peer;

use bytes::Bytes;

use smsc_config::LongMessages;
use smsc_proto as pb;

use smsc_proto::Message;
use smsc_smpp::{Tlvs, tag};
use smsc_sms::coding::{DataCoding, coding};
use smsc_sms::convert::{self, Alphabet};
use smsc_sms::segment::{self, Units};
use smsc_sms::udh::{Concat, Element, PORTS_16, UserDataHeader};

/// esm_class: the user data begins with a header (SMPP 3.4 §5.2.12).
pub const UDHI: u32 = smsc_smpp::ESM_UDHI as u32;

/// The text of a message with what frames it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageContent {
    /// Without the concatenation element of a part.
    pub header: UserDataHeader,
    /// Which of several parts it is, by header or by TLVs; what calls itself the only one is none.
    pub part: Option<Concat>,
    /// Whether the TLVs say so: its header has no such element yet.
    pub is_numbered_by_tlvs: bool,
    /// Without the header.
    pub body: Bytes,
    pub coding: DataCoding,
    /// What the default alphabet means in `body`.
    pub alphabet: Alphabet,
}

// === impl MessageContent ===

impl MessageContent {
    /// Reads a message. A header that is none is text: what a peer sent is passed on, not judged.
    pub fn read(message: &Message) -> Self {
        let alphabet = alphabet_of(message);
        let coding = coding(message.data_coding.to_le_bytes()[0]);
        let octets = payload(message);
        let framed = if message.esm_class & UDHI != 0 {
            UserDataHeader::split(&octets).ok()
        } else {
            None
        };
        let (mut header, mut body) = framed.unwrap_or_else(|| (UserDataHeader::default(), octets));
        if coding == DataCoding::Default && alphabet == Alphabet::GsmPacked {
            body = unpacked(&header, &body);
        }
        let by_header = header.concat();
        let part = by_header.or_else(|| sar(message));
        let part = part.filter(|part| part.total > 1);
        if part.is_some() {
            header.set_concat(None);
        }
        Self {
            header,
            part,
            is_numbered_by_tlvs: by_header.is_none(),
            body,
            coding,
            alphabet: match alphabet {
                Alphabet::GsmPacked => Alphabet::Gsm,
                other => other,
            },
        }
    }

    /// The characters, `None` for what is no text.
    pub fn text(&self) -> Option<String> {
        let alphabet = match self.coding {
            DataCoding::Default => self.alphabet,
            DataCoding::Ascii => Alphabet::Ascii,
            DataCoding::Latin1 => Alphabet::Latin1,
            DataCoding::Ucs2 => Alphabet::Ucs2,
            DataCoding::Octets | DataCoding::Other(_) => return None,
        };
        Some(convert::decode(alphabet, &self.body, self.header.shifts()))
    }

    /// Into how many short messages a text goes that is so written. A part has the form of its number unless it gets
    /// another one that takes less room.
    fn count(
        &self,
        octets: &[u8],
        units: Units,
        header: &UserDataHeader,
        long: LongMessages,
    ) -> usize {
        let Some(part) = self.part else {
            return segment::count(octets, units, header, peer::divide::form(long));
        };
        // The number that TLVs give it is in its header when it is sent.
        let is_eight = self.is_numbered_by_tlvs || peer::gets_eight(long);
        let form = if part.wide && !is_eight {
            segment::PartNumbering::Sixteen
        } else {
            segment::PartNumbering::Eight
        };
        segment::count_numbered(octets, units, header, form)
    }

    /// How much of a short message `body` takes, as a handset gets it. A text that is neither in the
    /// GSM alphabet nor in UCS-2 is counted as what it becomes.
    pub fn units(&self) -> (Bytes, Units) {
        match (self.coding, self.alphabet) {
            (DataCoding::Default, Alphabet::Gsm) => (self.body.clone(), Units::Septets),
            (DataCoding::Ucs2, _) => (self.body.clone(), Units::Ucs2),
            (DataCoding::Octets | DataCoding::Other(_), _) => (self.body.clone(), Units::Octets),
            _ => {
                let text = self.text().unwrap_or_default();
                match convert::encode(&text, Alphabet::Gsm, self.header.shifts()) {
                    Ok(septets) => (septets.into(), Units::Septets),
                    Err(_) => (smsc_sms::ucs2::encode(&text).into(), Units::Ucs2),
                }
            }
        }
    }
}

/// What data_coding 0 means in a message.
pub fn alphabet_of(message: &Message) -> Alphabet {
    alphabet(message.alphabet())
}

/// An alphabet as it is stored.
pub fn alphabet(stored: pb::Alphabet) -> Alphabet {
    match stored {
        pb::Alphabet::Gsm => Alphabet::Gsm,
        pb::Alphabet::GsmPacked => Alphabet::GsmPacked,
        pb::Alphabet::Latin1 => Alphabet::Latin1,
        pb::Alphabet::Ascii => Alphabet::Ascii,
        pb::Alphabet::Utf8 => Alphabet::Utf8,
        pb::Alphabet::Ucs2 => Alphabet::Ucs2,
    }
}

/// An alphabet as the store has it.
pub fn as_stored(alphabet: Alphabet) -> pb::Alphabet {
    match alphabet {
        Alphabet::Gsm => pb::Alphabet::Gsm,
        Alphabet::GsmPacked => pb::Alphabet::GsmPacked,
        Alphabet::Latin1 => pb::Alphabet::Latin1,
        Alphabet::Ascii => pb::Alphabet::Ascii,
        Alphabet::Utf8 => pb::Alphabet::Utf8,
        Alphabet::Ucs2 => pb::Alphabet::Ucs2,
    }
}

/// short_message, or message_payload when that is empty (SMPP 3.4 §5.3.2.32).
pub fn payload(message: &Message) -> Bytes {
    if !message.short_message.is_empty() || message.tlvs.is_empty() {
        return message.short_message.clone();
    }
    Tlvs::from_raw(message.tlvs.clone())
        .get_bytes(tag::MESSAGE_PAYLOAD)
        .unwrap_or_default()
}

/// Which part of a longer text a message is, by its header or by its sar_ parameters.
pub fn part_of(message: &Message) -> Option<Concat> {
    // The common case first.
    if message.esm_class & UDHI == 0 && message.tlvs.is_empty() {
        return None;
    }
    MessageContent::read(message).part
}

/// The characters of a message; `None` when its octets are no text, or were erased.
pub fn text_of(message: &Message) -> Option<String> {
    if message.text_erased {
        None
    } else {
        MessageContent::read(message).text()
    }
}

/// Whether a message carries a part of a longer one that was divided here.
pub fn is_part(message: &Message) -> bool {
    parent_of(message).is_some()
}

/// The message that this one is a part of.
pub fn parent_of(message: &Message) -> Option<u64> {
    let composition = message.composition.as_ref()?;
    (composition.parent != 0).then_some(composition.parent)
}

/// How many short messages carry this one.
pub fn parts(message: &Message) -> u32 {
    let composition = message.composition.as_ref();
    composition.map_or(1, |composition| composition.sent_as.len().max(1) as u32)
}

/// Whether a message is a copy that brings the receipt of another one.
pub fn is_receipt_copy(message: &Message) -> bool {
    message
        .copied
        .as_deref()
        .is_some_and(|copied| copied.receipt)
}

/// The state before the final one that a copy brings of another message.
pub fn state_report(message: &Message) -> Option<&pb::StateReport> {
    message.copied.as_deref()?.report.as_ref()
}

/// Whether a message exists only inside: a part of one that was divided here, a whole that was
/// put together from messages that are accounted for by themselves, or a copy of another one.
pub fn is_internal(message: &Message) -> bool {
    let internal =
        |composition: &pb::Composition| composition.parent != 0 || !composition.made_of.is_empty();
    message.copied.is_some() || message.composition.as_deref().is_some_and(internal)
}

/// How many short messages a handset gets for this message: what rates, quotas, prices and records count. One that was
/// divided here is what it was divided into; for any other it was noted when it was accepted ([`peer::note`]), where its
/// peer gets something else than its octets, and is what they take otherwise.
pub fn segments(message: &Message) -> u32 {
    let Some(composition) = message.composition.as_deref() else {
        return by_octets(message);
    };
    match (composition.sent_as.len(), composition.short_messages) {
        (0 | 1, 0) => by_octets(message),
        (0 | 1, noted) => noted,
        (divided, _) => divided as u32,
    }
}

/// How many short messages the octets of a message take, whatever they call themselves.
pub fn by_octets(message: &Message) -> u32 {
    by_octets_as(message, LongMessages::AsIs)
}

/// How many short messages the octets take for a peer that gets parts numbered this way.
fn by_octets_as(message: &Message, long: LongMessages) -> u32 {
    if message.short_message.len() <= segment::USER_DATA / 2 && message.tlvs.is_empty() {
        return 1;
    }
    let content = MessageContent::read(message);
    let (octets, units) = content.units();
    let count = content.count(&octets, units, &content.header, long);
    let count = match count {
        // Beside such a header no text has room: then it is octets.
        usize::MAX => payload(message).len().div_ceil(segment::USER_DATA),
        count => count,
    };
    let count = count.max(unread_header(message, &octets, units));
    u32::try_from(count).unwrap_or(u32::MAX).max(1)
}

/// How many short messages the octets of a message take whose header has more than what is read of it: elements that
/// call themselves a number of parts and are none, or a second one. They leave as they came. 0 for any other.
fn unread_header(message: &Message, octets: &[u8], units: Units) -> usize {
    if message.esm_class & UDHI == 0 {
        return 0;
    }
    let all = payload(message);
    let Ok((elements, _)) = UserDataHeader::split(&all) else {
        // It is text.
        return 0;
    };
    let header = all.first().map_or(0, |length| usize::from(*length) + 1);
    let number = elements
        .concat()
        .map_or(0, |part| Concat::octets(part.wide));
    let is_read = match elements.octets_unnumbered() + number {
        0 => header == 0,
        // The octet of the length is there once.
        read => header <= read.max(1 + number),
    };
    if is_read {
        return 0;
    }
    let body = match units {
        Units::Septets => (octets.len() * 7).div_ceil(8),
        _ => octets.len(),
    };
    (header + body).div_ceil(segment::USER_DATA)
}

/// The element for the application ports that a message has as TLVs (3GPP TS 23.040 §9.2.3.24.4; SMPP 3.4 §5.3.2.20,
/// §5.3.2.21).
pub fn ports(message: &Message) -> Option<Element> {
    if message.tlvs.is_empty() {
        return None;
    }
    let tlvs = Tlvs::from_raw(message.tlvs.clone());
    let port = |tag| tlvs.get(tag).filter(|port| port.len() == 2);
    let (to, from) = (port(tag::DEST_PORT), port(tag::SOURCE_PORT));
    to.or(from)?;
    let data = [to.unwrap_or(&[0, 0]), from.unwrap_or(&[0, 0])].concat();
    Some(Element {
        id: PORTS_16,
        data: data.into(),
    })
}

/// Which part a message is by its sar_ parameters (SMPP 3.4 §5.3.2.22-24).
fn sar(message: &Message) -> Option<Concat> {
    if message.tlvs.is_empty() {
        return None;
    }
    let tlvs = Tlvs::from_raw(message.tlvs.clone());
    let octet = |tag| tlvs.get(tag)?.first().copied();
    let reference = tlvs.get(tag::SAR_MSG_REF_NUM)?;
    let (total, sequence) = (
        octet(tag::SAR_TOTAL_SEGMENTS)?,
        octet(tag::SAR_SEGMENT_SEQNUM)?,
    );
    (1..=total).contains(&sequence).then_some(Concat {
        reference: u16::from_be_bytes([*reference.first()?, *reference.get(1)?]),
        wide: true,
        total,
        sequence,
    })
}

/// Septets, one per octet, of a packed body behind its header.
fn unpacked(header: &UserDataHeader, body: &Bytes) -> Bytes {
    use smsc_sms::pack;
    if header.is_empty() {
        return pack::unpack_text(body).into();
    }
    let fill = pack::fill_bits(header.octets());
    let count = (body.len() * 8).saturating_sub(usize::from(fill)) / 7;
    pack::unpack(body, fill, count).into()
}
