//! Characters ↔ septets by the 7-bit alphabets: the default one with its extension, and the national
//! ones (§6.2.1, Annex A).
//!
//! A septet string is one septet in each octet; [`super::pack`] packs it. What is decoded and encoded
//! again with the same tables has the same characters; the octets may differ where a table has a
//! character twice.

use thiserror::Error;

use super::language::Shifts;
use super::tables::Tables;

#[cfg(test)]
mod tests;

/// The septet before a character of the extension or single shift table (§6.2.1).
pub const ESCAPE: u8 = 0x1B;

/// Has this code in every table.
const QUESTION_MARK: u8 = b'?';

/// A character that an alphabet does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{character:?} (U+{code:04X}), character {at} of the text, is not in the alphabet", code = *character as u32)]
pub struct Unrepresentable {
    /// The first such character.
    pub character: char,
    /// How many characters stand before it.
    pub at: usize,
}

/// Whether all octets have the same character in the default alphabet, in ASCII and in ISO 8859-1: line ends, letters,
/// digits and most marks.
#[must_use]
pub fn reads_as_ascii(octets: &[u8]) -> bool {
    // Without an early end, so that many octets are compared at once.
    octets.iter().fold(true, |all, octet| {
        all & matches!(octet, b'\n' | b'\r' | b' '..=b'#' | b'%'..=b'?' | b'A'..=b'Z' | b'a'..=b'z')
    })
}

/// The septet string of a text.
///
/// # Errors
///
/// The first character that the tables do not have.
pub fn encode(text: &str, shifts: Shifts) -> Result<Vec<u8>, Unrepresentable> {
    let tables = Tables::of(shifts);
    let mut septets = Vec::with_capacity(text.len());
    for (at, character) in text.chars().enumerate() {
        if !tables.push(&mut septets, character) {
            return Err(Unrepresentable { character, at });
        }
    }
    Ok(septets)
}

/// The septet string of a text, with a question mark for each character that the tables do not have.
#[must_use]
pub fn encode_lossy(text: &str, shifts: Shifts) -> Vec<u8> {
    let tables = Tables::of(shifts);
    let mut septets = Vec::with_capacity(text.len());
    for character in text.chars() {
        if !tables.push(&mut septets, character) {
            septets.push(QUESTION_MARK);
        }
    }
    septets
}

/// The text of a septet string. Never fails:
///
/// - a pair of escape and septet that the extension does not have is the character of the basic
///   table, and a pair of two escapes a space (§6.2.1.1);
/// - a position that a locking table leaves free, and an octet above 0x7F, is U+FFFD;
/// - an escape at the very end is nothing: what it announced is not there.
#[must_use]
pub fn decode(septets: &[u8], shifts: Shifts) -> String {
    let tables = Tables::of(shifts);
    let mut text = String::with_capacity(septets.len());
    let mut rest = septets.iter().copied();
    while let Some(septet) = rest.next() {
        let character = if septet != ESCAPE {
            tables.basic.character(septet)
        } else {
            match rest.next() {
                None => break,
                Some(ESCAPE) => Some(' '),
                Some(second) => tables
                    .extension
                    .character(second)
                    .or_else(|| tables.basic.character(second)),
            }
        };
        text.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    text
}

// === impl Tables ===

impl Tables {
    /// Appends a character; `false` when the tables lack it, and then nothing is appended.
    #[inline]
    pub(super) fn push(self, septets: &mut Vec<u8>, character: char) -> bool {
        if let Some(septet) = self.basic.septet(character) {
            septets.push(septet);
            return true;
        }
        if let Some(septet) = self.extension.septet(character) {
            septets.extend_from_slice(&[ESCAPE, septet]);
            return true;
        }
        false
    }

    /// How many septets a character takes: 1, or 2 with its escape; none when the tables lack it.
    #[inline]
    pub(super) fn width(self, character: char) -> Option<usize> {
        if self.basic.septet(character).is_some() {
            return Some(1);
        }
        self.extension.septet(character).map(|_| 2)
    }
}
