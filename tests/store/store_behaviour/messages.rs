//! Cases about messages: rows, and the states that follow from them.

use bytes::Bytes;
use prost::Message as _;
use smsc::pb::{Message, MessageState, PayloadKind, Replacement};
use smsc::store::{
    ChangeKind, ChangeRow, FinRow, MessageStage, RetryRow, SentRow, TryRow, WriteBatch, Written,
};

use super::{Harness, fin_row, id, message, sent_row, text};

pub fn roundtrip(h: &mut Harness) {
    let mut full = message(id(1));
    full.kind = 1;
    full.service_type = b"CMT".to_vec();
    (full.source_ton, full.source_npi) = (5, 255);
    full.esm_class = 0x40;
    full.tlvs = Bytes::from_static(&[2, 4, 0, 2, 0, 7]);
    full.validity_period = b"000001000000000R".to_vec();
    full.trace_context = b"00-abc-def-01".to_vec();
    let mut odd = message(id(2));
    odd.dest_ton = 100_000;
    odd.source = Bytes::from_static(&[0xFF, 0xFE]);
    odd.destination = Bytes::from_static(b"1\x002");
    let empty = Message {
        id: id(3),
        ..Message::default()
    };
    let mut submit = message(id(4));
    submit.imsi = "001010000000001".to_owned();
    submit.payload_kind = PayloadKind::SmsSubmit.into();
    submit.tpdu = vec![1, 0, 2, 0x81, 0x21, 0, 0, 0];
    let mut deliver = message(id(5));
    deliver.kind = 1;
    deliver.payload_kind = PayloadKind::SmsDeliver.into();
    let accept = vec![full, odd, empty, submit, deliver];
    h.write(WriteBatch {
        accept: accept.clone(),
        ..WriteBatch::default()
    });
    h.reopen();
    let ids = accept.iter().map(|message| message.id).collect();
    let found = h.store().load(ids).wait().unwrap();
    let found: Vec<Message> = found
        .into_iter()
        .map(|stored| stored.unwrap().message)
        .collect();
    assert_eq!(found, accept);
}

pub fn load_order(h: &mut Harness) {
    h.accept((0..3000).map(|n| id(n * 3)));
    let asked = [id(9), id(2), id(0), id(8997), id(9), id(3), 1];
    let found = h.store().load(asked.to_vec()).wait().unwrap();
    let found: Vec<Option<u64>> = found
        .into_iter()
        .map(|stored| stored.map(|stored| stored.message.id))
        .collect();
    let expected = [
        Some(id(9)),
        None,
        Some(id(0)),
        Some(id(8997)),
        Some(id(9)),
        Some(id(3)),
        None,
    ];
    assert_eq!(found, expected);
    assert_eq!(h.store().load(vec![]).wait(), Ok(vec![]));
    // What a client asks for need not be an id that a store has.
    for made_up in [0, 1 << 62, 1 << 63, (1 << 63) + id(9), u64::MAX] {
        let ids = vec![id(9), made_up];
        let found = h.store().load(ids).wait().unwrap();
        assert!(found[0].is_some() && found[1].is_none(), "{made_up}");
        assert_eq!(h.store().history(made_up).wait(), Ok(None), "{made_up}");
    }
}

pub fn attempts(h: &mut Harness) {
    h.accept([id(1)]);
    let first = sent_row(id(1), 1, SentRow::NO_ANSWER, "");
    let second = sent_row(id(1), 2, 0x58, "");
    h.sent(vec![first.clone(), second.clone()]);
    h.sent(vec![first.clone()]);
    let late = SentRow {
        at: 5000,
        ..sent_row(id(1), 1, 0, "late")
    };
    h.sent(vec![late.clone()]);
    h.reopen();
    let history = h.store().history(id(1)).wait().unwrap().unwrap();
    // The late answer is stored under the next free number; the repeated row changed nothing.
    assert_eq!(
        history.attempts,
        [first, second, SentRow { attempt: 3, ..late }]
    );
    assert_eq!(history.stored.attempts, 3);
    // Beside an attempt with a number of its own, which another one may get.
    let later = SentRow {
        at: 6000,
        ..sent_row(id(1), 2, 0, "later")
    };
    h.accept([id(2)]);
    h.sent(vec![
        later,
        sent_row(id(1), 4, 0x58, ""),
        sent_row(id(2), 1, 0, "other"),
    ]);
    let history = h.store().history(id(1)).wait().unwrap().unwrap();
    let mut new: Vec<i64> = history.attempts[3..].iter().map(|row| row.at).collect();
    new.sort_unstable();
    assert_eq!(new, [1004, 6000]);
    let numbers: Vec<u32> = history.attempts.iter().map(|row| row.attempt).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    let other = h.store().history(id(2)).wait().unwrap().unwrap();
    assert_eq!(other.attempts.len(), 1);
}

