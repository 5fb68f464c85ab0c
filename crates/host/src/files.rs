//! Safe reading and writing of files.
//!
//! A client that names a file through the API must not be able to make this process wait for a pipe,
//! read without end, or reveal its content: [`read`] takes regular files of bounded size only. Files
//! that this process writes hold numbers, texts and secrets, so nobody else may read them:
//! [`keep_private`] once at start, [`tighten`] for files of earlier releases.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// The user whose files are not ours to change.
const ROOT: u32 = 0;
/// Longest file with one secret, in octets.
pub const SECRET: u64 = 16 * 1024;
/// Longest file with certificates or a key, in octets: the authorities of a whole system.
pub const CERTIFICATES: u64 = 4 * 1024 * 1024;
/// Longest file with a list of addresses, in octets: some millions of them.
pub const LIST: u64 = 256 * 1024 * 1024;

/// What others may not do.
const OTHERS: u32 = 0o077;

/// The content of a regular file of at most `most` octets. Follows symbolic links, never waits for a
/// pipe or a device.
///
/// # Errors
/// It cannot be opened or read, is not a regular file, or is longer. The text holds nothing of it.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    // Before it is opened as well: to open a device may do something.
    check_kind(&fs::metadata(path)?, most)?;
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32)
        .open(path)?;
    let about = file.metadata()?;
    check_kind(&about, most)?;
    let mut octets = Vec::with_capacity(about.len() as usize);
    // It may grow meanwhile.
    file.by_ref().take(most + 1).read_to_end(&mut octets)?;
    if octets.len() as u64 > most {
        Err(too_long(most))
    } else {
        Ok(octets)
    }
}

/// Reads a file as text.
///
/// # Errors
/// As [`read`], or it is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|_| io::Error::other("it is not UTF-8"))
}

fn check_kind(about: &Metadata, most: u64) -> io::Result<()> {
    if !about.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if about.len() > most {
        Err(too_long(most))
    } else {
        Ok(())
    }
}

fn too_long(most: u64) -> io::Error {
    io::Error::other(format!("it is longer than {most} octets"))
}

/// From now on files of this process are its owner's alone (0600, folders 0700), whatever the umask
/// that it was started with. Before any thread and any file.
pub fn keep_private() {
    rustix::process::umask(Mode::from_raw_mode(OTHERS));
}

/// Creates a folder that is its owner's alone, and takes from others what they may do with one that
/// is there, and with those files in it whose names begin with one of `ours`. What belongs to somebody else is left as it is, with a warning.
///
/// # Errors
/// The folder cannot be created or read.
pub fn own_folder(folder: &Path, ours: &[&str]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    tighten(folder)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_ours = |head: &&str| name.to_string_lossy().starts_with(head);
        if ours.iter().any(is_ours) && entry.file_type()?.is_file() {
            tighten(&entry.path())?;
        }
    }
    Ok(())
}

/// Free space of the disk that holds this folder, in MiB.
///
/// # Errors
/// The file system does not say.
pub fn free_mib(folder: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(folder)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize) / (1024 * 1024))
}

/// Takes from others what they may do with a file or folder.
///
/// # Errors
/// There is no such file.
pub fn tighten(path: &Path) -> io::Result<()> {
    let about = fs::metadata(path)?;
    let mode = about.mode();
    if mode & OTHERS == 0 {
        return Ok(());
    }
    let permissions = Permissions::from_mode(mode & 0o7777 & !OTHERS);
    if let Err(error) = fs::set_permissions(path, permissions) {
        let path = path.display();
        if about.is_dir() && about.uid() == ROOT {
            // A volume of Kubernetes or Docker; the files in it are for their owner alone.
            tracing::info!(%path, %error, "this folder is root's, and stays as it is")
        } else {
            tracing::warn!(%path, %error, "others may read this, and it is not ours to change")
        }
    }
    Ok(())
}

/// Creates a file that must not exist, for its owner alone.
///
/// # Errors
/// It exists, or cannot be created.
pub fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_bounded_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("ten"), "0123456789").unwrap();
        assert_eq!(read(&at("ten"), 10).unwrap(), b"0123456789");
        assert!(
            read(&at("ten"), 9)
                .unwrap_err()
                .to_string()
                .contains("9 octets")
        );
        std::os::unix::fs::symlink(at("ten"), at("link")).unwrap();
        assert_eq!(read_text(&at("link"), 10).unwrap(), "0123456789");
        let pipe = at("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        for wrong in [
            &pipe,
            folder.path(),
            Path::new("/dev/zero"),
            Path::new("/dev/null"),
        ] {
            let said = read(wrong, 10).unwrap_err().to_string();
            assert_eq!(said, "it is not a regular file", "{}", wrong.display());
        }
        fs::write(at("octets"), b"\xff\xfe").unwrap();
        assert_eq!(
            read_text(&at("octets"), 10).unwrap_err().to_string(),
            "it is not UTF-8"
        );
    }

    #[test]
    fn what_is_there_is_closed_to_others() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("data");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("smsc.db"), "x").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
        fs::set_permissions(&folder, Permissions::from_mode(0o2775)).unwrap();
        fs::set_permissions(folder.join("smsc.db"), Permissions::from_mode(0o644)).unwrap();
        fs::write(folder.join("page.html"), "x").unwrap();
        fs::set_permissions(folder.join("page.html"), Permissions::from_mode(0o644)).unwrap();
        own_folder(&folder, &["smsc."]).unwrap();
        assert_eq!(mode(&folder.join("page.html")), 0o644, "not ours");
        assert_eq!(mode(&folder), 0o2700);
        assert_eq!(mode(&folder.join("smsc.db")), 0o600);
        create_new(&folder.join("new")).unwrap();
        assert_eq!(mode(&folder.join("new")), 0o600);
        assert!(create_new(&folder.join("new")).is_err());
    }
}
