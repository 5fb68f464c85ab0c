//! Every later release must understand what a release has stored: the real binary opens the small
//! stores in `released`, one folder per release, reads them, and brings all their messages to an end.
//!
//! `SMSC_RELEASE=1 cargo test --test store released_stores` adds the stores of this release.

mod freezing;
mod frozen;
mod rows;
mod taker;

use std::path::Path;

use crate::harness::{Admin, Peer, Smsc, SmscBuilder, database, execute, migrate, until};
use frozen::Frozen;
use serde_json::{Value, json};
use smsc::store::moving::TABLES;
use smsc::store::sqlite::salvage;
use taker::Taker;

/// Addresses of the frozen operators; nothing listens there.
const NOWHERE: [(&str, &str); 2] = [("exact", "127.0.0.1:9"), ("loose", "127.0.0.1:10")];

/// A server that retains everything, however old the frozen stores are.
fn server(resources: &str) -> SmscBuilder {
    Smsc::new()
        .env("SMSC_STORE__RETENTION", "36500d")
        .http("audit_retention = \"36500d\"")
        .toml("[validity]\ndefault = \"27000d\"\nmax = \"27000d\"\nreceipts = \"0s\"")
        .toml("[retry]\ndelays = [\"200ms\"]")
        .toml("[correlation]\nttl = \"36500d\"")
        .toml(resources)
}

#[test]
fn the_embedded_store_of_every_release_is_opened_and_finished() {
    for frozen in frozen::all() {
        let mut smsc = server(&frozen.resources)
            .restored_from(&frozen.embedded())
            .start();
        finish(&smsc, &frozen);
        assert!(smsc.terminate().success());
        let said = smsc.fsck();
        let left = rusqlite::Connection::open(smsc.data_dir().join("smsc.db")).unwrap();
        let count = |table: &str| -> i64 {
            let sql = format!("SELECT count(*) FROM {table}");
            left.query_row(&sql, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(count("active"), 0, "{said}");
        frozen.assert_unseen(count);
        smsc.assert_no_panic();
    }
}

#[test]
fn the_embedded_store_of_every_release_is_salvaged_whole() {
    for frozen in frozen::all() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("new");
        let report = salvage(&frozen.embedded(), &new, false).unwrap();
        assert!(report.is_whole(), "{report:?}");
        let count = |store: &Path, table: &str| -> i64 {
            let store = rusqlite::Connection::open(store).unwrap();
            let count = format!("SELECT count(*) FROM {table}");
            store.query_row(&count, [], |row| row.get(0)).unwrap()
        };
        let old = folder.path().join("old.db");
        std::fs::copy(frozen.embedded(), &old).unwrap();
        for table in TABLES {
            let table = if table == "sent" { "attempts" } else { table };
            // Derived anew.
            if table == "carry" {
                continue;
            }
            let has = "SELECT EXISTS(SELECT 1 FROM sqlite_schema WHERE name = ?1)";
            let has: bool = rusqlite::Connection::open(&old)
                .unwrap()
                .query_row(has, [table], |row| row.get(0))
                .unwrap();
            if has {
                let new = count(&new.join("smsc.db"), table);
                assert_eq!(new, count(&old, table), "{table}");
            }
        }
    }
}

#[test]
fn the_database_of_every_release_is_migrated_and_finished() {
    for frozen in frozen::all() {
        let database = database();
        execute(database.url(), &frozen.database());
        let url = format!("[postgres]\nurl = {:?}", database.url());
        migrate(database.url());
        let mut smsc = server(&frozen.resources).toml(&url).start();
        finish(&smsc, &frozen);
        assert!(smsc.terminate().success());
        let count = |table: &str| -> i64 {
            let sql = format!("SELECT count(*) FROM {table}");
            crate::harness::rows(database.url(), &sql)[0].get(0)
        };
        for table in ["active", "inbox"] {
            assert_eq!(count(table), 0, "{table}");
        }
        frozen.assert_unseen(count);
        smsc.assert_no_panic();
    }
}

#[test]
fn every_release_has_frozen_stores() {
    let releases: Vec<String> = frozen::all().into_iter().map(|one| one.release).collect();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for entry in root.join("proto/released").read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let release = name.strip_prefix("smsc-").unwrap().to_owned();
        // The first release was made before stores were frozen.
        let is_frozen = release == "0.1.0" || releases.contains(&release);
        assert!(
            is_frozen,
            "{release}: SMSC_RELEASE=1 cargo test --test store released_stores"
        );
    }
}

/// Compares the data with what the release could read, and brings every message to its end.
fn finish(smsc: &Smsc, frozen: &Frozen) {
    let admin = smsc.admin();
    frozen.compare(&admin);
    // Tokens are still valid.
    let reader = admin.bearer(frozen.secret());
    assert_eq!(reader.get("/v1/self")["name"], "reader");

    let unfinished = frozen.unfinished();
    let at = |stage: &str| -> Vec<&Value> {
        let all = frozen.messages().filter(|one| one["stage"] == stage);
        all.collect()
    };
    let mut sent = at("handed over");
    let scheduled = at("scheduled");
    assert!(sent.len() > 3 && scheduled.len() > 1 && at("waiting").len() > 10);
    // An early receipt belongs to one of them.
    let early = admin.get("/v1/receipts/unmatched")["receipts"][0]["id"].clone();
    let matched = sent.swap_remove(0)["id"].clone();
    let path = format!("/v1/receipts/unmatched/{}/match", text(&early));
    let order = json!({ "message": matched });
    let (status, answer) = admin.call("POST", &path, Some(&order));
    assert_eq!(status, 200, "{answer}");
    for message in &scheduled {
        let path = format!("/v1/messages/{}/retry", text(&message["id"]));
        let (status, answer) = admin.post(&path);
        assert!([200, 202].contains(&status), "{answer}");
    }

    let mut config = smsc.config();
    let takers = NOWHERE.map(|(id, address)| {
        let queue = format!("operator:{id}");
        let theirs = sent.iter().filter(|one| one["queue"] == queue.as_str());
        let theirs = theirs.map(|one| accepted_as(one).to_owned()).collect();
        let taker = Taker::start(id, theirs);
        let address = format!("{address:?}");
        assert!(config.contains(&address), "the address of {id}");
        config = config.replace(&address, &format!("{:?}", taker.address().to_string()));
        taker
    });
    smsc.set_config(&config);
    smsc.apply();
    let mut esme = Peer::bind(smsc.smpp(), "shop", "secret").lenient();
    let mut left = unfinished;
    assert!(left.len() > 30, "{}", left.len());
    until("the end of every message", || {
        esme.acknowledge_all();
        left.retain(|id| !is_finished(&admin, id));
        left.is_empty().then_some(())
    });
    drop(takers);
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// The id that the operator has given it.
fn accepted_as(message: &Value) -> &str {
    let attempts = message["history"].as_array().unwrap();
    let taken = attempts.iter().find(|one| one["status"] == "ESME_ROK");
    text(&taken.expect("an accepted attempt")["operator_message_id"])
}

/// Whether it is final and its receipt was delivered.
fn is_finished(admin: &Admin, id: &str) -> bool {
    let message = admin.get(&format!("/v1/messages/{id}"));
    let end = &message["final"];
    end.is_object()
        && (end["receipt_to"] == ""
            || end["receipt_acknowledged"] == true
            || end["receipt_given_up"] == true)
}
