//! Call detail records: one JSON object per finished message, in files that rotate by size and
//! time.
//!
//! A thread of its own writes the files; Receipts only formats records. CDRs are derived from the
//! store: a record lost in a crash can be read from `/v1/messages`.

mod erase;

use std::fs::{File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use crate::actors::context::NodeContext;
use crate::clock;
use crate::config::Config;
use crate::content;
use crate::domain::{address, state};
use crate::files;
use crate::pb::{Final, Message};

pub use erase::Records;
use erase::{Job, is_cdr};

/// Batches that may wait for the disk; beyond that, lines wait in [`Cdr`].
const WAITING: usize = 64;

/// Octets that may wait in addition.
const WAITING_OCTETS: usize = 64 * 1024 * 1024;

/// The part in the Receipts actor, which formats records.
pub struct Cdr {
    lines: Vec<u8>,
    sender: SyncSender<Job>,
    dir: PathBuf,
}

struct Files {
    dir: PathBuf,
    rotate_octets: u64,
    rotate_every: Duration,
    keep: usize,
    mode: u32,
    open: Option<(File, u64, Instant)>,
}

// === impl Cdr ===

impl Cdr {
    /// Creates the folder and starts the writing thread; `None` when CDRs are switched off.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn start(config: &Config) -> std::io::Result<Option<Self>> {
        if !config.cdr.enabled {
            return Ok(None);
        }
        let dir = config.cdr_dir();
        match config.cdr.group_may_read {
            true => std::fs::create_dir_all(&dir)?,
            false => files::own_folder(&dir, &["cdr-"])?,
        }
        let (sender, receiver) = sync_channel(WAITING);
        let files = Files {
            dir: dir.clone(),
            rotate_octets: config.cdr.rotate_mib * 1024 * 1024,
            rotate_every: config.cdr.rotate_every,
            keep: config.cdr.keep as usize,
            mode: if config.cdr.group_may_read {
                0o640
            } else {
                0o600
            },
            open: None,
        };
        std::thread::Builder::new()
            .name("cdr".to_owned())
            .spawn(move || files.run(&receiver))?;
        Ok(Some(Self {
            lines: Vec::new(),
            sender,
            dir,
        }))
    }

    /// Access to the files, to erase a number in them.
    pub fn records(&self) -> Records {
        Records {
            dir: self.dir.clone(),
            writer: self.sender.clone(),
        }
    }

    /// Formats one record.
    pub fn write(&mut self, node: &NodeContext, message: &Message, ended: &Final) {
        let plan = node.plan();
        let out = &mut self.lines;
        // Keys are fixed and numbers need no quoting: a serialiser would cost more than everything else
        // here.
        out.extend_from_slice(b"{\"id\":\"");
        number(out, message.id);
        for (key, name) in [
            ("\",\"sender\":\"", plan.name_of(message.sender)),
            ("\",\"queue\":\"", plan.name_of(message.queue)),
        ] {
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(name.as_bytes());
        }
        out.extend_from_slice(b"\",\"from\":");
        quote(out, &message.source);
        out.extend_from_slice(b",\"to\":");
        quote(out, &message.destination);
        out.extend_from_slice(b",\"accepted_at\":");
        number(out, message.accepted_at);
        out.extend_from_slice(b",\"final_at\":");
        number(out, ended.at);
        for (key, name) in [
            (",\"state\":\"", state::name(ended.state as u8)),
            ("\",\"operator\":\"", plan.name_of(ended.operator)),
        ] {
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(name.as_bytes());
        }
        out.push(b'"');
        for (key, value) in [
            (",\"attempts\":", ended.attempts),
            (",\"data_coding\":", message.data_coding),
            (",\"octets\":", content::payload(message).len() as u32),
            (",\"parts\":", content::parts(message)),
        ] {
            out.extend_from_slice(key.as_bytes());
            number(out, value);
        }
        out.extend_from_slice(b",\"error\":");
        quote(out, &ended.error);
        if ended.done_at != 0 {
            out.extend_from_slice(b",\"done_at\":");
            number(out, ended.done_at);
        }
        if !message.network.is_empty() {
            out.extend_from_slice(b",\"network\":");
            quote(out, message.network.as_bytes());
        }
        if let Some(old) = &message.replay_of {
            out.extend_from_slice(b",\"replay_of\":\"");
            number(out, old.id);
            out.push(b'"');
        }
        out.extend_from_slice(b"}\n");
    }

    /// Hands the formatted lines to the writer.
    pub fn flush(&mut self) {
        if self.lines.is_empty() {
            return;
        }
        let lines = std::mem::take(&mut self.lines);
        self.lines.reserve(lines.len());
        match self.sender.try_send(Job::Write(lines)) {
            Ok(()) => {}
            // The disk is slower than the traffic: the lines wait here for the next flush, up to a
            // limit.
            Err(TrySendError::Full(Job::Write(lines))) if lines.len() < WAITING_OCTETS => {
                self.lines = lines;
            }
            Err(TrySendError::Full(Job::Write(lines))) => {
                tracing::error!(
                    octets = lines.len(),
                    "CDRs dropped: the disk is too slow for them"
                );
            }
            Err(TrySendError::Full(Job::Close(_)) | TrySendError::Disconnected(_)) => {}
        }
    }
}

