//! Cases about maintenance: ids, names, derived data, the low-water mark, retention, closing.

use bytes::Bytes;
use smsc::pb::MessageState;
use smsc::store::{MessageStage, ParkedRow, Search, SentRow, StoreError, WriteBatch, Written};

use super::{Harness, id, message, sent_row, text};

pub fn highest_id(h: &mut Harness) {
    assert_eq!(h.store().highest_id(), Ok(0));
    h.accept([id(1), id(2)]);
    assert_eq!(h.store().highest_id(), Ok(id(2)));
    let parked = ParkedRow {
        id: id(9),
        operator: 3,
        operator_message_id: text("x"),
        at: 1,
        receipt: text("r"),
    };
    h.write(WriteBatch {
        park: vec![parked],
        ..WriteBatch::default()
    });
    h.write(WriteBatch {
        unpark: vec![id(9)],
        ..WriteBatch::default()
    });
    assert_eq!(h.store().highest_id(), Ok(id(9)));
    h.fin([id(1), id(2)], 0);
    assert_eq!(h.store().retire(i64::MAX, 100).wait(), Ok(2));
    h.reopen();
    assert_eq!(
        h.store().highest_id(),
        Ok(id(9)),
        "though no row has it any more"
    );
}

pub fn blocks(h: &mut Harness) {
    h.store().spill_block(7, 1, vec![1, 2, 3]).wait().unwrap();
    h.store().spill_block(7, 2, vec![4]).wait().unwrap();
    h.store().spill_block(8, 1, vec![5]).wait().unwrap();
    let read = |h: &Harness, queue, block| h.store().read_block(queue, block).wait().unwrap();
    for _ in 0..2 {
        assert_eq!(read(h, 7, 1), Some(vec![1, 2, 3]), "stays until forgotten");
    }
    h.store().forget_blocks(7, 0..2).wait().unwrap();
    assert_eq!(read(h, 7, 1), None);
    assert_eq!(read(h, 8, 1), Some(vec![5]));
    assert_eq!(read(h, 7, 2), Some(vec![4]));
    h.store().forget_blocks(7, 0..9).wait().unwrap();
    assert_eq!(read(h, 7, 2), None);
}

pub fn active_pages(h: &mut Harness) {
    /// All pages of these ids.
    fn read(h: &Harness, mut ids: std::ops::Range<u64>, limit: usize) -> Vec<u64> {
        let mut found = Vec::new();
        for _ in 0..1000 {
            let page = h.store().active_page(ids.clone(), limit).wait().unwrap();
            assert!(page.active.len() <= limit);
            found.extend(page.active.iter().map(|active| active.id));
            match page.next {
                Some(next) => {
                    assert!(next > ids.start && next <= ids.end, "{next} in {ids:?}");
                    ids.start = next;
                }
                None => return found,
            }
        }
        panic!("no end: {found:?}");
    }
    h.accept((1..=40).map(id));
    h.fin((1..=30).map(id), 0);
    h.fin([id(31)], 4);
    let check = |h: &Harness| {
        let all: Vec<u64> = (31..=40).map(id).collect();
        for limit in [1, 3, 100] {
            assert_eq!(read(h, 0..u64::MAX, limit), all, "limit {limit}");
            assert_eq!(read(h, id(33)..id(36), limit), all[2..5]);
        }
        assert!(read(h, id(50)..u64::MAX, 10).is_empty());
    };
    check(h);
    // Below the mark, and above it.
    h.store().advance_low_water().wait().unwrap();
    check(h);
    let page = h.store().active_page(0..u64::MAX, 100).wait().unwrap();
    let told = page.active.iter().find(|active| active.id == id(31));
    let stage = &told.unwrap().stage;
    assert!(
        matches!(stage, MessageStage::Untold { tell: 4, .. }),
        "{stage:?}"
    );
}

pub fn parked(h: &mut Harness) {
    let row = |n| ParkedRow {
        id: id(n),
        operator: 3,
        operator_message_id: text("abc"),
        at: 77,
        receipt: Bytes::from_static(&[0, 1, 255]),
    };
    h.write(WriteBatch {
        park: vec![row(1), row(2), row(3)],
        ..WriteBatch::default()
    });
    h.write(WriteBatch {
        unpark: vec![id(2), id(8)],
        ..WriteBatch::default()
    });
    h.reopen();
    assert_eq!(h.store().parked(10), Ok(vec![row(1), row(3)]));
    assert_eq!(h.store().parked(1), Ok(vec![row(1)]));
}

