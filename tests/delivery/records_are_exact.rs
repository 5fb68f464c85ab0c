//! Every message that ends has one call detail record, whatever is killed.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use crate::harness::{self, Cluster, Process, Scene, Simulator, Smsc, SmscBuilder, until, within};

const KILLS: usize = 5;
const MESSAGES: usize = 30_000;
const LIMIT: Duration = Duration::from_secs(180);

pub fn load(smsc: &Smsc, to: std::net::SocketAddr, count: usize, rate: &str) -> Process {
    let mut command = Command::new(harness::binary());
    command
        .args(["load", "--host", &to.to_string(), "--binds", "4"])
        .args(["--window", "100", "--resubmit", "on", "--rate", rate])
        .args(["--count", &count.to_string(), "--settle", "60s"])
        .arg("--journal")
        .arg(smsc.file("load.journal"));
    Process::start("smsc load", command, &smsc.file("load.log"))
}

pub fn finish(load: &mut Process) {
    within(LIMIT, || (!load.is_running()).then_some(()))
        .unwrap_or_else(|| panic!("the load has not ended after {LIMIT:?}"));
    assert!(load.wait().success(), "the load found losses");
}

/// How many records each id has.
pub fn counted(ids: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for id in ids {
        *counts.entry(id).or_default() += 1;
    }
    counts
}

/// Waits until all these ids have a record, and fails if one has several or another id has one.
pub fn assert_one_each(ended: &BTreeSet<String>, records: impl Fn() -> BTreeMap<String, usize>) {
    let all = within(LIMIT, || (records().len() >= ended.len()).then(&records));
    let records = all.unwrap_or_else(|| {
        let missing = ended.len() - records().len();
        panic!("{missing} of {} records are missing", ended.len())
    });
    let several: Vec<_> = records.iter().filter(|(_, count)| **count > 1).collect();
    assert!(
        several.is_empty(),
        "records that are there several times: {several:?}"
    );
    let there: BTreeSet<String> = records.into_keys().collect();
    assert_eq!(&there, ended);
}

fn open(smsc: &Smsc) -> Connection {
    let path = smsc.data_dir().join("smsc.db");
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
}

pub fn ids(smsc: &Smsc, table: &str) -> Vec<String> {
    let connection = open(smsc);
    let mut statement = connection
        .prepare(&format!("SELECT id FROM {table}"))
        .unwrap();
    let rows = statement.query_map([], |row| row.get::<_, i64>(0)).unwrap();
    rows.map(|id| id.unwrap().to_string()).collect()
}

/// Kills an SMSC five times under load.
fn killed(format: &str) -> Smsc {
    let operator = Simulator::new().start();
    let mut smsc = Smsc::new()
        .account_with("test", "test", "window = 500")
        .operator_with("up", operator.address(), "binds = 2\nwindow = 250")
        .route("", "up")
        .toml(&format!(
            "[cdr]\nformat = {format:?}\nrotate_mib = 1\n[usage]\nenabled = true"
        ))
        .start();
    let mut load = load(&smsc, smsc.smpp(), MESSAGES, "4000");
    for kill in 1..=KILLS {
        let before = ids(&smsc, "fin").len();
        until("messages to end", || {
            (ids(&smsc, "fin").len() > before + 3_000).then_some(())
        });
        assert!(load.is_running(), "the load ended before kill {kill}");
        smsc.kill();
        smsc.start_again();
    }
    finish(&mut load);
    smsc
}

/// All messages, once they have ended: also those whose answers the kills have cost.
pub fn ended(smsc: &Smsc) -> BTreeSet<String> {
    until("the end of all messages", || {
        (ids(smsc, "fin").len() == ids(smsc, "msg").len()).then_some(())
    });
    ids(smsc, "fin").into_iter().collect()
}

#[test]
fn records_in_files_after_five_kills_at_load() {
    let smsc = killed("jsonl");
    let in_files = || counted(smsc.records().iter().map(id_of));
    assert!(ended(&smsc).len() >= MESSAGES);
    assert_one_each(&ended(&smsc), in_files);
    assert_counted(&smsc, ended(&smsc).len() as u64);
    smsc.assert_no_panic();
}

#[test]
fn records_in_csv_files_after_five_kills_at_load() {
    let smsc = killed("csv");
    let in_files = || counted(csv(&smsc).into_iter().map(|fields| fields[0].clone()));
    assert_one_each(&ended(&smsc), in_files);
}

