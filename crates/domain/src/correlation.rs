//! The key that finds an attempt by the message id that the operator assigned.
//!
//! Called by the correlation actor for what is sent now, and by `smsc migrate-store` for what was
//! sent before. Guarantees that every node, and every release, makes the same key from the same id:
//! nodes that share a store find each other's attempts by it.

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

/// 128 bits of a keyed hash: long enough that different ids are not taken for one another.
pub type CorrelationKey = u128;

/// Part of the data: never change them.
const KEYS: (u64, u64) = (0x736d_7363_6964_6b31, 0x736d_7363_6964_6b32);

/// The key of an id from a submit_sm_resp. `operator` is the interned name of the operator's queue;
/// unless `as_is`, case, leading zeros and spaces around it make no difference.
pub fn key(operator: u32, id: &[u8], as_is: bool) -> CorrelationKey {
    let mut hasher = SipHasher13::new_with_keys(KEYS.0, KEYS.1);
    hasher.write_u32(operator);
    if as_is {
        hasher.write(id);
    } else {
        let id = id.trim_ascii();
        let zeros = id.iter().take_while(|octet| **octet == b'0').count();
        // "0" and "000" are the id zero, not an empty one.
        let id = &id[zeros.min(id.len().saturating_sub(1))..];
        // In portions: octet by octet takes several times as long.
        let mut lower = [0; 64];
        for portion in id.chunks(lower.len()) {
            let lower = &mut lower[..portion.len()];
            lower.copy_from_slice(portion);
            lower.make_ascii_lowercase();
            hasher.write(lower);
        }
    }
    hasher.finish128().as_u128()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_the_same_for_ever() {
        let exact = key(7, b"00AB12", true);
        assert_eq!(exact, 0x1380_1c6d_3b06_fe2f_3720_ff98_159f_498d);
        let loose = key(7, b"00AB12", false);
        assert_eq!(loose, 0xe132_59d7_629f_8b1f_4f83_ff52_1d9e_e526);
        assert_eq!(key(7, b" ab12 ", false), loose);
        assert_eq!(key(7, b"0", false), key(7, b"000", false));
        assert_ne!(key(8, b"00AB12", true), exact);
    }

    #[test]
    fn ids_of_any_length_have_the_key_of_their_octets() {
        for length in [0, 1, 15, 16, 17, 63, 64, 65, 128, 200] {
            let id: Vec<u8> = (0..length).map(|at| b'A' + at % 26).collect();
            let mut hasher = SipHasher13::new_with_keys(KEYS.0, KEYS.1);
            hasher.write_u32(7);
            for octet in &id {
                hasher.write_u8(octet.to_ascii_lowercase());
            }
            let octet_by_octet = hasher.finish128().as_u128();
            assert_eq!(key(7, &id, false), octet_by_octet, "{length}");
        }
    }
}
