//! New messages whose commit is not answered in time: they are refused, and taken back if they were written.

use std::time::Duration;

use super::database::{Database, Held};
use super::{accept, active, connect_lane, fin, id, open, until};
use crate::harness::Gate;
use bytes::Bytes;
use smsc::domain::price::Purse;
use smsc::pb::MessageState;
use smsc::store::balance::ChargeRow;
use smsc::store::idempotency::{Claimed, IdempotencyStore as _, KeyClaim};
use smsc::store::outbox::{EventReader, OutboxStore as _};
use smsc::store::postgres::PgStore;
use smsc::store::{RemoteItem, Store, StoreError, Ticket, WriteBatch, Written};

const PATIENCE: Duration = Duration::from_secs(2);
const UNDECIDED: Result<Written, StoreError> = Err(StoreError::Undecided { waited_ms: 2_000 });
const ACCOUNT: u32 = 1;
/// Who waits for a lock in this database.
const WAITING: &str =
    "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

/// A store with one lane behind a gate.
struct Scene {
    database: Database,
    gate: Gate,
    store: PgStore,
}

/// What became of a transaction whose answer is held back.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Committed,
    RolledBack,
}

const BOTH: [Fate; 2] = [Fate::Committed, Fate::RolledBack];

// === impl Scene ===

impl Scene {
    fn new() -> Self {
        let database = Database::migrated();
        let (gate, url) = database.behind_a_gate();
        let store = open(&database, |options| {
            options.url = url.into();
            options.writers = 1;
            options.write_timeout = PATIENCE;
            // Locks are held as long as the test needs.
            options.statement_timeout = Duration::from_secs(60);
            options.lock_timeout = Duration::from_secs(60);
        });
        // The lane prepares its statements, which needs locks as well.
        connect_lane(&store);
        database.query("INSERT INTO purse VALUES(1, 0, 100), (1, 19000, 0)");
        Self {
            database,
            gate,
            store,
        }
    }

    /// Writes batches in one transaction, which ends when its last statement is over and whose answer does not come.
    fn write(&self, batches: Vec<WriteBatch>, fate: Fate) -> Vec<Ticket> {
        let first = self.hold("LOCK TABLE told IN EXCLUSIVE MODE");
        let blocked = self.store.write(WriteBatch {
            told: vec![id(99)],
            ..WriteBatch::default()
        });
        self.wait_for_the_lane();
        // Before there are batches: their time runs from when they are handed over.
        let second = self.hold("LOCK TABLE msg IN EXCLUSIVE MODE");
        let tickets = batches.into_iter().map(|batch| self.store.write(batch));
        let tickets: Vec<Ticket> = tickets.collect();
        first.commit();
        blocked.wait().expect("written");
        self.wait_for_the_lane();
        self.gate.shut();
        if fate == Fate::RolledBack {
            let end = format!("SELECT pg_terminate_backend(pid, 10000) FROM {WAITING}");
            self.database.query(&end);
        }
        let before = self.database.query("SELECT seq FROM lane");
        second.commit();
        if fate == Fate::Committed {
            until("it is committed", || {
                (self.database.query("SELECT seq FROM lane") != before).then_some(())
            });
        }
        tickets
    }

    fn hold(&self, sql: &str) -> Held {
        self.database.hold(sql)
    }

    fn wait_for_the_lane(&self) {
        until("the server has it all", || {
            let waiting = format!("SELECT count(*) FROM {WAITING}");
            (self.database.query(&waiting) != ["0"]).then_some(())
        });
    }

    /// The database is back, and what was under way has ended.
    fn come_back(&self) {
        self.gate.cut();
        self.store.barrier().wait().expect("all ended");
    }

    fn credits(&self, day: u32) -> (i64, i64) {
        let sum = |table: &str| {
            let sql = format!("SELECT coalesce(sum(credits), 0) FROM {table} WHERE day = {day}");
            self.database.query(&sql)[0].parse().expect("a number")
        };
        (sum("purse"), sum("purse_block"))
    }

    fn ends(&self) -> Vec<String> {
        let sql = "SELECT id, state, error, tell FROM fin ORDER BY id";
        self.database.query(sql)
    }
}

