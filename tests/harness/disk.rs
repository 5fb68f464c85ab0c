//! A small disk that a test fills and empties: a tmpfs in a mount namespace.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Process, until};

/// Octets written at once while the disk is being filled.
const CHUNK: usize = 64 * 1024;

/// A file system that only processes in its namespace see. It exists as long as its keeper, so that its
/// files outlive the processes under test.
pub struct SmallDisk {
    keeper: Process,
    folder: PathBuf,
}

// === impl SmallDisk ===

impl SmallDisk {
    /// Mounts a disk of `mib` MiB over a folder; `log` is the log of its keeper.
    pub fn mount(folder: &Path, mib: u64, log: &Path) -> Self {
        fs::create_dir_all(folder).unwrap();
        let mut command = Command::new("unshare");
        let script = format!(
            "mount -t tmpfs -o size={mib}m,mode=0700 tmpfs \"$0\" && touch \"$0/mounted\" && exec sleep 3600"
        );
        command.args(["-rm", "sh", "-c", &script]).arg(folder);
        let mut keeper = Process::start("unshare", command, log);
        let mounted = PathBuf::from(format!("/proc/{}/root", keeper.id()));
        let folder = mounted.join(folder.strip_prefix("/").unwrap());
        until("a small disk", || {
            keeper.assert_running();
            folder.join("mounted").exists().then_some(())
        });
        Self { keeper, folder }
    }

    /// Copies its files for programs outside the namespace. SQLite follows a link to the disk by its
    /// text.
    pub fn copy_to(&self, folder: &Path) {
        copy(&self.folder, folder);
    }

    /// Copies the files of a folder on it.
    pub fn copy_folder_to(&self, name: &str, folder: &Path) {
        copy(&self.folder.join(name), folder);
    }

    /// The beginning of a command that runs another one in the namespace, in `folder`.
    pub fn enter(&self, folder: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["--preserve-credentials", "-U", "-m", "-t"])
            .arg(self.keeper.id().to_string())
            .args(["--", "sh", "-c", "cd \"$0\" && exec \"$@\""])
            .arg(folder);
        command
    }

    /// Fills the disk to the last octet.
    pub fn fill(&self) {
        let mut file = File::create(self.filler()).unwrap();
        for size in [CHUNK, 4096, 1] {
            while file.write_all(&vec![1; size]).is_ok() {}
        }
    }

    /// Deletes what filled it.
    pub fn empty(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.folder.join("filler")
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}