pub fn every_operator_id(h: &mut Harness) {
    h.accept([id(1)]);
    h.sent(vec![
        sent_row(id(1), 1, 0, "first"),
        sent_row(id(1), 2, 8, ""),
    ]);
    h.sent(vec![sent_row(id(1), 3, 0, "third")]);
    h.reopen();
    let ids = vec![(3, text("first")), (3, text("third"))];
    assert_eq!(h.active()[0].stage, MessageStage::Sent { at: 1003, ids });
    assert_eq!(h.active()[0].attempts, 3);
}

/// So many rows that an adapter may write several with one statement, and some are left.
pub fn many_rows(h: &mut Harness) {
    let ids: Vec<u64> = (1..=29).map(id).collect();
    h.accept(ids.iter().copied());
    let sent = |theirs: &str| -> Vec<SentRow> {
        let rows = ids.iter().map(|id| sent_row(*id, 1, 0, theirs));
        rows.collect()
    };
    h.sent(sent("a"));
    // All of them again, two of them with another answer, and one that is not the first attempt.
    let mut again = sent("a");
    again[4] = sent_row(ids[4], 1, 0, "b");
    again[13] = sent_row(ids[13], 1, 0, "b");
    again[20] = sent_row(ids[20], 2, 8, "");
    h.sent(again);
    h.fin([ids[2], ids[11]], 4);
    let rows = |tell| ids.iter().map(|id| fin_row(*id, tell)).collect();
    // The same ones, and others.
    for (tell, lost) in [(4, vec![ids[2], ids[11]]), (5, ids.clone())] {
        let written = h.write(WriteBatch {
            fin: rows(tell),
            ..WriteBatch::default()
        });
        assert_eq!(written.fin_lost, lost);
    }
    h.write(WriteBatch {
        told: ids[..10].iter().chain(&ids[5..20]).copied().collect(),
        ..WriteBatch::default()
    });
    h.reopen();
    let found = h.store().load(ids.clone()).wait().unwrap();
    for (number, stored) in found.iter().enumerate() {
        let stored = stored.as_ref().unwrap();
        assert_eq!(stored.fin, Some(fin_row(ids[number], 4)));
        let attempts = if [4, 13, 20].contains(&number) { 2 } else { 1 };
        assert_eq!(stored.attempts, attempts, "{number}");
    }
    assert_eq!(h.active_ids(), ids[20..]);
}

pub fn fin_once(h: &mut Harness) {
    h.accept([id(1), id(2)]);
    h.fin([id(1)], 4);
    let other = FinRow {
        state: MessageState::Expired,
        ..fin_row(id(1), 9)
    };
    let fin = vec![other, fin_row(id(2), 4), fin_row(id(2), 5)];
    let written = h.write(WriteBatch {
        fin,
        ..WriteBatch::default()
    });
    assert_eq!(written.fin_lost, [id(1), id(2)]);
    h.reopen();
    let found = h.store().load(vec![id(1), id(2)]).wait().unwrap();
    assert_eq!(found[0].as_ref().unwrap().fin, Some(fin_row(id(1), 4)));
    assert_eq!(found[1].as_ref().unwrap().fin, Some(fin_row(id(2), 4)));
}

