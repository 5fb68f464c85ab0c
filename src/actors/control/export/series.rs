//! Files that follow one another in a folder, as records and archived messages do: each so large and so old at most, and
//! only so many kept.
//!
//! Used by the files of records and by those of the archive, which name their files and say what a crash leaves.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::files;

/// In the folder: its name for the store, by which it knows the folder again after a restart.
pub(super) const NAME: &str = "folder-id";

/// What writes files, for tasks that may not block.
pub(super) struct OnDisk<F> {
    files: Arc<Mutex<F>>,
    /// Names the folder in the store.
    pub(super) name: String,
}

/// A folder, and when one file is followed by the next.
pub(super) struct FileSeries {
    pub(super) dir: PathBuf,
    pub(super) rotate_octets: u64,
    pub(super) rotate_every: Duration,
    /// Files; 0 keeps all.
    pub(super) keep: usize,
    pub(super) group_may_read: bool,
}

/// The file that is written to.
pub(super) struct SeriesFile {
    pub(super) file: File,
    pub(super) octets: u64,
    since: Instant,
}

// === impl OnDisk ===

impl<F: Send + 'static> OnDisk<F> {
    pub(super) fn new(files: F, name: String) -> Self {
        Self {
            files: Arc::new(Mutex::new(files)),
            name,
        }
    }

    /// Does something where it may block, one call at a time.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut F) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        // Held until it is done, also when nobody waits for it any more.
        let mut files = Arc::clone(&self.files).lock_owned().await;
        let done = tokio::task::spawn_blocking(move || work(&mut files)).await;
        done.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

impl<F> Clone for OnDisk<F> {
    fn clone(&self) -> Self {
        Self {
            files: Arc::clone(&self.files),
            name: self.name.clone(),
        }
    }
}

// === impl FileSeries ===

impl FileSeries {
    /// Creates the folder, in which files whose names begin with one of `ours` are ours; returns the name of the folder,
    /// and of the node that writes in it: two nodes may use one.
    ///
    /// # Errors
    /// It cannot be created or written to.
    pub(super) fn prepare(&self, ours: &[&str], node: u8) -> io::Result<String> {
        if self.group_may_read {
            fs::create_dir_all(&self.dir)?;
        } else {
            files::own_folder(&self.dir, ours)?;
        }
        name_of(&self.dir, node)
    }

    /// Whether the next file is due.
    pub(super) fn is_over(&self, open: &SeriesFile) -> bool {
        open.octets >= self.rotate_octets || open.since.elapsed() >= self.rotate_every
    }

    /// The next file, with what all begin with; its name is as durable as what is in it.
    pub(super) fn create(&self, name: &str, head: &[u8]) -> io::Result<SeriesFile> {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(self.dir.join(name))?;
        // Set explicitly, because the umask restricts the mode above.
        let mode = if self.group_may_read { 0o640 } else { 0o600 };
        file.set_permissions(Permissions::from_mode(mode))?;
        file.write_all(head)?;
        self.sync_names()?;
        Ok(SeriesFile {
            file,
            octets: head.len() as u64,
            since: Instant::now(),
        })
    }

    /// Makes names of files as durable as what is in them.
    pub(super) fn sync_names(&self) -> io::Result<()> {
        File::open(&self.dir)?.sync_all()
    }

    /// Of these files, the oldest first, deletes those that are too many.
    pub(super) fn drop_oldest(&self, names: &[String]) -> io::Result<()> {
        if self.keep == 0 {
            return Ok(());
        }
        for name in &names[..names.len().saturating_sub(self.keep)] {
            fs::remove_file(self.dir.join(name))?;
        }
        Ok(())
    }
}

// === impl SeriesFile ===

impl SeriesFile {
    /// Appends octets; they are on the disk when this returns.
    pub(super) fn append(&mut self, octets: &[u8]) -> io::Result<()> {
        self.file.write_all(octets)?;
        self.file.sync_data()?;
        self.octets += octets.len() as u64;
        Ok(())
    }
}

/// The names of all files in a folder.
pub(super) fn names_in(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        // Ours are ASCII.
        names.extend(entry?.file_name().into_string());
    }
    Ok(names)
}

/// A file with nothing in it, for its owner alone.
pub(super) fn emptied(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path)
}

fn name_of(dir: &Path, node: u8) -> io::Result<String> {
    let path = dir.join(NAME);
    let folder = match fs::read_to_string(&path) {
        Ok(folder) if !folder.trim().is_empty() => folder.trim().to_owned(),
        Ok(_) => new_name(&path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => new_name(&path)?,
        Err(error) => return Err(error),
    };
    Ok(format!("{folder}:{node}"))
}

fn new_name(path: &Path) -> io::Result<String> {
    let name = format!("{:032x}", rand::random::<u128>());
    let mut file = emptied(path)?;
    // A whole line, for programs that read all files of the folder as one text.
    writeln!(file, "{name}")?;
    file.sync_all()?;
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_keeps_its_name() {
        let dir = tempfile::tempdir().expect("a folder");
        let name = name_of(dir.path(), 1).expect("named");
        assert_eq!(name_of(dir.path(), 1).expect("named"), name);
        assert_ne!(name_of(dir.path(), 2).expect("named"), name);
    }
}
