//! A store whose schema is not the one that was written is not opened: its tables would seem to be empty.

use super::*;

/// A store with a message that has ended.
fn store() -> tempfile::TempDir {
    let folder = folder();
    let store = open(folder.path());
    store.write(accept([id(1)])).wait().expect("writes");
    store.write(fin([id(1)])).wait().expect("writes");
    drop(store);
    folder
}

/// Changes the schema as no command does.
fn change(folder: &Path, sql: &str) {
    let store = Connection::open(folder.join(MAIN_FILE)).expect("opens");
    let changed = format!("PRAGMA writable_schema=ON; {sql}; PRAGMA writable_schema=RESET");
    store.execute_batch(&changed).expect("changes");
}

fn refused(folder: &Path) -> String {
    match SqliteStore::open(options(folder)) {
        Err(StoreError::Damaged(why)) => why,
        other => panic!("{:?}", other.map(drop)),
    }
}

#[test]
fn a_key_that_is_none_any_more_is_noticed() {
    let folder = store();
    // One bit of the text.
    change(
        folder.path(),
        "UPDATE sqlite_schema SET sql = replace(sql, 'INTEGER PRIMARY', 'INTEGER RRIMARY') WHERE name = 'fin'",
    );
    let said = refused(folder.path());
    assert!(said.contains("table fin of fin is another"), "{said}");
    let problems = fsck(folder.path()).expect("reads").problems;
    let is_told = |said: &String| said.starts_with("schema: table fin");
    assert!(problems.iter().any(is_told), "{problems:?}");
}

#[test]
fn a_table_that_begins_elsewhere_is_noticed_unless_each_page_has_its_place() {
    let folder = store();
    change(
        folder.path(),
        "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'told') WHERE name = 'fin'",
    );
    let said = refused(folder.path());
    assert!(said.contains("is not what was written"), "{said}");

    let folder = store();
    let store = Connection::open(folder.path().join(MAIN_FILE)).expect("opens");
    store
        .execute_batch("DROP TABLE damaged; VACUUM")
        .expect("moves tables");
    let damaged = "CREATE TABLE damaged(id INT NOT NULL, origin TEXT NOT NULL, found_at INT NOT NULL, why TEXT NOT NULL,
  legible TEXT NOT NULL, PRIMARY KEY(id, origin)) WITHOUT ROWID";
    store.execute_batch(damaged).expect("creates");
    drop(store);
    assert_eq!(active(&open(folder.path())), [0; 0]);
}
