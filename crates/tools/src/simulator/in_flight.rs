//! Requests that wait for their answer, found by `sequence_number` without a map.
//!
//! Used by the simulator (deliver_sm) and the load generator (submit_sm). The sequence number is
//! slot and generation in one: a late answer to a reused slot is not mistaken for the answer to its
//! new request. Invariant: sequence numbers are within 1..=0x7FFFFFFF (SMPP 3.4 §5.1.4).

/// Bits of a sequence number that are used: slot plus generation.
const SEQUENCE_BITS: u32 = 30;
/// The largest window: beyond it too few bits are left for generations.
pub const MAX_WINDOW: usize = 1 << 20;

/// A window of requests, each with what its answer is about.
#[derive(Debug)]
pub struct RequestWindow<T> {
    slots: Vec<WindowSlot<T>>,
    free: Vec<u32>,
    slot_bits: u32,
}

#[derive(Debug)]
struct WindowSlot<T> {
    generation: u32,
    content: Option<T>,
}

// === impl RequestWindow ===

impl<T> RequestWindow<T> {
    /// An empty window of `window` requests, at least one and at most [`MAX_WINDOW`].
    pub fn new(window: usize) -> Self {
        let window = window.clamp(1, MAX_WINDOW);
        Self {
            slots: (0..window)
                .map(|_| WindowSlot {
                    generation: 0,
                    content: None,
                })
                .collect(),
            free: (0..window as u32).rev().collect(),
            slot_bits: window.next_power_of_two().trailing_zeros(),
        }
    }

    /// How many more requests may be sent.
    pub fn room(&self) -> usize {
        self.free.len()
    }

    /// How many wait for their answer.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps `content` and gives the sequence number to send; hands it back when the window is full.
    ///
    /// # Errors
    /// The content, when there is no room.
    pub fn insert(&mut self, content: T) -> Result<u32, T> {
        let Some(index) = self.free.pop() else {
            return Err(content);
        };
        let slot = &mut self.slots[index as usize];
        let generations = (1u32 << (SEQUENCE_BITS - self.slot_bits)) - 1;
        slot.generation = (slot.generation + 1) & generations;
        slot.content = Some(content);
        Ok((slot.generation << self.slot_bits | index) + 1)
    }

    /// The request with this sequence number, while it waits.
    pub fn get(&self, sequence: u32) -> Option<&T> {
        let (index, generation) = self.locate(sequence)?;
        let slot = self.slots.get(index)?;
        slot.content
            .as_ref()
            .filter(|_| slot.generation == generation)
    }

    /// What the answer with this sequence number is about; `None` for an answer to nothing.
    pub fn take(&mut self, sequence: u32) -> Option<T> {
        let (index, generation) = self.locate(sequence)?;
        let slot = self.slots.get_mut(index)?;
        if slot.generation != generation {
            return None;
        }
        let content = slot.content.take()?;
        self.free.push(index as u32);
        Some(content)
    }

    /// Slot and generation of a sequence number.
    fn locate(&self, sequence: u32) -> Option<(usize, u32)> {
        let number = sequence.checked_sub(1)?;
        let index = number & ((1 << self.slot_bits) - 1);
        Some((index as usize, number >> self.slot_bits))
    }

    /// Empties the window: what was never answered.
    pub fn drain(&mut self) -> Vec<T> {
        let mut unanswered = Vec::with_capacity(self.len());
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if let Some(content) = slot.content.take() {
                self.free.push(index as u32);
                unanswered.push(content);
            }
        }
        unanswered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_an_answer_is_about_and_ignores_strangers() {
        let mut window = RequestWindow::new(3);
        let numbers: Vec<u32> = (0..3).map(|n| window.insert(n).unwrap()).collect();
        assert_eq!(window.insert(9), Err(9));
        assert_eq!(window.get(numbers[1]), Some(&1));
        assert_eq!(window.take(numbers[1]), Some(1));
        assert_eq!(window.get(numbers[1]), None);
        assert_eq!(window.take(numbers[1]), None, "answered twice");
        let again = window.insert(7).unwrap();
        assert_ne!(again, numbers[1], "the slot is the same, the number is not");
        assert_eq!(window.take(numbers[1]), None, "a late answer");
        for stranger in [0, 4_000, u32::MAX] {
            assert_eq!(window.take(stranger), None);
        }
        assert_eq!((window.len(), window.room()), (3, 0));
        let mut left = window.drain();
        left.sort_unstable();
        assert_eq!(left, [0, 2, 7]);
        assert!(window.is_empty());
    }

    #[test]
    fn numbers_stay_within_the_standard_for_ever() {
        for size in [1, 2, 1000, MAX_WINDOW] {
            let mut window = RequestWindow::new(size);
            window.slots.iter_mut().for_each(|slot| {
                slot.generation = (1 << (SEQUENCE_BITS - window.slot_bits)) - 2;
            });
            for _ in 0..4 {
                let number = window.insert(()).unwrap();
                assert!((1..=0x7FFF_FFFF).contains(&number));
                assert_eq!(window.take(number), Some(()));
            }
        }
    }
}
