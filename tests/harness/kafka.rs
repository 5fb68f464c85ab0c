//! A cluster of Kafka for a test: librdkafka's mock of brokers, and what a consumer of confluent-kafka reads there
//! (tests/clients/kafka_cluster.py); or a broker called tansu, and what a consumer of aiokafka reads there
//! (tests/clients/kafka_broker.py).
//!
//! What the mock has acknowledged is there again after its brokers were away. A tansu that comes back is empty.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use serde::Deserialize;
use serde_json::Value;

use super::{Client, python_script};

/// A record of a topic, as the consumer has read it.
#[derive(Debug, Clone, Deserialize)]
pub struct KafkaRecord {
    pub topic: String,
    pub partition: i32,
    /// The partition that librdkafka would choose for its key.
    pub chosen: i32,
    pub offset: u64,
    pub key: String,
    pub headers: BTreeMap<String, String>,
    /// In base64; see [`Self::body`].
    value: String,
}

/// Three brokers of the mock, or a tansu; they stop when this is dropped.
pub struct KafkaCluster {
    client: Client,
    servers: Vec<String>,
}

// === impl KafkaRecord ===

impl KafkaRecord {
    pub fn body(&self) -> Vec<u8> {
        let engine = base64::engine::general_purpose::STANDARD;
        engine.decode(&self.value).unwrap()
    }

    /// The body as JSON.
    pub fn event(&self) -> Value {
        serde_json::from_slice(&self.body()).unwrap()
    }

    pub fn id(&self) -> &str {
        &self.headers["event-id"]
    }
}

// === impl KafkaCluster ===

impl KafkaCluster {
    /// Topics with so many partitions each.
    pub fn start(partitions: u32, topics: &[&str]) -> Self {
        Self::with(&["--partitions", &partitions.to_string()], topics)
    }

    /// The first requests to produce are answered with these error codes.
    pub fn failing(errors: &[i16], topics: &[&str]) -> Self {
        let options: Vec<String> = errors
            .iter()
            .map(|code| format!("--error={code}"))
            .collect();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        Self::with(&options, topics)
    }

    /// Brokers that want TLS, with the files `certificate.pem`, `key.pem` and `authority.pem` of this folder, a
    /// certificate of that authority, and a login as `smsc` with the password `pencil`.
    pub fn behind_doors(folder: &Path, topics: &[&str]) -> Self {
        Self::with(&["--door", folder.to_str().unwrap()], topics)
    }

    /// A tansu, which is empty when it was away. Topics have so many partitions each.
    pub fn tansu(partitions: u32, topics: &[&str]) -> Self {
        let partitions = ["--partitions", &partitions.to_string()];
        Self::served_by("kafka_broker.py", &partitions, topics)
    }

    fn with(options: &[&str], topics: &[&str]) -> Self {
        Self::served_by("kafka_cluster.py", options, topics)
    }

    fn served_by(script: &'static str, options: &[&str], topics: &[&str]) -> Self {
        let arguments = [options, topics].concat();
        let mut client = Client::start(script, python_script(script, &arguments));
        let ready = client.wait_for("ready", |_| true);
        let servers = ready["servers"].as_str().unwrap().split(',');
        Self {
            servers: servers.map(str::to_owned).collect(),
            client,
        }
    }

    /// How often somebody has logged in by this mechanism; the consumer does so by SCRAM-SHA-256.
    pub fn logins(&self, mechanism: &str) -> usize {
        let all = self.client.events().into_iter();
        all.filter(|event| event["mechanism"] == mechanism).count()
    }

    /// Its brokers, as a list in TOML and JSON.
    pub fn servers(&self) -> String {
        serde_json::to_string(&self.servers).unwrap()
    }

    /// No broker answers any more.
    pub fn take_away(&mut self) {
        self.client.process().signal("USR1");
        self.client.wait_for("set_down", |_| true);
    }

    /// All brokers are back.
    pub fn bring_back(&mut self) {
        self.client.process().signal("USR2");
        self.client.wait_for("set_up", |_| true);
    }

    /// What was read so far: each partition in its order.
    pub fn records(&self) -> Vec<KafkaRecord> {
        let all = self.client.events().into_iter();
        let records = all.filter(|event| event["event"] == "record");
        records
            .map(|event| serde_json::from_value(event).unwrap())
            .collect()
    }
}
