//! An account lists and dumps what came to its own numbers, with the texts: over HTTP, over the local socket, and by ssh
//! as a user who may do nothing else. It sees nothing of others, nor of what came to a number before it had it.

use std::process::{Command, Output};

use serde_json::{Value, json};
use smsc::pb::local::List;

use super::local_socket::{list, socket, uid};
use crate::harness::local::{Asked, Program, Said};
use crate::harness::{Admin, FakeOperator, Peer, Smsc, send_receipt, submit, taken, until};
use smsc::smpp::SubmitSm;

const NUMBER: &str = "12345";
const FROM: &str = "447700900123";
/// An account that sends from its number only, as docs/local.md has it.
const OWN_NUMBER: &str = r#"
    addresses = ["12345"]
    senders = ["12345"]
    rewrite_in = [{ field = "source", replace = "12345" }]"#;

/// `shop` has a number and is the user of the tests, `bank` has two numbers.
struct InboxScene {
    smsc: Smsc,
    bind: Peer,
    _operator: FakeOperator,
}

// === impl InboxScene ===

impl InboxScene {
    fn start() -> Self {
        let operator = FakeOperator::listen();
        let users = format!(
            "[local]\nsocket = \"smsc.sock\"\nusers = {{ {} = \"shop\" }}",
            uid()
        );
        let smsc = Smsc::new()
            .with_api()
            .toml(&users)
            .account_with("shop", "shop", OWN_NUMBER)
            .account_with("bank", "bank", "addresses = [\"777\", \"88*\"]")
            .operator("up", operator.address())
            .route("", "up")
            .start();
        let bind = operator.accept_bind();
        smsc.wait_for_binds("up", 1);
        Self {
            smsc,
            bind,
            _operator: operator,
        }
    }

    /// A subscriber writes to a number.
    fn write(&mut self, to: &str, text: &str) {
        let message = SubmitSm {
            source_addr: FROM.into(),
            registered_delivery: 0,
            ..submit(to, text)
        };
        assert!(send_receipt(&mut self.bind, message).is_ok());
    }

    fn ssh(&self, asked: &str) -> Output {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/ssh_command.py");
        // As sshd runs a forced command: by the shell of the user, with little else in the environment.
        Command::new("sh")
            .args(["-c", &format!("exec python3 {folder}")])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("SSH_ORIGINAL_COMMAND", asked)
            .env("SMSC_SOCKET", socket(&self.smsc))
            .current_dir(self.smsc.file(""))
            .output()
            .unwrap()
    }
}

fn texts(api: &Admin, query: &str) -> Vec<String> {
    let page = api.get(&format!("/v1/messages?{query}"));
    let messages = page["messages"].as_array().unwrap();
    let text = |one: &Value| one["text"].as_str().unwrap_or("(none)").to_owned();
    messages.iter().map(text).collect()
}

fn said(output: &Output) -> String {
    let octets = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8_lossy(&octets).into_owned()
}

