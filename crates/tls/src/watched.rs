//! A value that is built from files, and rebuilt when they change.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwap;

/// How often the files are checked.
const LOOK_EVERY: Duration = Duration::from_secs(60);

type Read<T> = Box<dyn Fn() -> Result<T, String> + Send + Sync>;

/// The value of files, as of the last time that they were usable.
pub(super) struct Watched<T> {
    files: Vec<PathBuf>,
    read: Read<T>,
    current: ArcSwap<T>,
    looked: Mutex<Looked>,
}

struct Looked {
    at: Instant,
    /// When the files had been changed.
    changed: Vec<Option<SystemTime>>,
}

// === impl Watched ===

impl<T> Watched<T> {
    /// # Errors
    /// What `read` says.
    pub(super) fn open(
        files: Vec<PathBuf>,
        read: impl Fn() -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let looked = Looked {
            at: Instant::now(),
            changed: changes(&files),
        };
        Ok(Self {
            current: ArcSwap::from_pointee(read()?),
            looked: Mutex::new(looked),
            read: Box::new(read),
            files,
        })
    }

    /// The current value, after checking the files if the last check was a while ago.
    pub(super) fn get(&self) -> Arc<T> {
        let due = self.looked().at.elapsed() >= LOOK_EVERY;
        if due {
            self.look();
        }
        self.current.load_full()
    }

    /// Reads the files again if they have changed.
    pub(super) fn look(&self) {
        let changed = changes(&self.files);
        {
            let mut looked = self.looked();
            looked.at = Instant::now();
            if looked.changed == changed {
                return;
            }
            looked.changed = changed;
        }
        match (self.read)() {
            Ok(read) => {
                self.current.store(Arc::new(read));
                tracing::info!(files = %self.names(), "certificate read again");
            }
            Err(error) => tracing::error!(error, "the certificate in force stays"),
        }
    }

    fn looked(&self) -> MutexGuard<'_, Looked> {
        self.looked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn names(&self) -> String {
        let names: Vec<_> = self
            .files
            .iter()
            .map(|file| file.to_string_lossy())
            .collect();
        names.join(", ")
    }
}

impl<T> fmt::Debug for Watched<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

fn changes(files: &[PathBuf]) -> Vec<Option<SystemTime>> {
    files
        .iter()
        .map(|file| {
            std::fs::metadata(file)
                .and_then(|about| about.modified())
                .ok()
        })
        .collect()
}
