//! The lock on a data folder: one process only writes a store.
//!
//! Taken before `smsc.db` is opened, by the server and by commands that write or move a store. It is on the folder
//! itself, which nobody can remove while files are in it, and on `smsc.lock`, which is all that releases up to
//! 0.2.0 know. It is a flock on files that SQLite never opens: to close a file that SQLite has open would end SQLite's own
//! locks on it. A server looks once a second whether `smsc.lock` is still the file that it holds.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::SqliteShared;
use super::schema::failed;
use crate::{StoreError, StoreResult};
use smsc_host::files;

/// Held locked while a process owns the data folder.
const LOCK_FILE: &str = "smsc.lock";
/// EX_UNAVAILABLE of sysexits.h: tells a service manager that another process has the data folder.
const EXIT_TAKEN: i32 = 69;
/// How often a server looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The lock on a data folder; it ends with the process or when this is dropped.
#[derive(Debug)]
pub struct FolderLock {
    path: PathBuf,
    file: File,
    /// It was said that the file is gone and cannot be taken again.
    is_told: bool,
    /// `None` on a file system that locks no folders.
    _folder: Option<File>,
}

/// What a server does with its lock while it runs.
pub struct FolderLockKeeper {
    lock: FolderLock,
    shared: Arc<SqliteShared>,
}

/// Creates the data folder, closes it and the store's files in it to others, and locks it.
pub fn own_folder(data_dir: &Path) -> StoreResult<FolderLock> {
    files::own_folder(data_dir, &["smsc.", "index."])
        .map_err(|error| failed(format!("cannot use {}: {error}", data_dir.display())))?;
    lock_folder(data_dir)
}

/// Locks a data folder for this process.
pub fn lock_folder(data_dir: &Path) -> StoreResult<FolderLock> {
    let folder = lock_itself(data_dir)?;
    let path = data_dir.join(LOCK_FILE);
    let file = open(&path)?;
    match file.try_lock() {
        Ok(()) => Ok(FolderLock {
            path,
            file,
            is_told: false,
            _folder: folder,
        }),
        Err(TryLockError::WouldBlock) => Err(in_use(data_dir)),
        Err(TryLockError::Error(error)) => Err(cannot_lock(&path, &error)),
    }
}

/// Keeps every other process from locking the folder of a store that is read; `None` when one has it. A store that was
/// copied elsewhere may have no `smsc.lock`.
///
/// # Errors
/// The folder or the file cannot be opened.
pub fn share_folder(folder: &Path) -> io::Result<Option<Vec<File>>> {
    let mut shared = Vec::new();
    for path in [folder, &folder.join(LOCK_FILE)] {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if let Err(TryLockError::WouldBlock) = file.try_lock_shared() {
            return Ok(None);
        }
        shared.push(file);
    }
    Ok(Some(shared))
}

fn lock_itself(data_dir: &Path) -> StoreResult<Option<File>> {
    let folder = File::open(data_dir).map_err(|error| cannot_lock(data_dir, &error))?;
    match folder.try_lock() {
        Ok(()) => Ok(Some(folder)),
        Err(TryLockError::WouldBlock) => Err(in_use(data_dir)),
        Err(TryLockError::Error(error)) => {
            tracing::debug!(%error, "the data folder itself cannot be locked");
            Ok(None)
        }
    }
}

fn open(path: &Path) -> StoreResult<File> {
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(|error| failed(format!("cannot open {}: {error}", path.display())))
}

fn in_use(data_dir: &Path) -> StoreError {
    failed(format!(
        "the data folder {} is in use by another smsc process",
        data_dir.display()
    ))
}

fn cannot_lock(path: &Path, error: &io::Error) -> StoreError {
    failed(format!("cannot lock {}: {error}", path.display()))
}

// === impl FolderLock ===

impl FolderLock {
    /// Takes `smsc.lock` again if somebody has removed or replaced it.
    ///
    /// # Errors
    /// Another process has it: it may be writing the store. The text says so.
    fn keep(&mut self) -> Result<(), String> {
        let ours = self.file.metadata().ok();
        if ours.as_ref().map(identity) == fs::metadata(&self.path).ok().as_ref().map(identity) {
            return Ok(());
        }
        let said = match open(&self.path) {
            Err(error) => error.to_string(),
            Ok(file) => match file.try_lock() {
                Ok(()) => {
                    tracing::warn!(path = %self.path.display(), "somebody removed the lock file: it was taken again");
                    self.file = file;
                    self.is_told = false;
                    return Ok(());
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(format!(
                        "somebody removed {}, and another smsc process has taken it and may be writing the same store: \
                         this one stops; end one of them, run `smsc fsck`, and never remove that file",
                        self.path.display()
                    ));
                }
                Err(TryLockError::Error(error)) => error.to_string(),
            },
        };
        // The lock on the folder itself keeps all but older releases away.
        if !self.is_told {
            tracing::warn!("somebody removed the lock file, and it cannot be taken again: {said}");
            self.is_told = true;
        }
        Ok(())
    }
}

/// Ends the process at once: what it writes from now on might meet what another one writes.
pub fn end_process(reason: &str) {
    tracing::error!(reason, "the data folder was taken, exiting");
    eprintln!("smsc: fatal: {reason}");
    std::process::exit(EXIT_TAKEN);
}

/// Device and number of a file.
fn identity(about: &Metadata) -> (u64, u64) {
    (about.dev(), about.ino())
}

// === impl FolderLockKeeper ===

impl FolderLockKeeper {
    pub fn new(lock: FolderLock, shared: Arc<SqliteShared>) -> Self {
        Self { lock, shared }
    }

    /// Looks at the lock; returns when to do so again.
    pub fn tick(&mut self) -> Duration {
        if let Err(reason) = self.lock.keep() {
            (self.shared.hooks.taken)(&reason);
            self.shared.write_queue.close();
        }
        LOOK_EVERY
    }
}
