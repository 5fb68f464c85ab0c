//! Line files that a checker compares afterwards: accepted messages, acknowledgements, receipts.
//!
//! Used by the simulator and the load generator. Lines are collected per batch of PDUs and appended
//! under one lock; a timer flushes ten times a second, dropping the journal flushes the rest. A
//! write error is kept and reported once, at the end: the run itself goes on.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a journal is flushed.
pub const FLUSH_EVERY: Duration = Duration::from_millis(100);
/// Octets collected between two flushes before the file is written anyway.
const BUFFER: usize = 256 * 1024;

/// A file of tab-separated lines.
#[derive(Debug)]
pub struct Journal {
    inner: Mutex<JournalState>,
}

#[derive(Debug)]
struct JournalState {
    file: BufWriter<File>,
    error: Option<io::Error>,
}

// === impl Journal ===

impl Journal {
    /// Creates the file, or empties it.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = BufWriter::with_capacity(BUFFER, File::create(path)?);
        Ok(Self {
            inner: Mutex::new(JournalState { file, error: None }),
        })
    }

    /// Appends whole lines and empties `lines` for the next batch.
    pub fn append(&self, lines: &mut Vec<u8>) {
        if lines.is_empty() {
            return;
        }
        let mut inner = self.lock();
        let result = inner.file.write_all(lines);
        inner.keep(result);
        lines.clear();
    }

    /// Hands everything to the operating system.
    pub fn flush(&self) {
        let mut inner = self.lock();
        let result = inner.file.flush();
        inner.keep(result);
    }

    /// The first error since the last question, after a flush.
    pub fn take_error(&self) -> Option<io::Error> {
        self.flush();
        self.lock().error.take()
    }

    fn lock(&self) -> MutexGuard<'_, JournalState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JournalState {
    fn keep(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }
}

/// Appends octets so that they stay one readable column: everything but printable ASCII, and the
/// backslash, becomes `\xNN`.
pub fn push_escaped(line: &mut Vec<u8>, octets: &[u8]) {
    for octet in octets {
        match octet {
            b'\\' | 0..=0x1f | 0x7f..=0xff => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                let digits = [HEX[usize::from(octet >> 4)], HEX[usize::from(octet & 15)]];
                line.extend_from_slice(&[b'\\', b'x', digits[0], digits[1]]);
            }
            printable => line.push(*printable),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_arrive_in_the_file_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let journal = Journal::create(&path).unwrap();
        let mut lines = b"1\ta\n2\t".to_vec();
        push_escaped(&mut lines, b"x\ty\xff\\");
        lines.push(b'\n');
        journal.append(&mut lines);
        assert!(lines.is_empty());
        assert!(journal.take_error().is_none());
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "1\ta\n2\tx\\x09y\\xff\\x5c\n"
        );
    }
}
