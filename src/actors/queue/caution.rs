//! How many messages may be with sessions while there may be more that end them: what is lost with a session is sent
//! twice at least.
//!
//! Used by `suspects`. A quarter as many after each session that was ended, twice as many after so many answers. So of many
//! that end sessions only the first ones cost whole windows. Invariant: it ends when all windows may be full again. While
//! nothing is answered at all, messages are passed over, to find one that the peer takes.

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

/// Messages that are passed over, to find one that the peer takes.
#[derive(Debug, Default)]
pub(super) struct PassedOver {
    /// How many more, before one is sent again.
    left: usize,
    /// How many after the next session that is ended.
    next: usize,
}

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

// === impl PassedOver ===

impl PassedOver {
    /// Another session was ended, and nothing was answered since the one before: twice as many as then.
    pub(super) fn more(&mut self) {
        self.left = self.next.max(1);
        self.next = self.left.saturating_mul(2);
    }

    /// Whether the next message is one of them, with so many behind it: of these, half are left.
    pub(super) fn has_one_more(&mut self, behind: usize) -> bool {
        self.left = self.left.min(behind.div_ceil(2));
        let has_one = self.left > 0;
        self.left -= usize::from(has_one);
        has_one
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

    #[test]
    fn twice_as_many_are_passed_over_each_time_but_never_all() {
        let mut passed_over = PassedOver::default();
        let mut of = |waiting: usize| {
            passed_over.more();
            let behind = (0..waiting).rev();
            behind
                .take_while(|behind| passed_over.has_one_more(*behind))
                .count()
        };
        assert_eq!([of(100), of(100), of(100), of(100)], [1, 2, 4, 8]);
        assert_eq!(
            [of(9), of(3), of(2), of(1)],
            [4, 1, 1, 0],
            "half of what is left"
        );
    }
}
