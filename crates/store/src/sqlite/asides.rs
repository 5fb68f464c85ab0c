//! Finds ids that were assigned while the clock was wrong, and sets them aside.
//!
//! Read at open and by code that uses ids as times; set aside by `smsc repair-ids` while no other
//! process has the store open. Guarantees that the highest id is one that the clock has given, so
//! that the next ids are given by the clock as well.

use std::path::Path;

use rusqlite::Connection;

use super::cold::{as_sql_error, records, run};
use super::folder_lock::lock_folder;
use super::schema::{self, meta, set_meta, sql_failed};
use super::wal;
use crate::asides::{IS_ASIDE, NUMBERED};
use crate::cold::ColdRecord as _;
use crate::{SetAside, StoreResult};
use smsc_domain::id::{Aside, MAX_LEAD_MS, lowest_at};

/// Pages of the log after which it is copied into the database.
const PAGES: u32 = 1000;

/// The ranges that were set aside, the lowest first.
pub fn read(connection: &Connection) -> rusqlite::Result<Vec<Aside>> {
    records(connection, &Aside::select("ORDER BY first", Vec::new()))
}

/// The highest id ever used, without those that were set aside.
pub fn highest_id(connection: &Connection) -> rusqlite::Result<u64> {
    let mut highest = meta(connection, "highest_id")?;
    if read(connection)?
        .iter()
        .any(|aside| aside.contains(highest))
    {
        highest = 0;
    }
    for table in NUMBERED {
        let sql = format!("SELECT id FROM {table} t WHERE NOT {IS_ASIDE} ORDER BY id DESC LIMIT 1");
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        if let Some(row) = rows.next()? {
            highest = highest.max(row.get::<_, i64>(0)? as u64);
        }
    }
    Ok(highest)
}

/// Sets aside ids ahead of the clock (`now_ms`, Unix ms), or only reports them. Blocks.
///
/// # Errors
/// The folder has no store, or another process has it.
pub fn repair_ids(data_dir: &Path, now_ms: i64, apply: bool) -> StoreResult<Vec<SetAside>> {
    schema::check_library()?;
    let path = data_dir.join(schema::MAIN_FILE);
    if !path.exists() {
        return Err(schema::failed(format!("there is no {}", path.display())));
    }
    let _lock = lock_folder(data_dir)?;
    wal::at_rest(&path)?;
    let connection = schema::open_main(&path, PAGES)?;
    set_aside(&connection, now_ms, apply).map_err(sql_failed)
}

fn set_aside(connection: &Connection, now_ms: i64, apply: bool) -> rusqlite::Result<Vec<SetAside>> {
    let transaction = connection.unchecked_transaction()?;
    let limit = lowest_at(now_ms + MAX_LEAD_MS + 1);
    let mut found: Vec<SetAside> = Vec::new();
    for table in NUMBERED {
        for row in run(&transaction, &SetAside::ahead(table, limit))?.returned {
            SetAside::add(&mut found, SetAside::read(row).map_err(as_sql_error)?);
        }
    }
    let highest = meta(&transaction, "highest_id")?;
    let known = read(&transaction)?;
    SetAside::add_highest(&mut found, highest, limit, &known);
    let Some(first) = SetAside::first(&found).filter(|_| apply) else {
        return Ok(found);
    };
    for SetAside { ids, .. } in &found {
        run(&transaction, &ids.insert(""))?;
    }
    let highest = highest_id(&transaction)?;
    set_meta(&transaction, "highest_id", highest)?;
    // What is accepted from now on is above the mark again, and need not be carried.
    let mark = meta(&transaction, "low_water")?.min(first);
    set_meta(&transaction, "low_water", mark)?;
    transaction.commit()?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smsc_domain::id::IdGenerator;

    const NOW: i64 = 1_700_000_000_000;
    const DAY: i64 = 86_400_000;

    fn accept(connection: &Connection, id: u64) {
        let sql = "INSERT INTO msg VALUES(?1, 0, 7, 1, 0, 0, 0, 'A', '447700900123', 0, x'')";
        connection.execute(sql, [id as i64]).unwrap();
    }

    #[test]
    fn what_a_wrong_clock_has_left_is_set_aside_once() {
        let folder = tempfile::tempdir().unwrap();
        let main = schema::open_main(&folder.path().join(schema::MAIN_FILE), PAGES).unwrap();
        let right = IdGenerator::new(3, 0).next(NOW).unwrap();
        let wrong = {
            let mut ids = IdGenerator::new(3, 0).take(NOW + DAY, 5).unwrap();
            let first = ids.next().unwrap();
            first..ids.last().unwrap() + 1
        };
        let near = IdGenerator::new(4, 0).next(NOW + MAX_LEAD_MS).unwrap();
        accept(&main, right);
        accept(&main, near);
        wrong.clone().for_each(|id| accept(&main, id));
        set_meta(&main, "low_water", wrong.end).unwrap();
        set_meta(&main, "highest_id", wrong.end + 2).unwrap();
        assert_eq!(highest_id(&main).unwrap(), wrong.end + 2);

        let ids = Aside {
            node: 3,
            first: wrong.start,
            last: wrong.end + 2,
        };
        let expected = vec![SetAside { ids, rows: 5 }];
        assert_eq!(set_aside(&main, NOW, false).unwrap(), expected);
        assert_eq!(highest_id(&main).unwrap(), wrong.end + 2, "only said");
        assert_eq!(set_aside(&main, NOW, true).unwrap(), expected);
        assert_eq!(read(&main).unwrap(), [ids]);
        assert_eq!(highest_id(&main).unwrap(), near);
        assert_eq!(meta(&main, "low_water").unwrap(), wrong.start);
        assert_eq!(set_aside(&main, NOW, true).unwrap(), []);

        // Another node's ids of the same time are normal once the clock has reached it.
        let later = IdGenerator::new(4, 0).next(NOW + DAY).unwrap();
        accept(&main, later);
        assert_eq!(highest_id(&main).unwrap(), later);
    }
}
