//! The embedded store against a model in memory: random operations, restarts at random points, and a
//! recovery of many messages.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use bytes::Bytes;
use proptest::prelude::*;
use smsc::pb::{Message, MessageState};
use smsc::store::sqlite::{SqliteOptions, SqliteStore, fsck};
use smsc::store::{
    Active, ChangeKind, ChangeRow, FinRow, MessageStage, RetryRow, SentRow, Store, TryRow,
    WriteBatch,
};

/// An operation on the store; messages are chosen by number.
#[derive(Debug, Clone)]
enum Op {
    Accept {
        skip: u8,
        count: u8,
    },
    Sent {
        pick: usize,
        attempt: u32,
        ok: bool,
    },
    Retry {
        pick: usize,
        due_at: i64,
        attempts: u32,
    },
    Fin {
        pick: usize,
        tell: u32,
    },
    Told {
        pick: usize,
    },
    Move {
        pick: usize,
        queue: u32,
    },
    Try {
        pick: usize,
        attempt: u32,
        is_made: bool,
    },
    AcceptLate {
        pick: usize,
    },
    /// All unfinished messages except every thirteenth.
    FinishMost,
    Advance,
    Retire,
    Reopen,
}

fn op() -> impl Strategy<Value = Op> {
    let pick = any::<usize>;
    prop_oneof![
        6 => (0..3_u8, 1..40_u8).prop_map(|(skip, count)| Op::Accept { skip, count }),
        6 => (pick(), 1..4_u32, any::<bool>())
            .prop_map(|(pick, attempt, ok)| Op::Sent { pick, attempt, ok }),
        3 => (pick(), 1..99_i64, 1..4_u32)
            .prop_map(|(pick, due_at, attempts)| Op::Retry { pick, due_at, attempts }),
        12 => (pick(), 0..3_u32).prop_map(|(pick, tell)| Op::Fin { pick, tell }),
        6 => pick().prop_map(|pick| Op::Told { pick }),
        2 => (pick(), 5..9_u32).prop_map(|(pick, queue)| Op::Move { pick, queue }),
        2 => (pick(), 1..4_u32, any::<bool>())
            .prop_map(|(pick, attempt, is_made)| Op::Try { pick, attempt, is_made }),
        1 => pick().prop_map(|pick| Op::AcceptLate { pick }),
        2 => Just(Op::FinishMost),
        4 => Just(Op::Advance),
        1 => Just(Op::Retire),
        2 => Just(Op::Reopen),
    ]
}

/// A message in the model.
#[derive(Debug, Clone, Default)]
struct Known {
    /// Attempt number to (ok, at).
    sent: BTreeMap<u32, (bool, i64)>,
    retry: Option<(i64, u32)>,
    fin: Option<u32>,
    told: bool,
    queue: u32,
    tries: BTreeSet<u32>,
}

/// The store and its model.
struct Pair {
    store: Option<SqliteStore>,
    folder: tempfile::TempDir,
    model: BTreeMap<u64, Known>,
    last: u64,
    clock: i64,
}

// === impl Known ===

impl Known {
    fn is_active(&self) -> bool {
        self.fin.is_none_or(|tell| tell != 0 && !self.told)
    }

    fn active(&self, id: u64) -> Active {
        let ok =
            |(number, (ok, at)): (&u32, &(bool, i64))| ok.then(|| (*at, (4, theirs(id, *number))));
        let handed: Vec<_> = self.sent.iter().filter_map(ok).collect();
        let unsure = self
            .tries
            .iter()
            .any(|number| !self.sent.contains_key(number));
        let stage = match self.fin {
            Some(tell) => MessageStage::Untold {
                tell,
                at: fin_row(id, tell).at,
            },
            None if !handed.is_empty() => MessageStage::Sent {
                at: handed.iter().map(|(at, _)| *at).max().unwrap_or(0),
                ids: handed.into_iter().map(|(_, ids)| ids).collect(),
            },
            None if unsure => MessageStage::OutcomeUnknown,
            None => MessageStage::Waiting,
        };
        let counted = self.retry.map_or(0, |(_, attempts)| attempts);
        let numbered = self.sent.keys().max().copied().unwrap_or(0);
        Active {
            part: u8::MAX,
            id,
            sender: 1,
            queue: self.queue,
            priority: 0,
            due_at: self.retry.map_or(0, |(due_at, _)| due_at),
            expires_at: 77,
            attempts: counted.max(numbered),
            ended: 0,
            stage,
        }
    }
}

// === impl Pair ===

