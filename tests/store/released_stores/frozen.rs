//! The frozen stores of a release: their files, and what the release could read in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Map, Value, json};

use super::freezing;
use crate::harness::Admin;

/// The embedded store, as `smsc backup` writes it.
pub const EMBEDDED: &str = "smsc.db";
/// The database as SQL.
pub const DATABASE: &str = "smsc.sql";
/// The accounts, operators and routes as TOML.
pub const RESOURCES: &str = "resources.toml";
/// The view of the release on both stores.
pub const EXPECTED: &str = "expected.json";
/// Kinds of resources in the view.
const RESOURCE_NAMES: [&str; 5] = [
    "accounts/shop",
    "accounts/news",
    "routes/vip",
    "lists/brands",
    "limits/calm",
];
/// Tables whose rows no request shows, with their number of rows.
const UNSEEN: [(&str, i64); 2] = [("dead", 1), ("ids_aside", 1)];

/// The stores of one release.
pub struct Frozen {
    pub release: String,
    pub resources: String,
    folder: PathBuf,
    expected: Value,
}

/// The readable data of a store, which does not change while nothing is sent.
pub struct View(Value);

/// The stores of every release; with `SMSC_RELEASE`, also those of this one, which are made now.
pub fn all() -> Vec<Frozen> {
    static MADE: OnceLock<()> = OnceLock::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store/released");
    if std::env::var_os("SMSC_RELEASE").is_some() {
        MADE.get_or_init(|| {
            let folder = root.join(env!("CARGO_PKG_VERSION"));
            // Stores of a release never change.
            let exists = folder.exists();
            assert!(!exists, "{} exists: a new version number", folder.display());
            let unfinished = tempfile::tempdir_in(&root).unwrap();
            freezing::write(unfinished.path());
            fs::rename(unfinished.keep(), folder).unwrap();
        });
    }
    let folders = fs::read_dir(&root).unwrap().map(|one| one.unwrap().path());
    let is_release = |path: &PathBuf| path.join(EXPECTED).exists();
    let mut all: Vec<Frozen> = folders.filter(is_release).map(Frozen::read).collect();
    assert!(!all.is_empty(), "no release in {}", root.display());
    all.sort_by(|one, other| one.release.cmp(&other.release));
    all
}

// === impl Frozen ===

impl Frozen {
    fn read(folder: PathBuf) -> Self {
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        Self {
            release: folder.file_name().unwrap().to_str().unwrap().to_owned(),
            resources: text(RESOURCES),
            expected: serde_json::from_str(&text(EXPECTED)).unwrap(),
            folder,
        }
    }

    /// The file of the embedded store.
    pub fn embedded(&self) -> PathBuf {
        self.folder.join(EMBEDDED)
    }

    /// The statements that create the database.
    pub fn database(&self) -> String {
        fs::read_to_string(self.folder.join(DATABASE)).unwrap()
    }

    /// The secret of the token `reader`.
    pub fn secret(&self) -> &str {
        self.expected["secret"].as_str().unwrap()
    }

    /// The messages as the release showed them.
    pub fn messages(&self) -> impl Iterator<Item = &Value> {
        self.expected["messages"].as_array().unwrap().iter()
    }

