//! What the readers and writers of parameters have in common: sequences, addresses, IMSIs, and why one fails.
//!
//! 3GPP TS 29.002 §17.7; AddressString and IMSI are in §17.7.8. A reader walks the elements of a sequence and takes
//! those that it knows, so that extension containers and what later releases add are passed over.

use bytes::Bytes;
use smsc_sms::tpdu::TpduAddress;
use smsc_sms::tpdu::address::{bcd_digits, write_digits};
use smsc_sms::tpdu::{TpduField, TpduWriteError};
use smsc_tcap::ber::{self, BerElement, BerElements, MalformedBer};

/// BIT STRING and ENUMERATED, beside the universal types that TCAP itself has.
pub(crate) const BIT_STRING: u32 = 0x03;
pub(crate) const ENUMERATED: u32 = 0x0A;

/// Longest AddressString in octets.
const ADDRESS_MAX: usize = 20;
/// Longest ISDN-AddressString in octets.
const ISDN_ADDRESS_MAX: usize = 9;
/// Octets and digits of an IMSI (3GPP TS 23.003 §2.2).
const IMSI_OCTETS: std::ops::RangeInclusive<usize> = 3..=8;
const IMSI_DIGITS: std::ops::RangeInclusive<usize> = 5..=15;
/// Longest SignalInfo.
pub(crate) const SIGNAL_INFO_MAX: usize = 200;

/// Why a parameter cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MalformedMap {
    /// It is no BER.
    #[error("{0}")]
    Ber(#[from] MalformedBer),
    /// Something that must be there is not.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// Something has a value that it cannot have.
    #[error("{0} cannot be read")]
    Field(&'static str),
}

/// Why a parameter cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnwritableMap {
    /// A number has too many digits, or characters that are none.
    #[error("{0}")]
    Address(#[from] TpduWriteError),
    /// A value is longer than its field.
    #[error("{0} is too long")]
    Long(&'static str),
    /// An IMSI that is none.
    #[error("an IMSI has 5 to 15 digits")]
    Imsi,
}

/// The elements of the sequence that a parameter is.
pub(crate) fn sequence(parameter: &[u8]) -> Result<BerElements<'_>, MalformedMap> {
    let element = ber::only(parameter)?;
    if element.tag != ber::SEQUENCE {
        return Err(MalformedMap::Field("the parameter"));
    }
    Ok(BerElements::of(element.content))
}

/// A sequence of what was written.
pub(crate) fn sequence_of(content: &[u8]) -> Bytes {
    ber::element(ber::SEQUENCE, content).into()
}

/// What an address element holds.
pub(crate) fn address(
    element: &BerElement<'_>,
    what: &'static str,
) -> Result<TpduAddress, MalformedMap> {
    let fault = MalformedMap::Field(what);
    if element.is_constructed || !(2..=ADDRESS_MAX).contains(&element.content.len()) {
        return Err(fault);
    }
    let address = TpduAddress::from_type_and_digits(element.content).ok_or(fault)?;
    if address.text.is_empty() {
        return Err(fault);
    }
    Ok(address)
}

/// Appends an AddressString.
pub(crate) fn write_address(
    out: &mut Vec<u8>,
    tag: u32,
    address: &TpduAddress,
) -> Result<(), UnwritableMap> {
    let mut content = Vec::with_capacity(ADDRESS_MAX);
    address.write_type_and_digits(TpduField::RpDestinationAddress, &mut content)?;
    ber::write(out, tag, &content);
    Ok(())
}

/// Appends an ISDN-AddressString, which is shorter.
pub(crate) fn write_isdn_address(
    out: &mut Vec<u8>,
    tag: u32,
    address: &TpduAddress,
    what: &'static str,
) -> Result<(), UnwritableMap> {
    if address.text.len().div_ceil(2) + 1 > ISDN_ADDRESS_MAX {
        return Err(UnwritableMap::Long(what));
    }
    write_address(out, tag, address)
}

/// The digits of an IMSI.
pub(crate) fn imsi(element: &BerElement<'_>) -> Result<String, MalformedMap> {
    let fault = MalformedMap::Field("the IMSI");
    if element.is_constructed || !IMSI_OCTETS.contains(&element.content.len()) {
        return Err(fault);
    }
    let digits = bcd_digits(element.content);
    if is_imsi(&digits) {
        Ok(digits)
    } else {
        Err(fault)
    }
}

/// Appends an IMSI.
pub(crate) fn write_imsi(out: &mut Vec<u8>, tag: u32, imsi: &str) -> Result<(), UnwritableMap> {
    if !is_imsi(imsi) {
        return Err(UnwritableMap::Imsi);
    }
    let mut content = Vec::with_capacity(8);
    write_digits(imsi, TpduField::RpDestinationAddress, &mut content)?;
    ber::write(out, tag, &content);
    Ok(())
}

fn is_imsi(digits: &str) -> bool {
    IMSI_DIGITS.contains(&digits.len()) && digits.bytes().all(|octet| octet.is_ascii_digit())
}

/// A TPDU or a part of one.
pub(crate) fn signal_info(element: &BerElement<'_>) -> Result<Bytes, MalformedMap> {
    let length = element.content.len();
    if element.is_constructed || !(1..=SIGNAL_INFO_MAX).contains(&length) {
        return Err(MalformedMap::Field("the SM-RP-UI"));
    }
    Ok(Bytes::copy_from_slice(element.content))
}

/// Appends a TPDU.
pub(crate) fn write_signal_info(
    out: &mut Vec<u8>,
    tag: u32,
    info: &[u8],
) -> Result<(), UnwritableMap> {
    if info.is_empty() || info.len() > SIGNAL_INFO_MAX {
        return Err(UnwritableMap::Long("the SM-RP-UI"));
    }
    ber::write(out, tag, info);
    Ok(())
}

/// The value of an INTEGER or ENUMERATED of 0 to 255.
pub(crate) fn small(element: &BerElement<'_>, what: &'static str) -> Result<u8, MalformedMap> {
    let value = ber::integer(element.content).and_then(|value| u8::try_from(value).ok());
    value.ok_or(MalformedMap::Field(what))
}

/// Writes a small number, if there is one.
pub(crate) fn write_small(out: &mut Vec<u8>, tag: u32, value: Option<u8>) {
    if let Some(value) = value {
        ber::write_unsigned(out, tag, value);
    }
}

/// Whether a BOOLEAN says so.
pub(crate) fn boolean(element: &BerElement<'_>) -> bool {
    element.content.iter().any(|octet| *octet != 0)
}

/// Appends a BOOLEAN.
pub(crate) fn write_boolean(out: &mut Vec<u8>, tag: u32, value: bool) {
    ber::write(out, tag, &[if value { 0xFF } else { 0 }]);
}

/// Appends a NULL if it is there.
pub(crate) fn write_flag(out: &mut Vec<u8>, tag: u32, is_set: bool) {
    if is_set {
        ber::write(out, tag, &[]);
    }
}

/// Refuses what lacks a field.
pub(crate) fn required<T>(value: Option<T>, what: &'static str) -> Result<T, MalformedMap> {
    value.ok_or(MalformedMap::Missing(what))
}