fn charged(ids: &[u64]) -> WriteBatch {
    let charge = |id: &u64| {
        [
            (Purse::balance(ACCOUNT), 5),
            (
                Purse {
                    account: 1,
                    day: 19_000,
                },
                1,
            ),
        ]
        .map(|(purse, amount)| ChargeRow {
            id: *id,
            purse,
            amount,
            epoch: 0,
        })
    };
    WriteBatch {
        charge: ids.iter().flat_map(charge).collect(),
        ..accept(ids)
    }
}

fn item(id: u64, octets: &'static [u8]) -> RemoteItem {
    RemoteItem {
        queue: 7,
        part: 3,
        id,
        octets: Bytes::from_static(octets),
    }
}

fn deleted(ids: &[u64]) -> Vec<String> {
    let row = |id: &u64| format!("{id}|{}|taken back|0", i32::from(MessageState::Deleted));
    ids.iter().map(row).collect()
}

fn claim() -> KeyClaim {
    KeyClaim {
        account: ACCOUNT,
        key: [1; 32],
        request: [2; 32],
        at: 19_700 * 86_400_000,
        since: 19_699 * 86_400_000,
    }
}

fn again() -> KeyClaim {
    KeyClaim {
        at: claim().at + 1000,
        ..claim()
    }
}

#[test]
fn messages_of_a_commit_without_an_answer_are_refused_in_time_and_never_active() {
    for fate in BOTH {
        let scene = Scene::new();
        scene.store.write_events_for(&[EventReader::Cdr]);
        let ids = [id(1), id(2)];
        let mut tickets = scene.write(vec![charged(&ids)], fate);
        // The gate is still shut.
        assert_eq!(tickets.remove(0).wait(), UNDECIDED, "{fate:?}");
        scene.come_back();
        assert_eq!(active(&scene.store), [0u64; 0], "{fate:?}");
        let (ends, cancelled) = match fate {
            Fate::Committed => (deleted(&ids), "2"),
            Fate::RolledBack => (Vec::new(), "0"),
        };
        assert_eq!(scene.ends(), ends);
        assert_eq!(scene.store.stats().taken_back, ends.len() as u64);
        assert_eq!(
            scene
                .database
                .query("SELECT count(*) FROM change WHERE kind = 3"),
            [cancelled]
        );
        assert_eq!(
            scene.database.query("SELECT count(*) FROM outbox"),
            ["0"],
            "no event"
        );
        // The node has spent it from its block, and gets it back by the purse.
        assert_eq!(scene.credits(0), (110, -10), "{fate:?}");
        assert_eq!(scene.credits(19_000), (2, -2), "{fate:?}");
        assert_eq!(
            scene.store.write(accept(&[id(3)])).wait(),
            Ok(Written::default())
        );
        assert_eq!(active(&scene.store), [id(3)]);
    }
}

#[test]
fn results_of_a_commit_without_an_answer_wait_and_are_written_once() {
    for fate in BOTH {
        let scene = Scene::new();
        scene
            .store
            .write(accept(&[id(1), id(2)]))
            .wait()
            .expect("written");
        let results = WriteBatch {
            fin: vec![fin(id(1), 0)],
            ..accept(&[id(8)])
        };
        let mut tickets = scene.write(vec![results], fate);
        // It comes after them, and is refused where it waits.
        let later = scene.store.write(accept(&[id(9)])).wait();
        assert!(matches!(later, Err(StoreError::Failed(_))), "{later:?}");
        scene.gate.cut();
        assert_eq!(tickets.remove(0).wait(), Ok(Written::default()), "{fate:?}");
        assert_eq!(scene.ends(), [format!("{}|2|000|0", id(1))]);
        assert_eq!(active(&scene.store), [id(2), id(8)]);
    }
}

