//! Erases a number from the call detail records that this node has written.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::Mutex;

use super::archive::Archived;
use super::files::{RecordFiles, all};
use super::record::put_field;
use super::rewrite::rewrite;
use super::series::OnDisk;
use crate::actors::receipts::just_ended::JustEnded;
use crate::domain::address::normalise;
use crate::domain::csv;
use crate::store::Store;
use crate::store::archive::ERASED;

/// The keys before an address in a record.
const ADDRESSES: [&[u8]; 2] = [b"\"from\":\"", b"\"to\":\""];
/// The last key of a record, and the end of the record without it.
const REFERENCE: &[u8] = b",\"client_reference\":";
const WITHOUT_REFERENCE: &[u8] = b"}\n";
/// Where the addresses are in a line of CSV.
const FIELDS: [usize; 2] = [3, 4];

/// The records, for erasing a number.
#[derive(Clone)]
pub struct Records {
    pub(super) store: Arc<dyn Store>,
    pub(super) just_ended: Arc<JustEnded>,
    /// Their files, where they are files.
    pub(super) files: Option<OnDisk<RecordFiles>>,
    /// The archive, where there is one.
    pub archived: Option<Archived>,
    /// Held while records are made of messages and written, so that no message that was read before an erasure
    /// is written after it.
    pub(super) busy: Arc<Mutex<()>>,
}

// === impl Records ===

impl Records {
    /// Replaces an address (digits, without a plus) in every record by the text that the store puts in its
    /// place, and removes the client references of those records; returns the number of records. The same in the
    /// archive.
    ///
    /// # Errors
    /// A file or the store cannot be read or written; files that were done before stay erased.
    pub async fn erase(&self, digits: String) -> io::Result<u64> {
        let _not_now = self.busy.lock().await;
        self.just_ended.forget();
        let in_table = self.store.erase_records(digits.clone()).await;
        let in_table = in_table.map_err(io::Error::other)?;
        if let Some(archived) = &self.archived {
            let count = archived.erase(digits.clone()).await?;
            tracing::info!(target: "audit", count, "a number was taken out of the archive");
        }
        let Some(files) = &self.files else {
            return Ok(in_table);
        };
        let in_files = files.call(move |files| {
            // New records go to another file, so this one can be rewritten.
            files.open = None;
            erase_files(&files.series.dir, digits.as_bytes())
        });
        Ok(in_table + in_files.await?)
    }
}

/// Reads all files.
fn erase_files(dir: &Path, digits: &[u8]) -> io::Result<u64> {
    let names = all(dir)?;
    let erased = names.iter().map(|name| erase_in(&dir.join(name), digits));
    erased.sum()
}

/// Rewrites a file if the address is in it.
fn erase_in(path: &Path, digits: &[u8]) -> io::Result<u64> {
    rewrite(path, |line| match line.first() {
        Some(b'{') => erase_in_json(line, digits),
        _ => erase_in_csv(line, digits),
    })
}

/// Erases the address in a record; returns whether it was there.
fn erase_in_json(line: &mut Vec<u8>, digits: &[u8]) -> bool {
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
    if was_there
        && let Some(at) = line
            .windows(REFERENCE.len())
            .rposition(|part| part == REFERENCE)
    {
        line.truncate(at);
        line.extend_from_slice(WITHOUT_REFERENCE);
    }
    was_there
}

fn erase_in_csv(line: &mut Vec<u8>, digits: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line).into_owned();
    let mut fields = csv::fields(text.trim_end(), &[',']);
    let mut was_there = false;
    for at in FIELDS {
        if let Some(field) = fields.get_mut(at)
            && normalise(field.as_bytes()) == digits
        {
            *field = String::from_utf8_lossy(ERASED).into_owned();
            was_there = true;
        }
    }
    if was_there {
        if let Some(reference) = fields.last_mut() {
            reference.clear();
        }
        line.clear();
        for (at, field) in fields.iter().enumerate() {
            if at > 0 {
                line.push(b',');
            }
            put_field(line, field);
        }
        line.extend_from_slice(b"\r\n");
    }
    was_there
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_the_address_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cdr-1.jsonl");
        let text = "{\"id\":\"447700900123\",\"from\":\"ACME\",\"to\":\"447700900123\",\"error\":\"\"}\n\
                    {\"id\":\"2\",\"from\":\"+447700900123\",\"to\":\"4477009001234\",\"client_reference\":\"a\"}\n\
                    {\"id\":\"3\",\"from\":\"Caf\\u00e9 \\\"x\\\"\",\"to\":\"44\"}\nhalf a li";
        fs::write(&path, text).unwrap();
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let erase = || erase_files(folder.path(), b"447700900123").unwrap();
        assert_eq!(erase(), 2);
        let expected = text
            .replace("\"to\":\"447700900123\"", "\"to\":\"(erased)\"")
            .replace("\"from\":\"+447700900123\"", "\"from\":\"(erased)\"")
            .replace(",\"client_reference\":\"a\"", "");
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), modified);
        assert_eq!(erase(), 0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    #[test]
    fn the_address_goes_from_csv() {
        let row = |to: &str, reference: &str| {
            format!("1,account:a,operator:b,\"A\"\"B,C\",{to},7,8{reference}\r\n").into_bytes()
        };
        let mut line = row("+447700900123", ",\"x,y\"");
        assert!(erase_in_csv(&mut line, b"447700900123"));
        assert_eq!(line, row("(erased)", ","));
        let mut other = row("4477009001234", ",x");
        assert!(!erase_in_csv(&mut other, b"447700900123"));
        assert_eq!(other, row("4477009001234", ",x"));
    }
}
