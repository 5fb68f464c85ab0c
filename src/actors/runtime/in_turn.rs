//! Results of concurrent work that go on in the order in which the work began.
//!
//! An actor's futures end in any order: of several that are ready at once, actix polls the last one after the first.
//! Where the order counts, such as of messages that go to a queue, each result waits here for those before it.
//! Invariant: every turn that is begun ends, if only without a result.

use std::collections::VecDeque;

/// Work under way, in order.
#[derive(Debug)]
pub struct InTurn<T> {
    /// The turn of the first entry.
    first: u64,
    /// `None` while the work is under way.
    turns: VecDeque<Option<TurnResult<T>>>,
}

/// A result, or that there is none.
type TurnResult<T> = Option<T>;

// === impl InTurn ===

impl<T> Default for InTurn<T> {
    fn default() -> Self {
        Self {
            first: 0,
            turns: VecDeque::new(),
        }
    }
}

impl<T> InTurn<T> {
    /// Work begins; returns its turn.
    pub fn begin(&mut self) -> u64 {
        self.turns.push_back(None);
        self.first + self.turns.len() as u64 - 1
    }

    /// The work of a turn has ended; returns the results whose turn it is now.
    pub fn end(&mut self, turn: u64, result: Option<T>) -> Vec<T> {
        let slot = turn.checked_sub(self.first).map(|at| at as usize);
        if let Some(slot) = slot.and_then(|at| self.turns.get_mut(at)) {
            *slot = Some(result);
        }
        let mut ready = Vec::new();
        while let Some(Some(_)) = self.turns.front() {
            ready.extend(self.turns.pop_front().flatten().flatten());
            self.first += 1;
        }
        ready
    }

    /// What has ended and waits for its turn, in order, when nothing more will end.
    pub fn rest(self) -> impl Iterator<Item = T> {
        self.turns.into_iter().flatten().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_wait_for_those_before_them() {
        let mut in_turn = InTurn::<char>::default();
        let turns: Vec<u64> = (0..4).map(|_| in_turn.begin()).collect();
        assert!(in_turn.end(turns[2], Some('c')).is_empty());
        assert_eq!(in_turn.end(turns[0], Some('a')), ['a']);
        assert_eq!(in_turn.end(turns[1], None), ['c']);
        let last = in_turn.begin();
        assert!(in_turn.end(last, Some('e')).is_empty());
        assert_eq!(in_turn.end(turns[3], Some('d')), ['d', 'e']);
        assert!(in_turn.end(turns[3], Some('d')).is_empty(), "once only");
        let turns: Vec<u64> = (0..3).map(|_| in_turn.begin()).collect();
        for (turn, result) in [(turns[2], 'h'), (turns[1], 'g')] {
            assert!(in_turn.end(turn, Some(result)).is_empty());
        }
        assert_eq!(in_turn.rest().collect::<String>(), "gh");
    }
}
