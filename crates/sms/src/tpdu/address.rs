//! Addresses: a type and semi-octets, or a type and packed septets (§9.1.2.5; 3GPP TS 24.011 §8.2.5.1).

use super::FieldFault;
use bytes::Bytes;

use super::field::{FieldProblem, TpduField, TpduWriteError, UnwritableReason};
use super::reader::TpduReader;
use crate::{Shifts, gsm7, pack};

/// Type of number: letters (§9.1.2.5).
pub const ALPHANUMERIC: u8 = 5;
/// Type of number: international.
pub const INTERNATIONAL: u8 = 1;
/// Numbering plan: ISDN (E.164).
pub const ISDN: u8 = 1;

/// Most digits of an address: ten octets (§9.1.2.5).
pub const DIGITS_MAX: usize = 20;
/// Most septets of an alphanumeric address in as many octets.
const SEPTETS_MAX: usize = 11;
/// Highest bit of the type: no octet of extension follows.
const NO_EXTENSION: u8 = 0x80;
const TON_MAX: u8 = 7;
const NPI_MAX: u8 = 15;
/// The semi-octet behind the last digit of an odd number.
const FILLER: u8 = 0x0F;
/// What the semi-octets 0 to 14 stand for (§9.1.2.3).
const DIGITS: &[u8; 15] = b"0123456789*#abc";

/// An address. With [`ALPHANUMERIC`] the text is one of the 7-bit alphabet, else digits, `*`, `#` and
/// `a` to `c`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct TpduAddress {
    /// Type of number, 0 to 7; the values are those of SMPP.
    pub ton: u8,
    /// Numbering plan, 0 to 15; 0 to 10 are those of SMPP.
    pub npi: u8,
    /// Digits or letters.
    pub text: String,
}

// === impl TpduAddress ===

impl TpduAddress {
    /// A number in international form, without a plus sign.
    #[must_use]
    pub fn international(digits: impl Into<String>) -> Self {
        Self {
            ton: INTERNATIONAL,
            npi: ISDN,
            text: digits.into(),
        }
    }

    /// A name.
    #[must_use]
    pub fn alphanumeric(name: impl Into<String>) -> Self {
        Self {
            ton: ALPHANUMERIC,
            npi: 0,
            text: name.into(),
        }
    }

    /// Reads the address of a TPDU alone: its length, its type and its digits.
    ///
    /// # Errors
    /// The octets end first.
    pub fn decode(octets: &Bytes) -> Result<Self, FieldFault> {
        Self::read(
            &mut TpduReader::new(octets, None),
            TpduField::OriginatingAddress,
        )
    }

    /// Reads the address of a TPDU, which counts semi-octets (§9.1.2.5).
    pub(super) fn read(reader: &mut TpduReader, field: TpduField) -> Result<Self, FieldFault> {
        let at = reader.at();
        let [count, kind] = reader.array(field)?;
        if usize::from(count) > DIGITS_MAX {
            reader.odd(field, at, FieldProblem::Digits(count));
        }
        let octets = reader.take(field, usize::from(count).div_ceil(2))?;
        if kind & NO_EXTENSION == 0 {
            reader.odd(field, at + 1, FieldProblem::TypeOfAddress(kind));
        }
        let (ton, npi) = parts(kind);
        let text = if ton == ALPHANUMERIC {
            let septets = pack::unpack(&octets, 0, usize::from(count) * 4 / 7);
            gsm7::decode(&septets, Shifts::default())
        } else {
            let (text, has_filler) = digits(&octets, usize::from(count));
            if has_filler {
                reader.odd(field, at + 2, FieldProblem::Filler);
            }
            text
        };
        Ok(Self { ton, npi, text })
    }