pub fn bad_row(h: &mut Harness) {
    h.accept([id(1)]);
    let mut bad = message(id(1));
    bad.short_message = text("again");
    let accept = vec![bad, message(id(2))];
    // Written in the order of the calls, probably in one commit.
    let mates: Vec<_> = [3, 4]
        .map(|n| WriteBatch {
            accept: vec![message(id(n))],
            ..WriteBatch::default()
        })
        .into_iter()
        .map(|batch| h.store().write(batch))
        .collect();
    let ticket = h.store().write(WriteBatch {
        accept,
        ..WriteBatch::default()
    });
    for mate in mates {
        assert_eq!(mate.wait(), Ok(Written::default()));
    }
    let written = ticket.wait().unwrap();
    assert_eq!(written.rejected.len(), 1);
    assert_eq!(
        (written.rejected[0].table, written.rejected[0].id),
        ("msg", id(1))
    );
    assert_eq!(h.store().stats().quarantined, 1);
    h.reopen();
    assert_eq!(h.store().stats().quarantined, 1);
    assert_eq!(h.active_ids(), [id(1), id(2), id(3), id(4)]);
    let kept = h
        .store()
        .load(vec![id(1)])
        .wait()
        .unwrap()
        .pop()
        .unwrap()
        .unwrap();
    assert_eq!(kept.message, message(id(1)), "the first one stays");
}

pub fn untold(h: &mut Harness) {
    h.accept([id(1), id(2), id(3)]);
    h.fin([id(1), id(2)], 4);
    h.fin([id(3)], 0);
    let told = vec![id(2)];
    h.write(WriteBatch {
        told: told.clone(),
        ..WriteBatch::default()
    });
    h.write(WriteBatch {
        told,
        ..WriteBatch::default()
    });
    h.reopen();
    let active = h.active();
    assert_eq!(active.len(), 1);
    assert_eq!(
        (active[0].id, &active[0].stage),
        (
            id(1),
            &MessageStage::Untold {
                tell: 4,
                at: fin_row(id(1), 4).at
            }
        )
    );
}

pub fn changes(h: &mut Harness) {
    let row = |kind, queue, by: &str| ChangeRow {
        id: id(1),
        at: 50,
        kind,
        queue,
        by: by.to_owned(),
        expires_at: 0,
        body: Bytes::new(),
    };
    h.accept([id(1)]);
    let rows = vec![
        row(ChangeKind::Move, 8, "queue"),
        row(ChangeKind::Retry, 0, "ops"),
        row(ChangeKind::Move, 9, "ops"),
    ];
    for change in rows.clone() {
        h.write(WriteBatch {
            change: vec![change],
            ..WriteBatch::default()
        });
    }
    h.reopen();
    assert_eq!(h.active()[0].queue, 9);
    let history = h.store().history(id(1)).wait().unwrap().unwrap();
    assert_eq!(history.changes, rows);
    assert_eq!((history.stored.queue, history.stored.message.queue), (9, 7));
}

/// Every way of reading returns the last replacement, even after a restart.
pub fn replacements(h: &mut Harness) {
    h.accept([id(1), id(2)]);
    let before = h
        .store()
        .load(vec![id(1)])
        .wait()
        .unwrap()
        .remove(0)
        .unwrap();
    let body = |text: &'static str| Replacement {
        order: 7,
        short_message: Bytes::from_static(text.as_bytes()),
        data_coding: 3,
        due_at: 600,
        expires_at: 9_000_000,
        ..Replacement::default()
    };
    for (text, expires_at) in [("first", 8_000_000), ("last", 9_000_000)] {
        h.write(WriteBatch {
            change: vec![ChangeRow {
                id: id(1),
                at: 50,
                kind: ChangeKind::Replace,
                queue: 7,
                by: "account:test".to_owned(),
                expires_at,
                body: body(text).encode_to_vec().into(),
            }],
            retry: vec![RetryRow {
                id: id(1),
                due_at: 600,
                attempts: 0,
            }],
            ..WriteBatch::default()
        });
    }
    h.reopen();
    let active = h.active();
    assert_eq!((active[0].due_at, active[0].expires_at), (600, 9_000_000));
    assert_ne!(active[1].expires_at, 9_000_000);
    let history = h.store().history(id(1)).wait().unwrap().unwrap();
    let read = &history.stored.message;
    assert_eq!(read.short_message, "last");
    assert_eq!((read.expires_at, read.data_coding), (9_000_000, 3));
    assert_eq!(read.destination, before.message.destination);
    assert_eq!(history.changes.len(), 2);
    let last = Replacement::decode(history.changes[1].body.clone()).unwrap();
    assert_eq!(last, body("last"));

    // Erased texts are erased in replacements, too.
    h.fin([id(1), id(2)], 0);
    h.store()
        .erase_text((id(2) >> 20) as i64 + 1_000, 100)
        .wait()
        .unwrap();
    let history = h.store().history(id(1)).wait().unwrap().unwrap();
    assert!(history.stored.message.text_erased);
    assert!(history.stored.message.short_message.is_empty());
    assert!(history.changes.iter().all(|change| change.body.is_empty()));
    assert_eq!(history.stored.message.expires_at, 9_000_000);
}

