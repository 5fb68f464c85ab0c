//! Looks for rows with a wrong id beside the places where rows of carried messages are looked up.
//!
//! Called when the store is opened, before anybody reads what is active. SQLite searches a page by halves, so a row whose id is wrong is
//! not found by its own, and leads searches for others of its page astray; but each of these searches ends beside that row.
//! So where a carried message has no row in a table, the rows on both sides are read, and their checksums tell.

use rusqlite::{Connection, Row};

use super::reader::{CHANGES, FINS};
use super::record::{
    MESSAGE_COLUMNS, Sound, key_of, read_change, read_fin, read_first, read_message, read_sent,
};
use crate::damage::DamageLog;

/// Notes what is damaged there, and in which tables searches are led astray.
pub fn look(connection: &Connection, damage: &DamageLog, below: u64) -> rusqlite::Result<()> {
    let messages = format!("SELECT {MESSAGE_COLUMNS} FROM msg t");
    let all = Beside {
        connection,
        damage,
        below,
    };
    all.look("msg", &messages, "t.id", read_message)?;
    all.look("fin", FINS, "id", read_fin)?;
    all.look("sent", "SELECT * FROM sent", "id", read_first)?;
    all.look("resent", "SELECT * FROM resent", "id", read_sent)?;
    all.look("change", CHANGES, "id", read_change)
}

struct Beside<'c> {
    connection: &'c Connection,
    damage: &'c DamageLog,
    /// The low-water mark.
    below: u64,
}

// === impl Beside ===

impl Beside<'_> {
    fn look<T>(
        &self,
        table: &'static str,
        select: &str,
        key: &str,
        read: fn(&Row<'_>) -> Sound<T>,
    ) -> rusqlite::Result<()> {
        let connection = self.connection;
        let mut carried = connection.prepare("SELECT id FROM carry WHERE id < ?1 ORDER BY id")?;
        let mut carried = carried.query([crate::signed(self.below)])?;
        let mut upto = connection.prepare(&format!(
            "{select} WHERE {key} <= ?1 ORDER BY {key} DESC LIMIT 1"
        ))?;
        let mut above =
            connection.prepare(&format!("{select} WHERE {key} > ?1 ORDER BY {key} LIMIT 1"))?;
        // Where no rows are; the rows at both ends were read.
        let mut gap = (0, 0);
        while let Some(id) = carried.next()? {
            let id = id.get::<_, i64>(0)? as u64;
            if gap.0 < id && id < gap.1 {
                continue;
            }
            let look = |statement: &mut rusqlite::Statement<'_>| {
                let mut rows = statement.query([crate::signed(id)])?;
                let Some(row) = rows.next()? else {
                    return Ok::<_, rusqlite::Error>(None);
                };
                if self.damage.sift(read(row)?).is_none() {
                    self.damage.leads_astray(table);
                }
                key_of(row).map(Some)
            };
            let low = look(&mut upto)?;
            if low == Some(id) {
                continue;
            }
            let high = look(&mut above)?;
            gap = (low.unwrap_or(0), high.unwrap_or(u64::MAX));
        }
        Ok(())
    }
}
