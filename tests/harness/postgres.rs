//! PostgreSQL for tests: a fresh database on a shared server, or a server that a test may kill.
//!
//! The shared server is the one of `SMSC_TEST_DATABASE_URL` (`scripts/test` starts it); without it
//! each test process starts its own. All run with fsync on, as in production.

use std::fs;
use std::os::unix::fs::{FileExt as _, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::thread;

use tokio_postgres::{Client, NoTls, Row};

use super::keeper::Keeper;
use super::tools::{debian_tool_not_as_root, is_root};
use super::{Process, free_port, run, until};

/// The user under which a server runs if the tests run as root.
const NOBODY: u32 = 65_534;

const SETTINGS: &str = "
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_buffers = 256MB
max_connections = 500
dynamic_shared_memory_type = mmap
max_wal_size = 2GB
jit = off
";

/// A separate database for a test; dropped with its value, even if clients are connected.
pub struct Database {
    server: String,
    name: String,
    url: String,
}

/// A separate server for a test; stops when dropped.
pub struct PrivatePostgres {
    process: Option<Process>,
    port: u16,
    keeper: Keeper,
}

/// A new, empty database on the shared server.
pub fn database() -> Database {
    Database::create(shared_server(), "")
}

fn shared_server() -> String {
    static OWN: OnceLock<PrivatePostgres> = OnceLock::new();
    match std::env::var("SMSC_TEST_DATABASE_URL") {
        Ok(url) if !url.is_empty() => url,
        _ => OWN.get_or_init(PrivatePostgres::start).url(),
    }
}

/// Runs statements that return no rows; panics on an error.
pub fn execute(url: &str, sql: &str) {
    try_execute(url, sql).unwrap_or_else(|error| panic!("{error:?} at {url}: {sql}"));
}

/// The rows of one query; panics on an error.
pub fn rows(url: &str, sql: &str) -> Vec<Row> {
    with_client(url, async |client| client.query(sql, &[]).await)
        .unwrap_or_else(|error| panic!("{error:?} at {url}: {sql}"))
}

fn try_execute(url: &str, sql: &str) -> Result<(), tokio_postgres::Error> {
    with_client(url, async |client| client.batch_execute(sql).await)
}

/// Connects on a separate thread, because the test may be asynchronous.
fn with_client<T: Send>(
    url: &str,
    work: impl AsyncFnOnce(Client) -> Result<T, tokio_postgres::Error> + Send,
) -> Result<T, tokio_postgres::Error> {
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
                let connection = tokio::spawn(connection);
                let outcome = work(client).await;
                let _ = connection.await;
                outcome
            })
        });
        worker.join().unwrap()
    })
}

/// The URL of another database on the same server.
fn with_database(url: &str, name: &str) -> String {
    let (base, parameters) = match url.split_once('?') {
        Some((base, parameters)) => (base, format!("?{parameters}")),
        None => (url, String::new()),
    };
    let host = base.find("://").map_or(0, |at| at + 3);
    let end = base[host..].find('/').map_or(base.len(), |at| host + at);
    format!("{}/{name}{parameters}", &base[..end])
}

// === impl Database ===

impl Database {
    /// One on this server, made with these words of CREATE DATABASE.
    fn create(server: String, how: &str) -> Self {
        let name = format!("smsc_{:016x}", rand::random::<u64>());
        execute(&server, &format!("CREATE DATABASE {name} {how}"));
        let url = with_database(&server, &name);
        Self { server, name, url }
    }

    /// A copy, with all that is in it. Nobody may be connected to it.
    pub fn copy(&self) -> Self {
        Self::create(self.server.clone(), &format!("TEMPLATE {}", self.name))
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        if let Err(error) = try_execute(&self.server, &sql) {
            eprintln!("{} is left: {error}", self.name);
        }
    }
}

// === impl PrivatePostgres ===

impl PrivatePostgres {
    /// An empty server, ready when this returns.
    pub fn start() -> Self {
        Self::start_with("", |_| {})
    }