pub fn tries(h: &mut Harness) {
    h.accept([id(1), id(2), id(3)]);
    let row = |n, attempt| TryRow {
        id: id(n),
        attempt,
        at: 9,
        operator: 3,
    };
    let tries = vec![row(1, 1), row(2, 1), row(3, 1)];
    h.write(WriteBatch {
        tries,
        ..WriteBatch::default()
    });
    h.sent(vec![sent_row(id(2), 1, 8, ""), sent_row(id(3), 1, 8, "")]);
    h.write(WriteBatch {
        tries: vec![row(3, 2)],
        ..WriteBatch::default()
    });
    h.reopen();
    let stages: Vec<MessageStage> = h.active().into_iter().map(|active| active.stage).collect();
    assert_eq!(
        stages,
        [
            MessageStage::OutcomeUnknown,
            MessageStage::Waiting,
            MessageStage::OutcomeUnknown
        ]
    );
}

pub fn tries_not_made(h: &mut Harness) {
    fn stages(h: &Harness) -> Vec<MessageStage> {
        h.active().into_iter().map(|active| active.stage).collect()
    }
    h.accept((1..=4).map(id));
    let noted = |n, at| TryRow {
        id: id(n),
        attempt: 1,
        at,
        operator: 3,
    };
    // Requested together, so that one commit may have them all: the last one of a message wins.
    let rows = [
        (1, 9),
        (2, 9),
        (3, 9),
        (3, TryRow::NOT_MADE),
        (2, TryRow::NOT_MADE),
        (2, 10),
        (4, TryRow::NOT_MADE),
    ];
    let tickets = rows.map(|(n, at)| {
        h.store().write(WriteBatch {
            tries: vec![noted(n, at)],
            ..WriteBatch::default()
        })
    });
    for ticket in tickets {
        ticket.wait().unwrap();
    }
    h.reopen();
    let unknown = MessageStage::OutcomeUnknown;
    let waiting = MessageStage::Waiting;
    assert_eq!(
        stages(h),
        [
            unknown.clone(),
            unknown.clone(),
            waiting.clone(),
            waiting.clone()
        ]
    );
    let tries = vec![noted(1, TryRow::NOT_MADE), noted(4, 11)];
    h.write(WriteBatch {
        tries,
        ..WriteBatch::default()
    });
    h.reopen();
    assert_eq!(
        stages(h),
        [waiting.clone(), unknown.clone(), waiting, unknown]
    );
}

pub fn ended_sessions(h: &mut Harness) {
    h.accept((1..=4).map(id));
    let ended = |n, queue| ChangeRow::ended_session(id(n), 9, queue);
    let moved = |n, queue| ChangeRow {
        kind: ChangeKind::Move,
        by: "ops".to_owned(),
        ..ended(n, queue)
    };
    let ordered = ChangeRow {
        by: "ops".to_owned(),
        ..ended(1, 2)
    };
    let queue = h.active()[0].queue;
    h.write(WriteBatch {
        change: vec![
            ended(1, queue),
            ordered,
            ended(1, queue),
            // In the queue that it has left, it counts no more; in that of a receipt, only the receipt does.
            ended(2, queue),
            moved(2, queue + 1),
            ended(2, queue + 1),
            ended(3, queue),
            ended(3, 77),
        ],
        ..WriteBatch::default()
    });
    h.fin([id(3)], 77);
    h.reopen();
    let counts: Vec<(u64, u32)> = h.active().iter().map(|one| (one.id, one.ended)).collect();
    assert_eq!(counts, [(id(1), 2), (id(2), 1), (id(3), 1), (id(4), 0)]);
    let history = h.store().history(id(1)).wait().unwrap().unwrap();
    let kinds: Vec<&str> = history.changes.iter().map(ChangeRow::name).collect();
    assert_eq!(kinds, ["ended_session", "retry", "ended_session"]);
}

