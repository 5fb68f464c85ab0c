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
