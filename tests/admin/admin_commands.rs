//! Commands of an administrator to a running node: moving messages, draining, changing the log level,
//! and HTTPS.

mod terminal;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::harness::{
    Admin, Cluster, Peer, Process, Simulator, Smsc, free_port, submit, submit_quietly, until,
};
use serde_json::{Value, json};
use smsc::smpp::{Body, CommandId};

/// Moves the messages of a queue that match an order.
fn transfer(admin: &Admin, from: &str, order: &Value) -> (u16, Value) {
    admin.call("POST", &format!("/v1/queues/{from}/move"), Some(order))
}

#[test]
fn messages_are_moved_to_another_operator() {
    let (down, mut late) = (Simulator::new(), Simulator::new());
    let up = Simulator::new().start();
    let mut smsc = Smsc::new()
        .account("one", "one")
        .account("two", "two")
        .operator("down", down.address())
        .operator("late", late.address())
        .operator("up", up.address())
        .route("", "down")
        .start();
    let admin = smsc.admin();
    smsc.wait_for_binds("up", 1);
    let mut one = Peer::bind(smsc.smpp(), "one", "one");
    let mut two = Peer::bind(smsc.smpp(), "two", "two");
    let first = one.submit(submit_quietly("447700900001", "moved alone"));
    let ids: Vec<String> = (0..5)
        .map(|number| one.submit(submit_quietly(&format!("4477009001{number:02}"), "of one")))
        .collect();
    let other = two.submit(submit_quietly("447700900002", "of two"));

    // One message, on the command line.
    let said = smsc.command(&["message", "move", &first, "--queue", "operator:up"]);
    assert!(said.success, "{}", said.stderr);
    assert_eq!(smsc.wait_for_final(&first)["state"], "ACCEPTED");
    let moved = admin.get(&format!("/v1/messages/{first}"));
    assert_eq!(moved["queue"], "operator:up");
    assert_eq!(moved["changes"][0]["kind"], "move");
    assert!(
        moved["changes"][0]["by"]
            .as_str()
            .unwrap()
            .starts_with("admin token from")
    );

    // Requests that are refused, and why.
    for (from, order, status) in [
        ("operator:down", json!({ "to": "operator:none" }), 404),
        ("operator:none", json!({ "to": "operator:up" }), 404),
        ("operator:down", json!({ "to": "operator:down" }), 409),
        ("operator:down", json!({ "to": "account:one" }), 409),
        (
            "operator:down",
            json!({ "to": "operator:up", "account": "three" }),
            404,
        ),
        (
            "operator:down",
            json!({ "to": "operator:up", "since": "soon" }),
            400,
        ),
        ("operator:down", json!({ "too": "operator:up" }), 400),
    ] {
        let (said, answer) = transfer(&admin, from, &order);
        assert_eq!(said, status, "{order}: {answer}");
    }
    let path = format!("/v1/messages/{first}/move");
    let (status, _) = admin.call("POST", &path, Some(&json!({ "to": "operator:late" })));
    assert_eq!(status, 409, "it is final");
    // Nothing was accepted in that time.
    let order = json!({ "to": "operator:late", "until": "2020-01-01" });
    assert_eq!(transfer(&admin, "operator:down", &order).0, 200);

    // The messages of one account, to an operator that is down as well: they stay moved after a kill.
    let order = json!({ "to": "operator:late", "account": "one", "since": "2020-01-01" });
    let (status, answer) = transfer(&admin, "operator:down", &order);
    assert_eq!(status, 202, "{answer}");
    until("those of one to be moved", || {
        let queue = admin.get("/v1/queues/operator:late");
        (queue["waiting"] == 5).then_some(())
    });
    // Each queue says in its own time what it has.
    until("that of two to be left alone", || {
        (admin.get("/v1/queues/operator:down")["waiting"] == 1).then_some(())
    });
    smsc.kill();
    late.start_again();
    smsc.start_again();
    for id in &ids {
        assert_eq!(smsc.wait_for_final(id)["state"], "ACCEPTED");
    }
    assert_eq!(late.wait_for(5).len(), 5);

    // All remaining messages.
    smsc.wait_for_binds("up", 1);
    let said = smsc.command(&["queue", "move", "operator:down", "--queue", "operator:up"]);
    assert!(said.success, "{}", said.stderr);
    assert_eq!(smsc.wait_for_final(&other)["state"], "ACCEPTED");
    smsc.assert_no_panic();
    smsc.terminate();
    smsc.fsck();
}

