//! Whether our name at the HLR leads to this connection.
//!
//! An HLR finds the way to us by our IPA name. When another program has the same one, answers may go there, while
//! messages reach their handsets: each would be repeated until its validity is over. So nothing is sent before something
//! came that was meant for our name, and after a request without an answer it is asked again. An HLR that closes the older
//! connection of a name closes ours soon after each handshake; then a connection has to last before it is used.
//!
//! Pure; held by the interface, which asks, and tells what came. Invariant: between two connections that were closed soon,
//! the time without messages doubles.

use std::time::Duration;

use tokio::time::Instant;

/// A connection that ends before this has ended soon.
const SOON: Duration = Duration::from_secs(60);
/// So many in a row, and somebody else may have closed them.
const IN_A_ROW: u32 = 3;
/// How long the next one then lasts before it is used; it doubles with each. OsmoHLR's other clients are back after 10 s.
const SETTLED: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_secs(3600);

/// What is known about our name.
#[derive(Debug, Default)]
pub(super) struct Naming {
    /// Since when the connection is ready.
    ready_at: Option<Instant>,
    /// Whether anything has come on it.
    proven: bool,
    /// Since when an answer is waited for.
    asked_at: Option<Instant>,
    heard_at: Option<Instant>,
    /// Connections in a row that the HLR has closed soon.
    closed_soon: u32,
    taken: bool,
}

// === impl Naming ===

impl Naming {
    /// The HLR has taken our name; without a question it is believed.
    pub fn ready(&mut self, asks: bool, now: Instant) {
        self.ready_at = Some(now);
        self.proven = !asks;
        self.asked_at = asks.then_some(now);
        self.heard_at = None;
    }

    /// Something came for our name.
    pub fn heard(&mut self, now: Instant) {
        self.proven = true;
        self.asked_at = None;
        self.heard_at = Some(now);
    }

    /// A request that was sent at `since` has got no answer: true when it is to be asked whether any would come.
    pub fn doubts(&mut self, since: Instant, now: Instant) -> bool {
        let is_heard = self.heard_at.is_some_and(|heard| heard >= since);
        let asks = !is_heard && self.asked_at.is_none() && self.ready_at.is_some();
        if asks {
            self.asked_at = Some(now);
        }
        asks
    }

    /// Whether messages may be sent: nothing is in doubt.
    pub fn is_sure(&self) -> bool {
        self.proven && self.asked_at.is_none()
    }

    /// Whether the connection may be used: it leads to us, and lasts.
    pub fn is_ours(&self, now: Instant) -> bool {
        let lasts = |ready: Instant| now.saturating_duration_since(ready) >= self.settled();
        self.is_sure() && self.ready_at.is_some_and(lasts)
    }

    /// It is used.
    pub fn used(&mut self) {
        self.taken = false;
    }

    /// Whether the answer has not come within `patience`; then somebody else has the name.
    pub fn is_lost(&mut self, patience: Duration, now: Instant) -> bool {
        let overdue = |asked: Instant| now.saturating_duration_since(asked) >= patience;
        let is_lost = self.asked_at.is_some_and(overdue);
        self.taken |= is_lost;
        is_lost
    }

    /// The HLR has closed the connection: whether it has closed so many in a row soon that it is no accident.
    pub fn closed(&mut self, now: Instant) -> bool {
        let Some(ready) = self.ready_at else {
            return false;
        };
        let lasted = now.saturating_duration_since(ready);
        if lasted < SOON.max(self.settled() * 2) {
            self.closed_soon += 1;
        } else {
            self.closed_soon = 0;
        }
        let is_odd = self.closed_soon >= IN_A_ROW;
        self.taken |= is_odd;
        is_odd
    }

    /// The connection is ended for something that no other program with our name causes: those that were closed before are
    /// no longer in a row.
    pub fn broken(&mut self) {
        self.closed_soon = 0;
    }

    /// Whether the connection has lasted.
    pub fn has_lasted(&self, now: Instant) -> bool {
        let lasted = |ready: Instant| now.saturating_duration_since(ready) >= SOON;
        self.ready_at.is_some_and(lasted)
    }

