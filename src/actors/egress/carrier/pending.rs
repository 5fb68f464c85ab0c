//! Messages that wait until the gateway may be sent another request. Those with the same content go to their recipients
//! in one request, where the protocol can say that. Called by [`super::bind`].

use std::collections::{HashSet, VecDeque};
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::gateway::{CarrierMessage, national};
use super::translate::draft_of;
use crate::clock;
use crate::config::Carrier;
use crate::smpp::SubmitSm;
use crate::smpp::time::parse_time;

/// How many messages that do not go with the first one are passed over. One text to many numbers comes in a row, or in a
/// few rows at once; where every text is another one, more would be looked at in vain for each message.
const PASSED_OVER: usize = 16;

/// A message to one recipient.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    /// In the window of the bind.
    pub number: u32,
    pub to: Bytes,
    pub draft: CarrierMessage,
    /// What the gateway is told with it beside what SMPP has.
    pub carrier: Arc<Carrier>,
    /// It shares no request: one that it shared was refused, perhaps because of another recipient.
    pub alone: bool,
    /// When it came.
    pub since: Instant,
    /// When it expires (Unix milliseconds), where its sender has said so.
    pub until: Option<i64>,
}

/// What a request is remembered by until it is answered.
#[derive(Debug)]
pub(super) enum SentRequest {
    /// The message with this number; its recipient where its id needs that.
    One(u32, Bytes),
    /// If it is refused, they go one by one.
    Several(Vec<Waiting>),
}

/// Messages in their order.
#[derive(Debug, Default)]
pub(super) struct Pending(VecDeque<Waiting>);

// === impl Waiting ===

impl Waiting {
    /// What has just come from the session; its addresses and text are taken out of it.
    pub fn new(number: u32, message: &mut SubmitSm, carrier: Arc<Carrier>, since: Instant) -> Self {
        let until = match &message.validity_period {
            none if none.is_empty() => None,
            time => parse_time(time, clock::now_ms()).ok().flatten(),
        };
        Self {
            number,
            to: mem::take(&mut message.destination_addr),
            draft: draft_of(message, carrier.gbk),
            carrier,
            alone: false,
            since,
            until,
        }
    }

    /// Whether its time has passed at `now` (Unix milliseconds) while it waited for a slow gateway.
    pub fn has_expired(&self, now: i64) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

// === impl Pending ===

impl Pending {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn push(&mut self, message: Waiting) {
        self.0.push_back(message);
    }

    /// Takes messages back that were first.
    pub fn give_back(&mut self, messages: Vec<Waiting>, alone: bool) {
        for mut message in messages.into_iter().rev() {
            message.alone |= alone;
            self.0.push_front(message);
        }
    }

    /// The first message.
    pub fn pop(&mut self) -> Option<Waiting> {
        self.0.pop_front()
    }

    /// Those that go in one request with the message that was first, at most as many in all: they differ from it in nothing
    /// but the recipient. A report names the request and the recipient, so no recipient is in it twice. A message that
    /// another one to its recipient waits before stays behind that one.
    pub fn take_sharing(&mut self, first: &Waiting, most: usize) -> Vec<Waiting> {
        // Where every text is another one, this is all that is looked at.
        let has_others = || {
            let mut near = self.0.iter().take(PASSED_OVER);
            near.any(|other| other.draft.content == first.draft.content)
        };
        if most <= 1 || first.alone || !has_others() {
            return Vec::new();
        }
        // Recipients of what is in the group and of what was passed over: nothing else may go to them now.
        let mut met: HashSet<&[u8], ahash::RandomState> = HashSet::default();
        met.insert(national(&first.to));
        let (mut places, mut passed_over) = (Vec::new(), 0);
        for (at, other) in self.0.iter().enumerate() {
            if places.len() + 1 >= most || passed_over == PASSED_OVER {
                break;
            }
            // Nearly all have that of their operator.
            let has_its_carrier =
                Arc::ptr_eq(&other.carrier, &first.carrier) || other.carrier == first.carrier;
            let is_same = has_its_carrier && other.draft == first.draft;
            let is_new = met.insert(national(&other.to));
            if is_new && is_same && !other.alone {
                places.push(at);
            } else {
                passed_over += 1;
            }
        }
        drop(met);
        let places = places.into_iter().enumerate();
        let sharing = places.filter_map(|(before, at)| self.0.remove(at - before));
        sharing.collect()
    }

    /// Takes those that have waited for so long.
    pub fn take_overdue(&mut self, now: Instant, patience: Duration) -> Vec<Waiting> {
        let is_overdue =
            |message: &Waiting| now.saturating_duration_since(message.since) >= patience;
        if !self.0.iter().any(is_overdue) {
            return Vec::new();
        }
        let (overdue, rest): (Vec<_>, Vec<_>) = self.0.drain(..).partition(is_overdue);
        self.0 = rest.into();
        overdue
    }

    /// All of them.
    pub fn drain(&mut self) -> impl Iterator<Item = Waiting> + '_ {
        self.0.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;

