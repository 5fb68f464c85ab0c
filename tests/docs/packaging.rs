//! The contents of a package of smsc: the version that the binary reports, completions, manual pages,
//! the service, and the example configurations, each of which starts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{self, Admin, Process, database, free_port, run, until};

const TOKEN: &str = "packaging";
/// Windows in flight, leaving the cluster, the admin API: see `app.rs` and `http.rs`.
const LONGEST_STOP_SECONDS: u64 = 15 + 15 + 5;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

smsc_commit::version!();

fn smsc() -> Command {
    Command::new(harness::binary())
}

#[test]
fn the_version_names_the_commit() {
    let said = run(smsc().arg("--version"));
    let commit = said
        .stdout
        .trim_end()
        .strip_prefix(concat!("smsc ", env!("CARGO_PKG_VERSION"), " ("))
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap_or_else(|| panic!("{:?}", said.stdout));
    assert_eq!(said.stdout.trim_end(), format!("smsc {VERSION}"));
    assert!(!commit.is_empty());
}

#[test]
fn shells_get_completions() {
    for (shell, mark) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef smsc"),
        ("fish", "complete -c smsc"),
    ] {
        let script = run(smsc().args(["completions", shell]));
        assert!(script.success, "{}", script.stderr);
        assert!(script.stdout.contains(mark), "{shell}: {}", script.stdout);
        assert!(script.stdout.contains("migrate-store"), "{shell}");
        assert!(script.stdout.contains("complete-names --"), "{shell}");
    }
    let binary = harness::binary().display().to_string();
    let script = format!("{binary} completions bash > ./smsc && . ./smsc && complete -p smsc");
    let folder = tempfile::tempdir().unwrap();
    let read = run(Command::new("bash")
        .args(["-c", &script])
        .current_dir(&folder));
    assert!(read.success && read.stdout.contains("smsc"), "{read:?}");
    assert!(!run(smsc().args(["completions", "csh"])).success);
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man/man1");
    let done = run(smsc().arg("man").arg(&pages));
    assert!(done.success, "{}", done.stderr);
    let page = |name: &str| fs::read_to_string(pages.join(name)).unwrap();
    assert!(
        page("smsc.1").starts_with(".ie"),
        "roff: {}",
        page("smsc.1")
    );
    assert!(page("smsc.1").contains(VERSION));
    assert!(page("smsc-migrate-store.1").contains("embedded store"));
    let commands = run(smsc().arg("--help")).stdout;
    let listed: Vec<&str> = commands
        .lines()
        .take_while(|line| *line != "Options:")
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(listed.len() > 40, "{commands}");
    for name in listed {
        assert!(pages.join(format!("smsc-{name}.1")).is_file(), "{name}");
    }
    let again = folder.path().join("again");
    run(smsc().arg("man").arg(&again));
    assert_eq!(
        fs::read(again.join("smsc.1")).unwrap(),
        fs::read(pages.join("smsc.1")).unwrap(),
        "no date in it"
    );
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let refused = run(smsc().arg("man").arg(&file));
    assert!(
        !refused.success && refused.stderr.contains("cannot be written"),
        "{refused:?}"
    );
}

/// The settings of a unit: section, key, all values.
fn unit(text: &str) -> BTreeMap<(String, String), Vec<String>> {
    let mut settings: BTreeMap<_, Vec<String>> = BTreeMap::new();
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            section = name.to_owned();
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or_else(|| panic!("{line:?}"));
        let key = (section.clone(), key.to_owned());
        settings.entry(key).or_default().push(value.to_owned());
    }
    settings
}

