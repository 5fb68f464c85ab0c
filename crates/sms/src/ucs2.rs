//! Characters ↔ the octets of UCS-2, read and written as UTF-16 with the high octet first (§6.2.3).
//!
//! The standard says UCS-2; every handset takes surrogate pairs, so characters above U+FFFF are two
//! units of 16 bits, and [`super`]'s segmentation never parts them.

/// The octets of a text.
#[must_use]
pub fn encode(text: &str) -> Vec<u8> {
    let mut octets = Vec::with_capacity(text.len() * 2);
    text.chars()
        .for_each(|character| push(&mut octets, character));
    octets
}

/// The text of octets. Never fails: half a surrogate pair, and an odd octet at the end, is U+FFFD.
#[must_use]
pub fn decode(octets: &[u8]) -> String {
    let (pairs, odd) = octets.as_chunks::<2>();
    let units = pairs.iter().map(|pair| u16::from_be_bytes(*pair));
    // Three octets of UTF-8 for two of UTF-16 is the most there can be.
    let mut text = String::with_capacity(octets.len() + pairs.len() + 3);
    text.extend(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)));
    if !odd.is_empty() {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    text
}

/// Appends one character.
pub(super) fn push(octets: &mut Vec<u8>, character: char) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        octets.extend_from_slice(&unit.to_be_bytes());
    }
}
