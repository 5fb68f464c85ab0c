//! What phones and service centres tell one another: the TPDUs of 3GPP TS 23.040 §9.2.
//!
//! Pure: octets to messages and back. Called by whatever speaks to a radio network ([`crate::rp`] and
//! GSUP carry TPDUs) and by `smsc decode`. Sections are those of TS 23.040.
//!
//! | TP-MTI | to the phone | from the phone |
//! |---|---|---|
//! | 0 | SMS-DELIVER | SMS-DELIVER-REPORT |
//! | 1 | SMS-SUBMIT-REPORT | SMS-SUBMIT |
//! | 2 | SMS-STATUS-REPORT | SMS-COMMAND |
//! | 3 | reserved, read as SMS-DELIVER | reserved |
//!
//! Invariants:
//! - [`decode`] never fails on what it can keep: reserved bits are ignored, user data that is cut short
//!   is kept as far as it goes, octets left over are ignored; [`examine`] says what was odd;
//! - what [`Tpdu::encode`] writes, [`decode`] reads as the same message without an oddity; what the
//!   standard cannot carry is refused with the name of the field;
//! - texts are carried as SMPP carries them: a septet string in the 7-bit alphabet.

pub mod address;
pub mod field;
mod message;
mod reader;
mod report;
pub mod time;
mod user_data;

use bytes::Bytes;

pub use address::TpduAddress;
pub use field::{FieldFault, FieldProblem, TpduField, TpduWriteError, UnwritableReason};
pub use message::{Deliver, SmsSubmit};
pub(crate) use reader::TpduReader;
pub use reader::{FieldSpan, ReadNotes};
pub use report::{DeliverReport, SmsCommand, StatusReport, SubmitReport};
pub use time::{Enhanced, Period, TimeStamp, Validity};
pub use user_data::{Parameters, UserData};

/// Octets of the longest TPDU: what the largest SMS-SUBMIT has, and the reports may have (§9.2.2).
pub const TPDU_MAX: usize = 164;

/// TP-UDHI (§9.2.3.23).
const UDHI: u8 = 0x40;
/// TP-MTI (§9.2.3.1).
pub const MESSAGE_TYPE: u8 = 0x03;
const RESERVED_TYPE: u8 = 3;

/// Which way a TPDU goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From a service centre.
    ToPhone,
    /// To a service centre.
    FromPhone,
}

/// The types of TPDUs. The reports in RP-ERROR have a field more than those in RP-ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TpduKind {
    Deliver,
    Submit,
    StatusReport,
    Command,
    /// In RP-ACK.
    DeliverReport,
    /// In RP-ERROR.
    DeliverReportError,
    /// In RP-ACK.
    SubmitReport,
    /// In RP-ERROR.
    SubmitReportError,
}

/// A TPDU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tpdu {
    Deliver(Deliver),
    Submit(SmsSubmit),
    StatusReport(StatusReport),
    Command(SmsCommand),
    DeliverReport(DeliverReport),
    SubmitReport(SubmitReport),
}

/// A TPDU with the places of its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExaminedTpdu {
    /// Fields and oddities up to the end, or to the error.
    pub notes: ReadNotes,
    /// The message, or the first field that cannot be read.
    pub tpdu: Result<Tpdu, FieldFault>,
}

/// Reads a TPDU of a known kind.
///
/// # Errors
/// The first field that cannot be read: the octets end before it, or the message type is another.
pub fn decode(kind: TpduKind, octets: &Bytes) -> Result<Tpdu, FieldFault> {
    read(kind, &mut TpduReader::new(octets, None))
}

/// Reads a TPDU as [`decode`] does, and notes where its fields are and what is odd.
#[must_use]
pub fn examine(kind: TpduKind, octets: &Bytes) -> ExaminedTpdu {
    let mut notes = ReadNotes::default();
    let tpdu = read(kind, &mut TpduReader::new(octets, Some(&mut notes)));
    ExaminedTpdu { notes, tpdu }
}

fn read(kind: TpduKind, reader: &mut TpduReader) -> Result<Tpdu, FieldFault> {
    let first = reader.peek().unwrap_or(kind.message_type());
    let found = first & MESSAGE_TYPE;
    let is_deliver = kind == TpduKind::Deliver && found == RESERVED_TYPE;
    if found != kind.message_type() && !is_deliver {
        let wanted = kind.name();
        return Err(TpduField::FirstOctet.fault(0, FieldProblem::OtherType { wanted, found }));
    }
    if is_deliver {
        reader.odd(TpduField::FirstOctet, 0, FieldProblem::Reserved(found));
    }
    let tpdu = match kind {
        TpduKind::Deliver => Tpdu::Deliver(Deliver::read(reader)?),
        TpduKind::Submit => Tpdu::Submit(SmsSubmit::read(reader)?),
        TpduKind::StatusReport => Tpdu::StatusReport(StatusReport::read(reader)?),
        TpduKind::Command => Tpdu::Command(SmsCommand::read(reader)?),
        TpduKind::DeliverReport => Tpdu::DeliverReport(DeliverReport::read(reader, false)?),
        TpduKind::DeliverReportError => Tpdu::DeliverReport(DeliverReport::read(reader, true)?),
        TpduKind::SubmitReport => Tpdu::SubmitReport(SubmitReport::read(reader, false)?),
        TpduKind::SubmitReportError => Tpdu::SubmitReport(SubmitReport::read(reader, true)?),
    };
    reader.finish();
    Ok(tpdu)
}

