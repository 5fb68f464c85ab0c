//! Rows that are not as they were written: whatever was changed in them, nothing of them is used.

use bytes::Bytes;
use smsc::pb::{MessageState, Moved};
use smsc::store::damage::DamageSearch;
use smsc::store::failed::ParkedSearch;
use smsc::store::{ChangeKind, ChangeRow, FinRow, ParkedRow, WriteBatch};

use super::{Harness, fin_row, id, sent_row};

/// Tables and ids of what was found since the last call, in order.
fn found(h: &Harness) -> Vec<(String, u64)> {
    let mut found: Vec<_> = h.store().take_damage().into_iter().collect();
    found.sort_by(|one, other| (one.id, &one.table).cmp(&(other.id, &other.table)));
    found.into_iter().map(|row| (row.table, row.id)).collect()
}

fn in_table(table: &str, ids: impl IntoIterator<Item = u64>) -> Vec<(String, u64)> {
    let ids = ids.into_iter();
    ids.map(|id| (table.to_owned(), id)).collect()
}

/// Changes one column of a row each, looks, and changes it back.
fn each_of(
    h: &mut Harness,
    table: &str,
    columns: &[(&str, &str)],
    look: impl Fn(&mut Harness, &str),
) {
    for (column, other) in columns {
        let later = match table {
            "sent" | "resent" => " AND attempt = 2",
            _ => "",
        };
        let row = format!("WHERE id = {}{later}", id(1));
        let set = |value: &str| format!("UPDATE {table} SET {column} = {value} {row}");
        h.factory.execute(&format!(
            "CREATE TABLE kept AS SELECT {column} AS value FROM {table} {row}"
        ));
        h.factory.execute(&set(other));
        h.reopen();
        look(h, column);
        h.factory.execute(&set("(SELECT value FROM kept)"));
        h.factory.execute("DROP TABLE kept");
    }
}

pub fn messages(h: &mut Harness) {
    h.accept([id(1), id(2)]);
    let (old, empty) = (h.factory.blob("7801"), h.factory.blob(""));
    let mut columns = vec![
        ("at", "at + 1"),
        ("sender", "2"),
        ("queue", "8"),
        ("priority", "2"),
        ("due_at", "6"),
        ("expires_at", "0"),
        ("source", "'SENDES'"),
        ("destination", "'417w1'"),
        ("numbering", "numbering + 1"),
        ("body", old),
        ("body", empty),
    ];
    columns.extend(h.factory.own_columns());
    each_of(h, "msg", &columns, |h, column| {
        let loaded = h.store().load(vec![id(2), id(1)]).wait().unwrap();
        // An old body without a checksum is no damage.
        let is_old = loaded[1]
            .as_ref()
            .is_some_and(|one| one.message.esm_class == 1);
        assert!(
            loaded[0].is_some() && (is_old || loaded[1].is_none()),
            "{column}"
        );
        assert_eq!(
            h.store().history(id(1)).wait().unwrap().is_some(),
            is_old,
            "{column}"
        );
        let expected = in_table("msg", (!is_old).then_some(id(1)));
        assert_eq!(found(h), expected, "{column}");
        assert_eq!(found(h), [], "once");
        let unfinished = h.store().unfinished(vec![id(1), id(2), id(3)]).wait();
        assert_eq!(unfinished.unwrap(), [id(1), id(2)]);
    });
    h.reopen();
    let loaded = h.store().load(vec![id(1)]).wait().unwrap();
    assert_eq!(loaded[0].as_ref().unwrap().message, super::message(id(1)));
}

pub fn attempts(h: &mut Harness) {
    h.accept([id(1), id(2)]);
    let again = |id| vec![sent_row(id, 1, 8, ""), sent_row(id, 2, 0, "theirs")];
    h.sent(again(id(1)));
    h.sent(again(id(2)));
    // A number that is taken is changed by the store, and with it the checksum.
    h.sent(vec![sent_row(id(2), 2, 0, "others")]);
    h.reopen();
    assert_eq!(h.active_ids(), [id(1), id(2)]);
    assert_eq!(found(h), []);
    let table = h.factory.later_attempts();
    let columns = [
        ("at", "at + 1"),
        ("operator", "4"),
        ("status", "8"),
        ("operator_message_id", "'theirt'"),
        ("latency_ms", "13"),
        ("bind", "18"),
    ];
    each_of(h, table, &columns, |h, column| {
        assert_eq!(h.active_ids(), [id(2)], "{column}");
        let loaded = h.store().load(vec![id(1), id(2)]).wait().unwrap();
        assert!(loaded[0].is_none() && loaded[1].is_some(), "{column}");
        assert_eq!(found(h), in_table("sent", [id(1)]), "{column}");
    });
    // What has ended stays so.
    h.fin([id(1)], 4);
    each_of(h, table, &columns[..1], |h, column| {
        assert_eq!(h.active_ids(), [id(1), id(2)], "its receipt is owed");
        let history = h.store().history(id(1)).wait().unwrap().unwrap();
        assert_eq!(history.attempts.len(), 1, "{column}");
    });
}

