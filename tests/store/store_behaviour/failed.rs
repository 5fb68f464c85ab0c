//! Cases about failures: failed messages page by page, their replays, and parked receipts.

use std::collections::{BTreeMap, BTreeSet};

use smsc::pb::{Message, MessageState};
use smsc::store::failed::{FailedSearch, ParkedSearch};
use smsc::store::failures::{FailureCounts, FailureDimension, FailureQuestion, MAX_COUNTED};
use smsc::store::{ChangeRow, FinRow, ParkedRow, Search, WriteBatch};

use super::{Harness, fin_row, id, message, sent_row, text};

/// More than one page; every third was delivered.
const MESSAGES: u64 = 900;

fn ends(n: u64) -> FinRow {
    let state = match n % 3 {
        0 => MessageState::Delivered,
        1 => MessageState::Undeliverable,
        _ => MessageState::Deleted,
    };
    FinRow {
        state,
        operator: 3 + (n % 2) as u32,
        ..fin_row(id(n), 0)
    }
}

/// All pages.
fn pages(h: &Harness, mut search: FailedSearch) -> Vec<u64> {
    let mut all = Vec::new();
    loop {
        let page = h.store().failed(search.clone()).wait().unwrap();
        assert!(page.messages.len() <= search.which.limit);
        all.extend(page.messages.iter().map(|stored| stored.message.id));
        match page.next_before {
            Some(next) => search.which.before = Some(next),
            None => return all,
        }
    }
}

pub fn failed(h: &mut Harness) {
    h.write(WriteBatch {
        accept: (1..=MESSAGES).map(|n| message(id(n))).collect(),
        fin: (1..MESSAGES).map(ends).collect(),
        ..WriteBatch::default()
    });
    let newest_first = |fits: &dyn Fn(u64) -> bool| -> Vec<u64> {
        let fitting = (1..MESSAGES).rev().filter(|n| fits(*n));
        fitting.map(id).collect()
    };
    let limited = |limit| FailedSearch {
        which: Search {
            limit,
            ..Search::default()
        },
        ..FailedSearch::default()
    };
    for limit in [1, 7, 299, 10_000] {
        assert_eq!(pages(h, limited(limit)), newest_first(&|n| n % 3 == 1));
    }
    let mut of_operator = limited(20);
    of_operator.operator = Some(4);
    let fits = |n| n % 3 == 1 && n % 2 == 1;
    assert_eq!(pages(h, of_operator), newest_first(&fits));
    let mut deleted = limited(50);
    deleted.which.state = Some(MessageState::Deleted);
    deleted.which.before = Some(id(100));
    let fits = |n| n % 3 == 2 && n < 100;
    assert_eq!(pages(h, deleted), newest_first(&fits));

    // The link to a replay stays when the text is erased.
    h.sent(vec![sent_row(id(4), 1, 0x58, "")]);
    h.write(WriteBatch {
        change: vec![
            ChangeRow::replayed(id(4), 7, "somebody", 1 << 60),
            ChangeRow::replayed(id(4), 8, "somebody", 2 << 60),
        ],
        ..WriteBatch::default()
    });
    h.store().erase_text(i64::MAX >> 21, 10_000).wait().unwrap();
    h.reopen();
    let mut replayed = limited(10);
    replayed.replayed = Some(true);
    assert_eq!(pages(h, replayed), [id(4)]);
    let asked = vec![id(7), 17, id(4)];
    let histories = h.store().histories(asked).wait().unwrap();
    assert!(histories[1].is_none());
    let [Some(other), _, Some(again)] = &histories[..] else {
        panic!("{histories:?}");
    };
    assert_eq!((other.stored.message.id, other.attempts.len()), (id(7), 0));
    assert_eq!(again.stored.replayed_as, 2 << 60);
    assert!(again.stored.message.text_erased);
    assert_eq!(again.attempts, [sent_row(id(4), 1, 0x58, "")]);
    assert_eq!(again.changes[0].replay(), 1 << 60);
    let single = h.store().history(id(4)).wait().unwrap();
    assert_eq!(single.as_ref(), Some(again));
}

