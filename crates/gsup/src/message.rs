//! The GSUP messages that carry short messages: MO-forwardSM, MT-forwardSM and READY-FOR-SM with their
//! errors and results, and ROUTING_ERROR.
//!
//! [`GsupMessage::encode`] refuses what the protocol cannot carry and what its message type needs and
//! lacks. [`GsupMessage::decode`] keeps whatever it can read: other message types, elements in any order, a
//! name with or without its NUL; of repeated elements the last one counts.

use bytes::Bytes;
use smsc_sms::tpdu::address::{bcd_digits, write_digits};
use smsc_sms::tpdu::{self, TpduAddress, TpduField};

use crate::element::{CutShort, Elements, Tag};
use crate::message_type::MessageType;

/// Message class of short messages.
pub const CLASS_SMS: u8 = 2;
/// SM-RP-MR of an MT-forwardSM, whose number only the MSC gives.
pub const REFERENCE_UNKNOWN: u8 = 0xFF;
/// SM alert reasons: the phone is there again, or has memory again.
pub const ALERT_PRESENT: u8 = 1;
pub const ALERT_MEMORY: u8 = 2;

/// Kinds of SM-RP-DA and SM-RP-OA.
const IS_IMSI: u8 = 0x01;
const IS_MSISDN: u8 = 0x02;
const IS_SERVICE_CENTRE: u8 = 0x03;
const IS_ABSENT: u8 = 0xFF;

/// Digits of an IMSI (3GPP TS 23.003 §2.2).
const IMSI_DIGITS: std::ops::RangeInclusive<usize> = 6..=15;
/// Longest value of an element.
const VALUE_MAX: usize = 255;
/// Largest RP-Cause (3GPP TS 24.011 §8.2.5.4).
pub const RP_CAUSE_MAX: u8 = 127;

/// SM-RP-DA or SM-RP-OA (3GPP TS 29.002 §7.6.8.1, §7.6.8.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmRpAddress {
    /// A subscriber by IMSI; only as a destination.
    Imsi(String),
    /// A subscriber by number.
    Msisdn(TpduAddress),
    /// A service centre.
    ServiceCentre(TpduAddress),
    /// Explicitly none.
    Absent,
}

/// A message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GsupMessage {
    /// What it is.
    pub message_type: MessageType,
    /// The subscriber, in digits.
    pub imsi: String,
    /// GMM cause (3GPP TS 24.008 §10.5.5.14): why the HLR or MSC could not even try.
    pub cause: Option<u8>,
    /// SM-RP-MR: pairs requests and answers as far as it goes; an MSC answers with its own.
    pub reference: Option<u8>,
    /// SM-RP-DA.
    pub destination: Option<SmRpAddress>,
    /// SM-RP-OA.
    pub originator: Option<SmRpAddress>,
    /// SM-RP-UI: a TPDU.
    pub user_information: Option<Bytes>,
    /// SM-RP-MMS: more messages follow.
    pub more_messages: Option<bool>,
    /// SM-RP-Cause: what the phone or the service centre says (3GPP TS 24.011 §8.2.5.4).
    pub rp_cause: Option<u8>,
    /// Why a phone is ready: [`ALERT_PRESENT`], [`ALERT_MEMORY`].
    pub alert_reason: Option<u8>,
    /// [`CLASS_SMS`] in what we write.
    pub class: Option<u8>,
    /// The IPA name of who sends it, without its NUL.
    pub source_name: Option<Bytes>,
    /// The IPA name of who is to get it, without its NUL.
    pub destination_name: Option<Bytes>,
}

/// A message that cannot be read, with what was read of it: enough to answer it, most often.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} at octet {at}: {problem}", tag.name())]
pub struct MalformedGsup {
    /// What was read before the element.
    pub message: Box<GsupMessage>,
    /// The element.
    pub tag: Tag,
    /// Its first octet, from the message type, which is octet 0.
    pub at: usize,
    /// What is wrong with it.
    pub problem: ElementProblem,
}

