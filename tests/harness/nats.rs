//! A NATS server with JetStream for a test, and what its stream holds.
//!
//! The stream is on disk: what it has acknowledged is there again after a kill.

use std::path::Path;

use async_nats::jetstream;
use async_nats::jetstream::stream::{Config, Stream};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::keeper::Keeper;
use super::nats_login::Login;
use super::{Process, debian_tool, free_port, until};

const STREAM: &str = "EVENTS";

/// A message of the stream.
#[derive(Debug, Clone)]
pub struct Published {
    pub subject: String,
    pub id: String,
    pub body: Vec<u8>,
}

/// A separate server; stops when dropped.
pub struct PrivateNats {
    process: Option<Process>,
    port: u16,
    subjects: Vec<String>,
    login: Login,
    runtime: Runtime,
    keeper: Keeper,
}

// === impl PrivateNats ===

impl PrivateNats {
    /// A server with a stream that takes in `subject`.
    pub fn start(subject: &str) -> Self {
        Self::of(&[subject], Login::Nobody)
    }

    /// A server with a stream that takes in all these subjects, and a login that it requires.
    pub fn of(subjects: &[&str], login: Login) -> Self {
        let mut server = Self {
            process: None,
            port: free_port(),
            subjects: subjects.iter().map(|one| (*one).to_owned()).collect(),
            login,
            runtime: Runtime::new().unwrap(),
            keeper: Keeper::new("TERM"),
        };
        server.restart();
        server
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// SIGKILL.
    pub fn kill9(&mut self) {
        // Dropping a process kills it.
        self.process = None;
        self.keeper.forget();
    }

    /// Starts it on the same port and folder, and waits until its stream is there.
    pub fn restart(&mut self) {
        assert!(self.process.is_none(), "NATS runs already");
        let folder: &Path = self.keeper.folder();
        let mut command = debian_tool("nats-server");
        command
            .args(["--addr", "127.0.0.1", "--jetstream"])
            .args(["--port", &self.port.to_string()])
            .arg("--store_dir")
            .arg(folder)
            .args(self.login.arguments(folder));
        let mut process = Process::start("nats-server", command, &folder.join("log"));
        self.keeper.watch(process.id());
        until("a stream of NATS", || {
            process.assert_running();
            self.runtime.block_on(self.stream()).ok()
        });
        self.process = Some(process);
    }

    /// The messages of the stream in its order: `Nats-Msg-Id`, and the body.
    pub fn events(&self) -> Vec<(String, Value)> {
        let all = self.published().into_iter();
        let event = |one: Published| (one.id, serde_json::from_slice(&one.body).unwrap());
        all.map(event).collect()
    }

    /// The messages of the stream in its order.
    pub fn published(&self) -> Vec<Published> {
        self.runtime.block_on(async {
            let mut stream = self.stream().await.unwrap();
            let last = stream.info().await.unwrap().state.last_sequence;
            let mut all = Vec::new();
            for sequence in 1..=last {
                let message = stream.get_raw_message(sequence).await.unwrap();
                let id = message.headers.get("Nats-Msg-Id").unwrap().to_string();
                all.push(Published {
                    subject: message.subject.to_string(),
                    id,
                    body: message.payload.to_vec(),
                });
            }
            all
        })
    }

    /// The stream, which is made if it is not there.
    async fn stream(&self) -> Result<Stream, async_nats::Error> {
        let client = self.login.options().connect(self.url()).await?;
        let config = Config {
            name: STREAM.to_owned(),
            subjects: self.subjects.clone(),
            ..Config::default()
        };
        Ok(jetstream::new(client).get_or_create_stream(config).await?)
    }
}

impl Drop for PrivateNats {
    fn drop(&mut self) {
        self.kill9();
    }
}
