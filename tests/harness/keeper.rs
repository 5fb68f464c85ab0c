//! Cleans up after a server of a test, however the test ends.
//!
//! A value in a `static` is never dropped, and a killed test drops nothing. So each server has a small
//! shell beside it, which waits for the end of its input. The input ends when the keeper is dropped or
//! its process ends in any way; then the shell stops the server and deletes its folder.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// `$0` folder, `$1` signal. A server that does not stop within 10 s is not killed.
const SCRIPT: &str = r#"
read -r nothing
if [ -e "$0/pid" ]; then
    pid=$(cat "$0/pid")
    kill -s "$1" "$pid"
    looks=0
    while kill -0 "$pid" 2>/dev/null && [ $looks -lt 100 ]; do
        sleep 0.1
        looks=$((looks + 1))
    done
fi
rm -rf "$0"
"#;

/// The owner of a server's folder.
pub struct Keeper {
    shell: Child,
    folder: PathBuf,
}

// === impl Keeper ===

impl Keeper {
    /// Makes an empty folder for a server, which this signal stops.
    pub fn new(signal: &str) -> Self {
        let folder = tempfile::tempdir().unwrap().keep();
        let shell = Command::new("sh")
            .args(["-c", SCRIPT])
            .arg(&folder)
            .arg(signal)
            // Ctrl-C at the terminal must not reach it.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { shell, folder }
    }

    /// The folder, which is deleted at the end.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Sets the process id of the server.
    pub fn watch(&self, process: u32) {
        fs::write(self.folder.join("pid"), process.to_string()).unwrap();
    }

    /// The server has ended; its process id may soon belong to another process.
    pub fn forget(&self) {
        let _ = fs::remove_file(self.folder.join("pid"));
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}
