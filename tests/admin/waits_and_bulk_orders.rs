//! A waiting message says why it waits, and many waiting messages are counted and cancelled with one order.

use crate::harness::{
    FakeOperator, Peer, Simulator, Smsc, free_port, submit, submit_quietly, until,
};
use serde_json::{Value, json};

fn waits(smsc: &Smsc, id: &str) -> (String, String) {
    let waits = &smsc.admin().get(&format!("/v1/messages/{id}"))["waits"];
    let text = |key: &str| waits[key].as_str().unwrap_or_default().to_owned();
    (text("reason"), text("text"))
}

fn wait_for(smsc: &Smsc, id: &str, reason: &str) -> String {
    until(&format!("message {id} to wait for: {reason}"), || {
        let (found, text) = waits(smsc, id);
        (found == reason).then_some(text)
    })
}

#[test]
fn a_message_says_why_it_waits() {
    let up = Simulator::new().start();
    let busy = Simulator::new()
        .flags("--reject-percent 100 --reject-status ESME_RSYSERR")
        .start();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator("up", up.address())
        .operator_with("slow", up.address(), "rate = 0.1")
        .operator("busy", busy.address())
        .operator("gone", ([127, 0, 0, 1], free_port()).into())
        .route("44", "up")
        .route("33", "slow")
        .route("49", "busy")
        .route("39", "gone")
        .start();
    for operator in ["up", "slow", "busy"] {
        smsc.wait_for_binds(operator, 1);
    }
    let admin = smsc.admin().with_role("operate", "anna");
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");

    let gone = esme.submit(submit("39111", "hello"));
    let text = wait_for(&smsc, &gone, "no bind");
    assert!(text.starts_with("no bind to gone is up: connect"), "{text}");

    let retried = esme.submit(submit("49111", "hello"));
    let text = wait_for(&smsc, &retried, "retry");
    assert!(
        text.starts_with("it is tried again at 20")
            && text.ends_with("after ESME_RSYSERR of operator:busy"),
        "{text}"
    );

    let ids: Vec<String> = (0..5)
        .map(|one| esme.submit(submit(&format!("3311{one}"), "hello")))
        .collect();
    let text = wait_for(&smsc, ids.last().unwrap(), "rate");
    assert!(
        text.contains("the rate of operator:slow is 0.1 per second"),
        "{text}"
    );

    assert_eq!(admin.post("/v1/queues/operator:up/suspend").0, 200);
    let held = esme.submit(submit("44111", "hello"));
    assert_eq!(
        wait_for(&smsc, &held, "suspended"),
        "operator:up is suspended by anna"
    );
    let queue = smsc.admin().get("/v1/queues/operator:up");
    assert!(
        queue["suspended_by"]
            .as_str()
            .unwrap()
            .starts_with("anna from "),
        "{queue}"
    );
    // The command line says the same.
    let shown = smsc.command(&["message", "show", &held]);
    assert!(
        shown.stdout.contains("operator:up is suspended by anna"),
        "{}",
        shown.stdout
    );
    assert_eq!(admin.post("/v1/queues/operator:up/resume").0, 200);
    smsc.wait_for_final(&held);

    admin.post("/v1/operators/up/suspend");
    let paused = esme.submit(submit("44112", "hello"));
    let text = wait_for(&smsc, &paused, "paused");
    assert_eq!(
        text,
        "every bind to up is paused by anna, until it is resumed"
    );
    admin.post("/v1/operators/up/resume");
    smsc.wait_for_final(&paused);
    // Its receipt waits too, once nobody is there to take it.
    esme.acknowledge_all();
    esme.unbind();
    let mut sender = Peer::transmitter(smsc.smpp(), "test", "test");
    let told = sender.submit(submit("44113", "hello"));
    smsc.wait_for_final(&told);
    let text = wait_for(&smsc, &told, "no bind");
    assert_eq!(text, "its receipt waits: test is not bound to receive");
}

#[test]
fn an_answer_or_a_receipt_is_awaited() {
    let operator = FakeOperator::listen();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with("up", operator.address(), "window = 1")
        .route("", "up")
        .start();
    let mut bind = operator.accept_bind();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let first = esme.submit(submit("44111", "hello"));
    let second = esme.submit(submit("44112", "hello"));
    let (sequence, _) = crate::harness::next_submit(&mut bind);
    let text = wait_for(&smsc, &first, "answer");
    assert_eq!(text, "it is sent, and operator:up has not answered yet");
    let text = wait_for(&smsc, &second, "window");
    assert!(text.contains("it answers slowly"), "{text}");
    crate::harness::accept(&mut bind, sequence, "theirs");
    let text = wait_for(&smsc, &first, "receipt");
    assert_eq!(text, "operator:up has it; its receipt is awaited");
}

