//! Messages on which the HLR ends the connection.
//!
//! Used by `life` and `delivery`. What was under way when it ended goes one by one on the next connection, so that the
//! culprit is alone when it ends that. From then on it goes alone, later and later, and after [`ENOUGH`] ends it is given
//! up. An end counts only when the network has answered other messages since the first one: an HLR that ends every
//! connection makes nobody guilty. What is known ends with the process.

use std::collections::HashMap;
use std::time::Duration;

use ahash::AHashSet;

use crate::domain::culprit;

/// A message that has ended so many connections is given up.
const ENOUGH: u32 = 3;
/// Pause after the first end.
const FIRST: Duration = Duration::from_secs(5);
/// Most that are remembered, of those that are accused and of those that are suspected.
const MOST: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Culprits {
    accused: HashMap<u64, Accused, ahash::RandomState>,
    /// What was under way when the HLR ended a connection, and has not been tried alone.
    suspected: AHashSet<u64>,
    /// So many messages go one by one.
    one_by_one: usize,
    /// Results of the network so far.
    answers: u64,
}

#[derive(Debug, Clone, Copy)]
struct Accused {
    /// Connections that it has ended alone.
    ends: u32,
    /// Results of the network when it ended the first one.
    answers: u64,
}

/// What becomes of a message that has ended a connection alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CulpritFate {
    /// It is tried alone, after this pause.
    Later(Duration),
    /// It has ended so many connections.
    Guilty(u32),
}

// === impl Culprits ===

impl Culprits {
    /// The HLR has ended the connection while these were under way; whether it was one alone, and what becomes of it.
    pub(super) fn ended(&mut self, under_way: &[u64]) -> Option<CulpritFate> {
        let is_known = |id: &u64| self.accused.contains_key(id);
        let id = match *under_way {
            [id] if is_known(&id) => id,
            [id] if self.suspected.contains(&id) && self.accused.len() < MOST => id,
            _ => {
                let room = MOST.saturating_sub(self.suspected.len());
                self.suspected.extend(under_way.iter().take(room));
                self.one_by_one = self.one_by_one.max(under_way.len());
                return None;
            }
        };
        self.tried(id);
        let answers = self.answers;
        let one = (self.accused.entry(id)).or_insert(Accused { ends: 0, answers });
        one.ends += 1;
        let one = *one;
        let is_told_apart = answers > one.answers;
        if is_told_apart && one.ends >= ENOUGH {
            self.accused.remove(&id);
            return Some(CulpritFate::Guilty(one.ends));
        }
        let pause = culprit::pause(one.ends, FIRST, is_told_apart);
        Some(CulpritFate::Later(pause))
    }

    /// Whether all ends of late are those of one message, and others were answered between, so that nothing else explains
    /// them.
    pub(super) fn explains(&self) -> bool {
        let is_told_apart = |one: &Accused| self.answers > one.answers;
        self.accused.len() <= 1 && self.accused.values().all(is_told_apart)
    }

    /// The queue has granted a message, behind so many: one that has ended a connection goes alone.
    pub(super) fn granted(&mut self, id: u64, behind: usize) {
        if !self.accused.is_empty() && self.accused.contains_key(&id) {
            self.one_by_one = self.one_by_one.max(behind + 1);
        }
    }

    /// How many messages may be under way, of `window`.
    pub(super) fn most(&self, window: u32) -> u32 {
        match self.one_by_one {
            0 => window,
            _ => window.min(1),
        }
    }

    /// The network has said what became of a message.
    pub(super) fn answered(&mut self, id: u64) {
        self.answers += 1;
        self.is_over(id);
    }

    /// Nothing more is waited for of a message, and the connection is still there.
    pub(super) fn is_over(&mut self, id: u64) {
        self.tried(id);
        if !self.accused.is_empty() {
            self.accused.remove(&id);
        }
    }

    fn tried(&mut self, id: u64) {
        if self.one_by_one == 0 {
            return;
        }
        self.one_by_one -= 1;
        self.suspected.remove(&id);
        if self.one_by_one == 0 {
            self.suspected.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_one_that_ends_connections_alone_is_guilty_when_others_were_answered() {
        let mut culprits = Culprits::default();
        assert_eq!(culprits.most(10), 10);
        assert_eq!(culprits.ended(&[1, 2, 3]), None);
        assert_eq!(culprits.most(10), 1);
        culprits.answered(1);
        assert_eq!(culprits.ended(&[2]), Some(CulpritFate::Later(5 * SECOND)));
        assert!(!culprits.explains(), "it may be any other reason");
        culprits.answered(3);
        assert_eq!(culprits.most(10), 10, "all were tried");
        culprits.granted(4, 7);
        assert_eq!(culprits.most(10), 10);
        culprits.granted(2, 1);
        assert_eq!(culprits.most(10), 1, "alone");
        culprits.answered(5);
        assert_eq!(culprits.ended(&[2]), Some(CulpritFate::Later(15 * SECOND)));
        assert!(culprits.explains());
        assert_eq!(culprits.ended(&[2]), Some(CulpritFate::Guilty(3)));
        assert_eq!(culprits.most(10), 10);
    }

    #[test]
    fn an_hlr_that_ends_every_connection_makes_nobody_guilty() {
        let mut culprits = Culprits::default();
        assert_eq!(culprits.ended(&[1]), None, "an HLR that restarts");
        assert_eq!(culprits.ended(&[2]), None);
        assert_eq!(culprits.ended(&[1, 2]), None);
        for _ in 0..9 {
            for id in [1, 2] {
                let verdict = culprits.ended(&[id]);
                assert!(matches!(verdict, Some(CulpritFate::Later(pause)) if pause <= 60 * SECOND));
            }
        }
        assert!(!culprits.explains());
        // What is answered after all has ended nothing.
        culprits.answered(1);
        culprits.is_over(2);
        assert!(culprits.accused.is_empty());
    }
}
