//! A separate database for each test, and nodes on it.

use std::cell::RefCell;

use crate::harness;
use smsc::store::cluster::{ClusterStore, Membership, NodeCard, Partition};
use smsc::store::postgres::{PgOptions, PgStore, migrate};
use smsc::store::{Active, StoreError};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

/// A database; dropped with its content.
pub struct Database {
    _own: harness::Database,
    pub url: String,
}

/// A connection that runs only during a call: transactions stay open in between.
pub struct Session {
    runtime: RefCell<Runtime>,
    client: Client,
}

/// A node that has joined.
pub struct Node {
    pub store: PgStore,
    pub me: Membership,
}

// === impl Database ===

impl Database {
    pub fn new() -> Self {
        let own = harness::database();
        let url = own.url().to_owned();
        migrate(&PgOptions::new(url.clone())).expect("migrates");
        Self { _own: own, url }
    }

    pub fn session(&self) -> Session {
        Session::open(&self.url)
    }

    pub fn store(&self) -> PgStore {
        PgStore::open(PgOptions::new(self.url.clone())).expect("opens")
    }

    /// A node with a lease that outlasts every test.
    pub fn node(&self) -> Node {
        self.node_for(Duration::from_secs(3600))
    }

    pub fn node_for(&self, lease: Duration) -> Node {
        let store = self.store();
        let me = store.join(NodeCard::default(), lease, None).expect("joins");
        Node { store, me }
    }
}

// === impl Node ===

impl Node {
    /// Reads what is active in partitions, for somebody who waits for it.
    pub fn take_over(&self, partitions: Vec<Partition>) -> Result<Vec<Active>, StoreError> {
        self.store.take_over(partitions, Arc::new(|| true)).wait()
    }
}

// === impl Session ===

impl Session {
    pub fn open(url: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let client = runtime.block_on(async {
            let (client, driver) = tokio_postgres::connect(url, NoTls).await.expect("connects");
            tokio::spawn(driver);
            client
        });
        Self {
            runtime: RefCell::new(runtime),
            client,
        }
    }

    pub fn run(&self, sql: &str) {
        let done = self
            .runtime
            .borrow()
            .block_on(self.client.batch_execute(sql));
        done.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    /// The first column of the first row, as text.
    pub fn value(&self, sql: &str) -> String {
        let rows = self
            .runtime
            .borrow()
            .block_on(self.client.simple_query(sql))
            .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        rows.iter()
            .find_map(|row| match row {
                SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            })
            .unwrap_or_default()
    }

    /// Repeats the query until the answer is `true`.
    pub fn wait_until(&self, sql: &str) {
        for _ in 0..3000 {
            if self.value(&format!("SELECT {sql}")) == "t" {
                return;
            }
            self.run("SELECT pg_sleep(0.01)");
        }
        panic!("never came true: {sql}");
    }
}
