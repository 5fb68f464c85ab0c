//! Whether a receipt names the subscriber of a message, however its operator writes numbers. Pure.

use crate::pb::{Message, OperatorReceipt};

/// Digits that identify a number.
const ENOUGH: usize = 6;

/// Whether a receipt has an address that may be a subscriber's: some have the sender's short code in both places.
pub(super) fn names_a_subscriber(receipt: &OperatorReceipt) -> bool {
    receipt
        .source
        .iter()
        .filter(|octet| octet.is_ascii_digit())
        .count()
        >= ENOUGH
}

/// Whether the address in a receipt is that of the message; `None` if it has none that could be.
pub(super) fn fits(receipt: &OperatorReceipt, message: &Message) -> Option<bool> {
    names_a_subscriber(receipt).then(|| {
        let is_there = |number: &[u8]| {
            is_same_number(&receipt.source, number) || is_same_number(&receipt.destination, number)
        };
        let original = message.original.as_deref();
        let original = original.and_then(|original| original.destination.as_ref());
        is_there(&message.destination) || original.is_some_and(|address| is_there(&address.digits))
    })
}

/// The only candidate that the address in a receipt fits.
pub(super) fn named(fits: impl IntoIterator<Item = Option<bool>>) -> Option<usize> {
    let mut named = fits
        .into_iter()
        .enumerate()
        .filter(|(_, fits)| *fits == Some(true));
    let (place, _) = named.next()?;
    named.next().is_none().then_some(place)
}

/// Whether two addresses are the same number, however complete and however written: compares their ends.
fn is_same_number(one: &[u8], other: &[u8]) -> bool {
    let (one, other) = (significant(one), significant(other));
    let length = one.len().min(other.len());
    let ends = one[one.len() - length..] == other[other.len() - length..];
    ends && (length >= ENOUGH || one.len() == other.len())
}

/// A number without what precedes it in some notations: a plus, and zeros.
fn significant(number: &[u8]) -> &[u8] {
    let first = number
        .iter()
        .position(|octet| !matches!(octet, b'+' | b'0'));
    &number[first.unwrap_or(number.len())..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_by_their_ends() {
        for (one, other, same) in [
            ("447700900123", "+447700900123", true),
            ("07700900123", "447700900123", true),
            ("00447700900123", "447700900123", true),
            ("7700900123", "447700900123", true),
            ("447700900123", "447700900124", false),
            ("12345", "12345", true),
            ("345", "12345", false),
        ] {
            let found = is_same_number(one.as_bytes(), other.as_bytes());
            assert_eq!(found, same, "{one} {other}");
        }
    }

    #[test]
    fn a_short_code_names_no_subscriber() {
        let receipt = |source: &'static str| OperatorReceipt {
            source: bytes::Bytes::from_static(source.as_bytes()),
            ..OperatorReceipt::default()
        };
        let message = Message {
            destination: bytes::Bytes::from_static(b"447700900123"),
            ..Message::default()
        };
        assert_eq!(fits(&receipt("12345"), &message), None);
        assert_eq!(fits(&receipt(""), &message), None);
        assert_eq!(fits(&receipt("07700900123"), &message), Some(true));
        assert_eq!(fits(&receipt("447700900124"), &message), Some(false));
    }
}
