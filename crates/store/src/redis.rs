//! Redis: state shared by nodes that may be lost: limits, the bind registry, answers about numbers, recent
//! submissions, and a mirror of ended messages for other programs.
//!
//! Used by Throttle, the session registry, the resolver, the duplicate guard and Export. Nothing waits for Redis to
//! start: it is connected in the background ([`Redis::keep_connected`]), and while it is down every call
//! fails at once, so that the caller decides by itself. One multiplexed connection serves all calls, which
//! pipeline on it; the pool, which pings at every checkout, is used again only after an error.

mod answers;
mod limits;
mod pending;
mod platform;
mod registry;
mod submissions;

use std::future::Future;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deadpool_redis::redis::aio::MultiplexedConnection;
use deadpool_redis::redis::{
    self, AsyncConnectionConfig, Client, Cmd, ConnectionInfo, ErrorKind, FromRedisValue,
    IntoConnectionInfo, Pipeline, RedisResult, ScriptInvocation, TlsCertificates,
};
use deadpool_redis::{Connection, Manager, Pool, Runtime};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Notify;
use tokio::time::Instant;

pub use answers::KnownAnswer;
pub use limits::RedisGrant;
use limits::Scripts;
pub use pending::{PendingEntry, PendingFields, PendingIds, PendingMessage, SettledId};
pub use platform::{
    Forwarding, PLATFORM_MOST, PlatformOptions, PlatformRow, RAISED_GID, SubmittedAs,
};
pub use registry::{OperatorBinds, SessionEntry};
pub use submissions::Marked;

/// Between two attempts to connect; also the least time between two calls that find out, at the
/// cost of the timeout, that Redis is dead.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// A connection that lasted as long was a good one.
const GOOD: Duration = Duration::from_secs(30);
/// Most reasons of an outage that are logged.
const REASONS: usize = 4;

/// How to reach Redis.
#[derive(Debug, Clone, Default)]
pub struct RedisOptions {
    /// `redis://[user][:password]@host:port/database`; `rediss://` by TLS.
    pub url: SecretString,
    /// Certificates (PEM) that the server's must descend from; without it, those of the machine.
    pub ca_file: Option<PathBuf>,
    /// Silence for this long is an outage.
    pub timeout: Duration,
    /// Names of operators and accounts stand in braces in keys.
    pub hash_tags: bool,
}

/// Why Redis gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedisError {
    /// Known to be unreachable, so not called.
    #[error("Redis is not connected")]
    Down,
    #[error("Redis has not answered within {0:?}")]
    Silent(Duration),
    /// Its own words, or the system's.
    #[error("Redis: {0}")]
    Failed(String),
    /// A key is of another type than the call expects. Redis is well, and the connection stays.
    #[error("Redis: {0}")]
    OtherType(String),
}

/// A Redis that may be absent.
pub struct Redis {
    ca_file: Option<PathBuf>,
    timeout: Duration,
    hash_tags: bool,
    scripts: Scripts,
    link: Mutex<RedisLink>,
    /// The connection was closed.
    lost: Notify,
}

struct RedisLink {
    /// Connects by the URL that counts now.
    pool: Pool,
    /// That URL, or one after it that cannot be used.
    url: SecretString,
    /// Whether the connection is by a URL before this one.
    has_moved: bool,
    connection: Option<Connection>,
    /// Counts connections: a call that fails late must not end the next one.
    number: u64,
    /// What the log has been told of this outage: the first reason may be silence, and a later one what is wrong.
    told: Vec<RedisError>,
}

impl From<redis::RedisError> for RedisError {
    fn from(error: redis::RedisError) -> Self {
        match error.code() {
            // The server redirects to another one, which this client does not follow.
            Some("MOVED" | "ASK") => Self::Failed(format!(
                "{error}: this server is one of a Redis Cluster; name a server that is not, or a \
                 proxy in front of the cluster that follows redirections"
            )),
            _ if is_other_type(&error) => Self::OtherType(error.to_string()),
            _ => Self::Failed(smsc_tls::reworded(&error.to_string())),
        }
    }
}

/// Whether it is about what is stored. A script repeats the words of the command that failed in it.
fn is_other_type(error: &redis::RedisError) -> bool {
    error.kind() == ErrorKind::UnexpectedReturnType || error.to_string().contains("WRONGTYPE")
}

// === impl Redis ===

