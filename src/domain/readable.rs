//! What the octets of a message say, as far as its data coding tells: for people and for exports.

/// data_coding: ISO 8859-1 (SMPP 3.4 §5.2.19).
const LATIN_1: u32 = 0x03;
/// data_coding: UCS-2, in practice UTF-16.
const UCS_2: u32 = 0x08;
/// esm_class bit: the octets begin with a user data header (SMPP 3.4 §5.2.12).
const UDHI: u32 = 0x40;

/// The text of a payload; `None` when the octets are no text, or none that can be read.
pub fn text(esm_class: u32, data_coding: u32, payload: &[u8]) -> Option<String> {
    let header = match esm_class & UDHI != 0 {
        true => usize::from(*payload.first()?) + 1,
        false => 0,
    };
    let body = payload.get(header..)?;
    match data_coding {
        // The SMSC's own alphabet and IA5: what is printable in ASCII means the same in both.
        0 | 1 => body
            .iter()
            .all(|octet| matches!(octet, b'\n' | b'\r' | b' '..=b'~'))
            .then(|| body.iter().map(|octet| char::from(*octet)).collect()),
        LATIN_1 => Some(body.iter().map(|octet| char::from(*octet)).collect()),
        UCS_2 => {
            let units: Vec<u16> = body
                .chunks_exact(2)
                .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
                .collect();
            Some(String::from_utf16_lossy(&units))
        }
        _ => None,
    }
}
