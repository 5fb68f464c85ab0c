//! Makes the frozen stores of this release: a server writes ordinary data, the test adds rows that take
//! long to come about, and `smsc migrate-store` writes the same into a database.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use serde_json::json;
use smsc::domain::partition;
use smsc::pb::QueueItem;
use smsc::pb::delivery::What;
use smsc::smpp::{SubmitSm, Tlvs, tag};
use smsc::store::access::{AccessStore as _, AuditSearch};
use smsc::store::postgres::{PgOptions, PgStore};
use smsc::store::sqlite::{SqliteOptions, SqliteStore};
use smsc::store::{Active, MessageStage, RemoteItem, Store as _, WriteBatch, hand_off_octets};

use super::frozen::{DATABASE, EMBEDDED, EXPECTED, RESOURCES, View};
use super::{rows, server};
use crate::harness::{Peer, Smsc, database, debian_tool, execute, run, submit};

/// Accounts, operators and routes of the frozen stores. Nothing listens at the operators' addresses.
const CONFIGURATION: &str = r#"[policy]
prices = { default = 1, "49" = 3 }
opt_out_keywords = ["STOP"]

[[account]]
system_id = "shop"
password = "secret"
max_binds = 64
prepaid = true
quota_per_day = 100000

[[account]]
system_id = "news"
password = "secret"
senders = ["list:brands"]

[[operator]]
id = "exact"
address = "127.0.0.1:9"
system_id = "smsc"
password = "secret"
message_id = "as_is"
long_messages = "udh"
reconnect = ["200ms"]

[[operator]]
id = "loose"
address = "127.0.0.1:10"
system_id = "smsc"
password = "secret"
reconnect = ["200ms"]

[[route]]
prefix = ""
to = ["exact"]

[[route]]
prefix = "49"
to = ["loose"]

[[list]]
name = "brands"
entries = ["ACME"]

[[limit]]
name = "calm"
rate = 1000
per = "destination"
"#;
/// Ids of a node whose clock was wrong once.
const ASIDE: &str = "INSERT INTO ids_aside VALUES(200, 4300000000000000000, 4300000000000000009)";

/// Writes the stores of this release into an empty folder.
pub fn write(folder: &Path) {
    fs::write(folder.join(RESOURCES), CONFIGURATION).unwrap();
    let mut smsc = server(CONFIGURATION).start();
    let secret = serve(&smsc);
    assert!(smsc.terminate().success());
    let store = SqliteStore::open(SqliteOptions::new(smsc.data_dir())).unwrap();
    rows::fill(&store);
    store.close();
    let data = smsc.data_dir();
    let connection = Connection::open(data.join("smsc.db")).unwrap();
    connection.execute_batch(ASIDE).unwrap();
    drop(connection);

    let embedded = folder.join(EMBEDDED);
    let (from, to) = (data.to_str().unwrap(), embedded.to_str().unwrap());
    let saved = smsc.run(&["backup", "--data-dir", from, to]);
    assert!(saved.success, "{}", saved.stderr);
    let ids = compact(&embedded);

    write_database(&smsc, folder);
    // The view of a server that starts with this store.
    let reader = server(CONFIGURATION).restored_from(&embedded).start();
    let view = View::of(&reader.admin(), &ids);
    fs::write(folder.join(EXPECTED), view.written(&secret)).unwrap();
}

/// Makes a backup as small as possible, and returns the ids of its messages.
fn compact(backup: &Path) -> Vec<String> {
    let copy = Connection::open(backup).unwrap();
    copy.execute_batch("VACUUM").unwrap();
    let mut ids = copy.prepare("SELECT id FROM msg ORDER BY id").unwrap();
    let ids = ids.query_map([], |row| row.get::<_, i64>(0)).unwrap();
    ids.map(|id| id.unwrap().to_string()).collect()
}

