//! `smsc migrate-store`: everything is moved exactly once, however often the move is interrupted, and a
//! move that cannot succeed is refused with a text that says how to fix it.

pub mod filling;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::harness::{self, Database, Finished, Process, database, execute, rows, run, until};
use bytes::Bytes;
use filling::{
    DAYS_OF_USAGE, MESSAGES, Names, OPT_OUTS, PARKED, RECORDED, REQUESTS, SINK, count_stages, fill,
    id, message, request, take_events,
};
use smsc::domain::period::MINUTE_MS;
use smsc::domain::{correlation, partition};
use smsc::store::balance::BalanceStore as _;
use smsc::store::idempotency::{Claimed, IdempotencyStore as _};
use smsc::store::incidents::IncidentStore as _;
use smsc::store::keys::ApiKeyStore as _;
use smsc::store::opt_out::{OptOutListStore as _, OptOutRow, OptOutStore as _};
use smsc::store::postgres::{PgOptions, PgStore};
use smsc::store::sqlite::{SqliteOptions, SqliteStore};
use smsc::store::usage::{Dimension, UsageQuestion};
use smsc::store::{Active, MessageHistory, MessageStage, Store, StoreError, WriteBatch};
use tempfile::TempDir;

/// The embedded store with its configuration, and the database to move it into.
struct Setup {
    folder: TempDir,
    database: Database,
}

// === impl Setup ===

impl Setup {
    fn new() -> Self {
        let setup = Self {
            folder: tempfile::tempdir().unwrap(),
            database: database(),
        };
        let config = format!(
            "data_dir = {:?}
             [postgres]
             url = {:?}
             message_correlations = true
             [[operator]]
             id = \"exact\"
             address = \"127.0.0.1:9\"
             system_id = \"smsc\"
             message_id = \"as_is\"
             [[operator]]
             id = \"loose\"
             address = \"127.0.0.1:9\"
             system_id = \"smsc\"
             ",
            setup.data(),
            setup.database.url()
        );
        fs::write(setup.folder.path().join("smsc.toml"), config).unwrap();
        let migrated = run(&mut setup.smsc("migrate"));
        assert!(migrated.success, "{}", migrated.stderr);
        setup
    }

    fn data(&self) -> std::path::PathBuf {
        self.folder.path().join("data")
    }

    fn smsc(&self, subcommand: &str) -> Command {
        let mut command = Command::new(harness::binary());
        command.arg(subcommand).arg("--config");
        command.arg(self.folder.path().join("smsc.toml"));
        command
    }

    fn migrate_store(&self) -> Finished {
        run(&mut self.smsc("migrate-store"))
    }

    fn refused(&self, because: &str) {
        let refused = self.migrate_store();
        assert!(!refused.success, "{}", refused.stdout);
        assert!(refused.stderr.contains(because), "{}", refused.stderr);
    }

    fn embedded(&self) -> SqliteStore {
        SqliteStore::open(SqliteOptions::new(Path::new(&self.data()))).expect("opens")
    }

    fn shared(&self) -> Result<PgStore, StoreError> {
        PgStore::open(PgOptions {
            standalone: true,
            correlation_ttl: Duration::from_secs(100 * 365 * 86_400),
            ..PgOptions::new(self.database.url())
        })
    }

    fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        rows(self.database.url(), &sql)[0].get(0)
    }

    /// Starts a move in small steps, kills it after some progress, and returns how many messages the
    /// database has then.
    fn break_off(&self, name: &str) -> i64 {
        let before = self.count("msg");
        let log = self.folder.path().join(name);
        let mut command = self.smsc("migrate-store");
        command.args(["--batch", "5"]);
        let mut process = Process::start(name, command, &log);
        until("progress", || {
            process.assert_running();
            process.log().contains("messages moved").then_some(())
        });
        until("more than before", || {
            process.assert_running();
            (self.count("msg") > before).then_some(())
        });
        process.kill();
        if before > 0 {
            let skipped = format!("going on: {before} messages are there already");
            assert!(process.log().contains(&skipped), "{}", process.log());
        }
        // A pending transaction may still be committed.
        until("the end of the session", || {
            let sql = "SELECT 1 FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'smsc'";
            rows(self.database.url(), sql).is_empty().then_some(())
        });
        self.count("msg")
    }
}

// === comparing ===

fn active(store: &dyn Store) -> Vec<Active> {
    let mut all = Vec::new();
    store
        .recover(None, &mut |active| {
            all.push(Active {
                part: partition::WHOLE,
                ..active
            });
        })
        .unwrap();
    all
}

fn histories(store: &dyn Store) -> Vec<MessageHistory> {
    let ids: Vec<u64> = (1..=MESSAGES).map(id).collect();
    let mut all = Vec::new();
    for some in ids.chunks(100) {
        let asked: Vec<_> = some.iter().map(|id| store.history(*id)).collect();
        all.extend(
            asked
                .into_iter()
                .map(|answer| answer.wait().unwrap().unwrap()),
        );
    }
    all
}

