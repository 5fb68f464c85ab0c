//! The messages of a frozen store: in every possible state; waiting ones wait until 2100.

use bytes::Bytes;
use prost::Message as _;
use smsc::pb::{
    Address, Composition, Message, MessageState, OperatorReceipt, Original, Replacement, Replay,
};
use smsc::store::forms::FormStore as _;
use smsc::store::sqlite::SqliteStore;
use smsc::store::{ChangeKind, ChangeRow, FinRow, ParkedRow, Store as _, WriteBatch};

use crate::migrate_store::filling::{Names, at, attempt, fate, id, message, stage};

/// 2100-01-01.
const FAR: i64 = 4_102_444_800_000;
/// 2099-01-01.
const FAR_DUE: i64 = 4_070_908_800_000;
/// Finished long ago, except one, so that the low-water mark passes them.
const OLD: std::ops::RangeInclusive<u64> = 1..=30;
/// In every state.
const NEW: std::ops::RangeInclusive<u64> = 2504..=2552;
/// Finished, each with rare properties.
const SPECIAL: u64 = 2600;
const PARKED: u64 = 2700;

/// Fills a store in which accounts and operators are interned already.
pub fn fill(store: &SqliteStore) -> Names {
    let names = Names {
        account: store.intern("account:shop").unwrap(),
        as_is: store.intern("operator:exact").unwrap(),
        auto: store.intern("operator:loose").unwrap(),
    };
    write(store, &mut OLD.map(|n| any(n, &names)), &names);
    store.advance_low_water().wait().unwrap();
    write(store, &mut NEW.map(|n| any(n, &names)), &names);
    special(store, &names);
    parked(store, &names);
    store.keep_message_id_form(names.auto, 1).wait().unwrap();
    let without_id = WriteBatch {
        accept: vec![Message {
            id: 0,
            ..any(1, &names)
        }],
        ..WriteBatch::default()
    };
    let written = store.write(without_id).wait().unwrap();
    assert_eq!(written.rejected.len(), 1, "a quarantined row");
    names
}

/// Writes messages with their whole history.
fn write(store: &SqliteStore, messages: &mut dyn Iterator<Item = Message>, names: &Names) {
    let mut accept = WriteBatch::default();
    let mut later = WriteBatch::default();
    for message in messages {
        let n = (message.id >> 20).wrapping_sub(1_700_000_000_000) / 1000;
        assert_eq!(message.id, id(n));
        fate(n, names, &mut later);
        accept.accept.push(message);
    }
    for change in &mut later.change {
        if change.kind == ChangeKind::Replace {
            let new = Replacement {
                order: 7,
                short_message: Bytes::from_static(b"replaced"),
                registered_delivery: 1,
                expires_at: FAR,
                ..Replacement::default()
            };
            (change.expires_at, change.body) = (FAR, new.encode_to_vec().into());
        }
    }
    store.write(accept).wait().unwrap();
    let written = store.write(later).wait().unwrap();
    assert!(written.rejected.is_empty(), "{written:?}");
}

/// Finished messages have unusual octets; unfinished ones can be sent.
fn any(n: u64, names: &Names) -> Message {
    let message = message(n, names);
    if [6, 7].contains(&stage(n)) {
        return message;
    }
    Message {
        kind: 0,
        due_at: if stage(n) == 1 { FAR_DUE } else { 0 },
        expires_at: FAR,
        ..plain(message, &format!("text {n}"))
    }
}

fn plain(message: Message, text: &str) -> Message {
    Message {
        source: Bytes::from_static(b"12345"),
        source_ton: 1,
        dest_ton: 1,
        data_coding: 0,
        short_message: Bytes::copy_from_slice(text.as_bytes()),
        tlvs: Bytes::new(),
        ..message
    }
}

