//! The files of the archive: written with a mark, so that a message is in them once whatever is killed.
//!
//! Called by [`super::archive`], one call at a time. A file is `archive-TIME-NODE.jsonl.part` while it is written, and
//! loses `.part` when it is whole: names sort by time, and nothing is written to a file with its final name. Before
//! each write `mark-NODE` says, durably, into which file, from which octet, how many octets, of which messages. So
//! after a kill there are two cases:
//!
//! - The file has all those octets: the messages are there, whether or not their events were finished.
//! - It has fewer: their events are not finished, because that comes after; the rest of the write is cut off.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::series::{FileSeries, NAME, OnDisk, SeriesFile, emptied, names_in};
use crate::clock;
use crate::config::Config;
use crate::domain::moment;
use crate::domain::period::DAY_MS;

/// How the name of a file of messages begins.
const HEAD: &str = "archive-";
/// How the name of one ends that is being written.
const PART: &str = ".part";

/// The files, on a thread that may block.
pub(super) struct ArchiveFiles {
    pub(super) series: FileSeries,
    node: u8,
    extension: &'static str,
    open: Option<OpenArchiveFile>,
}

struct OpenArchiveFile {
    written: SeriesFile,
    /// Its name when it is whole.
    name: String,
    day: i64,
}

/// What was being written.
#[derive(Debug, PartialEq, Eq)]
struct Mark {
    name: String,
    from: u64,
    octets: u64,
    ids: Vec<u64>,
}

// === impl ArchiveFiles ===

impl ArchiveFiles {
    /// Creates the folder.
    ///
    /// # Errors
    /// It cannot be created or written to.
    pub(super) fn start(config: &Config, extension: &'static str) -> io::Result<OnDisk<Self>> {
        let section = &config.archive;
        let series = FileSeries {
            dir: config.archive_dir(),
            rotate_octets: section.rotate_mib * 1024 * 1024,
            rotate_every: section.rotate_every,
            keep: section.keep as usize,
            group_may_read: section.group_may_read,
        };
        let name = series.prepare(&[HEAD, "mark-", NAME], config.node)?;
        let files = Self {
            series,
            node: config.node,
            extension,
            open: None,
        };
        Ok(OnDisk::new(files, name))
    }

    /// Gives an old file its final name, although nothing is written.
    pub(super) fn close_if_over(&mut self) -> io::Result<()> {
        let is_over =
            |open: &OpenArchiveFile| self.series.is_over(&open.written) || open.day != today();
        if self.open.as_ref().is_some_and(is_over) {
            self.close()?;
        }
        Ok(())
    }