/// Writes data through the admin API and an account; returns the secret of a token.
fn serve(smsc: &Smsc) -> String {
    let admin = smsc.admin();
    admin.put("/v1/operators/exact/rate", &json!({ "rate": 5000 }));
    admin.put(
        "/v1/routes/vip",
        &json!({ "prefix": "4477", "account": "news", "to": [{ "exact": 70, "loose": 30 }] }),
    );
    let reader = admin.with_role("read", "reader");
    admin.with_role("operate", "ops");
    for entry in ["447700900001?account=shop", "447700900002"] {
        admin.put(&format!("/v1/opt-outs/{entry}"), &json!({}));
    }
    // Removed from the list again.
    admin.put("/v1/opt-outs/447700900003", &json!({}));
    let (status, _) = admin.call("DELETE", "/v1/opt-outs/447700900003", None);
    assert_eq!(status, 200);
    for (add, reference) in [(500, "invoice 1"), (-20, "correction")] {
        let order = json!({ "add": add, "reference": reference });
        let (status, answer) = admin.call("POST", "/v1/accounts/shop/balance", Some(&order));
        assert!([200, 201].contains(&status), "{answer}");
    }
    let mut esme = Peer::bind(smsc.smpp(), "shop", "secret");
    esme.submit(submit("447700900123", "hello"));
    esme.submit(submit("491701234567", "hello"));
    let mut tlvs = Tlvs::default();
    tlvs.push(tag::MESSAGE_PAYLOAD, "a long text ".repeat(30).as_bytes());
    esme.submit(SubmitSm {
        tlvs,
        ..submit("447700900124", "")
    });
    let cancelled = esme.submit(submit("447700900125", "cancelled"));
    let (status, answer) = admin.post(&format!("/v1/messages/{cancelled}/cancel"));
    assert_eq!(status, 200, "{answer}");
    reader.token().to_owned()
}

/// Moves the store into a database, and adds rows that only a database has or that are not moved.
fn write_database(smsc: &Smsc, folder: &Path) {
    let database = database();
    let url = format!(
        "[postgres]\nurl = {:?}\nmessage_correlations = true\n",
        database.url()
    );
    smsc.set_config(&format!("{}{url}", smsc.config()));
    for subcommand in ["migrate", "migrate-store"] {
        let moved = smsc.command(&[subcommand]);
        assert!(moved.success, "{}", moved.stderr);
    }
    let embedded = SqliteStore::open(SqliteOptions::new(smsc.data_dir())).unwrap();
    let shared = PgStore::open(PgOptions {
        standalone: true,
        ..PgOptions::new(database.url())
    })
    .unwrap();
    for token in embedded.tokens().wait().unwrap() {
        shared.add_token(token).wait().unwrap();
    }
    let all = AuditSearch {
        below: i64::MAX as u64,
        limit: 1000,
        ..AuditSearch::default()
    };
    for row in embedded.audited(all).wait().unwrap() {
        shared.audit(row).wait().unwrap();
    }
    hand_off(&shared);
    shared.close();
    execute(database.url(), ASIDE);
    fs::write(folder.join(DATABASE), dump(database.url())).unwrap();
}

/// Hand-off rows as a node writes them: of a waiting message, and of a receipt.
fn hand_off(store: &PgStore) {
    let mut found: Vec<Active> = Vec::new();
    store
        .recover(None, &mut |active| found.push(active))
        .unwrap();
    let waits = |one: &&Active| one.stage == MessageStage::Waiting && one.due_at == 0;
    let waiting = found.iter().find(waits).unwrap();
    let untold = found.iter().find_map(|one| match one.stage {
        MessageStage::Untold { tell, .. } => Some((one.id, tell)),
        _ => None,
    });
    let (untold, tell) = untold.unwrap();
    let item = |queue, part, id, what: What| RemoteItem {
        queue,
        part,
        id,
        octets: hand_off_octets(&QueueItem {
            id,
            what: what.into(),
            part: u32::from(part),
            ..QueueItem::default()
        }),
    };
    let batch = WriteBatch {
        remote_items: vec![
            item(waiting.queue, waiting.part, waiting.id, What::Message),
            item(tell, partition::WHOLE, untold, What::Receipt),
        ],
        ..WriteBatch::default()
    };
    store.write(batch).wait().unwrap();
}

/// The SQL text of a database.
fn dump(url: &str) -> String {
    let dumped = run(debian_tool("pg_dump")
        .args(["--inserts", "--no-owner", "--no-privileges", "--dbname"])
        .arg(url));
    assert!(dumped.success, "{}", dumped.stderr);
    let is_sql = |line: &&str| {
        // Commands of psql, comments, and a setting that older servers do not know.
        !["\\", "--", "SET transaction_timeout"]
            .iter()
            .any(|begin| line.starts_with(begin))
    };
    let mut lines: Vec<&str> = dumped.stdout.lines().filter(is_sql).collect();
    lines.dedup_by(|one, before| one.is_empty() && before.is_empty());
    lines.join("\n") + "\n"
}
