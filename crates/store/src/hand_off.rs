//! Octets of items in the hand-off table, each with its checksum.
//!
//! Written by the node that has something for a queue of another node, and checked by the one that takes it. The checksum
//! follows its item as field 98 of the `Enqueue`, so builds before skip it; items of theirs have none and are taken as
//! they are. Octets of several items one after the other are those of all of them: that is how protobuf repeats a field.

use bytes::Bytes;
use prost::encoding;

use crate::checksum::KEY;
use smsc_proto::QueueItem;

/// The key of `Enqueue.items`.
const ITEM: u8 = 1 << 3 | 2;

/// An item as the hand-off table has it: an [`Enqueue`](smsc_proto::Enqueue) of one, and its checksum.
pub fn hand_off_octets(item: &QueueItem) -> Bytes {
    // Field 1 of `Enqueue`, without a copy of the message to put into one.
    let room = encoding::message::encoded_len(1, item) + KEY.len() + size_of::<u32>();
    let mut octets = Vec::with_capacity(room);
    encoding::message::encode(1, item, &mut octets);
    let sum = crc32c::crc32c(&octets);
    octets.extend_from_slice(&KEY);
    octets.extend_from_slice(&sum.to_le_bytes());
    octets.into()
}

/// Whether all items are what was written.
pub fn are_sound(mut octets: &[u8]) -> bool {
    while !octets.is_empty() {
        let Some((item, rest)) = split_item(octets) else {
            return false;
        };
        octets = match rest.strip_prefix(&KEY) {
            None => rest,
            Some(rest) => match rest.split_first_chunk() {
                Some((sum, rest)) if crc32c::crc32c(item).to_le_bytes() == *sum => rest,
                _ => return false,
            },
        };
    }
    true
}

/// The first item with its key and length, and what follows it.
fn split_item(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut content = octets.strip_prefix(&[ITEM])?;
    let length = encoding::decode_varint(&mut content).ok()?;
    let head = octets.len() - content.len();
    let end = usize::try_from(length).ok()?.checked_add(head)?;
    octets.split_at_checked(end)
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;
    use smsc_proto::{Enqueue, Message};

    fn item(id: u64) -> QueueItem {
        let message = Message {
            destination: Bytes::from_static(b"447700900123"),
            short_message: Bytes::from_static(b"hello"),
            ..Message::default()
        };
        QueueItem {
            id,
            message: Some(Box::new(message)),
            ..QueueItem::default()
        }
    }

    #[test]
    fn items_with_a_checksum_or_without_are_read_as_they_were_written() {
        let old = Enqueue {
            items: vec![item(1), item(2)],
        };
        let all = [
            hand_off_octets(&item(3)),
            old.encode_to_vec().into(),
            hand_off_octets(&item(4)),
        ]
        .concat();
        assert!(are_sound(&all) && are_sound(&[]));
        let read = Enqueue::decode(&*all).unwrap();
        assert_eq!(read.items, [item(3), item(1), item(2), item(4)]);
    }

    #[test]
    fn no_flipped_bit_and_no_cut_is_taken_for_an_item() {
        let octets = [
            hand_off_octets(&item(1 << 60)),
            hand_off_octets(&item((1 << 60) + 7)),
        ]
        .concat();
        for at in 0..octets.len() {
            for bit in 0..8 {
                let mut flipped = octets.clone();
                flipped[at] ^= 1 << bit;
                assert!(!are_sound(&flipped), "bit {bit} of octet {at}");
            }
        }
        let half = octets.len() / 2;
        for end in (1..octets.len()).filter(|end| *end != half) {
            // Cut off in front of its checksum, an item is one of a build before.
            let is_old = end % half == half - 6;
            assert_eq!(are_sound(&octets[..end]), is_old, "{end} octets");
        }
    }
}
