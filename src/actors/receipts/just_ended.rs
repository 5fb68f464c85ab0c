//! Messages that ended here a moment ago, for whoever reads the events of the store.
//!
//! The events say which messages have ended; what a record says of them would otherwise be read from the store again,
//! a second after it was in memory. Receipts keeps them here, Export takes them. Nothing depends on it: a message that
//! is not here, because there were too many, because another node ended it or because the process was started since,
//! is read from the store, and says the same.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::actors::receipts::final_state;
use crate::clock;
use crate::pb::{Final, Kind};
use crate::store::Stored;
use crate::store::outbox::EventReader;

/// Most messages kept, of some 700 octets each. When there are more, the newest are not kept: they are read last.
const ROOM: usize = 8192;
/// Most octets of them.
const MOST: u64 = 32 << 20;
/// As many are worth reading at once.
const MANY: usize = ROOM / 2;
/// Nobody takes a message that was not taken by then: another node reads its event.
const KEPT_FOR: Duration = Duration::from_secs(10);

/// What has just ended.
pub struct JustEnded {
    /// With what wakes them.
    readers: Vec<(EventReader, Notify)>,
    kept: Mutex<KeptMessages>,
}

#[derive(Default)]
struct KeptMessages {
    messages: HashMap<u64, KeptMessage, ahash::RandomState>,
    /// Who asked for a message the last time, and did not find it: its event was faster.
    early: HashMap<u64, u32, ahash::RandomState>,
    looked_at: Option<Instant>,
    /// What ended until then is not kept, Unix milliseconds.
    erased_at: i64,
    octets: u64,
}

struct KeptMessage {
    stored: Arc<Stored>,
    since: Instant,
    /// Who has not taken it.
    readers: u32,
}

// === impl JustEnded ===

impl JustEnded {
    /// For these readers; without any, nothing is kept. The archive and
    /// the mirror in Redis read more than is kept here.
    pub fn new(readers: &[EventReader]) -> Self {
        let readers = readers
            .iter()
            .filter(|reader| !matches!(reader, EventReader::Archive | EventReader::Platform));
        let readers = readers.map(|reader| (*reader, Notify::new()));
        Self {
            readers: readers.collect(),
            kept: Mutex::default(),
        }
    }

    /// Keeps those whose end is durable and of which the store would say nothing else: an operator's end of a message
    /// that is sent as it was submitted.
    pub fn keep(&self, finals: Vec<Final>) {
        if self.readers.is_empty() {
            return;
        }
        let now = Instant::now();
        let readers = self.readers.iter().map(|(reader, _)| *reader);
        let readers = EventReader::bits(readers);
        let mut kept = self.lock();
        kept.forget_old(now);
        let had = kept.messages.len();
        for ended in finals {
            if kept.messages.len() >= ROOM || kept.octets >= MOST {
                break;
            }
            if ended.at > kept.erased_at
                && let readers = readers & !kept.early.remove(&ended.id).unwrap_or(0)
                && readers != 0
                && let Some(stored) = as_stored(ended)
            {
                let one = KeptMessage {
                    since: now,
                    readers,
                    stored: Arc::new(stored),
                };
                kept.octets += one.stored.message.weight();
                let before = kept.messages.insert(one.stored.message.id, one);
                kept.octets -= before.map_or(0, |one| one.stored.message.weight());
            }
        }
        if had < MANY && kept.messages.len() >= MANY {
            self.readers.iter().for_each(|(_, wake)| wake.notify_one());
        }
    }

    /// Those of these messages that are here.
    pub fn take(&self, reader: EventReader, ids: &[u64]) -> Vec<Option<Arc<Stored>>> {
        let mut kept = self.lock();
        let reader = EventReader::bits([reader]);
        kept.early.retain(|_, readers| {
            *readers &= !reader;
            *readers != 0
        });
        ids.iter().map(|id| kept.take(reader, *id)).collect()
    }

    /// A number is being erased: what has ended with it is read from the store, without it.
    pub fn forget(&self) {
        let mut kept = self.lock();
        kept.erased_at = clock::now_ms();
        kept.messages.clear();
        kept.octets = 0;
    }

    /// Resolves when there are many for this reader.
    pub async fn many(&self, reader: EventReader) {
        match self.readers.iter().find(|(known, _)| *known == reader) {
            Some((_, wake)) => wake.notified().await,
            None => std::future::pending().await,
        }
    }

    fn lock(&self) -> MutexGuard<'_, KeptMessages> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl KeptMessages ===

impl KeptMessages {
    fn take(&mut self, reader: u32, id: u64) -> Option<Arc<Stored>> {
        let Some(one) = self.messages.get_mut(&id) else {
            *self.early.entry(id).or_default() |= reader;
            return None;
        };
        one.readers &= !reader;
        match one.readers {
            0 => {
                let stored = self.messages.remove(&id)?.stored;
                self.octets -= stored.message.weight();
                Some(stored)
            }
            _ => Some(Arc::clone(&one.stored)),
        }
    }

