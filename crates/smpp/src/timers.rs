//! The timers of a session as pure values (SMPP 3.4 §2.8, §7.2).
//!
//! The session core keeps one [`TimerWatch`] and asks it what is due; nothing here reads a clock. A
//! timer of zero is off.

use std::time::{Duration, Instant};

use super::session::CloseReason;

/// How long is waited for what. Zero switches a timer off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timers {
    /// From the connection to an accepted bind: session_init_timer (§7.2).
    pub session_init: Duration,
    /// From our bind to its answer.
    pub bind_answer: Duration,
    /// From the last PDU received to our enquire_link: enquire_link_timer (§7.2).
    pub enquire_link: Duration,
    /// From our enquire_link to any sign of life.
    pub enquire_link_answer: Duration,
    /// From the last PDU received, enquire_link included, to giving up: inactivity_timer (§7.2).
    /// The second line of defence, for sessions that send no enquire_link.
    pub inactivity: Duration,
    /// From our unbind to its answer.
    pub unbind_answer: Duration,
}

/// What a session waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// A bind, or its acceptance.
    Opening,
    /// The answer to our bind.
    Binding,
    /// Traffic.
    Bound,
    /// The answer to our unbind.
    Unbinding,
    /// Nothing more.
    Closed,
}

/// The action when a timer has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Nothing yet.
    Nothing,
    /// Send enquire_link (§4.11.1).
    EnquireLink,
    /// Close the connection.
    Close(CloseReason),
}

/// The instants a session's timers count from.
#[derive(Clone, Copy, Debug)]
pub struct TimerWatch {
    opened_at: Instant,
    phase: Phase,
    phase_since: Instant,
    last_received: Instant,
    enquire_sent_at: Option<Instant>,
}

// === impl Timers ===

impl Default for Timers {
    fn default() -> Timers {
        Timers {
            session_init: Duration::from_secs(30),
            bind_answer: Duration::from_secs(10),
            enquire_link: Duration::from_secs(30),
            enquire_link_answer: Duration::from_secs(10),
            inactivity: Duration::from_secs(150),
            unbind_answer: Duration::from_secs(10),
        }
    }
}

// === impl TimerWatch ===

impl TimerWatch {
    /// A connection opened now.
    pub fn new(now: Instant) -> TimerWatch {
        TimerWatch {
            opened_at: now,
            phase: Phase::Opening,
            phase_since: now,
            last_received: now,
            enquire_sent_at: None,
        }
    }

    /// The session enters another phase.
    pub fn enter(&mut self, phase: Phase, now: Instant) {
        self.phase = phase;
        self.phase_since = now;
    }

    /// The session is over: nothing is due any more.
    pub fn stop(&mut self) {
        self.phase = Phase::Closed;
    }

    /// A PDU arrived: the peer is alive.
    pub fn received(&mut self, now: Instant) {
        self.last_received = now;
        self.enquire_sent_at = None;
    }

    /// Whether the peer has sent anything since then.
    pub fn has_heard_since(&self, at: Instant) -> bool {
        self.last_received > at
    }

    /// Whether our enquire_link is still unanswered.
    pub fn is_enquiring(&self) -> bool {
        self.enquire_sent_at.is_some()
    }

    /// Our enquire_link went out.
    pub fn enquired(&mut self, now: Instant) {
        self.enquire_sent_at = Some(now);
    }

    /// What is due now; of several the one that was due first.
    pub fn due(&self, timers: &Timers, now: Instant) -> Due {
        match self.earliest(timers) {
            Some((deadline, due)) if deadline <= now => due,
            _ => Due::Nothing,
        }
    }

    /// What is due next, and when.
    pub(crate) fn earliest(&self, timers: &Timers) -> Option<(Instant, Due)> {
        let close = Due::Close;
        let after = |since: Instant, wait: Duration, due: Due| {
            (!wait.is_zero()).then_some((since + wait, due))
        };
        match self.phase {
            Phase::Opening => after(
                self.opened_at,
                timers.session_init,
                close(CloseReason::SessionInit),
            ),
            Phase::Binding => after(
                self.phase_since,
                timers.bind_answer,
                close(CloseReason::BindTimeout),
            ),
            Phase::Bound => {
                let enquiry = match self.enquire_sent_at {
                    Some(sent_at) => after(
                        sent_at,
                        timers.enquire_link_answer,
                        close(CloseReason::EnquireLinkTimeout),
                    ),
                    None => after(self.last_received, timers.enquire_link, Due::EnquireLink),
                };
                let inactivity = after(
                    self.last_received,
                    timers.inactivity,
                    close(CloseReason::Inactivity),
                );
                [enquiry, inactivity]
                    .into_iter()
                    .flatten()
                    .min_by_key(|(deadline, _)| *deadline)
            }
            Phase::Unbinding => after(
                self.phase_since,
                timers.unbind_answer,
                close(CloseReason::UnbindTimeout),
            ),
            Phase::Closed => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    fn next_deadline(watch: &TimerWatch, timers: &Timers) -> Option<Instant> {
        watch.earliest(timers).map(|(deadline, _)| deadline)
    }

    #[test]
    fn enquire_link_then_its_answer_then_silence() {
        let start = Instant::now();
        let timers = Timers::default();
        let mut watch = TimerWatch::new(start);
        assert_eq!(next_deadline(&watch, &timers), Some(start + seconds(30)));
        watch.enter(Phase::Bound, start);
        assert_eq!(watch.due(&timers, start + seconds(29)), Due::Nothing);
        assert_eq!(watch.due(&timers, start + seconds(30)), Due::EnquireLink);
        watch.enquired(start + seconds(30));
        assert_eq!(watch.due(&timers, start + seconds(39)), Due::Nothing);
        assert_eq!(
            watch.due(&timers, start + seconds(40)),
            Due::Close(CloseReason::EnquireLinkTimeout)
        );
        watch.received(start + seconds(35));
        assert_eq!(next_deadline(&watch, &timers), Some(start + seconds(65)));
    }

    #[test]
    fn zero_switches_off() {
        let start = Instant::now();
        let timers = Timers {
            enquire_link: Duration::ZERO,
            ..Timers::default()
        };
        let mut watch = TimerWatch::new(start);
        watch.enter(Phase::Bound, start);
        assert_eq!(watch.due(&timers, start + seconds(149)), Due::Nothing);
        assert_eq!(
            watch.due(&timers, start + seconds(150)),
            Due::Close(CloseReason::Inactivity)
        );
    }
}
