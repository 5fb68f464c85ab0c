//! A whole SMSC for the tests of its HTTP side: the binary with its own configuration, and short
//! helpers for requests.

// Polling from outside blocks only the test.
#![allow(clippy::disallowed_methods)]

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::free_port;

pub const TOKEN: &str = "change-me";
/// Longest wait for anything that the SMSC does in the background.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running `smsc serve`; killed when dropped.
pub struct System {
    process: Child,
    dir: tempfile::TempDir,
    pub http: u16,
    pub smpp: u16,
}

/// A response: status, headers, body.
pub struct Answer {
    pub status: u16,
    headers: ureq::http::HeaderMap,
    pub body: String,
}

// === impl System ===

impl System {
    /// Starts with an account `test`, an operator `up` where nothing listens, the default route to it,
    /// and `4400…` to the built-in target that delivers.
    pub fn start() -> Self {
        Self::start_with("")
    }

    /// Like [`Self::start`], with more keys of the table `[store]`.
    pub fn start_with(more: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let [http, smpp, nobody] = std::array::from_fn(|_| free_port());
        let config = format!(
            r#"
            data_dir = "{data}"
            [smpp]
            listen = "127.0.0.1:{smpp}"
            [http]
            listen = "127.0.0.1:{http}"
            admin_token = "{TOKEN}"
            [store]
            min_free_mib = 1
            {more}
            [[account]]
            system_id = "test"
            password = "test"
            [[operator]]
            id = "up"
            address = "127.0.0.1:{nobody}"
            system_id = "smsc"
            password = "secret"
            [[route]]
            prefix = ""
            to = ["up"]
            [[route]]
            prefix = "4400"
            to = ["test:delivered"]
            "#,
            data = dir.path().join("data").display(),
        );
        fs::write(dir.path().join("smsc.toml"), config).unwrap();
        let mut system = Self {
            process: serve(dir.path().join("smsc.toml")),
            dir,
            http,
            smpp,
        };
        system.wait_until_live();
        system
    }

    fn wait_until_live(&mut self) {
        let agent = agent();
        let url = self.url("/health/live");
        let until = Instant::now() + PATIENCE;
        while agent.get(&url).call().is_err() {
            let ended = self.process.try_wait().unwrap();
            assert!(ended.is_none(), "smsc serve ended: {ended:?}");
            assert!(Instant::now() < until, "smsc serve is not live");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops it in good order and starts it again.
    pub fn restart(&mut self) {
        assert_eq!(self.stop(), Some(0));
        self.process = serve(self.config());
        self.wait_until_live();
    }

    pub fn config(&self) -> PathBuf {
        self.dir.path().join("smsc.toml")
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.http)
    }

    /// Without a token.
    pub fn get_openly(&self, path: &str) -> Answer {
        Answer::of(agent().get(self.url(path)).call())
    }

    pub fn get(&self, path: &str) -> Answer {
        self.get_with(path, &format!("Bearer {TOKEN}"))
    }

    pub fn get_with(&self, path: &str, authorization: &str) -> Answer {
        let request = agent().get(self.url(path));
        Answer::of(request.header("Authorization", authorization).call())
    }

    pub fn post(&self, path: &str) -> Answer {
        let request = agent().post(self.url(path));
        let request = request.header("Authorization", format!("Bearer {TOKEN}"));
        Answer::of(request.send_empty())
    }

    pub fn delete(&self, path: &str) -> Answer {
        let request = agent().delete(self.url(path));
        let request = request.header("Authorization", format!("Bearer {TOKEN}"));
        Answer::of(request.call())
    }

    /// Repeats the request until the response is as expected.
    pub fn wait_for(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let json = self.get(path).json();
            if wanted(&json) {
                return json;
            }
            assert!(Instant::now() < until, "{path} stays {json:#}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Submits one message as account `test`; returns its id.
    pub fn send(&self, to: &str, text: &str) -> String {
        let host = format!("127.0.0.1:{}", self.smpp);
        let output = run(&[
            "send",
            "--to",
            to,
            "--host",
            &host,
            "--system-id",
            "test",
            "--password",
            "test",
            "--no-receipt",
            text,
        ]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        said.split(|character: char| !character.is_ascii_digit())
            .find(|digits| digits.len() > 15)
            .unwrap_or_else(|| panic!("no message id in {said:?}"))
            .to_owned()
    }

    /// Runs `smsc` with a command and this system's configuration.
    pub fn command(&self, args: &[&str]) -> Output {
        let config = self.config();
        let config = config.to_str().unwrap();
        run(&[args, &["--config", config]].concat())
    }

    /// Sends SIGTERM and returns the exit code.
    pub fn stop(&mut self) -> Option<i32> {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").arg(&id).status().unwrap().success());
        self.process.wait().unwrap().code()
    }
}

impl Drop for System {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

// === impl Answer ===

impl Answer {
    fn of(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Self {
        let mut answer = answer.unwrap();
        Self {
            status: answer.status().as_u16(),
            headers: answer.headers().clone(),
            body: answer.body_mut().read_to_string().unwrap(),
        }
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// Checks that this is problem+json with the status, and returns its detail.
    pub fn problem(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.body);
        assert_eq!(self.header("content-type"), "application/problem+json");
        let json = self.json();
        assert_eq!(json["status"], status);
        for member in ["type", "title"] {
            assert!(json[member].is_string(), "{member} is missing in {json}");
        }
        json["detail"].as_str().unwrap().to_owned()
    }
}

// === helpers ===

/// Starts `smsc serve`; its log is printed if the test fails.
fn serve(config: PathBuf) -> Child {
    Command::new(crate::harness::binary())
        .args(["serve", "--config"])
        .arg(config)
        .env_remove("SMSC_HTTP__ADMIN_TOKEN")
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// Runs `smsc` to its end.
pub fn run(args: &[&str]) -> Output {
    Command::new(crate::harness::binary())
        .args(args)
        .env_remove("SMSC_HTTP__ADMIN_TOKEN")
        .env_remove("SMSC_CONFIG")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .http_status_as_error(false)
        .build()
        .into()
}
