//! A store with messages in every possible state, for `smsc migrate-store` to move.

use bytes::Bytes;
use smsc::domain::access::KeyRole;
use smsc::domain::period::MINUTE_MS;
use smsc::domain::price::Purse;
use smsc::pb::{EarlyKind, Message, MessageState};
use smsc::store::balance::{BalanceStore as _, ChargeRow, TopUpOutcome, TopUpRow};
use smsc::store::heard::HeardRow;
use smsc::store::idempotency::{Claimed, IdempotencyStore as _, KeyClaim};
use smsc::store::incidents::{IncidentRow, IncidentStore as _};
use smsc::store::keys::{ApiKeyRow, ApiKeyStore as _};
use smsc::store::logins::{LoginRow, LoginStore as _};
use smsc::store::notes::{NoteRow, NoteStore as _};
use smsc::store::opt_out::{OptOutRow, OptOutStore as _};
use smsc::store::outbox::{CdrRow, EventReader, OutboxStore as _, ReaderOutcome, TakeEvents};
use smsc::store::sinks::{ENDED, SinkStore as _, Wants, bit};
use smsc::store::sqlite::SqliteStore;
use smsc::store::traffic::{TrafficRow, TrafficStore as _};
use smsc::store::usage::UsageRow;
use smsc::store::{
    ChangeKind, ChangeRow, FinRow, ParkedRow, RetryRow, SentRow, Store as _, TryRow, WriteBatch,
};

pub const MESSAGES: u64 = 4000;
/// Nearly all messages up to here are finished, so that the low-water mark passes them.
pub const OLD: u64 = 2500;
pub const PARKED: u64 = 57;
/// Numbers that have been on two lists.
pub const OPT_OUTS: u64 = 25;
/// Requests with an Idempotency-Key.
pub const REQUESTS: u64 = 300;

/// Places, among the messages that ended first, of those with a record in the table.
pub const RECORDED: [usize; 3] = [0, 1, 5];

/// Days with a sum of usage.
pub const DAYS_OF_USAGE: i32 = 400;

/// Interned names.
pub struct Names {
    pub account: u32,
    pub as_is: u32,
    pub auto: u32,
}

/// The fate of a message, see [`fate`].
pub fn stage(n: u64) -> u64 {
    if n <= OLD && !n.is_multiple_of(29) {
        6
    } else {
        n % 10
    }
}

pub fn count_stages(of: fn(u64) -> bool) -> usize {
    (1..=MESSAGES).filter(|n| of(stage(*n))).count()
}

pub fn id(n: u64) -> u64 {
    (1_700_000_000_000 + n * 1000) << 20 | 1 << 12
}

pub fn at(n: u64) -> i64 {
    (id(n) >> 20) as i64
}

pub fn message(n: u64, names: &Names) -> Message {
    Message {
        id: id(n),
        sender: names.account,
        queue: if n.is_multiple_of(3) {
            names.auto
        } else {
            names.as_is
        },
        kind: i32::from(n.is_multiple_of(7)),
        accepted_at: at(n) + 3,
        due_at: if stage(n) == 1 { at(n) + 86_400_000 } else { 0 },
        expires_at: at(n) + 172_800_000,
        source: match n % 4 {
            0 => Bytes::from_static(b"\xff\xfe\0"),
            1 => Bytes::from_static(b"\\x41"),
            _ => Bytes::from_static("Grüße".as_bytes()),
        },
        source_ton: if n.is_multiple_of(5) { 300 } else { 5 },
        destination: Bytes::from(format!("44770090{n:04}")),
        dest_npi: 1,
        priority: (n % 4) as u32,
        registered_delivery: 1,
        data_coding: 8,
        short_message: Bytes::from(n.to_be_bytes().repeat(1 + (n % 20) as usize)),
        tlvs: Bytes::from_static(&[2, 4, 0, 2, 9, 9]),
        ..Message::default()
    }
}

pub fn attempt(n: u64, number: u32, operator: u32, status: u32) -> SentRow {
    let answer = match (status, n % 50) {
        (0, 3) => Bytes::from_static(b"\xf0\0"),
        (0, _) => Bytes::from(format!("00AB{n}")),
        _ => Bytes::new(),
    };
    SentRow {
        id: id(n),
        attempt: number,
        at: at(n) + i64::from(number) * 10,
        operator,
        status,
        operator_message_id: answer,
        latency_ms: 7,
        correlation: 0,
        bind: (3 << 48) | 17,
        known_as: None,
    }
}

fn fin(n: u64, state: MessageState, operator: u32, tell: u32) -> FinRow {
    FinRow {
        id: id(n),
        at: at(n) + 500,
        state,
        error: Bytes::from_static(b"001"),
        operator,
        tell,
        done_at: 0,
        remote_item: Bytes::new(),
        remote_part: 0,
    }
}

fn change(n: u64, kind: ChangeKind, queue: u32) -> ChangeRow {
    ChangeRow {
        id: id(n),
        at: at(n) + 200,
        kind,
        queue,
        by: "token:ops".to_owned(),
        expires_at: 0,
        body: Bytes::new(),
    }
}

