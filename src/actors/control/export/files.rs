//! The files of call detail records: appended, synced, rotated by size and time, on a thread of their own.
//!
//! Guarantees that a write that is answered is on the disk, that a write that fails leaves nothing behind, and
//! that after a crash the ids at the end of the files tell what was written. Only the newest file is written to:
//! older ones may be moved away.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::record;
use crate::clock;
use crate::config::{CdrFormat, Config};
use crate::files;

/// Jobs that may wait for the disk.
const WAITING: usize = 4;
/// Octets at the end of the files whose records may have been written without being finished in the store: far
/// more than a batch has.
const TAIL: u64 = 16 * 1024 * 1024;
/// In the folder: its name for the store, by which it knows the folder again after a restart.
pub(super) const NAME: &str = "folder-id";

/// Jobs of the writing thread.
pub(super) enum RecordFileJob {
    /// Append lines.
    Write(Vec<u8>, oneshot::Sender<io::Result<()>>),
    /// Cut a torn line off, and tell the ids at the end.
    Tail(oneshot::Sender<io::Result<Vec<u64>>>),
    /// Close the open file; later lines go into a new one.
    Close(SyncSender<()>),
}

/// The files, for whoever writes them.
pub(super) struct CdrFiles {
    pub(super) writer: SyncSender<RecordFileJob>,
    pub(super) dir: PathBuf,
    /// Names the folder in the store.
    pub(super) name: String,
}

struct RecordFiles {
    dir: PathBuf,
    format: CdrFormat,
    rotate_octets: u64,
    rotate_every: Duration,
    keep: usize,
    mode: u32,
    open: Option<OpenRecordFile>,
}

struct OpenRecordFile {
    file: File,
    octets: u64,
    since: Instant,
}

// === impl CdrFiles ===

impl CdrFiles {
    /// Creates the folder and starts the writing thread.
    ///
    /// # Errors
    /// The folder cannot be created or written to.
    pub(super) fn start(config: &Config) -> io::Result<Self> {
        let dir = config.cdr_dir();
        if config.cdr.group_may_read {
            fs::create_dir_all(&dir)?;
        } else {
            files::own_folder(&dir, &["cdr-", NAME])?;
        }
        let name = name_of(&dir, config.node)?;
        let (writer, jobs) = sync_channel(WAITING);
        let files = RecordFiles {
            dir: dir.clone(),
            format: config.cdr.format,
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
            .spawn(move || files.run(&jobs))?;
        Ok(Self { writer, dir, name })
    }

    /// Appends lines; they are on the disk when this returns.
    pub(super) async fn write(&self, lines: Vec<u8>) -> io::Result<()> {
        self.ask(|done| RecordFileJob::Write(lines, done)).await
    }

    /// The ids of the records that were written last.
    pub(super) async fn tail(&self) -> io::Result<Vec<u64>> {
        self.ask(RecordFileJob::Tail).await
    }

    async fn ask<T>(
        &self,
        job: impl FnOnce(oneshot::Sender<io::Result<T>>) -> RecordFileJob,
    ) -> io::Result<T> {
        let (done, answer) = oneshot::channel();
        let gone = || io::Error::other("the thread that writes the files has ended");
        self.writer.try_send(job(done)).map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }
}

/// The name of a folder, and of the node that writes in it: two nodes may use one.
pub(super) fn name_of(dir: &Path, node: u8) -> io::Result<String> {
    let path = dir.join(NAME);
    let folder = match fs::read_to_string(&path) {
        Ok(folder) if !folder.trim().is_empty() => folder.trim().to_owned(),
        Ok(_) => new_name(&path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => new_name(&path)?,
        Err(error) => return Err(error),
    };
    Ok(format!("{folder}:{node}"))
}

fn new_name(path: &Path) -> io::Result<String> {
    let name = format!("{:032x}", rand::random::<u128>());
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path)?;
    // A whole line, for programs that read all files of the folder as one text.
    writeln!(file, "{name}")?;
    file.sync_all()?;
    Ok(name)
}

// === impl RecordFiles ===

impl RecordFiles {
    fn run(mut self, jobs: &Receiver<RecordFileJob>) {
        // Whoever waits for an answer may have gone away.
        while let Ok(job) = jobs.recv() {
            match job {
                RecordFileJob::Write(lines, done) => drop(done.send(self.append(&lines))),
                RecordFileJob::Tail(done) => drop(done.send(self.tail())),
                RecordFileJob::Close(done) => {
                    self.open = None;
                    let _ = done.try_send(());
                }
            }
        }
    }

    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let is_over = |open: &OpenRecordFile| {
            open.octets >= self.rotate_octets || open.since.elapsed() >= self.rotate_every
        };
        if self.open.as_ref().is_some_and(is_over) {
            self.open = None;
        }
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.next()?,
        };
        let written = open
            .file
            .write_all(lines)
            .and_then(|()| open.file.sync_data());
        if let Err(error) = written {
            // These records are written again, into another file.
            open.file.set_len(open.octets)?;
            open.file.sync_data()?;
            return Err(error);
        }
        open.octets += lines.len() as u64;
        self.open = Some(open);
        Ok(())
    }

    /// The next file, empty but for its header.
    fn next(&self) -> io::Result<OpenRecordFile> {
        // Names are times, and in the order of their age even if the clock was set back.
        let newest = all(&self.dir)?.pop();
        let after = newest
            .as_deref()
            .and_then(number)
            .map_or(0, |last| last + 1);
        let number = after.max(clock::now_ms().unsigned_abs());
        let path = self.dir.join(format!("cdr-{number}.{}", self.extension()));
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(path)?;
        // Set explicitly, because the umask restricts the mode above.
        file.set_permissions(Permissions::from_mode(self.mode))?;
        let header = match self.format {
            CdrFormat::Csv => record::CSV_HEADER,
            CdrFormat::Jsonl | CdrFormat::Table => &[],
        };
        file.write_all(header)?;
        // The name of the file is as durable as its records.
        File::open(&self.dir)?.sync_all()?;
        self.drop_oldest()?;
        Ok(OpenRecordFile {
            file,
            octets: header.len() as u64,
            since: Instant::now(),
        })
    }

    fn extension(&self) -> &'static str {
        match self.format {
            CdrFormat::Csv => "csv",
            CdrFormat::Jsonl | CdrFormat::Table => "jsonl",
        }
    }

    fn drop_oldest(&self) -> io::Result<()> {
        if self.keep == 0 {
            return Ok(());
        }
        let files = all(&self.dir)?;
        let surplus = files.len().saturating_sub(self.keep);
        for path in &files[..surplus] {
            fs::remove_file(path)?;
        }
        Ok(())
    }

    /// Cuts off what a crash has left of a line, and reads the ids of the newest files.
    fn tail(&mut self) -> io::Result<Vec<u64>> {
        self.open = None;
        let (mut ids, mut left) = (Vec::new(), TAIL);
        for (age, path) in all(&self.dir)?.iter().rev().enumerate() {
            if left == 0 {
                break;
            }
            let mut file = OpenOptions::new().read(true).write(true).open(path)?;
            let length = file.seek(SeekFrom::End(0))?;
            let from = length.saturating_sub(left);
            left = left.saturating_sub(length);
            let mut octets = Vec::new();
            file.seek(SeekFrom::Start(from))?;
            file.read_to_end(&mut octets)?;
            let whole = octets.iter().rposition(|octet| *octet == b'\n');
            let whole = whole.map_or(0, |at| at + 1);
            if age == 0 && whole < octets.len() {
                file.set_len(from + whole as u64)?;
                file.sync_data()?;
            }
            let lines = octets[..whole].split(|octet| *octet == b'\n');
            ids.extend(lines.filter_map(record::id_of));
        }
        Ok(ids)
    }
}

