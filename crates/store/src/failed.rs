//! The port for failed messages and for receipts that match no message.
//!
//! Called by the admin API; each adapter implements it beside [`super::Store`]. Guarantees that one
//! request reads a bounded number of rows, and that a page says where the next one begins even if
//! it has no matches.
//!
//! Messages are listed by their acceptance, which their ids have, or by their end. The index of ends, `fin_by_end`, has only
//! what did not end DELIVERED: a message that arrives pays nothing for it.

use bytes::Bytes;

use super::cold::{ColdRecord as _, ColdStatement, ColdValue, record, values};
use super::{
    ChangeKind, ChangeRow, FoundMessages, MAX_SCAN, MessageHistory, ParkedRow, Reply, Search,
    Stored,
};
use smsc_domain::address::normalise;
use smsc_domain::id::Aside;
use smsc_proto::MessageState;

/// Messages read per request.
pub const MAX_LOOKED: usize = 20_000;
/// Stands in `by` of a [`ChangeRow::ended_session`].
pub const ENDED_SESSION: &str = "ended the session";
/// Messages loaded at once.
pub const PAGE: usize = 500;

/// Failure states: the default of the list of failed messages. DELETED is not among them, because it
/// is the result of a command.
pub const FAILURES: [MessageState; 4] = [
    MessageState::Expired,
    MessageState::Undeliverable,
    MessageState::Unknown,
    MessageState::Rejected,
];

/// What the index of ends has: all states but DELIVERED.
pub(crate) const HAS_PLACE: &str = "state <> 2";

/// Whether a list by ends can have messages of this state: one that is final, and not DELIVERED.
pub fn is_listed_by_end(state: MessageState) -> bool {
    use MessageState::{Delivered, Enroute, Unspecified};

    !matches!(state, Unspecified | Enroute | Delivered)
}

record! {
    /// Where a list goes on: with what has a lower id, or in a list by ends with what comes before this end, the later id first
    /// among those of one moment.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct EndPlace in "fin" {
        pub id: u64,
        /// Unix milliseconds; of no meaning in a list by ids.
        pub at: i64,
    }
}

/// A list that is being read, a page of candidates after another.
pub(crate) struct FailedWalk<'s> {
    search: &'s FailedSearch,
    /// The lowest id of a list by ids.
    from: u64,
    place: EndPlace,
    found: Vec<Stored>,
    /// How many candidates were looked at.
    looked: usize,
}

/// Which failed messages to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailedSearch {
    /// Addresses, sender, times and paging. `state` is one final state, `None` for [`FAILURES`].
    pub which: Search,
    /// Interned name of the operator that reported the end, or of the queue that the message was in.
    pub operator: Option<u32>,
    /// The error code of the final state, verbatim.
    pub error: Option<Bytes>,
    /// Only those that were, or were not, sent again.
    pub replayed: Option<bool>,
    /// Messages whose receipt was given up instead, whatever they ended as; `replayed` is about the receipt.
    pub receipts: bool,
    /// The latest end first, instead of the latest acceptance, and not with `receipts`; `which.before` is the message that the
    /// page before ended with.
    pub by_end: bool,
}

/// Which parked receipts to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParkedSearch {
    /// Only this one.
    pub id: Option<u64>,
    /// Interned name.
    pub operator: Option<u32>,
    /// Only ids below this one (paging).
    pub before: Option<u64>,
    pub limit: usize,
}

/// Failed messages and unmatched receipts of a store.
pub trait FailedStore {
    /// Failed messages, newest first.
    fn failed(&self, search: FailedSearch) -> Reply<FoundMessages>;

    /// Messages with their history, in the order requested; `None` for an unknown id.
    fn histories(&self, ids: Vec<u64>) -> Reply<Vec<Option<MessageHistory>>>;

    /// Parked receipts, newest first.
    fn unmatched(&self, search: ParkedSearch) -> Reply<Vec<ParkedRow>>;
}

// === impl FailedSearch ===

impl FailedSearch {
    /// The statement that reads the end of the message that the page before ended with, where the list is one by ends.
    pub(crate) fn end_before(&self) -> Option<ColdStatement> {
        let id = self.which.before.filter(|_| self.by_end)?;
        Some(EndPlace::select("WHERE id = $1", values![id]))
    }