impl Redis {
    /// Prepares a client; connects later.
    ///
    /// # Errors
    /// The URL is none, or the certificates cannot be used. The text does not contain the URL.
    pub fn open(options: &RedisOptions) -> Result<Self, RedisError> {
        let link = RedisLink {
            pool: pool(options)?,
            url: options.url.clone(),
            has_moved: false,
            connection: None,
            number: 0,
            told: Vec::new(),
        };
        Ok(Self {
            ca_file: options.ca_file.clone(),
            timeout: options.timeout,
            hash_tags: options.hash_tags,
            scripts: Scripts::new(),
            link: Mutex::new(link),
            lost: Notify::new(),
        })
    }

    /// Connects by this URL from now on, and tries until it answers, less and less often. The connection by the one
    /// before serves calls until there is a new one. Does nothing when the URL is the same.
    ///
    /// # Errors
    /// See [`Self::open`]; the URL before stays, and this one is not tried again.
    pub fn follow(&self, url: &SecretString) -> Result<(), RedisError> {
        if self.link().url.expose_secret() == url.expose_secret() {
            return Ok(());
        }
        let pool = pool(&RedisOptions {
            url: url.clone(),
            ca_file: self.ca_file.clone(),
            timeout: self.timeout,
            hash_tags: self.hash_tags,
        });
        {
            let mut link = self.link();
            link.url = url.clone();
            link.pool = pool?;
            link.has_moved = true;
        }
        self.lost.notify_one();
        Ok(())
    }

    /// Whether calls are answered by Redis, as far as is known.
    pub fn is_up(&self) -> bool {
        self.link().connection.is_some()
    }

