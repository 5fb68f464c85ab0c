//! From which id on a row without a checksum is damaged, while nodes of the release before come and go.

use std::collections::BTreeSet;

use bytes::Bytes;
use smsc::pb::{MessageState, Moved};
use smsc::store::archive::ArchiveStore as _;
use smsc::store::damage::DamageStore as _;
use smsc::store::failed::{FailedStore as _, ParkedSearch};
use smsc::store::{ChangeKind, ChangeRow, FinRow, ParkedRow, SentRow, Store as _, WriteBatch};

use super::database::{Database, Node, Session};
use super::{accept, id};

const NONE: &str = "9223372036854775807";
const SOMEBODY_WAITS: &str = "EXISTS(SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock')";

fn mark(session: &Session) -> String {
    session.value("SELECT value FROM meta WHERE key = 'checksums_from'")
}

fn janitor(node: &Node) {
    node.store.advance_low_water().wait().expect("moves");
}

/// A message with a row in each table that has checksums.
fn write_all(node: &Node, id: u64) {
    let change = |kind, body: Vec<u8>| ChangeRow {
        id,
        at: 5,
        kind,
        queue: 7,
        by: "alice".to_owned(),
        expires_at: 0,
        body: body.into(),
    };
    let moved = Moved {
        towards: 9,
        ..Moved::default()
    };
    let batch = WriteBatch {
        sent: vec![SentRow {
            id,
            attempt: 1,
            at: 5,
            operator: 3,
            status: 0,
            operator_message_id: Bytes::from_static(b"theirs"),
            latency_ms: 3,
            correlation: 0,
            bind: 0,
            known_as: None,
        }],
        fin: vec![FinRow {
            state: MessageState::Delivered,
            ..FinRow::damaged(id)
        }],
        change: vec![
            change(ChangeKind::Cancel, Vec::new()),
            change(ChangeKind::Move, prost::Message::encode_to_vec(&moved)),
        ],
        park: vec![ParkedRow {
            id: id + 1,
            operator: 3,
            operator_message_id: Bytes::from_static(b"theirs"),
            at: 4,
            receipt: Bytes::from_static(b"receipt"),
        }],
        ..accept(id)
    };
    assert_eq!(node.store.write(batch).wait(), Ok(Default::default()));
}

/// Makes rows ones of the release before, or takes their checksums away behind the database's back.
fn unsum(session: &Session, id: u64) {
    let bare = "substring(body FROM 7)";
    session.run("SET session_replication_role = replica");
    for table in ["sent", "fin", "change"] {
        session.run(&format!(
            "UPDATE {table} SET checksum = NULL WHERE id = {id}"
        ));
    }
    session.run(&format!(
        "UPDATE parked SET checksum = NULL WHERE id = {id} + 1;
         UPDATE msg SET body = {bare} || '\\x1800' WHERE id = {id};
         UPDATE change SET body = {bare} WHERE id = {id} AND kind = 1;
         SET session_replication_role = origin"
    ));
}

/// In which tables something of these messages is damaged, by a reader that has found nothing yet.
fn damaged(database: &Database, id: u64) -> BTreeSet<String> {
    let store = database.store();
    let history = store.history(id).wait().expect("reads");
    let is_whole = history.is_some();
    let search = ParkedSearch {
        limit: 10,
        ..ParkedSearch::default()
    };
    store.unmatched(search).wait().expect("reads");
    store.load(vec![id]).wait().expect("reads");
    let rows = store.take_damage().into_iter();
    let tables: BTreeSet<String> = rows
        .filter(|row| row.id / 2 == id / 2)
        .map(|row| row.table)
        .collect();
    assert_eq!(is_whole, !tables.contains("msg"));
    tables
}

fn all() -> BTreeSet<String> {
    ["change", "fin", "msg", "parked", "sent"]
        .map(str::to_owned)
        .into()
}

#[test]
fn a_row_without_a_checksum_is_damaged_once_all_nodes_write_them() {
    let database = Database::new();
    let (session, node) = (database.session(), database.node());
    let [old, new, later] = [1_000, 2_000, 3_000].map(id);
    write_all(&node, old);
    unsum(&session, old);
    assert_eq!(mark(&session), NONE);
    janitor(&node);
    assert_eq!(mark(&session), (old + 2).to_string());
    write_all(&node, new);
    janitor(&node);
    assert_eq!(mark(&session), (old + 2).to_string(), "it stays");
    assert_eq!(damaged(&database, new), BTreeSet::new());
    unsum(&session, new);
    assert_eq!(damaged(&database, new), all());
    assert_eq!(damaged(&database, old), BTreeSet::new());

    // A node of the release before joins, and what it writes is sound, also after it has left.
    session.run("INSERT INTO lane(node, epoch, lane, seq) VALUES(9, 9, 0, 0), (9, 9, 1, 0)");
    assert_eq!(mark(&session), NONE);
    write_all(&node, later);
    unsum(&session, later);
    janitor(&node);
    assert_eq!(mark(&session), NONE, "it is there");
    session.run("DELETE FROM lane WHERE node = 9");
    janitor(&node);
    assert_eq!(mark(&session), (later + 2).to_string());
    assert_eq!(damaged(&database, later), BTreeSet::new());
    assert_eq!(damaged(&database, old), BTreeSet::new());
    let newest = id(4_000);
    write_all(&node, newest);
    unsum(&session, newest);
    assert_eq!(damaged(&database, newest), all());
}

#[test]
fn who_joins_and_who_sets_the_mark_wait_for_one_another() {
    let database = Database::new();
    let (session, node) = (database.session(), database.node());
    write_all(&node, id(1_000));
    session.run("BEGIN; INSERT INTO lane(node, epoch, lane, seq) VALUES(9, 9, 0, 0)");
    let setting = node.store.advance_low_water();
    let other = database.session();
    other.wait_until(SOMEBODY_WAITS);
    session.run("COMMIT");
    setting.wait().expect("moves");
    assert_eq!(mark(&session), NONE);

    // The same the other way round.
    session.run("DELETE FROM lane WHERE node = 9");
    session.run("BEGIN; UPDATE meta SET value = 5 WHERE key = 'checksums_from'");
    let url = database.url.clone();
    let joining = std::thread::spawn(move || {
        Session::open(&url).run("INSERT INTO lane(node, epoch, lane, seq) VALUES(9, 9, 0, 0)");
    });
    other.wait_until(SOMEBODY_WAITS);
    session.run("COMMIT");
    joining.join().expect("joins");
    assert_eq!(mark(&session), NONE);
}

#[test]
fn what_the_release_before_does_without_being_a_member_withdraws_the_mark() {
    let database = Database::new();
    let (session, node) = (database.session(), database.node());
    write_all(&node, id(1_000));
    for done in [
        "UPDATE msg SET body = '\\x1800'",
        "INSERT INTO meta VALUES('move_msg', 0); DELETE FROM meta WHERE key = 'move_msg'",
        // A process that uses the lanes of the one before it.
        "INSERT INTO lane SELECT node, epoch, lane, 0 FROM lane ON CONFLICT(node, epoch, lane) DO UPDATE SET seq = 0",
    ] {
        janitor(&node);
        assert_ne!(mark(&session), NONE, "{done}");
        session.run(done);
        assert_eq!(mark(&session), NONE, "{done}");
    }
    // This one erases together with a new checksum.
    janitor(&node);
    let set = mark(&session);
    node.store.erase_text(i64::MAX, 10).wait().expect("erases");
    assert_eq!(mark(&session), set);
}
