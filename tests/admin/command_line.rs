//! The command line: formats, terminals, resources, live events, comparisons, errors.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{
    Client, FakeOperator, Peer, Process, Simulator, Smsc, binary, free_port, pdu, python_script,
    run, submit, taken, until,
};
use smsc::smpp::{Body, CommandId, QuerySmResp};

/// An SMSC with an account that stays bound, an operator that is not there, and a queue that waits for it.
fn waiting() -> (Simulator, Smsc, Peer) {
    let operator = Simulator::new();
    let smsc = Smsc::new().relaying_to(operator.address()).start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    esme.submit(submit("447700900123", "hello"));
    (operator, smsc, esme)
}

/// How many sessions a queue has, as far as it knows.
fn sessions(smsc: &Smsc, queue: &str) -> Value {
    smsc.admin().get(&format!("/v1/queues/{queue}"))["sessions"].take()
}

/// Waits for the bind of the operator, of which its queue learns a moment later.
fn wait_until_served(smsc: &Smsc) {
    smsc.wait_for_binds("up", 1);
    until("the queue to have the bind", || {
        (sessions(smsc, "operator:up") == 1).then_some(())
    });
}

/// What a command prints; it must succeed.
pub(super) fn printed(smsc: &Smsc, arguments: &[&str]) -> String {
    let finished = smsc.command(arguments);
    assert!(finished.success, "{arguments:?}: {}", finished.stderr);
    finished.stdout
}

/// What a command says when it fails.
pub(super) fn refused(smsc: &Smsc, arguments: &[&str]) -> String {
    let finished = smsc.command(arguments);
    assert!(!finished.success, "{arguments:?}: {}", finished.stdout);
    finished.stderr
}

/// What a command writes to a terminal of so many columns, and its exit code.
pub(super) fn in_terminal(
    smsc: &Smsc,
    columns: u32,
    typed: &str,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> (String, i64) {
    let (columns, binary) = (columns.to_string(), binary());
    let mut line = vec![
        columns.as_str(),
        "40",
        typed,
        "60",
        binary.to_str().unwrap(),
    ];
    line.extend(arguments);
    let url = format!("http://{}", smsc.http());
    line.extend(["--url", &url, "--token", "harness-token"]);
    let mut command = python_script("terminal.py", &line);
    command
        .env_remove("NO_COLOR")
        .envs(variables.iter().copied());
    let told = Client::run(command);
    (
        told["text"].as_str().unwrap().to_owned(),
        told["code"].as_i64().unwrap(),
    )
}

/// Without the sequences that colour it.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    plain + rest
}

#[test]
fn a_list_is_printed_for_people_and_for_programs() {
    let (_operator, smsc, _esme) = waiting();
    // Nothing changes any more, so that two lists can be compared.
    until("the queues count message and bind", || {
        let up = smsc.admin().get("/v1/queues/operator:up");
        let waits = up["waiting"] == 1 && up["sessions"] == 0;
        (waits && sessions(&smsc, "account:test") == 1).then_some(())
    });
    let table = printed(&smsc, &["queue", "list"]);
    assert!(
        table.contains("operator:up") && !table.contains('\u{1b}'),
        "{table}"
    );
    let answered = smsc.admin().get("/v1/queues");
    let names = |json: &Value| -> Vec<Value> {
        json["queues"]
            .as_array()
            .unwrap()
            .iter()
            .map(|queue| queue["name"].clone())
            .collect()
    };
    let from_json: Value =
        serde_json::from_str(&printed(&smsc, &["queue", "list", "-o", "json"])).unwrap();
    assert_eq!(names(&from_json), names(&answered));
    assert_eq!(
        from_json,
        serde_json::from_str::<Value>(&printed(&smsc, &["queue", "list", "--json"])).unwrap()
    );

    let yaml = printed(&smsc, &["queue", "list", "-o", "yaml"]);
    let mut reader = python_script("yaml_as_json.py", &[]);
    let mut child = reader
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), yaml.as_bytes()).unwrap();
    let read = child.wait_with_output().unwrap().stdout;
    let from_yaml: Value = serde_json::from_slice(&read).unwrap();
    assert_eq!(from_yaml, from_json);

    let csv = printed(&smsc, &["queue", "list", "-o", "csv"]);
    let mut lines = csv.lines();
    assert_eq!(
        lines.next(),
        Some(
            "queue,state,waiting,scheduled,in_flight,oldest,sessions,delivered,failed,expired,suspects"
        )
    );
    let up = lines.find(|line| line.starts_with("operator:up,")).unwrap();
    let values: Vec<&str> = up.split(',').collect();
    assert_eq!(values[1..3], ["nobody bound", "1"], "{up}");
    // A time as the API has it.
    let queues = answered["queues"].as_array().unwrap();
    let queue = queues
        .iter()
        .find(|queue| queue["name"] == "operator:up")
        .unwrap();
    assert_eq!(values[5], queue["oldest_at"].as_str().unwrap());
    // What answers with no list cannot be one.
    assert!(refused(&smsc, &["token", "remove", "x", "-o", "csv"]).contains("table, json, yaml"));
}

