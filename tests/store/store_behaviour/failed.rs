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
    let fits = |n: u64| n % 3 == 0 && within(n);
    assert_eq!(found(&search), newest_first(&fits));
    search.sender = Some(message(id(1)).sender);
    assert_eq!(found(&search), newest_first(&fits));
}

/// Countries by their numbers, two operators, three errors, and ends an hour apart.
pub fn counted(h: &mut Harness) {
    const HOUR: i64 = 3_600_000;
    const BEGIN: i64 = 1_700_000_000_000 / HOUR * HOUR;
    let numbers = [
        "4917012345678",
        "+4917012345679",
        "447700900123",
        "447700300123",
        "12345",
    ];
    let at = |n: u64| BEGIN + (n % 4) as i64 * HOUR + n as i64;
    let errors = ["11", "69", ""];
    h.write(WriteBatch {
        accept: (1..=60)
            .map(|n| Message {
                destination: text(numbers[n as usize % 5]),
                ..message(id(n))
            })
            .collect(),
        fin: (1..=60)
            .map(|n| FinRow {
                at: at(n),
                error: text(errors[n as usize % 3]),
                ..ends(n)
            })
            .collect(),
        ..WriteBatch::default()
    });
    h.reopen();
    let all = FailureQuestion {
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
    };
    let count = |question: &FailureQuestion| -> FailureCounts {
        h.store().count_failures(question.clone()).wait().unwrap()
    };
    let sums = |question: &FailureQuestion| {
        let mut sums = BTreeMap::new();
        for cell in count(question).cells {
            let word = String::from_utf8(cell.word.to_vec()).unwrap();
            *sums.entry((cell.number, word)).or_insert(0) += cell.messages;
        }
        sums.into_iter().collect::<Vec<_>>()
    };
    // Of sixty, every third is DELIVERED, and the index does not have it; every third was DELETED.
    let by_error = count(&all);
    assert_eq!((by_error.read, by_error.earliest), (40, at(4)));
    assert!(by_error.read < MAX_COUNTED);
    assert_eq!(sums(&all), [((0, "69".to_owned()), 20)]);
    let latest = by_error.cells.iter().map(|cell| cell.latest).max();
    assert_eq!(latest, Some(id(58)));
    let buckets: BTreeSet<i64> = by_error.cells.iter().map(|cell| cell.bucket).collect();
    assert_eq!(
        Vec::from_iter(buckets),
        Vec::from_iter((0..4).map(|n| BEGIN / HOUR + n))
    );

    let by = |by| FailureQuestion { by, ..all.clone() };
    let operators = sums(&by(FailureDimension::Operator));
    assert_eq!(
        operators,
        [((3, String::new()), 10), ((4, String::new()), 10)]
    );
    let sender = i64::from(message(id(1)).sender);
    let accounts = sums(&by(FailureDimension::Account));
    assert_eq!(accounts, [((sender, String::new()), 20)]);
    let heads = sums(&by(FailureDimension::Country));
    let heads: Vec<(&str, u64)> = heads
        .iter()
        .map(|((_, head), n)| (head.as_str(), *n))
        .collect();
    assert_eq!(
        heads,
        [("", 4), ("447700300", 4), ("447700900", 4), ("491701", 8)]
    );
    let hours = sums(&by(FailureDimension::Hour));
    let fitting =
        |fits: &dyn Fn(u64) -> bool| (1..=60).filter(|n| n % 3 == 1 && fits(*n)).count() as u64;
    let wanted = (0..4).map(|hour| {
        let number = BEGIN / HOUR + hour as i64;
        ((number, String::new()), fitting(&|n| n % 4 == hour))
    });
    assert_eq!(hours, wanted.collect::<Vec<_>>());

    let total = |which: FailedSearch| -> u64 {
        let cells = count(&FailureQuestion {
            which,
            ..all.clone()
        })
        .cells;
        cells.iter().map(|cell| cell.messages).sum()
    };
    let of = |change: &dyn Fn(&mut FailedSearch)| {
        let mut which = all.which.clone();
        change(&mut which);
        total(which)
    };
    assert_eq!(
        of(&|which| which.which.to = Some("4917012345679".to_owned())),
        4
    );
    assert_eq!(
        of(&|which| which.which.to_prefix = Some("49170".to_owned())),
        8
    );
    assert_eq!(of(&|which| which.which.country = Some("DE")), 8);
    assert_eq!(of(&|which| which.which.country = Some("GB")), 4);
    assert_eq!(of(&|which| which.which.country = Some("JE")), 4);
    assert_eq!(of(&|which| which.which.country = Some("")), 4);
    assert_eq!(
        of(&|which| which.which.sender = Some(message(id(1)).sender)),
        20
    );
    assert_eq!(of(&|which| which.operator = Some(4)), 10);
    assert_eq!(of(&|which| which.error = Some(text("69"))), 20);
    assert_eq!(of(&|which| which.error = Some(text("11"))), 0);
    assert_eq!(
        of(&|which| which.which.state = Some(MessageState::Deleted)),
        20
    );
    assert_eq!(
        of(&|which| which.which.ended_until = Some(BEGIN + HOUR)),
        fitting(&|n| n % 4 == 0)
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