/// Later messages end earlier, and several end at one moment.
pub fn failed_by_end(h: &mut Harness) {
    let at = |n: u64| 1_700_000_100_000 - (n / 3) as i64;
    let ended = |n: u64| FinRow {
        at: at(n),
        ..ends(n)
    };
    h.write(WriteBatch {
        accept: (1..=MESSAGES).map(|n| message(id(n))).collect(),
        fin: (1..MESSAGES).map(ended).collect(),
        ..WriteBatch::default()
    });
    let latest_first = |fits: &dyn Fn(u64) -> bool| -> Vec<u64> {
        let mut fitting: Vec<u64> = (1..MESSAGES).filter(|n| fits(*n)).collect();
        fitting.sort_by_key(|n| std::cmp::Reverse((at(*n), *n)));
        fitting.into_iter().map(id).collect()
    };
    let by_end = |limit| FailedSearch {
        which: Search {
            limit,
            ..Search::default()
        },
        by_end: true,
        ..FailedSearch::default()
    };
    for limit in [1, 7, 299, 10_000] {
        assert_eq!(pages(h, by_end(limit)), latest_first(&|n| n % 3 == 1));
    }
    h.reopen();
    let mut deleted = by_end(20);
    deleted.which.state = Some(MessageState::Deleted);
    deleted.which.ended_since = Some(at(200));
    deleted.which.ended_until = Some(at(100));
    let within = |n: u64| at(n) >= at(200) && at(n) < at(100);
    let fits = |n: u64| n % 3 == 2 && within(n);
    assert_eq!(pages(h, deleted.clone()), latest_first(&fits));
    // In the order of acceptance the same messages fit.
    deleted.by_end = false;
    let mut same = latest_first(&fits);
    same.sort_by_key(|id| std::cmp::Reverse(*id));
    assert_eq!(pages(h, deleted), same);
    let mut of_operator = by_end(10);
    of_operator.operator = Some(4);
    of_operator.which.ended_since = Some(at(300));
    let fits = |n: u64| n % 3 == 1 && n % 2 == 1 && at(n) >= at(300);
    assert_eq!(pages(h, of_operator), latest_first(&fits));
    // A message that is there no longer has no place.
    let mut gone = by_end(10);
    gone.which.before = Some(id(MESSAGES + 5));
    assert!(pages(h, gone).is_empty());

    // A search of all messages looks at ends, too.
    let mut search = Search {
        ended_since: Some(at(100)),
        ended_until: Some(at(10)),
        limit: 10_000,
        ..Search::default()
    };
    let within = |n: u64| at(n) >= at(100) && at(n) < at(10);
    let found = |search: &Search| -> Vec<u64> {
        let page = h.store().search(search.clone()).wait().unwrap();
        let ids = page.messages.iter().map(|stored| stored.message.id);
        ids.collect()
    };
    let newest_first = |fits: &dyn Fn(u64) -> bool| -> Vec<u64> {
        let fitting = (1..MESSAGES).rev().filter(|n| fits(*n));
        fitting.map(id).collect()
    };
    assert_eq!(found(&search), newest_first(&within));
    search.state = Some(MessageState::Delivered);
    let fits = |n: u64| n.is_multiple_of(3) && within(n);
    assert_eq!(found(&search), newest_first(&fits));
    search.sender = Some(message(id(1)).sender);
    assert_eq!(found(&search), newest_first(&fits));
}

const HOUR: i64 = 3_600_000;
/// The hour in which what is counted begins to end.
const BEGIN: i64 = 1_700_000_000_000 / HOUR * HOUR;
/// Messages that are counted.
const COUNTED: u64 = 60;

fn counted_end(n: u64) -> i64 {
    BEGIN + (n % 4) as i64 * HOUR + n as i64
}

/// How many of those that failed, which is every third, are like this.
fn fitting(fits: impl Fn(u64) -> bool) -> u64 {
    (1..=COUNTED).filter(|n| n % 3 == 1 && fits(*n)).count() as u64
}

/// Writes messages to several countries, of two operators, with three errors, which end within four hours; of three one is
/// DELIVERED, one UNDELIVERABLE and one DELETED. Gives the question for them all.
fn to_be_counted(h: &mut Harness) -> FailureQuestion {
    let numbers = [
        "4917012345678",
        "+4917012345679",
        "447700900123",
        "447700300123",
        "12345",
    ];
    let errors = ["11", "69", ""];
    let accepted = (1..=COUNTED).map(|n| Message {
        destination: text(numbers[n as usize % 5]),
        ..message(id(n))
    });
    let ended = (1..=COUNTED).map(|n| FinRow {
        at: counted_end(n),
        error: text(errors[n as usize % 3]),
        ..ends(n)
    });
    h.write(WriteBatch {
        accept: accepted.collect(),
        fin: ended.collect(),
        ..WriteBatch::default()
    });
    h.reopen();
    FailureQuestion {
        which: FailedSearch {
            which: Search {
                ended_since: Some(BEGIN),
                ended_until: Some(BEGIN + 4 * HOUR),
                ..Search::default()
            },
            ..FailedSearch::default()
        },
        by: FailureDimension::Error,
        bucket_ms: HOUR,
    }
}

fn count(h: &Harness, question: &FailureQuestion) -> FailureCounts {
    h.store().count_failures(question.clone()).wait().unwrap()
}

