//! Every command that the documentation shows is run, or said here why not.
//!
//! A page runs in a folder of its own, against an SMSC of its own that listens where the documentation says, in a
//! network namespace of its own. A command that is not known here fails the test, so that a new one is thought of.

mod pages;

use std::fmt::Write as _;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use pages::{Shown, shown};

use crate::harness::{binary, python_tool};

/// What is done with a command.
#[derive(Debug, Clone, Copy)]
enum How {
    /// It is run and must succeed.
    Run,
    /// It is run and must be refused with these words: what it names is not there.
    Refused(&'static str),
    /// Something else is run in its place.
    Instead(&'static str),
    /// It asks before it does something: it is run with this.
    With(&'static str),
    /// Only its options are read, with the reason.
    Parsed(&'static str),
    /// It is only a command for a shell, with the reason.
    Shell(&'static str),
}

/// How commands are treated, by what they begin with; the first that fits counts.
const KNOWN: &[(&str, How)] = &[
    // What needs the rest of a machine.
    ("cargo ", How::Shell("builds and tests this crate")),
    ("./scripts/test", How::Shell("runs these tests")),
    ("scripts/test", How::Shell("runs these tests")),
    ("SMSC_RELEASE=1 cargo", How::Shell("is for a release")),
    ("install ", How::Shell("writes into the system")),
    ("groupadd ", How::Shell("changes the system's users")),
    (
        "ssh anna@",
        How::Shell("tests/http/inbox_of_an_account.rs runs what sshd runs"),
    ),
    ("systemctl ", How::Shell("needs systemd")),
    ("openssl req ", How::Shell("writes into /etc")),
    ("openssl s_client ", How::Shell("needs a listener with TLS")),
    ("chown ", How::Shell("changes files of the system")),
    ("mv /var/lib/smsc", How::Shell("takes the store away")),
    (
        "cd /var/lib/smsc && runuser ",
        How::Shell("needs the user smsc"),
    ),
    ("kubectl ", How::Shell("needs a cluster")),
    ("docker ", How::Shell("needs a container runtime")),
    (
        "helm ",
        How::Shell("tests/clients/helm_chart.py renders the chart"),
    ),
    ("createdb ", How::Shell("needs PostgreSQL")),
    ("redis-cli ", How::Shell("needs Redis")),
    (
        "( umask 077 && openssl rand -hex 4 > web.password",
        How::Run,
    ),
    (
        "( umask 077 && openssl rand",
        How::Shell("writes into /etc"),
    ),
    ("( for line in jcliadmin", How::Shell("needs Jasmin")),
    ("openapi-python-client ", How::Shell("tests/admin runs it")),
    ("npx openapi-typescript", How::Shell("tests/admin runs it")),
    ("curl …", How::Shell("shows a part of a command")),
    (
        "curl -X PATCH http://127.0.0.1:8081/v1/messages/1900000000000000123 …",
        How::Shell("shows a part of a command"),
    ),
    // What needs a terminal, or goes on.
    ("./target/release/smsc top", How::Instead("smsc top --once")),
    ("smsc trace", How::Parsed("goes on: tests/admin runs it")),
    ("smsc serve", How::Parsed("goes on: one runs already")),
    (
        "smsc queue list --watch",
        How::Parsed("goes on: tests/admin runs it"),
    ),
    (
        "smsc events --follow",
        How::Parsed("goes on: tests/admin runs it"),
    ),
    (
        "smsc account edit web                  #",
        How::Refused("without a terminal"),
    ),
    (
        "OTEL_EXPORTER_OTLP_ENDPOINT=",
        How::Parsed("goes on: one runs already"),
    ),
    (
        "curl -N ",
        How::Instead(
            "curl -s -H \"Authorization: Bearer $TOKEN\" -I \"http://127.0.0.1:8080/v1/events?kinds=overview,queues\"",
        ),
    ),
    (
        "python3 examples/local/handler.py",
        How::Shell("goes on: tests/delivery runs it"),
    ),
    // What needs a server of another kind.
    (
        "smsc send --system-id web --password \"$(cat web.password)\" --from ACME --to 447911123456",
        How::Parsed("needs the operator of the page"),
    ),
    (
        "smsc migrate",
        How::Parsed("needs PostgreSQL: tests/store runs it"),
    ),
    (
        "smsc export --since 2026-11-01 --until 2026-11-02 --to-database",
        How::Parsed("needs PostgreSQL: tests/admin runs it"),
    ),
    // What asks.
    ("smsc apply -f smsc.toml --dry-run", How::Run),
    ("smsc apply", How::With("--yes")),
    ("smsc config rollback 6", How::Refused("no version 6")),
    ("smsc token remove oidc:", How::Refused("no token")),
    (
        "curl -H \"Authorization: Bearer $TOKEN\" -H 'If-Match: \"7\"'",
        How::Refused("412"),
    ),
    ("smsc config show 12 --since 9", How::Refused("no version")),
    ("smsc config rollback 9", How::Refused("no version 9")),
    ("smsc config show 7", How::Refused("no version 7")),
    ("smsc erase", How::With("--yes")),
    (
        "smsc message replay --operator up --state EXPIRED --dry-run",
        How::Run,
    ),
    ("smsc message replay --operator", How::With("--yes")),
    ("smsc message cancel --operator up --dry-run", How::Run),
    ("smsc message cancel", How::With("--yes")),
    (
        "smsc repair-ids --config smsc.toml --dry-run",
        How::Refused("in use"),
    ),
    ("smsc repair-ids", How::Refused("in use")),
    ("smsc salvage", How::Refused("in use")),
    // What names something that is not there.
    (
        "smsc message show 1853010945916928000",
        How::Refused("no message 1853010945916928000"),
    ),
    (
        "smsc message move 1853010945916928000",
        How::Refused("no message 1853010945916928000"),
    ),
    (
        "smsc why 1853010945916928000",
        How::Refused("no message and no account"),
    ),
    ("smsc bind disconnect 0/17", How::Refused("0/17")),
    (
        "smsc message replay 1853010945916928000",
        How::Refused("no message 1853010945916928000"),
    ),
    ("smsc receipt match", How::Refused("1853010945916928001")),
    ("smsc receipt drop", How::Refused("1853010945916928001")),
    (
        "smsc damaged forget --table",
        How::Refused("1853010945916928000"),
    ),
    (
        "smsc receipt replay 1853010945916928000",
        How::Refused("1853010945916928000"),
    ),
    // What is converted has other operators than the file that is there.
    (
        "smsc convert jasmin jcli.txt    --compare",
        How::Refused("go elsewhere"),
    ),
    // No operator listens, and no name is known.
    (
        "smsc operator test carrier",
        How::Refused("is not resolved"),
    ),
    ("smsc operator test", How::Refused("nothing listens")),
    ("smsc key remove", How::Refused("no API key")),
    (
        "curl -s http://127.0.0.1:8081/v1/messages/1900000000000000123",
        How::Refused("1900000000000000123"),
    ),
    ("smsc ", How::Run),
    ("./target/release/smsc ", How::Run),
    ("key=$(smsc ", How::Run),
    ("SMSC=http://", How::Run),
    ("curl ", How::Run),
    ("python3 examples/", How::Run),
    ("scripts/", How::Parsed("takes minutes")),
];

/// What the documentation names, and what is in its place here.
const PLACES: &[(&str, &str)] = &[
    ("/backup/", "./backup/"),
    ("/var/lib/smsc", "./smsc-data"),
    ("/etc/kannel/kannel.conf", "kannel.conf"),
    ("/etc/smsc/smsc.toml", "smsc.toml"),
    ("/run/smsc/smsc.sock", "./smsc.sock"),
    ("/usr/local/share/man/man1", "./man"),
    ("/usr/share/bash-completion/completions/", "./"),
];

/// What every page finds in its folder.
const FILES: &[(&str, &str)] = &[
    ("smsc.toml", include_str!("commands/smsc.toml")),
    ("kannel.conf", include_str!("commands/kannel.conf")),
    ("jcli.txt", include_str!("commands/jcli.txt")),
    ("numbers.csv", "447700900123\n"),
    ("ca.pem", ""),
    (
        "keys",
        "0f0e0d0c0b0a09080706050403020100000102030405060708090a0b0c0d0e0f\n",
    ),
    ("web.password", "web-secret\n"),
    ("carrier.password", "secret\n"),
    ("new.password", "another\n"),
];

#[test]
fn every_command_in_the_docs_is_right() {
    let mut failures = String::new();
    for page in pages::pages() {
        let commands = shown(&page);
        if commands.is_empty() {
            continue;
        }
        for (command, said) in wrong(&commands) {
            writeln!(
                failures,
                "{}: {command}\n    {}",
                page.display(),
                said.replace('\n', "\n    ")
            )
            .unwrap();
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn what_is_not_run_says_why() {
    for (head, how) in KNOWN {
        if let How::Parsed(why) | How::Shell(why) = how {
            assert!(why.contains(' '), "{head}: {why}");
        }
    }
}

/// The commands of a page that are not right, with what they say.
fn wrong(commands: &[Shown]) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let mut script = include_str!("commands/prelude.sh").to_owned();
    let mut wrong = Vec::new();
    for (number, shown) in commands.iter().enumerate() {
        let Some((_, how)) = KNOWN
            .iter()
            .find(|(head, _)| shown.command.starts_with(head))
        else {
            let said = "is not known to tests/docs/commands.rs".to_owned();
            wrong.push((shown.command.clone(), said));
            continue;
        };
        if let Some(line) = to_run(&shown.command, *how) {
            // The words after << are not expanded.
            writeln!(script, "shown {number} <<'COMMAND'\n{line}\nCOMMAND").unwrap();
        }
    }
    script.push_str("end\n");
    std::fs::write(folder.path().join("page.sh"), script).unwrap();
    let output = Command::new("unshare")
        .args(["-rn", "bash", "page.sh"])
        .current_dir(folder.path())
        .env_clear()
        .env("HOME", folder.path())
        .env(
            "PATH",
            format!(
                "{}:{}",
                folder.path().join("bin").display(),
                std::env::var("PATH").unwrap()
            ),
        )
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "the page did not run: {said}");
    for (number, shown) in commands.iter().enumerate() {
        let read = |name: &str| {
            std::fs::read_to_string(folder.path().join(format!("results/{number}.{name}")))
        };
        let Ok(code) = read("code") else { continue };
        let said = read("said").unwrap_or_default();
        let (_, how) = KNOWN
            .iter()
            .find(|(head, _)| shown.command.starts_with(head))
            .unwrap();
        let is_right = match how {
            How::Refused(words) => code.trim() != "0" && said.contains(words),
            How::Parsed(_) => {
                code.trim() == "0" && options(&shown.command).all(|one| said.contains(one))
            }
            _ => code.trim() == "0",
        };
        // Pages show commands in the form of this release.
        let is_old = said.contains("hint: this is `smsc");
        if !is_right || is_old {
            wrong.push((
                shown.command.clone(),
                format!("exit code {}: {said}", code.trim()),
            ));
        }
    }
    wrong
}

/// The line that is run for a command, if one is.
fn to_run(command: &str, how: How) -> Option<String> {
    let mut line = match how {
        How::Shell(_) => return None,
        How::Run | How::Refused(_) => command.to_owned(),
        How::Instead(other) => other.to_owned(),
        // What is after a comment is for people.
        How::With(more) => format!("{} {more}", without_comment(command)),
        How::Parsed(_) => format!("{} --help", without_comment(command)),
    };
    for (place, here) in PLACES {
        line = line.replace(place, here);
    }
    Some(line)
}

/// The options that a command is given, without their values.
fn options(command: &str) -> impl Iterator<Item = &str> {
    let words = without_comment(command).split_whitespace();
    words
        .filter(|word| word.starts_with("--"))
        .map(|word| word.split('=').next().unwrap_or(word))
}

fn without_comment(command: &str) -> &str {
    command.split("  #").next().unwrap_or(command).trim_end()
}

/// The folder of a page: what the repository has, the binary where it would be, and what the page needs.
fn prepare(folder: &Path) {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["examples", "scripts", "packaging", "helm"] {
        symlink(repository.join(name), folder.join(name)).unwrap();
    }
    for place in ["bin", "target/release"] {
        std::fs::create_dir_all(folder.join(place)).unwrap();
        symlink(binary(), folder.join(place).join("smsc")).unwrap();
    }
    let python = python_tool("python3");
    for (name, program) in [
        // As the documentation writes it, but an answer that is an error counts.
        (
            "curl",
            "/usr/bin/curl --fail-with-body --max-time 20".to_owned(),
        ),
        (
            "python3",
            python.get_program().to_string_lossy().into_owned(),
        ),
    ] {
        let file = folder.join("bin").join(name);
        std::fs::write(&file, format!("#!/bin/sh\nexec {program} \"$@\"\n")).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
    }
    for name in ["backup", "results"] {
        std::fs::create_dir(folder.join(name)).unwrap();
    }
    for (name, text) in FILES {
        std::fs::write(folder.join(name), text).unwrap();
    }
}