/// What is wrong with an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ElementProblem {
    /// It does not end within the message.
    #[error("it does not end within the message")]
    CutShort,
    /// The message needs it.
    #[error("the message lacks it")]
    Missing,
    /// A value of another length.
    #[error("a value of {0} octets makes no sense")]
    Length(usize),
    /// An address that is none of IMSI, MSISDN, service centre.
    #[error("no kind of address is {0:#04x}")]
    Kind(u8),
}

/// What cannot be written, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", tag.name())]
pub struct GsupWriteError {
    /// The element that would have to carry it.
    pub tag: Tag,
    /// Why it cannot.
    pub reason: ElementWriteProblem,
}

/// Why an element cannot carry a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ElementWriteProblem {
    /// The message type needs it.
    #[error("the message needs it")]
    Missing,
    /// No IMSI.
    #[error("an IMSI has 6 to 15 digits")]
    Imsi,
    /// An address that cannot be in this element.
    #[error("an IMSI cannot be an originator")]
    Kind,
    /// A number that no semi-octets can carry.
    #[error(transparent)]
    Number(#[from] tpdu::TpduWriteError),
    /// Longer than an element.
    #[error("{0} octets; 255 are possible")]
    Long(usize),
    /// An RP-Cause above 127.
    #[error("{0} is above 127")]
    Large(u8),
}

// === impl SmRpAddress ===

impl SmRpAddress {
    /// Reads the value of an element.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn decode(value: &[u8]) -> Result<Self, ElementProblem> {
        let (kind, rest) = value.split_first().ok_or(ElementProblem::Length(0))?;
        let number = || TpduAddress::from_type_and_digits(rest).ok_or(ElementProblem::Length(1));
        Ok(match *kind {
            IS_IMSI => SmRpAddress::Imsi(bcd_digits(rest)),
            IS_MSISDN => SmRpAddress::Msisdn(number()?),
            IS_SERVICE_CENTRE => SmRpAddress::ServiceCentre(number()?),
            IS_ABSENT => SmRpAddress::Absent,
            other => return Err(ElementProblem::Kind(other)),
        })
    }

    fn write(&self, field: TpduField, out: &mut Vec<u8>) -> Result<(), ElementWriteProblem> {
        match self {
            SmRpAddress::Imsi(_) if field == TpduField::RpOriginatorAddress => {
                return Err(ElementWriteProblem::Kind);
            }
            SmRpAddress::Imsi(imsi) => {
                out.push(IS_IMSI);
                write_imsi(imsi, out)?;
            }
            SmRpAddress::Msisdn(address) => {
                out.push(IS_MSISDN);
                address.write_type_and_digits(field, out)?;
            }
            SmRpAddress::ServiceCentre(address) => {
                out.push(IS_SERVICE_CENTRE);
                address.write_type_and_digits(field, out)?;
            }
            SmRpAddress::Absent => out.push(IS_ABSENT),
        }
        Ok(())
    }
}

// === impl GsupMessage ===

impl GsupMessage {
    /// A message about a subscriber, of the class of short messages.
    #[must_use]
    pub fn new(message_type: MessageType, imsi: impl Into<String>) -> Self {
        Self {
            message_type,
            imsi: imsi.into(),
            class: Some(CLASS_SMS),
            ..Self::default()
        }
    }

    /// The answer to this request, from whom it was for to whom it came from. A peer behind an HLR is
    /// reached only with both names, so `own_name` is that of this end.
    #[must_use]
    pub fn answer(&self, message_type: MessageType, own_name: &Bytes) -> Self {
        Self {
            reference: self.reference,
            source_name: Some(own_name.clone()),
            destination_name: self.source_name.clone(),
            ..Self::new(message_type, self.imsi.clone())
        }
    }