impl Pair {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let last = 1_700_000_000_000 << 20;
        let store = Some(open(folder.path()));
        Self {
            store,
            folder,
            model: BTreeMap::new(),
            last,
            clock: 0,
        }
    }

    fn store(&self) -> &SqliteStore {
        self.store.as_ref().expect("open")
    }

    fn write(&self, batch: WriteBatch) -> Vec<u64> {
        let written = self.store().write(batch).wait().expect("written");
        assert_eq!(written.rejected, []);
        written.fin_lost
    }

    fn pick(&self, pick: usize) -> Option<u64> {
        let index = pick.checked_rem(self.model.len())?;
        self.model.keys().nth(index).copied()
    }

    fn accept(&mut self, id: u64) -> Message {
        self.model.insert(
            id,
            Known {
                queue: 3,
                ..Known::default()
            },
        );
        message(id)
    }

    fn apply(&mut self, op: &Op) {
        self.clock += 1;
        let at = self.clock;
        match *op {
            Op::Accept { skip, count } => {
                let first = self.last + 1 + u64::from(skip);
                self.last = first + u64::from(count) - 1;
                let accept = (first..=self.last).map(|id| self.accept(id)).collect();
                self.write(WriteBatch {
                    accept,
                    ..WriteBatch::default()
                });
            }
            Op::AcceptLate { pick } => {
                let Some(id) = self.pick(pick).map(|id| id - 1) else {
                    return;
                };
                if self.model.contains_key(&id) {
                    return;
                }
                let accept = vec![self.accept(id)];
                self.write(WriteBatch {
                    accept,
                    ..WriteBatch::default()
                });
            }
            Op::FinishMost => {
                let open = self
                    .model
                    .iter_mut()
                    .filter(|(_, known)| known.fin.is_none());
                let mut fin = Vec::new();
                for (id, known) in open.filter(|(id, _)| *id % 13 != 0) {
                    (known.fin, known.retry) = (Some(0), None);
                    fin.push(fin_row(*id, 0));
                }
                let lost = self.write(WriteBatch {
                    fin,
                    ..WriteBatch::default()
                });
                assert!(lost.is_empty());
            }
            Op::Advance => self.store().advance_low_water().wait().expect("advances"),
            Op::Retire => {
                let count = self.store().retire(i64::MAX, 10).wait().expect("retires");
                let gone: Vec<u64> = {
                    let ids: Vec<u64> = self.model.keys().copied().collect();
                    let found = self.store().load(ids.clone()).wait().expect("loads");
                    ids.into_iter()
                        .zip(found)
                        .filter(|(_, stored)| stored.is_none())
                        .map(|(id, _)| id)
                        .collect()
                };
                assert_eq!(gone.len() as u64, count);
                for id in gone {
                    let known = self.model.remove(&id).expect("known");
                    assert!(!known.is_active(), "{id} was retired: {known:?}");
                }
            }
            Op::Reopen => {
                self.store = None;
                self.store = Some(open(self.folder.path()));
                self.compare();
            }
            Op::Sent { pick, .. } | Op::Retry { pick, .. } | Op::Fin { pick, .. } => {
                if let Some(id) = self.pick(pick) {
                    self.result(id, at, op);
                }
            }
            Op::Told { pick } | Op::Move { pick, .. } | Op::Try { pick, .. } => {
                if let Some(id) = self.pick(pick) {
                    self.note(id, at, op);
                }
            }
        }
    }

    fn result(&mut self, id: u64, at: i64, op: &Op) {
        let known = self.model.get_mut(&id).expect("picked");
        let mut batch = WriteBatch::default();
        let mut lost = Vec::new();
        match *op {
            Op::Sent { attempt, ok, .. } => {
                // If the number is taken, the next free one is used.
                let taken = |number: &u32| known.sent.contains_key(number);
                let number = (attempt..).find(|number| !taken(number)).expect("endless");
                known.sent.insert(number, (ok, at));
                if ok {
                    known.retry = None;
                }
                batch.sent.push(SentRow {
                    id,
                    attempt,
                    at,
                    operator: 4,
                    status: if ok { 0 } else { 8 },
                    operator_message_id: if ok { theirs(id, number) } else { Bytes::new() },
                    latency_ms: 1,
                    correlation: 0,
                    bind: 0,
                    known_as: None,
                });
            }
            Op::Retry {
                due_at, attempts, ..
            } => {
                if known.fin.is_none() {
                    known.retry = Some((due_at, attempts));
                }
                batch.retry.push(RetryRow {
                    id,
                    due_at,
                    attempts,
                });
            }
            Op::Fin { tell, .. } => {
                if known.fin.is_some() {
                    lost.push(id);
                }
                known.fin.get_or_insert(tell);
                known.retry = None;
                batch.fin.push(fin_row(id, tell));
            }
            _ => {}
        }
        assert_eq!(self.write(batch), lost);
    }

    fn note(&mut self, id: u64, at: i64, op: &Op) {
        let known = self.model.get_mut(&id).expect("picked");
        let mut batch = WriteBatch::default();
        match *op {
            Op::Told { .. } if known.fin.is_some() => {
                known.told = true;
                batch.told.push(id);
            }
            Op::Move { queue, .. } => {
                known.queue = queue;
                let kind = ChangeKind::Move;
                batch.change.push(ChangeRow {
                    id,
                    at,
                    kind,
                    queue,
                    by: "me".to_owned(),
                    expires_at: 0,
                    body: Bytes::new(),
                });
            }
            Op::Try {
                attempt, is_made, ..
            } => {
                if is_made {
                    known.tries.insert(attempt);
                } else {
                    known.tries.remove(&attempt);
                }
                batch.tries.push(TryRow {
                    id,
                    attempt,
                    at: if is_made { at } else { TryRow::NOT_MADE },
                    operator: 4,
                });
            }
            _ => {}
        }
        self.write(batch);
    }

    fn compare(&self) {
        let mut found = Vec::new();
        self.store()
            .recover(None, &mut |active| found.push(active))
            .expect("recovers");
        let active = self.model.iter().filter(|(_, known)| known.is_active());
        let expected: Vec<Active> = active.map(|(id, known)| known.active(*id)).collect();
        assert_eq!(found, expected);
    }
}

