//! In the place of smpp-connector: credentials that come before each bind, its environment, its paths and its table.

mod drop_in;
mod many_nodes;
mod nats;

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};
use smsc::smpp::{Body, CommandId, CommandStatus};

use crate::harness::{
    Admin, FakeOperator, Management, Smsc, SmscBuilder, free_port, submit, taken, until,
};

/// An id as that platform gives it.
const OPERATOR: &str = "550e8400-e29b-41d4-a716-446655440001";
const TOKEN: &str = "internal-service-token";

/// An address that no other test has.
fn address() -> SocketAddr {
    ([127, 0, 0, 1], free_port()).into()
}

/// An SMSC whose operator is managed, and the address of its face.
fn managed(
    management: &Management,
    more: impl FnOnce(SmscBuilder) -> SmscBuilder,
) -> (Smsc, Admin) {
    let face = address();
    let (url, keys) = (
        management.url(),
        format!("id = {OPERATOR:?}\nmanaged = true"),
    );
    let builder = Smsc::new().account("test", "test").route("", OPERATOR);
    let builder = builder.toml(&format!(
        "[compat.smpp_connector]\nlisten = \"{face}\"\nmanagement_url = {url:?}\n\
         management_token = {TOKEN:?}\nmanagement_timeout = \"20s\"\n\
         [log]\nlevel = \"debug\"\n\
         [[operator]]\n{keys}\nreconnect = [\"200ms\"]\n"
    ));
    let smsc = more(builder).start();
    let face = Admin::new(face, "no token is asked for");
    (smsc, face)
}

fn session(face: &Admin) -> Value {
    let answer = face.get("/sessions");
    let sessions = answer["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 1, "{answer}");
    sessions[0].clone()
}

/// Takes the next bind of the operator, and gives the password that it has.
fn bind_of(operator: &FakeOperator) -> (crate::harness::Peer, String) {
    let mut peer = operator.accept();
    let pdu = peer.expect("a bind", |pdu| {
        matches!(pdu.body, Body::BindTransceiver(_) | Body::BindReceiver(_))
    });
    let (bind, answer) = match pdu.body {
        Body::BindTransceiver(bind) => (bind, CommandId::BIND_TRANSCEIVER_RESP),
        Body::BindReceiver(bind) => (bind, CommandId::BIND_RECEIVER_RESP),
        other => panic!("{other:?}"),
    };
    peer.acknowledge(answer, pdu.sequence);
    assert_eq!(bind.system_id, "smsgtw01");
    (peer, String::from_utf8(bind.password.to_vec()).unwrap())
}

#[test]
fn credentials_are_fetched_before_each_bind_and_kept_nowhere() {
    let (first, second) = (FakeOperator::listen(), FakeOperator::listen());
    let management = Management::start();
    management.set(OPERATOR, first.address(), "s3cr3t-1");
    let (smsc, face) = managed(&management, |builder| builder);
    let (bind, password) = bind_of(&first);
    assert_eq!(password, "s3cr3t-1");
    smsc.wait_for_binds(OPERATOR, 1);
    let asked = management.came();
    assert_eq!(asked[0].header("authorization"), format!("Bearer {TOKEN}"));
    let is_bound = || (session(&face)["state"] == "BOUND").then(|| session(&face));
    let shown = until("a bound session", is_bound);
    assert_eq!(shown["operatorId"], OPERATOR);
    assert_eq!(shown["bindMode"], "TRANSCEIVER");
    assert_eq!(shown["reconnectAttempts"], 0);
    assert!(
        shown["lastBoundAt"].as_str().unwrap().ends_with('Z'),
        "{shown}"
    );

    // A changed answer counts with the next bind, and so does its limit.
    let more = json!({"tpsLimit": 7});
    management.set_with(OPERATOR, second.address(), "s3cr3t-2", &more);
    drop(bind);
    let (mut bind, password) = bind_of(&second);
    assert_eq!(password, "s3cr3t-2");
    smsc.wait_for_binds(OPERATOR, 1);
    until("the limit of the second answer", || {
        let shown = smsc.admin().get(&format!("/v1/operators/{OPERATOR}"));
        (shown["rate"] == 7.0).then_some(())
    });
    let mut esme = crate::harness::Peer::bind(smsc.smpp(), "test", "test");
    esme.submit(submit("447700900123", "hello"));
    taken(&mut bind, "theirs");

    let mut pages = vec![smsc.log(), smsc.config()];
    for path in [
        "/v1/operators",
        "/v1/binds",
        "/v1/config",
        "/v1/config/versions",
        "/v1/audit",
        "/v1/nodes",
        "/metrics",
    ] {
        let (_, text) = smsc.admin().text(path).unwrap();
        assert!(!text.is_empty(), "{path}");
        pages.push(text);
    }
    for path in ["/health", "/ready", "/metrics", "/sessions"] {
        let (status, text) = face.text(path).unwrap();
        assert_eq!(status, 200, "{path}: {text}");
        pages.push(text);
    }
    for page in &pages {
        assert!(!page.contains("s3cr3t"), "{page}");
    }
    assert_in_no_file(&smsc.data_dir(), b"s3cr3t");
}

/// Reads every file of a folder.
fn assert_in_no_file(folder: &Path, secret: &[u8]) {
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_in_no_file(&path, secret);
            continue;
        }
        let octets = fs::read(&path).unwrap();
        let found = octets.windows(secret.len()).any(|some| some == secret);
        assert!(!found, "the password is in {}", path.display());
        files += 1;
    }
    assert!(
        files > 0 || folder.ends_with("cdr"),
        "{} is empty",
        folder.display()
    );
}

