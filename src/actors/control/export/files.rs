//! The files of call detail records: appended, synced, rotated by size and time.
//!
//! Guarantees that a write that is answered is on the disk, that a write that fails leaves nothing behind, and
//! that after a crash the ids at the end of the files tell what was written. Only the newest file is written to:
//! older ones may be moved away.

use std::fs::OpenOptions;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::record;
use super::series::{FileSeries, NAME, OnDisk, SeriesFile, names_in};
use crate::clock;
use crate::config::{CdrFormat, Config};

/// Octets at the end of the files whose records may have been written without being finished in the store: far
/// more than a batch has.
const TAIL: u64 = 16 * 1024 * 1024;
/// The files, on a thread that may block.
pub(super) struct RecordFiles {
    pub(super) series: FileSeries,
    format: CdrFormat,
    /// Without it, lines go into a new file.
    pub(super) open: Option<SeriesFile>,
}

// === impl RecordFiles ===

impl RecordFiles {
    /// Creates the folder.
    ///
    /// # Errors
    /// It cannot be created or written to.
    pub(super) fn start(config: &Config) -> io::Result<OnDisk<Self>> {
        let section = &config.cdr;
        let series = FileSeries {
            dir: config.cdr_dir(),
            rotate_octets: section.rotate_mib * 1024 * 1024,
            rotate_every: section.rotate_every,
            keep: section.keep as usize,
            group_may_read: section.group_may_read,
        };
        let name = series.prepare(&["cdr-", NAME], config.node)?;
        let files = Self {
            series,
            format: section.format,
            open: None,
        };
        Ok(OnDisk::new(files, name))
    }

    /// Appends lines; they are on the disk when this returns.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let open = self.open.take();
        let mut open = match open.filter(|open| !self.series.is_over(open)) {
            Some(open) => open,
            None => self.next()?,
        };
        if let Err(error) = open.append(lines) {
            // These records are written again, into another file.
            open.file.set_len(open.octets)?;
            open.file.sync_data()?;
            return Err(error);
        }
        self.open = Some(open);
        Ok(())
    }

    /// The next file, empty but for its header.
    fn next(&self) -> io::Result<SeriesFile> {
        // Names are times, and in the order of their age even if the clock was set back.
        let newest = all(&self.series.dir)?.pop();
        let after = newest
            .as_deref()
            .and_then(number)
            .map_or(0, |last| last + 1);
        let number = after.max(clock::now_ms().unsigned_abs());
        let (extension, header) = match self.format {
            CdrFormat::Csv => ("csv", record::CSV_HEADER),
            CdrFormat::Jsonl | CdrFormat::Table => ("jsonl", &[][..]),
        };
        let name = format!("cdr-{number}.{extension}");
        let file = self.series.create(&name, header)?;
        self.series.drop_oldest(&all(&self.series.dir)?)?;
        Ok(file)
    }

    /// Cuts off what a crash has left of a line, and reads the ids of the newest files.
    pub(super) fn tail(&mut self) -> io::Result<Vec<u64>> {
        self.open = None;
        let (mut ids, mut left) = (Vec::new(), TAIL);
        let dir = &self.series.dir;
        for (age, name) in all(dir)?.iter().rev().enumerate() {
            if left == 0 {
                break;
            }
            let path = dir.join(name);
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

/// The names of all files of records in a folder, the oldest first.
pub(super) fn all(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = names_in(dir)?;
    names.retain(|name| number(name).is_some());
    names.sort_by_key(|name| number(name));
    Ok(names)
}

/// The number in the name of a file of records; `None` for another file.
fn number(name: &str) -> Option<u64> {
    let name = name.strip_prefix("cdr-")?;
    let digits = name
        .strip_suffix(".jsonl")
        .or_else(|| name.strip_suffix(".csv"))?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    fn files(dir: &Path) -> RecordFiles {
        let series = FileSeries {
            dir: dir.to_owned(),
            rotate_octets: 10,
            rotate_every: Duration::from_secs(3600),
            keep: 2,
            group_may_read: true,
        };
        RecordFiles {
            series,
            format: CdrFormat::Jsonl,
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
}
