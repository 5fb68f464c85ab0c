//! Erases a number from the call detail records of this node.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};

use crate::domain::address::normalise;
use crate::store::archive::ERASED;

/// The keys before an address in a record.
const ADDRESSES: [&[u8]; 2] = [b"\"from\":\"", b"\"to\":\""];

/// Jobs of the writing thread.
#[derive(Debug)]
pub(crate) enum Job {
    /// Append lines to the open file.
    Write(Vec<u8>),
    /// Close the open file; later lines go into a new one.
    Close(SyncSender<()>),
}

/// The record files, for erasing a number.
#[derive(Debug, Clone)]
pub struct Records {
    pub(super) dir: PathBuf,
    pub(super) writer: SyncSender<Job>,
}

// === impl Records ===

impl Records {
    /// Replaces an address (digits, without a plus) in every record by the text that the store puts in
    /// its place; returns the number of records. Blocks while it reads all files.
    ///
    /// # Errors
    /// A file cannot be read or written; files that were done before stay erased.
    pub fn erase(&self, digits: &[u8]) -> io::Result<u64> {
        // New records go to another file, so this one can be rewritten.
        let (done, closed) = sync_channel(1);
        if self.writer.send(Job::Close(done)).is_ok() {
            let _ = closed.recv();
        }
        let mut erased = 0;
        for entry in fs::read_dir(&self.dir)? {
            let path = entry?.path();
            if is_cdr(&path) {
                erased += match erase_in(&path, digits) {
                    // Rotation has deleted it.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
                    erased => erased?,
                };
            }
        }
        Ok(erased)
    }
}

pub(super) fn is_cdr(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with("cdr-") && name.ends_with(".jsonl"))
}

/// Rewrites a file if the address is in it, with the same name, age and mode.
fn erase_in(path: &Path, digits: &[u8]) -> io::Result<u64> {
    let erased = each_line(path, digits, &mut io::sink())?;
    if erased == 0 {
        return Ok(0);
    }
    let about = fs::metadata(path)?;
    let mut anew = path.to_owned().into_os_string();
    anew.push(".anew");
    let anew = PathBuf::from(anew);
    let result = write_anew(path, &anew, digits, &about);
    if result.is_err() {
        let _ = fs::remove_file(&anew);
    }
    result
}

fn write_anew(path: &Path, anew: &Path, digits: &[u8], about: &fs::Metadata) -> io::Result<u64> {
    let file = File::create(anew)?;
    file.set_permissions(about.permissions())?;
    let mut out = BufWriter::new(&file);
    let erased = each_line(path, digits, &mut out)?;
    out.flush()?;
    drop(out);
    file.set_modified(about.modified()?)?;
    file.sync_all()?;
    fs::rename(anew, path)?;
    Ok(erased)
}

/// Copies the lines without the address; returns how many had it.
fn each_line(path: &Path, digits: &[u8], out: &mut impl io::Write) -> io::Result<u64> {
    let mut lines = BufReader::with_capacity(256 * 1024, File::open(path)?);
    let (mut line, mut erased) = (Vec::new(), 0);
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            return Ok(erased);
        }
        erased += u64::from(erase_address(&mut line, digits));
        out.write_all(&line)?;
    }
}

/// Erases the address in a record; returns whether it was there.
fn erase_address(line: &mut Vec<u8>, digits: &[u8]) -> bool {
    let mut was_there = false;
    for key in ADDRESSES {
        let Some(at) = line.windows(key.len()).position(|part| part == key) else {
            continue;
        };
        let start = at + key.len();
        let end = line[start..].iter().position(|octet| *octet == b'"');
        let end = end.map_or(line.len(), |length| start + length);
        if normalise(&line[start..end]) == digits {
            line.splice(start..end, ERASED.iter().copied());
            was_there = true;
        }
    }
    was_there
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_address_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cdr-1.jsonl");
        let text = "{\"id\":\"447700900123\",\"from\":\"ACME\",\"to\":\"447700900123\",\"error\":\"\"}\n\
                    {\"id\":\"2\",\"from\":\"+447700900123\",\"to\":\"4477009001234\"}\n\
                    {\"id\":\"3\",\"from\":\"Caf\\u00e9 \\\"x\\\"\",\"to\":\"44\"}\nhalf a li";
        fs::write(&path, text).unwrap();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let (writer, jobs) = sync_channel(1);
        drop(jobs);
        let records = Records {
            dir: folder.path().to_owned(),
            writer,
        };
        assert_eq!(records.erase(b"447700900123").unwrap(), 2);
        let expected = text
            .replace("\"to\":\"447700900123\"", "\"to\":\"(erased)\"")
            .replace("\"from\":\"+447700900123\"", "\"from\":\"(erased)\"");
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), modified);
        assert_eq!(records.erase(b"447700900123").unwrap(), 0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
