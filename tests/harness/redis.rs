//! Redis for tests: an empty database on a shared server, or a server that a test may kill.
//!
//! The shared server is the one of `SMSC_TEST_REDIS_URL` (`scripts/test` starts it); without it each
//! test process starts its own. Nothing is stored on disk.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use deadpool_redis::redis::{Client, Cmd, Connection, FromRedisValue, cmd};

use super::keeper::Keeper;
use super::{Process, debian_tool, free_port, until};

/// Databases of a server that is started here.
const DATABASES: &str = "256";
/// The claim of a killed test expires after this time.
const CLAIM_SECONDS: u64 = 900;

/// A numbered database for one test, empty at first; released when dropped.
pub struct RedisDatabase {
    server: String,
    number: u64,
}

/// A separate server for a test; stops when dropped.
pub struct PrivateRedis {
    process: Option<Process>,
    port: u16,
    /// Port and further arguments, if it also speaks TLS.
    tls: Option<(u16, Vec<String>)>,
    keeper: Keeper,
}

/// An empty database on the shared server.
pub fn redis_database() -> RedisDatabase {
    let server = shared_server();
    let mut connection = connect(&server);
    let (_, count): (String, u64) = ask(&mut connection, cmd("CONFIG").arg("GET").arg("databases"));
    // Database 0 holds the claims of all tests.
    let number = until("a free database of Redis", || {
        (1..count).find(|number| {
            let claim = cmd("SET")
                .arg(claim_key(*number))
                .arg(std::process::id())
                .arg(("NX", "EX", CLAIM_SECONDS))
                .query::<Option<String>>(&mut connection);
            claim.unwrap().is_some()
        })
    });
    let database = RedisDatabase { server, number };
    ask::<()>(&mut connect(&database.url()), &mut cmd("FLUSHDB"));
    database
}

fn shared_server() -> String {
    static OWN: OnceLock<PrivateRedis> = OnceLock::new();
    match std::env::var("SMSC_TEST_REDIS_URL") {
        Ok(url) if !url.is_empty() => url.trim_end_matches('/').to_owned(),
        _ => OWN.get_or_init(PrivateRedis::start).url(),
    }
}

fn claim_key(number: u64) -> String {
    format!("smsc-test:database:{number}")
}

fn connect(url: &str) -> Connection {
    let client = Client::open(url).unwrap();
    client
        .get_connection()
        .unwrap_or_else(|error| panic!("{error} at {url}"))
}

fn ask<T: FromRedisValue>(connection: &mut Connection, command: &mut Cmd) -> T {
    command.query(connection).unwrap()
}

// === impl RedisDatabase ===

impl RedisDatabase {
    /// Its URL.
    pub fn url(&self) -> String {
        format!("{}/{}", self.server, self.number)
    }
}

impl Drop for RedisDatabase {
    fn drop(&mut self) {
        let Ok(client) = Client::open(self.server.as_str()) else {
            return;
        };
        if let Ok(mut connection) = client.get_connection() {
            let _ = cmd("DEL")
                .arg(claim_key(self.number))
                .query::<()>(&mut connection);
        }
    }
}

// === impl PrivateRedis ===

impl PrivateRedis {
    /// An empty server, ready when this returns.
    pub fn start() -> Self {
        Self::start_with(None)
    }

    /// A server that also speaks TLS, with this certificate and key (PEM); see [`Self::tls_port`].
    pub fn start_with_tls(certificate: &Path, key: &Path) -> Self {
        let port = free_port();
        let file = |path: &Path| path.to_str().unwrap().to_owned();
        let arguments = [
            ("--tls-port", port.to_string()),
            ("--tls-cert-file", file(certificate)),
            ("--tls-key-file", file(key)),
            // Redis requires it at start, although clients need no certificate.
            ("--tls-ca-cert-file", file(certificate)),
            ("--tls-auth-clients", "no".to_owned()),
        ];
        let arguments = arguments.map(|(name, value)| [name.to_owned(), value]);
        Self::start_with(Some((port, arguments.concat())))
    }

    fn start_with(tls: Option<(u16, Vec<String>)>) -> Self {
        let mut server = Self {
            process: None,
            port: free_port(),
            tls,
            keeper: Keeper::new("TERM"),
        };
        server.restart();
        server
    }

    /// The port with TLS.
    pub fn tls_port(&self) -> u16 {
        self.tls.as_ref().expect("a server with TLS").0
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// SIGKILL.
    pub fn kill9(&mut self) {
        // Dropping a process kills it.
        self.process = None;
        self.keeper.forget();
    }

    /// Starts it, empty, on the same port, and waits until it answers.
    pub fn restart(&mut self) {
        assert!(self.process.is_none(), "Redis runs already");
        let folder = self.keeper.folder();
        let mut command = debian_tool("redis-server");
        command
            .args([
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--databases",
                DATABASES,
            ])
            .args(["--port", &self.port.to_string()])
            .arg("--dir")
            .arg(folder);
        if let Some((_, arguments)) = &self.tls {
            command.args(arguments);
        }
        let mut process = Process::start("redis-server", command, &folder.join("log"));
        self.keeper.watch(process.id());
        let client = Client::open(self.url()).unwrap();
        until("Redis to answer", || {
            process.assert_running();
            let mut connection = client.get_connection().ok()?;
            cmd("PING").query::<String>(&mut connection).ok()
        });
        self.process = Some(process);
    }

    /// FLUSHALL.
    pub fn flush(&self) {
        ask(&mut connect(&self.url()), &mut cmd("FLUSHALL"))
    }

    /// For this time it accepts commands and answers none of them.
    pub fn pause(&self, time: Duration) {
        let milliseconds = u64::try_from(time.as_millis()).unwrap();
        let mut command = cmd("CLIENT");
        command.arg("PAUSE").arg(milliseconds).arg("ALL");
        ask(&mut connect(&self.url()), &mut command)
    }
}

impl Drop for PrivateRedis {
    fn drop(&mut self) {
        self.kill9();
    }
}
