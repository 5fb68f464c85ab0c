//! Third-party peers and readers, installed by `scripts/test --setup`.
//!
//! They are below `SMSC_TEST_TOOLS` (default `target/test-tools`): `venv/` with Python packages, `npm/`
//! with Node packages, `debian/` with unpacked Debian packages, `core/` with those of a GSM core network
//! and all their libraries. Debian's programs are also looked up on
//! the PATH, and those of PostgreSQL in /usr/lib/postgresql. A missing tool fails the test with a text
//! that says how to install it; nothing is skipped.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{Admin, Process, run, until};

/// fontconfig for a machine that may have no fonts.
const FONTS: &str = r#"<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>UNPACKED</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>CACHE</cachedir>
  <alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
  <alias><family>sans-serif</family><prefer><family>DejaVu Sans</family></prefer></alias>
</fontconfig>
"#;

const CURE: &str = "run scripts/test --setup (or scripts/test) first";

/// A client script that runs beside the test and prints JSON lines.
pub struct Client {
    process: Process,
    _folder: tempfile::TempDir,
}

/// A command for a program of an unpacked Debian package, with the path of its libraries.
pub fn debian_tool(name: &str) -> Command {
    let mut command = Command::new(debian_program(name));
    with_debian_libraries(&mut command);
    command
}

/// zsh, which prints what Tab at the end of a line makes of it with this script of completions.
pub fn zsh_completing(completions: &Path, line: &str) -> Command {
    let functions = debian_share("zsh/functions");
    let nested = folders_of(&functions.join("Completion"));
    let folders = folders_of(&functions).into_iter().chain(nested);
    // They are in a folder that is called as the version.
    let versions = folders_of(&debian_library("zsh"));
    let modules = versions.first().expect("zsh has modules");
    let mut command = debian_tool("zsh");
    command
        .arg("-f")
        .arg(script("zsh_completes.zsh"))
        .arg(line)
        .env("FPATH", std::env::join_paths(folders).unwrap())
        .env("ZSH", debian_program("zsh"))
        .env("ZSH_MODULES", modules)
        .env("COMPLETIONS", completions)
        .env("TERM", "dumb");
    command
}

/// fish, which prints what it offers at the end of a line with this script of completions.
pub fn fish_completing(completions: &Path, line: &str) -> Command {
    let script = "set fish_function_path $argv[1]; source $argv[2]; complete -C $argv[3]";
    let mut command = debian_tool("fish");
    command
        .args(["--no-config", "-c", script])
        .arg(debian_share("fish/functions"))
        .arg(completions)
        .arg(line);
    command
}

/// Like [`debian_tool`], for a server that refuses to run as root: it then runs as nobody, who must be
/// able to enter the folder with the tools.
pub fn debian_tool_not_as_root(name: &str) -> Command {
    if !is_root() {
        return debian_tool(name);
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(debian_program(name));
    with_debian_libraries(&mut command);
    command
}

/// Whether the tests run as root.
pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// A program of the GSM core network, by the loader and with the libraries of its own release of Debian.
pub fn core_program(name: &str) -> Command {
    let root = tools().join("core");
    let program = root.join("usr/bin").join(name);
    assert!(program.exists(), "{} is missing: {CURE}", program.display());
    let libraries = folders_of(&root.join("usr/lib"));
    let loader = libraries
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten())
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(is_loader))
        .unwrap_or_else(|| panic!("no loader below {}: {CURE}", root.display()));
    let mut command = Command::new(loader);
    command
        .arg("--library-path")
        .arg(std::env::join_paths(&libraries).unwrap())
        .arg("--preload")
        .arg(root.join("no_sctp.so"))
        .arg(program);
    command
}

/// ld-linux-x86-64.so.2, ld-linux-aarch64.so.1 and their like.
fn is_loader(name: &std::ffi::OsStr) -> bool {
    name.to_str()
        .is_some_and(|name| name.starts_with("ld-linux"))
}

/// A file of an unpacked Debian package or of the machine, by its path below /usr/lib/TRIPLET.
pub fn debian_library(name: &str) -> PathBuf {
    [tools().join("debian/usr/lib"), PathBuf::from("/usr/lib")]
        .iter()
        .flat_map(|lib| folders_of(lib))
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.exists())
        .unwrap_or_else(|| panic!("{name} is not installed: {CURE}"))
}

