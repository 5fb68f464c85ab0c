//! Cases about the admin API: its tokens and its audit log.

use smsc::domain::access::Role;
use smsc::store::access::{AuditRow, AuditSearch, TokenRow};

use crate::{Harness, id};

fn token(name: &str, first: u8) -> TokenRow {
    TokenRow {
        name: name.to_owned(),
        hash: [first; 32],
        role: Role::Operate,
        created_at: 1_700_000_000_000,
        created_by: "admin token from 127.0.0.1:1".to_owned(),
        expires_at: 0,
        used_at: 0,
    }
}

pub fn tokens(h: &mut Harness) {
    assert_eq!(h.store().tokens().wait(), Ok(Vec::new()));
    for (name, first) in [("b", 1), ("a", 2)] {
        assert_eq!(h.store().add_token(token(name, first)).wait(), Ok(true));
    }
    let twice = h.store().add_token(token("a", 3)).wait();
    assert_eq!(twice, Ok(false), "the name is taken");
    let used = vec![("a".to_owned(), 5_000), ("nobody".to_owned(), 1)];
    h.store().tokens_used(used).wait().unwrap();
    h.store()
        .tokens_used(vec![("a".to_owned(), 4_000)])
        .wait()
        .unwrap();
    h.reopen();
    let expected = TokenRow {
        used_at: 5_000,
        ..token("a", 2)
    };
    assert_eq!(h.store().tokens().wait(), Ok(vec![expected, token("b", 1)]));
    assert_eq!(h.store().remove_token("a".to_owned()).wait(), Ok(true));
    assert_eq!(h.store().remove_token("a".to_owned()).wait(), Ok(false));
    assert_eq!(h.store().tokens().wait(), Ok(vec![token("b", 1)]));
}

pub fn audit(h: &mut Harness) {
    let row = |n: u64, token: &str, path: &str| AuditRow {
        id: id(n),
        token: token.to_owned(),
        role: "admin".to_owned(),
        address: "127.0.0.1".to_owned(),
        method: "POST".to_owned(),
        path: path.to_owned(),
        status: 200,
        node: 3,
    };
    let rows = [
        row(1, "a", "/v1/queues/x/suspend"),
        row(2, "b", "/v1/queues/x_/resume"),
        row(3, "a", "/v1/tokens"),
    ];
    for row in &rows {
        h.store().audit(row.clone()).wait().unwrap();
    }
    h.reopen();
    let all = AuditSearch {
        below: u64::MAX,
        limit: 10,
        ..AuditSearch::default()
    };
    let found = |h: &Harness, search: AuditSearch| h.store().audited(search).wait().unwrap();
    let newest_first: Vec<AuditRow> = rows.iter().rev().cloned().collect();
    assert_eq!(found(h, all.clone()), newest_first);
    let page = AuditSearch {
        limit: 1,
        below: id(3),
        ..all.clone()
    };
    assert_eq!(found(h, page), newest_first[1..2]);
    let of_a = AuditSearch {
        token: Some("a".to_owned()),
        from: id(2),
        ..all.clone()
    };
    assert_eq!(found(h, of_a), newest_first[..1]);
    // No sign in a path means anything but itself.
    let below = AuditSearch {
        path: Some("/v1/queues/x_".to_owned()),
        ..all.clone()
    };
    assert_eq!(found(h, below), newest_first[1..2]);
    assert_eq!(h.store().forget_audit(id(3), 1).wait(), Ok(1));
    assert_eq!(h.store().forget_audit(id(3), 10).wait(), Ok(1));
    assert_eq!(found(h, all), newest_first[..1]);
}