/// A bit, if it is to be set.
fn bit(is_set: bool, bit: u8) -> u8 {
    if is_set { bit } else { 0 }
}

// === impl TpduKind ===

impl TpduKind {
    /// Which TPDU begins with these octets, by TP-MTI (§9.2.3.1). Reports do not say whether they are
    /// in RP-ACK or RP-ERROR: one whose second octet is 0x80 or above is taken for one in RP-ERROR,
    /// because TP-FCS is, and TP-PI has never been extended to be. `None` for a reserved type from a
    /// phone, and for no octets.
    #[must_use]
    pub fn guess(direction: Direction, octets: &[u8]) -> Option<Self> {
        let is_error = octets.get(1).is_some_and(|second| *second >= 0x80);
        Some(match (direction, octets.first()? & MESSAGE_TYPE) {
            (Direction::ToPhone, 1) if is_error => TpduKind::SubmitReportError,
            (Direction::ToPhone, 1) => TpduKind::SubmitReport,
            (Direction::ToPhone, 2) => TpduKind::StatusReport,
            (Direction::ToPhone, _) => TpduKind::Deliver,
            (Direction::FromPhone, 0) if is_error => TpduKind::DeliverReportError,
            (Direction::FromPhone, 0) => TpduKind::DeliverReport,
            (Direction::FromPhone, 1) => TpduKind::Submit,
            (Direction::FromPhone, 2) => TpduKind::Command,
            (Direction::FromPhone, _) => return None,
        })
    }

    /// Its name in the standard: `SMS-DELIVER`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TpduKind::Deliver => "SMS-DELIVER",
            TpduKind::Submit => "SMS-SUBMIT",
            TpduKind::StatusReport => "SMS-STATUS-REPORT",
            TpduKind::Command => "SMS-COMMAND",
            TpduKind::DeliverReport => "SMS-DELIVER-REPORT in RP-ACK",
            TpduKind::DeliverReportError => "SMS-DELIVER-REPORT in RP-ERROR",
            TpduKind::SubmitReport => "SMS-SUBMIT-REPORT in RP-ACK",
            TpduKind::SubmitReportError => "SMS-SUBMIT-REPORT in RP-ERROR",
        }
    }

    /// TP-MTI.
    fn message_type(self) -> u8 {
        match self {
            TpduKind::Deliver | TpduKind::DeliverReport | TpduKind::DeliverReportError => 0,
            TpduKind::Submit | TpduKind::SubmitReport | TpduKind::SubmitReportError => 1,
            TpduKind::StatusReport | TpduKind::Command => 2,
        }
    }
}

// === impl Tpdu ===

impl Tpdu {
    /// Its octets.
    ///
    /// # Errors
    /// The first field that cannot carry its value.
    pub fn encode(&self) -> Result<Vec<u8>, TpduWriteError> {
        let mut out = Vec::with_capacity(TPDU_MAX);
        match self {
            Tpdu::Deliver(deliver) => deliver.write(&mut out)?,
            Tpdu::Submit(submit) => submit.write(&mut out)?,
            Tpdu::StatusReport(report) => report.write(&mut out)?,
            Tpdu::Command(command) => command.write(&mut out)?,
            Tpdu::DeliverReport(report) => report.write(&mut out)?,
            Tpdu::SubmitReport(report) => report.write(&mut out)?,
        }
        Ok(out)
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> TpduKind {
        match self {
            Tpdu::Deliver(_) => TpduKind::Deliver,
            Tpdu::Submit(_) => TpduKind::Submit,
            Tpdu::StatusReport(_) => TpduKind::StatusReport,
            Tpdu::Command(_) => TpduKind::Command,
            Tpdu::DeliverReport(report) if report.failure_cause.is_some() => {
                TpduKind::DeliverReportError
            }
            Tpdu::DeliverReport(_) => TpduKind::DeliverReport,
            Tpdu::SubmitReport(report) if report.failure_cause.is_some() => {
                TpduKind::SubmitReportError
            }
            Tpdu::SubmitReport(_) => TpduKind::SubmitReport,
        }
    }

    /// Its user data with the TP-DCS that it is read by; that of a command is data.
    #[must_use]
    pub fn user_data(&self) -> Option<(&UserData, u8)> {
        let parameters = match self {
            Tpdu::Deliver(deliver) => return Some((&deliver.user_data, deliver.data_coding)),
            Tpdu::Submit(submit) => return Some((&submit.user_data, submit.data_coding)),
            Tpdu::Command(command) => return Some((&command.data, user_data::OCTETS)),
            Tpdu::StatusReport(report) => &report.parameters,
            Tpdu::DeliverReport(report) => &report.parameters,
            Tpdu::SubmitReport(report) => &report.parameters,
        };
        let user_data = parameters.user_data.as_ref()?;
        Some((user_data, parameters.data_coding.unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests;
