//! `smpp.message_correlations`, the table for other programs.

use super::*;

#[test]
fn the_table_for_other_programs_is_as_they_know_it() {
    let database = Database::migrated();
    let columns = database.query(
        "SELECT column_name, udt_name, character_maximum_length, is_nullable, column_default
         FROM information_schema.columns
         WHERE table_schema = 'smpp' AND table_name = 'message_correlations' ORDER BY ordinal_position",
    );
    assert_eq!(
        columns,
        [
            "id|uuid|NULL|NO|gen_random_uuid()",
            "message_id|uuid|NULL|NO|NULL",
            "operator_message_id|varchar|64|NO|NULL",
            "operator_id|uuid|NULL|NO|NULL",
            "destination|varchar|20|NO|NULL",
            "submitted_at|timestamptz|NULL|NO|now()",
            "expires_at|timestamptz|NULL|NO|NULL",
            "dlr_received_at|timestamptz|NULL|YES|NULL",
            "status|varchar|20|NO|'SUBMITTED'::character varying",
        ]
    );
    let on = "smpp.message_correlations USING btree";
    let indexes = database
        .query("SELECT indexdef FROM pg_indexes WHERE schemaname = 'smpp' ORDER BY indexname");
    assert_eq!(
        indexes,
        [
            format!(
                "CREATE INDEX idx_mc_expires_at ON {on} (expires_at) \
                 WHERE ((status)::text = 'SUBMITTED'::text)"
            ),
            format!("CREATE INDEX idx_mc_message_id ON {on} (message_id)"),
            format!("CREATE INDEX idx_mc_operator_msg ON {on} (operator_id, operator_message_id)"),
            format!("CREATE UNIQUE INDEX message_correlations_pkey ON {on} (id)"),
            format!(
                "CREATE UNIQUE INDEX uq_operator_msg ON {on} (operator_id, operator_message_id)"
            ),
        ]
    );
}

#[test]
fn the_table_for_other_programs_follows_the_messages() {
    let database = Database::migrated();
    let store = open(&database, |options| options.message_correlations = true);
    store.intern("operator:up").unwrap();
    store.write(accept(&[id(1), id(2), id(3)])).wait().unwrap();
    let rows = |rows| WriteBatch {
        sent: rows,
        ..WriteBatch::default()
    };
    let long = "x".repeat(65);
    store
        .write(rows(vec![sent(id(1), "same"), sent(id(3), &long)]))
        .wait()
        .unwrap();
    store.write(rows(vec![sent(id(2), "same")])).wait().unwrap();
    let status = "SELECT left(message_id::text, 13), operator_message_id, destination, status,
        dlr_received_at IS NOT NULL FROM smpp.message_correlations";
    let uuid = |id: u64| format!("{:08x}-{:04x}", id >> 32, id >> 16 & 0xFFFF);
    let line = |id, status| format!("{}|same|447700900123|{status}", uuid(id));
    assert_eq!(
        database.query(status),
        [line(id(1), "SUBMITTED|f")],
        "id 1 still waits for it"
    );
    let counts = store.stats().correlations.unwrap();
    assert_eq!(
        (counts.taken_over, counts.in_use, counts.too_long),
        (0, 1, 1)
    );
    store
        .write(WriteBatch {
            fin: vec![fin(id(1), 0)],
            ..WriteBatch::default()
        })
        .wait()
        .unwrap();
    assert_eq!(database.query(status), [line(id(1), "DLR_RECEIVED|t")]);
    let again = SentRow {
        attempt: 2,
        ..sent(id(2), "same")
    };
    store.write(rows(vec![again])).wait().unwrap();
    assert_eq!(database.query(status), [line(id(2), "SUBMITTED|f")]);
    assert_eq!(store.stats().correlations.unwrap().taken_over, 1);
    // Its 72 hours after 2023 have passed.
    assert_eq!(store.sweep_correlations(0).wait(), Ok(1));
    assert_eq!(database.query(status), [line(id(2), "EXPIRED|f")]);
    // It ended when its time was over, and is retained from then on.
    let ended = (id(2) >> 20) as i64 + 72 * 3_600_000;
    assert_eq!(store.sweep_correlations(ended - 1_000).wait(), Ok(0));
    assert_eq!(store.sweep_correlations(ended + 1_000).wait(), Ok(1));
    assert!(database.query(status).is_empty());
    let counts = store.stats().correlations.unwrap();
    assert_eq!((counts.expired, counts.deleted), (1, 1));
}

/// A UUID such as platforms draw by chance, whose first digits are those of an old message of ours.
fn of_the_platform(n: u64) -> String {
    format!("0{n:07x}-3f4b-4a57-9d5e-0c1d2e3f4a5b")
}

/// Puts rows of the platform there, which ended or waited 60 days ago.
fn history_of_the_platform(database: &Database, rows: u64) {
    for n in 0..rows {
        let (id, status) = (
            of_the_platform(n),
            ["SUBMITTED", "DLR_RECEIVED"][n as usize % 2],
        );
        database.query(&format!(
            "INSERT INTO smpp.message_correlations(message_id, operator_message_id, operator_id,
               destination, submitted_at, expires_at, dlr_received_at, status)
             VALUES('{id}', 'theirs-{n}', gen_random_uuid(), '447700900123', now() - interval '60 days',
               now() - interval '57 days',
               CASE WHEN '{status}' = 'SUBMITTED' THEN NULL ELSE now() - interval '60 days' END,
               '{status}')"
        ));
    }
}

