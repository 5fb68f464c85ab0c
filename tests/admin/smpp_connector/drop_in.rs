//! A container of smpp-connector that runs this program instead: its variables, its database, its table.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::{OPERATOR, address, bind_of};
use crate::harness::{
    self, Admin, Database, FakeOperator, Management, Peer, Process, database, redis_database,
    send_receipt, submit, taken, until, within,
};

const ADMIN: &str = "secret-token";
const LIMIT: Duration = Duration::from_secs(120);

/// The table as that service has made it, with two messages that wait and one that does not any more.
const THEIR_TABLE: &str = "
CREATE SCHEMA smpp;
CREATE TABLE smpp.message_correlations(
  id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
  message_id UUID NOT NULL,
  operator_message_id VARCHAR(64) NOT NULL,
  operator_id UUID NOT NULL,
  destination VARCHAR(20) NOT NULL,
  submitted_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  expires_at TIMESTAMPTZ NOT NULL,
  dlr_received_at TIMESTAMPTZ,
  status VARCHAR(20) NOT NULL DEFAULT 'SUBMITTED',
  CONSTRAINT uq_operator_msg UNIQUE (operator_id, operator_message_id)
);
INSERT INTO smpp.message_correlations(message_id, operator_message_id, operator_id, destination, expires_at)
VALUES (gen_random_uuid(), 'waits', '550e8400-e29b-41d4-a716-446655440001', '447700900001', now() + interval '1 day'),
       (gen_random_uuid(), 'is over', '550e8400-e29b-41d4-a716-446655440001', '447700900002', now() - interval '1 day')";

pub(super) struct DropIn {
    pub(super) process: Process,
    folder: tempfile::TempDir,
    smpp: std::net::SocketAddr,
    admin: Admin,
    face: Admin,
}

/// Starts it with the variables of smpp-connector; of ours only addresses that no other test has, and a sweep that can
/// be waited for.
pub(super) fn start(variables: &[(&str, &str)]) -> DropIn {
    let folder = tempfile::tempdir().unwrap();
    let (smpp, http, face) = (address(), address(), address());
    let mut command = Command::new(harness::binary());
    command
        .args(["serve", &format!("--smpp-connector={face}")])
        .current_dir(folder.path())
        .env("SMSC_SMPP__LISTEN", smpp.to_string())
        .env("SMSC_HTTP__LISTEN", http.to_string())
        .env("SMSC_HTTP__ADMIN_TOKEN", ADMIN)
        .env("SMSC_STORE__MIN_FREE_MIB", "1")
        .env("SMSC_CORRELATION__SWEEP", "1s")
        .envs(variables.iter().copied());
    let process = Process::start("smsc serve", command, &folder.path().join("smsc.log"));
    DropIn {
        process,
        folder,
        smpp,
        admin: Admin::new(http, ADMIN),
        face: Admin::new(face, ""),
    }
}

fn rows(database: &Database, sql: &str) -> Vec<String> {
    let found = harness::rows(database.url(), sql);
    found.iter().map(|row| row.get(0)).collect()
}