    /// Begins a list; `last` is the end of the message that the page before ended with.
    pub(crate) fn walk(&self, asides: &[Aside], last: Option<EndPlace>) -> FailedWalk<'_> {
        let ids = self.which.ids(asides);
        let newest = EndPlace {
            // Of a list by ends nothing of this moment itself.
            id: if self.by_end { 0 } else { ids.end },
            at: self.which.ended_until.unwrap_or(i64::MAX),
        };
        FailedWalk {
            search: self,
            from: ids.start,
            place: last.filter(|last| last.at < newest.at).unwrap_or(newest),
            found: Vec::new(),
            looked: 0,
        }
    }

    /// The requested states as numbers of the tables, for `state IN (…)`.
    pub(crate) fn states(&self) -> String {
        let one = self.which.state.as_ref().map(std::slice::from_ref);
        let states = one.unwrap_or(&FAILURES);
        let numbers: Vec<String> = states
            .iter()
            .map(|state| i32::from(*state).to_string())
            .collect();
        numbers.join(", ")
    }

    /// Whether a message of one of the states matches.
    pub fn fits(&self, stored: &Stored) -> bool {
        let Some(fin) = &stored.fin else { return false };
        let message = &stored.message;
        let is_at = |wanted: &Option<String>, address: &[u8]| {
            wanted
                .as_ref()
                .is_none_or(|wanted| normalise(address) == wanted.as_bytes())
        };
        self.which.covers(stored)
            && is_at(&self.which.to, &message.destination)
            && is_at(&self.which.from, &message.source)
            && self.which.sender.is_none_or(|one| one == message.sender)
            && self
                .operator
                .is_none_or(|one| one == fin.operator || one == stored.queue)
            && self.error.as_ref().is_none_or(|error| *error == fin.error)
            && (self.receipts
                || self
                    .replayed
                    .is_none_or(|wanted| wanted == (stored.replayed_as != 0)))
    }

    /// The page built from the loaded messages, ids descending: `looked_upto` is the lowest id read,
    /// `None` when there is nothing below.
    pub fn page(&self, mut found: Vec<Stored>, looked_upto: Option<u64>) -> FoundMessages {
        let next_before = if found.len() > self.which.limit {
            found
                .get(self.which.limit.saturating_sub(1))
                .map(|last| last.message.id)
        } else {
            looked_upto
        };
        found.truncate(self.which.limit);
        FoundMessages {
            messages: found,
            next_before,
        }
    }
}

// === impl FailedWalk ===