#[test]
fn of_the_platforms_own_rows_none_is_deleted() {
    let database = Database::migrated();
    history_of_the_platform(&database, 40);
    let store = open(&database, |options| options.message_correlations = true);
    let now = smsc::clock::now_ms();
    assert_eq!(store.sweep_correlations(now).wait(), Ok(20));
    assert_eq!(
        database
            .query("SELECT status, count(*) FROM smpp.message_correlations GROUP BY 1 ORDER BY 1"),
        ["DLR_RECEIVED|20", "EXPIRED|20"]
    );
    // Nor does a reused id take one over.
    store.intern("operator:up").unwrap();
    database.query(&format!(
        "UPDATE smpp.message_correlations SET operator_message_id = 'same', operator_id = '{}'
         WHERE message_id = '{}'",
        uuid::Uuid::new_v5(
            &uuid::Uuid::from_u128(0x5d0c_6e0a_8f0e_4f5e_9a55_736d_7363_0001),
            b"up"
        ),
        of_the_platform(1)
    ));
    store.write(accept(&[id(1)])).wait().unwrap();
    store
        .write(of_attempts(vec![sent(id(1), "same")]))
        .wait()
        .unwrap();
    let row = "SELECT message_id, status FROM smpp.message_correlations
        WHERE operator_message_id = 'same'";
    assert_eq!(
        database.query(row),
        [format!("{}|DLR_RECEIVED", of_the_platform(1))]
    );
    assert_eq!(store.stats().correlations.unwrap().in_use, 1);
}

fn of_attempts(rows: Vec<SentRow>) -> WriteBatch {
    WriteBatch {
        sent: rows,
        ..WriteBatch::default()
    }
}

fn of_ends(rows: Vec<FinRow>) -> WriteBatch {
    WriteBatch {
        fin: rows,
        ..WriteBatch::default()
    }
}

#[test]
fn a_row_is_named_as_the_platform_names_the_message() {
    let database = Database::migrated();
    let store = open(&database, |options| options.message_correlations = true);
    store.intern("operator:up").unwrap();
    store.write(accept(&[id(1), id(2)])).wait().unwrap();
    let platform = uuid::Uuid::from_u128(0x6f1e_7a3c_3f4b_4a57_9d5e_0c1d_2e3f_4a5b);
    let named = |n, theirs| SentRow {
        known_as: Some(platform),
        ..sent(id(n), theirs)
    };
    let parts = vec![named(1, "one"), named(2, "two")];
    store.write(of_attempts(parts)).wait().unwrap();
    let rows = "SELECT operator_message_id, status FROM smpp.message_correlations
        WHERE message_id = '6f1e7a3c-3f4b-4a57-9d5e-0c1d2e3f4a5b' ORDER BY 1";
    assert_eq!(database.query(rows), ["one|SUBMITTED", "two|SUBMITTED"]);
    // A receipt is for one part only.
    store.write(of_ends(vec![fin(id(2), 0)])).wait().unwrap();
    assert_eq!(database.query(rows), ["one|SUBMITTED", "two|DLR_RECEIVED"]);
    // They go with our retention, whatever they are named.
    let now = smsc::clock::now_ms();
    assert_eq!(store.sweep_correlations(now).wait(), Ok(3));
    assert!(database.query(rows).is_empty());
    assert!(database.query("SELECT msg FROM correlation_row").is_empty());
}

#[test]
fn rows_of_the_release_before_are_ours_as_well() {
    let database = Database::migrated();
    let store = open(&database, |options| options.message_correlations = true);
    store.intern("operator:up").unwrap();
    store.write(accept(&[id(1), id(2)])).wait().unwrap();
    let rows = vec![sent(id(1), "one"), sent(id(2), "two")];
    store.write(of_attempts(rows)).wait().unwrap();
    // That release writes none of these.
    database.query("DELETE FROM correlation_row");
    store.write(of_ends(vec![fin(id(1), 0)])).wait().unwrap();
    let status = "SELECT operator_message_id, status FROM smpp.message_correlations ORDER BY 1";
    assert_eq!(
        database.query(status),
        ["one|DLR_RECEIVED", "two|SUBMITTED"]
    );
    let now = smsc::clock::now_ms();
    assert_eq!(store.sweep_correlations(now).wait(), Ok(3));
    assert!(database.query(status).is_empty());
}

#[test]
fn what_others_delete_is_forgotten() {
    let database = Database::migrated();
    let store = open(&database, |options| options.message_correlations = true);
    store.intern("operator:up").unwrap();
    store.write(accept(&[id(1)])).wait().unwrap();
    store
        .write(of_attempts(vec![sent(id(1), "one")]))
        .wait()
        .unwrap();
    database.query("DELETE FROM smpp.message_correlations");
    let now = smsc::clock::now_ms();
    assert_eq!(store.sweep_correlations(now).wait(), Ok(0));
    assert!(database.query("SELECT msg FROM correlation_row").is_empty());
}
