//! Stores whose process was killed, and what becomes of their logs.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;

use super::super::super::schema::{MAIN_FILE, open_main};
use super::super::{FRAME_HEAD, HEADER, USUAL_PAGE, beside, log_path, number_at, settle, survey};
use crate::StoreError;

/// Messages of each transaction.
pub const BATCH: i64 = 10;
/// Ids are above this, about a second apart from batch to batch.
const FIRST: i64 = 1_700_000_000_000 << 20;
pub const FRAME: usize = FRAME_HEAD + USUAL_PAGE;

/// A store that a connection writes.
pub struct WrittenStore {
    pub folder: TempDir,
    pub connection: Connection,
    pub batches: i64,
}

/// The files of a store whose process was killed.
pub struct KilledStore(pub TempDir);

// === impl WrittenStore ===

impl WrittenStore {
    /// With tables, and an empty log.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let connection = open_main(&folder.path().join(MAIN_FILE), 0).unwrap();
        let writing = Self {
            folder,
            connection,
            batches: 0,
        };
        writing.checkpoint("TRUNCATE");
        writing
    }

    pub fn with(batches: i64) -> Self {
        let mut writing = Self::new();
        writing.write(batches);
        writing
    }

    pub fn checkpoint(&self, mode: &str) {
        let sql = format!("PRAGMA wal_checkpoint({mode})");
        self.connection.query_row(&sql, [], |_| Ok(())).unwrap();
    }

    pub fn write(&mut self, batches: i64) {
        for _ in 0..batches {
            self.connection.execute_batch("BEGIN").unwrap();
            self.insert(BATCH);
            self.connection.execute_batch("COMMIT").unwrap();
            self.batches += 1;
        }
    }

    pub fn insert(&self, messages: i64) {
        for n in 0..messages {
            let id = FIRST + (self.batches << 30) + n;
            self.connection
                .execute(
                    "INSERT INTO msg(id, at, body) VALUES(?1, ?2, randomblob(900))",
                    (id, id >> 20),
                )
                .unwrap();
        }
    }

    pub fn kill(&self) -> KilledStore {
        KilledStore::copy(self.folder.path())
    }
}

// === impl KilledStore ===

impl KilledStore {
    pub fn copy(from: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for end in ["", "-wal", "-shm"] {
            let name = format!("{MAIN_FILE}{end}");
            let _ = fs::copy(from.join(&name), folder.path().join(&name));
        }
        Self(folder)
    }

    pub fn main(&self) -> PathBuf {
        self.0.path().join(MAIN_FILE)
    }

    /// After a reboot there may be none, or an older one.
    pub fn without_index(self) -> Self {
        fs::remove_file(beside(&self.main(), "-shm")).unwrap();
        self
    }

    pub fn log(&self) -> Vec<u8> {
        fs::read(log_path(&self.main())).unwrap()
    }

    pub fn set_log(&self, octets: &[u8]) {
        fs::write(log_path(&self.main()), octets).unwrap();
    }

    /// This store with one octet of its log changed.
    pub fn flipped(&self, at: usize, bits: u8) -> Self {
        let other = Self::copy(self.0.path());
        let mut log = self.log();
        log[at] ^= bits;
        other.set_log(&log);
        other
    }

    /// This store with another log.
    pub fn with_log(&self, octets: &[u8]) -> Self {
        let other = Self::copy(self.0.path());
        other.set_log(octets);
        other
    }

    pub fn frames(&self) -> usize {
        (self.log().len() - HEADER) / FRAME
    }

    /// The numbers of the frames that end a transaction.
    pub fn commits(&self) -> Vec<usize> {
        let log = self.log();
        (1..=self.frames())
            .filter(|frame| number_at(&log, at(*frame) + 4) > 0)
            .collect()
    }

    pub fn damage(&self) -> Option<survey::LogDamage> {
        survey::look(&self.main()).unwrap()
    }

    /// How many messages there are after the loss was accepted. The store is sound.
    pub fn accepted(&self) -> i64 {
        settle(&self.main(), true).unwrap();
        assert!(self.damage().is_none(), "it is done with");
        self.messages()
    }

    pub fn messages(&self) -> i64 {
        let connection = open_main(&self.main(), 0).unwrap();
        let check = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0));
        assert_eq!(check, Ok("ok".to_owned()));
        connection
            .query_row("SELECT count(*) FROM msg", [], |row| row.get(0))
            .unwrap()
    }

    pub fn copies(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.0.path()).unwrap();
        files
            .map(|file| file.unwrap().path())
            .filter(|path| path.to_string_lossy().contains(".damaged-"))
            .collect()
    }

    pub fn refusal(&self) -> String {
        match settle(&self.main(), false) {
            Err(StoreError::Damaged(text)) => text,
            other => panic!("not refused: {other:?}"),
        }
    }
}

/// Where a frame begins.
pub fn at(frame: usize) -> usize {
    HEADER + (frame - 1) * FRAME
}
