//! The connectionless messages of SCCP ↔ octets (ITU-T Q.713 §4.10, §4.11, §4.18 to §4.21).
//!
//! ```text
//! ┌──────┬───────────────┬─────┬──────────┬────────────────────────────────┬──────────────┐
//! │ type │ class, or why │ hop │ pointers │ called, calling, data: length… │ optional … 0 │
//! └──1───┴───────1───────┴─1, 0┴─ 3, 4 ───┴────────────────────────────────┴── … or none ─┘
//!   09 UDT   11 XUDT   13 LUDT: data; 0A UDTS   12 XUDTS   14 LUDTS: data that comes back
//! ```
//!
//! A pointer counts from its own octet; in the long forms pointers and the length of data have two octets,
//! the lower one first, and a pointer counts from its second octet (§2.3).

use bytes::Bytes;

use crate::address::{SccpAddress, SccpAddressProblem};

pub mod cause;
pub mod management;
mod read;

/// The hops that a message of ours may make (§3.18).
pub const HOPS: u8 = 15;

/// What may follow the data (§3).
pub const END_OF_OPTIONAL: u8 = 0;
pub const SEGMENTATION: u8 = 0x10;
pub const IMPORTANCE: u8 = 0x12;

/// Bits of the first octet of a segmentation.
const FIRST: u8 = 0x80;
const CLASS_1: u8 = 0x40;
const REMAINING: u8 = 0x0F;
/// Bit of the protocol class: return the message on error.
const RETURN: u8 = 0x80;

/// How a message is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SccpForm {
    /// UDT, UDTS: up to 255 octets, nothing optional.
    Short,
    /// XUDT, XUDTS: up to 254 octets, which may be a segment.
    Extended,
    /// LUDT, LUDTS: up to 3952 octets.
    Long,
}

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SccpPurpose {
    /// It brings data.
    Data {
        /// Class 1: messages of the same SLS stay in order.
        in_order: bool,
        /// It comes back when it cannot be delivered.
        return_on_error: bool,
    },
    /// It brings data back: see [`cause`].
    Return(u8),
}

/// Which part of a larger message the data is (§3.17).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segmentation {
    /// The first one.
    pub is_first: bool,
    /// What the user asked for; segments themselves always stay in order.
    pub in_order: bool,
    /// How many follow, at most 15.
    pub remaining: u8,
    /// Of which message, in 24 bits.
    pub reference: u32,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SccpMessage {
    /// How it is laid out.
    pub form: SccpForm,
    /// What it is for.
    pub purpose: SccpPurpose,
    /// How many global title translations it may still pass; not in the short form.
    pub hops: u8,
    /// Whither.
    pub called: SccpAddress,
    /// Whence.
    pub calling: SccpAddress,
    /// What.
    pub data: Bytes,
    /// Set when it is a segment; not in the short form.
    pub segmentation: Option<Segmentation>,
    /// 0 to 7, the higher the later it is thrown away; not in the short form.
    pub importance: Option<u8>,
}

/// A message that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MalformedSccp {
    /// It ends too early.
    #[error("the message ends too early")]
    CutShort,
    /// None of the connectionless ones.
    #[error("message type {0:#04x} is not connectionless")]
    Type(u8),
    /// A class that no connectionless message has.
    #[error("protocol class {0}")]
    Class(u8),
    /// A party.
    #[error(transparent)]
    Address(#[from] SccpAddressProblem),
    /// A segmentation that is none.
    #[error("a segmentation of {0} octets")]
    Segmentation(usize),
    /// More data than its form has, which only the length of the long one can say.
    #[error("{0} octets of data are too many for the form of the message")]
    Long(usize),
}

/// What cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SccpWriteError {
    /// A party.
    #[error(transparent)]
    Address(#[from] SccpAddressProblem),
    /// Longer than its form.
    #[error("{0} octets of data are too many for the form of the message")]
    Long(usize),
}

// === impl SccpForm ===

impl SccpForm {
    /// The form of a message type, and whether such a message brings data back; `None` for what is not
    /// connectionless (§2.1).
    #[must_use]
    pub fn of_type(message_type: u8) -> Option<(Self, bool)> {
        Some(match message_type {
            0x09 => (Self::Short, false),
            0x0A => (Self::Short, true),
            0x11 => (Self::Extended, false),
            0x12 => (Self::Extended, true),
            0x13 => (Self::Long, false),
            0x14 => (Self::Long, true),
            _ => return None,
        })
    }

