//! What every store adapter must do: one list of cases, run against each adapter by one factory.
//!
//! The cases name the rules of `docs/developers/architecture.md` that concern the store. A new adapter joins by
//! one more `#[test]` at the end with its own [`Factory`].

mod access;
mod archive;
mod balance;
mod damage;
mod failed;
mod heard;
mod idempotency;
mod messages;
mod outbox;
mod settings;
mod upkeep;
mod usage;

use std::path::Path;
use std::time::Duration;

use crate::store_postgres::database::Database;
use bytes::Bytes;
use smsc::pb::{Message, MessageState};
use smsc::store::postgres::{PgOptions, PgStore};
use smsc::store::sqlite::{SqliteOptions, SqliteStore, fsck};
use smsc::store::{Active, FinRow, SentRow, Store, WriteBatch, Written};

/// Opens the same store repeatedly.
trait Factory {
    fn open(&self) -> Box<dyn Store>;
    /// A folder for files that a case writes.
    fn folder(&self) -> &Path;
    /// Whether a copy made by `backup` is intact.
    fn is_sound(&self, copy: &Path) -> bool;
    /// Changes rows behind the store's back.
    fn execute(&self, sql: &str);
    /// A literal of these octets in hexadecimal digits.
    fn blob(&self, hex: &str) -> &'static str;
    /// The table that has the second attempt of a message.
    fn later_attempts(&self) -> &'static str;
    /// Columns of `msg` that only this store has, and another value of each.
    fn own_columns(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// Whether the store can copy itself; otherwise the database's own tools do that.
    fn backs_up(&self) -> bool {
        true
    }
    /// Whether old correlations are spilled rows, rather than the attempts themselves.
    fn spills_correlations(&self) -> bool {
        true
    }
}

/// A store, and how to open it again.
struct Harness {
    factory: Box<dyn Factory>,
    store: Option<Box<dyn Store>>,
}

type Case = fn(&mut Harness);

/// All cases; the names are the requirements.
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn cases() -> Vec<(&'static str, Case)> {
    vec![
        ("messages come back as they were", messages::roundtrip),
        (
            "rule 1: the highest id is never forgotten",
            upkeep::highest_id,
        ),
        (
            "rule 2: bodies are read by id, in any order",
            messages::load_order,
        ),
        (
            "rule 2: queue blocks spill and come back once",
            upkeep::blocks,
        ),
        ("rule 3: attempts are never overwritten", messages::attempts),
        (
            "rule 3: every operator id correlates",
            messages::every_operator_id,
        ),
        ("rule 4: the first final state wins", messages::fin_once),
        (
            "of many rows in one commit those that are there already are told apart",
            messages::many_rows,
        ),
        ("rule 4: a bad row fails alone", messages::bad_row),
        ("rule 5: fin without told is told again", messages::untold),
        ("rule 6: parked receipts wait until settled", upkeep::parked),
        (
            "what was heard of a message is kept until it is settled",
            heard::last,
        ),
        ("failed messages come page by page", failed::failed),
        ("failed messages come by their ends", failed::failed_by_end),
        (
            "failures are counted by what they have in common",
            failed::counted,
        ),
        (
            "failures are counted with a filter",
            failed::counted_with_a_filter,
        ),
        ("parked receipts come page by page", failed::unmatched),
        (
            "rule 7: changes append and the last move wins",
            messages::changes,
        ),
        (
            "rule 7: the last replacement is what is read",
            messages::replacements,
        ),
        (
            "rule 8: a try without an attempt is unknown",
            messages::tries,
        ),
        (
            "rule 8: a try that was not made is none",
            messages::tries_not_made,
        ),
        (
            "rule 9: old correlations, newest hour first",
            upkeep::correlations,
        ),
        (
            "rule 10: the mark moves and nothing active is lost",
            upkeep::low_water,
        ),
        (
            "rule 10: a message below the mark is not lost",
            upkeep::late_message,
        ),
        (
            "rule 10: retirement takes only what is finished",
            upkeep::retire,
        ),
        ("rule 12: a backup is a store", upkeep::backup),
        (
            "retries: the last one wins and ends with the message",
            messages::retries,
        ),
        (
            "sessions that a message has ended count where it is",
            messages::ended_sessions,
        ),
        (
            "recovery is in id order and by queue",
            messages::recover_by_queue,
        ),
        (
            "active messages come page by page, carried ones first",
            upkeep::active_pages,
        ),
        (
            "a barrier resolves after what was asked before it",
            messages::barrier,
        ),
        ("names keep their numbers", upkeep::names),
        (
            "search by destination and state, newest first",
            upkeep::search,
        ),
        (
            "search by source, sender and time, together",
            archive::search_filters,
        ),
        ("export is in id order and tells all", archive::export),
        ("texts of finished messages go", archive::erase_text),
        (
            "a number goes from finished messages only",
            archive::erase_msisdn,
        ),
        ("an IMSI goes with its number", archive::erase_imsi),
        ("tokens are kept until removed", access::tokens),
        ("API keys are kept until removed", access::api_keys),
        ("notes are kept until removed", access::notes),
        ("incidents go on, end and are forgotten", access::incidents),
        ("traffic is kept by minute, hour and node", access::traffic),
        ("the last login of an account is kept", access::logins),
        ("the audit log is read in pages", access::audit),
        ("opt-outs are followed by version", access::opt_outs),
        (
            "charges go with their messages, or not at all",
            balance::charges,
        ),
        ("a top-up is made once and leaves no debt", balance::top_ups),
        (
            "a request is carried out once and has one answer",
            idempotency::answers,
        ),
        (
            "keys that are claimed together are judged one by one",
            idempotency::batches,
        ),
        (
            "a claim without an answer can be given back",
            idempotency::releases,
        ),
        (
            "an answer is found across midnight, for as long as it counts",
            idempotency::days,
        ),
        ("old answers go, newer ones stay", idempotency::forgets),
        (
            "an answer is kept although a message is rejected",
            idempotency::bad_message,
        ),
        (
            "events are written with the ends of messages, and wait until they are finished",
            outbox::written_with_ends,
        ),
        ("a bad row has no event", outbox::bad_row),
        (
            "early events come before ends, in order",
            outbox::early_events,
        ),
        (
            "what waits for a reader is known, and goes when it is too old",
            outbox::backlogs,
        ),
        ("an event outlives its message", outbox::deleted_message),
        (
            "records are written with the end of their events",
            outbox::records,
        ),
        ("sums of usage add up, once for each event", usage::adds_up),
        ("history tells all", messages::history),
        (
            "settings: a version follows on the one it was made from",
            settings::versions,
        ),
        ("settings: the history leads back", settings::history),
        (
            "settings: of edits at once one is made",
            settings::one_of_many_wins,
        ),
        ("settings: thousands of routes", settings::thousands),
        ("settings: the same in other words", settings::reworded),
        ("a damaged message is not used", damage::messages),
        ("a damaged attempt ends its message", damage::attempts),
        ("a damaged end tells nobody", damage::ends),
        ("a damaged change ends its message", damage::changes),
        ("a damaged receipt is not used", damage::parked),
        ("damaged rows are listed", damage::list),
        ("a closed store says so", upkeep::closed),
    ]
}

// === impl Harness ===

impl Harness {
    fn store(&self) -> &dyn Store {
        self.store.as_deref().expect("open")
    }

