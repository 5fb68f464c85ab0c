//! Cases about finished messages: found by every filter, exported, and erased.

use std::ops::ControlFlow;

use bytes::Bytes;
use smsc::pb::{Message, MessageState, Moved};
use smsc::store::archive::{ERASED, Erased, Exported, first_id};
use smsc::store::{ChangeRow, FinRow, Search, SentRow, WriteBatch};

use super::{Harness, fin_row, id, message, sent_row, text};

/// Waits until the search index is complete; a store without one is never behind.
fn indexed(h: &Harness) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while h.store().stats().index_lag > 0 {
        assert!(std::time::Instant::now() < end, "not indexed");
        std::thread::yield_now();
    }
}

fn accept_all(h: &Harness, accept: Vec<Message>) {
    h.write(WriteBatch {
        accept,
        ..WriteBatch::default()
    });
}

fn found(h: &Harness, search: Search) -> Vec<u64> {
    let page = h.store().search(search).wait().unwrap();
    page.messages
        .iter()
        .map(|stored| stored.message.id)
        .collect()
}

fn exported(h: &Harness, from: u64, below: u64) -> Vec<Exported> {
    let mut all = Vec::new();
    h.store()
        .export(from..below, &mut |row| {
            all.push(row);
            ControlFlow::Continue(())
        })
        .unwrap();
    all
}

fn one(h: &Harness, id: u64) -> Message {
    let found = h.store().load(vec![id]).wait().unwrap();
    found[0].clone().expect("it is kept").message
}

/// Sources A, +B, C in turns; senders 1 and 2 in turns; one destination in two forms.
fn mixed(n: u64) -> Message {
    let source = ["A", "+B", "C"][(n % 3) as usize];
    let destination = ["+4179", "4179"][usize::from(n.is_multiple_of(5))];
    Message {
        source: text(source),
        destination: text(destination),
        sender: 1 + (n % 2) as u32,
        ..message(id(n))
    }
}

pub fn search_filters(h: &mut Harness) {
    accept_all(h, (1..=600).map(mixed).collect());
    h.fin((1..=300).map(id), 0);
    let all = Search {
        limit: 1000,
        ..Search::default()
    };
    let ids = |wanted: &dyn Fn(u64) -> bool| -> Vec<u64> {
        (1..=600).rev().filter(|n| wanted(*n)).map(id).collect()
    };
    // The second round reads the index.
    for _ in 0..2 {
        let from = |source: &str| Search {
            from: Some(source.to_owned()),
            ..all.clone()
        };
        assert_eq!(found(h, from("B")), ids(&|n| n % 3 == 1), "with its plus");
        assert!(found(h, from("D")).is_empty());
        let of = Search {
            sender: Some(2),
            ..all.clone()
        };
        assert_eq!(found(h, of.clone()), ids(&|n| n % 2 == 1));
        let window = Search {
            since: Some((id(100) >> 20) as i64),
            until: Some((id(104) >> 20) as i64),
            ..all.clone()
        };
        assert_eq!(found(h, window.clone()), [103, 102, 101, 100].map(id));
        let together = Search {
            to: Some("4179".to_owned()),
            from: Some("A".to_owned()),
            sender: Some(1),
            since: Some((id(200) >> 20) as i64),
            state: Some(MessageState::Delivered),
            ..all.clone()
        };
        let wanted = |n| n % 6 == 0 && (200..=300).contains(&n);
        assert_eq!(found(h, together.clone()), ids(&wanted));
        let page = Search {
            before: Some(id(240)),
            limit: 2,
            ..together.clone()
        };
        assert_eq!(found(h, page), [234, 228].map(id));
        let enroute = Search {
            state: Some(MessageState::Enroute),
            until: Some((id(304) >> 20) as i64),
            ..of
        };
        assert_eq!(found(h, enroute), [303, 301].map(id));
        let by_state = Search {
            state: Some(MessageState::Delivered),
            ..window
        };
        assert_eq!(found(h, by_state).len(), 4);
        indexed(h);
    }
}

pub fn export(h: &mut Harness) {
    h.accept((1..=3000).map(id));
    h.sent(
        (1..=3000)
            .map(|n| sent_row(id(n), 1, if n % 3 == 0 { 0x58 } else { 0 }, "first"))
            .collect(),
    );
    h.sent(vec![
        sent_row(id(6), 2, 0, "second"),
        sent_row(id(7), 2, SentRow::NO_ANSWER, ""),
    ]);
    h.fin((1..=2999).map(id), 0);
    let all = exported(h, 0, u64::MAX);
    let ids: Vec<u64> = all.iter().map(|row| row.stored.message.id).collect();
    assert_eq!(ids, (1..=3000).map(id).collect::<Vec<_>>());
    let attempt = |n: usize| all[n - 1].attempt.clone().expect("it was tried");
    assert_eq!(attempt(3).status, 0x58, "failed");
    assert_eq!(&attempt(6).operator_message_id[..], b"second");
    assert_eq!(&attempt(7).operator_message_id[..], b"first", "was taken");
    assert_eq!(all[1].stored.message, message(id(2)));
    assert_eq!(all[1].stored.fin, Some(fin_row(id(2), 0)));
    assert_eq!(all[5].stored.attempts, 2);
    assert_eq!(all[2999].stored.fin, None);
    let some = exported(h, id(10), id(13));
    let some: Vec<u64> = some.iter().map(|row| row.stored.message.id).collect();
    assert_eq!(some, [10, 11, 12].map(id), "the end is left out");
    let mut count = 0;
    let mut stop = |_: Exported| {
        count += 1;
        ControlFlow::Break(())
    };
    h.store().export(0..u64::MAX, &mut stop).unwrap();
    assert_eq!(count, 1, "whoever had enough is left alone");
}

