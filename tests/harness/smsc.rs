//! `smsc serve` under test: configured by a builder, ready when started, restartable on its data
//! folder.

use std::fmt::Write as _;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use serde_json::Value;
use tempfile::TempDir;

use super::{Admin, Finished, Process, SmallDisk, free_port, run, until};

/// The admin token of every SMSC under test.
const TOKEN: &str = "harness-token";

/// The configuration of an SMSC to start.
#[derive(Default)]
pub struct SmscBuilder {
    /// Tables before the lists: `[smpp]`, `[retry]`.
    smpp: String,
    http: String,
    tables: String,
    lists: String,
    /// Name and text of files beside the configuration file.
    files: Vec<(String, String)>,
    /// Size in MiB of a separate disk for the data folder.
    disk: Option<u64>,
    /// A backup from which the embedded store is restored.
    store: Option<PathBuf>,
    /// `[api]` with these keys, if it serves that.
    api: Option<String>,
    run: Run,
}

/// How to run the process.
#[derive(Default, Clone)]
struct Run {
    environment: Vec<(String, String)>,
    /// It is ready without an SMPP port.
    without_listener: bool,
    /// The authority of its admin API's certificate; without one the API uses HTTP.
    authority: Option<String>,
    /// More arguments of `smsc serve`.
    arguments: Vec<String>,
}

/// A running SMSC; its process and its data folder are removed when it is dropped.
pub struct Smsc {
    // Fields are dropped in this order: the log must outlive the process that writes it.
    process: Process,
    smpp_port: u16,
    http_port: u16,
    api_port: Option<u16>,
    run: Run,
    disk: Option<SmallDisk>,
    folder: TempDir,
}

/// A [`Peer`](super::Peer), be it an ESME or a bind of a [`FakeOperator`](super::FakeOperator), reads, and so answers
/// enquire_link, only when its test expects something: on a busy machine that may be a minute later.
const PATIENT: &str = "enquire_link_interval = \"5m\"";

// === impl SmscBuilder ===

impl SmscBuilder {
    /// An ESME that may bind, with a window and a bind limit that no test reaches.
    pub fn account(self, system_id: &str, password: &str) -> Self {
        self.account_with(system_id, password, "")
    }

    /// Like [`Self::account`], with more keys, as TOML lines.
    pub fn account_with(mut self, system_id: &str, password: &str, keys: &str) -> Self {
        let own = |key: &str, line: &str| {
            if names_key(keys, key) {
                String::new()
            } else {
                format!("{line}\n")
            }
        };
        write!(
            self.lists,
            "[[account]]\nsystem_id = {system_id:?}\npassword = {password:?}\n{}{}{keys}\n\n",
            own("max_binds", "max_binds = 64"),
            own("window", "window = 100"),
        )
        .unwrap();
        self
    }

    /// An operator to bind to, with one transceiver and short reconnect pauses.
    pub fn operator(self, id: &str, address: SocketAddr) -> Self {
        self.operator_with(id, address, "")
    }

    /// Like [`Self::operator`], with more keys, as TOML lines.
    pub fn operator_with(mut self, id: &str, address: SocketAddr, keys: &str) -> Self {
        let own = |key: &str, line: &str| {
            if names_key(keys, key) {
                String::new()
            } else {
                format!("{line}\n")
            }
        };
        write!(
            self.lists,
            "[[operator]]\nid = {id:?}\naddress = \"{address}\"\n{}{}{}{}{}{keys}\n\n",
            own("system_id", "system_id = \"smsc\""),
            own("password", "password = \"secret\""),
            own("window", "window = 100"),
            own("reconnect", "reconnect = [\"200ms\"]"),
            own("enquire_link_interval", PATIENT),
        )
        .unwrap();
        self
    }

    /// The account `test`, and the operator `up`, to which everything goes.
    pub fn relaying_to(self, operator: SocketAddr) -> Self {
        self.account("test", "test")
            .operator("up", operator)
            .route("", "up")
    }

    /// Routes destinations with this prefix to an operator, an account or `test:delivered`.
    pub fn route(mut self, prefix: &str, to: &str) -> Self {
        write!(
            self.lists,
            "[[route]]\nprefix = {prefix:?}\nto = [{to:?}]\n\n"
        )
        .unwrap();
        self
    }

    /// Keys of `[http]`, as TOML lines; `{http_port}` in them becomes its port.
    pub fn http(mut self, keys: &str) -> Self {
        writeln!(self.http, "{keys}").unwrap();
        self
    }

