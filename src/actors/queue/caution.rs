//! How many messages may be with sessions while there may be more that end them: what is lost with a session is sent
//! twice at least.
//!
//! Used by `suspects`. A quarter as many after each session that was ended, twice as many after so many answers. So of many
//! that end sessions only the first ones cost whole windows. Invariant: it ends when all windows may be full again.

/// What may be under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Caution {
    most: u32,
    /// What the windows of all sessions held.
    full: u32,
    /// Since `most` last changed.
    answers: u32,
}

/// So much less after each session that was ended.
const LESS: u32 = 4;
/// So much more after so many windows that were answered.
const MORE: u32 = 2;
const ANSWERED: u32 = 8;

// === impl Caution ===

impl Caution {
    /// A session was ended. What was with others at that time was sent before this was known: if no answer has come
    /// since, it stays as it is.
    pub(super) fn after(before: Option<Self>, windows: u32) -> Self {
        let full = before.map_or(windows, |one| one.full.max(windows));
        let most = match before {
            Some(one) if one.answers == 0 => one.most,
            Some(one) => one.most / LESS,
            None => full / LESS,
        };
        Self {
            most: most.max(1),
            full,
            answers: 0,
        }
    }

    /// How many messages may be under way.
    pub(super) fn most(self) -> u32 {
        self.most
    }

    /// So many were answered; `None` when it is over.
    pub(super) fn answered(mut self, answers: u32) -> Option<Self> {
        self.answers = self.answers.saturating_add(answers);
        if self.answers >= self.most.saturating_mul(ANSWERED) {
            self.most = self.most.saturating_mul(MORE);
            self.answers = 0;
        }
        (self.most < self.full).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_down_with_each_end_but_not_twice_for_one_moment_and_up_with_answers() {
        let first = Caution::after(None, 100);
        assert_eq!(first.most(), 25);
        assert_eq!(Caution::after(Some(first), 50), first, "at the same time");
        let later = first.answered(1).expect("careful");
        let second = Caution::after(Some(later), 50);
        assert_eq!(second.most(), 6);
        let mut one = second.answered(47).expect("careful");
        for most in [6, 12, 24, 48, 96] {
            assert_eq!(one.most(), most);
            one = one.answered(8 * most).unwrap_or(one);
        }
        assert_eq!(one.answered(8 * 96), None, "all windows");
        assert_eq!(Caution::after(None, 1).answered(0), None);
    }
}
