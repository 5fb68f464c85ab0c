//! The free-space watch, and the end of the process after an I/O error.
//!
//! Called by the writer before it commits and by `stats()`; guarantees that the file system is asked
//! at most once per second, and that nothing goes on after a failed fsync.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use smsc_host::files;

/// How long an answer of statvfs holds, in milliseconds.
const CHECK_EVERY_MS: u64 = 1000;
/// EX_IOERR of sysexits.h: tells a service manager that the disk is the reason.
const EXIT_IO_ERROR: i32 = 74;

/// Knows how much space the data folder has left.
#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
    floor_mib: u64,
    started: Instant,
    /// Milliseconds since `started` of the next check.
    next_check: AtomicU64,
    free_mib: AtomicU64,
}

// === impl Disk ===

impl Disk {
    /// Watches the file system of `folder`.
    pub fn new(folder: &Path, floor_mib: u64) -> Self {
        Self {
            folder: folder.to_path_buf(),
            floor_mib,
            started: Instant::now(),
            next_check: AtomicU64::new(0),
            free_mib: AtomicU64::new(u64::MAX),
        }
    }

    /// The configured floor.
    pub fn floor_mib(&self) -> u64 {
        self.floor_mib
    }

    /// Free space in MiB, at most a second old.
    pub fn free_mib(&self) -> u64 {
        let now = self.started.elapsed().as_millis() as u64;
        let due = self.next_check.load(Ordering::Relaxed);
        let ours = now >= due
            && self
                .next_check
                .compare_exchange(
                    due,
                    now + CHECK_EVERY_MS,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                )
                .is_ok();
        if ours {
            match files::free_mib(&self.folder) {
                Ok(free) => self.free_mib.store(free, Ordering::Relaxed),
                Err(error) => {
                    tracing::warn!(%error, "cannot read the free space of the data folder")
                }
            }
        }
        self.free_mib.load(Ordering::Relaxed)
    }

    /// Whether new messages are refused.
    pub fn below_floor(&self) -> bool {
        self.free_mib() < self.floor_mib
    }
}

/// Ends the process after an I/O error on the write path.
///
/// A failed fsync must not be tried again: the kernel may have dropped the dirty pages and marked
/// them clean, so a second fsync can succeed without the data being on the disk. The only state that
/// can be trusted is what recovery reads after a restart, so we stop before anything more is
/// acknowledged. Corruption is the same: each further write can make it worse.
pub fn end_process(reason: &str) {
    tracing::error!(reason, "the store cannot be trusted any more, exiting");
    eprintln!(
        "smsc: fatal: {reason}\nsmsc: nothing unwritten was acknowledged; check the disk, \
         run `smsc fsck`, then start again"
    );
    std::process::exit(EXIT_IO_ERROR);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_disk_last_said_stays_while_it_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path(), u64::MAX);
        let said = disk.free_mib();
        assert!(said < u64::MAX && disk.below_floor());
        drop(folder);
        disk.next_check.store(0, Ordering::Relaxed);
        assert_eq!(disk.free_mib(), said);
        assert!(disk.below_floor(), "the floor holds");
    }
}
