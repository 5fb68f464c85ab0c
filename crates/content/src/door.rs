//! The door: what a message must be to be taken, whoever brings it, so that what is stored can be written to any peer and
//! means the same to all of them.
//!
//! Called by Ingest for each submission and by orders that replace the content of one. The codec takes more than the
//! standard allows; what it let in is made right here or refused, with the status of its field. Pure.

use smsc_config::TwoTexts;
use smsc_domain::address::{is_digits, normalise, unformatted};
use smsc_proto::Message;
use smsc_smpp::time::{format_absolute, is_standard};
use smsc_smpp::{CommandStatus, SubmitSm, Tlvs, tag};

/// Octets of an address and of service_type, without the NUL (SMPP 3.4 §5.2.8-9, §5.2.11).
pub const ADDRESS: usize = 20;
/// Octets of an address in data_sm and alert_notification (§4.7.1, §4.12.1).
pub const ADDRESS_OF_DATA_SM: usize = 64;
const SERVICE_TYPE: usize = 5;
/// An address with so many digits is a number; codes such as `*100#` have fewer.
const DIGITS_OF_NUMBER: usize = 7;
/// The highest TON (§5.2.5) has three bits on the air (3GPP TS 23.040 §9.1.2.5).
const MAX_TON: u32 = 7;
const ALPHANUMERIC: u32 = 5;
/// The highest priority_flag and replace_if_present_flag (§5.2.14, §5.2.18).
const MAX_PRIORITY: u32 = 3;
const REPLACES: u32 = 1;
/// The bits of esm_class that say what kind of message it is (§5.2.12), and the kinds that an ESME may submit: an
/// ordinary one, and the acknowledgements of the recipient.
const MESSAGE_TYPE: u32 = 0x3C;
const OF_ESME: [u32; 3] = [0x00, 0x08, 0x10];

/// Who brings a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bringer {
    Account {
        two_texts: TwoTexts,
        /// It is another message centre: what it brings may be a receipt.
        is_centre: bool,
    },
    /// What an operator brings is lost when it is refused.
    Operator,
}

/// Checks a message that is about to be taken, and makes right what can be.
///
/// # Errors
/// The status that names what is wrong.
pub fn enter(message: &mut Message, bringer: Bringer) -> Result<(), CommandStatus> {
    fields(message, bringer)?;
    message.priority = message.priority.min(MAX_PRIORITY);
    if message.replace_if_present > REPLACES {
        message.replace_if_present = 0;
    }
    content(message, bringer)
}

/// Checks what a replacement can change: what kind of message it is, and its text.
///
/// # Errors
/// As [`enter`].
pub fn content(message: &mut Message, bringer: Bringer) -> Result<(), CommandStatus> {
    let (may_report, two_texts) = match bringer {
        Bringer::Account {
            two_texts,
            is_centre,
        } => (is_centre, two_texts),
        Bringer::Operator => (true, TwoTexts::ShortMessage),
    };
    if !may_report && !OF_ESME.contains(&(message.esm_class & MESSAGE_TYPE)) {
        return Err(CommandStatus::ESME_RINVESMCLASS);
    }
    if message.tlvs.is_empty() {
        return Ok(());
    }
    let tlvs = Tlvs::from_raw(message.tlvs.clone());
    let (mut texts, mut reports) = (0, false);
    for (tag, value) in &tlvs {
        // An empty one is no second text.
        texts += usize::from(tag == tag::MESSAGE_PAYLOAD && !value.is_empty());
        reports |= tag == tag::RECEIPTED_MESSAGE_ID || tag == tag::MESSAGE_STATE;
    }
    if reports && !may_report {
        return Err(CommandStatus::ESME_RTLVNOTALLWD);
    }
    let has_short = !message.short_message.is_empty();
    match texts + usize::from(has_short) {
        0 | 1 => Ok(()),
        _ => one_text(message, &tlvs, two_texts),
    }
}

