//! TP-UDL and TP-UD: a header, and septets or octets behind it (§9.2.3.16, §9.2.3.24); the optional
//! parameters of reports, which TP-PI announces (§9.2.3.27).

use bytes::Bytes;

use super::field::{FieldFault, FieldProblem, TpduField, TpduWriteError, UnwritableReason};
use super::reader::TpduReader;
use super::{TPDU_MAX, bit};
use crate::coding::{Charset, DataCoding, DataCodingScheme};
use crate::udh::{HeaderError, UserDataHeader};
use crate::{gsm7, pack, ucs2};

/// TP-DCS of data: what the octets of a command are.
pub(super) const OCTETS: u8 = 0x04;

/// Bits of TP-PI (§9.2.3.27).
const HAS_PROTOCOL: u8 = 0x01;
const HAS_CODING: u8 = 0x02;
const HAS_USER_DATA: u8 = 0x04;
/// Another octet of TP-PI follows.
const EXTENSION: u8 = 0x80;

/// The header and the text of a message, as SMPP carries them: the 7-bit alphabet is a septet string,
/// one septet in each octet. TP-UDHI is set when there is a header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserData {
    /// The header.
    pub header: UserDataHeader,
    /// What is behind it: septets, UTF-16 or data, by TP-DCS.
    pub body: Bytes,
}

/// The optional parameters of reports (§9.2.3.27).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters {
    /// TP-PID.
    pub protocol_identifier: Option<u8>,
    /// TP-DCS; without it, the user data is in the default alphabet.
    pub data_coding: Option<u8>,
    /// TP-UDL and TP-UD.
    pub user_data: Option<UserData>,
}

// === impl UserData ===

impl UserData {
    /// The text, with the tables that the header names; `None` for data and compressed text.
    #[must_use]
    pub fn text(&self, data_coding: u8) -> Option<String> {
        match DataCodingScheme::parse(data_coding).coding() {
            DataCoding::Default => Some(gsm7::decode(&self.body, self.header.shifts())),
            DataCoding::Ucs2 => Some(ucs2::decode(&self.body)),
            _ => None,
        }
    }

    /// Reads TP-UDL and TP-UD.
    pub(super) fn read_text(
        reader: &mut TpduReader,
        has_header: bool,
        data_coding: u8,
        most: usize,
    ) -> Result<Self, FieldFault> {
        let (length, text) = (TpduField::UserDataLength, TpduField::UserData);
        Self::read(reader, length, text, has_header, data_coding, most)
    }

    /// Reads the length and what it counts; `most` octets may be there.
    pub(super) fn read(
        reader: &mut TpduReader,
        length_field: TpduField,
        field: TpduField,
        has_header: bool,
        data_coding: u8,
        most: usize,
    ) -> Result<Self, FieldFault> {
        let length = usize::from(reader.octet(length_field)?);
        let is_septets = is_septets(data_coding);
        let wanted = if is_septets {
            (length * 7).div_ceil(8)
        } else {
            length
        };
        let at = reader.at();
        if wanted > most {
            let octets = wanted;
            reader.odd(field, at, FieldProblem::Long { octets, most });
        }
        let octets = reader.at_most(field, wanted);
        let (header, body) = if has_header {
            UserDataHeader::split(&octets).unwrap_or_else(|error| {
                reader.odd(field, at, FieldProblem::Header(error));
                (UserDataHeader::default(), without_header(&octets, error))
            })
        } else {
            (UserDataHeader::default(), octets.clone())
        };
        if !is_septets {
            return Ok(Self { header, body });
        }
        let header_octets = octets.len() - body.len();
        let count = length.saturating_sub((header_octets * 8).div_ceil(7));
        let septets = pack::unpack(&body, pack::fill_bits(header_octets), count);
        Ok(Self {
            header,
            body: septets.into(),
        })
    }

    /// Writes the length and what it counts, at most `most` octets of it.
    pub(super) fn write(
        &self,
        field: TpduField,
        data_coding: u8,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), TpduWriteError> {
        let header = self.header.encode();
        let too_long = |length| {
            let unit = "octets";
            field.refuses(UnwritableReason::Long { length, unit, most })
        };
        if is_septets(data_coding) {
            if let Some(octet) = self.body.iter().find(|octet| **octet > 0x7F) {
                return Err(field.refuses(UnwritableReason::Septet(*octet)));
            }
            let octets = header.len() + (header_bits(&header) + self.body.len() * 7).div_ceil(8);
            if octets > most {
                return Err(too_long(octets));
            }
            // Both are below 256: 140 octets are 160 septets.
            out.push(((header.len() * 8).div_ceil(7) + self.body.len()) as u8);
            out.extend_from_slice(&header);
            out.extend(pack::pack(&self.body, pack::fill_bits(header.len())));
            return Ok(());
        }
        let is_ucs2 = DataCodingScheme::parse(data_coding).coding() == DataCoding::Ucs2;
        if is_ucs2 && !self.body.len().is_multiple_of(2) {
            return Err(field.refuses(UnwritableReason::Odd(self.body.len())));
        }
        let octets = header.len() + self.body.len();
        if octets > most {
            return Err(too_long(octets));
        }
        out.push(octets as u8);
        out.extend_from_slice(&header);
        out.extend_from_slice(&self.body);
        Ok(())
    }
}

