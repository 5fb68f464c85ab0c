//! Addresses as text: masked for logs, normalised for look-ups, printable for people.
//!
//! Subscribers' numbers are personal data: log lines and metrics show [`mask`]ed numbers only.

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

/// Whether the address is digits only (and not empty).
pub fn is_digits(address: &[u8]) -> bool {
    !address.is_empty() && address.iter().all(u8::is_ascii_digit)
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
    }

    #[test]
    fn shows_control_characters_as_hex() {
        assert_eq!(printable(b"ACME\r\n\\\xff"), r"ACME\x0d\x0a\\\xff");
    }
}