pub fn counted(h: &mut Harness) {
    let all = to_be_counted(h);
    let sums = |by: FailureDimension| {
        let question = FailureQuestion { by, ..all.clone() };
        let mut sums = BTreeMap::new();
        for cell in count(h, &question).cells {
            let word = String::from_utf8(cell.word.to_vec()).unwrap();
            *sums.entry((cell.number, word)).or_insert(0) += cell.messages;
        }
        sums.into_iter().collect::<Vec<((i64, String), u64)>>()
    };
    let named = |number: i64, messages: u64| ((number, String::new()), messages);
    let by_error = count(h, &all);
    // What was delivered is not read.
    assert_eq!((by_error.read, by_error.earliest), (40, counted_end(4)));
    assert!(by_error.read < MAX_COUNTED);
    let latest = by_error.cells.iter().map(|cell| cell.latest).max();
    assert_eq!(latest, Some(id(58)));
    let buckets: BTreeSet<i64> = by_error.cells.iter().map(|cell| cell.bucket).collect();
    let hours: BTreeSet<i64> = (0..4).map(|n| BEGIN / HOUR + n).collect();
    assert_eq!(buckets, hours);

    let errors = sums(FailureDimension::Error);
    assert_eq!(errors, [((0, "69".to_owned()), 20)]);
    let operators = sums(FailureDimension::Operator);
    assert_eq!(operators, [named(3, 10), named(4, 10)]);
    let sender = i64::from(message(id(1)).sender);
    assert_eq!(sums(FailureDimension::Account), [named(sender, 20)]);
    let heads = sums(FailureDimension::Country);
    let heads: Vec<(&str, u64)> = heads
        .iter()
        .map(|((_, head), messages)| (head.as_str(), *messages))
        .collect();
    assert_eq!(
        heads,
        [("", 4), ("447700300", 4), ("447700900", 4), ("491701", 8)]
    );
    let wanted: Vec<_> = (0..4)
        .map(|hour| named(BEGIN / HOUR + hour, fitting(|n| n % 4 == hour as u64)))
        .collect();
    assert_eq!(sums(FailureDimension::Hour), wanted);
}

pub fn counted_with_a_filter(h: &mut Harness) {
    let all = to_be_counted(h);
    let of = |change: &dyn Fn(&mut FailedSearch)| -> u64 {
        let mut question = all.clone();
        change(&mut question.which);
        let cells = count(h, &question).cells;
        cells.iter().map(|cell| cell.messages).sum()
    };
    let to = |to: &str| of(&|search| search.which.to = Some(to.to_owned()));
    assert_eq!(to("4917012345679"), 4);
    assert_eq!(to("491701234567"), 0);
    let prefix = |prefix: &str| of(&|search| search.which.to_prefix = Some(prefix.to_owned()));
    assert_eq!(prefix("49170"), 8);
    assert_eq!(prefix("1"), 4);
    let country = |country: &'static str| of(&|search| search.which.country = Some(country));
    for (code, messages) in [("DE", 8), ("GB", 4), ("JE", 4), ("", 4), ("US", 0)] {
        assert_eq!(country(code), messages, "{code:?}");
    }
    let sender = message(id(1)).sender;
    assert_eq!(of(&|search| search.which.sender = Some(sender)), 20);
    assert_eq!(of(&|search| search.operator = Some(4)), 10);
    assert_eq!(of(&|search| search.error = Some(text("69"))), 20);
    assert_eq!(of(&|search| search.error = Some(text("11"))), 0);
    let deleted = MessageState::Deleted;
    assert_eq!(of(&|search| search.which.state = Some(deleted)), 20);
    assert_eq!(
        of(&|search| search.which.ended_until = Some(BEGIN + HOUR)),
        fitting(|n| n % 4 == 0)
    );
    // A list of them is of the same messages.
    let mut list = all.which.clone();
    list.which.limit = 100;
    list.by_end = true;
    list.which.country = Some("DE");
    assert_eq!(pages(h, list).len(), 8);
}

pub fn unmatched(h: &mut Harness) {
    let row = |n: u64| ParkedRow {
        id: id(n),
        operator: 3 + (n % 2) as u32,
        operator_message_id: text(&format!("theirs-{n}")),
        at: 5,
        receipt: text("octets"),
    };
    h.write(WriteBatch {
        park: (1..=5).map(row).collect(),
        ..WriteBatch::default()
    });
    let found = |search| h.store().unmatched(search).wait().unwrap();
    let all = ParkedSearch {
        limit: 3,
        ..ParkedSearch::default()
    };
    assert_eq!(found(all.clone()), [row(5), row(4), row(3)]);
    let older = ParkedSearch {
        before: Some(id(3)),
        ..all.clone()
    };
    assert_eq!(found(older), [row(2), row(1)]);
    let of_operator = ParkedSearch {
        operator: Some(3),
        ..all.clone()
    };
    assert_eq!(found(of_operator), [row(4), row(2)]);
    let one = |id| ParkedSearch {
        id: Some(id),
        ..all.clone()
    };
    assert_eq!(found(one(id(2))), [row(2)]);
    assert_eq!(found(one(17)), []);
}
