//! `smsc simulate` as an operator, with a journal of the messages that it accepted.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use tempfile::TempDir;

use super::{Process, free_port, until};

/// A simulated operator, running or not started yet.
pub struct Simulator {
    // Dropped before its folder, which contains its log.
    process: Option<Process>,
    port: u16,
    flags: Vec<String>,
    folder: TempDir,
}

/// A line of its journal: one accepted message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalLine {
    pub id: String,
    pub destination: String,
    /// The beginning of the text; octets that are not printable ASCII as `\xNN`.
    pub text: String,
    /// user_message_reference, if the message had one.
    pub reference: Option<u32>,
}

// === impl Simulator ===

impl Simulator {
    /// A healthy operator that is not started yet.
    pub fn new() -> Self {
        Self {
            process: None,
            port: free_port(),
            flags: Vec::new(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Adds flags of `smsc simulate`, separated by blanks.
    pub fn flags(mut self, flags: &str) -> Self {
        self.flags
            .extend(flags.split_whitespace().map(str::to_owned));
        self
    }

    /// Replaces its flags, for the next start.
    pub fn set_flags(&mut self, flags: &str) {
        self.flags = flags.split_whitespace().map(str::to_owned).collect();
    }

    /// Starts it and waits until it listens.
    pub fn start(mut self) -> Self {
        self.start_again();
        self
    }

    /// Starts it, on the same port and with a new journal.
    pub fn start_again(&mut self) {
        assert!(self.process.is_none(), "the simulator runs already");
        let mut command = Command::new(super::binary());
        command
            .args(["simulate", "--journal", "journal", "--listen"])
            .arg(self.address().to_string())
            .args(&self.flags)
            .current_dir(self.folder.path());
        let log = self.folder.path().join("simulate.log");
        let mut process = Process::start("smsc simulate", command, &log);
        until("the simulated operator to listen", || {
            process.assert_running();
            TcpStream::connect(self.address()).ok()
        });
        self.process = Some(process);
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Its address, even while it is down.
    pub fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    /// The messages accepted since it was started, as far as the file has them.
    pub fn journal(&self) -> Vec<JournalLine> {
        let text = fs::read_to_string(self.folder.path().join("journal")).unwrap_or_default();
        // The last line may be incomplete.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(JournalLine::read).collect()
    }

    /// Waits until the journal has this many lines.
    pub fn wait_for(&self, messages: usize) -> Vec<JournalLine> {
        until(&format!("{messages} messages at the operator"), || {
            let journal = self.journal();
            (journal.len() >= messages).then_some(journal)
        })
    }
}

// === impl JournalLine ===

impl JournalLine {
    fn read(line: &str) -> Self {
        let columns: Vec<&str> = line.split('\t').collect();
        let [id, destination, text, _unix_ms, reference] = columns[..] else {
            panic!("not a journal line: {line:?}");
        };
        Self {
            id: id.to_owned(),
            destination: destination.to_owned(),
            text: text.to_owned(),
            reference: reference.parse().ok(),
        }
    }
}
