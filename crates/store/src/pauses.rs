//! The port for queues that a receiver of callbacks has paused by answering 410 Gone: they stay paused after a restart.
//!
//! Read when callbacks start; written when a receiver says so, and when an administrator resumes the queue.

use super::Reply;

/// Paused queues.
pub trait PauseStore {
    /// The interned names of the paused queues.
    fn paused(&self) -> Reply<Vec<u32>>;

    /// Pauses a queue, or lets it go on.
    fn set_paused(&self, queue: u32, is_paused: bool) -> Reply<()>;
}

/// The key in the table `meta`, in front of the queue's number.
const KEY: &str = "paused:";

/// The key of a queue in the table `meta`.
pub fn key(queue: u32) -> String {
    format!("{KEY}{queue}")
}

/// The queue of a row of the table `meta`; `None` for one that goes on.
pub fn of_meta(key: &str, value: i64) -> Option<u32> {
    let queue = key.strip_prefix(KEY)?.parse().ok()?;
    (value != 0).then_some(queue)
}

/// Those rows of the table `meta`.
pub const SELECT: &str = "SELECT key, value FROM meta WHERE key LIKE 'paused:%'";
