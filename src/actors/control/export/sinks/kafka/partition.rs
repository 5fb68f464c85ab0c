//! Which partition a key belongs to: the choice of Kafka's own producers (`DefaultPartitioner`), so that events of a message
//! are where other programs look for its key. It is MurmurHash2 with 32 bits.

/// The partition of a key in a topic of so many, which are at least one.
pub(super) fn partition_of(key: &[u8], partitions: u32) -> i32 {
    // Without its sign, as there.
    let hash = murmur2(key) & 0x7fff_ffff;
    (hash % partitions.max(1)) as i32
}

fn murmur2(key: &[u8]) -> u32 {
    const SEED: u32 = 0x9747_b28c;
    const FACTOR: u32 = 0x5bd1_e995;
    let mix = |word: u32| {
        let word = word.wrapping_mul(FACTOR);
        (word ^ (word >> 24)).wrapping_mul(FACTOR)
    };
    let mut hash = SEED ^ key.len() as u32;
    let (words, rest) = key.as_chunks::<4>();
    for word in words {
        hash = hash.wrapping_mul(FACTOR) ^ mix(u32::from_le_bytes(*word));
    }
    if !rest.is_empty() {
        for (at, octet) in rest.iter().enumerate() {
            hash ^= u32::from(*octet) << (8 * at);
        }
        hash = hash.wrapping_mul(FACTOR);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(FACTOR);
    hash ^ (hash >> 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of Kafka's own test of its function.
    #[test]
    fn keys_hash_as_those_of_other_producers_do() {
        for (key, hash) in [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            (
                "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8",
                -58_897_971,
            ),
            ("abc", 479_470_107),
        ] {
            assert_eq!(murmur2(key.as_bytes()) as i32, hash, "{key}");
        }
    }

    #[test]
    fn every_partition_is_one_of_the_topic() {
        for id in 0..1_000_u64 {
            let partition = partition_of(id.to_string().as_bytes(), 7);
            assert!((0..7).contains(&partition), "{id}: {partition}");
        }
    }
}
