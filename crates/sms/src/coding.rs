//! The meaning of a data coding scheme: 3GPP TS 23.038 §4 ([`DataCodingScheme`]), and the octet `data_coding` of
//! SMPP 3.4 §5.2.19, whose upper half means the same ([`fn@coding`]).
//!
//! Called wherever text is read, written or counted. Every one of the 256 values has an answer.

#[cfg(test)]
mod tests;

/// The three character sets of a short message (§4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Charset {
    /// The 7-bit alphabet, with whatever national tables the header names.
    Gsm7,
    /// Data of 8 bits, no text.
    Octets,
    /// UCS-2.
    Ucs2,
}

/// The kind of waiting message that a message-waiting indication announces (§4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Indication {
    Voicemail,
    Fax,
    Email,
    Other,
}

/// A message waiting indication (§4, groups 1100 to 1110).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WaitingIndication {
    pub indication: Indication,
    /// Set the indicator; otherwise clear it.
    pub active: bool,
    /// Keep the text; otherwise it may be thrown away.
    pub store: bool,
}

/// A data coding scheme, taken apart (§4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DataCodingScheme {
    pub charset: Charset,
    /// Message class 0 (flash) to 3, when one is given.
    pub class: Option<u8>,
    /// Compressed by §6.2.4 (3GPP TS 23.042): nothing in the octets can be read as it stands.
    pub compressed: bool,
    pub waiting: Option<WaitingIndication>,
    /// The handset may delete it after reading (group 01).
    pub auto_delete: bool,
}

/// How the octets of an SMPP `data_coding` are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataCoding {
    /// Whatever the peer's default is: [`super::convert::Alphabet`].
    Default,
    /// IA5 (`data_coding` 1).
    Ascii,
    /// ISO 8859-1 (3).
    Latin1,
    /// Data (2 and 4), or compressed text.
    Octets,
    /// UCS-2 (8).
    Ucs2,
    /// A character set that we do not read (JIS, Cyrillic, Hebrew, …) or a reserved value: carried
    /// as it is.
    Other(u8),
}

/// `data_coding` of data without a class.
const OCTETS: u8 = 0x04;
/// The other value that means data (SMPP 3.4 §5.2.19).
const OCTETS_TOO: u8 = 0x02;
/// `data_coding` of UCS-2 without a class.
const UCS2: u8 = 0x08;
/// Bits of the general group: compression, class given, character set, class (§4).
const COMPRESSED: u8 = 0x20;
const HAS_CLASS: u8 = 0x10;
const CHARSET: u8 = 0x0C;
const CLASS: u8 = 0x03;
/// Groups by their upper four bits (§4).
const GROUP: u8 = 0xF0;
const DISCARD: u8 = 0xC0;
const STORE: u8 = 0xD0;
const STORE_UCS2: u8 = 0xE0;
const CLASS_GROUP: u8 = 0xF0;
/// Group 01: to be deleted after reading.
const AUTO_DELETE: u8 = 0x40;
/// Data rather than text, in the class group.
const CLASS_GROUP_OCTETS: u8 = 0x04;

/// How the octets of this `data_coding` are to be read (SMPP 3.4 §5.2.19).
///
/// Values below 0x10 are SMPP's own; above, the groups of §4 count, less the reserved ones (0x80 to
/// 0xBF), which are carried as they are.
#[must_use]
pub fn coding(data_coding: u8) -> DataCoding {
    match data_coding {
        0x00 => DataCoding::Default,
        0x01 => DataCoding::Ascii,
        OCTETS_TOO | OCTETS => DataCoding::Octets,
        0x03 => DataCoding::Latin1,
        UCS2 => DataCoding::Ucs2,
        0x05..=0x0F | 0x80..=0xBF => DataCoding::Other(data_coding),
        0x10..=0x7F | 0xC0..=0xFF => DataCodingScheme::parse(data_coding).coding(),
    }
}

