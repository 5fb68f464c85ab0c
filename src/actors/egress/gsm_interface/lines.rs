//! What waits for the subscribers of a GSM network: of one subscriber one message at a time, in order.
//!
//! Pure; held by the interface. Invariants: a subscriber has one message under way at most; what it is sent is in the
//! order in which it came; a few of its messages may follow one another (TP-MMS), then others have their turn.

use std::collections::{HashMap, VecDeque};

/// Everything that waits, by subscriber.
#[derive(Default)]
pub struct Lines<T> {
    lines: HashMap<String, SubscriberLine<T>, ahash::RandomState>,
    /// Subscribers with something that waits and nothing under way, in the order of their turns.
    turns: VecDeque<String>,
    waiting: usize,
    came: u64,
}

/// The messages of one subscriber.
struct SubscriberLine<T> {
    waiting: VecDeque<(u64, T)>,
    /// Messages that followed one another, with the one under way; 0 when none is.
    run: u32,
}

// === impl Lines ===

impl<T> Lines<T> {
    /// How many wait; those under way do not.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Everything that waits, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let all = self.lines.values().flat_map(|line| &line.waiting);
        all.map(|(_, item)| item)
    }

    /// Adds one behind all others of its subscriber.
    pub fn push(&mut self, subscriber: &str, item: T) {
        self.came += 1;
        self.waiting += 1;
        match self.lines.get_mut(subscriber) {
            Some(line) => line.waiting.push_back((self.came, item)),
            None => {
                let line = SubscriberLine {
                    waiting: VecDeque::from([(self.came, item)]),
                    run: 0,
                };
                self.lines.insert(subscriber.to_owned(), line);
                self.turns.push_back(subscriber.to_owned());
            }
        }
    }

    /// The next message, of the subscriber whose turn it is, and whether others of that one wait. It is under way until
    /// [`Self::next`] or [`Self::ended`].
    pub fn take(&mut self) -> Option<(String, T, bool)> {
        let subscriber = self.turns.pop_front()?;
        let line = self.lines.get_mut(&subscriber)?;
        let (_, item) = line.waiting.pop_front()?;
        line.run = 1;
        self.waiting -= 1;
        let more = !line.waiting.is_empty();
        Some((subscriber, item, more))
    }

    /// What was under way has ended: the next one of the same subscriber, if no more than `most` have followed one
    /// another, and whether others wait. Without one, nothing is under way.
    pub fn next(&mut self, subscriber: &str, most: u32) -> Option<(T, bool)> {
        let line = self.lines.get_mut(subscriber)?;
        if line.run < most
            && let Some((_, item)) = line.waiting.pop_front()
        {
            line.run += 1;
            self.waiting -= 1;
            return Some((item, !line.waiting.is_empty()));
        }
        self.ended(subscriber);
        None
    }

    /// Whether the next message of a subscriber follows that under way, as no more than `most` have followed one another.
    pub fn goes_on(&self, subscriber: &str, most: u32) -> bool {
        let line = self.lines.get(subscriber);
        line.is_some_and(|line| line.run < most && !line.waiting.is_empty())
    }

    /// Nothing is under way for a subscriber any more; its next message waits for its turn.
    pub fn ended(&mut self, subscriber: &str) {
        let Some(line) = self.lines.get_mut(subscriber) else {
            return;
        };
        let was_under_way = std::mem::take(&mut line.run) > 0;
        if line.waiting.is_empty() {
            self.lines.remove(subscriber);
        } else if was_under_way {
            self.turns.push_back(subscriber.to_owned());
        }
    }

    /// A subscriber gets nothing before [`Self::next`] or [`Self::ended`], as if something was under way.
    pub fn hold(&mut self, subscriber: &str) {
        let line = self.lines.entry(subscriber.to_owned());
        let line = line.or_insert_with(|| SubscriberLine {
            waiting: VecDeque::new(),
            run: 0,
        });
        line.run = line.run.max(1);
        self.turns.retain(|other| other != subscriber);
    }

    /// Whether anything of a subscriber waits.
    pub fn has_waiting(&self, subscriber: &str) -> bool {
        let line = self.lines.get(subscriber);
        line.is_some_and(|line| !line.waiting.is_empty())
    }

    /// What was taken was not sent after all: it is the next again, in the next turn.
    pub fn put_back(&mut self, subscriber: &str, item: T) {
        if let Some(line) = self.lines.get_mut(subscriber) {
            line.run = 0;
            line.waiting.push_front((0, item));
            self.waiting += 1;
            self.turns.push_front(subscriber.to_owned());
        }
    }

    /// Takes what waits for a subscriber; what is under way stays so.
    pub fn take_line(&mut self, subscriber: &str) -> Vec<T> {
        let Some(line) = self.lines.get_mut(subscriber) else {
            return Vec::new();
        };
        let taken = std::mem::take(&mut line.waiting);
        self.waiting -= taken.len();
        if line.run == 0 {
            self.lines.remove(subscriber);
            self.turns.retain(|other| other != subscriber);
        }
        taken.into_iter().map(|(_, item)| item).collect()
    }

    /// Takes what waits and is `wanted`, in the order in which it came; what is under way stays so.
    pub fn take_if(&mut self, mut wanted: impl FnMut(&T) -> bool) -> Vec<T> {
        let mut taken = Vec::new();
        for line in self.lines.values_mut() {
            let (out, stay) = std::mem::take(&mut line.waiting)
                .into_iter()
                .partition(|(_, item)| wanted(item));
            line.waiting = stay;
            let out: VecDeque<(u64, T)> = out;
            taken.extend(out);
        }
        self.waiting -= taken.len();
        self.lines
            .retain(|_, line| line.run > 0 || !line.waiting.is_empty());
        let lines = &self.lines;
        self.turns
            .retain(|subscriber| lines.contains_key(subscriber));
        taken.sort_by_key(|(came, _)| *came);
        taken.into_iter().map(|(_, item)| item).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(items: &[(&str, u32)]) -> Lines<u32> {
        let mut lines = Lines::default();
        for (subscriber, item) in items {
            lines.push(subscriber, *item);
        }
        lines
    }

    fn took(subscriber: &str, item: u32, more: bool) -> Option<(String, u32, bool)> {
        Some((subscriber.to_owned(), item, more))
    }

    #[test]
    fn a_subscriber_has_one_under_way_and_others_go_on() {
        let mut lines = lines(&[("a", 1), ("a", 2), ("b", 3)]);
        assert_eq!(lines.take(), took("a", 1, true));
        assert_eq!(lines.take(), took("b", 3, false));
        assert_eq!(lines.take(), None);
        assert_eq!(lines.next("a", 4), Some((2, false)));
        lines.push("a", 4);
        assert_eq!(lines.take(), None, "2 is under way");
        assert_eq!(lines.next("a", 4), Some((4, false)));
        assert_eq!(lines.next("a", 4), None);
        assert_eq!(lines.next("b", 4), None);
        assert!(lines.lines.is_empty() && lines.turns.is_empty());
    }

    #[test]
    fn after_a_run_others_have_their_turn() {
        let mut lines = lines(&[("a", 1), ("a", 2), ("a", 3), ("b", 4)]);
        assert_eq!(lines.take(), took("a", 1, true));
        assert_eq!(lines.next("a", 2), Some((2, true)));
        assert_eq!(lines.next("a", 2), None, "two in a row");
        assert_eq!(lines.take(), took("b", 4, false));
        assert_eq!(lines.take(), took("a", 3, false));
    }

    #[test]
    fn what_was_not_sent_is_the_next_again() {
        let mut lines = lines(&[("a", 1), ("b", 2), ("a", 3)]);
        let (subscriber, item, _) = lines.take().unwrap();
        lines.put_back(&subscriber, item);
        assert_eq!(lines.waiting(), 3);
        assert_eq!(lines.take(), took("a", 1, true));
        assert_eq!(lines.take(), took("b", 2, false));
    }

    #[test]
    fn a_line_is_taken_as_a_whole_and_what_is_under_way_still_holds_it() {
        let mut lines = lines(&[("a", 1), ("a", 2), ("b", 3), ("a", 4)]);
        lines.take();
        assert_eq!(lines.take_line("a"), [2, 4]);
        assert_eq!(lines.take_line("b"), [3]);
        assert_eq!((lines.waiting(), lines.take()), (0, None));
        lines.push("a", 5);
        assert_eq!(lines.take(), None, "1 is under way");
        lines.ended("a");
        assert_eq!(lines.take(), took("a", 5, false));
        assert!(lines.take_line("c").is_empty());
    }

    #[test]
    fn who_is_held_gets_nothing_until_that_ends() {
        let mut lines = lines(&[("a", 1), ("b", 2)]);
        lines.hold("a");
        lines.hold("c");
        lines.push("c", 3);
        assert_eq!((lines.take(), lines.take()), (took("b", 2, false), None));
        assert_eq!(lines.next("a", 4), Some((1, false)));
        lines.ended("c");
        assert_eq!(lines.take(), took("c", 3, false));
    }

    #[test]
    fn some_are_taken_in_the_order_in_which_they_came() {
        let mut lines = lines(&[("a", 1), ("b", 2), ("a", 3), ("c", 4), ("b", 6)]);
        assert_eq!(lines.take(), took("a", 1, true));
        assert_eq!(lines.take_if(|item| item % 2 == 0), [2, 4, 6]);
        assert_eq!(lines.iter().collect::<Vec<_>>(), [&3]);
        assert_eq!(lines.take(), None);
        assert_eq!(lines.next("a", 4), Some((3, false)));
    }

    proptest! {
        /// Whatever happens, each subscriber gets everything once, in order, and one at a time.
        #[test]
        fn order_holds_for_each_subscriber(
            items in proptest::collection::vec(0usize..4, 1..60),
            choices in proptest::collection::vec((0u8..4, 0usize..8), 0..300),
        ) {
            let names = ["a", "b", "c", "d"];
            let mut lines: Lines<(usize, usize)> = Lines::default();
            let mut under_way: Vec<(String, (usize, usize))> = Vec::new();
            let mut got: Vec<Vec<usize>> = vec![Vec::new(); names.len()];
            for (at, of) in items.iter().enumerate() {
                lines.push(names[*of], (*of, at));
            }
            let endless = std::iter::repeat_n((0u8, 0usize), 400);
            for (what, which) in choices.into_iter().chain(endless) {
                if what == 3 {
                    if let Some((subscriber, item, _)) = lines.take() {
                        lines.put_back(&subscriber, item);
                    }
                } else if what > 0 || under_way.is_empty() {
                    if let Some((subscriber, item, _)) = lines.take() {
                        prop_assert!(under_way.iter().all(|(other, _)| *other != subscriber));
                        under_way.push((subscriber, item));
                    }
                } else {
                    let (subscriber, (of, at)) = under_way.swap_remove(which % under_way.len());
                    got[of].push(at);
                    if let Some((item, _)) = lines.next(&subscriber, 3) {
                        under_way.push((subscriber, item));
                    }
                }
            }
            for (of, got) in got.iter().enumerate() {
                let all = items.iter().enumerate().filter(|(_, one)| **one == of);
                let all: Vec<usize> = all.map(|(at, _)| at).collect();
                prop_assert_eq!(got, &all);
            }
            prop_assert!(lines.lines.is_empty() && lines.turns.is_empty());
        }
    }
}
