//! Commands whose submission has failed by an error of the SMSC: a panic, of which one command of the batch may be the cause.
//!
//! Held by a source. Such a batch comes again, each of its commands alone, so that only the one that is the cause fails again;
//! it ends after [`TRIES`] of its own. Nothing is counted when the store refuses: that is no command's fault.

use std::collections::HashMap;

/// Failures of a command alone.
const TRIES: u32 = 3;
/// Commands that are remembered.
const MOST: usize = 10_000;

/// Those commands, by place in the stream, with how often each has failed alone.
#[derive(Debug, Default)]
pub(super) struct BrokenCommands(HashMap<u64, u32, ahash::RandomState>);

/// What becomes of a command whose submission has failed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BrokenFate {
    /// It comes again, alone.
    Alone,
    /// It ends.
    Ends,
}

// === impl BrokenCommands ===

impl BrokenCommands {
    /// Whether a command is to be submitted alone.
    pub(super) fn has(&self, sequence: u64) -> bool {
        self.0.contains_key(&sequence)
    }

    /// The submission of a command has failed, alone or with others.
    pub(super) fn failed(&mut self, sequence: u64, was_alone: bool) -> BrokenFate {
        if !self.has(sequence) && self.0.len() >= MOST {
            // They have gone to other nodes, or are found anew.
            self.0.clear();
        }
        let tries = self.0.entry(sequence).or_default();
        *tries += u32::from(was_alone);
        if *tries < TRIES {
            return BrokenFate::Alone;
        }
        self.0.remove(&sequence);
        BrokenFate::Ends
    }

    /// It was submitted after all.
    pub(super) fn passed(&mut self, sequence: u64) {
        self.0.remove(&sequence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_ends_after_three_failures_of_its_own() {
        let mut broken = BrokenCommands::default();
        for _ in 0..5 {
            assert_eq!(broken.failed(7, false), BrokenFate::Alone);
        }
        assert!(broken.has(7) && !broken.has(8));
        let alone = [(); 3].map(|()| broken.failed(7, true));
        assert_eq!(
            alone,
            [BrokenFate::Alone, BrokenFate::Alone, BrokenFate::Ends]
        );
        assert!(!broken.has(7));
        broken.failed(8, false);
        broken.passed(8);
        assert!(!broken.has(8));
        for sequence in 0..3 * MOST as u64 {
            broken.failed(sequence, false);
        }
        assert!(broken.0.len() <= MOST);
    }
}
