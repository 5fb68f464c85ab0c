//! The sessions that serve a queue, and the room that each has given: its credit.
//!
//! Used by the actions that grant and settle. Invariants: no session is given more than it has room
//! for, room of one joining of a session is never that of another, and sessions with room take turns.

use std::time::Duration;

use tokio::time::Instant;

use crate::actors::context::ports::QueuePort;

/// In place of a joining: the session joins under a new number each time, or whoever says so does not know.
pub(super) const ANY_JOINING: u64 = 0;

#[derive(Default)]
pub(super) struct Sessions {
    slots: Vec<SessionSlot>,
    /// Where the next grant begins, so that sessions share evenly.
    turn: usize,
    /// The session that serves nothing but tries of suspects, and since when.
    apart: Option<(u64, Instant)>,
}

struct SessionSlot {
    session: u64,
    /// Which joining of it that is.
    joined: u64,
    room: u32,
    /// The most room that it has had.
    window: u32,
}

/// The session that is served next, and how many messages it can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SessionTurn {
    pub(super) session: u64,
    pub(super) joined: u64,
    pub(super) room: u32,
    at: usize,
}

// === impl SessionTurn ===

impl SessionTurn {
    fn of(slot: &SessionSlot, at: usize) -> Self {
        Self {
            session: slot.session,
            joined: slot.joined,
            room: slot.room,
            at,
        }
    }
}

/// The session that is to try suspects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Apart {
    /// There is none.
    Nobody,
    /// It has something under way, since it was set apart for so long.
    Busy(Duration),
    Free(SessionTurn),
}

// === impl Sessions ===

impl Sessions {
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The most room that this session has had; `None` if it has not told what it can take.
    pub(super) fn window_of(&self, session: u64) -> Option<u32> {
        let slot = self.slots.iter().find(|slot| slot.session == session);
        slot.map(|slot| slot.window)
    }

    /// Whether its room here is of this joining, and not of one before: it may have left and joined again.
    pub(super) fn has_since(&self, session: u64, joined: u64) -> bool {
        let mut slots = self.slots.iter();
        slots.any(|slot| slot.session == session && slot.joined == joined)
    }

    fn slot_of(&mut self, session: u64) -> Option<&mut SessionSlot> {
        self.slots.iter_mut().find(|slot| slot.session == session)
    }

    /// A session can take `room` more, as it says since this joining; one that has been retired stays retired. What is
    /// said of another joining is of no use: that has ended, and the queue is about to hear of it.
    pub(super) fn add_room(&mut self, port: &QueuePort, session: u64, joined: u64, room: u32) {
        let is_meant = |now: u64| joined == ANY_JOINING || joined == now;
        if let Some(slot) = self.slot_of(session) {
            if is_meant(slot.joined) {
                slot.room += room;
                slot.window = slot.window.max(slot.room);
            }
        } else if let Some(port) = port.session(session)
            && !port.retiring
            && is_meant(port.joined)
        {
            self.slots.push(SessionSlot {
                session,
                joined: port.joined,
                room,
                window: room,
            });
        }
    }

    /// The session can take `window` messages at once, as it has reported.
    pub(super) fn widen(&mut self, session: u64, window: u32) {
        if let Some(slot) = self.slot_of(session) {
            slot.window = slot.window.max(window);
        }
    }

    /// Nothing more is granted by the room that it has given: it has left, and the queue is about to hear of that. Its slot
    /// stays until then. Otherwise what it had settled before would make one for its next joining, whose credit follows.
    pub(super) fn drop_room(&mut self, session: u64) {
        if let Some(slot) = self.slot_of(session) {
            slot.room = 0;
        }
    }

    pub(super) fn remove(&mut self, session: u64) {
        self.slots.retain(|slot| slot.session != session);
        self.apart.take_if(|(apart, _)| *apart == session);
    }

    /// The next session with room.
    pub(super) fn next(&self) -> Option<SessionTurn> {
        let count = self.slots.len();
        let mut places = (0..count).map(|step| (self.turn + step) % count);
        let at = places
            .find(|at| self.slots[*at].room > 0 && !self.is_apart(self.slots[*at].session))?;
        Some(SessionTurn::of(&self.slots[at], at))
    }

    /// Whether the session gets nothing but tries.
    pub(super) fn is_apart(&self, session: u64) -> bool {
        self.apart.is_some_and(|(apart, _)| apart == session)
    }