pub fn correlations(h: &mut Harness) {
    let store = h.store();
    assert_eq!(store.find_correlations(vec![1], 0).wait(), Ok(vec![None]));
    if !h.factory.spills_correlations() {
        return attempts_correlate(h);
    }
    store
        .spill_correlations(10, vec![(1, 100), (5, 500), (u128::MAX, 7)])
        .wait()
        .unwrap();
    store
        .spill_correlations(11, vec![(1, 101), (6, 600)])
        .wait()
        .unwrap();
    store.spill_correlations(11, vec![(2, 200)]).wait().unwrap();
    let found = store
        .find_correlations(vec![u128::MAX, 1, 9, 5, 2], 0)
        .wait();
    assert_eq!(
        found,
        Ok(vec![Some(7), Some(101), None, Some(500), Some(200)])
    );
    store.drop_correlations_before(11).wait().unwrap();
    let found = store.find_correlations(vec![5, 1, 6], 0).wait();
    assert_eq!(found, Ok(vec![None, Some(101), Some(600)]));
}

/// For a store that finds attempts by their rows: the newest one matches, and spilling changes nothing.
fn attempts_correlate(h: &mut Harness) {
    let row = |n, attempt, correlation| SentRow {
        correlation,
        ..sent_row(id(n), attempt, 0, "theirs")
    };
    h.accept([id(1), id(2), id(3)]);
    let high = u64::MAX - 3;
    h.sent(vec![
        row(1, 1, 77),
        row(2, 1, high),
        row(3, 1, 77),
        row(2, 2, 0),
    ]);
    h.store()
        .spill_correlations(10, vec![(5, id(1))])
        .wait()
        .unwrap();
    h.store().drop_correlations_before(11).wait().unwrap();
    h.reopen();
    // The high half of the key equals the low one or differs.
    let keys = vec![u128::from(high), 5, 0, 77, u128::from(9u64) << 64 | 77];
    let found = h.store().find_correlations(keys, 0).wait();
    let expected = vec![Some(id(2)), None, None, Some(id(3)), Some(id(3))];
    assert_eq!(found, Ok(expected));
    // The operator has used the id 77 twice: it means the newest message that is not final.
    for (ends, left) in [(id(3), id(1)), (id(1), id(3))] {
        h.fin([ends], 0);
        let found = h.store().find_correlations(vec![77], 0).wait();
        assert_eq!(found, Ok(vec![Some(left)]));
    }
}

pub fn low_water(h: &mut Harness) {
    h.accept((1..=3000).map(id));
    let active = [3, 777, 2999];
    h.fin(
        (1..=3000)
            .filter(|n| !active.contains(n) && *n != 50)
            .map(id),
        0,
    );
    h.fin([id(50)], 4);
    h.sent(vec![
        sent_row(id(777), 1, 0, "theirs"),
        sent_row(id(777), 2, 0, "again"),
    ]);
    let before = h.active();
    assert_eq!(before.len(), 4);
    h.store().advance_low_water().wait().unwrap();
    h.reopen();
    assert_eq!(h.active(), before);
    h.accept([id(4000)]);
    h.fin([id(3)], 0);
    h.write(WriteBatch {
        told: vec![id(50)],
        ..WriteBatch::default()
    });
    h.store().advance_low_water().wait().unwrap();
    h.store().advance_low_water().wait().unwrap();
    h.reopen();
    assert_eq!(h.active_ids(), [id(777), id(2999), id(4000)]);
}

pub fn late_message(h: &mut Harness) {
    h.accept((1..=2000).map(id));
    h.fin((1..=2000).map(id), 0);
    h.store().advance_low_water().wait().unwrap();
    h.accept([id(500) + 1]);
    h.reopen();
    assert_eq!(h.active_ids(), [id(500) + 1]);
    h.accept([id(400) + 1]);
    h.store().advance_low_water().wait().unwrap();
    h.reopen();
    assert_eq!(h.active_ids(), [id(400) + 1, id(500) + 1]);
}

