//! The schema `reports`: what other programs read of messages, attempts and receipts.

use super::*;

const DAY_MS: u64 = 86_400_000;
/// 2023-11-14, the day of [`id`].
const DAY: &str = "'2023-11-14', '2023-11-14'";

fn filled() -> (Database, PgStore) {
    let database = Database::migrated();
    let store = open(&database, |_| {});
    // In this order, so that their numbers are those of `message` and `sent`.
    assert_eq!(store.intern("account:test"), Ok(1));
    for number in 2..=7 {
        let name = format!("operator:up{number}");
        assert_eq!(store.intern(&name), Ok(number));
    }
    let next_day = id(0) + (DAY_MS << 20);
    store
        .write(WriteBatch {
            accept: [id(1), id(2), next_day].into_iter().map(message).collect(),
            sent: vec![sent(id(1), "theirs")],
            fin: vec![fin(id(1), 1)],
            ..WriteBatch::default()
        })
        .wait()
        .unwrap();
    (database, store)
}

#[test]
fn messages_attempts_and_receipts_have_names_and_times() {
    let (database, store) = filled();
    let messages = format!(
        "SELECT day, sender, queue, direction, destination, state, ended_at AT TIME ZONE 'UTC', error, reported_by
         FROM reports.messages({DAY}) ORDER BY id"
    );
    assert_eq!(
        database.query(&messages),
        [
            "2023-11-14|account:test|operator:up7|MT|447700900123|DELIVERED|2023-11-14 22:13:20.011|000|account:test",
            "2023-11-14|account:test|operator:up7|MT|447700900123|ENROUTE|NULL|NULL|NULL",
        ]
    );
    let both = "SELECT count(*) FROM reports.messages('2023-11-14', '2023-11-15')";
    assert_eq!(database.query(both), ["3"]);
    let none = "SELECT count(*) FROM reports.messages(NULL, '2023-11-15')";
    assert_eq!(database.query(none), ["0"], "both days must be given");

    let attempts = format!(
        "SELECT attempt, operator, command_status, operator_message_id FROM reports.attempts({DAY})"
    );
    assert_eq!(database.query(&attempts), ["1|account:test|0|theirs"]);

    let receipts = format!("SELECT account, state, acknowledged FROM reports.receipts({DAY})");
    assert_eq!(database.query(&receipts), ["account:test|DELIVERED|f"]);
    let told = WriteBatch {
        told: vec![id(1)],
        ..WriteBatch::default()
    };
    store.write(told).wait().unwrap();
    assert_eq!(database.query(&receipts), ["account:test|DELIVERED|t"]);
}

#[test]
fn a_day_reads_its_own_partitions_by_their_indexes() {
    let (database, _store) = filled();
    database.query("SELECT make_day(19675)");
    database.query("SELECT make_day(19676)");
    let plan = database
        .query(
            "EXPLAIN SELECT * FROM reports.messages('2023-11-15', '2023-11-15')
             WHERE destination = '447700900123'",
        )
        .join("\\n");
    assert!(!plan.contains("Function Scan"), "{plan}");
    assert!(plan.contains("destination"), "{plan}");
    assert!(!plan.contains("msg_20231114"), "{plan}");
}

#[test]
fn the_role_for_reports_reads_them_and_no_texts() {
    let (database, _store) = filled();
    let as_reader = |sql: &str| {
        let sql = format!("SET ROLE smsc_reports; {sql}");
        database.try_query(&sql)
    };
    for function in ["messages", "attempts", "receipts"] {
        let rows = as_reader(&format!("SELECT count(*) FROM reports.{function}({DAY})"));
        assert!(rows.is_ok(), "{function}: {rows:?}");
    }
    for refused in [
        "SELECT body FROM msg",
        "SELECT * FROM tokens",
        "SELECT reports.grant_to('smsc_reports')",
        "DELETE FROM fin",
    ] {
        let error = as_reader(refused).expect_err(refused);
        assert!(error.contains("permission denied"), "{refused}: {error}");
    }
}

#[test]
fn the_view_of_active_messages_has_each_once_below_the_mark_and_above() {
    let (database, store) = filled();
    let active = || database.query("SELECT stage, count(*) FROM active GROUP BY 1 ORDER BY 1");
    assert_eq!(active(), ["untold|1", "waiting|2"]);
    store.advance_low_water().wait().unwrap();
    assert_eq!(active(), ["untold|1", "waiting|2"]);
    // Above the mark, which stays where it is, and late below it.
    let above = id(5) + (DAY_MS << 20);
    store.write(accept(&[above, id(3)])).wait().unwrap();
    store
        .write(WriteBatch {
            sent: vec![sent(above, "A1")],
            told: vec![id(1)],
            ..WriteBatch::default()
        })
        .wait()
        .unwrap();
    assert_eq!(active(), ["sent|1", "waiting|3"]);
    let plan = database.query("EXPLAIN SELECT * FROM active").join("\n");
    assert!(plan.contains("on carry"), "{plan}");
}
