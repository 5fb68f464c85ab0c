//! A wall clock that a test sets, by libfaketime; the monotonic clock runs on.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::{SmscBuilder, debian_library};

/// The wall clock of every process that was started with it.
pub struct WallClock {
    folder: TempDir,
}

// === impl WallClock ===

impl WallClock {
    /// A right one.
    pub fn new() -> Self {
        let clock = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        clock.set(0);
        clock
    }

    /// Steps to so many seconds from the right time.
    pub fn set(&self, seconds: i64) {
        // Renamed into place: it is read all the time.
        let new = self.folder.path().join("new");
        fs::write(&new, format!("{seconds:+}\n")).unwrap();
        fs::rename(new, self.file()).unwrap();
    }

    /// Has a process live by it.
    pub fn of(&self, smsc: SmscBuilder) -> SmscBuilder {
        self.variables()
            .into_iter()
            .fold(smsc, |smsc, (key, value)| smsc.env(key, &value))
    }

    /// What makes a process live by it.
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