    /// Sets the session apart that has least under way, unless one is already: it gets nothing but tries.
    pub(super) fn set_apart(&mut self, now: Instant) -> Apart {
        let least = || {
            let least = self.slots.iter().min_by_key(|slot| slot.window - slot.room);
            least.map(|slot| (slot.session, now))
        };
        self.apart = self.apart.or_else(least);
        let Some((apart, since)) = self.apart else {
            return Apart::Nobody;
        };
        let at = self.slots.iter().position(|slot| slot.session == apart);
        let Some(at) = at else {
            self.apart = None;
            return Apart::Nobody;
        };
        let slot = &self.slots[at];
        if slot.room > 0 && slot.room == slot.window {
            Apart::Free(SessionTurn::of(slot, at))
        } else {
            Apart::Busy(now.duration_since(since))
        }
    }

    /// Keeps this session apart, on which a try hangs, if others can go on.
    pub(super) fn keep_apart(&mut self, session: u64, now: Instant) {
        let has_others = self.slots.iter().any(|slot| slot.session != session);
        if !has_others {
            self.apart = None;
        } else if !self.is_apart(session) {
            self.apart = Some((session, now));
        }
    }

    /// No session is apart any more.
    pub(super) fn rejoin(&mut self) {
        self.apart = None;
    }

    /// The session has been given `granted` messages; the next session follows.
    pub(super) fn granted(&mut self, turn: &SessionTurn, granted: u32) {
        self.slots[turn.at].room -= granted;
        self.turn = turn.at + 1;
    }

    /// Of what the session was given in this turn, so much was not sent to it: it has the room again.
    pub(super) fn return_room(&mut self, turn: &SessionTurn, room: u32) {
        let slot = self.slot_of(turn.session);
        if let Some(slot) = slot.filter(|slot| slot.joined == turn.joined) {
            slot.room = slot.window.min(slot.room + room);
        }
    }

    /// The room of all sessions.
    pub(super) fn room(&self) -> u64 {
        self.slots.iter().map(|slot| u64::from(slot.room)).sum()
    }

    /// The windows of all sessions.
    pub(super) fn windows(&self) -> u64 {
        self.slots.iter().map(|slot| u64::from(slot.window)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(rooms: &[u32]) -> Sessions {
        let slots = (1..).zip(rooms).map(|(session, room)| SessionSlot {
            session,
            joined: 0,
            room: *room,
            window: *room,
        });
        Sessions {
            slots: slots.collect(),
            ..Sessions::default()
        }
    }

    #[test]
    fn sessions_with_room_take_turns_until_none_has_any() {
        let mut sessions = sessions(&[2, 0, 1]);
        let mut given = Vec::new();
        while let Some(turn) = sessions.next() {
            given.push((turn.session, turn.room));
            sessions.granted(&turn, 1);
        }
        assert_eq!(given, [(1, 2), (3, 1), (1, 1)]);
        assert_eq!((sessions.room(), sessions.windows()), (0, 3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_apart_gets_no_turn_until_it_joins_again() {
        let mut sessions = sessions(&[5, 7]);
        let turn = sessions.next().expect("room");
        sessions.granted(&turn, 3);
        sessions.return_room(&turn, 1);
        assert_eq!(sessions.room(), 10);
        let now = Instant::now();
        let Apart::Free(turn) = sessions.set_apart(now) else {
            panic!("the second one has nothing under way");
        };
        assert_eq!((turn.session, turn.room), (2, 7));
        assert_eq!(sessions.next().map(|turn| turn.session), Some(1));
        sessions.granted(&turn, 1);
        let later = now + Duration::from_secs(1);
        assert_eq!(
            sessions.set_apart(later),
            Apart::Busy(Duration::from_secs(1))
        );
        sessions.remove(2);
        assert_eq!(sessions.set_apart(later), Apart::Busy(Duration::ZERO));
        assert_eq!(sessions.next(), None);
        sessions.rejoin();
        assert_eq!(sessions.next().map(|turn| turn.session), Some(1));
    }

    #[test]
    fn a_session_that_is_gone_gets_nothing_and_counts_for_nothing() {
        let mut sessions = sessions(&[5, 7]);
        sessions.widen(2, 9);
        sessions.remove(1);
        assert_eq!(
            (sessions.len(), sessions.room(), sessions.windows()),
            (1, 7, 9)
        );
        assert_eq!(sessions.next().map(|turn| turn.session), Some(2));
    }
}
