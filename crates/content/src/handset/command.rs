//! SMS-COMMAND: what a phone orders about a message that it has submitted (3GPP TS 23.040 §9.2.2.4, §9.2.3.18-21).

use bytes::Bytes;

use super::address;
use super::status::reference_of;
use smsc_proto::{Address, Message, PayloadKind};
use smsc_sms::tpdu::field::FieldFault;
use smsc_sms::tpdu::{self, SmsCommand, Tpdu};

/// What can be ordered (§9.2.3.19).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandType {
    /// Tell what became of it.
    Enquire,
    /// Send no status report about it.
    CancelReport,
    /// Delete it.
    Delete,
    /// Send a status report about it after all.
    WantReport,
    /// Reserved, or of another service centre.
    Unknown(u8),
}

// === impl CommandType ===

impl CommandType {
    fn of(command_type: u8) -> Self {
        match command_type {
            0 => Self::Enquire,
            1 => Self::CancelReport,
            2 => Self::Delete,
            3 => Self::WantReport,
            other => Self::Unknown(other),
        }
    }
}

/// The order of an SMS-COMMAND, and the SMS-COMMAND.
///
/// # Errors
/// The first field that cannot be read.
pub fn order(octets: &Bytes) -> Result<(CommandType, SmsCommand), FieldFault> {
    let command = match tpdu::decode(tpdu::TpduKind::Command, octets)? {
        Tpdu::Command(command) => command,
        // It has one type only.
        _ => SmsCommand::default(),
    };
    Ok((CommandType::of(command.command_type), command))
}

/// Whether a command of this phone is about a message: the phone has submitted it under this reference to this address
/// (§9.2.3.18). Rules may have rewritten addresses: those of the submission count.
pub fn is_about(command: &SmsCommand, msisdn: &str, message: &Message) -> bool {
    let original = message.original.as_deref();
    let source = original.and_then(|one| one.source.as_ref());
    let destination = original.and_then(|one| one.destination.as_ref());
    let from = address::of_subscriber(msisdn);
    let to = address::of_tpdu(&command.destination_address);
    message.payload_kind() == PayloadKind::SmsSubmit
        && reference_of(message) == Some(command.message_number)
        && digits(source, &message.source) == &from.digits[..]
        && digits(destination, &message.destination) == &to.digits[..]
}

fn digits<'a>(original: Option<&'a Address>, stored: &'a Bytes) -> &'a [u8] {
    original.map_or(stored, |original| &original.digits)
}
