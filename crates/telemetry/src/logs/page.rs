//! What a subscriber under test has written.

use std::io;
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter;

/// Lines in memory; clones write to the same page.
#[derive(Clone, Default)]
pub(super) struct LogPage(Arc<Mutex<Vec<u8>>>);

impl LogPage {
    /// All that was written so far.
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for LogPage {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogPage {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