// === impl Parameters ===

impl Parameters {
    /// Whether the user data begins with a header.
    pub(super) fn has_header(&self) -> bool {
        self.user_data
            .as_ref()
            .is_some_and(|user_data| !user_data.header.is_empty())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads TP-PI and what it announces; nothing where the octets end.
    pub(super) fn read(reader: &mut TpduReader, has_header: bool) -> Result<Self, FieldFault> {
        if reader.left() == 0 {
            return Ok(Self::default());
        }
        let indicator = Self::read_indicator(reader)?;
        Self::read_announced(reader, indicator, has_header)
    }

    /// Reads TP-PI; octets that extend it announce nothing that is known.
    pub(super) fn read_indicator(reader: &mut TpduReader) -> Result<u8, FieldFault> {
        let indicator = reader.octet(TpduField::ParameterIndicator)?;
        let mut last = indicator;
        while last & EXTENSION != 0 {
            last = reader.octet(TpduField::ParameterIndicator)?;
        }
        Ok(indicator)
    }

    /// Reads what TP-PI announces. Where the octets end, the rest is absent.
    pub(super) fn read_announced(
        reader: &mut TpduReader,
        indicator: u8,
        has_header: bool,
    ) -> Result<Self, FieldFault> {
        let mut parameters = Self::default();
        let is_there = |reader: &mut TpduReader, bit: u8, field: TpduField| {
            let is_announced = indicator & bit != 0;
            if is_announced && reader.left() == 0 {
                let short = FieldProblem::Short { wanted: 1, left: 0 };
                reader.odd(field, reader.at(), short);
            }
            is_announced && reader.left() > 0
        };
        if is_there(reader, HAS_PROTOCOL, TpduField::ProtocolIdentifier) {
            parameters.protocol_identifier = Some(reader.octet(TpduField::ProtocolIdentifier)?);
        }
        if is_there(reader, HAS_CODING, TpduField::DataCodingScheme) {
            parameters.data_coding = Some(reader.octet(TpduField::DataCodingScheme)?);
        }
        if is_there(reader, HAS_USER_DATA, TpduField::UserDataLength) {
            let data_coding = parameters.data_coding.unwrap_or(0);
            let user_data = UserData::read_text(reader, has_header, data_coding, TPDU_MAX)?;
            parameters.user_data = Some(user_data);
        }
        Ok(parameters)
    }

    /// TP-PI.
    pub(super) fn indicator(&self) -> u8 {
        bit(self.protocol_identifier.is_some(), HAS_PROTOCOL)
            | bit(self.data_coding.is_some(), HAS_CODING)
            | bit(self.user_data.is_some(), HAS_USER_DATA)
    }

    /// Writes TP-PI and what it announces.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), TpduWriteError> {
        out.push(self.indicator());
        self.write_announced(out)
    }

    /// Writes what TP-PI announces, behind the octets of the same TPDU.
    pub(super) fn write_announced(&self, out: &mut Vec<u8>) -> Result<(), TpduWriteError> {
        out.extend(self.protocol_identifier);
        out.extend(self.data_coding);
        let Some(user_data) = &self.user_data else {
            return Ok(());
        };
        let room = TPDU_MAX.saturating_sub(out.len() + 1);
        let data_coding = self.data_coding.unwrap_or(0);
        user_data.write(TpduField::UserData, data_coding, room, out)
    }
}

/// Whether the length counts septets: compressed text is counted in octets (§9.2.3.16).
fn is_septets(data_coding: u8) -> bool {
    let dcs = DataCodingScheme::parse(data_coding);
    dcs.charset == Charset::Gsm7 && !dcs.compressed
}

/// Fill bits behind a header.
fn header_bits(header: &[u8]) -> usize {
    usize::from(pack::fill_bits(header.len()))
}

/// What is behind a header that is ignored (§9.2.3.24), or everything when it has no end.
fn without_header(octets: &Bytes, error: HeaderError) -> Bytes {
    match error {
        HeaderError::Absent | HeaderError::TooLong { .. } => octets.clone(),
        HeaderError::Element { .. } => octets.slice(1 + usize::from(octets[0])..),
    }
}
