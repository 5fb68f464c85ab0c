//! How many messages are passed over while a peer answers none, and whose turn is next among them.
//!
//! Used by `suspects`. Invariant: who has had its turn is no longer in the list, which is filled anew only by its owner.

/// Most that are tried together: their bodies are in memory then.
const TOGETHER: usize = 256;

/// Messages that are passed over, to find one that the peer takes, and whose turn is next among them.
#[derive(Debug, Default)]
pub(super) struct PassedOver {
    /// How many more, before one is sent again.
    left: usize,
    /// How many after the next session that is ended.
    next: usize,
    /// Sessions that were ended since the last answer.
    pub(super) ends: u32,
    /// Those that have not had their turn, in order.
    pub(super) ids: Vec<u64>,
    /// Whose turn is next.
    at: usize,
    /// How many are tried together, if the peer takes some.
    group: usize,
}

// === impl PassedOver ===

impl PassedOver {
    /// Another session was ended, and nothing was answered since the one before: twice as many as then.
    pub(super) fn more(&mut self) {
        self.left = self.next.max(1);
        self.next = self.left.saturating_mul(2);
        self.ends = self.ends.saturating_add(1);
    }

    /// One was answered: none is passed over until sessions were ended again.
    pub(super) fn rest(&mut self) {
        (self.left, self.next, self.ends) = (0, 0, 0);
    }

    /// A session was ended: the next one is tried alone.
    pub(super) fn one_by_one(&mut self) {
        self.group = 0;
    }

    /// Whether the next message is one of them, with so many behind it: of these, half are left.
    pub(super) fn has_one_more(&mut self, behind: usize) -> bool {
        self.left = self.left.min(behind.div_ceil(2));
        let has_one = self.left > 0;
        self.left -= usize::from(has_one);
        has_one
    }

    /// Those of the next try: one behind those that are passed over, or else the next ones, twice as many each time.
    pub(super) fn take(&mut self, passes_over: bool) -> Vec<u64> {
        let count = self.ids.len();
        if self.at >= count {
            self.at = 0;
        }
        let behind = count - self.at;
        if passes_over {
            self.at += std::mem::take(&mut self.left).min(behind / 2);
            self.one_by_one();
        }
        self.group = (self.group * 2).clamp(1, TOGETHER);
        let end = count.min(self.at + self.group);
        self.ids.drain(self.at..end).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn each_has_its_turn_in_few_steps_or_many_at_once() {
        let mut passed_over = PassedOver::default();
        passed_over.ids.extend(1..=20);
        let mut next = |doubts: bool| {
            passed_over.more();
            passed_over.take(doubts)
        };
        assert_eq!(next(true), [2]);
        assert_eq!(next(true), [5]);
        assert_eq!(next(true), [10]);
        assert_eq!(next(true), [16], "half of those behind it");
        assert_eq!(
            [next(false), next(false), next(false)],
            [vec![17, 18], vec![19, 20], vec![1, 3, 4, 6, 7, 8, 9, 11]]
        );
        passed_over.one_by_one();
        assert_eq!(passed_over.take(false), [12]);
    }
}
