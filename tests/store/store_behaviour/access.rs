//! Cases about the admin API: its tokens, its audit log, the opt-out lists and the history of messages.

use smsc::domain::access::{AccessRole, KeyRole};
use smsc::domain::period::{HOUR_MS, MINUTE_MS};
use smsc::domain::settings::{ResourceKey, ResourceKind, ResourceUpdate};
use smsc::store::access::{AuditRow, AuditSearch, TokenRow};
use smsc::store::incidents::{IncidentRow, MOST};
use smsc::store::keys::ApiKeyRow;
use smsc::store::logins::LoginRow;
use smsc::store::notes::NoteRow;
use smsc::store::opt_out::{OptOutRow, OptOutSearch, REMEMBERED};
use smsc::store::settings::Edit;
use smsc::store::traffic::{TrafficRow, TrafficSize};

use super::{Harness, id};

fn token(name: &str, first: u8) -> TokenRow {
    TokenRow {
        name: name.to_owned(),
        hash: [first; 32],
        role: AccessRole::Operate,
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
    let of_hash = |first| h.store().token_of([first; 32]).wait();
    assert_eq!(of_hash(2), Ok(Some(expected.clone())));
    assert_eq!(of_hash(3), Ok(None));
    assert_eq!(h.store().tokens().wait(), Ok(vec![expected, token("b", 1)]));
    assert_eq!(h.store().remove_token("a".to_owned()).wait(), Ok(true));
    assert_eq!(h.store().remove_token("a".to_owned()).wait(), Ok(false));
    assert_eq!(h.store().tokens().wait(), Ok(vec![token("b", 1)]));
}

pub fn api_keys(h: &mut Harness) {
    let key = |id: &str, account: &str, first: u8| ApiKeyRow {
        id: id.to_owned(),
        account: account.to_owned(),
        label: "web shop".to_owned(),
        hash: [first; 32],
        role: KeyRole::Send,
        allow: vec!["10.0.0.0/8".to_owned(), "2001:db8::1".to_owned()],
        created_at: 1_700_000_000_000,
        created_by: "admin token from 127.0.0.1:1".to_owned(),
        expires_at: 1_800_000_000_000,
        used_at: 0,
    };
    let bare = ApiKeyRow {
        allow: Vec::new(),
        role: KeyRole::Both,
        ..key("k1", "b", 3)
    };
    assert_eq!(h.store().api_keys().wait(), Ok(Vec::new()));
    for one in [bare.clone(), key("k3", "a", 1), key("k2", "a", 2)] {
        assert_eq!(h.store().add_api_key(one).wait(), Ok(true));
    }
    let twice = h.store().add_api_key(key("k2", "c", 4)).wait();
    assert_eq!(twice, Ok(false), "the id is taken");
    let used = vec![("k2".to_owned(), 5_000), ("nobody".to_owned(), 1)];
    h.store().api_keys_used(used).wait().unwrap();
    h.reopen();
    let used = ApiKeyRow {
        used_at: 5_000,
        ..key("k2", "a", 2)
    };
    let all = vec![used.clone(), key("k3", "a", 1), bare.clone()];
    assert_eq!(h.store().api_keys().wait(), Ok(all));
    let of_hash = |first| h.store().api_key_of([first; 32]).wait();
    assert_eq!(of_hash(2), Ok(Some(used.clone())));
    assert_eq!(of_hash(4), Ok(None));
    let remove = |id: &str| h.store().remove_api_key(id.to_owned()).wait();
    assert_eq!(remove("k2"), Ok(Some(used)));
    assert_eq!(remove("k2"), Ok(None));
    let left = vec![key("k3", "a", 1), bare];
    assert_eq!(h.store().api_keys().wait(), Ok(left));
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
        detail: format!("detail of {n}"),
        version: n,
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
    // No character in a path is a wildcard.
    let below = AuditSearch {
        path: Some("/v1/queues/x_".to_owned()),
        ..all.clone()
    };
    assert_eq!(found(h, below), newest_first[1..2]);
    // Of one object: what has its path or one below it, and what is below that of its queue, however its colon is written.
    for (about, queue, wanted) in [
        ("/v1/queues/x", None, &newest_first[2..]),
        ("/v1/queues/x_", None, &newest_first[1..2]),
        (
            "/v1/tokens",
            Some("/v1/queues/x"),
            &[newest_first[0].clone(), newest_first[2].clone()][..],
        ),
    ] {
        let of_one = AuditSearch {
            about: Some(about.to_owned()),
            queue: queue.map(str::to_owned),
            ..all.clone()
        };
        assert_eq!(found(h, of_one), wanted, "{about}");
    }
    assert_eq!(h.store().forget_audit(id(3), 1).wait(), Ok(1));
    assert_eq!(h.store().forget_audit(id(3), 10).wait(), Ok(1));
    assert_eq!(found(h, all), newest_first[..1]);
}

pub fn notes(h: &mut Harness) {
    let note = |n: u64, about: &str| NoteRow {
        id: id(n),
        about: about.to_owned(),
        text: format!("line {n}\nand another"),
        by: "admin token from 127.0.0.1:1".to_owned(),
    };
    let rows = [
        note(1, "accounts/a"),
        note(2, "operators/a"),
        note(3, "accounts/a"),
    ];
    for row in &rows {
        h.store().add_note(row.clone()).wait().unwrap();
    }
    assert!(
        h.store().add_note(note(3, "accounts/b")).wait().is_err(),
        "the id is taken"
    );
    h.reopen();
    let found = |h: &Harness, about: Option<&str>, below, limit| {
        let about = about.map(str::to_owned);
        h.store().notes(about, below, limit).wait().unwrap()
    };
    let [first, second, third] = rows;
    assert_eq!(found(h, None, u64::MAX, 2), [third.clone(), second.clone()]);
    assert_eq!(found(h, None, id(2), 10), std::slice::from_ref(&first));
    let of_account = [third.clone(), first];
    assert_eq!(found(h, Some("accounts/a"), u64::MAX, 10), of_account);
    assert_eq!(found(h, Some("accounts/_"), u64::MAX, 10), []);
    assert_eq!(
        h.store().remove_note(id(1)).wait(),
        Ok(Some(of_account[1].clone()))
    );
    assert_eq!(h.store().remove_note(id(1)).wait(), Ok(None));
    assert_eq!(found(h, Some("accounts/a"), u64::MAX, 10), [third]);
}

pub fn incidents(h: &mut Harness) {
    let row = |n: u64, node: u8, about: &str| IncidentRow {
        id: id(n),
        node,
        about: about.to_owned(),
        kind: "refused".to_owned(),
        text: format!("refuses {n} %"),
        cause: "ESME_RINVSRCADR".to_owned(),
        began_at: 1_000,
        seen_at: 2_000,
        ..IncidentRow::default()
    };
    let (first, second) = (row(1, 1, "operator:a"), row(2, 2, "operator:a"));
    let kept = vec![first.clone(), second, row(3, 1, "operator:b")];
    let keep = |h: &Harness, rows: Vec<IncidentRow>| {
        // Nodes that are gone are silent for five seconds.
        h.store().keep_incidents(rows, 5_000).wait().unwrap();
    };
    keep(h, kept);
    let acknowledge = |h: &Harness, by: &str| {
        let (about, kind) = ("operator:a".to_owned(), "refused".to_owned());
        let by = by.to_owned();
        let done = h.store().acknowledge_incidents(about, kind, by, 2_500);
        done.wait()
    };
    assert_eq!(acknowledge(h, "anna"), Ok(2), "on both nodes");
    assert_eq!(acknowledge(h, "otto"), Ok(0), "somebody knows already");
    let goes_on = IncidentRow {
        text: "refuses 50 %".to_owned(),
        seen_at: 3_000,
        ..first
    };
    keep(h, vec![goes_on]);
    let overlaps = row(4, 2, "operator:a");
    let later = IncidentRow {
        began_at: 10_000,
        seen_at: 10_000,
        ..row(5, 2, "operator:a")
    };
    let of_other = vec![overlaps, later];
    keep(h, of_other);
    // The first node is gone, and another one has its messages.
    let taken_over = IncidentRow {
        began_at: 7_000,
        seen_at: 7_000,
        ..row(6, 3, "operator:a")
    };
    keep(h, vec![taken_over]);
    h.reopen();
    h.store().end_incidents_of(1).wait().unwrap();
    let found = h.store().incidents().wait().unwrap();
    let brief = |row: &IncidentRow| (row.id, row.ended_at, row.acknowledged_by.clone());
    let found: Vec<_> = found.iter().map(brief).collect();
    let expected = [
        (id(6), 0, "anna".to_owned()),
        (id(5), 0, String::new()),
        (id(4), 0, "anna".to_owned()),
        (id(3), 2_000, String::new()),
        (id(2), 0, "anna".to_owned()),
        (id(1), 3_000, "anna".to_owned()),
    ];
    assert_eq!(found, expected);

    let seen = |seen_at: i64, row: IncidentRow| IncidentRow { seen_at, ..row };
    let many = 10..10 + MOST as u64;
    let ended = many.clone().map(|n| IncidentRow {
        ended_at: 20_000,
        ..seen(20_000, row(n, 1, "operator:a"))
    });
    keep(h, ended.collect());
    let left = |h: &Harness| -> Vec<u64> {
        let left = h.store().incidents().wait().unwrap();
        left.iter().map(|row| row.id).collect()
    };
    let all = left(h);
    assert_eq!(all.len(), MOST + 4, "those that go on and the last ones");
    let go_on = [id(6), id(5), id(4), id(2)];
    assert_eq!(all[MOST..], go_on, "old, and they go on");
    // As many operators fail together, on a later day.
    let day = 86_400_000;
    let together = many.map(|n| seen(20_001 + day, row(1_000 + n, 1, "operator:a")));
    keep(h, together.collect());
    let all = left(h);
    assert_eq!(
        all.len(),
        2 * MOST,
        "what no node has found for long is forgotten"
    );
    assert_eq!(all[2 * MOST - 1], id(10));
    // It ended when a clock that was days ahead was set back.
    let ahead = IncidentRow {
        ended_at: 9 * day,
        ..seen(9 * day, row(5_000, 1, "operator:a"))
    };
    let now = seen(20_002 + day, row(5_001, 1, "operator:c"));
    keep(h, vec![ahead, now]);
    assert!(left(h).contains(&id(5_001)));
}

pub fn traffic(h: &mut Harness) {
    let row = |step: i64, at: i64, node: u8, first: u8| TrafficRow {
        step,
        at,
        node,
        counts: vec![first, 0, 0xFF],
    };
    // The first and the last minute of an hour, and the one behind it.
    let (first, last, next) = (HOUR_MS, 2 * HOUR_MS - MINUTE_MS, 2 * HOUR_MS);
    let minutes = [(first, 1), (first, 2), (last, 1), (next, 2)];
    for (at, node) in minutes {
        let minute = row(MINUTE_MS, at, node, 7);
        h.store().keep_traffic(minute).wait().unwrap();
    }
    let again = row(MINUTE_MS, first, 1, 8);
    h.store().keep_traffic(again.clone()).wait().unwrap();
    let hour = row(HOUR_MS, first, 1, 9);
    h.store().keep_traffic(hour.clone()).wait().unwrap();
    h.reopen();
    let found =
        |h: &Harness, step, began, node| h.store().traffic(step, began, node).wait().unwrap();
    let of_hour = found(h, MINUTE_MS, first..next, None);
    let expected = [
        again,
        row(MINUTE_MS, first, 2, 7),
        row(MINUTE_MS, last, 1, 7),
    ];
    assert_eq!(of_hour, expected);
    assert_eq!(found(h, MINUTE_MS, first..next, Some(2)), expected[1..2]);
    assert_eq!(found(h, HOUR_MS, 0..i64::MAX, None), [hour]);
    let without = |h: &Harness, before| h.store().hours_without_row(before).wait().unwrap();
    assert_eq!(without(h, i64::MAX), [(first, 2), (next, 2)]);
    assert_eq!(without(h, next), [(first, 2)]);
    let size = h.store().traffic_size().wait().unwrap();
    assert_eq!((size.rows, size.octets), (5, 15));
    assert_eq!(h.store().forget_traffic(last, first).wait(), Ok(2));
    assert_eq!(h.store().forget_traffic(i64::MAX, i64::MAX).wait(), Ok(3));
    let size = h.store().traffic_size().wait().unwrap();
    assert_eq!(size, TrafficSize::default());
}

pub fn logins(h: &mut Harness) {
    let login = |account: &str, at: i64| LoginRow {
        account: account.to_owned(),
        at,
        address: "192.0.2.1".to_owned(),
        bind_type: "transceiver".to_owned(),
        node: 3,
    };
    let both = vec![login("a", 2_000), login("b", 1_000)];
    let keep = |h: &Harness, rows| h.store().keep_logins(rows, 10_000).wait().unwrap();
    keep(h, both);
    // Another node has stored a later one before.
    keep(h, vec![login("b", 3_000), login("a", 1_000)]);
    // A clock was ahead, and is right again.
    keep(h, vec![login("d", 10_001), login("e", 10_000)]);
    keep(h, vec![login("d", 4_000), login("e", 4_000)]);
    h.reopen();
    let of = |account: &str| h.store().login_of(account.to_owned()).wait().unwrap();
    assert_eq!(of("a"), Some(login("a", 2_000)));
    assert_eq!(of("b"), Some(login("b", 3_000)));
    assert_eq!(of("c"), None);
    assert_eq!(of("d"), Some(login("d", 4_000)));
    assert_eq!(of("e"), Some(login("e", 10_000)));
    h.store().forget_login("a".to_owned()).wait().unwrap();
    assert_eq!((of("a"), of("b").is_some()), (None, true));
    // Of b, d and e only b is in the configuration.
    let account = ResourceUpdate {
        key: ResourceKey::new(ResourceKind::Account, "b"),
        before: None,
        after: Some("{}".to_owned()),
    };
    let edit = Edit {
        expected: h.store().settings_version().wait().unwrap(),
        at: 1_000,
        who: "somebody".to_owned(),
        what: "b is added".to_owned(),
        changes: vec![account],
    };
    assert!(h.store().edit_settings(edit).wait().unwrap().is_some());
    assert_eq!(h.store().sweep_logins().wait(), Ok(2));
    assert_eq!((of("b").is_some(), of("d"), of("e")), (true, None, None));
    assert_eq!(h.store().sweep_logins().wait(), Ok(0));
}

pub fn opt_outs(h: &mut Harness) {
    let day = REMEMBERED;
    let row = |account: &str, number: &str, out: bool, at: i64| OptOutRow {
        account: account.to_owned(),
        number: number.to_owned(),
        out,
        at,
        who: "somebody".to_owned(),
        version: 0,
    };
    let set = |h: &Harness, row: OptOutRow| h.store().set_opt_out(row).wait().unwrap();
    let after = |h: &Harness, version: u64, limit: usize| {
        let rows = h.store().opt_outs_after(version, limit).wait().unwrap();
        let brief = |row: OptOutRow| (row.version, row.account, row.number, row.out);
        rows.into_iter().map(brief).collect::<Vec<_>>()
    };
    let brief = |version: u64, account: &str, number: &str, out: bool| {
        (version, account.to_owned(), number.to_owned(), out)
    };
    assert_eq!(after(h, 0, 9), []);
    assert!(!set(h, row("a", "1", false, 1)), "it was on no list");
    assert!(set(h, row("a", "1", true, 2)));
    assert!(!set(h, row("a", "1", true, 3)), "it was there");
    assert!(set(h, row("", "1", true, 4)));
    assert!(set(h, row("b", "2", true, 5)));
    h.reopen();
    let all = [
        brief(1, "a", "1", true),
        brief(2, "", "1", true),
        brief(3, "b", "2", true),
    ];
    assert_eq!(after(h, 0, 9), all);
    assert_eq!(after(h, 1, 1), all[1..2]);
    let found = |h: &Harness, account: Option<&str>, number: Option<&str>, below: u64| {
        let search = OptOutSearch {
            account: account.map(str::to_owned),
            number: number.map(str::to_owned),
            below,
            limit: 2,
        };
        let rows = h.store().opt_outs(search).wait().unwrap();
        rows.into_iter().map(|row| row.version).collect::<Vec<_>>()
    };
    assert_eq!(found(h, None, None, u64::MAX), [3, 2]);
    assert_eq!(found(h, None, None, 2), [1]);
    assert_eq!(found(h, Some("a"), None, u64::MAX), [1]);
    assert_eq!(found(h, None, Some("1"), u64::MAX), [2, 1]);
    // A removal is reported as a change, and forgotten a day later; versions are never reused.
    assert!(set(h, row("b", "2", false, 6)));
    assert_eq!(found(h, None, None, u64::MAX), [2, 1]);
    assert_eq!(after(h, 3, 9), [brief(4, "b", "2", false)]);
    assert!(set(h, row("a", "1", false, 6 + day + 1)));
    assert_eq!(
        after(h, 0, 9),
        [brief(2, "", "1", true), brief(5, "a", "1", false)]
    );
    assert!(set(h, row("c", "3", true, 8 + 3 * day)));
    assert_eq!(after(h, 4, 9), [brief(6, "c", "3", true)]);
}