    #[test]
    fn a_message_expires_while_it_waits() {
        let until = |validity: &str| {
            let mut message = SubmitSm {
                validity_period: validity.to_owned().into(),
                ..SubmitSm::default()
            };
            Waiting::new(1, &mut message, Arc::default(), Instant::now())
        };
        let now = clock::now_ms();
        assert!(!until("").has_expired(now), "its gateway decides");
        assert!(!until("000000000040000R").has_expired(now));
        assert!(until("200101000000000+").has_expired(now));
    }

    fn waiting(number: u32, to: &str, text: &str) -> Waiting {
        Waiting {
            number,
            to: to.to_owned().into(),
            draft: CarrierMessage {
                content: text.to_owned().into(),
                ..CarrierMessage::default()
            },
            carrier: Arc::default(),
            alone: false,
            since: Instant::now(),
            until: None,
        }
    }

    #[test]
    fn messages_with_other_fees_go_apart() {
        let mut pending = Pending::default();
        let paid = Carrier {
            fee_code: "10".to_owned(),
            ..Carrier::default()
        };
        for (number, to, carrier) in [
            (1, "a", Carrier::default()),
            (2, "b", paid),
            (3, "c", Carrier::default()),
        ] {
            pending.push(Waiting {
                carrier: Arc::new(carrier),
                ..waiting(number, to, "x")
            });
        }
        assert_eq!(numbers(&next(&mut pending, 3)), [1, 3]);
        assert_eq!(numbers(&next(&mut pending, 3)), [2]);
    }

    #[test]
    fn what_has_waited_for_too_long_is_taken_out() {
        let mut pending = Pending::default();
        let old = waiting(1, "a", "x");
        let later = old.since + Duration::from_secs(10);
        pending.push(old);
        pending.push(Waiting {
            since: later,
            ..waiting(2, "b", "x")
        });
        let patience = Duration::from_secs(5);
        assert_eq!(numbers(&pending.take_overdue(later, patience)), [1]);
        assert!(pending.take_overdue(later, patience).is_empty());
        assert_eq!(numbers(&next(&mut pending, 3)), [2]);
    }

    #[test]
    fn a_number_with_and_without_its_country_is_one_recipient() {
        let mut pending = Pending::default();
        for (number, to) in [
            (1, "8613000000001"),
            (2, "13000000001"),
            (3, "+8613000000001"),
            (4, "8613000000002"),
        ] {
            pending.push(waiting(number, to, "x"));
        }
        assert_eq!(numbers(&next(&mut pending, 100)), [1, 4]);
        assert_eq!(numbers(&next(&mut pending, 100)), [2]);
        assert_eq!(numbers(&next(&mut pending, 100)), [3]);
    }

    /// The next request.
    fn next(pending: &mut Pending, most: usize) -> Vec<Waiting> {
        let Some(first) = pending.pop() else {
            return Vec::new();
        };
        let others = pending.take_sharing(&first, most);
        iter::once(first).chain(others).collect()
    }

    fn numbers(messages: &[Waiting]) -> Vec<u32> {
        messages.iter().map(|message| message.number).collect()
    }

    #[test]
    fn messages_of_one_content_go_together_and_others_keep_their_order() {
        let mut pending = Pending::default();
        for (number, to, text) in [
            (1, "a", "x"),
            (2, "b", "y"),
            (3, "b", "x"),
            (4, "a", "x"),
            (5, "c", "x"),
            (6, "d", "x"),
            (7, "e", "x"),
        ] {
            pending.push(waiting(number, to, text));
        }
        // The second message to a would have no report of its own, and that to b would pass an earlier one.
        let first = next(&mut pending, 3);
        assert_eq!(numbers(&first), [1, 5, 6]);
        assert_eq!(numbers(&next(&mut pending, 3)), [2]);
        // What was refused together goes alone.
        pending.give_back(first, true);
        assert_eq!(numbers(&next(&mut pending, 3)), [1]);
        assert_eq!(numbers(&next(&mut pending, 3)), [5]);
        assert_eq!(numbers(&next(&mut pending, 3)), [6]);
        assert_eq!(numbers(&next(&mut pending, 1)), [3]);
        assert_eq!(numbers(&next(&mut pending, 100)), [4, 7]);
        assert!(pending.is_empty() && next(&mut pending, 100).is_empty());
    }

    #[test]
    fn no_message_passes_an_earlier_one_to_its_recipient() {
        let mut pending = Pending::default();
        for (number, to, text, alone) in [
            (1, "8613000000001", "x", false),
            (2, "8613000000002", "y", false),
            (3, "+8613000000002", "x", false),
            (4, "8613000000003", "x", true),
            (5, "13000000003", "x", false),
            (6, "8613000000004", "x", false),
        ] {
            pending.push(Waiting {
                alone,
                ..waiting(number, to, text)
            });
        }
        assert_eq!(numbers(&next(&mut pending, 100)), [1, 6]);
        assert_eq!(numbers(&next(&mut pending, 100)), [2]);
        // The fifth is behind the fourth, which goes alone.
        assert_eq!(numbers(&next(&mut pending, 100)), [3]);
        assert_eq!(numbers(&next(&mut pending, 100)), [4]);
        assert_eq!(numbers(&next(&mut pending, 100)), [5]);
    }
}
