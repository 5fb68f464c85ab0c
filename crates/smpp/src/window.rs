//! Requests sent and not yet answered, by `sequence_number` (SMPP 3.4 §2.9, §5.1.4).
//!
//! Used by the sessions of all protocols; [`LateWindow`] also keeps what timed out but may still be answered. Every operation is O(1), amortised.
//!
//! Invariants: entries are inserted with deadlines that never go back, so the oldest is the next to
//! expire; the front of `order` is always an entry that still exists; a sequence number is not given
//! out while it is outstanding.

use std::collections::{HashMap, VecDeque};
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

/// Highest `sequence_number`; after it comes 1 again (§5.1.4).
pub const SEQUENCE_MAX: u32 = 0x7FFF_FFFF;

/// How long the answer to an expired request is still recognised.
pub const LATE_MEMORY: Duration = Duration::from_secs(300);

/// Stale places in `order` tolerated before it is compacted, besides as many as there are entries.
const SLACK: usize = 64;

/// One outstanding request.
#[derive(Clone, Debug)]
pub struct WindowEntry<T> {
    /// The caller's context, returned with the answer.
    pub item: T,
    /// When it was sent.
    pub sent_at: Instant,
    /// When waiting for it ends.
    pub deadline: Instant,
    /// The command_id of the request; 0 if it is of no matter.
    pub command_id: u32,
}

/// Outstanding requests, at most `limit` of them.
#[derive(Clone, Debug)]
pub struct Window<T> {
    entries: HashMap<u32, WindowEntry<T>, ahash::RandomState>,
    /// Sequence numbers by deadline; answered ones stay until they reach the front.
    order: VecDeque<(u32, Instant)>,
    limit: usize,
    timeout: Duration,
    next_sequence: u32,
}

impl<T> Window<T> {
    /// At most `limit` requests (at least 1), each waited for `timeout`.
    pub fn new(limit: usize, timeout: Duration) -> Window<T> {
        Window {
            entries: HashMap::default(),
            order: VecDeque::new(),
            limit: limit.max(1),
            timeout,
            next_sequence: 1,
        }
    }

    /// Goes on with this sequence number.
    pub fn start_at(&mut self, sequence: u32) {
        self.next_sequence = sequence.clamp(1, SEQUENCE_MAX);
    }

    /// Outstanding requests.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is outstanding.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Most that may be outstanding.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// For how long each is waited for.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// How many more may be sent.
    pub fn room(&self) -> usize {
        self.limit - self.entries.len().min(self.limit)
    }

    /// The next free sequence number, also for requests that take no place in the window
    /// (enquire_link, unbind): 1 to [`SEQUENCE_MAX`], then from 1 again, skipping outstanding ones.
    pub fn reserve_sequence(&mut self) -> u32 {
        loop {
            let sequence = self.next_sequence;
            self.next_sequence = if sequence == SEQUENCE_MAX {
                1
            } else {
                sequence + 1
            };
            if !self.entries.contains_key(&sequence) {
                return sequence;
            }
        }
    }

    /// Reserves a place and a sequence number; returns the item when the window is full.
    ///
    /// # Errors
    /// The item itself when the window is full.
    pub fn insert(&mut self, now: Instant, item: T) -> Result<u32, T> {
        if self.room() == 0 {
            return Err(item);
        }
        let sequence = self.reserve_sequence();
        self.put_request(now, sequence, item, 0);
        Ok(sequence)
    }

    /// Puts a request that was written under a reserved number. Only while there is room.
    pub fn put_request(&mut self, now: Instant, sequence: u32, item: T, command_id: u32) {
        let deadline = now + self.timeout;
        self.put(
            sequence,
            WindowEntry {
                item,
                sent_at: now,
                deadline,
                command_id,
            },
        );
    }

    /// Keeps an entry under a sequence number given out elsewhere; the oldest gives way when full.
    pub fn remember(&mut self, sequence: u32, entry: WindowEntry<T>) {
        self.take(sequence);
        if self.room() == 0 {
            self.pop_front();
        }
        self.put(sequence, entry);
    }

    /// A request that is outstanding.
    pub fn get(&self, sequence: u32) -> Option<&WindowEntry<T>> {
        self.entries.get(&sequence)
    }