/// Leaves one of several texts, so that everybody reads the same.
fn one_text(message: &mut Message, tlvs: &Tlvs, wanted: TwoTexts) -> Result<(), CommandStatus> {
    let payload = tlvs.get(tag::MESSAGE_PAYLOAD).unwrap_or_default();
    let has_short = !message.short_message.is_empty();
    let keeps_short = match wanted {
        TwoTexts::Refuse => return Err(CommandStatus::ESME_RINVTLVSTREAM),
        TwoTexts::ShortMessage => has_short,
        TwoTexts::MessagePayload => false,
    };
    let mut left = tlvs.without(&[tag::MESSAGE_PAYLOAD]);
    if !keeps_short {
        message.short_message.clear();
        left.push(tag::MESSAGE_PAYLOAD, payload);
    }
    message.tlvs = left.raw().clone();
    Ok(())
}

fn fields(message: &mut Message, bringer: Bringer) -> Result<(), CommandStatus> {
    if message.source.len() > ADDRESS || !is_source(message.source_ton, &message.source) {
        return Err(CommandStatus::ESME_RINVSRCADR);
    }
    if message.destination.len() > ADDRESS || !is_destination(&message.destination) {
        return Err(CommandStatus::ESME_RINVDSTADR);
    }
    let is_operator = bringer == Bringer::Operator;
    if message.source_ton != ALPHANUMERIC
        && let Some(number) = unformatted(&message.source)
    {
        message.source = number.into();
    }
    if let Some(number) = unformatted(&message.destination) {
        message.destination = number.into();
    } else if !is_operator && !is_plain(&message.destination) {
        return Err(CommandStatus::ESME_RINVDSTADR);
    }
    for (ton, status) in [
        (&mut message.source_ton, CommandStatus::ESME_RINVSRCTON),
        (&mut message.dest_ton, CommandStatus::ESME_RINVDSTTON),
    ] {
        match *ton {
            ..=MAX_TON => {}
            _ if is_operator => *ton = 0,
            _ => return Err(status),
        }
    }
    if is_service_type(&message.service_type) {
        Ok(())
    } else if is_operator {
        message.service_type.clear();
        Ok(())
    } else {
        Err(CommandStatus::ESME_RINVSERTYP)
    }
}

/// A name may have any octet, for an alphabet of its own may be meant; so may what is none by its TON, but for control
/// characters.
fn is_source(ton: u32, address: &[u8]) -> bool {
    ton == ALPHANUMERIC || !address.iter().any(u8::is_ascii_control)
}

fn is_destination(address: &[u8]) -> bool {
    address.iter().all(|octet| (b' '..0x7F).contains(octet))
}

/// Whether peers read the number of an address as we do: one with a character that is no digit, such as the filler of a
/// TPDU, would reach a subscriber past the lists that have the number.
fn is_plain(address: &[u8]) -> bool {
    let digits = address.iter().filter(|octet| octet.is_ascii_digit());
    digits.count() < DIGITS_OF_NUMBER || is_digits(normalise(address))
}

fn is_service_type(service_type: &[u8]) -> bool {
    service_type.len() <= SERVICE_TYPE && is_destination(service_type)
}

/// Writes the times of a message as the standard has them (§7.1.1), once it is known when they are.
pub fn write_times(message: &mut Message) {
    for (field, at) in [
        (&mut message.schedule_delivery_time, message.due_at),
        (&mut message.validity_period, message.expires_at),
    ] {
        if !field.is_empty() && !is_standard(field) {
            *field = if is_said(field) {
                format_absolute(at).into()
            } else {
                Vec::new()
            };
        }
    }
}

/// Whether it is a time: all zeros say nothing.
fn is_said(time: &[u8]) -> bool {
    time.iter().any(|octet| (b'1'..=b'9').contains(octet)) || time.ends_with(b"R")
}

/// Makes a PDU right that is about to be written, as far as it can be: what waited in the store of an earlier release, or
/// what a rule made of it, may still be longer than its field. `address`: octets that one may have in this operation.
///
/// # Errors
/// The status that a peer would answer; then the PDU must not be written.
pub fn leave(pdu: &mut SubmitSm, address: usize) -> Result<(), CommandStatus> {
    if pdu.source_addr.len() > address {
        return Err(CommandStatus::ESME_RINVSRCADR);
    }
    if pdu.destination_addr.len() > address {
        return Err(CommandStatus::ESME_RINVDSTADR);
    }
    if pdu.service_type.len() > SERVICE_TYPE {
        return Err(CommandStatus::ESME_RINVSERTYP);
    }
    for ton in [&mut pdu.source_addr_ton, &mut pdu.dest_addr_ton] {
        if u32::from(*ton) > MAX_TON {
            *ton = 0;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