    /// The name of its messages, as Q.713 shortens it.
    #[must_use]
    pub fn name(self, is_returned: bool) -> &'static str {
        match (self, is_returned) {
            (Self::Short, false) => "UDT",
            (Self::Short, true) => "UDTS",
            (Self::Extended, false) => "XUDT",
            (Self::Extended, true) => "XUDTS",
            (Self::Long, false) => "LUDT",
            (Self::Long, true) => "LUDTS",
        }
    }

    /// Most octets of data. That there are parties takes off more.
    fn data_max(self) -> usize {
        match self {
            Self::Short => 255,
            Self::Extended => 254,
            Self::Long => 3_952,
        }
    }
}

// === impl SccpMessage ===

impl SccpMessage {
    /// Data in the short form, class 0.
    #[must_use]
    pub fn unitdata(called: SccpAddress, calling: SccpAddress, data: Bytes) -> Self {
        let purpose = SccpPurpose::Data {
            in_order: false,
            return_on_error: false,
        };
        Self {
            form: SccpForm::Short,
            purpose,
            hops: HOPS,
            called,
            calling,
            data,
            segmentation: None,
            importance: None,
        }
    }

    /// What brings this message back to its sender.
    #[must_use]
    pub fn returned(self, cause: u8) -> Self {
        Self {
            purpose: SccpPurpose::Return(cause),
            hops: HOPS,
            called: self.calling,
            calling: self.called,
            ..self
        }
    }

    /// Its name, as Q.713 shortens it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        let is_returned = matches!(self.purpose, SccpPurpose::Return(_));
        self.form.name(is_returned)
    }

    /// Its octets.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn encode(&self) -> Result<Bytes, SccpWriteError> {
        let too_long = SccpWriteError::Long(self.data.len());
        if self.data.len() > self.form.data_max() {
            return Err(too_long);
        }
        let (called, calling) = (self.called.encode()?, self.calling.encode()?);
        let optional = self.optional();
        let mut out = vec![self.message_type(), self.class_or_cause()];
        if self.form != SccpForm::Short {
            out.push(self.hops);
        }
        let is_long = self.form == SccpForm::Long;
        let width = if is_long { 2 } else { 1 };
        let pointers = if self.form == SccpForm::Short { 3 } else { 4 };
        // Where each part begins, counted from the first pointer.
        let called_at = pointers * width;
        let calling_at = called_at + 1 + called.len();
        let data_at = calling_at + 1 + calling.len();
        let optional_at = data_at + width + self.data.len();
        let starts = [called_at, calling_at, data_at, optional_at];
        for (number, start) in starts.into_iter().take(pointers).enumerate() {
            let is_absent = number == 3 && optional.is_empty();
            let own = number * width + width - 1;
            let distance = if is_absent { 0 } else { start - own };
            put(distance, is_long, &mut out).ok_or(too_long)?;
        }
        for party in [&called, &calling] {
            put(party.len(), false, &mut out).ok_or(too_long)?;
            out.extend(party);
        }
        put(self.data.len(), is_long, &mut out).ok_or(too_long)?;
        out.extend(&self.data[..]);
        out.extend(optional);
        Ok(out.into())
    }

    /// Reads a message. No data is copied.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn decode(octets: &Bytes) -> Result<Self, MalformedSccp> {
        read::message(octets)
    }

    fn message_type(&self) -> u8 {
        let of_form = match self.form {
            SccpForm::Short => 0x09,
            SccpForm::Extended => 0x11,
            SccpForm::Long => 0x13,
        };
        match self.purpose {
            SccpPurpose::Data { .. } => of_form,
            SccpPurpose::Return(_) => of_form + 1,
        }
    }

    fn class_or_cause(&self) -> u8 {
        match self.purpose {
            SccpPurpose::Data {
                in_order,
                return_on_error,
            } => u8::from(in_order) | if return_on_error { RETURN } else { 0 },
            SccpPurpose::Return(cause) => cause,
        }
    }

    /// What follows the data, with its end; empty when there is nothing.
    fn optional(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.form == SccpForm::Short {
            return out;
        }
        if let Some(segmentation) = self.segmentation {
            let [_, high, middle, low] = segmentation.reference.to_be_bytes();
            let mut first = segmentation.remaining & REMAINING;
            first |= if segmentation.is_first { FIRST } else { 0 };
            first |= if segmentation.in_order { CLASS_1 } else { 0 };
            out.extend([SEGMENTATION, 4, first, high, middle, low]);
        }
        if let Some(importance) = self.importance {
            out.extend([IMPORTANCE, 1, importance & 0x07]);
        }
        if !out.is_empty() {
            out.push(END_OF_OPTIONAL);
        }
        out
    }
}

/// Appends a length or a pointer, or nothing when it does not fit.
fn put(value: usize, is_long: bool, out: &mut Vec<u8>) -> Option<()> {
    if is_long {
        out.extend(u16::try_from(value).ok()?.to_le_bytes());
    } else {
        out.push(u8::try_from(value).ok()?);
    }
    Some(())
}

#[cfg(test)]
pub(crate) mod tests;
