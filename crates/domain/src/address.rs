//! Addresses as text: masked for logs, normalised for look-ups, printable for people.
//!
//! Subscribers' numbers are personal data: log lines and metrics show [`mask`]ed numbers only.

use std::borrow::Cow;
use std::hash::Hasher as _;

use siphasher::sip::SipHasher24;
use siphasher::sip128::{Hasher128 as _, SipHasher24 as SipHasher128};

/// Digits that stay readable at the start of a masked number: country and network.
const MASK_HEAD: usize = 4;
/// Digits that stay readable at the end of a masked number.
const MASK_TAIL: usize = 3;

/// The number with its middle starred out, the length kept: `4477*****123`.
///
/// Shorter addresses show less (a third at the start, a quarter at the end), so that a short one is
/// not shown whole.
pub fn mask(address: &[u8]) -> String {
    let length = address.len();
    let head = (length / 3).min(MASK_HEAD);
    let tail_from = length - (length / 4).min(MASK_TAIL);
    address
        .iter()
        .enumerate()
        .map(|(at, &octet)| match octet {
            _ if (head..tail_from).contains(&at) => '*',
            0x20..=0x7E => octet as char,
            _ => '?',
        })
        .collect()
}

/// Digits at the end of a number by which it is known in a text, whatever is in front of them there.
const KNOWN_BY: usize = 7;

/// The text of somebody else, in which what ends as the number does is masked, however it is written: an operator may put the
/// subscriber's number into the id of a message, and a person into a reason.
pub fn mask_in(text: &str, number: &[u8]) -> String {
    let number = plain(number);
    let known_by = &number[number.len().saturating_sub(KNOWN_BY)..];
    if !is_digits(known_by) {
        return text.to_owned();
    }
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_digit) {
        let (before, from) = rest.split_at(start);
        // To its last digit; one letter is its end.
        let end = from.find(char::is_alphabetic).unwrap_or(from.len());
        let end = from[..end].rfind(is_digit).map_or(end, |last| {
            last + from[last..].chars().next().map_or(0, char::len_utf8)
        });
        let (written, behind) = from.split_at(end);
        masked.push_str(before);
        masked.push_str(&mask_run(written, known_by));
        rest = behind;
    }
    masked.push_str(rest);
    masked
}

/// A digit of any script: nothing else is written instead of one.
fn is_digit(sign: char) -> bool {
    sign.is_numeric()
}

/// Digits with what stands between them: where the number stands in one piece it is masked as always, where it is written in
/// several, all of them are starred out.
fn mask_run(written: &str, known_by: &[u8]) -> String {
    let pieces = || written.split_inclusive(|sign: char| !sign.is_ascii_digit());
    let digits_of = |piece: &str| {
        piece
            .trim_end_matches(|sign: char| !sign.is_ascii_digit())
            .len()
    };
    if pieces().any(|piece| piece.as_bytes()[..digits_of(piece)].ends_with(known_by)) {
        let masked = pieces().map(|piece| {
            let (digits, end) = piece.split_at(digits_of(piece));
            if digits.as_bytes().ends_with(known_by) {
                mask(digits.as_bytes()) + end
            } else {
                piece.to_owned()
            }
        });
        return masked.collect();
    }
    let digits: Vec<u8> = written.bytes().filter(u8::is_ascii_digit).collect();
    let is_whole = known_by.len() < KNOWN_BY;
    let is_in = if is_whole {
        digits == known_by
    } else {
        digits.windows(KNOWN_BY).any(|some| some == known_by)
    };
    let is_foreign = |sign: char| is_digit(sign) && !sign.is_ascii_digit();
    if is_in || written.contains(is_foreign) {
        written.replace(is_digit, "*")
    } else {
        written.to_owned()
    }
}

/// A keyed hash of the number, 16 hexadecimal digits: equal numbers look equal, and without the key
/// the number cannot be found by trying.
pub fn hash(key: &[u8; 16], address: &[u8]) -> String {
    let mut hasher = SipHasher24::new_with_key(key);
    hasher.write(normalise(address));
    format!("{:016x}", hasher.finish())
}

/// The key for [`hash`] from a secret of any length.
pub fn key_of(secret: &str) -> [u8; 16] {
    let mut hasher = SipHasher128::new_with_key(b"smsc number hash");
    hasher.write(secret.as_bytes());
    hasher.finish128().as_bytes()
}

/// The address without one leading `+`, which some ESMEs send with TON international although the
/// standard wants digits only (SMPP 3.4 §5.2.5). Nothing else is touched: a leading `00` may be
/// part of a national number.
pub fn normalise(address: &[u8]) -> &[u8] {
    address.strip_prefix(b"+").unwrap_or(address)
}

/// A number without what it is written with for people (ITU-T E.123): blanks, hyphens, dots, slashes and parentheses.
/// One leading `+` stays. `None` if there is nothing to remove, or what is left is no number.
pub fn unformatted(address: &[u8]) -> Option<Vec<u8>> {
    let digits = normalise(address);
    if digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut plain = address[..address.len() - digits.len()].to_vec();
    for octet in digits {
        match octet {
            b'0'..=b'9' => plain.push(*octet),
            b' ' | b'-' | b'.' | b'/' | b'(' | b')' => {}
            // In front of the plus.
            b'+' if plain.is_empty() => plain.push(*octet),
            _ => return None,
        }
    }
    is_digits(normalise(&plain)).then_some(plain)
}