/// The `data_coding` of the same class or waiting indication with another character set: a flash
/// message that becomes UCS-2 stays a flash message.
///
/// ASCII, Latin-1 and other sets have no place in the groups of §4: for these the class is lost. A
/// waiting indication whose text may be discarded exists only in the 7-bit alphabet: in UCS-2 it is
/// one whose text is stored, as data it is lost.
#[must_use]
pub fn with_charset(data_coding: u8, to: DataCoding) -> u8 {
    if coding(data_coding) == to {
        return data_coding;
    }
    let bits = match to {
        DataCoding::Default => 0,
        DataCoding::Octets => OCTETS,
        DataCoding::Ucs2 => UCS2,
        DataCoding::Ascii | DataCoding::Latin1 | DataCoding::Other(_) => return to.data_coding(),
    };
    match (data_coding & GROUP, to) {
        (0x10..=0x70, _) => in_general_group(data_coding, bits),
        (DISCARD | STORE, DataCoding::Ucs2) => STORE_UCS2 | (data_coding & !GROUP),
        (STORE_UCS2, DataCoding::Default) => STORE | (data_coding & !GROUP),
        (CLASS_GROUP, DataCoding::Default) => CLASS_GROUP | (data_coding & CLASS),
        (CLASS_GROUP, DataCoding::Octets) => {
            CLASS_GROUP | CLASS_GROUP_OCTETS | (data_coding & CLASS)
        }
        (CLASS_GROUP, DataCoding::Ucs2) => HAS_CLASS | UCS2 | (data_coding & CLASS),
        _ => to.data_coding(),
    }
}

/// Another character set in the groups 00 and 01, uncompressed. Without a class the lowest bits mean
/// nothing, and below 0x10 they would mean a character set of SMPP.
fn in_general_group(data_coding: u8, charset: u8) -> u8 {
    let kept = data_coding & (AUTO_DELETE | HAS_CLASS);
    let class = if data_coding & HAS_CLASS != 0 {
        data_coding & CLASS
    } else {
        0
    };
    kept | charset | class
}

// === impl DataCodingScheme ===

impl DataCodingScheme {
    /// Takes a data coding scheme apart. Reserved groups and character sets are the default
    /// alphabet, as §4 requires of a receiver.
    #[must_use]
    pub fn parse(dcs: u8) -> Self {
        match dcs & GROUP {
            0x00..=0x70 => Self {
                charset: match dcs & CHARSET {
                    OCTETS => Charset::Octets,
                    UCS2 => Charset::Ucs2,
                    _ => Charset::Gsm7,
                },
                class: (dcs & HAS_CLASS != 0).then_some(dcs & CLASS),
                compressed: dcs & COMPRESSED != 0,
                waiting: None,
                auto_delete: dcs & AUTO_DELETE != 0,
            },
            DISCARD | STORE | STORE_UCS2 => Self {
                charset: if dcs & GROUP == STORE_UCS2 {
                    Charset::Ucs2
                } else {
                    Charset::Gsm7
                },
                waiting: Some(WaitingIndication {
                    indication: match dcs & CLASS {
                        0 => Indication::Voicemail,
                        1 => Indication::Fax,
                        2 => Indication::Email,
                        _ => Indication::Other,
                    },
                    active: dcs & 0x08 != 0,
                    store: dcs & GROUP != DISCARD,
                }),
                ..Self::plain()
            },
            CLASS_GROUP => Self {
                charset: if dcs & CLASS_GROUP_OCTETS != 0 {
                    Charset::Octets
                } else {
                    Charset::Gsm7
                },
                class: Some(dcs & CLASS),
                ..Self::plain()
            },
            _ => Self::plain(),
        }
    }

    /// How its octets are to be read; compressed text is data to us.
    #[must_use]
    pub fn coding(self) -> DataCoding {
        match self.charset {
            _ if self.compressed => DataCoding::Octets,
            Charset::Gsm7 => DataCoding::Default,
            Charset::Octets => DataCoding::Octets,
            Charset::Ucs2 => DataCoding::Ucs2,
        }
    }

    /// The default alphabet and nothing else.
    fn plain() -> Self {
        Self {
            charset: Charset::Gsm7,
            class: None,
            compressed: false,
            waiting: None,
            auto_delete: false,
        }
    }
}

// === impl DataCoding ===

impl DataCoding {
    /// The plain `data_coding`, without a class or an indication.
    #[must_use]
    pub fn data_coding(self) -> u8 {
        match self {
            DataCoding::Default => 0x00,
            DataCoding::Ascii => 0x01,
            DataCoding::Latin1 => 0x03,
            DataCoding::Octets => OCTETS,
            DataCoding::Ucs2 => UCS2,
            DataCoding::Other(data_coding) => data_coding,
        }
    }
}
