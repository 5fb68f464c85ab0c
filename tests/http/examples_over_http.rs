//! The examples of examples/http work as they stand: each sends a message, and receives and verifies the callback
//! with its receipt. Receivers, that of the manual too, take callbacks of every type.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use smsc::domain::callback::signature::SigningSecrets;

use crate::harness::{Admin, Process, Smsc, free_port, python_tool, run, until};

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

/// The keys of an account whose callbacks go to a receiver at this port.
fn to_receiver(port: u16) -> String {
    format!(
        "deliver_by = \"callback\"\ncallback_url = \"http://127.0.0.1:{port}/\"\n\
         callback_secrets = \"{SECRET}\"\ncallback_allow_private = [\"127.0.0.1\"]"
    )
}

/// The receiver that the manual shows, at another port.
fn receiver_of_the_manual(folder: &Path, port: u16) -> Command {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/callbacks.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, code) = page.split_once("```python\n").unwrap();
    let (code, _) = code.split_once("```").unwrap();
    let shown = "(\"0.0.0.0\", 8000)";
    assert!(code.contains(shown), "{code}");
    let program = folder.join("receiver.py");
    let ours = format!("(\"127.0.0.1\", {port})");
    std::fs::write(&program, code.replace(shown, &ours)).unwrap();
    let mut command = python_tool("python");
    command.arg(program);
    command
}

/// A receiver takes the test of `smsc callback test`, and signed callbacks of every type.
fn takes_every_type(receiver: impl FnOnce(&Path, u16) -> Command) {
    let port = free_port();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("receiver.log");
    let mut receiver = receiver(folder.path(), port);
    receiver.env("SMSC_SECRET", SECRET);
    let mut receiver = Process::start("receiver", receiver, &log);
    until("the receiver listens", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).ok()
    });
    let keys = to_receiver(port);
    let smsc = Smsc::new().account_with("test", "test", &keys).start();
    let tested = smsc.command(&["callback", "test", "test"]);
    assert!(tested.success, "{}{}", tested.stderr, receiver.log());

    let at = Admin::new(([127, 0, 0, 1], port).into(), "");
    let message = json!({ "message_id": "17", "account": "test", "from": "447700900123", "to": "12345",
        "text": "STOP", "state": "QUEUED" });
    for (kind, data) in [
        ("message.delivered", &message),
        ("message.queued", &message),
        ("message.received", &message),
        ("message.submitted", &message),
        ("of.a.later.release", &json!({ "something": 1 })),
    ] {
        let event = json!({ "type": kind, "timestamp": "2026-03-01T12:00:00Z", "data": data });
        assert_eq!(status_of(&at, &event), 204, "{kind}: {}", receiver.log());
    }
    let unsigned = at.request("POST", "/", &[], Some(&json!({})));
    assert_eq!(unsigned.status, 401);
    receiver.assert_running();
    let said = receiver.log();
    for part in [
        "test of account test",
        "message.delivered 17",
        "message.received 17 447700900123: STOP",
        "of.a.later.release -",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// What a receiver answers to a signed callback.
fn status_of(receiver: &Admin, event: &Value) -> u16 {
    let now = smsc::clock::now_ms() / 1000;
    let secrets = SigningSecrets::parse(SECRET).unwrap();
    let signature = secrets.sign("17_final", now, event.to_string().as_bytes());
    let headers = [
        ("webhook-id", "17_final"),
        ("webhook-timestamp", &now.to_string()),
        ("webhook-signature", &signature),
        ("Content-Type", "application/json"),
    ];
    receiver.request("POST", "/", &headers, Some(event)).status
}

fn works((send_by, send): (&str, &str), (receive_by, receive): (&str, &str)) {
    let port = free_port();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("receiver.log");
    let mut receiver = program(receive_by, receive);
    receiver.arg(port.to_string()).env("SMSC_SECRET", SECRET);
    let _receiver = Process::start(receive, receiver, &log);
    let smsc = Smsc::new()
        .with_api()
        .account_with("test", "test", &to_receiver(port))
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
fn the_receiver_of_the_manual_takes_every_type() {
    takes_every_type(receiver_of_the_manual);
}

#[test]
fn the_receivers_of_the_examples_take_every_type() {
    for (interpreter, name) in [("python3", "receive.py"), ("node", "receive.mjs")] {
        takes_every_type(|_, port| {
            let mut receiver = program(interpreter, name);
            receiver.arg(port.to_string());
            receiver
        });
    }
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
