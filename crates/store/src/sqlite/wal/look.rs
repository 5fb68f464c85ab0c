//! Reads a store as it would be with a part of its log, without a change to it.
//!
//! `smsc.db` gets a second name in a folder of its own, beside a log that is written there; SQLite finds a log by the name of
//! the database. One view at a time: within a process, SQLite keeps one index of the log for all names of a file.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::super::schema::{open_reader, sql_failed};
use super::salvage::{Salvage, WantedFrame};
use super::survey::LogDamage;
use super::{FRAME_HEAD, READ, WalFrames, WalLayout, beside, log_path};
use crate::StoreResult;

/// The folder of views, below the data folder.
const FOLDER: &str = "smsc.db-look";
/// Ids within this time before the newest one may have been committed behind it (60,000 ms).
const ABOUT: i64 = 60_000 << 20;

/// A store with a part of its log; gone when it is dropped.
#[derive(Debug)]
pub struct LogView {
    folder: PathBuf,
    main: PathBuf,
}

/// The newest message of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewestMessage {
    pub id: i64,
    /// When it was accepted (Unix ms).
    pub at: i64,
}

/// Messages that one view has and another has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostMessages {
    pub count: i64,
    pub first: NewestMessage,
    pub last: NewestMessage,
}

// === impl LogView ===

impl LogView {
    /// The store with what can be had of its log.
    pub fn of(main: &Path, damage: &LogDamage, salvage: &Salvage) -> io::Result<Self> {
        let mut frames = salvage.frames.clone();
        if let Some(last) = frames.last_mut() {
            last.mark = salvage.mark;
        }
        Self::with(main, &damage.survey.layout, &frames)
    }

    /// The store with its whole log, as it is: only to tell what was in it.
    pub fn as_it_is(main: &Path, damage: &LogDamage) -> io::Result<Self> {
        let notes = damage.notes().filter(|(_, note)| note.page > 0);
        let frames: Vec<WantedFrame> = notes
            .map(|(number, note)| WantedFrame {
                number,
                page: note.page,
                mark: note.mark,
            })
            .collect();
        Self::with(main, &damage.survey.layout, &frames)
    }

    fn with(main: &Path, layout: &WalLayout, frames: &[WantedFrame]) -> io::Result<Self> {
        let folder = main.with_file_name(FOLDER);
        clear(&folder)?;
        fs::create_dir(&folder)?;
        let name = main.file_name().unwrap_or_default();
        let view = Self {
            main: folder.join(name),
            folder,
        };
        // A file system without links needs room for a copy.
        fs::hard_link(main, &view.main).or_else(|_| fs::copy(main, &view.main).map(|_| ()))?;
        write_log(main, &view.log(), layout, frames)?;
        Ok(view)
    }

    /// Its log, to be moved.
    pub fn log(&self) -> PathBuf {
        log_path(&self.main)
    }

    fn ask<T>(&self, question: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> StoreResult<T> {
        let connection = open_reader(&self.main)?;
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            .and_then(|_| question(&connection))
            .map_err(sql_failed)
    }

    /// What SQLite finds wrong with its pages; `None` for nothing.
    pub fn problem(&self) -> Option<String> {
        let found = self.ask(|connection| {
            connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
        });
        match found {
            Ok(found) if found == "ok" => None,
            Ok(found) => Some(found),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Its newest message, and how many are about as new.
    pub fn newest(&self) -> StoreResult<Option<(NewestMessage, i64)>> {
        self.ask(|connection| {
            let newest = one(connection, "id >= ?1 ORDER BY id DESC", 0)?;
            newest
                .map(|newest| Ok((newest, count(connection, newest)?)))
                .transpose()
        })
    }

    /// What it has beyond a view with this newest message and so many about as new.
    pub fn beyond(&self, left: Option<(NewestMessage, i64)>) -> StoreResult<Option<LostMessages>> {
        let (newest, known) = left.unwrap_or((NewestMessage { id: -1, at: 0 }, 0));
        self.ask(|connection| {
            let first = one(connection, "id > ?1 ORDER BY id", newest.id)?;
            let last = one(connection, "id > ?1 ORDER BY id DESC", newest.id)?;
            let count = count(connection, newest)? - known;
            Ok(first
                .zip(last)
                .map(|(first, last)| LostMessages { count, first, last }))
        })
    }
}

impl Drop for LogView {
    fn drop(&mut self) {
        if let Err(error) = clear(&self.folder) {
            tracing::warn!(folder = %self.folder.display(), %error, "this folder can be removed");
        }
    }
}

fn one(connection: &Connection, which: &str, id: i64) -> rusqlite::Result<Option<NewestMessage>> {
    let sql = format!("SELECT id, at FROM msg WHERE {which} LIMIT 1");
    let read = |row: &Row<'_>| {
        Ok(NewestMessage {
            id: row.get(0)?,
            at: row.get(1)?,
        })
    };
    connection.query_row(&sql, [id], read).optional()
}

/// How many messages there are that are newer, or about as new.
fn count(connection: &Connection, newest: NewestMessage) -> rusqlite::Result<i64> {
    connection.query_row(
        "SELECT count(*) FROM msg WHERE id > ?1",
        [newest.id - ABOUT],
        |row| row.get(0),
    )
}

/// Removes a view that a process has left behind.
fn clear(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A log of these frames of a store's log, with checksums of its own; durable on return.
fn write_log(main: &Path, to: &Path, layout: &WalLayout, wanted: &[WantedFrame]) -> io::Result<()> {
    let mut target = BufWriter::with_capacity(READ, File::create_new(to)?);
    if !wanted.is_empty() {
        let (header, mut sums) = layout.header();
        target.write_all(&header)?;
        let mut frames = WalFrames::open(&log_path(main), layout.page_size)?;
        for one in wanted {
            let mut frame = frames.at(one.number)?;
            frame.octets[..4].copy_from_slice(&one.page.to_be_bytes());
            frame.octets[4..8].copy_from_slice(&one.mark.to_be_bytes());
            frame.octets[8..16].copy_from_slice(&layout.salts);
            sums = frame.over(sums, layout.order);
            sums.store(&mut frame.octets[16..FRAME_HEAD]);
            target.write_all(&frame.octets)?;
        }
    }
    target.into_inner()?.sync_all()
}

/// Moves the log of a view into the place of the store's own; durable on return.
pub fn put_in_place(view: &LogView, main: &Path) -> io::Result<()> {
    // It belongs to the log that goes.
    match fs::remove_file(beside(main, "-shm")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::rename(view.log(), log_path(main))?;
    let folder = main
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