    /// Connects, and again after every loss; never ends. The runtime that polls it also drives the
    /// connection.
    pub async fn keep_connected(&self) {
        let mut pause = FIRST_PAUSE;
        loop {
            if !self.is_up() {
                match self.connect().await {
                    Ok(connection) => self.connected(connection),
                    Err(error) => {
                        self.warn(error);
                        tokio::time::sleep(about(pause)).await;
                        pause = (pause * 2).min(LONGEST_PAUSE);
                        continue;
                    }
                }
            }
            let since = Instant::now();
            self.lost.notified().await;
            if self.is_to_move() {
                self.move_over().await;
                continue;
            }
            if since.elapsed() >= GOOD {
                pause = FIRST_PAUSE;
            }
            tokio::time::sleep(about(pause)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Whether there is a connection, and a newer URL than its own.
    fn is_to_move(&self) -> bool {
        let link = self.link();
        link.has_moved && link.connection.is_some()
    }

    /// Replaces the connection by one of the newer URL once that one answers, as long as there is a connection.
    async fn move_over(&self) {
        let mut pause = FIRST_PAUSE;
        let mut told = None;
        while self.is_up() {
            let error = match self.connect().await {
                Ok(connection) => return self.connected(connection),
                Err(error) => error,
            };
            if told.as_ref() != Some(&error) {
                tracing::warn!(
                    %error,
                    "Redis does not answer at the new redis.url, which is tried again; the connection by the one before is used while it lasts"
                );
            }
            told = Some(error);
            // Until then that connection may be lost, or the URL be another one.
            let _ = tokio::time::timeout(about(pause), self.lost.notified()).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// A connection that can do what calls need: write and run scripts. A replica, a full or a
    /// loading server, and missing rights show here and not with the first message.
    async fn connect(&self) -> Result<Connection, RedisError> {
        let pool = {
            let mut link = self.link();
            link.has_moved = false;
            link.pool.clone()
        };
        let attempt = async {
            let mut connection = pool
                .get()
                .await
                .map_err(|error| RedisError::Failed(smsc_tls::reworded(&error.to_string())))?;
            let probed: RedisResult<()> = async {
                redis::cmd("SET")
                    .arg("smsc:probe")
                    .arg(1)
                    .arg("PX")
                    .arg(1_000)
                    .query_async::<()>(&mut connection)
                    .await?;
                self.scripts.probe(&mut connection).await
            }
            .await;
            match probed {
                Ok(()) => Ok(connection),
                Err(error) => {
                    drop(Connection::take(connection));
                    Err(RedisError::from(error))
                }
            }
        };
        tokio::time::timeout(self.timeout * 2, attempt)
            .await
            .unwrap_or(Err(RedisError::Silent(self.timeout * 2)))
    }

    fn connected(&self, connection: Connection) {
        let mut link = self.link();
        if let Some(earlier) = link.connection.replace(connection) {
            drop(Connection::take(earlier));
        }
        link.number += 1;
        if std::mem::take(&mut link.told).is_empty() {
            tracing::info!("Redis is connected, limits are shared");
        } else {
            tracing::info!("Redis is back, limits are shared again");
        }
    }

    /// Runs `work` on the connection. The first failure or silence ends the connection for everyone, unless it is about
    /// what is stored: what comes after it fails at once until Redis is back.
    async fn call<T, F>(
        &self,
        work: impl FnOnce(MultiplexedConnection) -> F,
    ) -> Result<T, RedisError>
    where
        F: Future<Output = RedisResult<T>>,
    {
        let (connection, number) = {
            let link = self.link();
            let connection = link.connection.as_ref().ok_or(RedisError::Down)?;
            (MultiplexedConnection::clone(connection), link.number)
        };
        let error = match tokio::time::timeout(self.timeout, work(connection)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => match RedisError::from(error) {
                other @ RedisError::OtherType(_) => return Err(other),
                error => error,
            },
            Err(_) => RedisError::Silent(self.timeout),
        };
        let broken = {
            let mut link = self.link();
            if link.number == number {
                link.connection.take()
            } else {
                None
            }
        };
        if let Some(broken) = broken {
            // Not back into the pool: the next one is a new one.
            drop(Connection::take(broken));
            self.warn(error.clone());
            self.lost.notify_one();
        }
        Err(error)
    }

    /// The answer to a command.
    async fn send<T: FromRedisValue>(&self, command: Cmd) -> Result<T, RedisError> {
        self.call(|mut connection| async move { command.query_async(&mut connection).await })
            .await
    }

    /// The answers to commands, in one round trip.
    async fn send_all<T: FromRedisValue>(&self, commands: Pipeline) -> Result<T, RedisError> {
        self.call(|mut connection| async move { commands.query_async(&mut connection).await })
            .await
    }

    /// The answer of a script.
    async fn invoke<T: FromRedisValue>(
        &self,
        script: ScriptInvocation<'_>,
    ) -> Result<T, RedisError> {
        self.call(|mut connection| async move { script.invoke_async(&mut connection).await })
            .await
    }

    /// Says each reason of an outage once, but no more than [`REASONS`].
    fn warn(&self, error: RedisError) {
        let mut link = self.link();
        if link.told.len() < REASONS && !link.told.contains(&error) {
            tracing::warn!(%error, "limits are kept by this node alone until Redis is back");
            link.told.push(error);
        }
    }

    /// A key of an operator or account: `tps:up`, or `tps:{up}` with hash tags.
    fn key(&self, kind: &str, name: &str) -> String {
        if self.hash_tags {
            format!("{kind}:{{{name}}}")
        } else {
            format!("{kind}:{name}")
        }
    }

    fn link(&self) -> MutexGuard<'_, RedisLink> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What makes connections, one at a time.
fn pool(options: &RedisOptions) -> Result<Pool, RedisError> {
    let wrong = |_| RedisError::Failed("redis.url cannot be used".to_owned());
    let connecting = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(options.timeout))
        // Calls have a deadline of their own, which covers what they wait for before the wire.
        .set_response_timeout(None);
    let manager = Manager::new_with_config(server(options)?, connecting).map_err(wrong)?;
    Pool::builder(manager)
        .max_size(1)
        .runtime(Runtime::Tokio1)
        .build()
        .map_err(|error| RedisError::Failed(error.to_string()))
}

/// Where the server is, and whom its certificate must be from.
fn server(options: &RedisOptions) -> Result<ConnectionInfo, RedisError> {
    let wrong = |_| RedisError::Failed("redis.url cannot be used".to_owned());
    let url = options.url.expose_secret();
    let plain = url.into_connection_info().map_err(wrong)?;
    if !url.starts_with("rediss:") {
        return Ok(plain);
    }
    // The client takes the provider of the process; another one may have been there before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let Some(file) = &options.ca_file else {
        return Ok(plain);
    };
    let unusable = |error: &dyn std::fmt::Display| {
        RedisError::Failed(format!("redis.ca_file: {}: {error}", file.display()))
    };
    let pem = std::fs::read(file).map_err(|error| unusable(&error))?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| unusable(&error))?;
    if certificates.is_empty() {
        return Err(unusable(&"holds no certificate"));
    }
    let certificates = TlsCertificates {
        client_tls: None,
        root_cert: Some(pem),
    };
    let client = Client::build_with_tls(plain, certificates).map_err(|error| unusable(&error))?;
    Ok(client.get_connection_info().clone())
}

/// 75-125 % of the time, so that nodes that lost Redis together do not reconnect together.
fn about(pause: Duration) -> Duration {
    pause.mul_f64(rand::random_range(0.75..1.25))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(hash_tags: bool) -> Redis {
        Redis::open(&RedisOptions {
            url: SecretString::from("redis://:hush@127.0.0.1:1/0"),
            timeout: Duration::from_millis(200),
            hash_tags,
            ..RedisOptions::default()
        })
        .expect("a client")
    }

    #[test]
    fn names_stand_in_braces_only_with_hash_tags() {
        assert_eq!(client(false).key("tps", "up"), "tps:up");
        assert_eq!(client(true).key("tps", "up"), "tps:{up}");
    }

    #[test]
    fn a_bad_url_is_refused_without_showing_it() {
        let options = RedisOptions {
            url: SecretString::from("http://:hush@redis.example"),
            timeout: Duration::from_secs(1),
            ..RedisOptions::default()
        };
        let error = Redis::open(&options).err().expect("no client").to_string();
        assert!(!error.contains("hush"), "{error}");
    }

    #[tokio::test]
    async fn a_url_that_cannot_be_used_leaves_the_one_before() {
        let redis = client(false);
        let wrong = SecretString::from("http://:other@redis.example");
        let error = redis.follow(&wrong).expect_err("refused").to_string();
        assert!(!error.contains("other"), "{error}");
        assert_eq!(redis.follow(&wrong), Ok(()), "it is told once");
        assert!(!redis.link().has_moved);
        let next = SecretString::from("redis://:other@127.0.0.1:2/0");
        assert_eq!(redis.follow(&next), Ok(()));
        assert!(redis.link().has_moved && !redis.is_to_move());
    }

    #[test]
    fn certificates_that_cannot_be_used_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("ca.pem");
        let open = || {
            let options = RedisOptions {
                url: SecretString::from("rediss://:hush@127.0.0.1:1/0"),
                ca_file: Some(file.clone()),
                timeout: Duration::from_secs(1),
                ..RedisOptions::default()
            };
            Redis::open(&options).err().expect("no client").to_string()
        };
        assert!(open().contains("redis.ca_file"));
        std::fs::write(&file, "nothing").expect("written");
        assert!(open().contains("holds no certificate"), "{}", open());
    }

    /// A server that has scripts; `to_set` is what it answers to a SET after so many of them.
    fn server_at(to_set: impl Fn(usize) -> &'static [u8] + Send + 'static) -> SecretString {
        use std::io::{BufRead as _, BufReader, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            let mut sets = 0..;
            for mut socket in listener.incoming().flatten() {
                let input = BufReader::new(socket.try_clone().expect("a socket"));
                let mut lines = input.lines().map_while(Result::ok);
                while let Some(head) = lines.next() {
                    // *3, then for each word its length and itself.
                    let words: usize = head.trim_start_matches('*').parse().expect("a count");
                    let command: Vec<String> = lines.by_ref().take(words * 2).collect();
                    let is_of_bucket = command.iter().any(|word| word == "smsc:probe-bucket");
                    let answer: &[u8] = match command[1].as_str() {
                        "SET" => to_set(sets.next().expect("a number")),
                        "EVALSHA" if is_of_bucket => b"*3\r\n:0\r\n:0\r\n:0\r\n",
                        "EVALSHA" => b"*2\r\n:0\r\n:0\r\n",
                        _ => b"+OK\r\n",
                    };
                    socket.write_all(answer).expect("written");
                }
            }
        });
        SecretString::from(format!("redis://{address}"))
    }

    fn client_of(url: SecretString) -> Redis {
        let options = RedisOptions {
            url,
            timeout: Duration::from_secs(5),
            ..RedisOptions::default()
        };
        Redis::open(&options).expect("a client")
    }

    #[tokio::test]
    async fn a_redirection_names_its_cure() {
        let redis = client_of(server_at(|_| b"-MOVED 866 10.0.0.2:6379\r\n"));
        let error = redis.connect().await.err();
        let said = error.expect("no connection").to_string();
        assert!(
            said.contains("Redis Cluster") && said.contains("proxy"),
            "{said}"
        );
    }

    #[tokio::test]
    async fn a_new_server_is_tried_until_it_answers() {
        let redis = client_of(server_at(|_| b"+OK\r\n"));
        let new = server_at(|before| match before {
            0 => b"-LOADING it loads its data\r\n",
            _ => b"+OK\r\n",
        });
        let is_connected = async |times| {
            while redis.link().number < times {
                assert!(times == 1 || redis.is_up(), "by the one before");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let moved = async {
            is_connected(1).await;
            redis.follow(&new).expect("a URL");
            is_connected(2).await;
        };
        let moved = tokio::time::timeout(Duration::from_secs(60), moved);
        tokio::select! {
            () = redis.keep_connected() => panic!("it ends"),
            moved = moved => moved.expect("a connection to the new one"),
        }
    }

    #[tokio::test]
    async fn what_is_not_connected_is_not_waited_for() {
        let redis = client(false);
        assert!(!redis.is_up());
        let taken = redis.take_of_second("up", 100.0, 5).await;
        assert_eq!(taken, Err(RedisError::Down));
    }
}
