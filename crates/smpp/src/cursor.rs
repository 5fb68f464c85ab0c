//! Reads mandatory fields out of one frame, and never past it (SMPP 3.4 §3.1, §3.2).
//!
//! Used by the field tables in `pdu/`, one method per kind of field. Every method returns the field's
//! name and the status that tells the peer which field was wrong. Invariant: `at <= frame.len()`.

use bytes::Bytes;

use super::pdu::{DestAddress, UnsuccessSme};
use super::{CommandStatus, Leniency, Tlvs, tag};

/// Which field could not be read, and what to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FieldError {
    /// The field's name in the standard.
    pub field: &'static str,
    /// The status of §5.1.3 that names this field.
    pub status: CommandStatus,
}

/// A position in a frame.
pub(super) struct Cursor<'a> {
    frame: &'a Bytes,
    at: usize,
    leniency: &'a Leniency,
    /// Fields missing at the end read as empty: responses of lenient sessions.
    absent_is_empty: bool,
}

/// `dest_flag` of an address and of a distribution list (§5.2.25).
pub(super) const DEST_FLAG_SME: u8 = 1;
/// See [`DEST_FLAG_SME`].
pub(super) const DEST_FLAG_LIST: u8 = 2;

/// Longest C-octet strings of the standard that appear in nested lists, NUL included.
const ADDRESS_MAX: usize = 21;

impl<'a> Cursor<'a> {
    /// Starts behind the header.
    pub fn new(frame: &'a Bytes, at: usize, is_response: bool, leniency: &'a Leniency) -> Self {
        Cursor {
            frame,
            at: at.min(frame.len()),
            leniency,
            absent_is_empty: is_response && leniency.short_responses,
        }
    }

