//! Septets ↔ octets: eight septets in seven octets, the lowest bit first (§6.1.2.1).
//!
//! [`fn@pack`] and [`unpack`] are for places that say how many septets there are (the user data of a
//! short message); [`pack_text`] and [`unpack_text`] for those that only say how many octets (USSD,
//! cell broadcast, packed text in SMPP).

#[cfg(test)]
mod tests;

/// Bits of a septet.
const SEPTET: usize = 7;
/// The bits of an octet that a septet uses.
const MASK: u8 = 0x7F;
/// Fills the last septet of a text without a count (§6.1.2.3.1).
const CARRIAGE_RETURN: u8 = 0x0D;

/// Bits to leave after a user data header of that many octets, its length octet included, so that
/// the text begins on a septet boundary (23.040 §9.2.3.24).
#[must_use]
pub fn fill_bits(header_octets: usize) -> u8 {
    // The remainder is below 7.
    ((SEPTET - header_octets * 8 % SEPTET) % SEPTET) as u8
}

/// Packs septets behind `fill_bits` zero bits. Bits above the seventh are dropped.
#[must_use]
pub fn pack(septets: &[u8], fill_bits: u8) -> Vec<u8> {
    let mut octets =
        Vec::with_capacity((usize::from(fill_bits) + septets.len() * SEPTET).div_ceil(8));
    let mut pending = 0_u16;
    let mut bits = u32::from(fill_bits);
    while bits >= 8 {
        octets.push(0);
        bits -= 8;
    }
    for septet in septets {
        pending |= u16::from(septet & MASK) << bits;
        bits += SEPTET as u32;
        if bits >= 8 {
            octets.push(pending as u8);
            pending >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        octets.push(pending as u8);
    }
    octets
}

/// Unpacks `count` septets that begin after `fill_bits` bits; fewer when the octets hold fewer.
#[must_use]
pub fn unpack(octets: &[u8], fill_bits: u8, count: usize) -> Vec<u8> {
    let there = (octets.len() * 8).saturating_sub(usize::from(fill_bits)) / SEPTET;
    (0..count.min(there))
        .map(|place| {
            let bit = usize::from(fill_bits) + place * SEPTET;
            let low = u16::from(octets[bit / 8]);
            let high = u16::from(octets.get(bit / 8 + 1).copied().unwrap_or(0));
            ((low | high << 8) >> (bit % 8)) as u8 & MASK
        })
        .collect()
}

/// Packs a whole text that is followed by no count of septets (§6.1.2.3.1).
///
/// Seven septets leave seven bits of the seventh octet: were they zero, they would read as an `@`,
/// so they are a carriage return, which the reader takes away. A text that ends there with a
/// carriage return of its own gets a second one.
#[must_use]
pub fn pack_text(septets: &[u8]) -> Vec<u8> {
    let ends_in_return = septets
        .last()
        .is_some_and(|last| last & MASK == CARRIAGE_RETURN);
    if septets.len() % 8 == 7 || (septets.len().is_multiple_of(8) && ends_in_return) {
        let mut padded = Vec::with_capacity(septets.len() + 1);
        padded.extend_from_slice(septets);
        padded.push(CARRIAGE_RETURN);
        return pack(&padded, 0);
    }
    pack(septets, 0)
}

/// Unpacks a whole text with an unknown number of septets: all that the octets hold, less the
/// carriage return that fills the last of them (§6.1.2.3.1).
///
/// A sender that fills with zero bits instead adds an `@` here, which cannot be distinguished from
/// a real one.
#[must_use]
pub fn unpack_text(octets: &[u8]) -> Vec<u8> {
    let mut septets = unpack(octets, 0, usize::MAX);
    if octets.len().is_multiple_of(SEPTET) && septets.last() == Some(&CARRIAGE_RETURN) {
        septets.pop();
    }
    septets
}