fn open(folder: &Path) -> SqliteStore {
    let options = SqliteOptions {
        min_free_mib: 1,
        search_index: false,
        ..SqliteOptions::new(folder)
    };
    SqliteStore::open(options).expect("opens")
}

/// The operator's id for an attempt, different for each.
fn theirs(id: u64, attempt: u32) -> Bytes {
    Bytes::from(format!("{id:x}-{attempt}"))
}

fn fin_row(id: u64, tell: u32) -> FinRow {
    FinRow {
        id,
        at: (id >> 20) as i64,
        state: MessageState::Undeliverable,
        error: Bytes::new(),
        operator: 0,
        tell,
        done_at: 0,
        remote_item: Bytes::new(),
        remote_part: 0,
    }
}

fn message(id: u64) -> Message {
    Message {
        id,
        sender: 1,
        queue: 3,
        accepted_at: (id >> 20) as i64,
        expires_at: 77,
        short_message: Bytes::from_static(b"text"),
        ..Message::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_events_survives_restarts(ops in prop::collection::vec(op(), 1..100)) {
        let mut pair = Pair::new();
        for op in &ops {
            pair.apply(op);
        }
        pair.apply(&Op::Reopen);
        pair.apply(&Op::Advance);
        pair.apply(&Op::Reopen);
        pair.store = None;
        let report = fsck(pair.folder.path()).unwrap();
        prop_assert!(report.is_clean(), "{:?}", report);
    }
}

#[test]
fn recovery_of_many_messages_equals_the_model() {
    const COUNT: u64 = 200_000;
    let mut pair = Pair::new();
    let first = pair.last + 1;
    let mut tickets = VecDeque::new();
    for start in (first..first + COUNT).step_by(1000) {
        let ids = start..start + 1000;
        let mut batch = WriteBatch::default();
        for id in ids {
            batch.accept.push(pair.accept(id));
            let known = pair.model.get_mut(&id).unwrap();
            let row = SentRow {
                id,
                attempt: 1,
                at: 9,
                operator: 4,
                status: 0,
                operator_message_id: theirs(id, 1),
                latency_ms: 1,
                correlation: 0,
                bind: 0,
                known_as: None,
            };
            if id % 2 == 0 {
                known.sent.insert(1, (true, 9));
                batch.sent.push(row);
            }
            // Most of the older half is finished.
            if id % 100 != 0 && id < first + COUNT / 2 {
                known.fin = Some(0);
                batch.fin.push(fin_row(id, 0));
            }
        }
        tickets.push_back(pair.store().write(batch));
        // The store refuses new messages when too many rows wait.
        if tickets.len() > 20 {
            tickets.pop_front().map(|ticket| ticket.wait().unwrap());
        }
    }
    for ticket in tickets {
        ticket.wait().unwrap();
    }
    pair.compare();
    pair.apply(&Op::Advance);
    pair.apply(&Op::Reopen);
    let report = fsck(pair.folder.path()).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert!(
        report.low_water > first && report.carried > 0,
        "the mark moved: {report:?}"
    );
}