    /// Its admin API uses HTTPS, with a certificate of this authority (PEM).
    pub fn https(mut self, authority: &str) -> Self {
        self.run.authority = Some(authority.to_owned());
        self
    }

    /// It serves the HTTP API for accounts.
    pub fn with_api(self) -> Self {
        self.with_api_and("")
    }

    /// Like [`Self::with_api`], with more keys, as TOML lines.
    pub fn with_api_and(mut self, keys: &str) -> Self {
        self.api = Some(keys.to_owned());
        self
    }

    /// Keys of `[smpp]`, as TOML lines.
    pub fn smpp(mut self, keys: &str) -> Self {
        writeln!(self.smpp, "{keys}").unwrap();
        self
    }

    /// Whole tables, as TOML: `[retry]`, `[[route]]`, anything.
    pub fn toml(mut self, text: &str) -> Self {
        writeln!(self.tables, "{text}\n").unwrap();
        self
    }

    /// A file in its working folder, which exists before it starts.
    pub fn file(mut self, name: &str, text: &str) -> Self {
        self.files.push((name.to_owned(), text.to_owned()));
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, key: &str, value: &str) -> Self {
        let variable = (key.to_owned(), value.to_owned());
        self.run.environment.push(variable);
        self
    }

    /// Its data folder is on a disk of `mib` MiB, which the test may fill.
    pub fn on_a_small_disk(mut self, mib: u64) -> Self {
        self.disk = Some(mib);
        self
    }

    /// Its embedded store starts as a copy of this backup.
    pub fn restored_from(mut self, backup: &Path) -> Self {
        self.store = Some(backup.to_owned());
        self
    }

    /// It is configured not to listen for ESMEs, so `start` does not wait for its port.
    pub fn without_listener(mut self) -> Self {
        self.run.without_listener = true;
        self
    }

    /// Starts it and waits until it is ready.
    pub fn start(mut self) -> Smsc {
        let api_port = self.api.is_some().then(free_port);
        if let (Some(port), Some(keys)) = (api_port, self.api.take()) {
            self = self.toml(&format!("[api]\nlisten = \"127.0.0.1:{port}\"\n{keys}\n"));
        }
        let folder = tempfile::tempdir().unwrap();
        let (smpp_port, http_port) = (free_port(), free_port());
        let config = self.write_out(folder.path(), smpp_port, http_port);
        fs::write(folder.path().join("smsc.toml"), config).unwrap();
        for (name, text) in &self.files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        if let Some(backup) = &self.store {
            fs::create_dir(folder.path().join("data")).unwrap();
            fs::copy(backup, folder.path().join("data/smsc.db")).unwrap();
        }
        let disk = self.disk.map(|mib| {
            let log = folder.path().join("disk.log");
            SmallDisk::mount(&folder.path().join("data"), mib, &log)
        });
        let process = serve(folder.path(), disk.as_ref(), &self.run);
        let mut smsc = Smsc {
            process,
            disk,
            smpp_port,
            http_port,
            api_port,
            run: self.run,
            folder,
        };
        smsc.wait_until_ready();
        smsc
    }

    fn write_out(&self, folder: &Path, smpp_port: u16, http_port: u16) -> String {
        let patience = ["enquire_link_interval", "inactivity_timeout"]
            .iter()
            .all(|key| !names_key(&self.smpp, key))
            .then_some(PATIENT);
        format!(
            "data_dir = {:?}\n\n\
             [smpp]\nlisten = \"127.0.0.1:{smpp_port}\"\n{}\n{}\n\
             [http]\nlisten = \"127.0.0.1:{http_port}\"\nadmin_token = {TOKEN:?}\n{}\n\
             [store]\nmin_free_mib = 1\n\n\
             {}{}",
            folder.join("data"),
            patience.unwrap_or_default(),
            self.smpp,
            self.http.replace("{http_port}", &http_port.to_string()),
            self.tables,
            self.lists
        )
    }
}

fn names_key(keys: &str, key: &str) -> bool {
    keys.lines().any(|line| {
        line.split('=')
            .next()
            .is_some_and(|name| name.trim() == key)
    })
}