    /// Removes the request that was answered; `None` if it is not outstanding.
    pub fn take(&mut self, sequence: u32) -> Option<WindowEntry<T>> {
        let entry = self.entries.remove(&sequence)?;
        if self.order.front() == Some(&(sequence, entry.deadline)) {
            self.order.pop_front();
        }
        self.drop_stale_front();
        if self.order.len() > 2 * self.entries.len() + SLACK {
            let entries = &self.entries;
            self.order.retain(|place| is_live(entries, place));
        }
        Some(entry)
    }

    /// The request that expires next.
    pub fn oldest(&self) -> Option<&WindowEntry<T>> {
        let (sequence, _) = self.order.front()?;
        self.entries.get(sequence)
    }

    /// Removes the oldest request whose deadline has come.
    pub fn pop_expired(&mut self, now: Instant) -> Option<(u32, WindowEntry<T>)> {
        let (_, deadline) = self.order.front()?;
        if *deadline > now {
            return None;
        }
        self.pop_front()
    }

    /// Removes every request whose deadline has come, oldest first.
    pub fn expire(&mut self, now: Instant) -> Vec<(u32, T)> {
        std::iter::from_fn(|| self.pop_expired(now))
            .map(|(sequence, entry)| (sequence, entry.item))
            .collect()
    }

    /// Removes everything, oldest first.
    pub fn drain(&mut self) -> Vec<(u32, T)> {
        std::iter::from_fn(|| self.pop_front())
            .map(|(sequence, entry)| (sequence, entry.item))
            .collect()
    }

    /// What is outstanding, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &WindowEntry<T>)> {
        self.entries
            .iter()
            .map(|(sequence, entry)| (*sequence, entry))
    }

    fn put(&mut self, sequence: u32, entry: WindowEntry<T>) {
        self.order.push_back((sequence, entry.deadline));
        self.entries.insert(sequence, entry);
    }

    fn pop_front(&mut self) -> Option<(u32, WindowEntry<T>)> {
        let (sequence, _) = self.order.pop_front()?;
        let entry = self.entries.remove(&sequence)?;
        self.drop_stale_front();
        Some((sequence, entry))
    }

    fn drop_stale_front(&mut self) {
        // As many places as entries: none is stale. So it is where answers come in order.
        while self.order.len() > self.entries.len()
            && let Some(place) = self.order.front()
        {
            if is_live(&self.entries, place) {
                return;
            }
            self.order.pop_front();
        }
    }
}

/// A window that recognises the answers to requests that have expired: as many as it is wide, for [`LATE_MEMORY`].
#[derive(Clone, Debug)]
pub struct LateWindow<T> {
    window: Window<T>,
    late: Window<T>,
}

// === impl LateWindow ===

impl<T: Clone> LateWindow<T> {
    /// At most `limit` requests (at least 1), each waited for `timeout`.
    pub fn new(limit: usize, timeout: Duration) -> Self {
        Self {
            window: Window::new(limit, timeout),
            late: Window::new(limit, LATE_MEMORY),
        }
    }

    /// Removes the request that was answered, and whether it had expired; `None` if nobody waits for it.
    pub fn answered(&mut self, sequence: u32) -> Option<(WindowEntry<T>, bool)> {
        match self.window.take(sequence) {
            Some(entry) => Some((entry, false)),
            None => self.late.take(sequence).map(|entry| (entry, true)),
        }
    }

    /// Gives up the oldest request whose deadline has come; its answer is still recognised.
    pub fn give_up(&mut self, now: Instant) -> Option<T> {
        let (sequence, entry) = self.window.pop_expired(now)?;
        let item = entry.item.clone();
        let deadline = now + LATE_MEMORY;
        self.late
            .remember(sequence, WindowEntry { deadline, ..entry });
        Some(item)
    }

    /// Removes everything that waits for its answer, oldest first.
    pub fn take_all(&mut self) -> Vec<T> {
        let all = self.window.drain().into_iter();
        all.map(|(_, item)| item).collect()
    }

    /// Forgets those whose answer will not come any more.
    pub fn forget(&mut self, now: Instant) {
        while self.late.pop_expired(now).is_some() {}
    }
}

impl<T> Deref for LateWindow<T> {
    type Target = Window<T>;

    fn deref(&self) -> &Window<T> {
        &self.window
    }
}

impl<T> DerefMut for LateWindow<T> {
    fn deref_mut(&mut self) -> &mut Window<T> {
        &mut self.window
    }
}

