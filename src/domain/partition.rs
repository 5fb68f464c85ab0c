//! Partitions of an operator's queue: which of them a subscriber belongs to.
//!
//! All messages to one subscriber through one operator are in one partition, and a partition is
//! served by one node at a time: so no two nodes ever deliver to one subscriber at once.

/// Partitions of each operator's queue. Part of the data: nodes of different opinion would share
/// nothing.
pub const PARTITIONS: u8 = 32;

/// The one partition of a queue that is not split: an account's receipts and MO.
pub const WHOLE: u8 = u8::MAX;

/// The partition of a destination, below [`PARTITIONS`]: FNV-1a over its octets, the same on every
/// node and in every release.
pub fn of(destination: &[u8]) -> u8 {
    let hash = destination
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, octet| {
            (hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3_u64)
        });
    // The high half is mixed better than the low bits.
    ((hash >> 32) % u64::from(PARTITIONS)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_the_same_for_ever() {
        for (destination, part) in [("", 4), ("447700900123", 0), ("491701234567", 13)] {
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
