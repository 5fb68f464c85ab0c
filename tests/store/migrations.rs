//! Migrations of PostgreSQL that take something away say which binaries can still use the schema (CONTRIBUTING.md,
//! "A migration").

use std::fs;
use std::path::Path;

/// Releases before refuse every newer schema.
const BEFORE: u32 = 20;
const TAKES: [&str; 5] = [
    "DROP TABLE",
    "DROP COLUMN",
    "DROP SCHEMA",
    "RENAME ",
    "SET NOT NULL",
];

#[test]
fn a_migration_that_takes_something_away_says_who_can_live_with_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let mut looked_at = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let number = name
            .strip_prefix('V')
            .and_then(|rest| rest.split_once("__"));
        let number: u32 = number.expect(&name).0.parse().expect(&name);
        if number <= BEFORE {
            continue;
        }
        let sql = fs::read_to_string(&path).unwrap().to_uppercase();
        let takes = TAKES.iter().find(|words| sql.contains(*words));
        assert!(
            takes.is_none() || sql.contains("OLDEST_SCHEMA"),
            "{name} has {takes:?} and does not set meta.oldest_schema"
        );
        looked_at += 1;
    }
    assert!(looked_at > 0);
}