/// Whether a place in the order still belongs to an outstanding request, and not to an earlier one
/// with the same number.
fn is_live<T>(
    entries: &HashMap<u32, WindowEntry<T>, ahash::RandomState>,
    (sequence, deadline): &(u32, Instant),
) -> bool {
    entries
        .get(sequence)
        .is_some_and(|entry| entry.deadline == *deadline)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// When the oldest request expires.
    fn next_deadline(window: &Window<char>) -> Option<Instant> {
        window.order.front().map(|(_, deadline)| *deadline)
    }

    #[test]
    fn answers_in_any_order_and_expiry_of_the_rest() {
        let start = Instant::now();
        let mut window = Window::new(3, 30 * SECOND);
        let a = window.insert(start, 'a').unwrap();
        let b = window.insert(start + SECOND, 'b').unwrap();
        let c = window.insert(start + 2 * SECOND, 'c').unwrap();
        assert_eq!((a, b, c), (1, 2, 3));
        assert_eq!(window.insert(start, 'd'), Err('d'));
        assert_eq!(window.take(b).unwrap().item, 'b');
        assert!(window.take(b).is_none());
        assert_eq!(window.room(), 1);
        assert_eq!(next_deadline(&window), Some(start + 30 * SECOND));
        assert!(window.expire(start + 29 * SECOND).is_empty());
        assert_eq!(window.expire(start + 30 * SECOND), [(a, 'a')]);
        assert_eq!(next_deadline(&window), Some(start + 32 * SECOND));
        assert_eq!(window.drain(), [(c, 'c')]);
        assert!(window.is_empty());
        assert_eq!(next_deadline(&window), None);
    }

    #[test]
    fn sequence_wraps_and_skips_what_is_outstanding() {
        let now = Instant::now();
        let mut window = Window::new(10, SECOND);
        assert_eq!(window.insert(now, ()), Ok(1));
        window.next_sequence = SEQUENCE_MAX;
        assert_eq!(window.insert(now, ()), Ok(SEQUENCE_MAX));
        assert_eq!(window.insert(now, ()), Ok(2));
    }

    #[test]
    fn one_stuck_request_does_not_let_the_order_grow() {
        let now = Instant::now();
        let mut window = Window::new(2, SECOND);
        window.insert(now, 0).unwrap();
        for number in 1..10_000 {
            let sequence = window.insert(now, number).unwrap();
            assert_eq!(window.take(sequence).unwrap().item, number);
        }
        assert!(window.order.len() <= SLACK + 4);
        assert_eq!(window.expire(now + SECOND), [(1, 0)]);
    }

    #[test]
    fn remembering_forgets_the_oldest() {
        let now = Instant::now();
        let entry = |item| WindowEntry {
            command_id: 0,
            item,
            sent_at: now,
            deadline: now + SECOND,
        };
        let mut late = Window::new(2, SECOND);
        for (sequence, item) in [(7, 'a'), (8, 'b'), (9, 'c')] {
            late.remember(sequence, entry(item));
        }
        assert!(late.take(7).is_none());
        assert_eq!(late.take(9).unwrap().item, 'c');
        assert_eq!(late.len(), 1);
    }

    proptest! {
        #[test]
        fn the_oldest_is_known_in_whatever_order_answers_come(
            steps in prop::collection::vec((0_u8..4, 0_usize..8), 1..200),
        ) {
            let start = Instant::now();
            let mut window = Window::new(8, SECOND);
            // What is outstanding, the oldest first.
            let mut waiting: Vec<(u32, u64)> = Vec::new();
            for (at, (what, which)) in (0..).zip(steps) {
                let now = start + at * SECOND / 4;
                match what {
                    0 | 1 => match window.insert(now, u64::from(at)) {
                        Ok(sequence) => waiting.push((sequence, u64::from(at))),
                        Err(_) => prop_assert_eq!(waiting.len(), 8),
                    },
                    2 if which < waiting.len() => {
                        let (sequence, item) = waiting.remove(which);
                        prop_assert_eq!(window.take(sequence).map(|entry| entry.item), Some(item));
                    }
                    _ => {
                        let late = |item: &u64| start + *item as u32 * SECOND / 4 + SECOND <= now;
                        let expired = waiting.extract_if(.., |(_, item)| late(item));
                        prop_assert_eq!(window.expire(now), expired.collect::<Vec<_>>());
                    }
                }
                let oldest = window.oldest().map(|entry| entry.item);
                prop_assert_eq!(oldest, waiting.first().map(|(_, item)| *item));
            }
        }
    }
}
