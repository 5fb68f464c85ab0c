//! The short message relay layer between a phone and its network: what carries a TPDU and what
//! answers it (3GPP TS 24.011 §7.3).
//!
//! Pure. Called by `smsc decode`, and by whatever stands in for a phone. GSUP and MAP carry the same
//! fields without this framing. Sections are those of TS 24.011.
//!
//! Invariants: [`decode`] never fails on what it can keep, and [`examine`] says what was odd; what
//! [`Rp::encode`] writes, [`decode`] reads as the same message.

use bytes::Bytes;

use crate::tpdu::field::{FieldFault, FieldProblem, TpduField, TpduWriteError, UnwritableReason};
use crate::tpdu::{Direction, ReadNotes, TpduAddress, TpduReader};

/// Most octets of RP-User Data in RP-DATA, and in RP-ACK and RP-ERROR (§7.3.1, §7.3.3, §7.3.4).
const USER_DATA_MAX: usize = 233;
const ANSWER_MAX: usize = 232;
/// Identifier of the optional RP-User Data (§8.2.5.3).
const USER_DATA_ELEMENT: u8 = 0x41;
/// The bits of RP-MTI and of a cause.
const MESSAGE_TYPE: u8 = 0x07;
const CAUSE: u8 = 0x7F;

/// RP-MTI from the phone (§8.2.2); one more towards it.
const DATA: u8 = 0;
const ACK: u8 = 2;
const ERROR: u8 = 4;
const MEMORY_AVAILABLE: u8 = 6;

/// A message of the relay layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rp {
    /// RP-DATA: a TPDU (§7.3.1).
    Data {
        /// Which way.
        direction: Direction,
        /// RP-MR: pairs it with its answer.
        reference: u8,
        /// The service centre: RP-OA towards the phone, RP-DA from it.
        service_centre: TpduAddress,
        /// The TPDU.
        tpdu: Bytes,
    },
    /// RP-ACK (§7.3.3).
    Ack {
        /// Which way.
        direction: Direction,
        /// RP-MR of the RP-DATA.
        reference: u8,
        /// A report.
        tpdu: Option<Bytes>,
    },
    /// RP-ERROR (§7.3.4).
    Error {
        /// Which way.
        direction: Direction,
        /// RP-MR of the RP-DATA.
        reference: u8,
        /// RP-Cause, 0 to 127: see [`cause_name`].
        cause: u8,
        /// What the cause says more, in an octet.
        diagnostic: Option<u8>,
        /// A report.
        tpdu: Option<Bytes>,
    },
    /// RP-SMMA: the phone has memory again (§7.3.2).
    MemoryAvailable {
        /// RP-MR.
        reference: u8,
    },
}

/// A message with the places of its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExaminedRp {
    /// Fields and oddities up to the end, or to the error.
    pub notes: ReadNotes,
    /// The message, or the first field that cannot be read.
    pub rp: Result<Rp, FieldFault>,
}

/// What a cause means (§8.2.5.4, Annex E).
#[must_use]
pub fn cause_name(cause: u8) -> &'static str {
    match cause {
        1 => "unassigned number",
        8 => "operator determined barring",
        10 => "call barred",
        11 | 17 => "reserved",
        21 => "short message transfer rejected",
        22 => "memory capacity exceeded",
        27 => "destination out of order",
        28 => "unidentified subscriber",
        29 => "facility rejected",
        30 => "unknown subscriber",
        38 => "network out of order",
        41 => "temporary failure",
        42 => "congestion",
        47 => "resources unavailable, unspecified",
        50 => "requested facility not subscribed",
        69 => "requested facility not implemented",
        81 => "invalid short message transfer reference value",
        95 => "semantically incorrect message",
        96 => "invalid mandatory information",
        97 => "message type non-existent or not implemented",
        98 => "message not compatible with the state of the protocol",
        99 => "information element non-existent or not implemented",
        111 => "protocol error, unspecified",
        127 => "interworking, unspecified",
        _ => "no cause known",
    }
}

/// Reads a message.
///
/// # Errors
/// The first field that cannot be read.
pub fn decode(octets: &Bytes) -> Result<Rp, FieldFault> {
    read(&mut TpduReader::new(octets, None))
}

/// Reads a message as [`decode`] does, and notes where its fields are and what is odd.
#[must_use]
pub fn examine(octets: &Bytes) -> ExaminedRp {
    let mut notes = ReadNotes::default();
    let rp = read(&mut TpduReader::new(octets, Some(&mut notes)));
    ExaminedRp { notes, rp }
}

fn read(reader: &mut TpduReader) -> Result<Rp, FieldFault> {
    let message_type = reader.octet(TpduField::RpMessageType)? & MESSAGE_TYPE;
    let reference = reader.octet(TpduField::RpMessageReference)?;
    let direction = match message_type & 1 {
        0 => Direction::FromPhone,
        _ => Direction::ToPhone,
    };
    let rp = match message_type & !1 {
        DATA => read_data(reader, direction, reference)?,
        ACK => Rp::Ack {
            direction,
            reference,
            tpdu: optional_tpdu(reader)?,
        },
        ERROR => {
            let (cause, diagnostic) = read_cause(reader)?;
            Rp::Error {
                direction,
                reference,
                cause,
                diagnostic,
                tpdu: optional_tpdu(reader)?,
            }
        }
        _ if message_type == MEMORY_AVAILABLE => Rp::MemoryAvailable { reference },
        _ => return Err(TpduField::RpMessageType.fault(0, FieldProblem::Reserved(message_type))),
    };
    reader.finish();
    Ok(rp)
}