    /// Like [`Self::start`], but soon: a copy of the empty one that `scripts/test` has made. So all of these are the same
    /// system for PostgreSQL, and no test may move from one to another.
    pub fn start_copied() -> Self {
        let Some(empty) = std::env::var_os("SMSC_TEST_POSTGRES_EMPTY") else {
            return Self::start();
        };
        let keeper = Self::keeper();
        let data = keeper.folder().join("data");
        let copied = run(Command::new("cp").arg("-a").arg(empty).arg(data));
        assert!(copied.success, "cp: {}", copied.stderr);
        Self::start_on(keeper, "")
    }

    /// A server with optional TLS: certificate and key as PEM.
    pub fn start_with_tls(certificate: &str, key: &str) -> Self {
        Self::start_with("ssl = on\n", |data| {
            for (name, text) in [("server.crt", certificate), ("server.key", key)] {
                let path = data.join(name);
                fs::write(&path, text).unwrap();
                // PostgreSQL refuses a key that others may read.
                fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
                if is_root() {
                    chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
                }
            }
        })
    }

    /// A server that is reached by every address of this machine.
    pub fn start_at_all_addresses() -> Self {
        Self::start_with("listen_addresses = '*'\n", |data| {
            let rules = "host all all all trust\nhost replication all all trust\n";
            fs::write(data.join("pg_hba.conf"), rules).unwrap();
        })
    }

    /// A server whose pages have checksums.
    pub fn start_with_checksums() -> Self {
        Self::start_as(&["--data-checksums"], "", |_| {})
    }

    /// Overwrites a page of a table or an index in its file with octets that no page has; nobody notices before that page
    /// is read. Stops it and starts it again.
    pub fn damage_page(&mut self, relation: &str, page: usize) {
        const PAGE: usize = 8_192;
        self.change_file(relation, |octets| {
            let pages = octets.len() / PAGE;
            assert!(page < pages, "{relation} has {pages} pages");
            octets[page * PAGE..][..PAGE].fill(0xff);
        });
    }

    /// Changes the file of a table or an index. Stops it and starts it again.
    pub fn change_file(&mut self, relation: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let file = format!("SELECT pg_relation_filepath('{relation}')");
        // A session that crashed takes all others along.
        let file: String = until("PostgreSQL to answer", || {
            let asked = with_client(&self.url(), async |client| {
                client.query_one(&file, &[]).await
            });
            asked.ok().map(|row| row.get(0))
        });
        self.stop();
        let path = self.keeper.folder().join("data").join(file);
        let mut octets = fs::read(&path).unwrap();
        change(&mut octets);
        // Written in place: it belongs to another user.
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        file.write_all_at(&octets, 0).unwrap();
        file.sync_all().unwrap();
        self.restart();
    }

    /// A standby, which has all that this server acknowledges from now on.
    pub fn standby(&self) -> Self {
        let keeper = Self::keeper();
        let data = keeper.folder().join("data");
        let copied = run(debian_tool_not_as_root("pg_basebackup")
            .arg("-D")
            .arg(&data)
            .args(["--host=127.0.0.1", "--username=postgres", "--no-sync"])
            .args(["--checkpoint=fast", "--write-recovery-conf"])
            .arg(format!("--port={}", self.port)));
        let said = (&copied.stdout, &copied.stderr);
        assert!(copied.success, "pg_basebackup: {said:?}");
        let port = free_port();
        let settings = data.join("postgresql.auto.conf");
        let before = fs::read_to_string(&settings).unwrap();
        fs::write(settings, format!("{before}port = {port}\n")).unwrap();
        let mut standby = Self {
            process: None,
            port,
            keeper,
        };
        standby.restart();
        self.set("synchronous_standby_names", "*");
        until("the standby to follow", || {
            let follows = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
            (!self.rows(follows).is_empty()).then_some(())
        });
        standby
    }

    /// Changes a setting of the running server.
    pub fn set(&self, name: &str, value: &str) {
        self.execute(&format!("ALTER SYSTEM SET {name} = '{value}'"));
        self.execute("SELECT pg_reload_conf()");
    }

    /// Makes a standby a primary; it can be written to when this returns.
    pub fn promote(&self) {
        self.execute("SELECT pg_promote()");
    }

