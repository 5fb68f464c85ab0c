//! Conversion from the alphabet of one peer to that of another.
//!
//! `data_coding` 0 means "your default", which differs between SMSCs and ESMEs: [`Alphabet`] says
//! which it is. Called where text goes from one peer to another; [`SubstitutionPolicy`] decides what happens to
//! characters that an alphabet lacks; text is never cut or dropped.

use super::gsm7::{self, Unrepresentable};
use super::language::Shifts;
use super::tables::Tables;
use super::{pack, ucs2};

mod choose;
mod force;
#[cfg(test)]
mod tests;
pub use choose::{Choice, choose};
pub use force::{Forced, force};

named! {
    /// How a peer writes text.
    pub enum Alphabet {
        /// The 7-bit alphabet, one septet in each octet: what SMPP means.
        Gsm = "gsm",
        /// The 7-bit alphabet, eight septets in seven octets.
        GsmPacked = "gsm_packed",
        /// ISO 8859-1.
        Latin1 = "latin1",
        Ascii = "ascii",
        Utf8 = "utf8",
        /// UTF-16, high octet first.
        Ucs2 = "ucs2",
    }
}

named! {
    /// What happens to characters that an alphabet does not have.
    pub enum SubstitutionPolicy {
        /// The whole text is sent as UCS-2.
        Ucs2 = "ucs2",
        /// Each is written with others: `é` as `e`, `…` as `...`; what cannot be, as `?`.
        Transliterate = "transliterate",
        /// Each becomes `?`.
        Replace = "replace",
        /// The message is refused.
        Refuse = "refuse",
    }
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