    /// The octets not yet read.
    fn rest(&self) -> &'a [u8] {
        &self.frame[self.at..]
    }

    /// Ends the body: octets left over are an error only for strict peers.
    pub fn finish(&self) -> Result<(), FieldError> {
        if self.rest().is_empty() || self.leniency.trailing_octets {
            return Ok(());
        }
        Err(FieldError {
            field: "command_length",
            status: CommandStatus::ESME_RINVCMDLEN,
        })
    }

    /// A one-octet integer (§3.1).
    #[inline]
    pub fn octet(&mut self, field: &'static str, status: CommandStatus) -> Result<u8, FieldError> {
        match self.frame.get(self.at) {
            Some(octet) => {
                self.at += 1;
                Ok(*octet)
            }
            None if self.absent_is_empty => Ok(0),
            None => Err(FieldError { field, status }),
        }
    }

    /// A four-octet integer (§3.1).
    pub fn word(&mut self, field: &'static str, status: CommandStatus) -> Result<u32, FieldError> {
        match self.rest().first_chunk::<4>() {
            Some(octets) => {
                self.at += 4;
                Ok(u32::from_be_bytes(*octets))
            }
            None => Err(FieldError { field, status }),
        }
    }

    /// A C-octet string of at most `max` octets, its NUL included (§3.1).
    #[inline]
    pub fn c_string(
        &mut self,
        field: &'static str,
        max: usize,
        status: CommandStatus,
    ) -> Result<Bytes, FieldError> {
        self.c_string_within(field, max + self.leniency.c_string_extra, status)
    }

    /// `password` (§5.2.2): like any C-octet string, with a limit of its own.
    pub fn password(
        &mut self,
        field: &'static str,
        status: CommandStatus,
    ) -> Result<Bytes, FieldError> {
        self.c_string_within(field, self.leniency.password_max + 1, status)
    }

    /// `schedule_delivery_time`, `validity_period`, `final_date`: empty or 16 characters (§7.1.1).
    #[inline]
    pub fn time(
        &mut self,
        field: &'static str,
        status: CommandStatus,
    ) -> Result<Bytes, FieldError> {
        let time = self.c_string(field, 17, status)?;
        if time.is_empty() || time.len() == 16 || self.leniency.short_times {
            return Ok(time);
        }
        Err(FieldError { field, status })
    }

    #[inline]
    fn c_string_within(
        &mut self,
        field: &'static str,
        max: usize,
        status: CommandStatus,
    ) -> Result<Bytes, FieldError> {
        let rest = self.rest();
        // Most strings of a PDU are a lone NUL: no slice, no reference count.
        if rest.first() == Some(&0) {
            self.at += 1;
            return Ok(Bytes::new());
        }
        let window = &rest[..rest.len().min(max)];
        let (length, consumed) = match window.iter().position(|octet| *octet == 0) {
            Some(nul) => (nul, nul + 1),
            None if rest.is_empty() && self.absent_is_empty => (0, 0),
            None if self.leniency.missing_final_nul && !rest.is_empty() && rest.len() < max => {
                (rest.len(), rest.len())
            }
            None => return Err(FieldError { field, status }),
        };
        if !self.leniency.non_ascii && !rest[..length].is_ascii() {
            return Err(FieldError { field, status });
        }
        let string = self.frame.slice(self.at..self.at + length);
        self.at += consumed;
        Ok(string)
    }

    /// `sm_length` and the `short_message` it counts (§5.2.21, §5.2.22).
    #[inline]
    pub fn short_message(&mut self, field: &'static str) -> Result<Bytes, FieldError> {
        let status = CommandStatus::ESME_RINVMSGLEN;
        let length = usize::from(self.octet("sm_length", status)?);
        if length > self.rest().len() {
            return Err(FieldError { field, status });
        }
        let message = self.frame.slice(self.at..self.at + length);
        self.at += length;
        Ok(message)
    }

    /// Everything that is left, as optional parameters (§3.2.4).
    #[inline]
    pub fn tlvs(&mut self, field: &'static str) -> Result<Tlvs, FieldError> {
        if self.rest().is_empty() {
            return Ok(Tlvs::new());
        }
        let tlvs = Tlvs::from_raw(self.frame.slice(self.at..));
        self.at = self.frame.len();
        if tlvs.is_incomplete() && !self.leniency.incomplete_trailing_tlv {
            return Err(FieldError {
                field,
                status: CommandStatus::ESME_RINVTLVSTREAM,
            });
        }
        if !self.leniency.tlv_lengths {
            check_lengths(&tlvs)?;
        }
        Ok(tlvs)
    }

    /// `number_of_dests` and the `dest_address` fields of submit_multi (§4.5.1.1).
    pub fn destinations(&mut self, field: &'static str) -> Result<Vec<DestAddress>, FieldError> {
        let count = self.octet("number_of_dests", CommandStatus::ESME_RINVNUMDESTS)?;
        if count == 0 {
            return Err(FieldError {
                field: "number_of_dests",
                status: CommandStatus::ESME_RINVNUMDESTS,
            });
        }
        let mut destinations = Vec::with_capacity(usize::from(count));
        for _ in 0..count {
            destinations.push(self.destination(field)?);
        }
        Ok(destinations)
    }

    fn destination(&mut self, field: &'static str) -> Result<DestAddress, FieldError> {
        match self.octet("dest_flag", CommandStatus::ESME_RINVNUMDESTS)? {
            DEST_FLAG_SME => Ok(DestAddress::Sme {
                dest_addr_ton: self.octet("dest_addr_ton", CommandStatus::ESME_RINVDSTTON)?,
                dest_addr_npi: self.octet("dest_addr_npi", CommandStatus::ESME_RINVDSTNPI)?,
                destination_addr: self.destination_addr()?,
            }),
            DEST_FLAG_LIST => Ok(DestAddress::DistributionList {
                dl_name: self.c_string("dl_name", ADDRESS_MAX, CommandStatus::ESME_RINVDLNAME)?,
            }),
            _ => Err(FieldError {
                field,
                status: CommandStatus::ESME_RINVDESTFLAG,
            }),
        }
    }

    fn destination_addr(&mut self) -> Result<Bytes, FieldError> {
        let status = CommandStatus::ESME_RINVDSTADR;
        self.c_string("destination_addr", ADDRESS_MAX, status)
    }

    /// `no_unsuccess` and the `unsuccess_sme` fields of submit_multi_resp (§4.5.2.1).
    pub fn failures(&mut self, field: &'static str) -> Result<Vec<UnsuccessSme>, FieldError> {
        let status = CommandStatus::ESME_RINVNUMDESTS;
        let count = self.octet("no_unsuccess", status)?;
        let mut failures = Vec::with_capacity(usize::from(count));
        for _ in 0..count {
            failures.push(UnsuccessSme {
                dest_addr_ton: self.octet("dest_addr_ton", CommandStatus::ESME_RINVDSTTON)?,
                dest_addr_npi: self.octet("dest_addr_npi", CommandStatus::ESME_RINVDSTNPI)?,
                destination_addr: self.destination_addr()?,
                error_status_code: CommandStatus(self.word(field, status)?),
            });
        }
        Ok(failures)
    }
}

/// Known tags must have the standard's length (§5.3.2); strict peers only.
fn check_lengths(tlvs: &Tlvs) -> Result<(), FieldError> {
    for (tag, value) in tlvs {
        let Some((shortest, longest)) = tag::lengths(tag) else {
            continue;
        };
        if value.len() < shortest || value.len() > longest {
            return Err(FieldError {
                field: tag::name(tag).unwrap_or("tlv"),
                status: CommandStatus::ESME_RINVTLVLEN,
            });
        }
    }
    Ok(())
}
