//! Damaged rows of tables beside those of messages: events, call detail records, and what could not be written.

use smsc::store::damage::DamageStore;
use smsc::store::outbox::{
    CdrRow, EventReader, OutboxStore, ReaderOutcome, TakeEvents, TakenEvents,
};

use super::*;

const DIGITS: &str = "447700900001";

/// The events that call detail records are to be written of.
pub fn take(store: &impl OutboxStore) -> Option<TakenEvents> {
    let take = TakeEvents {
        reader: EventReader::Cdr,
        holder: "here".to_owned(),
        now: 1_000_000,
        abandoned: 0,
        limit: 100,
        only_own: false,
    };
    store.take_events(take).wait().expect("answers")
}

fn record(n: u64) -> CdrRow {
    CdrRow {
        id: id(n),
        from: "ACME".to_owned(),
        to: format!("+{DIGITS}"),
        state: MessageState::Delivered,
        ..CdrRow::default()
    }
}

fn change(folder: &Path, sql: &str) {
    let store = Connection::open(folder.join(MAIN_FILE)).expect("opens");
    assert_eq!(store.execute(sql, []), Ok(1), "{sql}");
}

fn problems(folder: &Path) -> Vec<String> {
    fsck(folder).expect("reads").problems
}

#[test]
fn damaged_events_and_records_are_found_and_not_used() {
    let folder = folder();
    let store = open(folder.path());
    store.write_events_for(&[EventReader::Cdr]);
    for n in 1..=3 {
        let batch = WriteBatch {
            accept: vec![message(id(n))],
            fin: vec![FinRow::damaged(id(n))],
            ..WriteBatch::default()
        };
        store.write(batch).wait().expect("writes");
    }
    drop(store);
    assert_eq!(problems(folder.path()), [""; 0]);
    change(
        folder.path(),
        "UPDATE outbox SET ids = CAST(substr(ids, 1, 7) || x'00' AS BLOB) WHERE row = 2",
    );
    let said = "outbox row number 2: its content does not match its checksum";
    assert_eq!(problems(folder.path()), [said]);

    let store = open(folder.path());
    store.write_events_for(&[EventReader::Cdr]);
    let taken = take(&store).expect("events");
    assert_eq!(taken.ids, [id(1), id(3)]);
    let noted = store.take_damage();
    assert_eq!(
        (noted.len(), &*noted[0].table, noted[0].id),
        (1, "outbox", 2)
    );
    let records = ReaderOutcome::Records(vec![record(1), record(3)]);
    assert_eq!(store.finish_events(taken.claim, records).wait(), Ok(true));
    assert_eq!(take(&store), None, "the damaged one is finished, too");
    // Erasure writes checksums anew.
    assert_eq!(store.erase_records(DIGITS.to_owned()).wait(), Ok(2));
    drop(store);
    assert_eq!(problems(folder.path()), [""; 0]);
    let damaged = id(3);
    change(
        folder.path(),
        &format!("UPDATE cdr SET price = 7 WHERE id = {damaged}"),
    );
    let said = format!("cdr row of message {damaged}: its content does not match its checksum");
    assert_eq!(problems(folder.path()), std::slice::from_ref(&said));
    let store = open(folder.path());
    assert_eq!(store.erase_records("(erased)".to_owned()).wait(), Ok(2));
    drop(store);
    assert_eq!(problems(folder.path()), [said], "it stays so");
}

#[test]
fn a_damaged_row_that_could_not_be_written_is_found() {
    let folder = folder();
    let hooks = Hooks {
        before_row: Some(Box::new(|table, _| {
            assert_ne!(table, "fin", "a row that cannot be written");
        })),
        ..Hooks::default()
    };
    let store = SqliteStore::open_with(options(folder.path()), hooks).expect("opens");
    let batch = WriteBatch {
        accept: vec![message(id(1))],
        fin: vec![FinRow::damaged(id(1))],
        ..WriteBatch::default()
    };
    let written = store.write(batch).wait().expect("writes");
    assert_eq!(written.rejected.len(), 1);
    drop(store);
    assert_eq!(problems(folder.path()), [""; 0]);
    change(folder.path(), "UPDATE dead SET reason = reason || '.'");
    let said = "dead row number 1: its content does not match its checksum";
    assert_eq!(problems(folder.path()), [said]);
}