    fn reopen(&mut self) {
        self.store = None;
        self.store = Some(self.factory.open());
    }

    fn write(&self, batch: WriteBatch) -> Written {
        self.store().write(batch).wait().expect("written")
    }

    fn accept(&self, ids: impl IntoIterator<Item = u64>) {
        let accept = ids.into_iter().map(message).collect();
        assert_eq!(
            self.write(WriteBatch {
                accept,
                ..WriteBatch::default()
            }),
            Written::default()
        );
    }

    fn fin(&self, ids: impl IntoIterator<Item = u64>, tell: u32) {
        let fin = ids.into_iter().map(|id| fin_row(id, tell)).collect();
        self.write(WriteBatch {
            fin,
            ..WriteBatch::default()
        });
    }

    fn sent(&self, rows: Vec<SentRow>) {
        let written = self.write(WriteBatch {
            sent: rows,
            ..WriteBatch::default()
        });
        assert_eq!(written, Written::default());
    }

    fn active(&self) -> Vec<Active> {
        let mut all = Vec::new();
        self.store()
            .recover(None, &mut |active| all.push(active))
            .expect("recovers");
        all
    }

    fn active_ids(&self) -> Vec<u64> {
        self.active().iter().map(|active| active.id).collect()
    }
}

/// An id some milliseconds after the epoch of these tests.
fn id(n: u64) -> u64 {
    ((1_700_000_000_000 + n) << 20) | (n % 4096)
}

fn text(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn message(id: u64) -> Message {
    Message {
        id,
        sender: 1,
        queue: 7,
        accepted_at: (id >> 20) as i64,
        due_at: 5,
        expires_at: 9_000_000_000_000,
        priority: 1,
        source: text("SENDER"),
        destination: text(&format!("4179{}", id & 0xFFF)),
        dest_ton: 1,
        dest_npi: 1,
        short_message: Bytes::from_static(&[0, 159, 146, 150]),
        ..Message::default()
    }
}

fn fin_row(id: u64, tell: u32) -> FinRow {
    FinRow {
        id,
        at: (id >> 20) as i64 + 10,
        state: MessageState::Delivered,
        error: text("000"),
        operator: 3,
        tell,
        done_at: (id >> 20) as i64 - 60_000,
        remote_item: Bytes::new(),
        remote_part: 0,
    }
}

fn sent_row(id: u64, attempt: u32, status: u32, theirs: &str) -> SentRow {
    SentRow {
        id,
        attempt,
        at: 1000 + i64::from(attempt),
        operator: 3,
        status,
        operator_message_id: text(theirs),
        latency_ms: 12,
        correlation: 0,
        bind: (3 << 48) | 17,
        known_as: None,
    }
}

/// A separate database.
struct Postgres(Database, tempfile::TempDir);

impl Factory for Postgres {
    fn open(&self) -> Box<dyn Store> {
        let options = PgOptions {
            standalone: true,
            // The ids of the cases are from 2023, and the look-up ignores older ones than this.
            correlation_ttl: Duration::from_secs(100 * 365 * 86_400),
            ..PgOptions::new(self.0.url())
        };
        Box::new(PgStore::open(options).expect("opens"))
    }

    fn folder(&self) -> &Path {
        self.1.path()
    }

    fn is_sound(&self, _copy: &Path) -> bool {
        false
    }

    fn execute(&self, sql: &str) {
        drop(self.0.query(sql));
    }

    fn blob(&self, hex: &str) -> &'static str {
        format!("'\\x{hex}'").leak()
    }

    fn later_attempts(&self) -> &'static str {
        "sent"
    }

