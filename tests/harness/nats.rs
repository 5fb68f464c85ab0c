//! A NATS server with JetStream for a test, and what its stream holds.
//!
//! The stream is on disk: what it has acknowledged is there again after a kill.

use std::path::{Path, PathBuf};

use async_nats::jetstream::stream::{Config, Stream};
use async_nats::{Client, ConnectError, HeaderMap, jetstream};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::keeper::Keeper;
use super::nats_login::Login;
use super::{Authority, Process, debian_tool, free_port, until};

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
    /// The file of the authority of its certificate, if it speaks TLS.
    authority: Option<PathBuf>,
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
        let mut server = Self::stopped(subjects, login);
        server.restart();
        server
    }

    /// A server that is reached by TLS only, with a certificate of this authority for `localhost`.
    pub fn by_tls(subjects: &[&str], login: Login, authority: &Authority) -> Self {
        let mut server = Self::stopped(subjects, login);
        let folder = server.keeper.folder();
        authority.sign("localhost").write(folder, "server");
        let file = folder.join("authority.pem");
        std::fs::write(&file, &authority.pem).unwrap();
        server.authority = Some(file);
        server.restart();
        server
    }

    fn stopped(subjects: &[&str], login: Login) -> Self {
        Self {
            process: None,
            port: free_port(),
            subjects: subjects.iter().map(|one| (*one).to_owned()).collect(),
            login,
            authority: None,
            runtime: Runtime::new().unwrap(),
            keeper: Keeper::new("TERM"),
        }
    }

    pub fn url(&self) -> String {
        match self.authority {
            None => format!("nats://127.0.0.1:{}", self.port),
            Some(_) => format!("tls://localhost:{}", self.port),
        }
    }

    /// Publishes a message; returns when the stream has it.
    pub fn publish(&self, subject: &str, id: &str, body: &Value) {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", id);
        let body = body.to_string().into();
        self.runtime.block_on(async {
            let stream = jetstream::new(self.connect().await.unwrap());
            let sent = stream.publish_with_headers(subject.to_owned(), headers, body);
            sent.await.unwrap().await.unwrap();
        });
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
        if self.authority.is_some() {
            let file = |name: &str| folder.join(name).display().to_string();
            command.args(["--tls", "--tlscert", &file("server.pem")]);
            command.args(["--tlskey", &file("server.key")]);
        }
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
        let client = self.connect().await?;
        let config = Config {
            name: STREAM.to_owned(),
            subjects: self.subjects.clone(),
            ..Config::default()
        };
        Ok(jetstream::new(client).get_or_create_stream(config).await?)
    }

    pub(super) async fn connect(&self) -> Result<Client, ConnectError> {
        let mut options = self.login.options();
        if let Some(file) = &self.authority {
            options = options.add_root_certificates(file.clone());
        }
        options.connect(self.url()).await
    }
}

impl Drop for PrivateNats {
    fn drop(&mut self) {
        self.kill9();
    }
}