impl FailedWalk<'_> {
    /// What is walked over: final states, the newest or the latest first, or messages about which there was an order. Its
    /// order, and the values that it takes from `$1` on.
    fn walk(&self) -> (String, &'static str, Vec<ColdValue>) {
        let (from, EndPlace { id, at }) = (self.from, self.place);
        if self.search.by_end {
            let order = "at DESC, id DESC";
            let sql = format!(
                "SELECT id, at, state FROM fin
                 WHERE {HAS_PLACE} AND at <= $1 AND (at < $1 OR id < $2) AND at >= $3 ORDER BY {order}"
            );
            return (sql, order, values![at, id, self.search.which.ends().start]);
        }
        let sql = if self.search.receipts {
            "SELECT id, 0 AS at,
               max(CASE WHEN kind = 6 AND coalesce(length(body), 0) = 0 THEN 1 ELSE 0 END) AS given_up,
               max(CASE WHEN kind = 6 AND length(body) = 8 THEN 1 ELSE 0 END) AS again
             FROM change WHERE id >= $1 AND id < $2 GROUP BY id ORDER BY id DESC"
        } else {
            "SELECT id, at, state FROM fin WHERE id >= $1 AND id < $2 ORDER BY id DESC"
        };
        (sql.to_owned(), "id DESC", values![from, id])
    }

    /// The statement that reads up to [`PAGE`] places of messages in the requested states, in the order of the list.
    pub fn candidates(&self) -> ColdStatement {
        let (walk, order, mut values) = self.walk();
        let most = values.len() + 1;
        values.extend(values![MAX_SCAN, PAGE]);
        let is_of_receipts = self.search.receipts && !self.search.by_end;
        let condition = match (is_of_receipts, self.search.replayed) {
            (false, _) => {
                let ends = self.search.which.ends();
                values.extend(values![ends.start, ends.end]);
                let (states, since, until) = (self.search.states(), most + 2, most + 3);
                format!("state IN ({states}) AND at >= ${since} AND at < ${until}")
            }
            (true, None) => "given_up = 1".to_owned(),
            (true, Some(again)) => format!("given_up = 1 AND again = {}", u8::from(again)),
        };
        let sql = format!(
            "SELECT id, at FROM ({walk} LIMIT ${most}) w WHERE {condition} ORDER BY {order} LIMIT ${}",
            most + 1
        );
        ColdStatement::new(sql, values)
    }

    /// The statement that reads the place to which a walk of at most [`MAX_SCAN`] has come; none when it has come to its end.
    pub fn end(&self) -> ColdStatement {
        let (walk, _, mut values) = self.walk();
        values.extend(values![MAX_SCAN - 1]);
        let passed = values.len();
        let sql = format!("SELECT id, at FROM ({walk} LIMIT 1 OFFSET ${passed}) w");
        ColdStatement::new(sql, values)
    }

    /// Adds what was loaded of the candidates. Gives the page, unless more is to be read from the place where they end.
    pub fn add(
        &mut self,
        loaded: Vec<Option<Stored>>,
        next: Option<EndPlace>,
    ) -> Option<FoundMessages> {
        let (search, is_full) = (self.search, loaded.len() == PAGE);
        self.looked += loaded.len();
        let loaded = loaded.into_iter().flatten();
        self.found
            .extend(loaded.filter(|stored| search.fits(stored)));
        let enough = self.found.len() > search.which.limit || self.looked >= MAX_LOOKED;
        if let Some(next) = next.filter(|_| is_full && !enough) {
            self.place = next;
            return None;
        }
        let found = std::mem::take(&mut self.found);
        Some(search.page(found, next.map(|place| place.id)))
    }
}

// === impl ChangeRow ===

impl ChangeRow {
    /// A message is sent again as a new one, in the batch that accepts that.
    pub fn replayed(id: u64, at: i64, by: &str, replay: u64) -> Self {
        Self {
            body: Bytes::copy_from_slice(&replay.to_be_bytes()),
            ..Self::new(id, at, ChangeKind::Replay, by)
        }
    }

    /// A receipt that was given up is sent again by a new message, in the batch that accepts that. The build before
    /// reads it as one more [`ChangeKind::GiveUp`].
    pub fn told_again(id: u64, at: i64, by: &str, copy: u64) -> Self {
        Self {
            kind: ChangeKind::GiveUp,
            ..Self::replayed(id, at, by, copy)
        }
    }

    /// The peer has ended a session of this queue on which it, or its receipt, was tried alone. The build before reads it
    /// as an order to try it again.
    pub fn ended_session(id: u64, at: i64, queue: u32) -> Self {
        Self {
            queue,
            ..Self::new(id, at, ChangeKind::Retry, ENDED_SESSION)
        }
    }

