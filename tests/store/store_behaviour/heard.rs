//! Cases about what receipts have said without ending their messages.

use bytes::Bytes;
use smsc::pb::MessageState;
use smsc::store::WriteBatch;
use smsc::store::heard::HeardRow;

use super::{Harness, fin_row, id, message};

fn row(n: u64, state: MessageState, at: i64, due: i64) -> HeardRow {
    HeardRow {
        id: id(n),
        at,
        operator: 5,
        state,
        word: Bytes::from_static(b"SENT"),
        error: Bytes::from_static(b"0A\xff"),
        done_at: at - 7,
        due,
    }
}

/// Of each kind the last one stays, also of one batch; what is due comes in its order, page by page, until it is settled.
pub fn last(h: &mut Harness) {
    use MessageState::{Accepted, Enroute, Unknown};
    h.write(WriteBatch {
        accept: (1..=4).map(|n| message(id(n))).collect(),
        ..WriteBatch::default()
    });
    h.write(WriteBatch {
        heard: vec![
            row(1, Accepted, 100, 900),
            row(1, Enroute, 110, 0),
            row(2, Accepted, 120, 800),
            row(1, Unknown, 130, 950),
            row(3, Unknown, 140, 700),
        ],
        ..WriteBatch::default()
    });
    h.write(WriteBatch {
        heard: vec![row(3, Accepted, 150, 990)],
        fin: vec![fin_row(id(4), 0)],
        ..WriteBatch::default()
    });
    h.reopen();
    let first = row(2, Accepted, 120, 800);
    let second = row(1, Unknown, 130, 950);
    let third = row(3, Accepted, 150, 990);
    let due = |h: &Harness, at, limit| h.store().heard_due(at, limit).wait();
    assert_eq!(due(h, 799, 9), Ok(vec![]));
    assert_eq!(due(h, 950, 9), Ok(vec![first.clone(), second.clone()]));
    assert_eq!(due(h, i64::MAX, 1), Ok(vec![first.clone()]));
    let ids = [4, 3, 2, 1].map(id).to_vec();
    let last = h.store().last_heard(ids).wait();
    assert_eq!(last, Ok(vec![second.clone(), first, third.clone()]));
    h.store().heard_settled(vec![id(2), id(4)]).wait().unwrap();
    assert_eq!(due(h, i64::MAX, 9), Ok(vec![second.clone(), third]));

    // People see both kinds.
    let history = h.store().history(id(1)).wait().unwrap().unwrap();
    assert_eq!(history.heard, [row(1, Enroute, 110, 0), second]);
    let history = h.store().history(id(4)).wait().unwrap().unwrap();
    assert_eq!(history.heard, []);
}
