//! Child processes: output to a file, signals, and a guaranteed end.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use super::until;

/// Lines of a log that are printed when a test fails.
const LINES_SHOWN: usize = 80;

/// A running process; killed when dropped.
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

/// The result of a process that has ended.
#[derive(Debug)]
pub struct Finished {
    pub success: bool,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

// === impl Process ===

impl Process {
    /// Starts `command`; appends both outputs to `log`.
    pub fn start(name: &str, mut command: Command, log: &Path) -> Self {
        let output = File::options().create(true).append(true).open(log).unwrap();
        let child = command
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .spawn()
            .unwrap_or_else(|error| panic!("{name} cannot be started ({command:?}): {error}"));
        Self {
            name: name.to_owned(),
            child,
            log: log.to_owned(),
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its output so far.
    pub fn log(&self) -> String {
        fs::read(&self.log)
            .map(|octets| String::from_utf8_lossy(&octets).into_owned())
            .unwrap_or_default()
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Panics with its log if it has ended.
    pub fn assert_running(&mut self) {
        if let Some(status) = self.child.try_wait().unwrap() {
            panic!("{} ended with {status}:\n{}", self.name, self.log());
        }
    }

    /// Sends a signal by name: TERM, HUP, STOP, CONT.
    pub fn signal(&self, name: &str) {
        let status = Command::new("sh")
            .args(["-c", "kill -s \"$0\" \"$1\"", name, &self.id().to_string()])
            .status()
            .unwrap();
        assert!(status.success(), "{} did not take SIG{name}", self.name);
    }

    /// Sends SIGKILL, and waits until it has ended.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits until it ends by itself.
    pub fn wait(&mut self) -> ExitStatus {
        until(&format!("the end of {}", self.name), || {
            self.child.try_wait().unwrap()
        })
    }

    /// Sends SIGTERM, and waits until it ends.
    pub fn terminate(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.wait()
    }

    /// A field of /proc/PID/status in KiB, as `VmRSS`.
    pub fn memory_kib(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
            .unwrap_or_else(|| panic!("no {field} in {status}"));
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            let shown = &lines[lines.len().saturating_sub(LINES_SHOWN)..];
            eprintln!(
                "--- last lines of {} ---\n{}\n---",
                self.name,
                shown.join("\n")
            );
        }
    }
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Finished {
    finish(command.stdin(Stdio::null()))
}

/// Runs a command that reads this file as its standard input to its end.
pub fn run_reading(command: &mut Command, input: &Path) -> Finished {
    let file = File::open(input).unwrap_or_else(|error| panic!("{}: {error}", input.display()));
    finish(command.stdin(file))
}

fn finish(command: &mut Command) -> Finished {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"));
    Finished {
        success: output.status.success(),
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