pub fn retire(h: &mut Harness) {
    h.accept((1..=1000).map(id));
    h.sent((1..=1000).map(|n| sent_row(id(n), 1, 0, "t")).collect());
    h.fin((1..=900).filter(|n| n % 10 != 0).map(id), 0);
    h.fin((1..=900).filter(|n| n % 10 == 0).map(id), 4);
    h.write(WriteBatch {
        told: vec![id(10), id(20)],
        ..WriteBatch::default()
    });
    let active = h.active_ids();
    // They were final 10 ms after the time in their ids, so those of the first 490 ms are older.
    let before = (id(500) >> 20) as i64;
    let deleted = h.store().retire(before, 100).wait().unwrap();
    assert_eq!(deleted, 100);
    let deleted = deleted + h.store().retire(before, 5000).wait().unwrap();
    assert_eq!(deleted, (489 - 48) + 2);
    assert_eq!(h.store().retire(before, 5000).wait(), Ok(0));
    h.reopen();
    assert_eq!(h.active_ids(), active);
    let found = h
        .store()
        .load(vec![id(1), id(10), id(30), id(490), id(950)])
        .wait()
        .unwrap();
    let found: Vec<bool> = found.iter().map(Option::is_some).collect();
    assert_eq!(found, [false, false, true, true, true]);
}

pub fn backup(h: &mut Harness) {
    h.accept((1..=500).map(id));
    h.fin([id(5)], 4);
    let to = h.factory.folder().join("copy.db");
    if !h.factory.backs_up() {
        let refused = h.store().backup(&to).unwrap_err().to_string();
        assert!(refused.contains("pg_dump"), "{refused}");
        return;
    }
    h.store().backup(&to).unwrap();
    assert!(h.factory.is_sound(&to));
    assert!(
        matches!(h.store().backup(&to), Err(StoreError::Failed(_))),
        "not overwritten"
    );
}

pub fn names(h: &mut Harness) {
    let first = h.store().intern("operator-a").unwrap();
    let second = h.store().intern("konto-ü").unwrap();
    assert_eq!((first, second), (1, 2));
    h.reopen();
    assert_eq!(h.store().intern("operator-a"), Ok(1));
    assert_eq!(h.store().intern("third"), Ok(3));
    let names = h.store().names().unwrap();
    let expected = [(1, "operator-a"), (2, "konto-ü"), (3, "third")];
    assert_eq!(
        names,
        expected.map(|(number, name)| (number, name.to_owned()))
    );
}

pub fn search(h: &mut Harness) {
    h.accept((1..=4100).map(id));
    h.fin((1..=4000).map(id), 0);
    let find = |to: Option<&str>, state, before, limit| {
        let to = to.map(str::to_owned);
        let search = Search {
            to,
            state,
            before,
            limit,
            ..Search::default()
        };
        let page = h.store().search(search).wait().unwrap();
        page.messages
            .iter()
            .map(|stored| stored.message.id)
            .collect::<Vec<_>>()
    };
    assert_eq!(find(None, None, None, 3), [id(4100), id(4099), id(4098)]);
    assert_eq!(find(None, None, Some(id(4099)), 1), [id(4098)]);
    assert_eq!(
        find(None, Some(MessageState::Delivered), None, 2),
        [id(4000), id(3999)]
    );
    assert_eq!(
        find(None, Some(MessageState::Enroute), Some(id(4003)), 9),
        [id(4002), id(4001)]
    );
    assert!(find(None, Some(MessageState::Expired), None, 9).is_empty());
    // Ids 2 and 4098 share the lower bits that determine the destination.
    for _ in 0..2 {
        assert_eq!(find(Some("41792"), None, None, 9), [id(4098), id(2)]);
        assert_eq!(
            find(Some("41792"), Some(MessageState::Enroute), None, 9),
            [id(4098)]
        );
        assert_eq!(find(Some("41792"), None, Some(id(4098)), 9), [id(2)]);
        assert!(find(Some("0"), None, None, 9).is_empty());
        // In the second round the index has read them; it polls once a second.
        let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while h.store().stats().index_lag > 0 && std::time::Instant::now() < end {
            std::thread::yield_now();
        }
        assert_eq!(h.store().stats().index_lag, 0);
    }
}

pub fn closed(h: &mut Harness) {
    h.accept([id(1)]);
    let last = h.store().write(WriteBatch {
        accept: vec![message(id(2))],
        ..WriteBatch::default()
    });
    h.store().close();
    assert_eq!(
        last.wait(),
        Ok(Written::default()),
        "what was asked before is written"
    );
    let refused = h.store().write(WriteBatch::default());
    assert_eq!(refused.wait(), Err(StoreError::Closed));
    assert_eq!(h.store().load(vec![id(1)]).wait(), Err(StoreError::Closed));
    assert_eq!(h.store().highest_id(), Err(StoreError::Closed));
    h.store().close();
    h.reopen();
    assert_eq!(h.active_ids(), [id(1), id(2)]);
}