#[test]
fn a_narrow_terminal_loses_columns_and_no_value() {
    let (_operator, smsc, _esme) = waiting();
    let (wide, _) = in_terminal(&smsc, 200, "", &["queue", "list"], &[]);
    assert!(wide.contains("\u{1b}[33mnobody bound\u{1b}[0m"), "{wide:?}");
    assert!(plain(&wide).contains("expired"), "{wide}");
    for columns in [40, 60, 80] {
        let (narrow, code) = in_terminal(&smsc, columns, "", &["queue", "list"], &[]);
        let narrow = plain(&narrow);
        assert_eq!(code, 0, "{narrow}");
        let table = narrow
            .lines()
            .filter(|line| !line.starts_with("no room for"));
        for line in table {
            assert!(
                line.chars().count() <= columns as usize,
                "{columns}: {line:?}"
            );
        }
        assert!(
            narrow.contains("operator:up") && narrow.contains("nobody bound"),
            "{narrow}"
        );
        assert!(
            narrow.contains("no room for: suspects, expired"),
            "{narrow}"
        );
    }
    let (colourless, _) = in_terminal(&smsc, 80, "", &["queue", "list"], &[("NO_COLOR", "1")]);
    assert!(!colourless.contains('\u{1b}'), "{colourless:?}");
}

/// A command that goes on, with its output.
fn going_on(smsc: &Smsc, name: &str, arguments: &[&str]) -> Process {
    let mut command = Command::new(binary());
    command.args(arguments).args([
        "--url",
        &format!("http://{}", smsc.http()),
        "--token",
        "harness-token",
    ]);
    Process::start(name, command, &smsc.file(&format!("{name}.log")))
}

#[test]
fn a_list_is_shown_again_and_again() {
    let (_operator, smsc, _esme) = waiting();
    let watch = going_on(
        &smsc,
        "watch",
        &["queue", "show", "operator:up", "-o", "csv", "--watch=1"],
    );
    until("it to be shown", || {
        watch.log().contains("nobody bound").then_some(())
    });
    smsc.admin().post("/v1/queues/operator:up/suspend");
    until("what changed to be shown", || {
        watch.log().contains("suspended").then_some(())
    });
}

#[test]
fn messages_are_found() {
    let (_operator, smsc, mut esme) = waiting();
    let id = esme.submit(submit("447700900999", "another"));
    until("the index", || {
        printed(&smsc, &["message", "list", "--to", "447700900999"])
            .contains(&id)
            .then_some(())
    });
    let csv = printed(
        &smsc,
        &[
            "message", "list", "--state", "ENROUTE", "--limit", "1", "-o", "csv",
        ],
    );
    assert!(
        csv.starts_with("message,state,to,") && csv.lines().count() == 2,
        "{csv}"
    );
    assert!(printed(&smsc, &["message", "list", "--limit", "1"]).contains("older ones: --before"));
    assert!(
        printed(&smsc, &["message", "list", "--state", "DELIVERED"]).contains("no message fits")
    );
    assert!(printed(&smsc, &["message", "show", &id]).contains("447700900999"));
}

#[test]
fn events_tell_what_changes_also_after_a_restart() {
    let operator = Simulator::new().start();
    let mut smsc = Smsc::new().relaying_to(operator.address()).start();
    wait_until_served(&smsc);
    let now = printed(&smsc, &["events", "--only", "queues"]);
    assert!(now.contains("queues: "), "{now}");
    let events = going_on(&smsc, "events", &["events", "--follow"]);
    // Only what changes after the first state of the queues is told as a change.
    until("the first events", || {
        events.log().contains("queues: ").then_some(())
    });
    smsc.admin().post("/v1/queues/operator:up/suspend");
    until("a change", || {
        events
            .log()
            .contains("queue operator:up: served → suspended")
            .then_some(())
    });
    smsc.kill();
    until("it to be away", || {
        events.log().contains("trying again").then_some(())
    });
    smsc.start_again();
    until("it to be back", || {
        (events.log().matches("connected to node").count() == 2).then_some(())
    });

    let lines = printed(&smsc, &["events", "--only", "binds,queues", "-o", "json"]);
    let kinds: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].take())
        .collect();
    assert_eq!(kinds, [json!("hello"), json!("queues"), json!("binds")]);
    assert!(refused(&smsc, &["events", "--only", "weather"]).contains("there are no events"));
}