/// A folder of an unpacked Debian package or of the machine, by its path below /usr/share.
fn debian_share(name: &str) -> PathBuf {
    [
        tools().join("debian/usr/share"),
        PathBuf::from("/usr/share"),
    ]
    .map(|share| share.join(name))
    .into_iter()
    .find(|candidate| candidate.exists())
    .unwrap_or_else(|| panic!("{name} is not installed: {CURE}"))
}

fn debian_program(name: &str) -> PathBuf {
    let debian = tools().join("debian");
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Debian's /usr/bin has a script for the programs of PostgreSQL, which wants more than is unpacked.
    postgres_folders(&debian.join("usr/lib/postgresql"))
        .into_iter()
        .chain(postgres_folders(Path::new("/usr/lib/postgresql")))
        .chain(["usr/bin", "usr/sbin", "bin"].map(|folder| debian.join(folder)))
        .chain(std::env::split_paths(&path))
        .chain([PathBuf::from("/usr/sbin")])
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.exists())
        .unwrap_or_else(|| panic!("{name} is not installed: {CURE}"))
}

/// The folders of PostgreSQL's programs, newest version first.
fn postgres_folders(versions: &Path) -> Vec<PathBuf> {
    let version = |folder: &PathBuf| -> u32 {
        let name = folder.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.parse().ok()).unwrap_or(0)
    };
    let mut folders = folders_of(versions);
    folders.sort_by_key(|folder| std::cmp::Reverse(version(folder)));
    folders.iter().map(|folder| folder.join("bin")).collect()
}

fn with_debian_libraries(command: &mut Command) {
    let root = tools().join("debian");
    if root.exists() {
        command.env("LD_LIBRARY_PATH", library_path(&root));
        command.env("WIRESHARK_DATA_DIR", root.join("usr/share/wireshark"));
    }
}

/// A script of tests/clients in Python, with the packages of the virtual environment.
pub fn python_script(name: &str, arguments: &[&str]) -> Command {
    let python = tools().join("venv/bin/python");
    assert!(python.exists(), "{} is missing: {CURE}", python.display());
    let mut command = Command::new(python);
    command.arg(script(name)).args(arguments);
    command
}

/// A Python program of another folder, with the packages of the virtual environment.
pub fn python_in(folder: &Path, name: &str) -> Command {
    let mut command = python_tool("python");
    command.current_dir(folder).arg(name);
    command
}

/// Lets a program find the others of the virtual environment.
pub fn with_python_tools(command: &mut Command) -> &mut Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path);
    let all = [tools().join("venv/bin")].into_iter().chain(folders);
    command.env("PATH", std::env::join_paths(all).unwrap())
}

/// The packages of npm.
pub fn node_modules() -> PathBuf {
    let modules = tools().join("npm/node_modules");
    assert!(modules.exists(), "{} is missing: {CURE}", modules.display());
    modules
}

/// A program of a Python package.
pub fn python_tool(name: &str) -> Command {
    let program = tools().join("venv/bin").join(name);
    assert!(program.exists(), "{} is missing: {CURE}", program.display());
    Command::new(program)
}

/// Schemathesis, about to send made-up requests to this API with the token of its client. With SMSC_SCHEMATHESIS_SECONDS it
/// does so for that long, and others each time.
pub fn schemathesis(client: &Admin, seed: &str, examples: &str, seconds: &str) -> Command {
    let longer = std::env::var("SMSC_SCHEMATHESIS_SECONDS").ok();
    let dice = smsc::clock::now_ms().to_string();
    let (seed, examples, seconds) = match &longer {
        Some(longer) => (dice.as_str(), "100000", longer.as_str()),
        None => (seed, examples, seconds),
    };
    let bearer = format!("Authorization: Bearer {}", client.token());
    let mut command = python_tool("schemathesis");
    command
        .args(["run", &format!("{}/v1/openapi.json", client.base())])
        .args(["--header", &bearer, "--seed", seed])
        .args(["--max-examples", examples, "--max-time", seconds])
        .args(["--phases", "examples,coverage,fuzzing"])
        // It generates the values itself, and some patterns of names leave it little choice.
        .args(["--suppress-health-check", "filter_too_much"])
        .args(["--request-timeout", "20", "--warnings", "off", "--no-color"]);
    for checks in [
        "not_a_server_error,status_code_conformance,content_type_conformance",
        "response_headers_conformance,response_schema_conformance,allow_header_conformance",
    ] {
        command.args(["--checks", checks]);
    }
    command
}