/// The address for look-ups, however its number is written: without formatting and without a plus.
pub fn plain(address: &[u8]) -> Cow<'_, [u8]> {
    match unformatted(address) {
        Some(mut number) => {
            number.drain(..number.len() - normalise(&number).len());
            Cow::Owned(number)
        }
        None => Cow::Borrowed(normalise(address)),
    }
}

/// Whether the address is digits only (and not empty).
pub fn is_digits(address: &[u8]) -> bool {
    !address.is_empty() && address.iter().all(u8::is_ascii_digit)
}

/// Most digits of an international number (ITU-T E.164 §6.2).
const INTERNATIONAL_MAX: usize = 15;

/// Whether it may be an international number without a plus, or its first digits.
pub fn is_international(address: &[u8]) -> bool {
    is_digits(address) && address.len() <= INTERNATIONAL_MAX
}

/// The octets as text that is safe in a log line or a terminal: anything but printable ASCII is
/// shown as `\xNN`, and the backslash as `\\`.
pub fn printable(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len());
    for &octet in octets {
        match octet {
            b'\\' => text.push_str("\\\\"),
            0x20..=0x7E => text.push(octet as char),
            _ => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                text.push_str("\\x");
                text.push(HEX[usize::from(octet >> 4)] as char);
                text.push(HEX[usize::from(octet & 15)] as char);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_the_middle() {
        assert_eq!(mask(b"447700900123"), "4477*****123");
        assert_eq!(mask(b"+447700900123"), "+447******123");
        assert_eq!(mask(b"12345"), "1***5");
        assert_eq!(mask(b"123"), "1**");
        assert_eq!(mask(b"1"), "*");
        assert_eq!(mask(b""), "");
        assert_eq!(mask(b"\xff\x00aaaaaaaaaa"), "??aa*****aaa");
    }

    #[test]
    fn masks_a_number_in_a_text() {
        for (text, masked) in [
            ("b36924b9-447700900123", "b36924b9-4477*****123"),
            ("07700900123: asked", "077******23: asked"),
            ("+447700900123, 0900123", "+4477*****123, 09****3"),
            ("ticket 20360712, 1000000000", "ticket 20360712, 1000000000"),
            ("447700900123", "4477*****123"),
            ("", ""),
        ] {
            assert_eq!(mask_in(text, b"+44 7700 900123"), masked);
        }
        for written in [
            "+44 7700 900123",
            "+44 (0)7700 900123",
            "07700 900 123",
            "44-7700-900-123",
            "44.7700.900.123",
            "(44) 7700/900123",
            "44\u{a0}7700\u{2011}900\u{200b}123",
            "4 4 7 7 0 0 9 0 0 1 2 3",
            "4477_00900_123",
            "\u{ff14}\u{ff14}7700900123",
            "\u{664}\u{664}\u{667}\u{667}",
        ] {
            let masked = mask_in(&format!("he, {written}, asked"), b"447700900123");
            assert!(
                !masked.contains("900") && !masked.contains("12"),
                "{masked}"
            );
            assert!(
                masked.starts_with("he, ") && masked.ends_with(", asked"),
                "{masked}"
            );
        }
        assert_eq!(mask_in("to 12345, 123456", b"12345"), "to 1***5, 123456");
        assert_eq!(mask_in("from ACME", b"ACME"), "from ACME");
        assert_eq!(mask_in("x", b""), "x");
    }

    #[test]
    fn hashes_with_a_key() {
        let hash = |key: u8, number: &[u8]| super::hash(&[key; 16], number);
        assert_eq!(hash(1, b"447700900123"), hash(1, b"+447700900123"));
        assert_ne!(hash(1, b"447700900123"), hash(2, b"447700900123"));
        assert_ne!(hash(1, b"447700900123"), hash(1, b"447700900124"));
        assert_eq!(hash(1, b"").len(), 16);
    }

    #[test]
    fn strips_one_plus_only() {
        assert_eq!(normalise(b"+4477"), b"4477");
        assert_eq!(normalise(b"++4477"), b"+4477");
        assert_eq!(normalise(b"004477"), b"004477");
        assert!(is_digits(b"0123"));
        assert!(!is_digits(b""));
        assert!(!is_digits(b"12a"));
        for (address, is_number) in [
            ("491701234567", true),
            ("123456789012345", true),
            ("1234567890123456", false),
            ("+491701234567", false),
            ("", false),
        ] {
            assert_eq!(is_international(address.as_bytes()), is_number, "{address}");
        }
    }

    #[test]
    fn numbers_are_the_same_however_they_are_written() {
        for (given, expected) in [
            (&b"+44 7700-900123"[..], Some(&b"+447700900123"[..])),
            (b"447700900123 ", Some(b"447700900123")),
            (b" +447700900123", Some(b"+447700900123")),
            (b"(0)7700/900.123", Some(b"07700900123")),
            (b"447700900123", None),
            (b"+447700900123", None),
            (b"+44+7700900123", None),
            (b"447700900123f", None),
            (b"A-1", None),
            (b"*100#", None),
            (b" - ", None),
            (b"", None),
        ] {
            assert_eq!(unformatted(given).as_deref(), expected, "{given:?}");
        }
        assert_eq!(&*plain(b" +44 7700 900123"), b"447700900123");
        assert_eq!(&*plain(b"+447700900123"), b"447700900123");
        assert_eq!(&*plain(b"ACME-1"), b"ACME-1");
    }

    #[test]
    fn shows_control_characters_as_hex() {
        assert_eq!(printable(b"ACME\r\n\\\xff"), r"ACME\x0d\x0a\\\xff");
    }
}