    /// The word for what was ordered, as histories show it.
    pub fn name(&self) -> &'static str {
        match self.kind {
            _ if self.copy() != 0 => "tell_again",
            ChangeKind::Move => "move",
            ChangeKind::Retry if self.by == ENDED_SESSION => "ended_session",
            ChangeKind::Retry => "retry",
            ChangeKind::Cancel => "cancel",
            ChangeKind::Replace => "replace",
            ChangeKind::Replay => "replay",
            ChangeKind::GiveUp => "give_up",
        }
    }

    /// The new message of [`Self::told_again`]; 0 for any other row.
    pub fn copy(&self) -> u64 {
        match (self.kind, self.body.as_ref().try_into()) {
            (ChangeKind::GiveUp, Ok(octets)) => u64::from_be_bytes(octets),
            _ => 0,
        }
    }

    /// The new message of a [`ChangeKind::Replay`]; 0 for any other kind.
    pub fn replay(&self) -> u64 {
        match (self.kind, self.body.as_ref().try_into()) {
            (ChangeKind::Replay, Ok(octets)) => u64::from_be_bytes(octets),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FinRow;
    use smsc_proto::Message;

    fn stored() -> Stored {
        Stored {
            message: Message {
                id: 9,
                sender: 1,
                source: Bytes::from_static(b"ACME"),
                destination: Bytes::from_static(b"+4179"),
                ..Message::default()
            },
            queue: 2,
            fin: Some(FinRow {
                id: 9,
                at: 5,
                state: MessageState::Undeliverable,
                error: Bytes::from_static(b"069"),
                operator: 3,
                tell: 0,
                done_at: 0,
                remote_item: Bytes::new(),
                remote_part: 0,
            }),
            attempts: 1,
            replayed_as: 0,
            sent_at: 0,
        }
    }

    #[test]
    fn each_criterion_counts() {
        let all = FailedSearch::default();
        assert!(all.fits(&stored()));
        let by_which = |which: Search| FailedSearch {
            which,
            ..FailedSearch::default()
        };
        let to = |to: &str| {
            by_which(Search {
                to: Some(to.to_owned()),
                ..Search::default()
            })
        };
        let sender = |sender| {
            by_which(Search {
                sender: Some(sender),
                ..Search::default()
            })
        };
        let operator = |operator| FailedSearch {
            operator: Some(operator),
            ..FailedSearch::default()
        };
        let error = |error: &'static str| FailedSearch {
            error: Some(Bytes::from_static(error.as_bytes())),
            ..FailedSearch::default()
        };
        let replayed = |replayed| FailedSearch {
            replayed: Some(replayed),
            ..FailedSearch::default()
        };
        for (search, fits) in [
            (to("4179"), true),
            (to("417"), false),
            (sender(1), true),
            (sender(2), false),
            (operator(2), true),
            (operator(3), true),
            (operator(1), false),
            (error("069"), true),
            (error("69"), false),
            (replayed(false), true),
            (replayed(true), false),
        ] {
            assert_eq!(search.fits(&stored()), fits, "{search:?}");
        }
        let mut open = stored();
        open.fin = None;
        assert!(!all.fits(&open), "not final");
    }

    #[test]
    fn the_index_of_ends_has_all_but_what_was_delivered() {
        assert_eq!(i32::from(MessageState::Delivered), 2, "{HAS_PLACE}");
        assert!(FAILURES.into_iter().all(is_listed_by_end));
        assert!(is_listed_by_end(MessageState::Deleted));
        assert!(!is_listed_by_end(MessageState::Enroute));
    }

    #[test]
    fn ends_count_as_well() {
        let ended = |since: Option<i64>, until: Option<i64>| FailedSearch {
            which: Search {
                ended_since: since,
                ended_until: until,
                ..Search::default()
            },
            ..FailedSearch::default()
        };
        for (search, fits) in [
            (ended(Some(5), None), true),
            (ended(Some(6), None), false),
            (ended(None, Some(6)), true),
            (ended(None, Some(5)), false),
        ] {
            assert_eq!(search.fits(&stored()), fits, "{search:?}");
        }
    }

    #[test]
    fn a_page_says_where_the_next_one_begins() {
        let search = FailedSearch {
            which: Search {
                limit: 2,
                ..Search::default()
            },
            ..FailedSearch::default()
        };
        let found = |ids: &[u64]| -> Vec<Stored> {
            let one = |id: &u64| {
                let mut one = stored();
                one.message.id = *id;
                one
            };
            ids.iter().map(one).collect()
        };
        let more = search.page(found(&[9, 7, 5]), Some(3));
        assert_eq!((more.messages.len(), more.next_before), (2, Some(7)));
        let sparse = search.page(found(&[9]), Some(3));
        assert_eq!((sparse.messages.len(), sparse.next_before), (1, Some(3)));
        assert_eq!(search.page(found(&[9, 7]), None).next_before, None);
    }

    #[test]
    fn a_replay_is_told_by_its_row() {
        let row = ChangeRow::replayed(7, 1, "somebody", 1 << 60);
        assert_eq!(row.replay(), 1 << 60);
        let other = ChangeRow {
            kind: ChangeKind::Replace,
            ..row
        };
        assert_eq!(other.replay(), 0);
    }
}
