//! How many TPDUs of a message of several its handset has already, while the message waits for its next attempt.
//!
//! A message may expire, or be cancelled, before that: nothing tells it here. So there is room for so many, and the one
//! that was accepted first makes room for the next.

use std::collections::BTreeMap;

use super::work::Work;
use crate::pb::Message;

/// Messages that are remembered.
const MOST: usize = 4096;

#[derive(Default)]
pub(super) struct Partly {
    /// How many have arrived, and a hash of the text of which they are. By id: the oldest is first.
    all: BTreeMap<u64, (usize, u64)>,
    hasher: ahash::RandomState,
}

// === impl Partly ===

impl Partly {
    /// Remembers how many have arrived, unless it is none.
    pub(super) fn keep(&mut self, work: &Work) {
        if work.arrived == 0 {
            return;
        }
        let text = self.text_of(work);
        self.all.insert(work.context.id, (work.arrived, text));
        if self.all.len() > MOST {
            self.all.pop_first();
        }
    }

    /// How many have arrived; forgets it. None of the text that its sender has put in place of that.
    pub(super) fn take(&mut self, work: &Work) -> usize {
        let Some((arrived, text)) = self.all.remove(&work.context.id) else {
            return 0;
        };
        if text == self.text_of(work) {
            arrived
        } else {
            0
        }
    }

    fn text_of(&self, work: &Work) -> u64 {
        let message = work.context.message.as_deref();
        let said = |message: &Message| {
            let whole = (&message.short_message, &message.tlvs, message.data_coding);
            self.hasher.hash_one(whole)
        };
        message.map_or(0, said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::session::bound::InFlight;

    /// Two TPDUs of this message have arrived.
    fn work(id: u64, text: &'static [u8]) -> Work {
        let message = Message {
            short_message: text.into(),
            ..Message::default()
        };
        Work {
            context: InFlight {
                id,
                message: Some(Box::new(message)),
                ..InFlight::default()
            },
            arrived: 2,
            ..Work::default()
        }
    }

    #[test]
    fn the_oldest_makes_room() {
        let mut partly = Partly::default();
        partly.keep(&Work::default());
        assert!(partly.all.is_empty());
        let all = 1..=MOST as u64 + 1;
        all.clone().for_each(|id| partly.keep(&work(id, b"Hello")));
        assert_eq!(partly.all.len(), MOST);
        assert_eq!(partly.take(&work(*all.start(), b"Hello")), 0);
        let last = work(*all.end(), b"Hello");
        assert_eq!((partly.take(&last), partly.take(&last)), (2, 0));
    }

    #[test]
    fn another_text_begins_anew() {
        let mut partly = Partly::default();
        partly.keep(&work(7, b"Hello"));
        assert_eq!(partly.take(&work(7, b"Good-bye")), 0);
    }
}
