//! The desk of an administrator: an SMSC, the operators that it binds to, and the two ways to command it.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::console::pictures;
use crate::harness::{
    self, Admin, Peer, Simulator, Smsc, SmscBuilder, browser_script, run, submit_quietly, until,
};

const DAY: Duration = Duration::from_secs(86_400);

pub struct Desk {
    pub smsc: Smsc,
    /// The script of tests/clients that does its tasks in the console.
    script: &'static str,
    /// The operator `up`, once it was added.
    pub up: Simulator,
    /// The operator `backup`, once a task needs it.
    pub backup: Option<Simulator>,
    /// Messages that the task under way is about.
    pub ids: Vec<String>,
    /// Sees that the node is not ready for a while.
    pub watch: Option<std::thread::JoinHandle<bool>>,
    /// Commands so far.
    pub commands: u64,
}

// === impl Desk ===

impl Desk {
    /// With this SMSC, whose tasks in the console are in `script`.
    pub fn open(smsc: SmscBuilder, script: &'static str) -> Self {
        Self {
            smsc: smsc.start(),
            script,
            up: Simulator::new().flags("--password old").start(),
            backup: None,
            ids: Vec::new(),
            watch: None,
            commands: 0,
        }
    }

    pub fn admin(&self) -> Admin {
        self.smsc.admin()
    }

    /// One command of the administrator; what it prints.
    pub fn tell(&mut self, words: &[&str]) -> String {
        self.told(&[words, &["--config", "smsc.toml"]].concat())
    }

    /// One command of the administrator that takes no configuration; what it prints.
    pub fn told(&mut self, words: &[&str]) -> String {
        self.commands += 1;
        let mut command = Command::new(harness::binary());
        let done = run(command.args(words).current_dir(self.smsc.file("")));
        assert!(done.success, "{words:?}: {}{}", done.stdout, done.stderr);
        done.stdout
    }

    /// What a step of its script reports.
    pub fn step(&self, step: &str, known: &Value) -> Value {
        let pictures = pictures();
        let folder = tempfile::tempdir().unwrap();
        let base = format!("http://{}/", self.smsc.http());
        let (admin, known) = (self.admin(), known.to_string());
        let arguments = [
            step,
            &base,
            admin.token(),
            pictures.to_str().unwrap(),
            &known,
        ];
        let mut script = browser_script(self.script, &arguments, folder.path());
        let done = run(&mut script);
        assert!(done.success, "{step}: {}{}", done.stdout, done.stderr);
        let mut events = done.stdout.lines().map(serde_json::from_str::<Value>);
        events
            .find_map(|event| event.ok().filter(|event| event["event"] == "task"))
            .unwrap_or_else(|| panic!("{step}: {}", done.stdout))
    }

    /// Submits messages without receipts.
    pub fn submit(&self, account: &str, numbers: &[String]) -> Vec<String> {
        let mut esme = Peer::bind(self.smsc.smpp(), account, "pw");
        let ids = numbers.iter().map(|to| submit_to(&mut esme, to)).collect();
        esme.unbind();
        ids
    }

    /// Waits until all that the task is about are final; as the admin API shows them.
    pub fn ends(&self) -> Vec<Value> {
        let ids = self.ids.iter();
        ids.map(|id| self.smsc.wait_for_final(id)).collect()
    }

    /// The operator `up` becomes another one at the same address.
    pub fn replace_up(&mut self, flags: &str) {
        self.up.kill();
        let admin = self.admin();
        until("the bind to be lost", || {
            (admin.get("/v1/operators/up")["bound"] == 0).then_some(())
        });
        self.up.set_flags(flags);
        self.up.start_again();
    }

    /// The operator `up` becomes another one at the same address, and is bound at once.
    pub fn replace_and_bind_up(&mut self, flags: &str) {
        self.replace_up(flags);
        let (status, said) = self.admin().post("/v1/operators/up/rebind");
        assert_eq!(status, 202, "{said}");
        self.smsc.wait_for_binds("up", 1);
    }
}

/// An SMSC with no account, no operator, and one route that leads nowhere.
pub fn empty() -> SmscBuilder {
    Smsc::new()
        .route("999", "test:failed")
        .toml("[usage]\nenabled = true\n[retry]\ndelays = [\"1h\"]")
}

/// So many telephone numbers with this beginning.
pub fn numbers(beginning: &str, count: usize) -> Vec<String> {
    (0..count)
        .map(|number| format!("{beginning}{number:03}"))
        .collect()
}

/// Submits a message without a receipt; its id.
pub fn submit_to(esme: &mut Peer, to: &str) -> String {
    esme.submit(submit_quietly(to, "hello"))
}

pub fn now() -> jiff::Timestamp {
    jiff::Timestamp::from_millisecond(smsc::clock::now_ms()).unwrap()
}

/// So many days ago, as a day.
pub fn days_ago(days: u32) -> String {
    (now() - DAY * days).strftime("%Y-%m-%d").to_string()
}
