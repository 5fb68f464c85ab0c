//! Conversion from the alphabet of one peer to that of another.
//!
//! `data_coding` 0 means "your default", which differs between SMSCs and ESMEs: [`Alphabet`] says
//! which it is. Called where text goes from one peer to another; [`SubstitutionPolicy`] decides what happens to
//! characters that an alphabet lacks; text is never cut or dropped.

use std::fmt;
use std::str::FromStr;

use super::gsm7::{self, Unrepresentable};
use super::language::{Shifts, UnknownName};
use super::tables::Tables;
use super::{pack, ucs2};

mod choose;
mod force;
#[cfg(test)]
mod tests;
pub use choose::{Choice, choose};
pub use force::{Forced, force};

/// How a peer writes text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Alphabet {
    /// The 7-bit alphabet, one septet in each octet: what SMPP means.
    Gsm,
    /// The 7-bit alphabet, eight septets in seven octets.
    GsmPacked,
    /// ISO 8859-1.
    Latin1,
    Ascii,
    Utf8,
    /// UTF-16, high octet first.
    Ucs2,
}

/// What happens to characters that an alphabet does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SubstitutionPolicy {
    /// The whole text is sent as UCS-2.
    Ucs2,
    /// Each is written with others: `é` as `e`, `…` as `...`; what cannot be, as `?`.
    Transliterate,
    /// Each becomes `?`.
    Replace,
    /// The message is refused.
    Refuse,
}

/// The text of these octets. Never fails: what is no character is U+FFFD.
#[must_use]
pub fn decode(alphabet: Alphabet, octets: &[u8], shifts: Shifts) -> String {
    match alphabet {
        Alphabet::Gsm => gsm7::decode(octets, shifts),
        Alphabet::GsmPacked => gsm7::decode(&pack::unpack_text(octets), shifts),
        Alphabet::Latin1 => octets.iter().copied().map(char::from).collect(),
        Alphabet::Ascii => octets
            .iter()
            .map(|octet| {
                if octet.is_ascii() {
                    char::from(*octet)
                } else {
                    char::REPLACEMENT_CHARACTER
                }
            })
            .collect(),
        Alphabet::Utf8 => String::from_utf8_lossy(octets).into_owned(),
        Alphabet::Ucs2 => ucs2::decode(octets),
    }
}

/// The octets of a text. The shifts count for the 7-bit alphabet only.
///
/// # Errors
///
/// The first character that the alphabet does not have.
pub fn encode(text: &str, alphabet: Alphabet, shifts: Shifts) -> Result<Vec<u8>, Unrepresentable> {
    let mut writer = AlphabetWriter::new(alphabet, shifts, text.len());
    for (at, character) in text.chars().enumerate() {
        if !writer.push(character) {
            return Err(Unrepresentable { character, at });
        }
    }
    Ok(writer.finish())
}

/// Octets in the making.
struct AlphabetWriter {
    alphabet: Alphabet,
    tables: Tables,
    octets: Vec<u8>,
}

// === impl AlphabetWriter ===

impl AlphabetWriter {
    fn new(alphabet: Alphabet, shifts: Shifts, capacity: usize) -> Self {
        Self {
            alphabet,
            tables: Tables::of(shifts),
            octets: Vec::with_capacity(capacity),
        }
    }

    /// Appends a character; `false` when the alphabet lacks it, and then nothing is appended.
    #[inline]
    fn push(&mut self, character: char) -> bool {
        let octets = &mut self.octets;
        match self.alphabet {
            Alphabet::Gsm | Alphabet::GsmPacked => return self.tables.push(octets, character),
            Alphabet::Latin1 => match u8::try_from(character) {
                Ok(octet) => octets.push(octet),
                Err(_) => return false,
            },
            Alphabet::Ascii => match u8::try_from(character) {
                Ok(octet) if octet.is_ascii() => octets.push(octet),
                _ => return false,
            },
            Alphabet::Utf8 => {
                octets.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Alphabet::Ucs2 => ucs2::push(octets, character),
        }
        true
    }

    fn finish(self) -> Vec<u8> {
        match self.alphabet {
            Alphabet::GsmPacked => pack::pack_text(&self.octets),
            _ => self.octets,
        }
    }
}

// === impl Alphabet ===

impl Alphabet {
    /// All of them.
    pub const ALL: [Alphabet; 6] = [
        Alphabet::Gsm,
        Alphabet::GsmPacked,
        Alphabet::Latin1,
        Alphabet::Ascii,
        Alphabet::Utf8,
        Alphabet::Ucs2,
    ];

    /// As it is written in a configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Alphabet::Gsm => "gsm",
            Alphabet::GsmPacked => "gsm_packed",
            Alphabet::Latin1 => "latin1",
            Alphabet::Ascii => "ascii",
            Alphabet::Utf8 => "utf8",
            Alphabet::Ucs2 => "ucs2",
        }
    }
}

impl fmt::Display for Alphabet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Alphabet {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        UnknownName::find(name, &Self::ALL, Self::name)
    }
}

// === impl SubstitutionPolicy ===

impl SubstitutionPolicy {
    /// All of them.
    pub const ALL: [SubstitutionPolicy; 4] = [
        SubstitutionPolicy::Ucs2,
        SubstitutionPolicy::Transliterate,
        SubstitutionPolicy::Replace,
        SubstitutionPolicy::Refuse,
    ];

    /// As it is written in a configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SubstitutionPolicy::Ucs2 => "ucs2",
            SubstitutionPolicy::Transliterate => "transliterate",
            SubstitutionPolicy::Replace => "replace",
            SubstitutionPolicy::Refuse => "refuse",
        }
    }
}

impl fmt::Display for SubstitutionPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SubstitutionPolicy {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        UnknownName::find(name, &Self::ALL, Self::name)
    }
}