pub fn retries(h: &mut Harness) {
    h.accept((1..=4).map(id));
    let retry = |n, due_at, attempts| RetryRow {
        id: id(n),
        due_at,
        attempts,
    };
    let rows = vec![
        retry(1, 100, 1),
        retry(2, 100, 1),
        retry(3, 100, 1),
        retry(1, 200, 2),
    ];
    h.write(WriteBatch {
        retry: rows,
        ..WriteBatch::default()
    });
    h.reopen();
    h.sent(vec![sent_row(id(2), 2, 0, "ok"), sent_row(id(1), 3, 8, "")]);
    h.fin([id(3)], 4);
    h.write(WriteBatch {
        retry: vec![retry(3, 500, 9)],
        ..WriteBatch::default()
    });
    h.reopen();
    let active = h.active();
    let seen: Vec<_> = active
        .iter()
        .map(|active| (active.due_at, active.attempts))
        .collect();
    assert_eq!(seen, [(200, 3), (5, 2), (5, 0), (5, 0)]);
    let history = h.store().history(id(3)).wait().unwrap().unwrap();
    assert_eq!(history.retry, None, "a final message waits for nothing");
}

pub fn barrier(h: &mut Harness) {
    h.store().barrier().wait().unwrap();
    h.accept((1..=200).map(id));
    for round in 0..20 {
        let ends = (1..=10).map(|n| id(round * 10 + n));
        let tickets: Vec<_> = ends
            .map(|id| {
                h.store().write(WriteBatch {
                    told: vec![id],
                    ..WriteBatch::default()
                })
            })
            .collect();
        h.store().barrier().wait().unwrap();
        for mut ticket in tickets {
            let now = futures_util::FutureExt::now_or_never(&mut ticket);
            assert_eq!(now, Some(Ok(Written::default())), "round {round}");
        }
    }
}

pub fn recover_by_queue(h: &mut Harness) {
    h.accept((1..=50).rev().map(id).rev());
    h.fin([id(10)], 8);
    let change = ChangeRow {
        id: id(20),
        at: 1,
        kind: ChangeKind::Move,
        queue: 8,
        by: String::new(),
        expires_at: 0,
        body: Bytes::new(),
    };
    h.write(WriteBatch {
        change: vec![change],
        ..WriteBatch::default()
    });
    assert!(h.active_ids().is_sorted());
    let mut eight = Vec::new();
    h.store()
        .recover(Some(8), &mut |active| eight.push(active.id))
        .unwrap();
    assert_eq!(
        eight,
        [id(10), id(20)],
        "what it tells and what was moved to it"
    );
    let mut seven = 0;
    h.store().recover(Some(7), &mut |_| seven += 1).unwrap();
    assert_eq!(seven, 48);
}

pub fn history(h: &mut Harness) {
    assert_eq!(h.store().history(id(1)).wait(), Ok(None));
    h.accept([id(1)]);
    h.sent(vec![sent_row(id(1), 1, 8, ""), sent_row(id(1), 2, 0, "ok")]);
    h.fin([id(1)], 4);
    h.write(WriteBatch {
        told: vec![id(1)],
        ..WriteBatch::default()
    });
    let history = h.store().history(id(1)).wait().unwrap().unwrap();
    assert_eq!(history.attempts.len(), 2);
    assert_eq!(history.stored.fin, Some(fin_row(id(1), 4)));
    assert_eq!(history.stored.message, message(id(1)));
    assert!(history.told && history.retry.is_none() && history.changes.is_empty());
}