    fn keeper() -> Keeper {
        let keeper = Keeper::new("QUIT");
        if is_root() {
            chown(keeper.folder(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        keeper
    }

    /// A server with more settings, and files that `prepare` puts into its data folder.
    fn start_with(more: &str, prepare: impl FnOnce(&Path)) -> Self {
        Self::start_as(&[], more, prepare)
    }

    /// A server that is made with these arguments, with more settings and what `prepare` puts into its data folder.
    fn start_as(made_with: &[&str], more: &str, prepare: impl FnOnce(&Path)) -> Self {
        let keeper = Self::keeper();
        let data = keeper.folder().join("data");
        let made = run(debian_tool_not_as_root("initdb")
            .arg("-D")
            .arg(&data)
            .args([
                "--username=postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
            ])
            .args(made_with));
        assert!(made.success, "initdb: {}{}", made.stdout, made.stderr);
        prepare(&data);
        Self::start_on(keeper, more)
    }

    /// A server whose data folder the keeper has, with more settings.
    fn start_on(keeper: Keeper, more: &str) -> Self {
        let port = free_port();
        let settings = format!("{SETTINGS}port = {port}\n{more}");
        fs::write(keeper.folder().join("data/postgresql.auto.conf"), settings).unwrap();
        let mut server = Self {
            process: None,
            port,
            keeper,
        };
        server.restart();
        server
    }

    /// The URL of its database `postgres`.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Its port on 127.0.0.1, even while it is down.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sends SIGKILL to all its processes at once, like a failure of the machine.
    pub fn kill9(&mut self) {
        let Some(mut process) = self.process.take() else {
            return;
        };
        let backends = children_of(process.id());
        process.kill();
        // Some may have ended by themselves after their parent.
        run(Command::new("kill").arg("-KILL").args(&backends));
        until("the end of the backends", || {
            let gone = |backend: &String| !Path::new("/proc").join(backend).exists();
            backends.iter().all(gone).then_some(())
        });
        self.keeper.forget();
    }

    /// Sends SIGSTOP to all its processes: connections stay open, and nothing answers.
    pub fn freeze(&self) {
        self.signal_all("STOP");
    }

    /// Continues after [`Self::freeze`].
    pub fn thaw(&self) {
        self.signal_all("CONT");
    }

    fn signal_all(&self, name: &str) {
        let process = self.process.as_ref().expect("PostgreSQL runs");
        // The parent first, so that no child is missed.
        process.signal(name);
        let children = children_of(process.id());
        run(Command::new("kill").arg(format!("-{name}")).args(&children));
    }

    /// Stops it in good order; connections are closed.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.signal("INT");
            process.wait();
            self.keeper.forget();
        }
    }

    /// Starts it again with the same data and port, after [`Self::kill9`] or [`Self::stop`], and waits
    /// until it answers.
    pub fn restart(&mut self) {
        assert!(self.process.is_none(), "PostgreSQL runs already");
        let folder = self.keeper.folder();
        let mut command = debian_tool_not_as_root("postgres");
        command.arg("-D").arg(folder.join("data"));
        let mut process = Process::start("postgres", command, &folder.join("log"));
        self.keeper.watch(process.id());
        let url = self.url();
        until("PostgreSQL to answer", || {
            process.assert_running();
            try_execute(&url, "SELECT 1").ok()
        });
        self.process = Some(process);
    }

    /// Runs statements that return no rows.
    pub fn execute(&self, sql: &str) {
        execute(&self.url(), sql);
    }

    /// The rows of one query.
    pub fn rows(&self, sql: &str) -> Vec<Row> {
        rows(&self.url(), sql)
    }

    /// The number that a query finds in a session with this setting, if it does not fail.
    pub fn number(&self, setting: &str, sql: &str) -> Option<i64> {
        let asked = with_client(&self.url(), async |client| {
            client.batch_execute(&format!("SET {setting}")).await?;
            client.query_one(sql, &[]).await
        });
        asked.ok()?.try_get(0).ok()
    }
}

impl Drop for PrivatePostgres {
    fn drop(&mut self) {
        // Its data is deleted next, so no orderly shutdown is needed.
        self.kill9();
    }
}

/// Process ids of the children of a process.
fn children_of(parent: u32) -> Vec<String> {
    let parent = parent.to_string();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let is_child = |id: &String| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // "id (name) state parent": the name may contain anything.
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        after_name.split_whitespace().nth(1) == Some(&parent)
    };
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.parse::<u32>().is_ok())
        .filter(is_child)
        .collect()
}