/// Events, records and usage are as they were.
fn check_events_and_sums(setup: &Setup, shared: &dyn Store, embedded: &dyn Store) {
    let question = UsageQuestion {
        last_day: i32::MAX,
        by: Dimension::ALL.to_vec(),
        limit: 1_000,
        ..UsageQuestion::default()
    };
    let moved = shared.usage(question.clone()).wait().expect("answers");
    assert_eq!(moved.len(), DAYS_OF_USAGE as usize);
    assert_eq!(Ok(moved), embedded.usage(question).wait());
    let ended = |store: &dyn Store| store.take_events(take_events(100_000)).wait().unwrap();
    let (moved, stayed) = (
        ended(shared).expect("events"),
        ended(embedded).expect("events"),
    );
    assert_eq!(moved.ids, stayed.ids);
    let told = |store: &dyn Store| store.read_sink(SINK, 100_000).wait().unwrap();
    let (moved, stayed) = (
        told(shared).expect("events"),
        told(embedded).expect("events"),
    );
    assert_eq!(moved.events, stayed.events);
    let row = "SELECT is_same FROM (SELECT (kind, state, done_at, replay_of, price) =
       (CASE id % 2 WHEN 0 THEN 'MO' ELSE 'MT' END, 'EXPIRED', 3, 7, 8) AS is_same FROM cdr) r
       WHERE NOT is_same";
    assert_eq!(
        rows(setup.database.url(), row).len(),
        0,
        "records are as they were"
    );
}

/// Moves everything, killed twice on the way.
fn move_in_three_goes(setup: &Setup) {
    let first = setup.break_off("first");
    assert!(0 < first && first < MESSAGES as i64, "{first}");
    let refused = setup.shared().err().expect("refused").to_string();
    assert!(refused.contains("smsc migrate-store"), "{refused}");
    let second = setup.break_off("second");
    assert!(first < second && second < MESSAGES as i64, "{second}");
    // A node that has started on the database prevents the move.
    let url = setup.database.url();
    execute(
        url,
        "INSERT INTO node VALUES(3, 1, now() + interval '1 hour', now(), '{}')",
    );
    setup.refused("nodes run on this database (3)");
    execute(
        url,
        "UPDATE node SET lease_until = now() - interval '1 second'",
    );
    let third = setup.migrate_store();
    assert!(third.success, "{}", third.stderr);
    let skipped = format!("going on: {second} messages are there already and are skipped");
    assert!(third.stdout.contains(&skipped), "{}", third.stdout);
    assert!(
        third.stdout.contains("next: start smsc"),
        "{}",
        third.stdout
    );
    let all = format!("{MESSAGES} of {MESSAGES} messages moved");
    assert!(third.stderr.contains(&all), "{}", third.stderr);
    let again = setup.migrate_store();
    assert!(again.success, "{}", again.stderr);
    assert!(again.stdout.contains("moved already"), "{}", again.stdout);
}

#[test]
fn everything_arrives_once_although_the_move_is_killed() {
    let setup = Setup::new();
    let embedded = setup.embedded();
    let names = fill(&embedded);
    setup.refused("in use by another smsc process");
    embedded.close();
    move_in_three_goes(&setup);

    let embedded = setup.embedded();
    let shared = setup.shared().expect("opens");
    assert_eq!(shared.names(), embedded.names());
    assert_eq!(shared.highest_id(), embedded.highest_id());
    assert_eq!(shared.highest_id(), Ok(id(MESSAGES + PARKED)));
    assert_eq!(shared.parked(1000), embedded.parked(1000));
    assert_eq!(shared.parked(1000).unwrap().len() as u64, PARKED - 1);
    let waiting = active(&shared);
    let expected = count_stages(|stage| stage != 6 && stage != 7);
    assert_eq!(waiting.len(), expected, "all but told and cancelled");
    for stage in [MessageStage::Waiting, MessageStage::OutcomeUnknown] {
        assert!(waiting.iter().any(|active| active.stage == stage));
    }
    assert!(setup.count("carry") > 0, "some are below the mark");
    assert_eq!(waiting, active(&embedded));
    let mut moved = histories(&shared);
    check_correlations(&shared, &moved, &names);
    let attempts = moved.iter_mut().flat_map(|history| &mut history.attempts);
    attempts.for_each(|attempt| attempt.correlation = 0);
    for (moved, stayed) in moved.iter().zip(histories(&embedded)) {
        assert_eq!(*moved, stayed);
    }
    assert_eq!(shared.purses(None).wait(), embedded.purses(None).wait());
    assert_eq!(shared.purses(None).wait().unwrap().len(), 2);
    let top_ups = |store: &dyn Store| store.top_ups(names.account, u64::MAX, 10).wait();
    assert_eq!(top_ups(&shared), top_ups(&embedded));
    assert_eq!(shared.api_keys().wait(), embedded.api_keys().wait());
    let notes = |store: &dyn Store| store.notes(None, u64::MAX, 10).wait().unwrap();
    assert_eq!(notes(&shared), notes(&embedded));
    assert_eq!(shared.incidents().wait(), embedded.incidents().wait());
    let traffic = |store: &dyn Store| store.traffic(MINUTE_MS, 0..i64::MAX, None).wait().unwrap();
    assert_eq!(traffic(&shared), traffic(&embedded));
    for (table, expected) in [
        ("dead", 1),
        ("top_ups", 2),
        ("api_keys", 1),
        ("notes", 1),
        ("incidents", 1),
        ("traffic", 1),
        ("logins", 1),
        ("cdr", RECORDED.len() as i64),
        ("idempotency", REQUESTS as i64),
        ("told", count_stages(|stage| stage == 6) as i64 + 1),
    ] {
        assert_eq!(setup.count(table), expected, "{table}");
    }
    for table in ["outbox", "cdr", "dead"] {
        let without = format!("{table} WHERE checksum IS NULL");
        assert_eq!(setup.count(&without), 0, "{table}");
    }
    check_events_and_sums(&setup, &shared, &embedded);
    for n in 1..=REQUESTS {
        let again = shared.claim_key(request(n, 3_600_000)).wait();
        assert_eq!(again, Ok(Claimed::Done(Bytes::from_static(b"last"))), "{n}");
    }
    let opt_outs = |store: &dyn Store| store.opt_outs_after(0, 10_000).wait().unwrap();
    let moved = opt_outs(&shared);
    assert_eq!(moved, opt_outs(&embedded));
    assert_eq!(moved.len() as u64, 2 * OPT_OUTS);
    let newer = OptOutRow {
        number: "1".to_owned(),
        out: true,
        ..OptOutRow::default()
    };
    assert_eq!(shared.set_opt_out(newer).wait(), Ok(true));
    let last = moved.last().unwrap().version;
    let after = shared.opt_outs_after(last, 9).wait().unwrap();
    assert_eq!(after.len(), 1, "versions go on");
    // Whole days can be dropped later.
    assert_eq!(setup.count("msg_default"), 0);
    let sent = "smpp.message_correlations WHERE status = 'SUBMITTED'";
    assert!(setup.count(sent) > 0, "the table for other programs");
}