/// Adds the rows that follow the acceptance of a message.
pub fn fate(n: u64, names: &Names, rows: &mut WriteBatch) {
    let operator = message(n, names).queue;
    let due = |attempts| RetryRow {
        id: id(n),
        due_at: at(n) + 9000,
        attempts,
    };
    match stage(n) {
        // Waiting, due now or scheduled.
        0 | 1 => {}
        2 => {
            rows.sent.push(attempt(n, 1, operator, 0x58));
            rows.retry.push(due(1));
        }
        // Waits for its receipt, after an attempt that failed.
        3 => {
            rows.sent.push(attempt(n, 1, names.auto, 0x14));
            rows.sent.push(attempt(n, 2, operator, 0));
            for state in [MessageState::Enroute, MessageState::Accepted] {
                rows.heard.push(HeardRow {
                    id: id(n),
                    at: at(n) + 30,
                    operator,
                    state,
                    word: Bytes::from_static(b"SENT"),
                    error: Bytes::from_static(b"0\xff"),
                    done_at: at(n),
                    due: at(n) + 3_600_000,
                });
            }
        }
        // Its outcome is unknown.
        4 => rows.tries.push(TryRow {
            id: id(n),
            attempt: 1,
            at: at(n),
            operator,
        }),
        5 | 6 => {
            rows.sent.push(attempt(n, 1, operator, 0));
            let row = fin(n, MessageState::Delivered, operator, names.account);
            rows.fin.push(row);
            if stage(n) == 6 {
                rows.told.push(id(n));
            }
        }
        7 => {
            rows.change.push(change(n, ChangeKind::Cancel, 0));
            rows.fin.push(fin(n, MessageState::Deleted, 0, 0));
        }
        8 => {
            rows.change.push(change(n, ChangeKind::Move, names.auto));
            rows.change.push(change(n, ChangeKind::Retry, 0));
            rows.change.push(ChangeRow {
                expires_at: at(n) + 90_000,
                body: Bytes::from_static(b"\x12\x03new"),
                ..change(n, ChangeKind::Replace, 0)
            });
            rows.change.push(change(n, ChangeKind::Move, names.as_is));
        }
        _ => {
            rows.sent.push(attempt(n, 1, operator, SentRow::NO_ANSWER));
            rows.retry.push(due(2));
        }
    }
}

/// A key of the account.
fn add_key(store: &SqliteStore) {
    let key = ApiKeyRow {
        id: "k1".to_owned(),
        account: "esme".to_owned(),
        label: "web shop".to_owned(),
        hash: [7; 32],
        role: KeyRole::Send,
        allow: vec!["10.0.0.0/8".to_owned()],
        created_at: at(1),
        created_by: "token:ops".to_owned(),
        expires_at: 0,
        used_at: 0,
    };
    assert_eq!(store.add_api_key(key).wait(), Ok(true));
    let note = NoteRow {
        id: 77,
        about: "accounts/test".to_owned(),
        text: "call Ann".to_owned(),
        by: "somebody".to_owned(),
    };
    store.add_note(note).wait().unwrap();
    let incident = IncidentRow {
        id: 78,
        about: "operator:up".to_owned(),
        kind: "refused".to_owned(),
        acknowledged_by: "somebody".to_owned(),
        ..IncidentRow::default()
    };
    store.keep_incidents(vec![incident], 0).wait().unwrap();
    let minute = TrafficRow {
        step: MINUTE_MS,
        at: 60 * MINUTE_MS,
        node: 1,
        counts: vec![1, 0, 0xFF],
    };
    store.keep_traffic(minute).wait().unwrap();
    let login = LoginRow {
        account: "test".to_owned(),
        at: at(1),
        ..LoginRow::default()
    };
    store.keep_logins(vec![login], i64::MAX).wait().unwrap();
}

/// The claim of an Idempotency-Key whose request came a while later.
pub fn request(n: u64, later: i64) -> KeyClaim {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&n.to_le_bytes());
    let at = at(n) + later;
    KeyClaim {
        account: 1,
        key,
        request: [3; 32],
        at,
        since: at - 48 * 3_600_000,
    }
}

/// Answers to requests; some were written twice.
fn answer_requests(store: &SqliteStore) {
    for n in 1..=REQUESTS {
        let claim = request(n, 0);
        assert_eq!(store.claim_key(claim.clone()).wait(), Ok(Claimed::New));
        let answers: &[&'static [u8]] = match n % 9 {
            0 => &[b"first", b"last"],
            _ => &[b"last"],
        };
        for answer in answers {
            let batch = WriteBatch {
                idempotency: vec![claim.answered(Bytes::from_static(answer))],
                ..WriteBatch::default()
            };
            store.write(batch).wait().expect("written");
        }
    }
}