    /// Gives the open file its final name.
    pub(super) fn close(&mut self) -> io::Result<()> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        fs::rename(self.part(&open.name), self.series.dir.join(&open.name))?;
        self.series.sync_names()?;
        self.open = None;
        Ok(())
    }

    /// Appends what these messages have become; it is on the disk when this returns. After an error, see
    /// [`ArchiveFiles::recover`].
    pub(super) fn append(&mut self, octets: &[u8], ids: Vec<u64>) -> io::Result<()> {
        self.close_if_over()?;
        // A failure leaves it closed, until `recover` has looked at it.
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.next()?,
        };
        let mark = Mark {
            name: open.name.clone(),
            from: open.written.octets,
            octets: octets.len() as u64,
            ids,
        };
        self.write_mark(&mark)?;
        open.written.append(octets)?;
        self.open = Some(open);
        // A file of Parquet is whole with its footer, which came last.
        match self.extension {
            "jsonl" => Ok(()),
            _ => self.close(),
        }
    }

    /// The next file, empty.
    fn next(&self) -> io::Result<OpenArchiveFile> {
        let now = clock::now_ms();
        // In the order of their age even if the clock was set back.
        let newest = self.own()?.pop();
        let newest = newest.as_deref().and_then(time_of);
        let at = newest.map_or(now, |newest| now.max(newest + 1));
        let name = format!("{HEAD}{}-{}.{}", stamp(at), self.node, self.extension);
        // The mark may only name a file that is there.
        let written = self.series.create(&format!("{name}{PART}"), &[])?;
        self.series.drop_oldest(&self.own()?)?;
        Ok(OpenArchiveFile {
            written,
            name,
            day: today(),
        })
    }

    /// Ends what a kill or a failure has left; tells the messages of the last write, if they are there. Does nothing
    /// the second time.
    pub(super) fn recover(&mut self) -> io::Result<Vec<u64>> {
        self.open = None;
        let mut there = Vec::new();
        if let Some(mark) = self.read_mark()? {
            let part = self.part(&mark.name);
            match OpenOptions::new().write(true).open(&part) {
                Ok(file) if file.metadata()?.len() < mark.from + mark.octets => {
                    file.set_len(mark.from)?;
                    file.sync_all()?;
                    // Else the next look, when the file has its final name, would take this write for a whole one.
                    fs::remove_file(self.mark_path())?;
                    self.series.sync_names()?;
                }
                Ok(file) => {
                    // The write may not have been synced.
                    file.sync_all()?;
                    there = mark.ids;
                }
                // It has its final name, or was taken away since: it is whole.
                Err(error) if error.kind() == io::ErrorKind::NotFound => there = mark.ids,
                Err(error) => return Err(error),
            }
        }
        for name in self.own()? {
            let part = self.part(&name);
            match fs::metadata(&part) {
                Ok(about) if about.len() == 0 => fs::remove_file(&part)?,
                Ok(_) => fs::rename(&part, self.series.dir.join(&name))?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        self.series.sync_names()?;
        Ok(there)
    }

    /// The final names of this node's files, whole or not, the oldest first.
    fn own(&self) -> io::Result<Vec<String>> {
        let node = format!("-{}", self.node);
        let mut names = all(&self.series.dir)?;
        names.retain(|name| {
            let stem = name.split_once('.').map(|(stem, _)| stem);
            stem.is_some_and(|stem| stem.ends_with(&node)) && time_of(name).is_some()
        });
        Ok(names)
    }

    fn part(&self, name: &str) -> PathBuf {
        self.series.dir.join(format!("{name}{PART}"))
    }

    fn mark_path(&self) -> PathBuf {
        self.series.dir.join(format!("mark-{}", self.node))
    }

    fn write_mark(&self, mark: &Mark) -> io::Result<()> {
        let path = self.mark_path();
        let anew = path.with_extension("anew");
        let mut file = emptied(&anew)?;
        file.write_all(mark.text().as_bytes())?;
        file.sync_all()?;
        fs::rename(anew, path)?;
        self.series.sync_names()
    }

    fn read_mark(&self) -> io::Result<Option<Mark>> {
        let text = match fs::read_to_string(self.mark_path()) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let unreadable = || io::Error::other(format!("{} is damaged", self.mark_path().display()));
        Mark::of(&text).map(Some).ok_or_else(unreadable)
    }
}

/// The final names of all files of messages in a folder, whole or not, the oldest first.
pub(super) fn all(dir: &Path) -> io::Result<Vec<String>> {
    let names = names_in(dir)?;
    let whole = names
        .iter()
        .map(|name| name.strip_suffix(PART).unwrap_or(name));
    let ours = whole.filter(|name| {
        (name.ends_with(".jsonl") || name.ends_with(".parquet")) && name.starts_with(HEAD)
    });
    let mut names: Vec<String> = ours.map(str::to_owned).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

fn today() -> i64 {
    clock::now_ms().div_euclid(DAY_MS)
}

/// A time as part of a name: `20261125T165301123Z`.
fn stamp(ms: i64) -> String {
    let text = moment::text(ms);
    text.chars().filter(|sign| !"-:.".contains(*sign)).collect()
}

/// The time in a name.
fn time_of(name: &str) -> Option<i64> {
    let stamp = name.strip_prefix(HEAD)?.split('-').next()?;
    let part = |from: usize, to: usize| stamp.get(from..to);
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute) = (part(9, 11)?, part(11, 13)?);
    let (second, millis) = (part(13, 15)?, part(15, 18)?);
    moment::parse(&format!(
        "{year}-{month}-{day}T{hour}:{minute}:{second}.{millis}Z"
    ))
}

// === impl Mark ===

impl Mark {
    fn text(&self) -> String {
        let Self {
            name,
            from,
            octets,
            ids,
        } = self;
        let mut text = format!("{name} {from} {octets}\n");
        for id in ids {
            text.push_str(&id.to_string());
            text.push('\n');
        }
        text
    }

    fn of(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let mut head = lines.next()?.split(' ');
        Some(Self {
            name: head.next()?.to_owned(),
            from: head.next()?.parse().ok()?,
            octets: head.next()?.parse().ok()?,
            ids: lines.map(|line| line.parse().ok()).collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Duration;

    use super::*;

    fn files(dir: &Path, extension: &'static str) -> ArchiveFiles {
        let series = FileSeries {
            dir: dir.to_owned(),
            rotate_octets: 10,
            rotate_every: Duration::from_secs(3600),
            keep: 0,
            group_may_read: true,
        };
        ArchiveFiles {
            series,
            node: 1,
            extension,
            open: None,
        }
    }

    fn text(files: &ArchiveFiles) -> String {
        let dir = &files.series.dir;
        let names = all(dir).expect("a folder");
        let read = |name: &String| fs::read_to_string(dir.join(name)).expect("whole");
        names.iter().map(read).collect()
    }

    #[test]
    fn what_a_kill_cuts_off_is_not_there_and_what_is_whole_is() {
        // Killed after so many octets of the second write.
        for octets in 0..=4_u64 {
            let dir = tempfile::tempdir().expect("a folder");
            let mut before = files(dir.path(), "jsonl");
            before.append(b"one\n", vec![1]).expect("written");
            before.append(b"two\n", vec![2, 3]).expect("written");
            let open = before.open.take().expect("open");
            open.written.file.set_len(4 + octets).expect("cut");
            let mut after = files(dir.path(), "jsonl");
            let there = after.recover().expect("recovered");
            match octets {
                4 => assert_eq!((text(&after).as_str(), there), ("one\ntwo\n", vec![2, 3])),
                _ => assert_eq!((text(&after).as_str(), there), ("one\n", vec![])),
            }
            // Another look, as after another start before the next write, says the same.
            let again = after.recover().expect("recovered");
            let whole = if octets == 4 { vec![2, 3] } else { vec![] };
            assert_eq!(again, whole, "{octets}");
            after.append(b"six\n", vec![6]).expect("written");
            after.close().expect("closed");
            assert!(text(&after).ends_with("one\nsix\n") || text(&after).ends_with("two\nsix\n"));
        }
    }

    #[test]
    fn a_mark_of_a_write_that_did_not_begin_counts_for_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let before = files(dir.path(), "jsonl");
        let open = before.next().expect("a file");
        let mark = Mark {
            name: open.name.clone(),
            from: 0,
            octets: 4,
            ids: vec![1],
        };
        before.write_mark(&mark).expect("written");
        assert_eq!(before.read_mark().expect("read"), Some(mark));
        let mut after = files(dir.path(), "jsonl");
        assert!(after.recover().expect("recovered").is_empty());
        assert_eq!(all(dir.path()).expect("a folder").len(), 0);
    }

    #[test]
    fn a_file_that_was_taken_away_was_whole() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut files = files(dir.path(), "parquet");
        files.append(b"PAR1", vec![7]).expect("written");
        let name = all(dir.path()).expect("a folder").pop().expect("a file");
        fs::remove_file(dir.path().join(name)).expect("whole at once");
        assert_eq!(files.recover().expect("recovered"), [7]);
    }

    #[test]
    fn a_number_goes_from_what_a_failed_write_has_left() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut files = files(dir.path(), "jsonl");
        let row = "{\"source\":\"a\",\"destination\":\"447700900123\"}\n";
        files.append(row.as_bytes(), vec![1]).expect("written");
        files.open = None;
        let erased = super::super::archive_erase::erase(&mut files, b"447700900123");
        assert_eq!(erased.expect("erased"), 1);
        assert!(!text(&files).contains("447700900123"), "{}", text(&files));
        assert_eq!(files.recover().expect("recovered"), [1]);
    }

    #[test]
    fn files_rotate_by_size_and_sort_by_time() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut files = files(dir.path(), "jsonl");
        for at in 0..3 {
            files.append(b"0123456789\n", vec![at]).expect("written");
        }
        files.close().expect("closed");
        let names = all(dir.path()).expect("a folder");
        assert_eq!(names.len(), 3);
        let times: Vec<_> = names.iter().map(|name| time_of(name)).collect();
        assert!(times.is_sorted() && times[0].is_some(), "{names:?}");
        let mode = fs::metadata(dir.path().join(&names[0])).expect("there");
        assert_eq!(mode.permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn the_oldest_go_where_only_some_are_kept() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut files = files(dir.path(), "jsonl");
        files.series.keep = 2;
        for at in 0..5 {
            files.append(b"0123456789\n", vec![at]).expect("written");
        }
        assert_eq!(all(dir.path()).expect("a folder").len(), 2);
    }
}