/// Receipts that come after the move find what was sent before it.
fn check_correlations(store: &PgStore, moved: &[MessageHistory], names: &Names) {
    let mut keys = Vec::new();
    let mut expected = Vec::new();
    for attempt in moved.iter().flat_map(|history| &history.attempts) {
        let has_id = !attempt.operator_message_id.is_empty();
        assert_eq!(attempt.correlation != 0, has_id, "{attempt:?}");
        // Two of them share an id that is not text.
        if has_id && attempt.operator_message_id.starts_with(b"00AB") {
            let as_is = attempt.operator == names.as_is;
            let theirs = if as_is {
                attempt.operator_message_id.to_vec()
            } else {
                attempt.operator_message_id[2..].to_ascii_lowercase()
            };
            keys.push(correlation::key(attempt.operator, &theirs, as_is));
            expected.push(Some(attempt.id));
        }
    }
    assert!(keys.len() > count_stages(|stage| stage == 6) / 2);
    assert_eq!(store.find_correlations(keys, 0).wait(), Ok(expected));
}

#[test]
fn what_cannot_go_well_is_refused_with_a_cure() {
    let setup = Setup::new();
    setup.refused("smsc.db is not there");
    let embedded = setup.embedded();
    let names = Names {
        account: embedded.intern("account:shop").unwrap(),
        as_is: embedded.intern("operator:exact").unwrap(),
        auto: embedded.intern("operator:loose").unwrap(),
    };
    let accept = |n| WriteBatch {
        accept: vec![message(n, &names)],
        ..WriteBatch::default()
    };
    embedded.write(accept(1)).wait().unwrap();
    embedded.close();
    let url = setup.database.url();

    execute(url, "INSERT INTO names VALUES(1, 'operator:other')");
    setup.refused("there `operator:other` is 1, here `account:shop` is 1: make an empty database");
    execute(url, "DELETE FROM names; INSERT INTO told VALUES(5)");
    setup.refused("already has rows in told: make an empty database");
    execute(
        url,
        "DELETE FROM told;
         CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN RAISE EXCEPTION 'not this one'; END $$;
         CREATE TRIGGER refuse BEFORE INSERT ON msg FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    setup.refused("not this one");
    assert_eq!(setup.count("msg"), 0);
    execute(url, "DROP TRIGGER refuse ON msg");
    let embedded = setup.embedded();
    embedded.write(accept(2)).wait().unwrap();
    embedded.close();
    setup.refused("it has been written to since then: make an empty database");
    // The comparison finds a row from elsewhere.
    execute(url, "DELETE FROM meta; DELETE FROM names");
    execute(
        url,
        "CREATE FUNCTION add() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN INSERT INTO told VALUES(new.id); RETURN new; END $$;
         CREATE TRIGGER add BEFORE INSERT ON msg FOR EACH ROW EXECUTE FUNCTION add()",
    );
    setup.refused("told: 0 to move, 2 there");
}