fn number(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn quote(out: &mut Vec<u8>, octets: &[u8]) {
    if octets
        .iter()
        .all(|octet| octet.is_ascii_graphic() && !matches!(octet, b'"' | b'\\'))
    {
        out.push(b'"');
        out.extend_from_slice(octets);
        out.push(b'"');
    } else {
        let text = address::printable(octets);
        out.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes());
    }
}

// === impl Files ===

impl Files {
    fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            let lines = match job {
                Job::Write(lines) => lines,
                Job::Close(done) => {
                    self.open = None;
                    // The receiver may not wait for the answer.
                    let _ = done.try_send(());
                    continue;
                }
            };
            if let Err(error) = self.append(&lines) {
                tracing::error!(%error, dir = %self.dir.display(), "CDRs could not be written");
                self.open = None;
            }
        }
    }

    fn append(&mut self, lines: &[u8]) -> std::io::Result<()> {
        if self.open.as_ref().is_some_and(|(_, octets, since)| {
            *octets >= self.rotate_octets || since.elapsed() >= self.rotate_every
        }) {
            self.open = None;
        }
        if self.open.is_none() {
            let path = self.dir.join(format!("cdr-{}.jsonl", clock::now_ms()));
            let file = OpenOptions::new()
                .create(true)
                .append(true)
                .mode(0o600)
                .open(path)?;
            // Set explicitly, because the umask restricts the mode above.
            file.set_permissions(Permissions::from_mode(self.mode))?;
            self.open = Some((file, 0, Instant::now()));
            self.drop_oldest()?;
        }
        if let Some((file, octets, _)) = &mut self.open {
            file.write_all(lines)?;
            *octets += lines.len() as u64;
        }
        Ok(())
    }

    /// Names contain the time, so their order is their age.
    fn drop_oldest(&self) -> std::io::Result<()> {
        if self.keep == 0 {
            return Ok(());
        }
        let mut files: Vec<PathBuf> = std::fs::read_dir(&self.dir)?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| is_cdr(path))
            .collect();
        files.sort();
        let surplus = files.len().saturating_sub(self.keep);
        for path in &files[..surplus] {
            std::fs::remove_file(path)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_rotate_by_size_and_the_oldest_go() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut files = Files {
            dir: dir.path().to_owned(),
            rotate_octets: 10,
            rotate_every: Duration::from_secs(3600),
            keep: 2,
            mode: 0o640,
            open: None,
        };
        for _ in 0..5 {
            files.append(b"0123456789\n").expect("written");
            // Names are in milliseconds, so the next file needs a later one.
            let written = clock::now_ms();
            while clock::now_ms() == written {
                std::hint::spin_loop();
            }
        }
        let count = std::fs::read_dir(dir.path()).expect("a folder").count();
        assert_eq!(count, 2);
    }

    #[test]
    fn odd_octets_are_valid_json() {
        let mut out = Vec::new();
        quote(&mut out, b"Caf\xe9 \"x\"");
        let value: serde_json::Value = serde_json::from_slice(&out).expect("valid JSON");
        assert!(value.as_str().is_some_and(|text| text.contains("\"x\"")));
    }
}
