//! One long message as several short ones.
//!
//! Called by Ingest and by the assembly actor, before anything is durable. Keeps true that the parts
//! together are the text, that no part is longer than a handset takes, and that every other field of
//! the message is in every part.

use bytes::Bytes;

use super::{CARRIERS, PeerEncoding};
use crate::{MessageContent, UDHI, alphabet_of, ports};
use smsc_config::{LongMessages, UnrepresentableRule};
use smsc_proto as pb;
use smsc_proto::{Composition, Message};
use smsc_smpp::{Tlvs, tag};
use smsc_sms::coding::{DataCoding, with_charset};
use smsc_sms::convert::{self, Alphabet, Choice};
use smsc_sms::segment::{self, PartNumbering, Units};
use smsc_sms::udh::{Concat, UserDataHeader};
use smsc_sms::{gsm7, ucs2};

/// Why a message cannot be sent as its peer wants it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DivideRefusal {
    /// By the policy `refuse`.
    #[error("its alphabet does not have {character:?}")]
    Character { character: char },
    #[error("it needs more than 255 parts")]
    TooLong,
}

/// A text as it is divided: in the GSM alphabet, one septet per octet, in UCS-2 or as octets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DividedText {
    pub header: UserDataHeader,
    pub octets: Bytes,
    pub units: Units,
    pub coding: DataCoding,
    /// Characters that were replaced.
    pub changed: usize,
}

/// How the parts are numbered.
pub fn form(long: LongMessages) -> PartNumbering {
    match long {
        LongMessages::Udh16 => PartNumbering::Sixteen,
        LongMessages::Sar => PartNumbering::Fields,
        LongMessages::AsIs | LongMessages::Udh | LongMessages::Payload => PartNumbering::Eight,
    }
}

/// Writes a text for a peer in one of the three ways that can be divided.
pub fn written(content: &MessageContent, to: &PeerEncoding) -> Result<DividedText, DivideRefusal> {
    let as_it_is = |units, coding| {
        Ok(DividedText {
            header: content.header.clone(),
            octets: content.body.clone(),
            units,
            coding,
            changed: 0,
        })
    };
    let text = match (content.coding, content.alphabet) {
        (DataCoding::Ucs2, _) => return as_it_is(Units::Ucs2, DataCoding::Ucs2),
        (DataCoding::Octets | DataCoding::Other(_), _) => {
            return as_it_is(Units::Octets, content.coding);
        }
        (DataCoding::Default, Alphabet::Gsm) if is_gsm(to.alphabet) => {
            return as_it_is(Units::Septets, DataCoding::Default);
        }
        _ => content.text().unwrap_or_default(),
    };
    let shifts = content.header.shifts();
    let Err(unrepresentable) = convert::encode(&text, to.alphabet, shifts) else {
        return Ok(in_septets(content, &text, 0).unwrap_or_else(|| in_ucs2(content, &text)));
    };
    match to.policy {
        UnrepresentableRule::Ucs2 => {
            Ok(in_a_language(content, &text, to).unwrap_or_else(|| in_ucs2(content, &text)))
        }
        UnrepresentableRule::Refuse => Err(DivideRefusal::Character {
            character: unrepresentable.character,
        }),
        policy => {
            let forced = convert::force(&text, to.alphabet, shifts, policy.into());
            let text = convert::decode(to.alphabet, &forced.octets, shifts);
            let changed = forced.changed;
            let written = in_septets(content, &text, changed);
            Ok(written.unwrap_or_else(|| DividedText {
                changed,
                ..in_ucs2(content, &text)
            }))
        }
    }
}

/// Divides a message, with the header in which a peer that knows no TLVs gets the application ports.
///
/// # Errors
/// See [`DivideRefusal`].
pub fn framed(
    message: &Message,
    content: &MessageContent,
    to: &PeerEncoding,
) -> Result<DividedText, DivideRefusal> {
    let mut written = written(content, to)?;
    let ports = ports(message).filter(|_| to.user_data_only);
    if let Some(ports) = ports.filter(|_| written.header.ports().is_none()) {
        written.header.push(ports);
    }
    Ok(written)
}

/// Whether a message may be sent to a peer that refuses what its alphabet does not have.
///
/// # Errors
/// [`DivideRefusal::Character`].
pub fn check(message: &Message, to: &PeerEncoding) -> Result<(), DivideRefusal> {
    if to.policy != UnrepresentableRule::Refuse || alphabet_of(message) == to.alphabet {
        return Ok(());
    }
    written(&MessageContent::read(message), to).map(drop)
}