/// A script of tests/clients in Perl, with the modules of the unpacked Debian packages.
pub fn perl_script(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("perl");
    command
        .arg(script(name))
        .args(arguments)
        .env("PERL5LIB", tools().join("debian/usr/share/perl5"));
    command
}

/// A script of tests/clients in JavaScript, with the packages of npm.
pub fn node_script(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("node");
    command
        .arg("--no-deprecation")
        .arg(script(name))
        .args(arguments)
        .env("NODE_PATH", node_modules());
    command
}

/// A script that drives Debian's headless Chromium, whose path is in the variable CHROMIUM: with its
/// libraries, and with fonts of the unpacked packages and of the machine.
pub fn browser_script(name: &str, arguments: &[&str], folder: &Path) -> Command {
    let root = tools().join("debian");
    let chromium = [root.as_path(), Path::new("/")]
        .map(|root| root.join("usr/lib/chromium/chromium-headless-shell"))
        .into_iter()
        .find(|candidate| candidate.exists())
        .unwrap_or_else(|| panic!("chromium-headless-shell is not installed: {CURE}"));
    let fonts = folder.join("fonts.conf");
    let text = FONTS
        .replace("UNPACKED", &root.join("usr/share/fonts").to_string_lossy())
        .replace("CACHE", &folder.join("fonts").to_string_lossy());
    std::fs::write(&fonts, text).unwrap();
    let mut command = node_script(name, arguments);
    with_debian_libraries(&mut command);
    command
        .env("CHROMIUM", chromium)
        .env("FONTCONFIG_FILE", fonts);
    command
}

/// A script of tests/clients.
pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/clients")
        .join(name)
}

fn tools() -> PathBuf {
    let folder = match std::env::var_os("SMSC_TEST_TOOLS") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("target/test-tools"),
    };
    // The link may be in a folder that a server's user may not enter.
    folder.canonicalize().unwrap_or(folder)
}

/// Every folder of the unpacked packages that contains shared libraries.
fn library_path(root: &Path) -> OsString {
    let folders = ["usr/lib", "lib"].map(|lib| folders_of(&root.join(lib)));
    let folders: Vec<PathBuf> = folders.into_iter().flatten().collect();
    // The only library in a deeper folder: Chromium links libpulse, which finds it by its own path.
    let deeper: Vec<PathBuf> = folders
        .iter()
        .map(|folder| folder.join("pulseaudio"))
        .collect();
    let deeper = deeper.into_iter().filter(|folder| folder.is_dir());
    std::env::join_paths(folders.clone().into_iter().chain(deeper)).unwrap()
}

fn folders_of(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect()
}

// === impl Client ===

impl Client {
    /// Starts a script that keeps running.
    pub fn start(name: &str, command: Command) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let process = Process::start(name, command, &folder.path().join("log"));
        Self {
            process,
            _folder: folder,
        }
    }

    /// Runs a script to its end and returns the JSON object of its last line; fails if the script
    /// fails.
    pub fn run(mut command: Command) -> Value {
        let finished = run(&mut command);
        let said = format!("{}{}", finished.stdout, finished.stderr);
        assert!(finished.success, "{command:?} failed:\n{said}");
        let last = finished.stdout.lines().last().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error} in:\n{said}"))
    }

    /// The JSON lines printed so far.
    pub fn events(&self) -> Vec<Value> {
        let log = self.process.log();
        let whole = log.rfind('\n').map_or("", |end| &log[..end]);
        whole
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Waits for an event with this name (`"event": name`) that satisfies `fits`.
    pub fn wait_for(&mut self, name: &str, fits: impl Fn(&Value) -> bool) -> Value {
        until(&format!("the event {name:?} of a client"), || {
            let found = self
                .events()
                .into_iter()
                .find(|event| event["event"] == name && fits(event));
            if found.is_none() {
                self.process.assert_running();
            }
            found
        })
    }

    /// Its process.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }
}