    /// Reads a message, whose first octet is its type.
    ///
    /// # Errors
    /// [`MalformedGsup`]: the first element of short messages that cannot be read, or no IMSI.
    pub fn decode(octets: &Bytes) -> Result<Self, MalformedGsup> {
        let mut message = GsupMessage {
            message_type: MessageType(octets.first().copied().unwrap_or_default()),
            ..GsupMessage::default()
        };
        for element in Elements::of(octets) {
            let (at, tag, read) = match element {
                Ok(element) => {
                    let read = message.take(element.tag, element.value);
                    (element.at, element.tag, read)
                }
                Err(CutShort { at, tag }) => (at, tag, Err(ElementProblem::CutShort)),
            };
            if let Err(problem) = read {
                return Err(message.malformed(tag, at, problem));
            }
        }
        if message.imsi.is_empty() {
            return Err(message.malformed(Tag::IMSI, octets.len(), ElementProblem::Missing));
        }
        Ok(message)
    }

    /// Its octets, the type first.
    ///
    /// # Errors
    /// The first element that the message needs and lacks, or that cannot carry its value.
    pub fn encode(&self) -> Result<Vec<u8>, GsupWriteError> {
        if let Some(tag) = self.missing() {
            let reason = ElementWriteProblem::Missing;
            return Err(GsupWriteError { tag, reason });
        }
        let mut out = Vec::with_capacity(crate::ipa::FRAME_MAX / 4);
        out.push(self.message_type.0);
        write(Tag::IMSI, &mut out, |out| write_imsi(&self.imsi, out))?;
        write_octet(Tag::CAUSE, self.cause, &mut out);
        write_octet(Tag::SM_RP_MR, self.reference, &mut out);
        for (tag, address, field) in [
            (
                Tag::SM_RP_DA,
                &self.destination,
                TpduField::RpDestinationAddress,
            ),
            (
                Tag::SM_RP_OA,
                &self.originator,
                TpduField::RpOriginatorAddress,
            ),
        ] {
            if let Some(address) = address {
                write(tag, &mut out, |out| address.write(field, out))?;
            }
        }
        if let Some(octets) = &self.user_information {
            write_octets(Tag::SM_RP_UI, &[octets], &mut out)?;
        }
        write_octet(Tag::SM_RP_MMS, self.more_messages.map(u8::from), &mut out);
        if let Some(large) = self.rp_cause.filter(|cause| *cause > RP_CAUSE_MAX) {
            let (tag, reason) = (Tag::SM_RP_CAUSE, ElementWriteProblem::Large(large));
            return Err(GsupWriteError { tag, reason });
        }
        write_octet(Tag::SM_RP_CAUSE, self.rp_cause, &mut out);
        write_octet(Tag::SM_ALERT_REASON, self.alert_reason, &mut out);
        write_octet(Tag::MESSAGE_CLASS, self.class, &mut out);
        for (tag, name) in [
            (Tag::SOURCE_NAME, &self.source_name),
            (Tag::DESTINATION_NAME, &self.destination_name),
        ] {
            if let Some(name) = name {
                write_octets(tag, &[name, &[0]], &mut out)?;
            }
        }
        Ok(out)
    }

    /// The first element that the message needs and lacks; messages of other procedures need an IMSI.
    #[must_use]
    pub fn missing(&self) -> Option<Tag> {
        let needed: &[Tag] = match self.message_type {
            MessageType::MO_FORWARD_SM_REQUEST | MessageType::MT_FORWARD_SM_REQUEST => &[
                Tag::IMSI,
                Tag::SM_RP_MR,
                Tag::SM_RP_DA,
                Tag::SM_RP_OA,
                Tag::SM_RP_UI,
            ],
            MessageType::READY_FOR_SM_REQUEST => &[Tag::IMSI, Tag::SM_RP_MR, Tag::SM_ALERT_REASON],
            MessageType::MO_FORWARD_SM_ERROR
            | MessageType::MT_FORWARD_SM_ERROR
            | MessageType::READY_FOR_SM_ERROR => &[Tag::IMSI, Tag::SM_RP_MR, Tag::SM_RP_CAUSE],
            MessageType::MO_FORWARD_SM_RESULT
            | MessageType::MT_FORWARD_SM_RESULT
            | MessageType::READY_FOR_SM_RESULT => &[Tag::IMSI, Tag::SM_RP_MR],
            _ => &[Tag::IMSI],
        };
        let is_missing = |tag: Tag| match tag {
            Tag::IMSI => self.imsi.is_empty(),
            Tag::SM_RP_MR => self.reference.is_none(),
            Tag::SM_RP_DA => self.destination.is_none(),
            Tag::SM_RP_OA => self.originator.is_none(),
            Tag::SM_RP_UI => self.user_information.is_none(),
            Tag::SM_ALERT_REASON => self.alert_reason.is_none(),
            // An HLR that cannot even try gives the cause of another element.
            _ => self.rp_cause.is_none() && self.cause.is_none(),
        };
        needed.iter().copied().find(|tag| is_missing(*tag))
    }