#[test]
fn what_came_to_the_numbers_of_an_account_is_listed_for_it_alone() {
    let mut inbox = InboxScene::start();
    for (to, text) in [
        (NUMBER, "one"),
        ("777", "secret"),
        (NUMBER, "two"),
        ("881", "sesame"),
    ] {
        inbox.write(to, text);
    }
    let [shop, bank] = ["shop", "bank"].map(|account| inbox.smsc.api_of(account, "read"));
    until("the messages are found", || {
        (texts(&shop, "received=true&text=true").len() == 2).then_some(())
    });
    assert_eq!(texts(&shop, "received=true&text=true"), ["two", "one"]);
    assert_eq!(texts(&shop, "received=true"), ["(none)", "(none)"]);
    assert_eq!(texts(&shop, "received=true&text=true&to=777"), [""; 0]);
    assert_eq!(
        texts(&shop, "text=true"),
        [""; 0],
        "it has submitted nothing"
    );
    let page = shop.get("/v1/messages?received=true&limit=1");
    assert_eq!(page["messages"][0]["from"], FROM, "{page}");
    let path = format!(
        "/v1/messages/{}",
        page["messages"][0]["id"].as_str().unwrap()
    );
    assert_eq!(shop.get(&path)["from"], FROM);
    assert_eq!(bank.call("GET", &path, None).0, 404);
    let before = page["next_before"].as_str().unwrap();
    let next = format!("received=true&text=true&limit=1&before={before}");
    assert_eq!(texts(&shop, &next), ["one"]);
    // Of several numbers, one is named.
    let (status, said) = bank.call("GET", "/v1/messages?received=true", None);
    assert_eq!(
        (status, said["field"].as_str()),
        (400, Some("to")),
        "{said}"
    );
    assert!(
        said["detail"].as_str().unwrap().contains("777, 88*"),
        "{said}"
    );
    assert_eq!(
        texts(&bank, "received=true&text=true&to=%2B881"),
        ["sesame"]
    );
    assert_eq!(texts(&bank, "received=true&text=true&to=12345"), [""; 0]);

    // Over the socket as over HTTP.
    let mut program = Program::open(&socket(&inbox.smsc));
    let ask = |received, texts, to: &str| List {
        received,
        texts,
        to: to.to_owned(),
        ..List::default()
    };
    let page = list(&mut program, ask(true, true, ""));
    let found: Vec<&str> = page.messages.iter().map(|one| &*one.text).collect();
    assert_eq!(found, ["two", "one"]);
    assert_eq!(list(&mut program, ask(true, true, "777")).messages, []);
    assert_eq!(list(&mut program, ask(false, true, "")).messages, []);

    // The number gets another owner, who does not see what came before.
    let moved = inbox
        .smsc
        .config()
        .replace("\"12345\"", "\"54321\"")
        .replace("\"777\"", "\"12345\"");
    inbox.smsc.set_config(&moved);
    inbox.smsc.apply();
    inbox.write(NUMBER, "three");
    until("the new owner has the new message", || {
        (texts(&bank, "received=true&text=true&to=12345") == ["three"]).then_some(())
    });
    assert_eq!(
        texts(&shop, "received=true&text=true&to=12345"),
        ["two", "one"]
    );
    match program.ask(Asked::List(ask(true, false, "881"))) {
        Some(Said::Page(page)) => assert_eq!(page.messages, []),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_user_of_ssh_sends_and_reads_and_can_do_nothing_else() {
    let mut inbox = InboxScene::start();
    inbox.write(NUMBER, "one");
    let sent = inbox.ssh(&format!(
        "send {FROM} 'see you; at $(touch hacked) \"nine\"'"
    ));
    assert!(sent.status.success(), "{}", said(&sent));
    let id = said(&sent).trim().to_owned();
    let delivered = taken(&mut inbox.bind, "theirs");
    assert_eq!(delivered.source_addr, NUMBER);
    // In the default alphabet.
    assert_eq!(
        delivered.short_message,
        "see you; at \u{2}(touch hacked) \"nine\""
    );
    until("the message is in the inbox", || {
        said(&inbox.ssh("inbox")).contains("\"one\"").then_some(())
    });
    let dump = inbox.ssh("dump");
    let lines: Vec<Value> = said(&dump)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let summary = |line: &Value| json!([line["direction"], line["text"], line["from"]]);
    assert_eq!(
        lines.iter().map(summary).collect::<Vec<_>>(),
        [
            json!(["sent", "see you; at $(touch hacked) \"nine\"", "ACME"]),
            json!(["received", "one", FROM]),
        ]
    );
    assert!(said(&inbox.ssh(&format!("get {id}"))).contains(FROM));
    for hostile in [
        "",
        "sh",
        "send",
        "list; touch hacked",
        "list\ntouch hacked",
        "$(touch hacked)",
        "`touch hacked`",
        "inbox | touch hacked",
        "get 1 2",
        "get x",
        "send 'unclosed",
        "../../bin/sh -i",
        "inbox 777 > hacked",
    ] {
        let output = inbox.ssh(hostile);
        assert!(!output.status.success(), "{hostile:?}: {}", said(&output));
        assert!(
            !said(&output).contains("Traceback"),
            "{hostile:?}: {}",
            said(&output)
        );
        assert!(!inbox.smsc.file("hacked").exists(), "{hostile:?}");
    }
    // Not a number of this user's account.
    assert_eq!(said(&inbox.ssh("inbox 777")), "");
}
