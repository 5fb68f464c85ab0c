//! Cases about balances and quotas: charges are written with their messages, top-ups happen once.

use smsc::domain::price::Purse;
use smsc::store::WriteBatch;
use smsc::store::balance::{ChargeRow, TopUpOutcome, TopUpRow};

use super::{Harness, id, message, text};

fn top_up(n: u64, account: u32, amount: i64, reference: Option<&str>) -> TopUpRow {
    TopUpRow {
        id: id(n),
        account,
        amount,
        reference: reference.map(str::to_owned),
        by: "token:ops".to_owned(),
    }
}

fn charge(n: u64, purse: Purse, amount: i64) -> ChargeRow {
    ChargeRow {
        id: id(n),
        purse,
        amount,
        epoch: 0,
    }
}

/// The balance of each purse, including the blocks of nodes.
fn purses(h: &Harness, account: Option<u32>) -> Vec<(Purse, i64)> {
    let rows = h.store().purses(account).wait().unwrap().into_iter();
    rows.map(|row| (row.purse, row.left + row.reserved))
        .collect()
}

pub fn charges(h: &mut Harness) {
    let (balance, quota) = (
        Purse::balance(7),
        Purse {
            account: 7,
            day: 20_000,
        },
    );
    for purse in [Purse::balance(8), balance] {
        let row = top_up(u64::from(purse.account), purse.account, 100, None);
        assert_eq!(h.store().top_up(row, 0).wait(), Ok(TopUpOutcome::Done));
    }
    h.accept([id(1)]);
    let mut bad = message(id(1));
    bad.short_message = text("again");
    let batches = [
        WriteBatch {
            accept: vec![message(id(2))],
            charge: vec![charge(2, balance, 10), charge(2, Purse::balance(8), 1)],
            ..WriteBatch::default()
        },
        WriteBatch {
            accept: vec![bad, message(id(3))],
            charge: vec![charge(1, balance, 1_000), charge(3, balance, 5)],
            ..WriteBatch::default()
        },
        WriteBatch {
            charge: vec![charge(2, balance, -2)],
            ..WriteBatch::default()
        },
    ];
    let tickets: Vec<_> = batches.map(|batch| h.store().write(batch)).into();
    let rejected = |ticket: smsc::store::Ticket| ticket.wait().unwrap().rejected.len();
    let rejected: Vec<usize> = tickets.into_iter().map(rejected).collect();
    assert_eq!(rejected, [0, 1, 0]);
    let expected = [(balance, 87), (Purse::balance(8), 99)];
    assert_eq!(
        purses(h, None),
        expected,
        "a rejected message costs nothing"
    );
    h.reopen();
    assert_eq!(purses(h, None), expected);
    assert_eq!(purses(h, Some(8)), expected[1..]);
    // A quota needs no top-up, and is deleted in the end.
    let order = |purse| WriteBatch {
        charge: vec![charge(2, purse, 4)],
        ..WriteBatch::default()
    };
    h.write(order(balance));
    h.write(order(quota));
    h.store().forget_quotas(20_000).wait().unwrap();
    assert_eq!(purses(h, Some(7))[0], (balance, 83));
    h.store().forget_quotas(20_001).wait().unwrap();
    assert_eq!(purses(h, Some(7)), [(balance, 83)]);
}

pub fn top_ups(h: &mut Harness) {
    let first = top_up(1, 7, 100, Some("invoice 7"));
    let put = |h: &Harness, row: TopUpRow, floor| h.store().top_up(row, floor).wait().unwrap();
    assert_eq!(put(h, first.clone(), 0), TopUpOutcome::Done);
    let again = top_up(2, 7, 60, Some("invoice 7"));
    assert_eq!(put(h, again, 0), TopUpOutcome::Repeated(first.clone()));
    assert_eq!(
        put(h, top_up(3, 7, -101, Some("slip")), 0),
        TopUpOutcome::TooLow
    );
    assert_eq!(
        put(h, top_up(4, 8, -1, None), 0),
        TopUpOutcome::TooLow,
        "nothing is there"
    );
    assert_eq!(
        put(h, top_up(5, 7, -1, None), 100),
        TopUpOutcome::TooLow,
        "the floor"
    );
    let slip = top_up(6, 7, -100, Some("slip"));
    assert_eq!(
        put(h, slip.clone(), 0),
        TopUpOutcome::Done,
        "the reference was not used up"
    );
    let repeated = put(h, top_up(7, 7, -100, Some("slip")), i64::MAX);
    assert_eq!(
        repeated,
        TopUpOutcome::Repeated(slip.clone()),
        "told whatever is left"
    );
    let others = [(8, 8), (9, 7), (10, 7)].map(|(n, account)| top_up(n, account, 5, None));
    for row in &others {
        assert_eq!(put(h, row.clone(), 0), TopUpOutcome::Done);
    }
    h.reopen();
    assert_eq!(purses(h, Some(7)), [(Purse::balance(7), 10)]);
    let page = |h: &Harness, below| h.store().top_ups(7, below, 2).wait().unwrap();
    assert_eq!(page(h, u64::MAX), [others[2].clone(), others[1].clone()]);
    assert_eq!(page(h, others[1].id), [slip, first]);
}
