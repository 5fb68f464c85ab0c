//! Octets as the tests of this module write them: `1b 65`.

/// Octets from pairs of hexadecimal digits.
pub(super) fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .map(|digit| digit as u8)
        .collect();
    assert_eq!(digits.len() % 2, 0, "half an octet in {hex:?}");
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}