#[test]
fn records_in_the_table_after_five_kills_at_load() {
    let smsc = killed("table");
    assert_one_each(&ended(&smsc), || counted(ids(&smsc, "cdr").into_iter()));
}

/// Waits until usage has all these messages, and fails if it has more.
fn assert_counted(smsc: &Smsc, messages: u64) {
    let admin = smsc.admin();
    let counted = || {
        let sums = admin.get("/v1/usage?by=account");
        sums["usage"][0]["messages"].as_u64().unwrap_or(0)
    };
    until("usage of all messages", || {
        (counted() >= messages).then_some(())
    });
    assert_eq!(counted(), messages);
}

fn id_of(record: &Value) -> String {
    record["id"].as_str().unwrap().to_owned()
}

/// The fields of all records in CSV, without headers.
fn csv(smsc: &Smsc) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for file in std::fs::read_dir(smsc.data_dir().join("cdr")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|one| one == "csv") {
            let text = std::fs::read_to_string(path).unwrap();
            let lines = text.lines().skip(1);
            all.extend(lines.map(|line| line.split(',').map(str::to_owned).collect()));
        }
    }
    all
}

#[test]
fn a_record_tells_price_reference_account_and_the_end() {
    let prices = |smsc: SmscBuilder| {
        smsc.toml("[policy]\ncurrency = \"EUR\"\n[policy.prices]\ndefault = 2\n4477 = 3")
    };
    let mut scene = Scene::with("", prices);
    let id = scene.submit_as("their-1");
    scene.report("their-1", "DELIVRD");
    let record = until("the record", || {
        let records = scene.smsc.records();
        records.into_iter().find(|one| one["id"] == id.as_str())
    });
    let message = scene.message(&id);
    assert_eq!(record["price"], 3, "{record}");
    assert_eq!(record["currency"], "EUR");
    assert_eq!(record["account"], "test");
    assert_eq!(record["kind"], "MT");
    assert_eq!(record["state"], "DELIVERED");
    assert_eq!(record["operator"], "operator:up");
    assert_eq!(record["attempts"], 1);
    let millis = format!(".{:03}Z", record["final_at"].as_i64().unwrap() % 1000);
    let at = message["final"]["at"].as_str().unwrap();
    assert!(at.ends_with(&millis), "{record} {message}");
}

#[test]
fn records_of_two_nodes_when_the_one_that_writes_them_is_killed() {
    let operator = Simulator::new().start();
    let address = operator.address();
    let mut cluster = Cluster::of(2)
        .short_lease()
        .each(move |smsc| {
            smsc.account_with("test", "test", "window = 200")
                .operator_with("up", address, "binds = 2\nwindow = 50")
                .route("", "up")
                .toml("[usage]\nenabled = true")
        })
        .start();
    cluster.wait_until_held_by(0, &[0, 1], "operator:up", 2);
    let entry = cluster.entry();
    let mut load = load(&cluster.nodes[0], entry.address(), 12_000, "600");
    let writes = |cluster: &Cluster, node: usize| cluster.nodes[node].records().len();
    let mut writer = until("records", || {
        (0..2).find(|node| writes(&cluster, *node) > 500)
    });
    for _ in 0..2 {
        let other = 1 - writer;
        let before = writes(&cluster, other);
        cluster.nodes[writer].kill();
        until("records of the other node", || {
            (writes(&cluster, other) > before + 500).then_some(())
        });
        cluster.nodes[writer].start_again();
        cluster.wait_until_held_by(other, &[0, 1], "operator:up", 2);
        writer = other;
    }
    finish(&mut load);
    let active = "SELECT 1 FROM msg WHERE NOT EXISTS(SELECT 1 FROM fin WHERE fin.id = msg.id)";
    until("the end of all messages", || {
        cluster.postgres.rows(active).is_empty().then_some(())
    });
    let rows = cluster.postgres.rows("SELECT id::text FROM fin");
    let ended: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
    assert!(ended.len() >= 12_000);
    assert_one_each(&ended, || {
        let nodes = cluster.nodes.iter().flat_map(|node| node.records());
        counted(nodes.map(|record| id_of(&record)))
    });
    assert_counted(&cluster.nodes[0], ended.len() as u64);
}