#[test]
fn measurements_are_compared() {
    let start = || {
        Smsc::new()
            .account("test", "test")
            .route("", "test:delivered")
            .start()
    };
    let (one, other) = (start(), start());
    let shape = |smsc: &Smsc| smsc.smpp().to_string();
    let (to, against) = (shape(&one), shape(&other));
    let load = [
        "bench", "--host", &to, "--count", "200", "--binds", "1", "--rounds", "2",
    ];
    let bench = |more: &[&str]| {
        let finished = one.run(&[&load[..], more].concat());
        assert!(finished.success, "{}", finished.stderr);
        finished.stdout
    };
    let alone = bench(&["--save", "before.json"]);
    assert!(
        alone.contains("median") && alone.contains("accepted/s"),
        "{alone}"
    );
    let compared = bench(&["--compare", "before.json"]);
    assert!(
        compared.contains("ratio") && compared.contains("receipt p99 ms"),
        "{compared}"
    );
    let json: Value = serde_json::from_str(&bench(&["--compare", &against, "-o", "json"])).unwrap();
    for side in ["rounds", "compared_with"] {
        assert_eq!(json[side].as_array().unwrap().len(), 2, "{side}");
        assert_eq!(json[side][1]["accepted"], 200, "{side}");
    }
    let wrong = one.run(&[&load[..], &["--compare", "nothing"]].concat());
    assert!(
        wrong
            .stderr
            .contains("neither a file of --save nor HOST:PORT"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn errors_of_connections_name_host_and_port_once() {
    let smsc = Smsc::new().account("test", "test").start();
    let port = free_port();
    let (address, url) = (
        format!("127.0.0.1:{port}"),
        format!("http://127.0.0.1:{port}"),
    );
    for line in [
        &["queue", "list", "--url", &url, "--token", "x"][..],
        &["account", "list", "--url", &url, "--token", "x"],
        &["events", "--url", &url, "--token", "x"],
        &["health", "--url", &url],
        &[
            "send",
            "--host",
            &address,
            "--to",
            "44",
            "--password",
            "x",
            "x",
        ],
        &["load", "--host", &address, "--count", "1"],
    ] {
        let finished = smsc.run(line);
        assert!(!finished.success, "{line:?}");
        let said = finished.stderr;
        let error = said
            .lines()
            .find(|line| line.contains("error: "))
            .unwrap_or(&said);
        assert!(error.contains(&address), "{line:?}: {said}");
        assert!(
            error.to_lowercase().matches("refused").count() <= 1,
            "{line:?}: {said}"
        );
    }
}

#[test]
fn top_fits_into_sixty_columns() {
    let operator = Simulator::new().start();
    let smsc = Smsc::new().relaying_to(operator.address()).start();
    wait_until_served(&smsc);
    let frame = printed(&smsc, &["top", "--once", "--width", "60", "--height", "50"]);
    for part in [
        "READY",
        "accepted",
        "refused",
        "commit",
        "operator:up",
        "served",
        "up",
        "1 of 1",
        "bound",
    ] {
        assert!(frame.contains(part), "{part} is not in\n{frame}");
    }
    assert!(
        frame.lines().all(|line| line.chars().count() <= 60),
        "{frame}"
    );
}

/// A client of an account that is bound elsewhere as well: the receipt goes there.
#[test]
fn send_asks_what_became_of_a_message_without_a_receipt() {
    for (state, word, is_well) in [(2, "DELIVERED", true), (5, "UNDELIVERABLE", false)] {
        let theirs = FakeOperator::listen();
        let address = theirs.address().to_string();
        let sending = std::thread::spawn(move || {
            let to = ["send", "--host", &address, "--to", "447700900123"];
            run(Command::new(binary())
                .args(to)
                .args(["--password", "x", "hello"]))
        });
        let mut bind = theirs.accept_bind();
        taken(&mut bind, "one");
        let asked = bind.expect("a query_sm", |pdu| matches!(pdu.body, Body::QuerySm(_)));
        // An answer about another message, which ended otherwise, is none.
        for (id, state) in [("another", 7 - state), ("one", state)] {
            let answer = QuerySmResp {
                message_id: id.into(),
                message_state: state,
                ..QuerySmResp::default()
            };
            bind.send(&pdu(asked.sequence, Body::QuerySmResp(answer)));
        }
        let unbind = bind.expect("an unbind", |pdu| matches!(pdu.body, Body::Unbind));
        bind.acknowledge(CommandId::UNBIND_RESP, unbind.sequence);
        let said = sending.join().unwrap();
        assert_eq!(said.success, is_well, "{}", said.stderr);
        assert!(said.stdout.contains(word), "{}", said.stdout);
        assert!(said.stdout.contains("another bind"), "{}", said.stdout);
    }
}
