//! A wall clock that a test sets with libfaketime; the monotonic clock is unaffected.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::{SmscBuilder, debian_library};

/// The wall clock of all processes that were started with it.
pub struct WallClock {
    folder: TempDir,
}

// === impl WallClock ===

impl WallClock {
    /// A correct clock.
    pub fn new() -> Self {
        let clock = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        clock.set(0);
        clock
    }

    /// Steps to so many seconds from the correct time.
    pub fn set(&self, seconds: i64) {
        // Renamed, because processes read it all the time.
        let new = self.folder.path().join("new");
        fs::write(&new, format!("{seconds:+}\n")).unwrap();
        fs::rename(new, self.file()).unwrap();
    }

    /// Configures an SMSC to use this clock.
    pub fn of(&self, smsc: SmscBuilder) -> SmscBuilder {
        self.variables()
            .into_iter()
            .fold(smsc, |smsc, (key, value)| smsc.env(key, &value))
    }

    /// Environment variables with which a process uses this clock.
    pub fn variables(&self) -> [(&'static str, String); 5] {
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        [
            (
                "LD_PRELOAD",
                text(debian_library("faketime/libfaketimeMT.so.1")),
            ),
            ("FAKETIME_TIMESTAMP_FILE", text(self.file())),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ]
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("time")
    }
}
