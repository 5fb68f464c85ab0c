//! The examples of examples/http work as they stand: each sends a message, and receives and verifies the callback
//! with its receipt.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Process, Smsc, free_port, run, until};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples/http")
        .join(name)
}

fn program(interpreter: &str, name: &str) -> Command {
    let mut command = Command::new(interpreter);
    command.arg(example(name));
    command
}

fn works((send_by, send): (&str, &str), (receive_by, receive): (&str, &str)) {
    let port = free_port();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("receiver.log");
    let mut receiver = program(receive_by, receive);
    receiver.arg(port.to_string()).env("SMSC_SECRET", SECRET);
    let _receiver = Process::start(receive, receiver, &log);
    let keys = format!(
        "deliver_by = \"callback\"\ncallback_url = \"http://127.0.0.1:{port}/\"\n\
         callback_secrets = \"{SECRET}\"\ncallback_allow_private = [\"127.0.0.1\"]"
    );
    let smsc = Smsc::new()
        .with_api()
        .account_with("test", "test", &keys)
        .route("", "test:delivered")
        .start();
    let api = smsc.api_of("test", "send");
    let mut sender = program(send_by, send);
    sender
        .args(["447700900123", "hello \"you\""])
        .env("SMSC_URL", api.base())
        .env("SMSC_KEY", api.token());
    let sent = run(&mut sender);
    assert!(sent.success, "{}{}", sent.stdout, sent.stderr);
    let id = sent.stdout.trim();
    let wanted = format!("message.delivered {id}");
    until("the receiver has verified the callback", || {
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        said.contains(&wanted).then_some(())
    });
}

#[test]
fn shell_and_python() {
    works(("sh", "send.sh"), ("python3", "receive.py"));
}

#[test]
fn python_and_javascript() {
    works(("python3", "send.py"), ("node", "receive.mjs"));
}

#[test]
fn javascript_and_python() {
    works(("node", "send.mjs"), ("python3", "receive.py"));
}

#[test]
fn what_is_refused_says_why() {
    let smsc = Smsc::new().with_api().account("test", "test").start();
    let api = smsc.api_of("test", "send");
    for (interpreter, name) in [
        ("sh", "send.sh"),
        ("python3", "send.py"),
        ("node", "send.mjs"),
    ] {
        let mut sender = program(interpreter, name);
        sender
            .args(["447700900123", "hello"])
            .env("SMSC_URL", api.base())
            .env("SMSC_KEY", api.token());
        let sent = run(&mut sender);
        assert!(
            !sent.success && sent.stderr.contains("no route"),
            "{name}: {}",
            sent.stderr
        );
    }
}