pub fn erase_text(h: &mut Harness) {
    let mut with_payload = message(id(1));
    with_payload.short_message = Bytes::new();
    // message_payload and sar_total_segments.
    with_payload.tlvs = Bytes::from_static(b"\x04\x24\x00\x02hi\x02\x0e\x00\x01\x02");
    accept_all(h, vec![with_payload]);
    h.accept((2..=1000).map(id));
    let active = [5, 700];
    let untold = 50;
    h.fin(
        (1..=1000)
            .filter(|n| !active.contains(n) && *n != untold)
            .map(id),
        0,
    );
    h.fin([id(untold)], 4);
    // They ended 10 ms after they were accepted.
    let before = (id(900) >> 20) as i64;
    assert_eq!(h.store().erase_text(before, 100).wait(), Ok(100));
    assert_eq!(h.store().erase_text(before, 5000).wait(), Ok(889 - 3 - 100));
    assert_eq!(h.store().erase_text(before, 5000).wait(), Ok(0));
    let bare = one(h, id(2));
    assert!(bare.text_erased && bare.short_message.is_empty());
    assert_eq!(
        bare.destination,
        message(id(2)).destination,
        "the rest stays"
    );
    assert_eq!(&one(h, id(1)).tlvs[..], b"\x02\x0e\x00\x01\x02");
    for n in [5, untold, 700, 895, 1000] {
        assert_eq!(one(h, id(n)), message(id(n)), "{n} keeps its text");
    }
    h.reopen();
    h.fin([id(700)], 0);
    h.write(WriteBatch {
        told: vec![id(untold)],
        ..WriteBatch::default()
    });
    let before = (id(910) >> 20) as i64;
    assert_eq!(h.store().erase_text(before, 5000).wait(), Ok(2 + 10));
    assert!(one(h, id(700)).text_erased && one(h, id(untold)).text_erased);
    assert_eq!(h.active_ids(), [id(5)]);
}

pub fn erase_msisdn(h: &mut Harness) {
    let number = "447700900123";
    let with_plus = text("+447700900123");
    let to = |n| Message {
        destination: text(number),
        ..message(id(n))
    };
    let from = |n| Message {
        source: with_plus.clone(),
        ..message(id(n))
    };
    let near = Message {
        destination: text("4477009001234"),
        ..message(id(6))
    };
    accept_all(h, vec![to(1), from(2), to(3), to(4), to(5), near.clone()]);
    h.fin([1, 2, 6].map(id), 0);
    h.fin([id(4)], 9);
    indexed(h);
    // After the index has read the others.
    accept_all(h, vec![to(7)]);
    h.fin([id(7)], 0);
    let erase = || h.store().erase_msisdn(number.to_owned()).wait();
    let three_are_active = Erased {
        erased: 3,
        active: 3,
    };
    assert_eq!(erase(), Ok(three_are_active));
    let gone = one(h, id(1));
    assert_eq!(&gone.destination[..], ERASED);
    assert_eq!(gone.source, to(1).source);
    assert!(gone.text_erased && gone.short_message.is_empty());
    assert_eq!(&one(h, id(2)).source[..], ERASED);
    assert_eq!(one(h, id(2)).destination, from(2).destination);
    assert_eq!(one(h, id(3)), to(3), "active");
    assert_eq!(one(h, id(4)), to(4), "its receipt is not acknowledged");
    assert_eq!(one(h, id(6)), near, "another number");
    let search = |to: &str| Search {
        to: Some(to.to_owned()),
        limit: 10,
        ..Search::default()
    };
    assert_eq!(found(h, search(number)), [5, 4, 3].map(id));
    h.fin([3, 5].map(id), 0);
    h.write(WriteBatch {
        told: vec![id(4)],
        ..WriteBatch::default()
    });
    let rest = Erased {
        erased: 3,
        active: 0,
    };
    assert_eq!(erase(), Ok(rest));
    assert_eq!(erase(), Ok(Erased::default()));
    indexed(h);
    assert!(found(h, search(number)).is_empty());
    let last = h.store().history(id(4)).wait().unwrap().expect("it stays");
    let fin: Option<FinRow> = last.stored.fin;
    assert_eq!(fin, Some(fin_row(id(4), 9)), "how it ended stays");
    assert_eq!(first_id((id(1) >> 20) as i64), id(1) & !0xF_FFFF);
}

/// The IMSI that a look-up has found is in the history of its message, not in its row.
pub fn erase_imsi(h: &mut Harness) {
    let number = "49160001";
    accept_all(
        h,
        vec![Message {
            destination: text(number),
            ..message(id(1))
        }],
    );
    let moved = Moved {
        imsi: "001010000000001".to_owned(),
        ..Moved::default()
    };
    h.write(WriteBatch {
        change: vec![ChangeRow::moved(
            id(1),
            5,
            9,
            "resolver: IMSI (looked up)",
            moved,
        )],
        ..WriteBatch::default()
    });
    let found = one(h, id(1));
    assert_eq!((found.imsi.as_str(), found.queue), ("001010000000001", 9));
    h.fin([id(1)], 0);
    indexed(h);
    let erased = h.store().erase_msisdn(number.to_owned()).wait();
    assert_eq!(erased.map(|erased| erased.erased), Ok(1));
    assert_eq!(one(h, id(1)).imsi, "");
    let history = h.store().history(id(1)).wait().unwrap().unwrap();
    assert_eq!((history.changes.len(), history.stored.queue), (1, 9));
    assert!(history.changes[0].body.is_empty());
}
