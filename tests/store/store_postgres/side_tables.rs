//! Damaged rows of tables beside those of messages: events, call detail records, and what could not be written.

use smsc::pb::{EarlyEvent, EarlyKind};
use smsc::store::damage::DamageStore as _;
use smsc::store::moving::DeadRow;
use smsc::store::outbox::{CdrRow, EventReader, OutboxStore as _, ReaderOutcome, TakenEvents};
use smsc::store::sinks::{ENDED, SinkEvent, SinkStore as _, Wants, bit};

use super::*;
use crate::store_sqlite::side_tables::take;

const DIGITS: &str = "447700900001";
const SINK: i16 = 101;

fn finish(store: &PgStore, taken: TakenEvents, outcome: ReaderOutcome) {
    let finished = store.finish_events(taken.claim, outcome).wait();
    assert_eq!(finished, Ok(true));
}

fn record(n: u64) -> CdrRow {
    CdrRow {
        id: id(n),
        account: "account".to_owned(),
        is_mo: n % 2 == 1,
        from: "ACME".to_owned(),
        to: format!("+{DIGITS}"),
        done_at: n as i64,
        state: MessageState::Delivered,
        parts: 1,
        replay_of: n,
        client_reference: "theirs".to_owned(),
        ..CdrRow::default()
    }
}

fn ends(fin: Vec<FinRow>) -> WriteBatch {
    WriteBatch {
        fin,
        ..WriteBatch::default()
    }
}

fn found(store: &PgStore) -> Vec<(String, u64)> {
    let found = store.take_damage().into_iter();
    found.map(|row| (row.table, row.id)).collect()
}

fn in_table(table: &str, id: u64) -> Vec<(String, u64)> {
    vec![(table.to_owned(), id)]
}

/// Commits that write events in each way: of ends that are new, that are not, and that are handed to other nodes.
fn end_in_each_way(store: &PgStore) {
    store
        .write(accept(&[1, 2, 3, 4, 5, 6, 7].map(id)))
        .wait()
        .unwrap();
    let each = |ids: &[u64]| ids.iter().map(|n| fin(id(*n), 0)).collect();
    store.write(ends(each(&[1, 2]))).wait().unwrap();
    let written = store.write(ends(each(&[2, 3, 4]))).wait().unwrap();
    assert_eq!(written.fin_lost, [id(2)]);
    let receipt = FinRow {
        remote_item: Bytes::from_static(b"receipt"),
        remote_part: 13,
        ..fin(id(5), 7)
    };
    let written = store.write(ends(vec![fin(id(4), 0), receipt, fin(id(6), 0)]));
    assert_eq!(written.wait().unwrap().fin_lost, [id(4)]);
}

#[test]
fn events_have_a_checksum_however_they_are_written() {
    let database = Database::migrated();
    let store = open(&database, |_| {});
    let early = bit(EarlyKind::Accepted) | bit(EarlyKind::Bound);
    store.write_events_for(&[EventReader::Cdr, EventReader::Usage]);
    let wants = |reader, kinds| Wants { reader, kinds };
    store.write_for_sinks(vec![wants(SINK, early | ENDED), wants(SINK + 1, early)]);
    end_in_each_way(&store);
    let bound = EarlyEvent {
        kind: EarlyKind::Bound.into(),
        at: 7,
        ..EarlyEvent::default()
    };
    store.add_early(vec![bound]).wait().unwrap();
    let without = "SELECT count(*) FROM outbox WHERE checksum IS NULL";
    assert_eq!(database.query(without), ["0"]);
    let taken = take(&store).expect("events");
    assert_eq!(taken.ids, [1, 2, 3, 4, 5, 6].map(id));
    let told = store.read_sink(SINK, 100).wait().unwrap().unwrap().events;
    assert_eq!(told.len(), 7 + 6 + 1);
    assert_eq!(found(&store), []);
}

