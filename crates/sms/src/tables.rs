//! The tables of the 7-bit alphabets, readable in both directions without a search at run time for
//! the characters that most texts are made of.
//!
//! Used by [`super::gsm7`] alone. The data stand in `tables/`, as 3GPP TS 23.038 has them (§6.2.1,
//! Annex A, compared in Release 9, V9.1.1, and Release 18, V18.0.0); the reverse direction is made by
//! the compiler. Of two positions with the same character the lower one is written; both are read.
//!
//! Three places of the printed standard are not followed, because handsets do not: Kannada, locking,
//! 0x24 is U+0CA1 (printed is U+0CAA, which has its place at 0x3D, while U+0CA1 has none); 0x2C of the
//! locking tables of A.3.4 to A.3.13 is the comma of the default alphabet (some copies show an
//! apostrophe); Telugu has the Euro at 0x65 like every other single shift table (some copies do not).

mod latin;
mod locking;
mod single;

use super::language::{Language, Shifts};

/// A position without a character. U+0000 itself is in no table.
const NONE: char = '\0';
/// No code: above every septet.
const NO_CODE: u8 = 0xFF;
/// Positions of a table.
const SEPTETS: usize = 128;
/// Characters of Latin-1, whose codes are looked up by index.
const LATIN_1: usize = 256;

/// One table of 128 positions.
pub(super) struct SeptetTable {
    /// Characters by code.
    characters: [char; SEPTETS],
    /// Codes of characters below U+0100, by character.
    low: [u8; LATIN_1],
    /// Characters from U+0100 with their codes, sorted; the first `high_len` count.
    high: [(char, u8); SEPTETS],
    high_len: usize,
}

/// Characters that follow one another in Unicode, at codes that do: the first code, the first
/// character, and how many.
type CharacterRun = (u8, char, u8);

/// The two tables of a text.
#[derive(Clone, Copy)]
pub(super) struct Tables {
    /// Characters of one septet.
    pub basic: &'static SeptetTable,
    /// Characters after an escape.
    pub extension: &'static SeptetTable,
}

// === impl SeptetTable ===

impl SeptetTable {
    /// A table of the `common` characters of its kind and its own.
    const fn with(common: [char; SEPTETS], own: &[CharacterRun]) -> Self {
        let characters = place(common, own);
        let mut table = Self {
            characters,
            low: [NO_CODE; LATIN_1],
            high: [(NONE, NO_CODE); SEPTETS],
            high_len: 0,
        };
        let mut code = 0;
        while code < SEPTETS {
            if characters[code] != NONE {
                table.learn(characters[code], code as u8);
            }
            code += 1;
        }
        table
    }

    /// Keeps the code of a character; the first code that it is given stays.
    const fn learn(&mut self, character: char, code: u8) {
        if (character as usize) < LATIN_1 {
            if self.low[character as usize] == NO_CODE {
                self.low[character as usize] = code;
            }
            return;
        }
        let mut at = self.high_len;
        while at > 0 && self.high[at - 1].0 as u32 >= character as u32 {
            at -= 1;
        }
        if at < self.high_len && self.high[at].0 as u32 == character as u32 {
            return;
        }
        let mut moved = self.high_len;
        while moved > at {
            self.high[moved] = self.high[moved - 1];
            moved -= 1;
        }
        self.high[at] = (character, code);
        self.high_len += 1;
    }

    /// The character at a septet, if there is one.
    pub fn character(&self, septet: u8) -> Option<char> {
        self.characters
            .get(usize::from(septet))
            .copied()
            .filter(|character| *character != NONE)
    }

    /// The septet of a character, if it is in the table.
    #[inline]
    pub fn septet(&self, character: char) -> Option<u8> {
        if let Some(code) = self.low.get(character as usize) {
            return (*code != NO_CODE).then_some(*code);
        }
        let high = &self.high[..self.high_len];
        high.binary_search_by_key(&character, |entry| entry.0)
            .ok()
            .map(|at| high[at].1)
    }
}

// === impl Tables ===

impl Tables {
    /// The tables of a text with these shifts.
    pub fn of(shifts: Shifts) -> Self {
        Self {
            basic: of_language(shifts.locking).0,
            extension: of_language(shifts.single).1,
        }
    }
}

/// The characters, with those of runs at their codes.
const fn place(mut characters: [char; SEPTETS], runs: &[CharacterRun]) -> [char; SEPTETS] {
    let mut at = 0;
    while at < runs.len() {
        let (code, first, count) = runs[at];
        let mut offset = 0;
        while offset < count {
            if let Some(character) = char::from_u32(first as u32 + offset as u32) {
                characters[(code + offset) as usize] = character;
            }
            offset += 1;
        }
        at += 1;
    }
    characters
}

/// The basic table and the extension of a language.
fn of_language(language: Language) -> (&'static SeptetTable, &'static SeptetTable) {
    match language {
        Language::Default => (&latin::DEFAULT, &latin::DEFAULT_EXTENSION),
        Language::Spanish => (&latin::DEFAULT, &latin::SPANISH_EXTENSION),
        Language::Turkish => (&latin::TURKISH, &latin::TURKISH_EXTENSION),
        Language::Portuguese => (&latin::PORTUGUESE, &latin::PORTUGUESE_EXTENSION),
        Language::Bengali => (&locking::BENGALI, &single::BENGALI),
        Language::Gujarati => (&locking::GUJARATI, &single::GUJARATI),
        Language::Hindi => (&locking::HINDI, &single::HINDI),
        Language::Kannada => (&locking::KANNADA, &single::KANNADA),
        Language::Malayalam => (&locking::MALAYALAM, &single::MALAYALAM),
        Language::Oriya => (&locking::ORIYA, &single::ORIYA),
        Language::Punjabi => (&locking::PUNJABI, &single::PUNJABI),
        Language::Tamil => (&locking::TAMIL, &single::TAMIL),
        Language::Telugu => (&locking::TELUGU, &single::TELUGU),
        Language::Urdu => (&locking::URDU, &single::URDU),
    }
}