    fn own_columns(&self) -> &'static [(&'static str, &'static str)] {
        &[("part", "part # 16"), ("payload_kind", "payload_kind # 3")]
    }

    fn backs_up(&self) -> bool {
        false
    }

    fn spills_correlations(&self) -> bool {
        false
    }
}

#[test]
fn postgres() {
    // Migrations for each case would take longer than the cases.
    let migrated = Database::migrated();
    for (name, case) in cases() {
        eprintln!("{name}");
        let database = migrated.copy();
        let factory = Box::new(Postgres(database, tempfile::tempdir().expect("a folder")));
        let store = Some(factory.open());
        let mut harness = Harness { factory, store };
        case(&mut harness);
        harness.store = None;
    }
}

struct Sqlite(tempfile::TempDir);

impl Factory for Sqlite {
    fn open(&self) -> Box<dyn Store> {
        let options = SqliteOptions {
            min_free_mib: 1,
            results_linger: Duration::ZERO,
            ..SqliteOptions::new(self.0.path())
        };
        Box::new(SqliteStore::open(options).expect("opens"))
    }

    fn folder(&self) -> &Path {
        self.0.path()
    }

    fn execute(&self, sql: &str) {
        let main = rusqlite::Connection::open(self.0.path().join("smsc.db")).expect("opens");
        main.execute_batch(sql).expect(sql);
    }

    fn blob(&self, hex: &str) -> &'static str {
        format!("x'{hex}'").leak()
    }

    fn later_attempts(&self) -> &'static str {
        "resent"
    }

    fn is_sound(&self, copy: &Path) -> bool {
        fsck(copy).is_ok_and(|report| report.is_clean())
    }
}

#[test]
fn sqlite() {
    for (name, case) in cases() {
        eprintln!("{name}");
        let factory = Box::new(Sqlite(tempfile::tempdir().expect("a folder")));
        let store = Some(factory.open());
        let mut harness = Harness { factory, store };
        case(&mut harness);
        harness.store = None;
        let report = fsck(harness.factory.folder()).expect("fsck reads");
        assert!(report.is_clean(), "{name}: {report:?}");
    }
}
