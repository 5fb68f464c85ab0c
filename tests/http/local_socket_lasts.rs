//! The UNIX socket over the life of the server: what was answered survives kill -9, a dead server's path is taken, a
//! living one's is not, the permissions are those that are configured, and the drain answers first.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use smsc::pb::local::{Get, List, Reason};

use super::local_socket::{TO, serving, socket, table, uid};
use crate::harness::local::{Asked, Program, Said, draft};
use crate::harness::{Process, Simulator, Smsc, binary, run, until};

const KILLS: usize = 3;
/// Accepted between two kills.
const BEFORE_A_KILL: usize = 50;

#[test]
fn a_kill_after_the_answer_loses_nothing() {
    // The built-in target would lose its receipts with the process.
    let operator = Simulator::new().start();
    let mut smsc = Smsc::new()
        .toml(&table(""))
        .relaying_to(operator.address())
        .start();
    let path = socket(&smsc);
    let mut accepted = BTreeSet::new();
    for kill in 0..KILLS {
        let mut program = Program::open(&path);
        let answered = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&answered);
        // One is under way when the process is killed: whether it was accepted is told by its key.
        let sender = thread::spawn(move || {
            let mut ids = Vec::new();
            loop {
                let key = format!("{kill} {}", ids.len());
                match program.submit(vec![draft(TO, &key)], &key) {
                    Some(Said::Submitted(submitted)) => ids.push(submitted.outcomes[0].id),
                    None => return (ids, key),
                    other => panic!("{other:?}"),
                }
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        until("some are accepted", || {
            (answered.load(Ordering::Relaxed) >= BEFORE_A_KILL).then_some(())
        });
        smsc.kill();
        let (ids, key) = sender.join().unwrap();
        accepted.extend(ids);
        assert!(path.exists(), "a killed process leaves its socket");
        smsc.start_again();
        let mut program = Program::open(&path);
        let repeated = || match program.submit(vec![draft(TO, &key)], &key) {
            Some(Said::Submitted(submitted)) => Some(submitted.outcomes[0].id),
            other => panic!("{other:?}"),
        };
        accepted.insert(until("the last one is answered", repeated));
    }
    assert!(accepted.len() > KILLS * BEFORE_A_KILL);
    let mut program = Program::open(&path);
    for id in &accepted {
        until("it has ended", || {
            match program.ask(Asked::Get(Get { id: *id })) {
                Some(Said::Details(details)) => {
                    (details.message.unwrap().ended_at != 0).then_some(())
                }
                other => panic!("{other:?}"),
            }
        });
    }
    // And nothing was submitted twice.
    let (mut stored, mut before) = (BTreeSet::new(), 0);
    loop {
        let ask = List {
            limit: 1_000,
            before,
            ..List::default()
        };
        let Some(Said::Page(page)) = program.ask(Asked::List(ask)) else {
            panic!("no page");
        };
        stored.extend(page.messages.iter().map(|message| message.id));
        before = page.next_before;
        if before == 0 {
            break;
        }
    }
    assert_eq!(stored, accepted);
}

#[test]
fn a_key_is_good_for_one_request() {
    let smsc = serving("").start();
    let mut program = Program::open(&socket(&smsc));
    let mut id = |text: &str| match program.submit(vec![draft(TO, text)], "key") {
        Some(Said::Submitted(submitted)) => Ok(submitted.outcomes[0].id),
        Some(Said::Failure(failure)) => Err(failure.reason()),
        other => panic!("{other:?}"),
    };
    let first = id("hello").unwrap();
    assert_eq!(id("hello"), Ok(first));
    assert_eq!(id("something else"), Err(Reason::KeyReused));
}

#[test]
fn the_socket_has_its_permissions_whatever_the_umask() {
    for (umask, mode) in [("022", 0o660), ("077", 0o666), ("000", 0o600)] {
        let mut smsc = serving(&format!("mode = \"{mode:04o}\"")).start();
        let status = smsc.terminate();
        assert!(status.success(), "{status}");
        let path = socket(&smsc);
        assert!(!path.exists(), "a server that stops takes its socket away");
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!(
                "umask {umask}; exec \"$0\" serve --config smsc.toml"
            ))
            .arg(binary())
            .current_dir(smsc.file(""));
        let _process = Process::start("smsc serve", command, &smsc.file("umask.log"));
        let about = until("the socket is there", || fs::symlink_metadata(&path).ok());
        assert!(about.file_type().is_socket());
        // From the moment that it is there.
        assert_eq!(about.mode() & 0o7777, mode, "umask {umask}");
        Program::open(&path).send(TO, "hello");
    }
}

#[test]
fn the_path_of_a_living_server_is_not_taken() {
    let smsc = serving("").start();
    let path = socket(&smsc);
    let mut program = Program::open(&path);
    let users = format!("users = {{ {} = \"test\" }}", uid());
    let config = format!(
        "data_dir = \"other\"\n[smpp]\nlisten = \"127.0.0.1:0\"\n[http]\nlisten = \"127.0.0.1:0\"\nadmin_token = \"t\"\n\
         [local]\nsocket = {path:?}\n{users}\n"
    );
    let file = smsc.file("other.toml");
    fs::write(&file, config).unwrap();
    let mut second = Command::new(binary());
    second
        .args(["serve", "--config"])
        .arg(&file)
        .current_dir(smsc.file(""));
    let ended = run(&mut second);
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(!ended.success, "{said}");
    let holder = format!("process {} serves it", smsc.process().id());
    for words in ["local.socket", &holder, "choose another path"] {
        assert!(said.contains(words), "{words} is missing in {said}");
    }
    program.send(TO, "hello");
    Program::open(&path).send(TO, "hello");
}

#[test]
fn the_drain_says_goodbye() {
    let mut smsc = serving("").start();
    let mut program = Program::open(&socket(&smsc));
    program.send(TO, "hello");
    let status = smsc.terminate();
    assert!(status.success(), "{status}");
    let (reason, _) = program.is_parted();
    assert_eq!(reason, Reason::Stopping);
    assert!(!socket(&smsc).exists());
}

#[test]
fn smsc_send_uses_the_socket() {
    let smsc = serving("").start();
    let send = |arguments: &[&str]| {
        let mut command = Command::new(binary());
        command
            .arg("send")
            .args(arguments)
            .current_dir(smsc.file(""));
        run(&mut command)
    };
    let sent = send(&["--socket", "smsc.sock", "--to", TO, "hello"]);
    assert!(sent.success, "{}{}", sent.stdout, sent.stderr);
    for words in [
        "GSM 7-bit",
        "accepted   447700900123 as ",
        "DELIVERED  447700900123 after",
    ] {
        assert!(sent.stdout.contains(words), "{words}: {}", sent.stdout);
    }
    let data = [
        "--socket",
        "smsc.sock",
        "--to",
        TO,
        "--alphabet",
        "binary",
        "0102",
    ];
    assert!(send(&data).success);
    let waiting = [
        "--socket",
        "smsc.sock",
        "--to",
        "99123",
        "--timeout",
        "1s",
        "hello",
    ];
    let late = send(&waiting);
    assert!(
        !late.success && late.stderr.contains("--timeout"),
        "{}",
        late.stderr
    );
    let accepted = [&waiting[..], &["--no-receipt"]].concat();
    assert!(send(&accepted).success);
    let refused = send(&["--socket", "smsc.sock", "--to", "1", "hello"]);
    assert!(
        !refused.success && refused.stderr.contains("to must be"),
        "{}",
        refused.stderr
    );
    let nobody = send(&["--socket", "gone.sock", "--to", TO, "hello"]);
    assert!(
        !nobody.success && nobody.stderr.contains("local.socket"),
        "{}",
        nobody.stderr
    );
}

#[test]
fn the_example_in_python_sends_follows_lists_and_cancels() {
    let smsc = serving("").start();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/local/client.py");
    let client = |arguments: &[&str]| {
        let mut command = Command::new("python3");
        command
            .arg(&example)
            .args(arguments)
            .env("SMSC_SOCKET", socket(&smsc));
        run(&mut command)
    };
    let done = |arguments: &[&str]| {
        let ended = client(arguments);
        assert!(ended.success, "{}{}", ended.stdout, ended.stderr);
        ended.stdout.trim().to_owned()
    };
    let delivered = done(&["send", TO, "hello \"you\", ж"]);
    until("it is delivered", || {
        let said = done(&["get", &delivered]);
        said.contains("DELIVERED\n  accepted\n  sent\n  delivered")
            .then_some(())
    });
    let waiting = done(&["send", "99123", "hello"]);
    done(&["cancel", &waiting]);
    until("it is cancelled", || {
        done(&["get", &waiting]).contains("DELETED").then_some(())
    });
    let expected = format!("{waiting} ACME to 99123 DELETED\n{delivered} ACME to {TO} DELIVERED");
    assert_eq!(done(&["list"]), expected);
    let refused = client(&["send", "nobody", "hello"]);
    assert!(
        !refused.success && refused.stderr.contains("to must be"),
        "{}",
        refused.stderr
    );
    let refused = client(&["get", "7"]);
    assert!(
        !refused.success && !refused.stderr.contains("Traceback"),
        "{}",
        refused.stderr
    );
}