    /// Ids of messages that are not final, or whose receipt was not delivered.
    pub fn unfinished(&self) -> Vec<String> {
        self.messages()
            .filter(|one| {
                let end = &one["final"];
                let is_told = end["receipt_to"] == "" || end["receipt_acknowledged"] == true;
                end.is_null() || !(is_told || end["receipt_given_up"] == true)
            })
            .map(|one| one["id"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Fails unless everything can be read as the release showed it. Additional data is new.
    pub fn compare(&self, admin: &Admin) {
        let ids = self.messages().map(|one| one["id"].as_str().unwrap());
        let ids: Vec<String> = ids.map(str::to_owned).collect();
        let now = View::of(admin, &ids).0;
        for (what, expected) in self.expected.as_object().unwrap() {
            match what.as_str() {
                "secret" => {}
                // Later orders have added entries.
                "audit" => {
                    let entries = now["audit"].as_array().unwrap();
                    for entry in expected.as_array().unwrap() {
                        let same = entries.iter().find(|one| one["id"] == entry["id"]);
                        self.same("audit", entry, same.unwrap_or(&Value::Null));
                    }
                }
                _ => self.same(what, expected, &now[what]),
            }
        }
    }

    fn same(&self, place: &str, expected: &Value, now: &Value) {
        match (expected, now) {
            (Value::Object(expected), Value::Object(now)) => {
                for (key, expected) in expected {
                    let now = now.get(key).unwrap_or(&Value::Null);
                    self.same(&format!("{place}.{key}"), expected, now);
                }
            }
            (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
                for (at, (expected, now)) in before.iter().zip(after).enumerate() {
                    self.same(&format!("{place}[{at}]"), expected, now);
                }
            }
            _ => assert_eq!(expected, now, "{place}, written by {}", self.release),
        }
    }

    /// Fails unless the rows that no request shows are there.
    pub fn assert_unseen(&self, count: impl Fn(&str) -> i64) {
        for (table, rows) in UNSEEN {
            assert_eq!(count(table), rows, "{table}, written by {}", self.release);
        }
    }
}

// === impl View ===

impl View {
    /// Reads all data.
    pub fn of(admin: &Admin, ids: &[String]) -> Self {
        let audit = admin.get("/v1/audit?limit=1000")["entries"].take();
        let mut versions = admin.get("/v1/config/versions")["versions"].take();
        for one in versions.as_array_mut().unwrap() {
            *one = admin.get(&format!("/v1/config/versions/{}", one["version"]));
        }
        let balance = admin.get("/v1/accounts/shop/balance");
        let resource = |name: &str| {
            let mut read = admin.get(&format!("/v1/{name}"));
            // Without the settings, which include today's defaults.
            Value::from_iter(["name", "version"].map(|key| (key, read[key].take())))
        };
        let read = json!({
            "versions": versions,
            "resources": RESOURCE_NAMES.map(resource),
            "tokens": without(admin.get("/v1/tokens")["tokens"].take(), "used_at"),
            "audit": audit,
            "opt_outs": admin.get("/v1/opt-outs")["opt_outs"],
            "balance": { "prepaid": balance["prepaid"], "credits": balance["credits"] },
            "top_ups": admin.get("/v1/accounts/shop/balance/top-ups")["top_ups"],
            "unmatched": admin.get("/v1/receipts/unmatched?text=true")["receipts"],
            "failed": admin.get("/v1/dead-letters"),
            "messages": ids.iter().map(|id| message(admin, id)).collect::<Vec<_>>(),
        });
        Self(read)
    }

    /// As a file with one line per item.
    pub fn written(self, secret: &str) -> String {
        let Value::Object(mut all) = self.0 else {
            unreachable!("an object is made above")
        };
        all.insert("secret".to_owned(), secret.into());
        let lines = all.iter().map(|(key, value)| match value {
            Value::Array(list) => {
                let list: Vec<String> = list.iter().map(Value::to_string).collect();
                format!("{}: [\n{}\n]", json!(key), list.join(",\n"))
            }
            value => format!("{}: {value}", json!(key)),
        });
        format!("{{\n{}\n}}\n", lines.collect::<Vec<_>>().join(",\n"))
    }
}

/// A message with its text. For a message that waits to be sent, the due time is left out, because the
/// queue changes it.
fn message(admin: &Admin, id: &str) -> Value {
    let mut read = admin.get(&format!("/v1/messages/{id}?text=true"));
    if read["stage"] == "waiting" {
        read.as_object_mut().unwrap().remove("due_at");
    }
    read
}

fn without(mut list: Value, key: &str) -> Value {
    let each = list.as_array_mut().unwrap().iter_mut();
    each.for_each(|one| {
        drop(
            one.as_object_mut()
                .map(|one: &mut Map<_, _>| one.remove(key)),
        )
    });
    list
}