fn serve(folder: &Path, disk: Option<&SmallDisk>, run: &Run) -> Process {
    let mut command = match disk {
        Some(disk) => disk.enter(folder),
        None => Command::new(super::binary()),
    };
    if disk.is_some() {
        command.arg(super::binary());
    }
    command
        .args(["serve", "--config", "smsc.toml"])
        .args(&run.arguments)
        .current_dir(folder)
        .env("RUST_BACKTRACE", "1")
        .envs(run.environment.iter().cloned());
    Process::start("smsc serve", command, &folder.join("smsc.log"))
}

// === impl Smsc ===

impl Smsc {
    /// An empty configuration.
    #[allow(clippy::new_ret_no_self)]
    pub fn new() -> SmscBuilder {
        SmscBuilder::default()
    }

    /// The address for ESMEs.
    pub fn smpp(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.smpp_port).into()
    }

    /// The HTTP API for accounts, with this key. It needs [`SmscBuilder::with_api`].
    pub fn api(&self, key: &str) -> Admin {
        Admin::new(self.api_address(), key)
    }

    /// The address of the HTTP API for accounts.
    pub fn api_address(&self) -> SocketAddr {
        let port = self.api_port.expect("an SMSC with_api");
        ([127, 0, 0, 1], port).into()
    }

    /// Makes an API key of an account with a role, and returns a client with it.
    pub fn api_of(&self, account: &str, role: &str) -> Admin {
        let order = serde_json::json!({ "account": account, "role": role });
        let (status, made) = self.admin().call("POST", "/v1/api-keys", Some(&order));
        assert_eq!(status, 201, "{made}");
        self.api(made["secret"].as_str().unwrap())
    }

    /// The address of the admin API.
    pub fn http(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.http_port).into()
    }

    /// The admin API.
    pub fn admin(&self) -> Admin {
        match &self.run.authority {
            Some(authority) => Admin::by_https(self.http(), TOKEN, authority),
            None => Admin::new(self.http(), TOKEN),
        }
    }

    /// Its process, for signals and memory.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// The data folder; with a separate disk, a copy of its current files.
    pub fn data_dir(&self) -> PathBuf {
        match &self.disk {
            Some(disk) => {
                let copy = self.file("copy");
                disk.copy_to(&copy);
                copy
            }
            None => self.folder.path().join("data"),
        }
    }

    /// The disk of [`SmscBuilder::on_a_small_disk`].
    pub fn disk(&self) -> &SmallDisk {
        self.disk.as_ref().expect("it has a disk of its own")
    }

    /// A path beside the data folder, free for the test.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The text of its configuration file.
    pub fn config(&self) -> String {
        fs::read_to_string(self.file("smsc.toml")).unwrap()
    }

    /// Replaces its configuration file. The change takes effect at SIGHUP or a restart, except
    /// accounts, operators and routes, which [`Self::apply`] applies.
    pub fn set_config(&self, text: &str) {
        fs::write(self.file("smsc.toml"), text).unwrap();
    }

    /// Its whole log, of all its runs.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// Sends SIGKILL: no drain, no unbind.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Sends SIGTERM, and waits for the end of the drain.
    pub fn terminate(&mut self) -> ExitStatus {
        self.process.terminate()
    }

    /// Waits until it ends by itself, after a signal.
    pub fn wait(&mut self) -> ExitStatus {
        self.process.wait()
    }

    /// Sends SIGHUP: it reads the file again, except accounts, operators and routes.
    pub fn reload(&self) {
        self.process.signal("HUP");
    }

    /// Runs `smsc apply` with its own configuration file: on return, accounts, operators and routes are
    /// as in the file.
    pub fn apply(&self) {
        let applied = self.run(&["apply", "--file", "smsc.toml", "--yes"]);
        assert!(applied.success, "{}{}", applied.stdout, applied.stderr);
    }

    /// Starts it again on the same data folder and ports, after [`Self::kill`] or
    /// [`Self::terminate`].
    pub fn start_again(&mut self) {
        assert!(!self.process.is_running(), "the smsc still runs");
        self.process = serve(self.folder.path(), self.disk.as_ref(), &self.run);
        self.wait_until_ready();
    }

    /// Like [`Self::start_again`], this once with more arguments.
    pub fn start_again_with(&mut self, arguments: &[&str]) {
        self.run.arguments = arguments.iter().map(ToString::to_string).collect();
        self.start_again();
        self.run.arguments.clear();
    }

    /// Like [`Self::start_again`], for a start that is expected to be refused; waits for its end.
    pub fn start_again_in_vain(&mut self) -> ExitStatus {
        assert!(!self.process.is_running(), "the smsc still runs");
        self.process = serve(self.folder.path(), self.disk.as_ref(), &self.run);
        self.process.wait()
    }

    /// Like [`Self::start_again`], for a start that is expected not to become ready.
    pub fn start_again_unready(&mut self) {
        assert!(!self.process.is_running(), "the smsc still runs");
        self.process = serve(self.folder.path(), self.disk.as_ref(), &self.run);
        let smpp = self.smpp();
        until("the smsc to listen", || TcpStream::connect(smpp).ok());
    }

    /// Waits until the operator has this many binds.
    pub fn wait_for_binds(&self, operator: &str, binds: u64) {
        let admin = self.admin();
        until(&format!("{binds} binds to {operator}"), || {
            let answer = admin.try_get(&format!("/v1/operators/{operator}")).ok()?;
            (answer["bound"].as_u64()? >= binds).then_some(())
        });
    }

    /// Waits until a message is final; returns it as the admin API shows it.
    pub fn wait_for_final(&self, id: &str) -> Value {
        let admin = self.admin();
        until(&format!("a final state of message {id}"), || {
            let message = admin.try_get(&format!("/v1/messages/{id}")).ok()?;
            let state = message["state"].as_str()?;
            let is_final = !["ENROUTE", "SCHEDULED"].contains(&state);
            is_final.then(|| message.clone())
        })
    }

    /// Waits until a message is final; the name of its state.
    pub fn final_state(&self, id: &str) -> String {
        let message = self.wait_for_final(id);
        message["state"].as_str().unwrap().to_owned()
    }

    /// When a message expires, in Unix milliseconds.
    pub fn expires_at(&self, id: &str) -> i64 {
        let message = self.admin().get(&format!("/v1/messages/{id}"));
        let text = message["expires_at"].as_str().unwrap();
        let at: jiff::Timestamp = text.parse().unwrap();
        at.as_millisecond()
    }

    /// Waits until the operator's answer to the first attempt is stored.
    pub fn wait_until_sent(&self, id: &str) {
        let admin = self.admin();
        until(&format!("the answer to message {id} to be stored"), || {
            let message = admin.get(&format!("/v1/messages/{id}"));
            message["history"][0]["status"].is_string().then_some(())
        });
    }

    /// Waits until the acknowledgement of a message's receipt is stored: only then no kill brings the receipt again.
    /// Returns the message as the admin API shows it.
    pub fn wait_until_told(&self, id: &str) -> Value {
        let admin = self.admin();
        until(
            &format!("the receipt of message {id} to be settled"),
            || {
                let message = admin.get(&format!("/v1/messages/{id}"));
                (message["final"]["receipt_acknowledged"] == true).then_some(message)
            },
        )
    }

    /// The queue in which a message was last put.
    pub fn queue_of(&self, id: &str) -> String {
        let message = self.admin().get(&format!("/v1/messages/{id}"));
        message["queue"].as_str().unwrap().to_owned()
    }

    /// The call detail records so far.
    pub fn records(&self) -> Vec<Value> {
        let files = std::fs::read_dir(self.data_dir().join("cdr"))
            .into_iter()
            .flatten();
        let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        let text = texts.collect::<String>();
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Fails if any of its threads has panicked.
    pub fn assert_no_panic(&self) {
        let log = self.log();
        assert!(!log.contains("panicked at"), "a panic in the log:\n{log}");
    }

    /// Runs another subcommand of the binary in its folder.
    pub fn run(&self, arguments: &[&str]) -> Finished {
        run(Command::new(super::binary())
            .args(arguments)
            .current_dir(self.folder.path()))
    }

    /// Runs another subcommand of the binary in its folder, with the configuration of this SMSC.
    pub fn command(&self, arguments: &[&str]) -> Finished {
        self.run(&[arguments, &["--config", "smsc.toml"]].concat())
    }

    /// `smsc fsck`, which must find nothing wrong.
    pub fn fsck(&self) -> String {
        let data_dir = self.data_dir();
        let finished = self.run(&["fsck", data_dir.to_str().unwrap()]);
        let said = format!("{}{}", finished.stdout, finished.stderr);
        assert!(finished.success, "fsck is not content:\n{said}");
        said
    }

    fn wait_until_ready(&mut self) {
        let (smpp, admin) = (self.smpp(), self.admin());
        until("the smsc to be ready", || {
            self.process.assert_running();
            if !self.run.without_listener {
                TcpStream::connect(smpp).ok()?;
            }
            admin.try_get("/health/ready").ok()
        });
    }
}
