//! What is read is what was written, or it is damaged.

use prost::Message as _;

use super::*;
use crate::record::encode_body;
use smsc_proto::MessageState;

fn message() -> Message {
    Message {
        id: 1 << 60,
        sender: 2,
        queue: 3,
        accepted_at: 5,
        due_at: 6,
        expires_at: 7,
        source: Bytes::from_static(b"ACME"),
        destination: Bytes::from_static(b"447700900123"),
        registered_delivery: 1,
        short_message: Bytes::from_static(b"hello"),
        ..Message::default()
    }
}

fn blob() -> Vec<u8> {
    let mut blob = Vec::new();
    encode_body(&message(), &mut blob);
    blob
}

/// What is read of columns of a message and a blob.
fn open(columns: &Message, blob: Vec<u8>) -> Result<Message, DamagedRow> {
    open_body(columns.id, &blob.into(), |message| {
        message.clone_from(&Message {
            short_message: message.short_message.clone(),
            registered_delivery: message.registered_delivery,
            ..columns.clone()
        });
        Ok(())
    })
}

#[test]
fn a_blob_is_the_one_that_was_written_or_it_is_damaged() {
    assert_eq!(open(&message(), blob()), Ok(message()));
    for octet in 0..blob().len() {
        for bit in 0..8 {
            let mut blob = blob();
            blob[octet] ^= 1 << bit;
            assert!(
                open(&message(), blob).is_err(),
                "bit {bit} of octet {octet}"
            );
        }
        let cut = blob()[..octet].to_vec();
        assert!(open(&message(), cut).is_err(), "{octet} octets");
    }
}

#[test]
fn a_column_is_the_one_that_was_written_or_the_message_is_damaged() {
    for change in [
        |one: &mut Message| one.id ^= 1 << 20,
        |one: &mut Message| one.accepted_at += 1,
        |one: &mut Message| one.sender = 3,
        |one: &mut Message| one.queue = 2,
        |one: &mut Message| one.priority = 1,
        |one: &mut Message| one.due_at = 0,
        |one: &mut Message| one.expires_at = 6,
        |one: &mut Message| one.source = Bytes::from_static(b"ACMF"),
        |one: &mut Message| one.destination = Bytes::from_static(b"447w00900123"),
        |one: &mut Message| one.dest_ton = 1,
    ] {
        let mut columns = message();
        change(&mut columns);
        let damaged = open(&columns, blob()).unwrap_err();
        assert_eq!(damaged.id, message().id, "also when the id is wrong");
        assert!(!damaged.legible.contains("900"), "{}", damaged.legible);
    }
}

#[test]
fn what_a_build_before_has_written_is_read_as_it_is() {
    let old = Message {
        short_message: Bytes::from_static(b"\x95\x06\x01\x02\x03\x04"),
        ..Message::default()
    };
    let blob = old.encode_to_vec();
    assert_eq!(unseal(&blob), (Seal::None, &blob[..]));
    assert!(open(&message(), blob).is_ok());
}

#[test]
fn how_octets_are_gathered_does_not_matter() {
    for length in [0, 1, 100, 231, 232, 233, 240, 256, 257, 5000] {
        let (long, short) = (vec![7; length], b"A1");
        let lengths = [length as u64, 2].map(u64::to_le_bytes).concat();
        let all = [&9i64.to_le_bytes()[..], &lengths, &long, short].concat();
        assert_eq!(sum([9], [&long, short]), crc32c::crc32c(&all), "{length}");
    }
}

/// In rows that exist: another number would make all of them damaged.
#[test]
fn checksums_stay_what_they_are() {
    let fin = FinRow {
        state: MessageState::Delivered,
        tell: 4,
        ..FinRow::damaged(9)
    };
    let sent = SentRow {
        id: 9,
        attempt: 3,
        at: 1,
        operator: 2,
        status: 0,
        operator_message_id: Bytes::from_static(b"A1"),
        latency_ms: 3,
        correlation: 4,
        bind: 5,
        known_as: None,
    };
    let parked = ParkedRow {
        id: 9,
        operator: 1,
        operator_message_id: Bytes::from_static(b"A1"),
        at: 2,
        receipt: Bytes::from_static(b"r"),
    };
    let change = ChangeRow::replayed(9, 1, "alice", 7);
    let (body, of_change) = close_change(&change);
    let written = (unseal(&blob()).0, fin.sum(), sent.sum() ^ 3, parked.sum());
    let sums = (
        Seal::Sum(99_419_760),
        1_373_418_959,
        2_678_681_486,
        1_519_672_755,
    );
    assert_eq!(written, sums);
    assert_eq!((body.len(), of_change), (8, Some(3_298_126_118)));
}

#[test]
fn a_change_is_the_one_that_was_written_or_it_is_damaged() {
    for kind in [ChangeKind::Move, ChangeKind::Replace, ChangeKind::Cancel] {
        let change = ChangeRow {
            kind,
            queue: 4,
            body: Bytes::from_static(&[0x10, 0x07]),
            ..ChangeRow::replayed(9, 1, "alice", 0)
        };
        let (body, checksum) = close_change(&change);
        let stored = ChangeRow {
            body,
            ..change.clone()
        };
        assert_eq!(open_change(stored.clone(), checksum), Ok(change.clone()));
        for change in [
            |one: &mut ChangeRow| one.id = 8,
            |one: &mut ChangeRow| one.at = 2,
            |one: &mut ChangeRow| one.queue = 5,
            |one: &mut ChangeRow| one.kind = ChangeKind::Retry,
            |one: &mut ChangeRow| one.by = "alicf".to_owned(),
            |one: &mut ChangeRow| one.expires_at = 1,
        ] {
            let mut damaged = stored.clone();
            change(&mut damaged);
            let read = open_change(damaged.clone(), checksum);
            assert!(read.is_err(), "{damaged:?}");
        }
    }
}

#[test]
fn events_are_the_ones_that_were_written_or_they_are_damaged() {
    let ids = [1 << 60, (1 << 60) + 1, 9];
    let written = of_events(1, 2, 1_700_000_000_000, &ids, b"data");
    let at = 1_700_000_000_000;
    let other = [
        of_events(3, 2, at, &ids, b"data"),
        of_events(1, 1, at, &ids, b"data"),
        of_events(1, 2, at + 1, &ids, b"data"),
        of_events(1, 2, at ^ 1 << 40, &ids, b"data"),
        of_events(1, 2, at, &ids[1..], b"data"),
        of_events(1, 2, at, &ids, b""),
        // The same bit of two of them.
        of_events(1, 2, at, &[1 << 60 | 4, (1 << 60) + 5, 9], b"data"),
        of_events(1, 2, at, &[1 << 60, (1 << 60) + 3, 11], b"data"),
    ];
    assert!(!other.contains(&written), "{other:?}");
    let parts = ids.iter().fold(0, |all, id| all ^ of_event(*id));
    assert_eq!(
        of_reader(1, 2, b"data") ^ parts ^ 395 ^ 3_487_918_080,
        written
    );
}
