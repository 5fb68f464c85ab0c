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

pub use address::Address;
pub use field::{Fault, Field, Problem, Reason, WriteError};
pub use message::{Deliver, Submit};
pub(crate) use reader::Reader;
pub use reader::{Notes, Span};
pub use report::{Command, DeliverReport, StatusReport, SubmitReport};
pub use time::{Enhanced, Period, TimeStamp, Validity};
pub use user_data::{Parameters, UserData};

/// Octets of the longest TPDU: what the largest SMS-SUBMIT has, and the reports may have (§9.2.2).
pub const TPDU_MAX: usize = 164;

/// TP-UDHI (§9.2.3.23).
const UDHI: u8 = 0x40;
/// TP-MTI (§9.2.3.1).
const MESSAGE_TYPE: u8 = 0x03;
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
pub enum Kind {
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
    Submit(Submit),
    StatusReport(StatusReport),
    Command(Command),
    DeliverReport(DeliverReport),
    SubmitReport(SubmitReport),
}

/// A TPDU with the places of its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// Fields and oddities up to the end, or to the error.
    pub notes: Notes,
    /// The message, or the first field that cannot be read.
    pub tpdu: Result<Tpdu, Fault>,
}

/// Reads a TPDU of a known kind.
///
/// # Errors
/// The first field that cannot be read: the octets end before it, or the message type is another.
pub fn decode(kind: Kind, octets: &Bytes) -> Result<Tpdu, Fault> {
    read(kind, &mut Reader::new(octets, None))
}

/// Reads a TPDU as [`decode`] does, and notes where its fields are and what is odd.
#[must_use]
pub fn examine(kind: Kind, octets: &Bytes) -> Examined {
    let mut notes = Notes::default();
    let tpdu = read(kind, &mut Reader::new(octets, Some(&mut notes)));
    Examined { notes, tpdu }
}

fn read(kind: Kind, reader: &mut Reader) -> Result<Tpdu, Fault> {
    let first = reader.peek().unwrap_or(kind.message_type());
    let found = first & MESSAGE_TYPE;
    let is_deliver = kind == Kind::Deliver && found == RESERVED_TYPE;
    if found != kind.message_type() && !is_deliver {
        let wanted = kind.name();
        return Err(Field::FirstOctet.fault(0, Problem::OtherType { wanted, found }));
    }
    if is_deliver {
        reader.odd(Field::FirstOctet, 0, Problem::Reserved(found));
    }
    let tpdu = match kind {
        Kind::Deliver => Tpdu::Deliver(Deliver::read(reader)?),
        Kind::Submit => Tpdu::Submit(Submit::read(reader)?),
        Kind::StatusReport => Tpdu::StatusReport(StatusReport::read(reader)?),
        Kind::Command => Tpdu::Command(Command::read(reader)?),
        Kind::DeliverReport => Tpdu::DeliverReport(DeliverReport::read(reader, false)?),
        Kind::DeliverReportError => Tpdu::DeliverReport(DeliverReport::read(reader, true)?),
        Kind::SubmitReport => Tpdu::SubmitReport(SubmitReport::read(reader, false)?),
        Kind::SubmitReportError => Tpdu::SubmitReport(SubmitReport::read(reader, true)?),
    };
    reader.finish();
    Ok(tpdu)
}

/// A bit, if it is to be set.
fn bit(is_set: bool, bit: u8) -> u8 {
    if is_set { bit } else { 0 }
}

// === impl Kind ===

impl Kind {
    /// Which TPDU begins with these octets, by TP-MTI (§9.2.3.1). Reports do not say whether they are
    /// in RP-ACK or RP-ERROR: one whose second octet is 0x80 or above is taken for one in RP-ERROR,
    /// because TP-FCS is, and TP-PI has never been extended to be. `None` for a reserved type from a
    /// phone, and for no octets.
    #[must_use]
    pub fn guess(direction: Direction, octets: &[u8]) -> Option<Self> {
        let is_error = octets.get(1).is_some_and(|second| *second >= 0x80);
        Some(match (direction, octets.first()? & MESSAGE_TYPE) {
            (Direction::ToPhone, 1) if is_error => Kind::SubmitReportError,
            (Direction::ToPhone, 1) => Kind::SubmitReport,
            (Direction::ToPhone, 2) => Kind::StatusReport,
            (Direction::ToPhone, _) => Kind::Deliver,
            (Direction::FromPhone, 0) if is_error => Kind::DeliverReportError,
            (Direction::FromPhone, 0) => Kind::DeliverReport,
            (Direction::FromPhone, 1) => Kind::Submit,
            (Direction::FromPhone, 2) => Kind::Command,
            (Direction::FromPhone, _) => return None,
        })
    }

    /// Its name in the standard: `SMS-DELIVER`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Deliver => "SMS-DELIVER",
            Kind::Submit => "SMS-SUBMIT",
            Kind::StatusReport => "SMS-STATUS-REPORT",
            Kind::Command => "SMS-COMMAND",
            Kind::DeliverReport => "SMS-DELIVER-REPORT in RP-ACK",
            Kind::DeliverReportError => "SMS-DELIVER-REPORT in RP-ERROR",
            Kind::SubmitReport => "SMS-SUBMIT-REPORT in RP-ACK",
            Kind::SubmitReportError => "SMS-SUBMIT-REPORT in RP-ERROR",
        }
    }

    /// TP-MTI.
    fn message_type(self) -> u8 {
        match self {
            Kind::Deliver | Kind::DeliverReport | Kind::DeliverReportError => 0,
            Kind::Submit | Kind::SubmitReport | Kind::SubmitReportError => 1,
            Kind::StatusReport | Kind::Command => 2,
        }
    }
}

// === impl Tpdu ===

impl Tpdu {
    /// Its octets.
    ///
    /// # Errors
    /// The first field that cannot carry its value.
    pub fn encode(&self) -> Result<Vec<u8>, WriteError> {
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
    pub fn kind(&self) -> Kind {
        match self {
            Tpdu::Deliver(_) => Kind::Deliver,
            Tpdu::Submit(_) => Kind::Submit,
            Tpdu::StatusReport(_) => Kind::StatusReport,
            Tpdu::Command(_) => Kind::Command,
            Tpdu::DeliverReport(report) if report.failure_cause.is_some() => {
                Kind::DeliverReportError
            }
            Tpdu::DeliverReport(_) => Kind::DeliverReport,
            Tpdu::SubmitReport(report) if report.failure_cause.is_some() => Kind::SubmitReportError,
            Tpdu::SubmitReport(_) => Kind::SubmitReport,
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
