//! Octets as people paste them: `00 1F`, `00:1f`, `0x00, 0x1f`, `\x00\x1f`, over several lines.
//!
//! Called with what `smsc decode` was given. An error names the place by line and column.

use bytes::Bytes;

/// Why the text is no octets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HexError {
    /// Nothing but separators.
    #[error("there are no octets; give hexadecimal digits, as 0000001000000015 or 00:00:00:10")]
    Empty,
    /// Neither a digit nor a separator.
    #[error(
        "line {line}, column {column}: `{character}` is no hexadecimal digit (octet {octet}); only \
         digits, blanks, colons, commas, hyphens and 0x are read, so leave offsets and text columns \
         of a dump out"
    )]
    Character {
        /// The character.
        character: char,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// The octet that was being read, from 0.
        octet: usize,
    },
    /// One digit where two belong.
    #[error(
        "line {line}, column {column}: half of octet {octet} is missing; an octet is two digits"
    )]
    Half {
        /// From 1.
        line: usize,
        /// Where the second digit was expected, from 1.
        column: usize,
        /// The octet that was being read, from 0.
        octet: usize,
    },
}

/// Reads octets.
///
/// # Errors
/// [`HexError`], with the place.
pub fn parse(text: &str) -> Result<Bytes, HexError> {
    let mut octets = Vec::with_capacity(text.len() / 2);
    let mut first: Option<u8> = None;
    let (mut line, mut column) = (1, 0);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        column += 1;
        let half = || HexError::Half {
            line,
            column,
            octet: octets.len(),
        };
        let is_prefix = match character {
            '0' => first.is_none() && matches!(characters.peek(), Some('x' | 'X')),
            '\\' => characters.peek() == Some(&'x'),
            _ => false,
        };
        if is_prefix {
            if first.is_some() {
                return Err(half());
            }
            characters.next();
            column += 1;
            continue;
        }
        if let Some(digit) = character.to_digit(16) {
            // A hexadecimal digit is below 16.
            let digit = digit as u8;
            match first.take() {
                Some(high) => octets.push(high << 4 | digit),
                None => first = Some(digit),
            }
            continue;
        }
        if !is_separator(character) {
            return Err(HexError::Character {
                character,
                line,
                column,
                octet: octets.len(),
            });
        }
        if first.is_some() {
            return Err(half());
        }
        if character == '\n' {
            (line, column) = (line + 1, 0);
        }
    }
    if first.is_some() {
        return Err(HexError::Half {
            line,
            column: column + 1,
            octet: octets.len(),
        });
    }
    if octets.is_empty() {
        Err(HexError::Empty)
    } else {
        Ok(octets.into())
    }
}

/// Octets as text, a blank between them.
pub fn spaced(octets: &[u8]) -> String {
    let octets: Vec<String> = octets.iter().map(|octet| format!("{octet:02X}")).collect();
    octets.join(" ")
}

/// `1 octet`, `2 octets`.
pub fn counted(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

fn is_separator(character: char) -> bool {
    character.is_whitespace()
        || matches!(
            character,
            ':' | ',' | ';' | '-' | '.' | '|' | '"' | '\'' | '\u{FEFF}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usual_spelling() {
        for text in [
            "001fA0",
            "00 1F a0",
            "00:1f:a0",
            "0x00 0x1F,0xA0",
            "0x001FA0",
            "\\x00\\x1f\\xa0",
            "\"00-1f-a0\"\n",
            " 00\n1F\r\n\ta0 ",
            "00, 1f, a0",
        ] {
            assert_eq!(parse(text).unwrap()[..], [0, 0x1F, 0xA0], "{text:?}");
        }
    }

    #[test]
    fn a_mistake_is_named_by_its_place() {
        let character = |character, line, column, octet| HexError::Character {
            character,
            line,
            column,
            octet,
        };
        let half = |line, column, octet| HexError::Half {
            line,
            column,
            octet,
        };
        for (text, error) in [
            ("", HexError::Empty),
            (" \n:", HexError::Empty),
            ("00 1G", character('G', 1, 5, 1)),
            ("00\n1F zz", character('z', 2, 4, 2)),
            ("00 1", half(1, 5, 1)),
            ("00 1 F0", half(1, 5, 1)),
            ("0\n0", half(1, 2, 0)),
            ("00x", character('x', 1, 3, 1)),
            ("1\\x00", half(1, 2, 0)),
        ] {
            assert_eq!(parse(text), Err(error), "{text:?}");
        }
    }
}