    fn forget_old(&mut self, now: Instant) {
        let looked_at = self.looked_at.get_or_insert(now);
        if now - *looked_at >= KEPT_FOR / 10 {
            *looked_at = now;
            let octets = &mut self.octets;
            self.messages.retain(|_, one| {
                let stays = now - one.since < KEPT_FOR;
                *octets -= if stays {
                    0
                } else {
                    one.stored.message.weight()
                };
                stays
            });
        }
    }
}

/// What the store would say of it; `None` where that takes more than the end.
fn as_stored(ended: Final) -> Option<Stored> {
    let fin = final_state::row(&ended, 0);
    let message = ended.message?;
    let is_usual = message.kind() == Kind::Mt && message.composition.is_none();
    (is_usual && ended.attempts > 0 && ended.operator != 0).then(|| Stored {
        // Its operator has ended it, so it was there.
        queue: ended.operator,
        fin: Some(fin),
        attempts: ended.attempts,
        replayed_as: 0,
        sent_at: 0,
        message: *message,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pb::{Composition, Message};

    fn ended(id: u64, message: Message) -> Final {
        Final {
            id,
            at: clock::now_ms() + 1000,
            operator: 7,
            attempts: 1,
            message: Some(Box::new(Message { id, ..message })),
            ..Final::default()
        }
    }

    fn is_there(ended: &JustEnded, reader: EventReader, ids: &[u64]) -> Vec<bool> {
        let taken = ended.take(reader, ids);
        taken.iter().map(Option::is_some).collect()
    }

    #[test]
    fn each_reader_takes_a_message_once() {
        let just_ended = JustEnded::new(&[EventReader::Cdr, EventReader::Usage]);
        just_ended.keep(vec![ended(1, Message::default())]);
        assert_eq!(
            is_there(&just_ended, EventReader::Cdr, &[1, 2]),
            [true, false]
        );
        assert_eq!(is_there(&just_ended, EventReader::Usage, &[1]), [true]);
        assert_eq!(is_there(&just_ended, EventReader::Cdr, &[1]), [false]);
        assert_eq!(just_ended.lock().messages.len(), 0);
    }

    #[test]
    fn what_the_store_knows_better_is_not_kept() {
        let just_ended = JustEnded::new(&[EventReader::Cdr]);
        let mo = Message {
            kind: Kind::Mo.into(),
            ..Message::default()
        };
        let divided = Message {
            composition: Some(Box::new(Composition::default())),
            ..Message::default()
        };
        let expired = Final {
            operator: 0,
            ..ended(3, Message::default())
        };
        just_ended.keep(vec![ended(1, mo), ended(2, divided), expired]);
        assert_eq!(just_ended.lock().messages.len(), 0);
    }

    #[test]
    fn there_is_room_for_so_many_and_an_erasure_leaves_none() {
        let just_ended = JustEnded::new(&[EventReader::Cdr]);
        let all = (1..=ROOM as u64 + 1).map(|id| ended(id, Message::default()));
        just_ended.keep(all.collect());
        assert_eq!(just_ended.lock().messages.len(), ROOM);
        assert!(just_ended.lock().messages.contains_key(&1));
        just_ended.forget();
        let before = Final {
            at: clock::now_ms() - 1000,
            ..ended(1, Message::default())
        };
        just_ended.keep(vec![before, ended(2, Message::default())]);
        assert_eq!(
            is_there(&just_ended, EventReader::Cdr, &[1, 2]),
            [false, true]
        );
    }

    #[test]
    fn what_was_asked_for_too_early_is_not_kept_for_that_reader() {
        let just_ended = JustEnded::new(&[EventReader::Cdr, EventReader::Usage]);
        assert_eq!(
            is_there(&just_ended, EventReader::Cdr, &[1, 2]),
            [false, false]
        );
        assert_eq!(is_there(&just_ended, EventReader::Usage, &[2]), [false]);
        let both = [1, 2].map(|id| ended(id, Message::default()));
        just_ended.keep(both.to_vec());
        assert_eq!(is_there(&just_ended, EventReader::Usage, &[1]), [true]);
        assert_eq!(just_ended.lock().messages.len(), 0);
    }

    #[test]
    fn what_nobody_takes_is_forgotten() {
        let just_ended = JustEnded::new(&[EventReader::Cdr]);
        just_ended.keep(vec![ended(1, Message::default())]);
        let mut kept = just_ended.lock();
        kept.forget_old(Instant::now() + KEPT_FOR);
        assert_eq!((kept.messages.len(), kept.octets), (0, 0));
    }

    #[test]
    fn large_ones_are_counted_by_their_octets() {
        let just_ended = JustEnded::new(&[EventReader::Cdr]);
        let large = |id| {
            let short_message = vec![b'x'; 60_000].into();
            let message = Message {
                short_message,
                ..Message::default()
            };
            ended(id, message)
        };
        (1..2_000).for_each(|id| just_ended.keep(vec![large(id)]));
        let kept = just_ended.lock().messages.len();
        assert!((400..600).contains(&kept), "{kept}");
        let all: Vec<u64> = (1..2_000).collect();
        just_ended.take(EventReader::Cdr, &all);
        assert_eq!(just_ended.lock().octets, 0);
    }
}
