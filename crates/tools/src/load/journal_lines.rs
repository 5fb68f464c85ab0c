//! The lines that a load run writes for a checker, one per answer and per receipt.
//!
//! ```text
//! A <tab> reference <tab> message id <tab> destination <tab> Unix ms     accepted
//! F <tab> reference <tab> status <tab> destination <tab> Unix ms         refused
//! R <tab> message id <tab> state <tab> Unix ms                           receipt
//! ```
//!
//! Written by the ledger into a buffer that the bind hands to the journal after each batch. Costs
//! nothing without a journal.

use bytes::BytesMut;

use super::options::Destinations;
use super::reference::RunTag;
use crate::simulator::journal::{Journal, push_escaped};
use smsc_domain::state;
use smsc_smpp::CommandStatus;

/// Lines of the current batch.
#[derive(Debug)]
pub struct JournalLines {
    enabled: bool,
    /// The moment of the batch, in Unix milliseconds.
    pub now_ms: i64,
    tag: RunTag,
    destinations: Destinations,
    lines: Vec<u8>,
    scratch: BytesMut,
}

// === impl JournalLines ===

impl JournalLines {
    /// Lines for a run with this tag.
    pub fn new(tag: RunTag, destinations: Destinations) -> Self {
        Self {
            enabled: true,
            now_ms: 0,
            tag,
            destinations,
            lines: Vec::new(),
            scratch: BytesMut::new(),
        }
    }

    /// No lines at all.
    pub fn disabled() -> Self {
        Self {
            enabled: false,
            ..Self::new(RunTag::random(), Destinations::default())
        }
    }

    /// Hands the lines to the journal.
    pub fn write_to(&mut self, journal: &Journal) {
        journal.append(&mut self.lines);
    }

    pub(super) fn accepted(&mut self, index: u64, message_id: &[u8]) {
        if self.enabled {
            self.answer(b'A', index, message_id);
        }
    }

    pub(super) fn refused(&mut self, index: u64, status: CommandStatus) {
        if self.enabled {
            self.answer(b'F', index, status.name().as_bytes());
        }
    }

    pub(super) fn receipt(&mut self, message_id: &[u8], state: u8) {
        if self.enabled {
            self.lines.extend_from_slice(b"R\t");
            push_escaped(&mut self.lines, message_id);
            self.lines.push(b'\t');
            self.lines.extend_from_slice(state::name(state).as_bytes());
            self.end_line();
        }
    }

    fn answer(&mut self, kind: u8, index: u64, what: &[u8]) {
        self.lines.extend_from_slice(&[kind, b'\t']);
        self.scratch.clear();
        self.tag.write(&mut self.scratch, index);
        self.lines.extend_from_slice(&self.scratch);
        self.lines.push(b'\t');
        push_escaped(&mut self.lines, what);
        self.lines.push(b'\t');
        self.scratch.clear();
        self.destinations.write(&mut self.scratch, index);
        self.lines.extend_from_slice(&self.scratch);
        self.end_line();
    }

    fn end_line(&mut self) {
        self.lines.push(b'\t');
        self.lines
            .extend_from_slice(self.now_ms.to_string().as_bytes());
        self.lines.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_per_answer_and_receipt() {
        let tag = RunTag::random();
        let mut lines = JournalLines::new(tag, "447700900000+10".parse().unwrap());
        lines.now_ms = 1234;
        lines.accepted(13, b"99");
        lines.refused(2, CommandStatus::ESME_RTHROTTLED);
        lines.receipt(b"99", state::DELIVERED);
        let tag = tag.as_str();
        assert_eq!(
            String::from_utf8(lines.lines).unwrap(),
            format!(
                "A\t{tag}-0000000013\t99\t447700900003\t1234\n\
                 F\t{tag}-0000000002\tESME_RTHROTTLED\t447700900002\t1234\n\
                 R\t99\tDELIVERED\t1234\n"
            )
        );
    }
}
