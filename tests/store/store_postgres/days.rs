//! Days as partitions: dropped whole, without what must stay.

use smsc::store::postgres::PgStore;
use smsc::store::{FinRow, Store, WriteBatch};

use super::{Database, accept, active, fin, open, sent};

const DAY_MS: u64 = 86_400_000;
const FIRST: u64 = 1_700_006_400_000 / DAY_MS * DAY_MS;
/// When that day is old enough, Unix milliseconds.
const BEFORE: i64 = (FIRST + DAY_MS) as i64;

/// A day long ago that has partitions, and the day after.
fn with_a_day(database: &Database) -> PgStore {
    let day = FIRST / DAY_MS;
    let made = database.query(&format!("SELECT make_day({day}), make_day({})", day + 1));
    assert_eq!(made, ["t|t"]);
    open(database, |_| {})
}

fn at(n: u64) -> u64 {
    (FIRST + n) << 20
}

fn partitions(database: &Database) -> usize {
    let used = database.query("SELECT DISTINCT tableoid FROM msg");
    used.len()
}

#[test]
fn a_day_is_dropped_and_what_is_active_stays() {
    let database = Database::migrated();
    let store = with_a_day(&database);
    store
        .write(accept(&[at(1), at(2), at(3), at(4), at(DAY_MS)]))
        .wait()
        .unwrap();
    let lately = FinRow {
        at: BEFORE,
        ..fin(at(4), 4)
    };
    let rows = WriteBatch {
        sent: vec![sent(at(1), "a"), sent(at(2), "b")],
        fin: vec![fin(at(1), 0), fin(at(3), 4), lately, fin(at(DAY_MS), 0)],
        told: vec![at(4)],
        ..WriteBatch::default()
    };
    store.write(rows).wait().unwrap();
    let before = active(&store);
    assert_eq!(before, [at(2), at(3)]);
    assert_eq!(store.retire(BEFORE, 0).wait(), Ok(0), "above the mark");
    store.advance_low_water().wait().unwrap();
    assert_eq!(store.retire(BEFORE, 0).wait(), Ok(1));
    assert_eq!(active(&store), before);
    assert_eq!(partitions(&database), 2, "the next day and the default");
    let carried = database.query("SELECT id, queue FROM carry ORDER BY id");
    assert_eq!(carried, [format!("{}|7", at(2)), format!("{}|4", at(3))]);
    assert!(store.history(at(2)).wait().unwrap().unwrap().attempts.len() == 1);
    assert!(
        store.history(at(4)).wait().unwrap().unwrap().told,
        "it has ended too late"
    );
    let late = WriteBatch {
        fin: vec![fin(at(2), 0)],
        told: vec![at(3)],
        ..WriteBatch::default()
    };
    store.write(late).wait().unwrap();
    assert_eq!(store.retire(BEFORE, 10).wait(), Ok(2));
    assert!(active(&store).is_empty());
    assert_eq!(database.query("SELECT count(*) FROM carry"), ["0"]);
}

/// A day that is made has the index of ends; one of a build before is found, and gets it.
#[test]
fn each_day_has_the_index_of_ends() {
    let database = Database::migrated();
    let _store = with_a_day(&database);
    let lacking = || database.query("SELECT ends_without_index(100000)");
    assert_eq!(lacking(), [""; 0]);
    database.query("DROP INDEX fin_by_end");
    database.query("CREATE INDEX fin_by_end ON ONLY fin(at, id) INCLUDE (state) WHERE state <> 2");
    assert!(
        lacking().contains(&"fin_20231115".to_owned()),
        "{:?}",
        lacking()
    );
    for part in lacking() {
        database.query(&format!(
            "SELECT index_ends('{part}'), index_ends('{part}')"
        ));
    }
    assert_eq!(lacking(), [""; 0]);
    let day = FIRST / DAY_MS;
    database.query(&format!("SELECT make_day({})", day + 5));
    assert_eq!(lacking(), [""; 0]);
}

/// Whatever is wrong with `carry`: messages are counted before a day is dropped.
#[test]
fn a_day_is_not_dropped_on_trust() {
    let database = Database::migrated();
    let store = with_a_day(&database);
    let ids = [at(1), at(2), at(3)];
    store.write(accept(&ids)).wait().unwrap();
    let rows = WriteBatch {
        fin: vec![fin(at(1), 0), fin(at(3), 4)],
        ..WriteBatch::default()
    };
    store.write(rows).wait().unwrap();
    store.advance_low_water().wait().unwrap();
    database.query("DELETE FROM carry");
    assert_eq!(store.retire(BEFORE, 0).wait(), Ok(1));
    let left = database.query("SELECT id FROM msg ORDER BY id");
    assert_eq!(left, [at(2).to_string(), at(3).to_string()]);
}

/// That takes long for a large day, and retirement comes every minute.
#[test]
fn a_day_of_which_too_much_has_to_stay_is_not_read_every_time() {
    let database = Database::migrated();
    let store = with_a_day(&database);
    store.write(accept(&[at(1)])).wait().unwrap();
    let lately = FinRow {
        at: BEFORE,
        ..fin(at(1), 0)
    };
    let rows = WriteBatch {
        fin: vec![lately],
        ..WriteBatch::default()
    };
    store.write(rows).wait().unwrap();
    store.advance_low_water().wait().unwrap();
    database.query(
        "INSERT INTO fin SELECT f.id + n, f.at, f.state, f.error, f.operator, f.tell
         FROM fin f, generate_series(1, 100000) n",
    );
    // What ended late is counted before anything else is.
    let day = database.query("SELECT substr(tableoid::regclass::text, 5) FROM msg");
    let other = database.hold(&format!("LOCK TABLE told_{}", day[0]));
    assert_eq!(store.retire(BEFORE, 0).wait(), Ok(0));
    other.commit();
    // It could be dropped now, which is found out in an hour.
    database.query(&format!("DELETE FROM fin WHERE id > {}", at(1)));
    database.query("UPDATE fin SET at = 0");
    assert_eq!(store.retire(BEFORE, 0).wait(), Ok(0));
    assert_eq!(open(&database, |_| {}).retire(BEFORE, 0).wait(), Ok(1));
}