#[test]
fn an_attempt_without_credentials_fails_with_a_reason_and_is_repeated() {
    let operator = FakeOperator::listen();
    let management = Management::start();
    let (smsc, face) = managed(&management, |builder| builder);
    let reason = |wanted: &str| {
        until(wanted, || {
            let binds = smsc.admin().get("/v1/binds");
            let binds = binds["binds"].as_array()?.clone();
            let said = |bind: &Value| bind["last_error"].as_str().unwrap_or_default().to_owned();
            binds
                .iter()
                .any(|bind| said(bind).contains(wanted))
                .then_some(())
        })
    };
    reason("does not know this operator");
    let (status, page) = face.text("/ready").unwrap();
    assert_eq!(status, 503, "{page}");
    assert!(page.contains("\"smpp\":\"error\""), "{page}");
    assert_eq!(face.text("/health").unwrap().0, 200);
    let lacking = json!({"password": null});
    management.set_with(OPERATOR, operator.address(), "", &lacking);
    reason("no `password`");
    management.set(OPERATOR, operator.address(), "s3cr3t");
    let (_bind, _) = bind_of(&operator);
    until("a ready node", || {
        (face.text("/ready").ok()?.0 == 200).then_some(())
    });
    let (_, metrics) = face.text("/metrics").unwrap();
    let count = |name: &str| {
        let start = format!("smpp_connector_{name}{{operator_id=\"{OPERATOR}\"");
        let line = metrics.lines().find(|line| line.starts_with(&start));
        let line = line.unwrap_or_else(|| panic!("no {start} in {metrics}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert!(count("reconnect_attempts_total") >= 2.0, "{metrics}");
    assert!(count("pdu_bytes_received_total") > 0.0, "{metrics}");
    let bound =
        format!("smpp_connector_sessions_total{{operator_id=\"{OPERATOR}\",state=\"BOUND\"}} 1");
    assert!(metrics.lines().any(|line| line == bound), "{metrics}");
}

#[test]
fn wrong_credentials_stop_until_they_are_corrected_and_resumed() {
    let operator = FakeOperator::listen();
    let management = Management::start();
    management.set(OPERATOR, operator.address(), "wrong");
    // Another operator, which is tried again as often as the managed one would be.
    let other = FakeOperator::listen();
    let (smsc, _) = managed(&management, |smsc| smsc.operator("other", other.address()));
    let mut peer = operator.accept();
    let bind = peer.expect("a bind", |pdu| matches!(pdu.body, Body::BindTransceiver(_)));
    peer.respond(
        CommandId::BIND_TRANSCEIVER_RESP,
        bind.sequence,
        CommandStatus::ESME_RBINDFAIL,
    );
    until("a paused bind", || {
        let binds = smsc.admin().get("/v1/binds");
        let mut all = binds["binds"].as_array()?.iter();
        all.any(|bind| bind["state"] == "paused").then_some(())
    });
    let asked = management.came().len();
    for _ in 0..4 {
        drop(other.accept());
    }
    assert_eq!(management.came().len(), asked, "it was asked while paused");
    management.set(OPERATOR, operator.address(), "right");
    let (status, answer) = smsc
        .admin()
        .post(&format!("/v1/operators/{OPERATOR}/resume"));
    assert!(status < 300, "{status} {answer}");
    let (_bind, password) = bind_of(&operator);
    assert_eq!(password, "right");
    assert_eq!(management.came().len(), asked + 1);
}

#[test]
fn the_kind_of_bind_is_the_one_of_the_answer() {
    let operator = FakeOperator::listen();
    let management = Management::start();
    let receiver = json!({"bindMode": "RECEIVER", "operatorName": "Roshan-AF"});
    management.set_with(OPERATOR, operator.address(), "s3cr3t", &receiver);
    let (_smsc, face) = managed(&management, |builder| builder);
    let (bind, _) = bind_of(&operator);
    let shown = until("a bound session", || {
        let shown = session(&face);
        (shown["state"] == "BOUND").then_some(shown)
    });
    assert_eq!(shown["bindMode"], "RECEIVER");
    assert_eq!(shown["operatorName"], "Roshan-AF");
    management.set(OPERATOR, operator.address(), "s3cr3t");
    drop(bind);
    let (_bind, _) = bind_of(&operator);
    until("a transceiver", || {
        let shown = session(&face);
        (shown["state"] == "BOUND" && shown["bindMode"] == "TRANSCEIVER").then_some(())
    });
}

#[test]
fn what_a_file_stands_for_is_no_removal_when_the_file_is_applied() {
    let management = Management::start();
    let (url, nats) = (
        management.url(),
        format!("nats://127.0.0.1:{}", free_port()),
    );
    let smsc = Smsc::new()
        .account("test", "test")
        .toml(&format!(
            "[compat.smpp_connector]\nlisten = \"{}\"\noperators = [{OPERATOR:?}]\n\
             management_url = {url:?}\nmanagement_token = {TOKEN:?}\nnats_servers = [{nats:?}]\n",
            address()
        ))
        .start();
    let admin = smsc.admin();
    let operator = format!("/v1/operators/{OPERATOR}");
    assert_eq!(admin.get(&operator)["settings"]["managed"], true);
    assert_eq!(admin.get("/v1/config/diff")["changes"], json!([]));
    assert!(!smsc.log().contains("differs from"), "{}", smsc.log());

    // What was changed by the API stays so, with secrets that nobody is shown.
    let changed = json!({"managed": true, "window": 7});
    admin.put(&operator, &changed);
    admin.put(
        "/v1/accounts/smpp-connector",
        &json!({"password": "given later"}),
    );
    let apply = |more: &[&str]| {
        let always = ["apply", "-f", "smsc.toml", "--refuse-removals"];
        smsc.run(&[&always, more].concat())
    };
    for more in [
        &["--dry-run"][..],
        &["--dry-run", "--names-only"],
        &["--yes"],
    ] {
        let done = apply(more);
        assert!(done.success, "{more:?}: {done:?}");
        let nothing = "0 added, 0 changed, 0 removed";
        assert!(done.stdout.contains(nothing), "{more:?}: {done:?}");
    }
    // What else somebody has made is one still.
    admin.put("/v1/accounts/other", &json!({"password": "other"}));
    for more in [&["--dry-run", "--names-only"][..], &["--yes"]] {
        let refused = apply(more);
        assert!(!refused.success, "{more:?}: {refused:?}");
        let why = "because accounts/other would be removed";
        assert!(refused.stderr.contains(why), "{more:?}: {refused:?}");
    }
    let applied = smsc.run(&["apply", "-f", "smsc.toml", "--yes"]);
    assert!(applied.success, "{applied:?}");
    let left = &admin.get(&operator)["settings"];
    assert_eq!(
        (&left["managed"], &left["window"]),
        (&json!(true), &json!(7))
    );
    assert_eq!(admin.get("/v1/config/diff")["changes"], json!([]));
}
