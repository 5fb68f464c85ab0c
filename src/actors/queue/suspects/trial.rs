//! In strict order a suspect holds all others, so nothing else would ever show whether it is the peer that fails. After
//! as many ends as are enough, the next message goes instead: that is the trial.
//!
//! Used as [`Suspects`] is. Invariant: nothing that was delivered was delivered out of order: the suspect ends when the
//! next message is answered, and goes before it when that has ended the session, too.

use std::time::Duration;

use tokio::time::Instant;

use super::Suspects;
use crate::actors::context::item::Item;
use crate::pb::Message;

/// Whether the peer takes another message than the one that ended its sessions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trial {
    id: u64,
    until: Instant,
    /// The peer has ended the session on the other one, too.
    has_failed: bool,
}

/// What came of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::actors::queue) enum Verdict {
    /// It is the message: it has ended so many sessions.
    Guilty { id: u64, ended: u32 },
    /// Nothing is known: the message goes before the others again, after this pause.
    Open { id: u64, pause: Duration },
}

// === impl Suspects ===

impl Suspects {
    /// How often this one has ended a session alone.
    pub(in crate::actors::queue) fn ends_of(&self, id: u64) -> u32 {
        self.all.get(&id).map_or(0, |one| one.alone)
    }

    /// Lets the next message go instead of this one, which is set aside, until then.
    pub(in crate::actors::queue) fn put_on_trial(
        &mut self,
        item: Item,
        message: Box<Message>,
        until: Instant,
    ) {
        self.trial = Some(Trial {
            id: item.id,
            until,
            has_failed: false,
        });
        self.set_aside(item, Some(message));
    }

    /// What came of the trial, once that is known.
    pub(in crate::actors::queue) fn verdict(&mut self, now: Instant) -> Option<Verdict> {
        let Trial {
            id,
            until,
            has_failed,
        } = self.trial?;
        let one = self.all.get(&id).copied().unwrap_or_default();
        let verdict = if self.answers > one.answers && one.alone > 0 {
            let ended = one.alone;
            Verdict::Guilty { id, ended }
        } else if has_failed || now >= until || !self.aside.contains_key(&id) {
            let pause = until.saturating_duration_since(now);
            Verdict::Open { id, pause }
        } else {
            return None;
        };
        self.trial = None;
        Some(verdict)
    }

    /// The peer has ended a session on another message.
    pub(super) fn another_ended(&mut self) {
        if let Some(trial) = &mut self.trial {
            trial.has_failed = true;
        }
    }
}
