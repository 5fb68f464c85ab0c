//! Forces a text into an alphabet.

use deunicode::deunicode_char;

use super::super::language::Shifts;
use super::{Alphabet, AlphabetWriter, SubstitutionPolicy};

/// Stands for what cannot be written; every table has it.
const UNKNOWN: char = '?';

/// A text that was made to fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forced {
    pub octets: Vec<u8>,
    /// Characters that are not what they were.
    pub changed: usize,
}

/// Writes a text in an alphabet that may lack some of its characters: with
/// [`SubstitutionPolicy::Transliterate`] they are written with others, with any other policy as `?`.
///
/// Nothing is cut. Marks that only change the character before them (U+0301, U+200D) may vanish, but
/// a text that is not empty never becomes one that is.
#[must_use]
pub fn force(text: &str, alphabet: Alphabet, shifts: Shifts, policy: SubstitutionPolicy) -> Forced {
    let mut writer = AlphabetWriter::new(alphabet, shifts, text.len());
    let mut changed = 0;
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        if writer.push(character) {
            continue;
        }
        changed += 1;
        if policy != SubstitutionPolicy::Transliterate {
            writer.push(UNKNOWN);
            continue;
        }
        let mut other = transliterated(character).unwrap_or("?");
        // Syllables of Chinese end in a space, which parts words but not the text from its end.
        if !rest.peek().is_some_and(|next| next.is_alphanumeric()) {
            other = other.trim_end();
        }
        for part in other.chars() {
            if !writer.push(part) {
                writer.push(UNKNOWN);
            }
        }
    }
    if writer.octets.is_empty() && !text.is_empty() {
        writer.push(UNKNOWN);
    }
    Forced {
        octets: writer.finish(),
        changed,
    }
}

/// The character in ASCII, if there is a usual way to write it; empty for a mark that only changes
/// its neighbour.
fn transliterated(character: char) -> Option<&'static str> {
    match character {
        // In ASCII, but not in the 7-bit alphabet.
        '`' => Some("'"),
        '\t' | '\u{0b}' | '\u{0c}' => Some(" "),
        ascii if ascii.is_ascii() => None,
        other => deunicode_char(other),
    }
}
