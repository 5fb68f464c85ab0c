//! Cases about sums of usage.

use smsc::store::outbox::{EventReader, ReaderOutcome, TakeEvents};
use smsc::store::usage::{Dimension, UsageQuestion, UsageRow};

use super::{Harness, id};

/// Ends a message, and adds these sums with the end of its event.
fn add(h: &Harness, n: u64, rows: Vec<UsageRow>) -> bool {
    h.accept([id(n)]);
    h.store().write_events_for(&[EventReader::Usage]);
    h.fin([id(n)], 0);
    let take = TakeEvents {
        reader: EventReader::Usage,
        holder: "here".to_owned(),
        now: 1,
        abandoned: 0,
        limit: 100,
        only_own: false,
    };
    let taken = h.store().take_events(take).wait().expect("answers");
    let claim = taken.expect("events").claim;
    let finish = |rows| {
        h.store()
            .finish_events(claim.clone(), ReaderOutcome::Usage(rows))
            .wait()
    };
    assert_eq!(finish(rows.clone()), Ok(true));
    finish(rows).expect("answers")
}

fn row(day: i32, account: u32, country: &str, state: u8) -> UsageRow {
    UsageRow {
        day,
        account,
        operator: 9,
        country: country.to_owned(),
        state,
        is_mo: false,
        currency: "EUR".to_owned(),
        messages: 2,
        parts: 3,
        price: 5,
    }
}

fn sums(row: UsageRow, times: u64) -> UsageRow {
    UsageRow {
        messages: row.messages * times,
        parts: row.parts * times,
        price: row.price * times as i64,
        ..row
    }
}

fn read(h: &Harness, question: UsageQuestion) -> Vec<UsageRow> {
    h.store().usage(question).wait().expect("answers")
}

fn all() -> UsageQuestion {
    UsageQuestion {
        last_day: 100,
        by: Dimension::ALL.to_vec(),
        limit: 100,
        ..UsageQuestion::default()
    }
}

pub fn adds_up(h: &mut Harness) {
    let (one, other) = (row(1, 1, "GB", 2), row(2, 2, "", 5));
    let mo = UsageRow {
        is_mo: true,
        ..one.clone()
    };
    assert!(!add(h, 1, vec![one.clone(), other.clone()]), "once only");
    assert!(!add(h, 2, vec![other.clone(), mo.clone(), one.clone()]));
    h.reopen();
    let (ones, others) = (sums(one.clone(), 2), sums(other, 2));
    assert_eq!(read(h, all()), [ones.clone(), mo.clone(), others.clone()]);
    let of_account = UsageQuestion {
        account: Some(2),
        ..all()
    };
    assert_eq!(read(h, of_account), std::slice::from_ref(&others));
    let first_day = UsageQuestion {
        last_day: 1,
        country: Some("GB".to_owned()),
        state: Some(2),
        operator: Some(9),
        ..all()
    };
    assert_eq!(read(h, first_day), [ones, mo]);
    let by_day = UsageQuestion {
        by: vec![Dimension::Day],
        ..all()
    };
    let day = |day, times: u64| UsageRow {
        day,
        currency: "EUR".to_owned(),
        messages: 2 * times,
        parts: 3 * times,
        price: 5 * times as i64,
        ..UsageRow::default()
    };
    assert_eq!(read(h, by_day), [day(1, 3), day(2, 2)]);
    let together = UsageQuestion {
        by: Vec::new(),
        limit: 1,
        ..all()
    };
    assert_eq!(read(h, together), [day(0, 5)]);
    let forget = |before, limit| h.store().forget_usage(before, limit).wait();
    assert_eq!(forget(2, 1), Ok(1));
    assert_eq!(forget(2, 100), Ok(1));
    assert_eq!(read(h, all()), [others]);
}
