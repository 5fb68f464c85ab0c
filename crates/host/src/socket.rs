//! A UNIX socket at a path: taken from a process that is dead, never from one that lives.
//!
//! Called once at start, before actors. The path appears with its permissions, and listening: the socket is bound
//! to another name beside it, gets its mode, listens, and takes the path by a rename. A lock on `PATH.lock`, which the
//! kernel releases when the process ends, however it ends, says whose the path is.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{
    FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use socket2::{Domain, SockAddr, Socket, Type};

/// Octets of the longest path of a socket: those of `sun_path` without its last, and without what is appended for
/// the name that the socket has first.
pub const LONGEST: usize = 107 - SUFFIX;
/// A dot and the longest number of a process.
const SUFFIX: usize = 8;
/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;

/// A socket that this process listens on, and has the path of.
#[derive(Debug)]
pub struct Listening {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode: another process may have the path by now.
    file: (u64, u64),
    /// Held for as long as the process may answer there.
    _lock: File,
}

/// Listens at a path. Whoever may write the socket by `mode` may connect.
///
/// # Errors
/// Another process listens there, something else than a socket is there, or the folder cannot be used. The text says
/// what to do, without the path.
pub fn listen(path: &Path, mode: u32) -> io::Result<Listening> {
    let lock = take(path)?;
    check_what_is_there(path)?;
    let first = beside(path, &std::process::id().to_string());
    // Of a process that had our number.
    remove(&first)?;
    let listener = bind(&first, mode).and_then(|listener| {
        fs::rename(&first, path)?;
        Ok(listener)
    });
    let listener = listener.inspect_err(|_| {
        // It may not be there; the error is that of the step that failed.
        let _ = fs::remove_file(&first);
    })?;
    Ok(Listening {
        listener,
        file: identity(path)?,
        path: path.to_owned(),
        _lock: lock,
    })
}

/// Bound, with its mode, and listening. Nobody can connect before the mode is set, because nothing listens.
fn bind(path: &Path, mode: u32) -> io::Result<UnixListener> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// The lock of a path, with our number in its file.
fn take(path: &Path) -> io::Result<File> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        // In a folder that others may write, it could lead to a file of ours, which is emptied below.
        .custom_flags(OFlags::NOFOLLOW.bits() as i32)
        .open(beside(path, "lock"))?;
    match file.try_lock() {
        Ok(()) => {
            file.set_len(0)?;
            write!(file, "{}", std::process::id())?;
            Ok(file)
        }
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // Only for the text: it may be about to be written.
            let _ = file
                .rewind()
                .and_then(|()| file.read_to_string(&mut holder));
            Err(in_use(&format!("process {holder} serves it")))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Refuses to replace what is no socket, and a socket that somebody listens on without the lock.
fn check_what_is_there(path: &Path) -> io::Result<()> {
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !there.file_type().is_socket() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "there is a file that is no socket; remove it, or choose another path",
        ));
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // A full backlog must not hold up the start.
    socket.set_nonblocking(true)?;
    match socket.connect(&SockAddr::unix(path)?) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        _ => Err(in_use("another program listens on it")),
    }
}

fn in_use(who: &str) -> io::Error {
    let said = format!("{who}; stop that one, or choose another path");
    io::Error::new(io::ErrorKind::AddrInUse, said)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let file = fs::symlink_metadata(path)?;
    Ok((file.dev(), file.ino()))
}

// === impl Listening ===

impl Listening {
    /// For accepting; does not block.
    ///
    /// # Errors
    /// There are no file descriptors left.
    pub fn listener(&self) -> io::Result<UnixListener> {
        self.listener.try_clone()
    }

    /// Takes the path away, if it is ours still: who comes now is told that nobody is there.
    pub fn withdraw(&self) {
        if identity(&self.path).is_ok_and(|file| file == self.file) {
            // Somebody may have been faster; what is left is replaced at the next start.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.withdraw();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn it_has_exactly_its_mode_and_goes_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        // Whatever the umask of the tests is, one of these differs from what it would leave.
        for wanted in [0o600, 0o660, 0o666] {
            let listening = listen(&path, wanted).unwrap();
            assert_eq!(mode(&path), wanted, "{wanted:o}");
            UnixStream::connect(&path).unwrap();
            let names = fs::read_dir(folder.path()).unwrap();
            assert_eq!(names.count(), 2, "the socket and its lock");
            drop(listening);
            assert!(!path.exists());
        }
    }

    #[test]
    fn a_socket_that_nobody_listens_on_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        // As a process of the same number has left it.
        let first = beside(&path, &std::process::id().to_string());
        drop(UnixListener::bind(first).unwrap());
        let _listening = listen(&path, 0o600).unwrap();
        UnixStream::connect(&path).unwrap();
    }

    #[test]
    fn one_that_is_served_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listening = listen(&path, 0o600).unwrap();
        let error = listen(&path, 0o600).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        let said = error.to_string();
        assert!(said.contains(&std::process::id().to_string()), "{said}");
        assert!(said.contains("choose another path"), "{said}");
        UnixStream::connect(&path).unwrap();
        drop(listening);
        // Nor one of a program that knows nothing of the lock.
        let _foreign = UnixListener::bind(&path).unwrap();
        let error = listen(&path, 0o600).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        UnixStream::connect(&path).unwrap();
    }

    #[test]
    fn what_is_no_socket_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        fs::write(&path, "precious").unwrap();
        let error = listen(&path, 0o600).unwrap_err();
        assert!(error.to_string().contains("no socket"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"precious");
    }

    #[test]
    fn a_lock_that_leads_elsewhere_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let other = folder.path().join("other");
        fs::write(&other, "precious").unwrap();
        std::os::unix::fs::symlink(&other, beside(&path, "lock")).unwrap();
        assert!(listen(&path, 0o600).is_err());
        assert_eq!(fs::read(&other).unwrap(), b"precious");
    }

    #[test]
    fn the_path_of_another_is_not_withdrawn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listening = listen(&path, 0o600).unwrap();
        fs::remove_file(&path).unwrap();
        let _other = UnixListener::bind(&path).unwrap();
        listening.withdraw();
        assert!(path.exists());
    }

    #[test]
    fn the_longest_path_can_be_bound() {
        let folder = tempfile::tempdir().unwrap();
        let head = folder.path().as_os_str().len() + 1;
        let path = folder.path().join("x".repeat(LONGEST - head));
        let _listening = listen(&path, 0o600).unwrap();
        UnixStream::connect(&path).unwrap();
    }
}