fn read_data(
    reader: &mut TpduReader,
    direction: Direction,
    reference: u8,
) -> Result<Rp, FieldFault> {
    let originator = read_address(reader, TpduField::RpOriginatorAddress)?;
    let destination = read_address(reader, TpduField::RpDestinationAddress)?;
    let service_centre = match direction {
        Direction::ToPhone => originator,
        Direction::FromPhone => destination,
    };
    let length = usize::from(reader.octet(TpduField::RpUserData)?);
    let tpdu = reader.at_most(TpduField::RpUserData, length);
    Ok(Rp::Data {
        direction,
        reference,
        service_centre: service_centre.unwrap_or_default(),
        tpdu,
    })
}

fn read_address(
    reader: &mut TpduReader,
    field: TpduField,
) -> Result<Option<TpduAddress>, FieldFault> {
    let length = usize::from(reader.octet(field)?);
    let octets = reader.take(field, length)?;
    Ok(TpduAddress::from_type_and_digits(&octets))
}

fn read_cause(reader: &mut TpduReader) -> Result<(u8, Option<u8>), FieldFault> {
    let at = reader.at();
    let length = usize::from(reader.octet(TpduField::RpCause)?);
    let octets = reader.take(TpduField::RpCause, length)?;
    let cause = octets
        .first()
        .ok_or(TpduField::RpCause.fault(at, FieldProblem::Short { wanted: 1, left: 0 }))?;
    Ok((cause & CAUSE, octets.get(1).copied()))
}

/// The TPDU of an answer; elements that are not known are left over.
fn optional_tpdu(reader: &mut TpduReader) -> Result<Option<Bytes>, FieldFault> {
    if reader.peek() != Some(USER_DATA_ELEMENT) {
        return Ok(None);
    }
    let [_, length] = reader.array(TpduField::RpUserData)?;
    Ok(Some(reader.at_most(TpduField::RpUserData, length.into())))
}

// === impl Rp ===

impl Rp {
    /// Its name in the standard: `RP-DATA`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Rp::Data { .. } => "RP-DATA",
            Rp::Ack { .. } => "RP-ACK",
            Rp::Error { .. } => "RP-ERROR",
            Rp::MemoryAvailable { .. } => "RP-SMMA",
        }
    }

    /// Its octets.
    ///
    /// # Errors
    /// The first field that cannot carry its value.
    pub fn encode(&self) -> Result<Vec<u8>, TpduWriteError> {
        let mut out = Vec::new();
        match self {
            Rp::Data {
                direction,
                reference,
                service_centre,
                tpdu,
            } => {
                out.extend([type_of(DATA, *direction), *reference]);
                match direction {
                    Direction::ToPhone => {
                        write_address(service_centre, TpduField::RpOriginatorAddress, &mut out)?;
                        out.push(0);
                    }
                    Direction::FromPhone => {
                        out.push(0);
                        write_address(service_centre, TpduField::RpDestinationAddress, &mut out)?;
                    }
                }
                write_tpdu(tpdu, USER_DATA_MAX, &mut out)?;
            }
            Rp::Ack {
                direction,
                reference,
                tpdu,
            } => {
                out.extend([type_of(ACK, *direction), *reference]);
                write_optional(tpdu.as_ref(), &mut out)?;
            }
            Rp::Error {
                direction,
                reference,
                cause,
                diagnostic,
                tpdu,
            } => {
                out.extend([type_of(ERROR, *direction), *reference]);
                if *cause > CAUSE {
                    return Err(TpduField::RpCause.refuses(UnwritableReason::Large {
                        value: (*cause).into(),
                        most: CAUSE.into(),
                    }));
                }
                out.push(1 + u8::from(diagnostic.is_some()));
                out.push(*cause);
                out.extend(*diagnostic);
                write_optional(tpdu.as_ref(), &mut out)?;
            }
            Rp::MemoryAvailable { reference } => out.extend([MEMORY_AVAILABLE, *reference]),
        }
        Ok(out)
    }
}

/// RP-MTI of a direction.
fn type_of(message_type: u8, direction: Direction) -> u8 {
    message_type + u8::from(direction == Direction::ToPhone)
}

fn write_address(
    address: &TpduAddress,
    field: TpduField,
    out: &mut Vec<u8>,
) -> Result<(), TpduWriteError> {
    let length_at = out.len();
    out.push(0);
    address.write_type_and_digits(field, out)?;
    // A type and ten octets of digits at most.
    out[length_at] = (out.len() - length_at - 1) as u8;
    Ok(())
}

fn write_tpdu(tpdu: &Bytes, most: usize, out: &mut Vec<u8>) -> Result<(), TpduWriteError> {
    let length = tpdu.len();
    if length > most {
        let unit = "octets";
        return Err(TpduField::RpUserData.refuses(UnwritableReason::Long { length, unit, most }));
    }
    out.push(length as u8);
    out.extend_from_slice(tpdu);
    Ok(())
}

fn write_optional(tpdu: Option<&Bytes>, out: &mut Vec<u8>) -> Result<(), TpduWriteError> {
    let Some(tpdu) = tpdu else {
        return Ok(());
    };
    out.push(USER_DATA_ELEMENT);
    write_tpdu(tpdu, ANSWER_MAX, out)
}

#[cfg(test)]
mod tests;