/// Records in the table of the messages that ended first; events of the others.
fn make_records(store: &SqliteStore) {
    let taken = store.take_events(take_events(1)).wait().unwrap();
    let taken = taken.expect("events");
    let record = |id| CdrRow {
        id,
        account: "shop".to_owned(),
        is_mo: id % 2 == 0,
        sender: "account:shop".to_owned(),
        queue: "operator:exact".to_owned(),
        from: "ACME".to_owned(),
        to: "447700900123".to_owned(),
        accepted_at: 1,
        final_at: 2,
        done_at: 3,
        state: MessageState::Expired,
        operator: "operator:exact".to_owned(),
        attempts: 4,
        data_coding: 8,
        octets: 5,
        parts: 6,
        error: "000".to_owned(),
        network: "23415".to_owned(),
        replay_of: 7,
        price: 8,
        currency: "EUR".to_owned(),
        client_reference: "order".to_owned(),
    };
    let records = RECORDED.map(|n| record(taken.ids[n])).to_vec();
    let finished = store.finish_events(taken.claim, ReaderOutcome::Records(records));
    assert_eq!(finished.wait(), Ok(true));
    let take = TakeEvents {
        reader: EventReader::Usage,
        ..take_events(1)
    };
    let taken = store.take_events(take).wait().unwrap().expect("events");
    let day = |day| UsageRow {
        day,
        account: 1,
        country: "GB".to_owned(),
        state: 2,
        is_mo: day % 2 == 0,
        currency: "EUR".to_owned(),
        messages: 7,
        price: 8,
        ..UsageRow::default()
    };
    let rows = (1..=DAYS_OF_USAGE).map(day).collect();
    let finished = store.finish_events(taken.claim, ReaderOutcome::Usage(rows));
    assert_eq!(finished.wait(), Ok(true));
}

/// The reader of an event sink.
pub const SINK: i16 = 104;

/// A request for events, which are of one commit at least.
pub fn take_events(limit: usize) -> TakeEvents {
    TakeEvents {
        reader: EventReader::Cdr,
        holder: "test".to_owned(),
        now: 1,
        abandoned: 0,
        limit,
        only_own: false,
    }
}

/// A balance of 70 with its top-ups, and a quota of which 30 are used.
fn charge(store: &SqliteStore, account: u32) {
    for (n, amount) in [(1, 120), (2, -20)] {
        let row = TopUpRow {
            id: id(MESSAGES) + n,
            account,
            amount,
            reference: (n == 1).then(|| "invoice 1".to_owned()),
            by: "token:ops".to_owned(),
        };
        assert_eq!(store.top_up(row, 0).wait(), Ok(TopUpOutcome::Done));
    }
    let row = |purse| ChargeRow {
        id: id(1),
        purse,
        amount: 30,
        epoch: 0,
    };
    let charge = vec![
        row(Purse::balance(account)),
        row(Purse::quota(account, at(1))),
    ];
    let charge = WriteBatch {
        charge,
        ..WriteBatch::default()
    };
    store.write(charge).wait().unwrap();
}

pub fn fill(store: &SqliteStore) -> Names {
    let names = Names {
        account: store.intern("account:shop").unwrap(),
        as_is: store.intern("operator:exact").unwrap(),
        auto: store.intern("operator:loose").unwrap(),
    };
    charge(store, names.account);
    add_key(store);
    answer_requests(store);
    store.write_events_for(&[EventReader::Cdr, EventReader::Usage]);
    store.write_for_sinks(vec![Wants {
        reader: SINK,
        kinds: ENDED | bit(EarlyKind::Accepted) | bit(EarlyKind::Sent),
    }]);
    for first in (1..=MESSAGES).step_by(500) {
        let mut accept = WriteBatch::default();
        let mut later = WriteBatch::default();
        for n in first..first + 500 {
            accept.accept.push(message(n, &names));
            fate(n, &names, &mut later);
        }
        store.write(accept).wait().unwrap();
        store.write(later).wait().unwrap();
        if first + 499 == OLD {
            store.advance_low_water().wait().unwrap();
        }
    }
    make_records(store);
    let park = (1..=PARKED).map(|n| ParkedRow {
        id: id(MESSAGES + n),
        operator: names.as_is,
        operator_message_id: Bytes::from(format!("lost{n}")),
        at: at(n),
        receipt: Bytes::from_static(&[8, 1, 0, 255]),
    });
    let park = WriteBatch {
        park: park.collect(),
        // The highest id of all belongs to a receipt that is settled.
        unpark: vec![id(MESSAGES + PARKED)],
        // Its message is gone, but the row counts.
        told: vec![id(10) + 1],
        ..WriteBatch::default()
    };
    store.write(park).wait().unwrap();
    for n in 1..=OPT_OUTS {
        for (account, out) in [("shop", true), ("", true), ("shop", n % 2 == 0)] {
            let row = OptOutRow {
                account: account.to_owned(),
                number: format!("4477{n:08}"),
                out,
                at: at(1),
                who: "keyword".to_owned(),
                version: 0,
            };
            store.set_opt_out(row).wait().unwrap();
        }
    }
    let mut bad = message(1, &names);
    bad.id = 0;
    let bad = WriteBatch {
        accept: vec![bad],
        ..WriteBatch::default()
    };
    let written = store.write(bad).wait().unwrap();
    assert_eq!(written.rejected.len(), 1, "a dead letter");
    names
}
