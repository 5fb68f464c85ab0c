//! What the file `smsc.db-shm` knows of the log: how much of it was committed, and how much was copied into the database.
//!
//! SQLite writes it after the log was synced and never syncs it itself, so it is at most as new as the log is durable. It
//! outlives a process that is killed, and the first connection that opens the database clears it.

use std::fs;
use std::path::Path;

use super::{ByteOrder, Salts, Sums, beside};

/// Octets of one of the two copies of its header.
const COPY: usize = 48;
/// Where the number of copied frames is.
const COPIED: usize = 2 * COPY;

/// The index of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalIndex {
    pub salts: Salts,
    /// The last frame that was committed.
    pub committed: u32,
    /// The last frame that is in the database.
    pub copied: u32,
}

// === impl WalIndex ===

impl WalIndex {
    /// Of a database that no process uses; `None` if there is none, or it is not whole.
    ///
    /// Never call it while this process has a connection to the database: closing the file drops its locks.
    pub fn read(main: &Path) -> Option<Self> {
        let octets = fs::read(beside(main, "-shm")).ok()?;
        let header = octets
            .chunks_exact(COPY)
            .take(2)
            .find(|copy| is_whole(copy))?;
        let mut salts = Salts::default();
        salts.copy_from_slice(header.get(32..40)?);
        Some(Self {
            salts,
            committed: word(header, 16),
            copied: word(&octets, COPIED),
        })
    }
}

fn is_whole(copy: &[u8]) -> bool {
    let is_in_use = copy.get(12) == Some(&1);
    let sums = Sums::START.over(&copy[..COPY - 8], ByteOrder::NATIVE);
    is_in_use && sums == Sums(word(copy, 40), word(copy, 44))
}

/// The number at this place, as this machine writes it.
fn word(octets: &[u8], at: usize) -> u32 {
    let four = octets.get(at..at + 4).and_then(|four| four.try_into().ok());
    four.map_or(0, u32::from_ne_bytes)
}