#[test]
fn a_drained_node_takes_nothing_and_comes_back() {
    let operator = Simulator::new().start();
    let smsc = Smsc::new().relaying_to(operator.address()).start();
    let admin = smsc.admin();
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let before = esme.submit(submit("447700900001", "before"));
    assert_eq!(smsc.wait_for_final(&before)["state"], "DELIVERED");
    esme.deliver();

    let said = smsc.command(&["drain", "--wait", "0"]);
    assert!(said.stdout.contains("draining"), "{}", said.stderr);
    let unbind = esme.expect("an unbind", |pdu| pdu.body == Body::Unbind);
    esme.acknowledge(CommandId::UNBIND_RESP, unbind.sequence);
    let said = smsc.command(&["drain"]);
    assert!(
        said.stdout.contains("drained"),
        "{}{}",
        said.stdout,
        said.stderr
    );
    esme.until_closed();
    let state = admin.get("/v1/drain");
    assert_eq!(
        (&state["draining"], &state["finished"]),
        (&json!(true), &json!(true))
    );
    let (status, ready) = admin.text("/health/ready").unwrap();
    assert!(status == 503 && ready.contains("draining"), "{ready}");
    assert_eq!(admin.get("/v1/operators/up")["bound"], 0);

    let said = smsc.command(&["drain", "--resume"]);
    assert!(
        said.stdout.contains("in service"),
        "{}{}",
        said.stdout,
        said.stderr
    );
    assert_eq!(admin.text("/health/ready").unwrap().0, 200);
    smsc.wait_for_binds("up", 1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let after = esme.submit(submit("447700900002", "after"));
    assert_eq!(smsc.wait_for_final(&after)["state"], "DELIVERED");
    smsc.assert_no_panic();
}

#[test]
fn what_is_logged_changes_while_it_runs() {
    let smsc = Smsc::new().account("test", "test").start();
    let admin = smsc.admin();
    let set = |level: &str| admin.call("PUT", "/v1/log-level", Some(&json!({ "level": level })));
    // Each bind logs a line of level INFO.
    let bind = || drop(Peer::bind(smsc.smpp(), "test", "test"));
    let (status, answer) = set("error");
    assert_eq!(status, 200, "{answer}");
    let quiet = smsc.log().len();
    bind();
    assert_eq!(admin.post("/v1/queues/account:test/suspend").0, 200);
    assert!(!smsc.log()[quiet..].contains("bound"), "{}", smsc.log());
    assert_eq!(set("info,smsc::smpp=debug").0, 200);
    bind();
    until("a line", || {
        smsc.log()[quiet..].contains("bound").then_some(())
    });
    // Commands are always logged.
    assert!(smsc.log()[quiet..].contains("suspend"), "{}", smsc.log());
    let level = admin.get("/v1/log-level");
    assert!(
        level["level"]
            .as_str()
            .unwrap()
            .contains("smsc::smpp=debug"),
        "{level}"
    );
    for wrong in ["", "loud", "smsc=loud", "=[", "info,=="] {
        let (status, answer) = set(wrong);
        assert_eq!(
            (status, &answer["field"]),
            (400, &json!("level")),
            "{wrong}: {answer}"
        );
    }
}

#[test]
fn tokens_moves_and_drains_are_known_on_all_nodes() {
    let (down, up) = (Simulator::new(), Simulator::new().start());
    let (down_at, up_at) = (down.address(), up.address());
    let cluster = Cluster::of(2)
        .each(move |smsc| {
            smsc.account("test", "test")
                .operator_with("down", down_at, "binds = 2")
                .operator_with("up", up_at, "binds = 2")
                .route("", "down")
        })
        .start();
    cluster.wait_until_held_by(0, &[0, 1], "operator:up", 4);
    let [first, second] = [cluster.nodes[0].admin(), cluster.nodes[1].admin()];
    let operate = first.with_role("operate", "everywhere");
    let there = |admin: &Admin| admin.call("GET", "/v1/queues", None).0;
    let elsewhere = second.bearer(operate.token());
    until("the token to be known there", || {
        (there(&elsewhere) == 200).then_some(())
    });

    let mut esme = Peer::bind(cluster.nodes[0].smpp(), "test", "test");
    let ids: Vec<String> = (0..40)
        .map(|number| esme.submit(submit(&format!("44770090{number:04}"), "hello")))
        .collect();
    until("everything to be moved", || {
        // The next order moves messages of partitions that are on their way between nodes.
        let (status, answer) =
            transfer(&elsewhere, "operator:down", &json!({ "to": "operator:up" }));
        assert_eq!(status, 202, "{answer}");
        let all = ids.iter().all(|id| {
            let message = second.get(&format!("/v1/messages/{id}"));
            message["state"] == "DELIVERED"
        });
        all.then_some(())
    });
    assert_eq!(up.wait_for(40).len(), 40, "each of them once");

    // A drained node gives everything to the other one, and takes its share again afterwards.
    assert_eq!(first.post("/v1/drain").0, 200);
    until("the drained node to hold nothing", || {
        let node = of_first(&second);
        let nothing = node["queues"] == json!([]) && node["binds"] == json!([]);
        (node["state"] == "draining" && nothing).then_some(())
    });
    assert_eq!(first.call("DELETE", "/v1/drain", None).0, 200);
    until("it to have its share again", || {
        let node = of_first(&second);
        let holds = |what: &str| node[what].as_array().is_some_and(|list| !list.is_empty());
        (node["state"] == "alive" && holds("queues") && holds("binds")).then_some(())
    });

    assert_eq!(second.call("DELETE", "/v1/tokens/everywhere", None).0, 204);
    until("the token to be forgotten there", || {
        (there(&operate) == 401).then_some(())
    });
    // The audit log covers all nodes.
    let audit = second.get("/v1/audit?limit=1000");
    let nodes: std::collections::HashSet<u64> = audit["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["node"].as_u64().unwrap())
        .collect();
    assert_eq!(nodes.len(), 2, "{audit}");
}

/// The first node, as the second one reports it.
fn of_first(second: &Admin) -> Value {
    let nodes = second.get("/v1/nodes");
    let nodes = nodes["nodes"].as_array().unwrap();
    let first = nodes.iter().find(|node| node["this_node"] == false);
    first.cloned().unwrap_or_default()
}

// === HTTPS ===

/// A certificate authority of the test.
struct Authority {
    pem: String,
    issuer: rcgen::Issuer<'static, rcgen::KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let pem = parameters.self_signed(&key).unwrap().pem();
        Self {
            pem,
            issuer: rcgen::Issuer::new(parameters, key),
        }
    }

    /// Writes a certificate for this machine and its key.
    fn write(&self, folder: &Path) {
        let key = rcgen::KeyPair::generate().unwrap();
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let parameters = rcgen::CertificateParams::new(names).unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(folder.join("cert.pem"), certificate.pem()).unwrap();
        std::fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
    }

    /// A client without a token that trusts only this authority. It keeps its connection longer than a test takes.
    fn client(&self) -> ureq::Agent {
        use ureq::tls::{Certificate, RootCerts, TlsConfig};
        let root = Certificate::from_pem(self.pem.as_bytes()).unwrap();
        let provider = rustls::crypto::ring::default_provider();
        ureq::Agent::config_builder()
            .tls_config(
                TlsConfig::builder()
                    .root_certs(RootCerts::new_with_certs(&[root]))
                    .unversioned_rustls_crypto_provider(std::sync::Arc::new(provider))
                    .build(),
            )
            .max_idle_age(Duration::from_secs(300))
            .build()
            .new_agent()
    }
}

fn is_live(client: &ureq::Agent, smsc: &Smsc) -> Result<String, ureq::Error> {
    let url = format!("https://{}/health/live", smsc.http());
    client.get(url).call()?.body_mut().read_to_string()
}

#[test]
fn https_with_a_certificate_that_is_renewed() {
    let folder = tempfile::tempdir().unwrap();
    let old = Authority::new();
    old.write(folder.path());
    let file = |name: &str| folder.path().join(name).display().to_string();
    let smsc = Smsc::new()
        .account("test", "test")
        .http(&format!(
            "tls_cert = {:?}\ntls_key = {:?}",
            file("cert.pem"),
            file("key.pem")
        ))
        .https(&old.pem)
        .start();
    std::fs::write(file("ca.pem"), &old.pem).unwrap();
    let queues = smsc.run(&[
        "queue",
        "list",
        "--config",
        "smsc.toml",
        "--ca",
        &file("ca.pem"),
    ]);
    assert!(queues.stdout.contains("account:test"), "{}", queues.stderr);
    let stranger = smsc.run(&[
        "queue",
        "list",
        "--url",
        &format!("https://{}", smsc.http()),
        "--token",
        "x",
    ]);
    assert!(
        !stranger.success && stranger.stderr.contains("cert"),
        "{}",
        stranger.stderr
    );

    let known = old.client();
    assert!(is_live(&known, &smsc).is_ok());
    // Files that do not match change nothing.
    let new = Authority::new();
    std::fs::write(
        file("key.pem"),
        rcgen::KeyPair::generate().unwrap().serialize_pem(),
    )
    .unwrap();
    smsc.reload();
    until("the mistake to be said", || {
        smsc.log()
            .contains("the certificate in force stays")
            .then_some(())
    });
    assert!(is_live(&old.client(), &smsc).is_ok());

    new.write(folder.path());
    smsc.reload();
    until("the new certificate", || is_live(&new.client(), &smsc).ok());
    assert!(
        is_live(&old.client(), &smsc).is_err(),
        "a new connection has the new one"
    );
    assert!(
        is_live(&known, &smsc).is_ok(),
        "an open connection is not dropped"
    );
}
