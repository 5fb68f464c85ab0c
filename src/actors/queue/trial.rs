//! In strict order a suspect holds all others, so nothing else would ever show whether it is the peer that fails. After
//! as many ended sessions as are enough, the next message goes instead: that is the trial.
//!
//! Used by the actions that grant and settle. Invariant: nothing that was delivered was delivered out of order: the suspect
//! ends when the next message is answered, and goes before it when that has ended the session, too.

use std::time::Duration;

use tokio::time::Instant;

/// Which message is on trial, if any is.
#[derive(Default)]
pub(super) struct Trial(Option<OnTrial>);

#[derive(Debug, Clone, Copy)]
struct OnTrial {
    id: u64,
    until: Instant,
    /// The peer has ended the session on the next one, too.
    has_failed: bool,
}

/// What came of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrialVerdict {
    /// It is the message: it has ended so many sessions.
    Guilty { ended: u32 },
    /// Nothing is known: the message goes before the others again, after this pause.
    Open { pause: Duration },
}

// === impl Trial ===

impl Trial {
    /// Lets the next message go instead of this one until then.
    pub(super) fn begin(&mut self, id: u64, until: Instant) {
        self.0 = Some(OnTrial {
            id,
            until,
            has_failed: false,
        });
    }

    /// Who is on trial.
    pub(super) fn id(&self) -> Option<u64> {
        self.0.map(|one| one.id)
    }

    /// The peer has ended a session on another message.
    pub(super) fn another_ended(&mut self) {
        if let Some(one) = &mut self.0 {
            one.has_failed = true;
        }
    }

    /// What came of it, once that is known. `ended`: how many sessions it has ended, if others were answered since.
    pub(super) fn verdict(&mut self, ended: Option<u32>, now: Instant) -> Option<TrialVerdict> {
        let one = self.0?;
        let verdict = match ended {
            Some(ended) => TrialVerdict::Guilty { ended },
            None if one.has_failed || now >= one.until => TrialVerdict::Open {
                pause: one.until.saturating_duration_since(now),
            },
            None => return None,
        };
        self.0 = None;
        Some(verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_ends_with_an_answer_another_ended_session_or_its_time() {
        let (now, pause) = (Instant::now(), Duration::from_secs(5));
        let mut trial = Trial::default();
        trial.begin(7, now + pause);
        assert_eq!((trial.id(), trial.verdict(None, now)), (Some(7), None));
        let guilty = TrialVerdict::Guilty { ended: 3 };
        assert_eq!(trial.verdict(Some(3), now), Some(guilty));
        assert_eq!(trial.id(), None);
        trial.begin(7, now + pause);
        trial.another_ended();
        assert_eq!(trial.verdict(None, now), Some(TrialVerdict::Open { pause }));
        trial.begin(7, now + pause);
        let pause = Duration::ZERO;
        let over = trial.verdict(None, now + Duration::from_secs(6));
        assert_eq!(over, Some(TrialVerdict::Open { pause }));
    }
}