#[test]
fn many_messages_are_counted_and_cancelled() {
    let operator = Simulator::new().start();
    let smsc = Smsc::new()
        .account("test", "test")
        .account("other", "other")
        .operator("up", operator.address())
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 1);
    let admin = smsc.admin();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let handed = esme.submit(submit_quietly("44000", "hello"));
    smsc.wait_for_final(&handed);
    assert_eq!(admin.post("/v1/queues/operator:up/suspend").0, 200);
    let quiet = |to: &str| submit_quietly(to, "hello");
    let mut mine: Vec<String> = (0..30)
        .map(|one| esme.submit(quiet(&format!("4411{one:02}"))))
        .collect();
    let mut other = Peer::bind(smsc.smpp(), "other", "other");
    let theirs = other.submit(quiet("44999"));
    let order = |filter: Value, dry_run: bool| {
        let body = json!({ "filter": filter, "dry_run": dry_run });
        admin.call("POST", "/v1/messages/cancel", Some(&body))
    };
    // What is meant is counted first; nothing happens.
    let (status, found) = order(json!({ "account": "test", "operator": "up" }), true);
    assert_eq!(
        (status, &found["matched"], &found["cancelled"]),
        (200, &json!(30), &json!(0)),
        "{found}"
    );
    let (_, none) = order(
        json!({ "account": "test", "operator": "test:delivered" }),
        true,
    );
    assert_eq!(none["matched"], 0, "another queue: {none}");
    let listed = admin.get("/v1/messages?operator=up&state=ENROUTE&account=test&limit=100");
    assert_eq!(listed["messages"].as_array().unwrap().len(), 30);
    // A portion, then the rest.
    let body = json!({ "filter": { "account": "test" }, "limit": 10 });
    let (_, part) = admin.call("POST", "/v1/messages/cancel", Some(&body));
    assert_eq!(
        (&part["matched"], &part["cancelled"]),
        (&json!(10), &json!(10)),
        "{part}"
    );
    assert!(part["next_before"].is_string(), "{part}");
    // By the command line, which asks first.
    let told = |more: &[&str]| smsc.command(&[&["message", "cancel"][..], more].concat());
    let counted = told(&["--account", "test", "--operator", "up", "--dry-run"]);
    assert_eq!(counted.stdout, "20 messages fit\n", "{}", counted.stderr);
    let asked = told(&["--account", "test"]);
    assert!(
        asked.stderr.contains("nothing was cancelled: "),
        "{asked:?}"
    );
    let unmeant = told(&["--yes"]);
    assert!(unmeant.stderr.contains("which messages?"), "{unmeant:?}");
    let done = told(&["--account", "test", "--yes"]);
    assert_eq!(
        done.stdout, "20 of 20 messages are cancelled\n",
        "{}",
        done.stderr
    );
    for id in mine.drain(..) {
        assert_eq!(smsc.final_state(&id), "DELETED");
    }
    assert_eq!(
        admin.get(&format!("/v1/messages/{theirs}"))["state"],
        "ENROUTE"
    );
    let (_, again) = order(json!({ "account": "test" }), false);
    assert_eq!(again["matched"], 0, "{again}");
    // What it does not understand it names.
    for (filter, field) in [
        (json!({}), "filter"),
        (json!({ "account": "" }), "filter"),
        (json!({ "account": "test", "state": "REJECTED" }), "state"),
        (json!({ "account": "test", "error": "1" }), "error"),
        (json!({ "since": "soon" }), "since"),
    ] {
        let (status, said) = order(filter.clone(), true);
        assert_eq!(
            (status, &said["field"]),
            (400, &json!(field)),
            "{filter}: {said}"
        );
    }
    assert_eq!(order(json!({ "account": "nobody" }), true).0, 404);
    let log = admin.get("/v1/audit?path=/v1/messages/cancel");
    assert!(
        log["entries"].as_array().is_some_and(|all| !all.is_empty()),
        "{log}"
    );
}