/// All files of records in a folder, the oldest first.
pub(super) fn all(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if number(&path).is_some() {
            files.push(path);
        }
    }
    files.sort_by_key(|path| number(path));
    Ok(files)
}

/// The number in the name of a file of records; `None` for another file.
fn number(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?.strip_prefix("cdr-")?;
    let digits = name
        .strip_suffix(".jsonl")
        .or_else(|| name.strip_suffix(".csv"))?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(dir: &Path) -> RecordFiles {
        RecordFiles {
            dir: dir.to_owned(),
            format: CdrFormat::Jsonl,
            rotate_octets: 10,
            rotate_every: Duration::from_secs(3600),
            keep: 2,
            mode: 0o640,
            open: None,
        }
    }

    #[test]
    fn files_rotate_by_size_and_the_oldest_go() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut files = files(dir.path());
        for _ in 0..5 {
            files.append(b"0123456789\n").expect("written");
        }
        assert_eq!(all(dir.path()).expect("a folder").len(), 2);
    }

    #[test]
    fn a_torn_line_is_cut_off_and_the_ids_before_it_are_known() {
        let dir = tempfile::tempdir().expect("a folder");
        let (older, newest) = (
            dir.path().join("cdr-9.jsonl"),
            dir.path().join("cdr-10.csv"),
        );
        fs::write(&older, "{\"id\":\"1\",\"to\":\"44\"}\n").expect("written");
        let header = String::from_utf8_lossy(record::CSV_HEADER);
        fs::write(&newest, format!("{header}2,a\r\n3,b\r\n4,torn")).expect("written");
        let mut files = files(dir.path());
        let mut ids = files.tail().expect("read");
        ids.sort_unstable();
        assert_eq!(ids, [1, 2, 3]);
        let left = fs::read_to_string(&newest).expect("read");
        assert_eq!(left, format!("{header}2,a\r\n3,b\r\n"));
        files.append(b"{\"id\":\"5\"}\n").expect("written");
        assert_eq!(fs::read_to_string(&newest).expect("read"), left);
        assert!(files.tail().expect("read").contains(&5));
    }

    #[test]
    fn a_folder_keeps_its_name() {
        let dir = tempfile::tempdir().expect("a folder");
        let name = name_of(dir.path(), 1).expect("named");
        assert_eq!(name_of(dir.path(), 1).expect("named"), name);
        assert_ne!(name_of(dir.path(), 2).expect("named"), name);
    }
}