#[test]
fn damaged_events_are_left_out_and_the_others_are_not() {
    let database = Database::migrated();
    let store = open(&database, |_| {});
    store.write_events_for(&[EventReader::Cdr]);
    store.write_for_sinks(vec![Wants {
        reader: SINK,
        kinds: bit(EarlyKind::Accepted) | ENDED,
    }]);
    end_in_each_way(&store);
    database.query("CREATE TABLE kept AS SELECT * FROM outbox");
    let row_of = |reader: i16, number: usize| -> u64 {
        let rows = format!("SELECT row FROM outbox WHERE reader = {reader} ORDER BY row");
        database.query(&rows)[number].parse().unwrap()
    };
    let damaged = row_of(1, 1);
    let of_sink = (row_of(SINK, 0), row_of(SINK, 2));
    for change in [
        "at = at + 1",
        "at = at + (1::bigint << 33)",
        "ids[2] = ids[2] # 4",
        "ids = ids[1:1]",
        "ids = '{}'",
        "ids[1] = NULL",
        "data = '\\x00'",
    ] {
        for row in [damaged, of_sink.0, of_sink.1] {
            database.query(&format!("UPDATE outbox SET {change} WHERE row = {row}"));
        }
        // Each process notes a row once.
        let store = open(&database, |_| {});
        let taken = take(&store).expect("events");
        assert_eq!(taken.ids, [1, 2, 5, 6].map(id), "{change}");
        assert_eq!(found(&store), in_table("outbox", damaged), "{change}");
        let told = store.read_sink(SINK, 100).wait().unwrap().unwrap();
        let all = [1, 2, 5, 6].map(|n| SinkEvent::Ended(id(n)));
        assert_eq!(told.events, all, "{change}");
        assert_eq!(found(&store).len(), 2, "{change}");
        database.query(
            "DELETE FROM outbox; INSERT INTO outbox OVERRIDING SYSTEM VALUE SELECT * FROM kept",
        );
    }
    // A node of the build before has written it.
    database.query(&format!(
        "UPDATE outbox SET checksum = NULL WHERE row = {damaged}"
    ));
    assert_eq!(
        take(&store).expect("events").ids,
        [1, 2, 3, 4, 5, 6].map(id)
    );
    database.query(&format!(
        "UPDATE outbox SET checksum = 7 WHERE row = {damaged}"
    ));
    let taken = take(&store).expect("events");
    assert_eq!(taken.ids, [1, 2, 5, 6].map(id));
    assert_eq!(found(&store), in_table("outbox", damaged));
    finish(&store, taken, ReaderOutcome::Elsewhere);
    assert_eq!(take(&store), None, "the damaged one is finished, too");
    let told = store.read_sink(SINK, 100).wait().unwrap().unwrap();
    assert_eq!(store.finish_sink(SINK, told.rows).wait(), Ok(4));
}

#[test]
fn erasure_writes_checksums_of_records_anew_and_leaves_damaged_ones_so() {
    let database = Database::migrated();
    let store = open(&database, |_| {});
    store.write_events_for(&[EventReader::Cdr]);
    store.write(accept(&[1, 2, 3, 4].map(id))).wait().unwrap();
    let all = [1, 2, 3, 4].map(|n| fin(id(n), 0)).to_vec();
    store.write(ends(all)).wait().unwrap();
    let records = [1, 2, 3, 4].map(record).to_vec();
    finish(
        &store,
        take(&store).expect("events"),
        ReaderOutcome::Records(records),
    );
    let checksums = || database.query("SELECT checksum FROM cdr ORDER BY id");
    let written = checksums();
    let erase = |digits: &str| store.erase_records(digits.to_owned()).wait();
    assert_eq!(erase("4477"), Ok(0));
    let damaged = id(3);
    database.query(&format!("UPDATE cdr SET price = 7 WHERE id = {damaged}"));
    database.query(&format!(
        "UPDATE cdr SET checksum = NULL WHERE id = {}",
        id(4)
    ));
    for digits in [DIGITS, "(erased)", "(erased)"] {
        assert_eq!(erase(digits), Ok(4));
        let left =
            "SELECT count(*) FROM cdr WHERE destination = '(erased)' AND client_reference = ''";
        assert_eq!(database.query(left), ["4"]);
    }
    assert_eq!(found(&store), in_table("cdr", damaged), "once");
    let now = checksums();
    assert!(written.iter().zip(&now).all(|(one, other)| one != other));
    assert!(!now.contains(&"NULL".to_owned()), "{now:?}");
    // The build before erases and knows no checksums.
    database.query("UPDATE cdr SET source = '(erased)', client_reference = ''");
    assert_eq!(checksums(), ["NULL"; 4]);
    let store = open(&database, |_| {});
    assert_eq!(store.erase_records("(erased)".to_owned()).wait(), Ok(4));
    assert_eq!(found(&store), []);
}

#[test]
fn what_could_not_be_written_has_a_checksum() {
    let database = Database::migrated();
    let store = open(&database, |_| {});
    store.write(accept(&[id(1)])).wait().unwrap();
    store.write(accept(&[id(1), id(2)])).wait().unwrap();
    let columns = "SELECT at, origin, id, reason, encode(row, 'hex'), checksum FROM dead";
    let rows = database.query(columns);
    let [row] = &rows[..] else {
        panic!("{rows:?}");
    };
    let columns: Vec<&str> = row.split('|').collect();
    let [at, origin, id, reason, octets, checksum] = columns[..] else {
        panic!("{row}");
    };
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    let dead = DeadRow {
        at: at.parse().unwrap(),
        origin: origin.to_owned(),
        id: id.parse().unwrap(),
        reason: reason.to_owned(),
        row: octets.as_bytes().chunks(2).map(octet).collect(),
    };
    assert_eq!(checksum, (dead.sum() as i32).to_string());
}