#[test]
fn the_service_is_hardened_and_waits_for_the_drain() {
    let text = fs::read_to_string(root().join("packaging/smsc.service")).unwrap();
    let unit = unit(&text);
    let value = |key: &str| {
        let values = unit.get(&("Service".to_owned(), key.to_owned()));
        values.map(|values| values.join(" ")).unwrap_or_default()
    };
    for key in [
        "NoNewPrivileges",
        "ProtectHome",
        "PrivateTmp",
        "PrivateDevices",
        "ProtectClock",
        "ProtectControlGroups",
        "ProtectHostname",
        "ProtectKernelLogs",
        "ProtectKernelModules",
        "ProtectKernelTunables",
        "LockPersonality",
        "MemoryDenyWriteExecute",
        "RestrictNamespaces",
        "RestrictRealtime",
        "RestrictSUIDSGID",
        "RemoveIPC",
    ] {
        assert_eq!(value(key), "yes", "{key}");
    }
    assert_eq!(value("ProtectSystem"), "strict");
    assert_eq!(value("StateDirectory"), "smsc");
    assert_eq!(value("CapabilityBoundingSet"), "");
    assert_eq!(
        value("SystemCallFilter"),
        "@system-service ~@privileged @resources"
    );
    assert_eq!(value("RestrictAddressFamilies"), "AF_INET AF_INET6 AF_UNIX");
    assert_eq!(value("Restart"), "on-failure");
    // Neither an invalid configuration nor a damaged log is retried.
    assert_eq!(value("RestartPreventExitStatus"), "65 78");
    assert!(value("LimitNOFILE").parse::<u64>().unwrap() > 10_000);
    let stop = value("TimeoutStopSec");
    assert!(
        stop.parse::<u64>().unwrap() > LONGEST_STOP_SECONDS,
        "{stop}"
    );
    assert_eq!(value("User"), "smsc");
    let users = fs::read_to_string(root().join("packaging/smsc.sysusers")).unwrap();
    assert!(
        users.lines().any(|line| line.starts_with("u smsc ")),
        "{users}"
    );
    // The commands exist, with these options.
    for key in ["ExecStart", "ExecStartPre"] {
        let command = value(key);
        let words: Vec<&str> = command.split_whitespace().collect();
        assert_eq!(words[0], "/usr/bin/smsc");
        let help = run(smsc().arg(words[1]).arg("--help"));
        assert!(help.success && help.stdout.contains(words[2]), "{command}");
    }
    assert!(value("ExecReload").contains("-HUP"));
}

fn examples() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("examples")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    // Beside them are folders with programs, which have tests of their own.
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    assert!(files.len() >= 4, "{files:?}");
    files
}

#[test]
fn examples_are_right() {
    for file in examples() {
        let checked = run(smsc().arg("check-config").arg("--config").arg(&file));
        let said = format!("{}{}", checked.stdout, checked.stderr);
        assert!(checked.success, "{}: {said}", file.display());
        assert!(!said.contains("warning:"), "{}: {said}", file.display());
    }
}

#[test]
fn examples_start() {
    let database = database();
    for file in examples() {
        start(&file, database.url());
    }
}

/// Starts a configuration with ports, a folder and a database of the test, and stops it.
fn start(file: &Path, database: &str) {
    let folder = tempfile::tempdir().unwrap();
    let http = free_port();
    let mut command = smsc();
    command
        .env("SMSC_CONFIG", file)
        .env("SMSC_DATA_DIR", folder.path().join("data"))
        .env("SMSC_SMPP__LISTEN", format!("127.0.0.1:{}", free_port()))
        .env("SMSC_HTTP__LISTEN", format!("127.0.0.1:{http}"))
        .env("SMSC_HTTP__ADMIN_TOKEN", TOKEN)
        .env("SMSC_STORE__MIN_FREE_MIB", "1");
    if fs::read_to_string(file).unwrap().contains("[postgres]") {
        command.env("SMSC_POSTGRES__URL", database).env(
            "SMSC_REDIS__URL",
            format!("redis://127.0.0.1:{}", free_port()),
        );
        let mut migrate = smsc();
        for (name, value) in command.get_envs() {
            migrate.env(name, value.unwrap());
        }
        let migrated = run(migrate.arg("migrate"));
        assert!(migrated.success, "{}", migrated.stderr);
    }
    command.arg("serve");
    let name = file.file_name().unwrap().to_str().unwrap();
    let mut process = Process::start(name, command, &folder.path().join("log"));
    let admin = Admin::new(([127, 0, 0, 1], http).into(), TOKEN);
    until(&format!("{name} to be ready"), || {
        process.assert_running();
        admin.try_get("/health/ready").ok()
    });
    assert!(process.terminate().success(), "{name}: {}", process.log());
}