    /// There is no connection.
    pub fn left(&mut self) {
        self.ready_at = None;
        self.proven = false;
        self.asked_at = None;
    }

    /// An administrator has changed something: the next connection need not last before it is used.
    pub fn forgive(&mut self) {
        self.closed_soon = 0;
    }

    /// Another program seems to have our name.
    pub fn is_taken(&self) -> bool {
        self.taken
    }

    /// How long a connection lasts before it is used.
    fn settled(&self) -> Duration {
        match self.closed_soon.checked_sub(IN_A_ROW) {
            None => Duration::ZERO,
            Some(more) => (SETTLED * 2u32.pow(more.min(10))).min(LONGEST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_name_is_ours_when_something_comes() {
        let (mut naming, now) = (Naming::default(), Instant::now());
        naming.ready(true, now);
        assert!(!naming.is_ours(now) && !naming.is_lost(PATIENCE, now + SECOND));
        naming.heard(now + SECOND);
        assert!(naming.is_ours(now + SECOND) && !naming.is_lost(PATIENCE, now + PATIENCE));
        naming.left();
        assert!(!naming.is_ours(now + SECOND));
        naming.ready(true, now);
        assert!(naming.is_lost(PATIENCE, now + PATIENCE) && naming.is_taken());
        naming.ready(false, now);
        assert!(
            naming.is_ours(now) && naming.is_taken(),
            "it is not used yet"
        );
        naming.used();
        assert!(!naming.is_taken());
    }

    #[test]
    fn it_is_asked_again_when_there_is_no_answer_and_nothing_else_came() {
        let (mut naming, now) = (Naming::default(), Instant::now());
        naming.ready(true, now);
        naming.heard(now + SECOND);
        assert!(!naming.doubts(now, now + PATIENCE), "something came since");
        assert!(naming.doubts(now + SECOND * 2, now + PATIENCE));
        assert!(!naming.is_sure() && !naming.doubts(now + SECOND * 2, now + PATIENCE));
        naming.heard(now + PATIENCE);
        assert!(naming.is_sure());
        assert!(naming.doubts(now + PATIENCE + SECOND, now + PATIENCE * 2));
        assert!(naming.is_lost(PATIENCE, now + PATIENCE * 3));
    }

    #[test]
    fn after_connections_that_were_closed_soon_the_next_one_has_to_last() {
        let (mut naming, now) = (Naming::default(), Instant::now());
        let mut lasts = |closed: u32| {
            naming.ready(true, now);
            naming.heard(now);
            let needed = (0..7200).find(|after| naming.is_ours(now + SECOND * *after));
            let found = naming.closed(now + SECOND);
            naming.left();
            assert_eq!(found, closed >= IN_A_ROW);
            assert_eq!(naming.is_taken(), closed >= IN_A_ROW);
            needed.expect("it is used")
        };
        let needed: Vec<u32> = (1..=12).map(&mut lasts).collect();
        let wanted = [0, 0, 0, 30, 60, 120, 240, 480, 960, 1920, 3600, 3600];
        assert_eq!(needed, wanted);
        // One that has lasted counts for all of them.
        naming.ready(true, now);
        naming.heard(now);
        assert!(!naming.closed(now + LONGEST * 2));
        naming.left();
        naming.ready(true, now);
        naming.heard(now);
        assert!(naming.is_ours(now));
    }

    #[test]
    fn an_end_of_another_kind_breaks_the_row() {
        let (mut naming, now) = (Naming::default(), Instant::now());
        for end in 0..20 {
            naming.ready(true, now);
            naming.heard(now);
            assert!(naming.is_ours(now), "it need not last");
            match end % 3 {
                2 => naming.broken(),
                _ => assert!(!naming.closed(now)),
            }
            naming.left();
        }
        assert!(!naming.is_taken());
    }

    #[test]
    fn a_connection_that_was_never_ready_says_nothing() {
        let (mut naming, now) = (Naming::default(), Instant::now());
        assert!(!(0..9).any(|_| naming.closed(now)) && !naming.is_taken());
        assert!(!naming.doubts(now, now));
    }
}
