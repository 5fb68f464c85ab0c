//! Rewrites files of lines whose lines have something to erase.
//!
//! Called by the erasures of call detail records and of the archive.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// Rewrites a file, with the same name, age and mode, if `erase` finds something in a line, which it then changes;
/// returns in how many lines. A file in which nothing is found is not touched, and in one that rotation or a collector has
/// taken away there is nothing.
///
/// # Errors
/// It cannot be read or written; then it is as before.
pub(super) fn rewrite(path: &Path, erase: impl Fn(&mut Vec<u8>) -> bool) -> io::Result<u64> {
    let gone = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Ok(0),
        _ => Err(error),
    };
    let erased = each_line(path, &erase, &mut io::sink()).or_else(gone)?;
    if erased == 0 {
        return Ok(0);
    }
    let mut anew = path.to_owned().into_os_string();
    anew.push(".anew");
    let anew = PathBuf::from(anew);
    let result = write_anew(path, &anew, &erase);
    if result.is_err() {
        let _ = fs::remove_file(&anew);
    }
    result.or_else(gone)
}

fn write_anew(path: &Path, anew: &Path, erase: impl Fn(&mut Vec<u8>) -> bool) -> io::Result<u64> {
    let about = fs::metadata(path)?;
    let file = File::create(anew)?;
    file.set_permissions(about.permissions())?;
    let mut out = BufWriter::new(&file);
    let erased = each_line(path, erase, &mut out)?;
    out.flush()?;
    drop(out);
    file.set_modified(about.modified()?)?;
    file.sync_all()?;
    fs::rename(anew, path)?;
    Ok(erased)
}

/// Copies the lines as `erase` leaves them; returns how many it has changed.
fn each_line(
    path: &Path,
    erase: impl Fn(&mut Vec<u8>) -> bool,
    out: &mut impl io::Write,
) -> io::Result<u64> {
    let mut lines = BufReader::with_capacity(256 * 1024, File::open(path)?);
    let (mut line, mut erased) = (Vec::new(), 0);
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            return Ok(erased);
        }
        erased += u64::from(erase(&mut line));
        out.write_all(&line)?;
    }
}