pub fn ends(h: &mut Harness) {
    h.accept([id(1), id(2)]);
    h.fin([id(1), id(2)], 4);
    let columns = [
        ("at", "at + 1"),
        ("state", "5"),
        ("error", "'001'"),
        ("operator", "4"),
        ("tell", "5"),
        ("done_at", "7"),
    ];
    each_of(h, "fin", &columns, |h, column| {
        assert_eq!(h.active_ids(), [id(2)], "{column}: nobody else is told");
        let loaded = h.store().load(vec![id(1), id(2)]).wait().unwrap();
        let ends: Vec<FinRow> = loaded.into_iter().filter_map(|one| one?.fin).collect();
        assert_eq!(ends[0].state, MessageState::Unknown, "{column}");
        assert_eq!((&ends[0].error[..], ends[0].tell), (&b"damaged"[..], 0));
        assert_eq!(ends[1], fin_row(id(2), 4));
        assert_eq!(found(h), in_table("fin", [id(1)]), "{column}");
        assert!(h.store().unfinished(vec![id(1)]).wait().unwrap().is_empty());
        let untold = h.store().untold(vec![id(1), id(3)]).wait().unwrap();
        assert_eq!(untold, [id(1)], "{column}");
    });
    h.write(WriteBatch {
        told: vec![id(1)],
        ..WriteBatch::default()
    });
    let untold = h.store().untold(vec![id(1), id(2)]).wait().unwrap();
    assert_eq!(untold, [id(2)]);
}

pub fn changes(h: &mut Harness) {
    h.accept([id(1), id(2)]);
    let body = prost::Message::encode_to_vec(&Moved {
        towards: 9,
        ..Moved::default()
    });
    let moved = |id| ChangeRow {
        id,
        at: 3,
        kind: ChangeKind::Move,
        queue: 8,
        by: "alice".to_owned(),
        expires_at: 0,
        body: Bytes::from(body.clone()),
    };
    h.write(WriteBatch {
        change: vec![moved(id(1)), moved(id(2))],
        ..WriteBatch::default()
    });
    let columns = [
        ("at", "at + 1"),
        ("kind", "2"),
        ("kind", "5"),
        ("queue", "9"),
        ("by", "'alicf'"),
        ("expires_at", "7"),
    ];
    each_of(h, "change", &columns, |h, column| {
        assert_eq!(h.active_ids(), [id(2)], "{column}");
        let loaded = h.store().load(vec![id(1), id(2)]).wait().unwrap();
        assert!(loaded[0].is_none(), "{column}");
        let other = loaded[1].as_ref().unwrap();
        assert_eq!((other.queue, other.message.towards), (8, 9));
        assert_eq!(found(h), in_table("change", [id(1)]), "{column}");
    });
    let history = h.store().history(id(1)).wait().unwrap().unwrap();
    assert_eq!(history.changes, [moved(id(1))]);
}

pub fn parked(h: &mut Harness) {
    let row = |id| ParkedRow {
        id,
        operator: 3,
        operator_message_id: super::text("theirs"),
        at: 4,
        receipt: super::text("receipt"),
    };
    h.write(WriteBatch {
        park: vec![row(id(1)), row(id(2))],
        ..WriteBatch::default()
    });
    let blob = h.factory.blob("00");
    let columns = [
        ("operator", "4"),
        ("operator_message_id", "'theirt'"),
        ("at", "5"),
        ("receipt", blob),
    ];
    each_of(h, "parked", &columns, |h, column| {
        assert_eq!(h.store().parked(10).unwrap(), [row(id(2))], "{column}");
        let search = ParkedSearch {
            limit: 10,
            ..ParkedSearch::default()
        };
        assert_eq!(h.store().unmatched(search).wait().unwrap(), [row(id(2))]);
        assert_eq!(found(h), in_table("parked", [id(1)]), "{column}");
    });
    h.write(WriteBatch {
        unpark: vec![id(1), id(2)],
        ..WriteBatch::default()
    });
}

pub fn list(h: &mut Harness) {
    h.accept([id(1), id(2)]);
    h.factory.execute(&format!(
        "UPDATE msg SET destination = '447700900123' WHERE id = {}",
        id(1)
    ));
    assert!(h.store().load(vec![id(1)]).wait().unwrap()[0].is_none());
    let rows = h.store().take_damage();
    let legible = format!("from {} to {}", masked("SENDER"), masked("447700900123"));
    assert_eq!(rows[0].legible, legible);
    h.store().list_damage(rows.clone(), 5).wait().unwrap();
    h.store().list_damage(rows.clone(), 6).wait().unwrap();
    let other = smsc::store::damage::DamagedRow::new("sent", id(1), "why");
    h.store()
        .list_damage(vec![other.clone()], 7)
        .wait()
        .unwrap();
    h.reopen();
    assert_eq!(h.store().count_damage().wait().unwrap(), 2);
    let page = |after, limit| {
        let search = DamageSearch {
            id: None,
            after,
            limit,
        };
        h.store().listed_damage(search).wait().unwrap()
    };
    let all = page(None, 10);
    assert_eq!((&all[0].row, all[0].found_at), (&rows[0], 5));
    assert_eq!((&all[1].row, all[1].found_at), (&other, 7));
    assert_eq!(page(None, 1), all[..1]);
    assert_eq!(page(Some((id(1), "msg".to_owned())), 10), all[1..]);
    let search = DamageSearch {
        id: Some(id(2)),
        after: None,
        limit: 10,
    };
    assert_eq!(h.store().listed_damage(search).wait().unwrap(), []);
    let one = Some(("sent".to_owned(), id(1)));
    assert_eq!(h.store().unlist_damage(one.clone()).wait().unwrap(), 1);
    assert_eq!(h.store().unlist_damage(one).wait().unwrap(), 0);
    assert_eq!(h.store().unlist_damage(None).wait().unwrap(), 1);
    assert_eq!(h.store().count_damage().wait().unwrap(), 0);
    let right = super::message(id(1)).destination;
    let right = std::str::from_utf8(&right).unwrap();
    h.factory.execute(&format!(
        "UPDATE msg SET destination = '{right}' WHERE id = {}",
        id(1)
    ));
}

fn masked(address: &str) -> String {
    smsc::domain::address::mask(address.as_bytes())
}