/// A divided text with its parts, a replay, a receipt given up, an erased text with rare properties,
/// and several together.
#[expect(clippy::too_many_lines, reason = "a table: one row of each kind")]
fn special(store: &SqliteStore, names: &Names) {
    let n = |more: u64| SPECIAL + more;
    let with = |more: u64, change: &dyn Fn(&mut Message)| {
        let mut message = plain(message(n(more), names), "special");
        (message.kind, message.due_at) = (0, 0);
        change(&mut message);
        message
    };
    let part = |more: u64, number: u8| {
        with(more, &|message| {
            message.esm_class = 0x40;
            message.short_message = Bytes::from(vec![5, 0, 3, 9, 2, number, b'h', b'i']);
            message.composition = Some(Box::new(Composition {
                parent: id(n(0)),
                ..Composition::default()
            }));
        })
    };
    let in_group = |more: u64| {
        with(more, &|message| {
            (message.group_first, message.group_size) = (id(n(7)), 2);
        })
    };
    let accept = vec![
        with(0, &|message| {
            message.composition = Some(Box::new(Composition {
                sent_as: vec![id(n(1)), id(n(2))],
                ..Composition::default()
            }));
        }),
        part(1, 1),
        part(2, 2),
        with(3, &|_| {}),
        with(4, &|message| {
            message.replay_of = Some(Box::new(Replay {
                id: id(n(3)),
                receipt: true,
            }));
        }),
        with(5, &|_| {}),
        with(6, &|message| {
            message.short_message = Bytes::new();
            message.text_erased = true;
            message.network = "23415".to_owned();
            message.hex_id = true;
            message.id_length = 20;
            message.trace_context = vec![7; 25];
            message.original = Some(Box::new(Original {
                source: None,
                destination: Some(Address {
                    ton: 2,
                    npi: 1,
                    digits: Bytes::from_static(b"07700900123"),
                }),
            }));
        }),
        in_group(7),
        in_group(8),
    ];
    let batch = WriteBatch {
        accept,
        ..WriteBatch::default()
    };
    store.write(batch).wait().unwrap();

    let fin = |more: u64, state, tell| FinRow {
        id: id(n(more)),
        at: at(n(more)) + 900,
        state,
        error: Bytes::from_static(b"0A1F"),
        operator: names.as_is,
        tell,
        done_at: at(n(more)) + 800,
        remote_item: Bytes::new(),
        remote_part: 0,
    };
    let mut rows = WriteBatch {
        sent: [1, 2, 4, 5, 6]
            .map(|more| attempt(n(more), 1, names.as_is, 0))
            .into(),
        fin: vec![
            fin(0, MessageState::Delivered, names.account),
            fin(1, MessageState::Delivered, 0),
            fin(2, MessageState::Delivered, 0),
            fin(3, MessageState::Undeliverable, names.account),
            fin(4, MessageState::Accepted, names.account),
            fin(5, MessageState::Unknown, names.account),
            fin(6, MessageState::Delivered, 0),
            fin(7, MessageState::Expired, 0),
            fin(8, MessageState::Rejected, 0),
        ],
        told: [0, 3, 4].map(|more| id(n(more))).into(),
        change: vec![ChangeRow {
            id: id(n(3)),
            at: at(n(3)) + 1000,
            kind: ChangeKind::Replay,
            queue: 0,
            by: "token:ops".to_owned(),
            expires_at: 0,
            body: Bytes::copy_from_slice(&id(n(4)).to_be_bytes()),
        }],
        ..WriteBatch::default()
    };
    rows.give_up(id(n(5)), at(n(5)) + 2000, "validity.receipts");
    let written = store.write(rows).wait().unwrap();
    assert!(written.rejected.is_empty(), "{written:?}");
}

/// Receipts that matched nothing, and a settled one: the highest id of all.
fn parked(store: &SqliteStore, names: &Names) {
    let park = (1..=4).map(|n| {
        let theirs = Bytes::from(format!("lost{n}"));
        let receipt = OperatorReceipt {
            operator_message_id: theirs.clone(),
            state: MessageState::Delivered.into(),
            error: Bytes::from_static(b"000"),
            done_at: at(n),
            raw: Bytes::from(format!("id:lost{n} stat:DELIVRD err:000")),
            source: Bytes::from_static(b"447700900123"),
            destination: Bytes::from_static(b"12345"),
            ..OperatorReceipt::default()
        };
        ParkedRow {
            id: id(PARKED + n),
            operator: names.as_is,
            operator_message_id: theirs,
            at: at(PARKED + n),
            receipt: receipt.encode_to_vec().into(),
        }
    });
    let batch = WriteBatch {
        park: park.collect(),
        unpark: vec![id(PARKED + 4)],
        ..WriteBatch::default()
    };
    store.write(batch).wait().unwrap();
}
