//! Cases about the answers to requests with an Idempotency-Key.

use bytes::Bytes;
use smsc::store::idempotency::{Claimed, KeyClaim};
use smsc::store::{WriteBatch, Written};

use super::{Harness, id, message, text};

const HOUR: i64 = 3_600_000;
const RETENTION: i64 = 48 * HOUR;
/// The last second of a day.
const BEFORE_MIDNIGHT: i64 = 19_700 * 24 * HOUR - 1_000;

fn claim(key: u8, at: i64) -> KeyClaim {
    KeyClaim {
        account: 1,
        key: [key; 32],
        request: [0; 32],
        at,
        since: at - RETENTION,
    }
}

fn claimed(h: &Harness, claim: &KeyClaim) -> Claimed {
    h.store().claim_key(claim.clone()).wait().expect("answers")
}

fn done(answer: &str) -> Claimed {
    Claimed::Done(text(answer))
}

/// Answers a request, with a message if there is one.
fn answer(h: &Harness, claim: &KeyClaim, answer: &str, id: Option<u64>) {
    let written = h.write(WriteBatch {
        accept: id.into_iter().map(message).collect(),
        idempotency: vec![claim.answered(text(answer))],
        ..WriteBatch::default()
    });
    assert_eq!(written, Written::default());
}

fn forget(h: &Harness, before: i64, limit: usize) -> u64 {
    h.store()
        .forget_keys(before, limit)
        .wait()
        .expect("forgets")
}

pub fn answers(h: &mut Harness) {
    let at = BEFORE_MIDNIGHT;
    let first = claim(1, at);
    assert_eq!(claimed(h, &first), Claimed::New);
    let again = claim(1, at + 5);
    assert_eq!(claimed(h, &again), Claimed::InProgress);
    answer(h, &first, "one", Some(id(1)));
    assert_eq!(claimed(h, &again), done("one"));
    let different = KeyClaim {
        request: [9; 32],
        ..again.clone()
    };
    assert_eq!(claimed(h, &different), Claimed::Other);
    let of_another = KeyClaim {
        account: 2,
        ..different.clone()
    };
    assert_eq!(claimed(h, &of_another), Claimed::New);
    h.reopen();
    assert_eq!(h.active_ids(), [id(1)]);
    assert_eq!(claimed(h, &again), done("one"));
    assert_eq!(claimed(h, &different), Claimed::Other);
    // What is known better later.
    answer(h, &first, "two", None);
    assert_eq!(claimed(h, &again), done("two"));
    h.reopen();
    assert_eq!(claimed(h, &again), done("two"));
}

pub fn batches(h: &mut Harness) {
    let at = BEFORE_MIDNIGHT;
    let answered = [3, 200].map(|key| claim(key, at));
    for (claim, said) in answered.iter().zip(["three", "two hundred"]) {
        assert_eq!(claimed(h, claim), Claimed::New);
        answer(h, claim, said, None);
    }
    h.reopen();
    assert_eq!(claimed(h, &claim(5, at)), Claimed::New);
    let different = KeyClaim {
        request: [9; 32],
        ..claim(3, at)
    };
    let of_another = KeyClaim {
        account: 2,
        ..claim(3, at)
    };
    let mut asked = vec![
        claim(200, at),
        claim(7, at),
        claim(3, at),
        claim(5, at),
        claim(7, at),
        different,
        of_another,
    ];
    let mut expected = vec![
        done("two hundred"),
        Claimed::New,
        done("three"),
        Claimed::InProgress,
        Claimed::InProgress,
        Claimed::Other,
        Claimed::New,
    ];
    // More than PostgreSQL claims in a transaction.
    let more = (0..300u32).map(|account| KeyClaim {
        account: 10 + account,
        ..claim(1, at)
    });
    asked.extend(more);
    expected.resize(asked.len(), Claimed::New);
    let claimed_all = |h: &Harness, asked: &[KeyClaim]| h.store().claim_keys(asked.to_vec()).wait();
    assert_eq!(claimed_all(h, &asked), Ok(expected));
    assert_eq!(claimed_all(h, &[]), Ok(Vec::new()));
    answer(h, &claim(7, at), "seven", Some(id(1)));
    h.store().release_key(asked[6].clone()).wait().unwrap();
    assert_eq!(
        claimed_all(h, &[asked[6].clone(), claim(7, at)]),
        Ok(vec![Claimed::New, done("seven")])
    );
}