#[test]
fn of_a_mixed_commit_only_what_is_new_is_refused() {
    for fate in BOTH {
        let scene = Scene::new();
        scene.store.write(accept(&[id(1)])).wait().expect("written");
        let new = WriteBatch {
            remote_items: vec![item(id(2), b"two"), item(id(4), b"four")],
            ..charged(&[id(2), id(4)])
        };
        let results = WriteBatch {
            fin: vec![fin(id(1), 0)],
            accept: accept(&[id(3)]).accept,
            remote_items: vec![item(id(3), b"three")],
            ..WriteBatch::default()
        };
        let mut tickets = scene.write(vec![new, results], fate);
        assert_eq!(tickets.remove(0).wait(), UNDECIDED, "{fate:?}");
        scene.come_back();
        assert_eq!(tickets.remove(0).wait(), Ok(Written::default()), "{fate:?}");
        assert_eq!(active(&scene.store), [id(3)], "{fate:?}");
        // The row of the hand-off table had all three.
        let inbox = "SELECT queue, part, convert_from(items, 'UTF8') FROM inbox";
        assert_eq!(scene.database.query(inbox), ["7|3|three"], "{fate:?}");
        assert_eq!(scene.credits(0), (110, -10));
    }
}

#[test]
fn what_another_node_has_taken_stays_accepted_and_charged() {
    let scene = Scene::new();
    let batch = WriteBatch {
        remote_items: vec![item(id(1), b"one")],
        ..charged(&[id(1), id(2)])
    };
    let mut tickets = scene.write(vec![batch], Fate::Committed);
    assert_eq!(tickets.remove(0).wait(), UNDECIDED);
    scene.database.query("DELETE FROM inbox");
    scene.come_back();
    assert_eq!(active(&scene.store), [id(1)]);
    assert_eq!(scene.ends(), deleted(&[id(2)]));
    assert_eq!(scene.credits(0), (105, -10));
}

#[test]
fn a_refused_request_leaves_its_key_free() {
    for fate in BOTH {
        let scene = Scene::new();
        assert_eq!(scene.store.claim_key(claim()).wait(), Ok(Claimed::New));
        let request = WriteBatch {
            idempotency: vec![claim().answered(Bytes::from_static(b"answer"))],
            ..accept(&[id(1)])
        };
        let mut tickets = scene.write(vec![request], fate);
        assert_eq!(tickets.remove(0).wait(), UNDECIDED);
        scene.come_back();
        assert_eq!(active(&scene.store), [0u64; 0], "{fate:?}");
        assert_eq!(
            scene.store.claim_key(again()).wait(),
            Ok(Claimed::New),
            "{fate:?}"
        );
    }
}

#[test]
fn messages_whose_answer_was_given_to_a_repeated_request_stay() {
    let scene = Scene::new();
    assert_eq!(scene.store.claim_key(claim()).wait(), Ok(Claimed::New));
    let request = WriteBatch {
        idempotency: vec![claim().answered(Bytes::from_static(b"answer"))],
        ..charged(&[id(1)])
    };
    let mut tickets = scene.write(vec![request, charged(&[id(2)])], Fate::Committed);
    assert_eq!(tickets.remove(0).wait(), UNDECIDED);
    assert_eq!(tickets.remove(0).wait(), UNDECIDED);
    // Repeated at another node before the first one knows.
    let claimed = "SELECT outcome FROM claim_idempotency(1, decode(repeat('01', 32), 'hex'),
        decode(repeat('02', 32), 'hex'), 5, 5, 1702080001000, 1701993600000, 0)";
    assert_eq!(scene.database.query(claimed), ["1"]);
    scene.come_back();
    assert_eq!(active(&scene.store), [id(1)]);
    assert_eq!(scene.ends(), deleted(&[id(2)]));
    assert_eq!(scene.credits(0), (105, -10));
    let done = Claimed::Done(Bytes::from_static(b"answer"));
    assert_eq!(scene.store.claim_key(again()).wait(), Ok(done));
}

#[test]
fn a_divided_text_is_taken_back_whole() {
    let scene = Scene::new();
    let whole = WriteBatch {
        sent: vec![super::sent(id(1), "")],
        ..accept(&[id(1), id(2), id(3)])
    };
    let mut tickets = scene.write(vec![whole], Fate::Committed);
    assert_eq!(tickets.remove(0).wait(), UNDECIDED);
    scene.come_back();
    assert_eq!(active(&scene.store), [0u64; 0]);
    assert_eq!(scene.ends(), deleted(&[id(1), id(2), id(3)]));
}