    /// Makes a fault of what was read so far.
    pub(crate) fn malformed(self, tag: Tag, at: usize, problem: ElementProblem) -> MalformedGsup {
        MalformedGsup {
            message: Box::new(self),
            tag,
            at,
            problem,
        }
    }

    fn take(&mut self, tag: Tag, value: Bytes) -> Result<(), ElementProblem> {
        match tag {
            Tag::IMSI => self.imsi = bcd_digits(&value),
            Tag::CAUSE => self.cause = Some(octet(&value)?),
            Tag::MESSAGE_CLASS => self.class = Some(octet(&value)?),
            Tag::SM_RP_MR => self.reference = Some(octet(&value)?),
            Tag::SM_RP_DA => self.destination = Some(SmRpAddress::decode(&value)?),
            Tag::SM_RP_OA => self.originator = Some(SmRpAddress::decode(&value)?),
            Tag::SM_RP_UI => self.user_information = Some(value),
            Tag::SM_RP_CAUSE => self.rp_cause = Some(octet(&value)?),
            Tag::SM_RP_MMS => self.more_messages = Some(octet(&value)? > 0),
            Tag::SM_ALERT_REASON => self.alert_reason = Some(octet(&value)?),
            Tag::SOURCE_NAME => self.source_name = Some(without_nul(value)),
            Tag::DESTINATION_NAME => self.destination_name = Some(without_nul(value)),
            _ => {}
        }
        Ok(())
    }
}

fn octet(value: &[u8]) -> Result<u8, ElementProblem> {
    match value {
        [octet] => Ok(*octet),
        other => Err(ElementProblem::Length(other.len())),
    }
}

fn without_nul(mut name: Bytes) -> Bytes {
    if name.last() == Some(&0) {
        name.truncate(name.len() - 1);
    }
    name
}

fn write_imsi(imsi: &str, out: &mut Vec<u8>) -> Result<(), ElementWriteProblem> {
    let is_imsi = IMSI_DIGITS.contains(&imsi.len()) && imsi.bytes().all(|c| c.is_ascii_digit());
    if !is_imsi {
        return Err(ElementWriteProblem::Imsi);
    }
    Ok(write_digits(imsi, TpduField::RpDestinationAddress, out)?)
}

/// An element whose value the closure appends.
fn write(
    tag: Tag,
    out: &mut Vec<u8>,
    value: impl FnOnce(&mut Vec<u8>) -> Result<(), ElementWriteProblem>,
) -> Result<(), GsupWriteError> {
    out.extend([tag.0, 0]);
    let start = out.len();
    value(out).map_err(|reason| GsupWriteError { tag, reason })?;
    let length = out.len() - start;
    if length > VALUE_MAX {
        let reason = ElementWriteProblem::Long(length);
        return Err(GsupWriteError { tag, reason });
    }
    out[start - 1] = length as u8;
    Ok(())
}

fn write_octets(tag: Tag, pieces: &[&[u8]], out: &mut Vec<u8>) -> Result<(), GsupWriteError> {
    write(tag, out, |out| {
        pieces.iter().for_each(|piece| out.extend_from_slice(piece));
        Ok(())
    })
}

fn write_octet(tag: Tag, value: Option<u8>, out: &mut Vec<u8>) {
    if let Some(value) = value {
        out.extend([tag.0, 1, value]);
    }
}

#[cfg(test)]
mod tests;