pub fn releases(h: &mut Harness) {
    let (first, other) = (claim(1, BEFORE_MIDNIGHT), claim(2, BEFORE_MIDNIGHT));
    assert_eq!(claimed(h, &first), Claimed::New);
    assert_eq!(claimed(h, &other), Claimed::New);
    h.store().release_key(first.clone()).wait().unwrap();
    let next = KeyClaim {
        request: [9; 32],
        ..claim(1, BEFORE_MIDNIGHT + 1)
    };
    assert_eq!(claimed(h, &next), Claimed::New, "whatever it asks for");
    assert_eq!(claimed(h, &other), Claimed::InProgress);
    answer(h, &next, "next", None);
    h.store().release_key(next.clone()).wait().unwrap();
    assert_eq!(claimed(h, &next), done("next"), "an answer stays");
    h.reopen();
    assert_eq!(claimed(h, &other), Claimed::New, "its process has ended");
}

pub fn days(h: &mut Harness) {
    let first = claim(1, BEFORE_MIDNIGHT);
    assert_eq!(claimed(h, &first), Claimed::New);
    let after_midnight = claim(1, BEFORE_MIDNIGHT + 2_000);
    assert_eq!(claimed(h, &after_midnight), Claimed::InProgress);
    answer(h, &first, "first", Some(id(1)));
    for hours in [0, 1, 23, 24, 25, 47, 48] {
        let later = claim(1, BEFORE_MIDNIGHT + hours * HOUR);
        assert_eq!(claimed(h, &later), done("first"), "{hours} hours later");
    }
    // By a clock that is behind.
    let before = claim(1, BEFORE_MIDNIGHT - 3_000);
    assert_eq!(claimed(h, &before), done("first"));
    let over = claim(1, BEFORE_MIDNIGHT + RETENTION + 1);
    assert_eq!(claimed(h, &over), Claimed::New);
    answer(h, &over, "second", None);
    assert_eq!(claimed(h, &over), done("second"));
    // Of a clock that is ahead, when it is not midnight yet.
    let ahead = claim(2, BEFORE_MIDNIGHT + 2_000);
    assert_eq!(claimed(h, &ahead), Claimed::New);
    answer(h, &ahead, "ahead", None);
    assert_eq!(claimed(h, &claim(2, BEFORE_MIDNIGHT)), done("ahead"));
    // A retention shorter than a day.
    let short = KeyClaim {
        since: BEFORE_MIDNIGHT - HOUR,
        ..claim(3, BEFORE_MIDNIGHT)
    };
    let long_ago = claim(3, short.since - 1);
    assert_eq!(claimed(h, &long_ago), Claimed::New);
    answer(h, &long_ago, "long ago", None);
    assert_eq!(claimed(h, &short), Claimed::New);
    answer(h, &short, "short", None);
    assert_eq!(claimed(h, &short), done("short"));
    h.reopen();
    assert_eq!(claimed(h, &short), done("short"));
}

pub fn forgets(h: &mut Harness) {
    let at = |n: u8| BEFORE_MIDNIGHT + i64::from(n) * HOUR;
    for n in 1..=5 {
        assert_eq!(claimed(h, &claim(n, at(n))), Claimed::New);
        answer(h, &claim(n, at(n)), "answer", Some(id(u64::from(n))));
    }
    assert_eq!(forget(h, at(1), 10), 0, "none is older");
    assert_eq!(forget(h, at(4), 2), 2);
    assert_eq!(forget(h, at(4), 2), 1);
    assert_eq!(forget(h, at(4), 2), 0);
    h.reopen();
    for n in 1..=5 {
        let expected = match n {
            1..=3 => Claimed::New,
            _ => done("answer"),
        };
        assert_eq!(claimed(h, &claim(n, at(6))), expected, "{n}");
    }
    // A key that was used again after its time: the new answer stays.
    let again = claim(4, at(4) + RETENTION + 1);
    assert_eq!(claimed(h, &again), Claimed::New);
    answer(h, &again, "again", None);
    forget(h, at(6) + HOUR, 10);
    assert_eq!(claimed(h, &again), done("again"));
    assert_eq!(h.active_ids().len(), 5, "messages have their own retention");
}

pub fn bad_message(h: &mut Harness) {
    h.accept([id(1)]);
    let first = claim(1, BEFORE_MIDNIGHT);
    assert_eq!(claimed(h, &first), Claimed::New);
    let mut bad = message(id(1));
    bad.short_message = Bytes::from_static(b"again");
    let written = h.write(WriteBatch {
        accept: vec![bad, message(id(2))],
        idempotency: vec![first.answered(text("answer"))],
        ..WriteBatch::default()
    });
    let rejected: Vec<_> = written.rejected.iter().map(|row| row.table).collect();
    assert_eq!(rejected, ["msg"]);
    assert_eq!(claimed(h, &first), done("answer"));
    assert_eq!(h.active_ids(), [id(1), id(2)]);
}
