//! Erases a number from the archive that this node has written as JSON Lines.
//!
//! Called by [`super::archive::Archived`]. Files are rewritten under their names; a file of Parquet cannot be changed,
//! and is left as it is with a warning.

use std::io;
use std::path::Path;

use serde_json::Value;

use super::archive_files::{ArchiveFiles, all};
use super::rewrite::rewrite;
use crate::domain::address::normalise;
use crate::store::archive::ERASED;

/// Columns of a row that hold or may hold the number, besides the addresses.
const TEXTS: [&str; 2] = ["text", "octets"];
/// Members of a row's details that hold or may hold the number.
const DETAILS: [&str; 5] = [
    "tlvs",
    "client_reference",
    "client_metadata",
    "original_source",
    "original_destination",
];

/// Erases it in all files; returns from how many messages.
pub(super) fn erase(files: &mut ArchiveFiles, digits: &[u8]) -> io::Result<u64> {
    // New messages go into another file, so this one can be rewritten; so does what a failed write has left.
    files.close()?;
    files.recover()?;
    let mut erased = 0;
    for name in all(&files.series.dir)? {
        if !name.ends_with(".jsonl") {
            tracing::warn!(
                file = name,
                "a number is erased elsewhere, but a file of Parquet cannot be changed"
            );
            continue;
        }
        erased += erase_in(&files.series.dir.join(name), digits)?;
    }
    Ok(erased)
}

fn erase_in(path: &Path, digits: &[u8]) -> io::Result<u64> {
    rewrite(path, |line| {
        // Most lines need not be parsed.
        let may_have = line.windows(digits.len()).any(|part| part == digits);
        let bare = may_have.then(|| without(line, digits)).flatten();
        let was_there = bare.is_some();
        if let Some(bare) = bare {
            *line = bare;
        }
        was_there
    })
}

/// The line without the number; `None` where it is not from or to it.
fn without(line: &[u8], digits: &[u8]) -> Option<Vec<u8>> {
    let mut row: Value = serde_json::from_slice(line).ok()?;
    let mut was_there = false;
    for key in ["source", "destination"] {
        let address = row.get_mut(key)?;
        if address
            .as_str()
            .is_some_and(|one| normalise(one.as_bytes()) == digits)
        {
            *address = String::from_utf8_lossy(ERASED).into();
            was_there = true;
        }
    }
    if !was_there {
        return None;
    }
    for key in TEXTS {
        if let Some(text) = row.get_mut(key) {
            *text = Value::Null;
        }
    }
    if let Some(details) = row.get_mut("details").and_then(Value::as_object_mut) {
        DETAILS.iter().for_each(|key| drop(details.remove(*key)));
    }
    let mut bare = row.to_string().into_bytes();
    bare.push(b'\n');
    Some(bare)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_number_goes_with_the_text_and_other_messages_stay() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("archive-1-1.jsonl");
        let theirs = r#"{"id":"1","source":"ACME","destination":"+447700900123","text":"hi","octets":"6869","details":{"tlvs":"00","price":3}}"#;
        let other =
            r#"{"id":"2","source":"ACME","destination":"447700900124","text":"447700900123"}"#;
        fs::write(&path, format!("{theirs}\n{other}\n")).expect("written");
        assert_eq!(erase_in(&path, b"447700900123").expect("erased"), 1);
        let left = fs::read_to_string(&path).expect("read");
        let (first, second) = left.split_once('\n').expect("two lines");
        let first: Value = serde_json::from_str(first).expect("JSON");
        assert_eq!(first["destination"], "(erased)");
        assert!(first["text"].is_null() && first["octets"].is_null());
        assert_eq!(first["details"], serde_json::json!({"price": 3}));
        assert_eq!(second, format!("{other}\n"));
        assert_eq!(erase_in(&path, b"447700900123").expect("read"), 0);
    }
}