    /// Writes the address of a TPDU.
    pub(super) fn write(&self, field: TpduField, out: &mut Vec<u8>) -> Result<(), TpduWriteError> {
        let kind = self.kind(field)?;
        if self.ton == ALPHANUMERIC {
            let septets = gsm7::encode(&self.text, Shifts::default())
                .map_err(|error| field.refuses(error))?;
            check_length(field, septets.len(), "septets", SEPTETS_MAX)?;
            let semi_octets = (septets.len() * 7).div_ceil(4);
            out.extend([semi_octets as u8, kind]);
            out.extend(pack::pack(&septets, 0));
            return Ok(());
        }
        out.extend([self.text.len() as u8, kind]);
        write_digits(&self.text, field, out)
    }

    /// Reads a type of address and the semi-octets behind it, to their end: the address of an RP
    /// message and of MAP's and GSUP's SM-RP-DA (3GPP TS 24.011 §8.2.5.1). `None` without a type.
    #[must_use]
    pub fn from_type_and_digits(octets: &[u8]) -> Option<Self> {
        let (kind, semi_octets) = octets.split_first()?;
        let (ton, npi) = parts(*kind);
        let text = bcd_digits(semi_octets);
        Some(Self { ton, npi, text })
    }

    /// Writes a type of address and its semi-octets.
    ///
    /// # Errors
    /// The named field cannot carry it: a character that is no digit, more than 20 digits, a type or
    /// plan that is none.
    pub fn write_type_and_digits(
        &self,
        field: TpduField,
        out: &mut Vec<u8>,
    ) -> Result<(), TpduWriteError> {
        out.push(self.kind(field)?);
        write_digits(&self.text, field, out)
    }

    /// The octet with type and plan.
    fn kind(&self, field: TpduField) -> Result<u8, TpduWriteError> {
        for (value, most) in [(self.ton, TON_MAX), (self.npi, NPI_MAX)] {
            if value > most {
                return Err(field.refuses(UnwritableReason::Large {
                    value: value.into(),
                    most: most.into(),
                }));
            }
        }
        Ok(NO_EXTENSION | self.ton << 4 | self.npi)
    }
}

/// The digits of semi-octets that say nothing of their number: a filler at the end is none.
#[must_use]
pub fn bcd_digits(octets: &[u8]) -> String {
    let is_odd = octets.last().is_some_and(|last| last >> 4 == FILLER);
    digits(octets, octets.len() * 2 - usize::from(is_odd)).0
}

/// Writes digits as semi-octets, the first one in the lower half, with a filler behind an odd number
/// of them (§9.1.2.3).
///
/// # Errors
/// The named field cannot carry a character, or more than 20 of them.
pub fn write_digits(text: &str, field: TpduField, out: &mut Vec<u8>) -> Result<(), TpduWriteError> {
    check_length(field, text.chars().count(), "digits", DIGITS_MAX)?;
    let mut low = None;
    for character in text.chars() {
        let semi_octet = DIGITS
            .iter()
            .position(|digit| char::from(*digit) == character);
        let semi_octet =
            semi_octet.ok_or_else(|| field.refuses(UnwritableReason::Digit(character)))? as u8;
        match low.take() {
            None => low = Some(semi_octet),
            Some(low) => out.push(semi_octet << 4 | low),
        }
    }
    out.extend(low.map(|low| FILLER << 4 | low));
    Ok(())
}

fn check_length(
    field: TpduField,
    length: usize,
    unit: &'static str,
    most: usize,
) -> Result<(), TpduWriteError> {
    if length > most {
        Err(field.refuses(UnwritableReason::Long { length, unit, most }))
    } else {
        Ok(())
    }
}

/// Type and plan of the octet that has both.
fn parts(kind: u8) -> (u8, u8) {
    ((kind & !NO_EXTENSION) >> 4, kind & NPI_MAX)
}

/// The first `count` semi-octets as characters, and whether a filler was left out among them.
fn digits(octets: &[u8], count: usize) -> (String, bool) {
    let mut text = String::with_capacity(count);
    let mut has_filler = false;
    let semi_octets = octets.iter().flat_map(|octet| [octet & 0x0F, octet >> 4]);
    for semi_octet in semi_octets.take(count) {
        match DIGITS.get(usize::from(semi_octet)) {
            Some(digit) => text.push(char::from(*digit)),
            None => has_filler = true,
        }
    }
    (text, has_filler)
}
