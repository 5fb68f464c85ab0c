//! Rows are written as new, and again, with others in mind, where one of them is there already.

use smsc::store::outbox::{EventReader, OutboxStore as _};
use smsc::store::{FinRow, Store, WriteBatch};

use super::{Database, accept, fin, id, open};

fn fins(rows: impl IntoIterator<Item = FinRow>) -> WriteBatch {
    WriteBatch {
        fin: rows.into_iter().collect(),
        ..WriteBatch::default()
    }
}

#[test]
fn rows_beside_one_that_is_there_already_are_written_in_one_transaction() {
    let database = Database::migrated();
    let store = open(&database, |_| {});
    store.write_events_for(&[EventReader::Cdr]);
    store.write(accept(&[1, 2, 3, 4].map(id))).wait().unwrap();
    store.write(fins([fin(id(1), 0)])).wait().unwrap();
    // A batch that is written row by row has a row of events for each.
    let written = store.write(fins([1, 2, 3, 4].map(|n| fin(id(n), 0))));
    assert_eq!(written.wait().unwrap().fin_lost, [id(1)]);
    assert_eq!(
        database.query("SELECT array_to_string(ids, ' ') FROM outbox ORDER BY row"),
        [
            id(1).to_string(),
            [2, 3, 4].map(|n| id(n).to_string()).join(" ")
        ]
    );
}

#[test]
fn after_a_row_that_was_there_already_none_is_taken_to_be_new_for_a_while() {
    let database = Database::migrated();
    // What a sequence has given stays given, also if the transaction fails.
    database.query(
        "CREATE SEQUENCE tried;
         CREATE FUNCTION try() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN PERFORM nextval('tried'); RETURN NEW; END $$;
         CREATE TRIGGER tried BEFORE INSERT ON fin FOR EACH ROW EXECUTE FUNCTION try()",
    );
    let store = open(&database, |_| {});
    store.write(accept(&[id(1)])).wait().unwrap();
    let mut tried = Vec::new();
    let mut before = 0;
    for _ in 0..22 {
        store.write(fins([fin(id(1), 0)])).wait().unwrap();
        let so_far = database.query("SELECT last_value FROM tried");
        let so_far: u32 = so_far[0].parse().expect("a number");
        tried.push(so_far - before);
        before = so_far;
    }
    // It was new; then it was not; then it was not taken to be, for a second.
    assert_eq!(tried[..2], [1, 2]);
    let once = tried[2..].iter().filter(|tries| **tries == 1).count();
    assert!(once >= 10, "{tried:?}");
}
