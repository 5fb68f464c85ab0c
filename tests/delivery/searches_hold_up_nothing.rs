//! Questions of administrators that hang in the database hold up neither messages nor what the nodes have to know.

use std::thread;

use serde_json::json;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls};

use crate::harness::{Peer, Scene, database, migrate, rows, submit, until};

/// Many more than have a body in memory.
const MESSAGES: usize = 40;
/// As many as `postgres.admin_readers` without configuration.
const AT_ONCE: i64 = 3;
/// More than all connections that read, in any build.
const LISTS: usize = 8;

/// A table that nobody else can read until this is dropped.
struct LockedTable {
    _client: Client,
    _runtime: Runtime,
}

// === impl LockedTable ===

impl LockedTable {
    fn new(url: &str, table: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let client = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
            tokio::spawn(connection);
            let lock = format!("BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE");
            client.batch_execute(&lock).await.unwrap();
            client
        });
        Self {
            _client: client,
            _runtime: runtime,
        }
    }
}

/// Sessions that wait for the notes.
fn hanging(url: &str) -> i64 {
    let waiting = "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
         WHERE d.datname = current_database() AND l.relation = 'notes'::regclass AND NOT l.granted";
    rows(url, waiting)[0].get(0)
}

#[test]
fn lists_that_hang_hold_up_no_message_no_token_and_no_configuration() {
    let database = database();
    let url = database.url();
    migrate(url);
    let patient = "window = 1\nresponse_timeout = \"5m\"";
    let mut scene = Scene::with(patient, |builder| {
        builder.toml(&format!(
            "[postgres]\nurl = {url:?}\nlock_timeout = \"10m\"\nstatement_timeout = \"10m\"\n[queue]\npage = 1"
        ))
    });
    for n in 0..MESSAGES {
        scene
            .esme
            .submit(submit(&format!("4477009001{n:02}"), "hello"));
    }

    // Nothing on the way of a message reads this table.
    let lock = LockedTable::new(url, "notes");
    let admin = scene.smsc.admin();
    let lists = [(); LISTS].map(|()| {
        let admin = admin.clone();
        thread::spawn(move || admin.text("/v1/notes"))
    });
    until("the lists", || (hanging(url) >= AT_ONCE).then_some(()));

    let refused = admin.request("GET", "/v1/messages?limit=10", &[], None);
    assert_eq!(refused.status, 503, "{}", refused.body);
    assert_eq!(refused.header("content-type"), "application/problem+json");
    assert_eq!(refused.header("retry-after"), "1");
    let detail = refused.body["detail"].as_str().unwrap();
    assert!(detail.contains("postgres.admin_readers"), "{detail}");

    // The operator takes one after the other, so that all but the first few are read from the database.
    for n in 0..MESSAGES {
        scene.take(&format!("theirs-{n}"));
    }
    let other = admin.with_role("read", "made-meanwhile");
    other.get("/v1/binds");
    admin.put("/v1/accounts/late", &json!({ "password": "late-1" }));
    let mut late = Peer::bind(scene.smsc.smpp(), "late", "late-1");
    late.submit(submit("447700900199", "hello"));
    scene.take("theirs-late");
    assert_eq!(hanging(url), AT_ONCE, "as before");

    drop(lock);
    let answers = lists.map(|list| list.join().unwrap());
    // On a busy machine their client may have left before.
    let statuses = answers.iter().flatten().map(|(status, _)| *status);
    assert!(statuses.clone().all(|status| [200, 503].contains(&status)));
    assert!(statuses.clone().any(|status| status == 503));
}