#[test]
fn the_variables_of_smpp_connector_are_enough() {
    let operator = FakeOperator::listen();
    let management = Management::start();
    management.set(OPERATOR, operator.address(), "s3cr3t");
    let (database, redis) = (database(), redis_database());
    harness::execute(database.url(), THEIR_TABLE);
    let (url, redis_url) = (management.url(), redis.url());
    let smsc = start(&[
        ("OPERATOR_IDS", OPERATOR),
        ("DATABASE_URL", database.url()),
        ("REDIS_URL", &redis_url),
        ("OPERATOR_MGMT_URL", &url),
        ("LOG_LEVEL", "debug"),
    ]);
    let (mut bind, password) = bind_of(&operator);
    assert_eq!(password, "s3cr3t");
    until("a ready node", || {
        (smsc.face.text("/ready").ok()?.0 == 200).then_some(())
    });
    let (_, ready) = smsc.face.text("/ready").unwrap();
    let ready: Value = serde_json::from_str(&ready).unwrap();
    assert_eq!(
        ready["checks"],
        json!({"smpp": "ok", "redis": "ok", "node": "ok"})
    );

    // Its rows are there, and are swept as that service does.
    let status =
        "SELECT operator_message_id || ' ' || status FROM smpp.message_correlations ORDER BY 1";
    let swept = within(LIMIT, || {
        bind.acknowledge_all();
        let rows = rows(&database, status);
        rows.contains(&"is over EXPIRED".to_owned()).then_some(rows)
    });
    assert_eq!(swept.unwrap(), ["is over EXPIRED", "waits SUBMITTED"]);

    // Messages get rows under the operator's id, which end with the receipt.
    let account = json!({"password": "test"});
    smsc.admin.put("/v1/accounts/test", &account);
    smsc.admin.put("/v1/routes/all", &json!({"to": [OPERATOR]}));
    let mut esme = Peer::bind(smsc.smpp, "test", "test");
    esme.submit(submit("447700900123", "hello"));
    taken(&mut bind, "ours");
    let ours = format!(
        "SELECT status || ' ' || destination FROM smpp.message_correlations
        WHERE operator_message_id = 'ours' AND operator_id = '{OPERATOR}'"
    );
    let first = until("a row of the message", || {
        rows(&database, &ours).first().cloned()
    });
    assert_eq!(first, "SUBMITTED 447700900123");
    let receipt = smsc::smpp::SubmitSm {
        esm_class: 0x04,
        short_message: "id:ours stat:DELIVRD err:000".into(),
        ..submit("12345", "")
    };
    assert!(send_receipt(&mut bind, receipt).is_ok());
    until("the receipt in the row", || {
        let row = rows(&database, &ours);
        (row == ["DLR_RECEIVED 447700900123"]).then_some(())
    });
    let (_, metrics) = smsc.face.text("/metrics").unwrap();
    for line in [
        format!(
            "smpp_connector_submit_sm_total{{operator_id=\"{OPERATOR}\",status=\"success\"}} 1"
        ),
        format!(
            "smpp_connector_dlr_received_total{{operator_id=\"{OPERATOR}\",status=\"DELIVERED\"}} 1"
        ),
    ] {
        assert!(
            metrics.lines().any(|one| one == line),
            "{line} in {metrics}"
        );
    }
    let log = smsc.process.log();
    let all_json = log
        .lines()
        .all(|line| serde_json::from_str::<Value>(line).is_ok());
    assert!(all_json, "log lines are JSON, as there: {log}");
    assert!(!log.contains("s3cr3t"), "{log}");
    let kept = "SELECT count(*)::text FROM operators WHERE body::text LIKE '%s3cr3t%'";
    assert_eq!(rows(&database, kept), ["0"]);
}

#[test]
fn a_foreign_schema_of_another_kind_is_refused_and_left_alone() {
    let database = database();
    harness::execute(
        database.url(),
        "CREATE SCHEMA smpp; CREATE TABLE smpp.other(id int)",
    );
    let mut smsc = start(&[("DATABASE_URL", database.url())]);
    let status = smsc.process.wait();
    assert!(!status.success());
    let log = smsc.process.log();
    assert!(log.contains("is not that of smpp-connector"), "{log}");
    let there = "SELECT count(*)::text FROM smpp.other";
    assert_eq!(rows(&database, there), ["0"]);
}

#[test]
fn without_a_database_the_embedded_store_is_used_and_there_is_no_table() {
    let operator = FakeOperator::listen();
    let management = Management::start();
    management.set(OPERATOR, operator.address(), "s3cr3t");
    let url = management.url();
    let smsc = start(&[("OPERATOR_IDS", OPERATOR), ("OPERATOR_MGMT_URL", &url)]);
    let (_bind, _) = bind_of(&operator);
    until("a ready node", || {
        (smsc.face.text("/ready").ok()?.0 == 200).then_some(())
    });
    assert!(smsc.folder.path().join("smsc-data/smsc.db").exists());
}

#[test]
fn operators_without_a_management_service_are_an_error() {
    let mut smsc = start(&[("OPERATOR_IDS", OPERATOR)]);
    assert!(!smsc.process.wait().success());
    let log = smsc.process.log();
    assert!(log.contains("OPERATOR_MGMT_URL"), "{log}");
}