/// Checks a part that waits for others: half a character says nothing yet.
///
/// # Errors
/// [`DivideRefusal::Character`].
pub fn check_part(message: &Message, to: &PeerEncoding) -> Result<(), DivideRefusal> {
    match check(message, to) {
        Err(DivideRefusal::Character {
            character: char::REPLACEMENT_CHARACTER,
        }) => Ok(()),
        checked => checked,
    }
}

pub fn is_gsm(alphabet: Alphabet) -> bool {
    matches!(alphabet, Alphabet::Gsm | Alphabet::GsmPacked)
}

fn in_septets(content: &MessageContent, text: &str, changed: usize) -> Option<DividedText> {
    let septets = gsm7::encode(text, content.header.shifts()).ok()?;
    Some(DividedText {
        header: content.header.clone(),
        octets: septets.into(),
        units: Units::Septets,
        coding: DataCoding::Default,
        changed,
    })
}

fn in_ucs2(content: &MessageContent, text: &str) -> DividedText {
    let mut header = content.header.clone();
    header.set_shifts(Default::default());
    DividedText {
        header,
        octets: ucs2::encode(text).into(),
        units: Units::Ucs2,
        coding: DataCoding::Ucs2,
        changed: 0,
    }
}

/// With the national tables that the peer takes, when that is shorter than UCS-2.
fn in_a_language(content: &MessageContent, text: &str, to: &PeerEncoding) -> Option<DividedText> {
    if to.languages.is_empty() || !is_gsm(to.alphabet) {
        return None;
    }
    let Choice::Gsm(shifts) = convert::choose(text, &to.languages) else {
        return None;
    };
    let mut header = content.header.clone();
    header.set_shifts(shifts);
    Some(DividedText {
        header,
        octets: gsm7::encode(text, shifts).ok()?.into(),
        units: Units::Septets,
        coding: DataCoding::Default,
        changed: 0,
    })
}

/// The parts of a message for a peer, without ids, and how many characters were changed.
/// `reference` numbers them; an 8-bit form takes its low octet.
///
/// # Errors
/// See [`DivideRefusal`].
pub fn divide(
    message: &Message,
    to: &PeerEncoding,
    reference: u16,
) -> Result<(Vec<Message>, usize), DivideRefusal> {
    let written = framed(message, &MessageContent::read(message), to)?;
    let form = form(to.long);
    let bodies = segment::split(&written.octets, written.units, &written.header, form)
        .map_err(|_| DivideRefusal::TooLong)?;
    let total = u8::try_from(bodies.len()).map_err(|_| DivideRefusal::TooLong)?;
    let others = Tlvs::from_raw(message.tlvs.clone()).without(CARRIERS);
    let data_coding = with_charset(message.data_coding.to_le_bytes()[0], written.coding);
    // Nobody knows a whole that was put together here.
    let composition = message.composition.as_deref();
    let is_gathered = composition.is_some_and(|one| !one.made_of.is_empty());
    let parts = (1..=total).zip(bodies).map(|(sequence, body)| {
        let mut tlvs = others.clone();
        let mut header = written.header.clone();
        if form == PartNumbering::Fields {
            header.set_concat(None);
            tlvs.push(tag::SAR_MSG_REF_NUM, &reference.to_be_bytes());
            tlvs.push(tag::SAR_TOTAL_SEGMENTS, &[total]);
            tlvs.push(tag::SAR_SEGMENT_SEQNUM, &[sequence]);
        } else {
            let wide = form == PartNumbering::Sixteen;
            header.set_concat(Some(Concat {
                reference: if wide { reference } else { reference & 0xFF },
                wide,
                total,
                sequence,
            }));
        }
        let mut octets = header.encode();
        octets.extend_from_slice(&body);
        Message {
            id: 0,
            esm_class: if header.is_empty() {
                message.esm_class & !UDHI
            } else {
                message.esm_class | UDHI
            },
            data_coding: data_coding.into(),
            short_message: octets.into(),
            tlvs: tlvs.raw().clone(),
            alphabet: pb::Alphabet::Gsm.into(),
            // A TPDU is of the whole.
            payload_kind: pb::PayloadKind::Smpp.into(),
            tpdu: Vec::new(),
            composition: Some(Box::new(Composition {
                parent: message.id,
                ..Composition::default()
            })),
            // The last part speaks for the whole.
            report_states: if sequence == total && !is_gathered {
                message.report_states
            } else {
                0
            },
            ..message.clone()
        }
    });
    Ok((parts.collect(), written.changed))
}
