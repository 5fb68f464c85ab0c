//! Partitions of a queue: which of them a subscriber belongs to.
//!
//! All messages to one subscriber through one operator are in one partition, and a partition is
//! served by one node at a time: so no two nodes ever deliver to one subscriber at once. A receipt is in the
//! partition of its message.

/// Partitions of each queue that nodes share. Part of the data: nodes of different opinion would share
/// nothing.
pub const PARTITIONS: u8 = 32;

/// All of a queue that nodes do not share: an account's receipts and MO while one node tells them.
pub const WHOLE: u8 = u8::MAX;

/// A partition in a word of bits: numbers are below [`PARTITIONS`], and [`WHOLE`] has the highest one.
pub fn bit(part: u8) -> u64 {
    1 << part.min(63)
}

/// The partition of a destination, below [`PARTITIONS`], the same on every node and in every
/// release: FNV-1a over its octets, then a finaliser, because numbers differ in their last digits
/// and FNV alone hardly carries those into its other bits.
pub fn of(destination: &[u8]) -> u8 {
    let mut hash = destination
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, octet| {
            (hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3_u64)
        });
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^= hash >> 33;
    (hash % u64::from(PARTITIONS)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_the_same_for_ever() {
        for (destination, part) in [("", 6), ("447700900123", 13), ("491701234567", 1)] {
            assert_eq!(of(destination.as_bytes()), part, "{destination}");
        }
    }

    #[test]
    fn spreads_subscribers_evenly() {
        let mut counts = [0u32; PARTITIONS as usize];
        for number in 447_700_900_000_u64..447_700_932_000 {
            counts[usize::from(of(number.to_string().as_bytes()))] += 1;
        }
        assert!(
            counts.iter().all(|count| (700..1300).contains(count)),
            "{counts:?}"
        );
    }
}
