//! `POST /v1/operators/{id}/test`: a connection that is made only to try it says which step fails, and what helps.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use crate::harness::{
    Admin, Authority, FakeOperator, Peer, Simulator, Smsc, free_port, listen, until,
};
use serde_json::{Value, json};
use smsc::smpp::{Body, CommandId};

const PATH: &str = "/v1/operators/new/test";
/// Is in no answer, log or audit entry.
const SECRET: &str = "s3cr3tpw";

/// The settings of an operator at this address, which is not waited for long.
fn at(address: SocketAddr) -> Value {
    json!({
        "address": address.to_string(), "system_id": "smsc", "password": SECRET, "bind_timeout": "2s",
    })
}

/// A key of `[http]`: files in this folder may be named through the API.
fn files_in(folder: &tempfile::TempDir) -> String {
    format!("files_dir = {:?}", folder.path())
}

/// What the test of an operator with these settings has found.
fn tried(admin: &Admin, settings: &Value) -> Value {
    let (status, said) = admin.call("POST", PATH, Some(settings));
    assert_eq!(status, 200, "{said}");
    assert!(!said.to_string().contains(SECRET), "{said}");
    said
}

/// That the test fails at this step, with words about each of these in what was found and what helps.
fn assert_fails(admin: &Admin, settings: &Value, step: &str, words: &[&str]) {
    let found = tried(admin, settings);
    assert_eq!(
        (&found["ok"], &found["failed"]),
        (&json!(false), &json!(step)),
        "{found}"
    );
    let text = format!("{} {}", found["detail"], found["cure"]);
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
    let last = found["steps"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["step"], &last["ok"]), (&json!(step), &json!(false)));
}

/// What the test finds at an operator that answers its bind, of this sequence_number, so.
fn answered(admin: &Admin, answer: impl FnOnce(&mut Peer, u32)) -> Value {
    let operator = FakeOperator::listen();
    let (admin, settings) = (admin.clone(), at(operator.address()));
    let asked = thread::spawn(move || tried(&admin, &settings));
    let mut peer = operator.accept();
    let bind = peer.expect("a bind", |pdu| matches!(pdu.body, Body::BindTransceiver(_)));
    answer(&mut peer, bind.sequence);
    asked.join().unwrap()
}

fn steps(found: &Value) -> Vec<&str> {
    let steps = found["steps"].as_array().unwrap();
    let names = steps.iter().map(|one| one["step"].as_str().unwrap());
    names.collect()
}

#[test]
fn each_way_to_fail_has_its_words() {
    let smsc = Smsc::new().start();
    let admin = smsc.admin();

    let closed: SocketAddr = ([127, 0, 0, 1], free_port()).into();
    assert_fails(
        &admin,
        &at(closed),
        "connect",
        &["refuses", "host and port"],
    );

    let mut nameless = at(closed);
    nameless["address"] = json!("no-such-host.invalid:2775");
    assert_fails(&admin, &nameless, "resolve", &["not resolved", "DNS"]);

    let silent = FakeOperator::listen();
    assert_fails(&admin, &at(silent.address()), "bind", &["within 2s"]);

    let stranger = listen();
    let address = stranger.local_addr().unwrap();
    let talk = thread::spawn(move || {
        let (mut socket, _) = stranger.accept().unwrap();
        socket.write_all(b"SSH-2.0-stranger\r\n").unwrap();
        let mut octets = [0; 512];
        while socket.read(&mut octets).is_ok_and(|count| count > 0) {}
    });
    let found = tried(&admin, &at(address));
    talk.join().unwrap();
    assert_eq!(found["failed"], "bind", "{found}");
    let text = found.to_string();
    assert!(text.contains("something else than SMPP"), "{text}");
    assert!(
        !text.contains("SSH"),
        "nothing that a stranger says: {text}"
    );

    let fussy = Simulator::new().flags("--password other").start();
    let words = ["ESME_RINVPASWD", "Ask the operator for the password"];
    assert_fails(&admin, &at(fussy.address()), "bind", &words);

    // The audit log has whom it was and what came of it.
    let audit = admin.get(&format!("/v1/audit?path={PATH}")).to_string();
    for said in [
        &format!("tested {closed}")[..],
        "smsc",
        ": connect",
        ": bind",
    ] {
        assert!(audit.contains(said), "{said}: {audit}");
    }
    let log = smsc.log();
    assert!(!audit.contains(SECRET) && !log.contains(SECRET), "{audit}");
    smsc.assert_no_panic();
}

#[test]
fn tls_is_tried_with_its_certificate() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("theirs"));
    let (cert, key) = authority.sign("127.0.0.1").write(folder.path(), "theirs");
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, &authority.pem).unwrap();
    let address: SocketAddr = ([127, 0, 0, 1], free_port()).into();
    let theirs = Smsc::new()
        .account("smsc", SECRET)
        .toml(&format!(
            "[[listener]]\nname = \"secure\"\nlisten = \"{address}\"\ntls_cert = {cert:?}\ntls_key = {key:?}"
        ))
        .start();
    let smsc = Smsc::new().http(&files_in(&folder)).start();
    let admin = smsc.admin();

    let mut settings = at(address);
    assert_fails(&admin, &settings, "bind", &["TLS"]);
    settings["tls"] = json!(true);
    assert_fails(&admin, &settings, "tls", &["TLS", "`tls_ca_file`"]);
    settings["tls_ca_file"] = json!(ca);
    let found = tried(&admin, &settings);
    assert_eq!(found["ok"], true, "{found}");
    assert_eq!(
        steps(&found),
        ["resolve", "connect", "tls", "bind", "unbind"]
    );
    settings["tls_name"] = json!("smpp.operator.example");
    assert_fails(&admin, &settings, "tls", &["`tls_name`"]);

    // TLS where there is none.
    let mut plain = at(theirs.smpp());
    plain["tls"] = json!(true);
    assert_fails(&admin, &plain, "tls", &["port"]);
}

#[test]
fn a_certificate_of_ours_that_is_missing_is_named() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("theirs"));
    let (cert, key) = authority.sign("127.0.0.1").write(folder.path(), "theirs");
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, &authority.pem).unwrap();
    let address: SocketAddr = ([127, 0, 0, 1], free_port()).into();
    let _theirs = Smsc::new()
        .account("smsc", SECRET)
        .toml(&format!(
            "[[listener]]\nname = \"mutual\"\nlisten = \"{address}\"\ntls_cert = {cert:?}\ntls_key = {key:?}\ntls_client_ca = {ca:?}"
        ))
        .start();
    let smsc = Smsc::new().http(&files_in(&folder)).start();
    let admin = smsc.admin();

    let mut settings = at(address);
    settings["tls"] = json!(true);
    settings["tls_ca_file"] = json!(ca);
    // It ends the connection only after the handshake (TLS 1.3).
    assert_fails(&admin, &settings, "bind", &["`tls_cert`"]);
    let (cert, key) = authority.sign("ours").write(folder.path(), "ours");
    settings["tls_cert"] = json!(cert);
    settings["tls_key"] = json!(key);
    let found = tried(&admin, &settings);
    assert_eq!(found["ok"], true, "{found}");
    settings["tls_key"] = json!(folder.path().join("none.key"));
    let found = admin.call("POST", PATH, Some(&settings)).1;
    assert!(found.to_string().contains("tls_key"), "{found}");
}

#[test]
fn what_works_is_bound_and_unbound() {
    let operator = FakeOperator::listen();
    let smsc = Smsc::new().start();
    let admin = smsc.admin();
    let settings = at(operator.address());
    let asked = thread::spawn(move || tried(&admin, &settings));
    let mut bind = operator.accept_bind();
    let unbind = bind.expect("an unbind", |pdu| matches!(pdu.body, Body::Unbind));
    bind.acknowledge(CommandId::UNBIND_RESP, unbind.sequence);
    let found = asked.join().unwrap();
    assert_eq!(
        (&found["ok"], &found["failed"], &found["bind"]),
        (&json!(true), &Value::Null, &json!("transceiver")),
        "{found}"
    );
    assert_eq!(steps(&found), ["resolve", "connect", "bind", "unbind"]);
    assert_eq!(found["peer"], operator.address().to_string());
    // Nothing was stored.
    assert_eq!(smsc.admin().call("GET", "/v1/operators/new", None).0, 404);
}

#[test]
fn no_secret_goes_where_somebody_only_tries() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let [ours, theirs] = [&folder, &elsewhere].map(|one| one.path().join("operator.password"));
    for file in [&ours, &theirs] {
        std::fs::write(file, SECRET).unwrap();
    }
    let up = FakeOperator::listen();
    let operator = format!(
        "[[operator]]\nid = \"up\"\naddress = \"{}\"\nsystem_id = \"smsc\"\npassword_file = {theirs:?}\nenabled = false",
        up.address()
    );
    let smsc = Smsc::new().http(&files_in(&folder)).toml(&operator).start();
    let admin = smsc.admin();
    let with = |address: SocketAddr, file: &std::path::Path| {
        let mut settings = at(address);
        settings.as_object_mut().unwrap().remove("password");
        settings["password_file"] = json!(file);
        settings
    };
    let stranger = FakeOperator::listen();
    // What an operator has, and any file of the machine, goes to nobody else.
    for (path, key) in [
        ("/v1/operators/up/test", "password_file"),
        (PATH, "password_file"),
        (PATH, "tls_ca_file"),
    ] {
        let mut settings = with(stranger.address(), &theirs);
        if key == "tls_ca_file" {
            settings = at(stranger.address());
            settings["tls"] = json!(true);
            settings[key] = json!("/etc/passwd");
        }
        let (status, said) = admin.call("POST", path, Some(&settings));
        assert_eq!(status, 422, "{said}");
        let text = said.to_string();
        assert!(
            text.contains("http.files_dir") && text.contains(key),
            "{text}"
        );
    }
    assert!(stranger.try_accept().is_none(), "nobody has connected");

    // At its own address it is used, and so is one of the folder.
    let path = "/v1/operators/up/test";
    for (path, settings) in [
        (path, with(up.address(), &theirs)),
        (PATH, with(up.address(), &ours)),
    ] {
        let (admin, path) = (admin.clone(), path.to_owned());
        let asked = thread::spawn(move || admin.call("POST", &path, Some(&settings)));
        let mut peer = up.accept();
        let bind = peer.expect("a bind", |pdu| match &pdu.body {
            Body::BindTransceiver(bind) => bind.password == SECRET,
            _ => false,
        });
        peer.acknowledge(CommandId::BIND_TRANSCEIVER_RESP, bind.sequence);
        drop(peer);
        let (status, found) = asked.join().unwrap();
        assert_eq!((status, &found["ok"]), (200, &json!(true)), "{found}");
    }
    // The audit log names the file.
    let audit = admin.get(&format!("/v1/audit?path={PATH}")).to_string();
    assert!(audit.contains("operator.password"), "{audit}");
    assert!(!audit.contains(SECRET) && !smsc.log().contains(SECRET));
}

#[test]
fn what_takes_no_bind_of_a_session_takes_none_here() {
    let smsc = Smsc::new().start();
    let admin = smsc.admin();
    let assert_says = |found: &Value, words: &str| {
        assert_eq!(found["failed"], "bind", "{found}");
        let said = found["detail"].as_str().unwrap();
        assert!(said.contains(words), "{words}: {said}");
        assert!(found["took_ms"].as_u64().unwrap() < 10_000, "{found}");
    };

    let found = answered(&admin, |peer, sequence| {
        peer.acknowledge(CommandId::SUBMIT_SM_RESP, sequence);
    });
    assert_says(&found, "a response to something else");
    let found = answered(&admin, |peer, sequence| {
        peer.acknowledge(CommandId::BIND_TRANSCEIVER_RESP, sequence + 1);
    });
    assert_says(&found, "does not answer the bind within 2s");
    // A command_length of 4 GB.
    let found = answered(&admin, |peer, _| peer.send(&[0xFF; 16]));
    assert_says(&found, "something else than SMPP");
    // An octet at a time.
    let found = answered(&admin, |peer, _| {
        for octet in [0, 0, 0, 17, 0x80, 0, 0, 9] {
            if peer.try_send(&[octet]).is_err() {
                break;
            }
            let _ = peer.next(Duration::from_millis(500));
        }
    });
    assert_says(&found, "does not answer the bind within 2s");
    // Nothing but enquire_link, for as long as somebody listens.
    let enquire_link = [0, 0, 0, 16, 0, 0, 0, 0x15, 0, 0, 0, 0, 0, 0, 0, 9];
    let found = answered(
        &admin,
        |peer, _| {
            while peer.try_send(&enquire_link).is_ok() {}
        },
    );
    assert_says(&found, "does not answer the bind within 2s");

    // It has taken the bind; what it says afterwards does not matter.
    let found = answered(&admin, |peer, sequence| {
        peer.acknowledge(CommandId::BIND_TRANSCEIVER_RESP, sequence);
        peer.expect("an unbind", |pdu| matches!(pdu.body, Body::Unbind));
        peer.send(&[0; 64]);
    });
    assert_eq!(found["ok"], true, "{found}");
    assert_eq!(steps(&found), ["resolve", "connect", "bind", "unbind"]);
    smsc.assert_no_panic();
}

#[test]
fn settings_for_elsewhere_are_tried_while_it_is_bound() {
    let (up, other) = (Simulator::new().start(), Simulator::new().start());
    let smsc = Smsc::new().operator("up", up.address()).start();
    smsc.wait_for_binds("up", 1);
    let admin = smsc.admin();
    let path = "/v1/operators/up/test";
    let (status, found) = admin.call("POST", path, Some(&at(other.address())));
    assert_eq!((status, &found["live"]), (200, &json!(false)), "{found}");
    assert_eq!(found["peer"], other.address().to_string());
    assert!(found["node"].is_u64(), "{found}");
    // Another connection with the same name might be one too many.
    let (status, found) = admin.call("POST", path, Some(&at(up.address())));
    assert_eq!((status, &found["live"]), (200, &json!(true)), "{found}");
    smsc.wait_for_binds("up", 1);
}

#[test]
fn what_is_tried_is_told_although_the_client_goes() {
    let silent = FakeOperator::listen();
    let smsc = Smsc::new().start();
    let admin = smsc.admin();
    let body = at(silent.address()).to_string();
    let mut client = TcpStream::connect(smsc.http()).unwrap();
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nHost: smsc\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        admin.token(),
        body.len()
    );
    client
        .write_all(format!("{head}{body}").as_bytes())
        .unwrap();
    let _held = silent.accept();
    drop(client);
    let said = format!("connection to {}", silent.address());
    until("the log to have it", || {
        smsc.log().contains(&said).then_some(())
    });
    assert!(!smsc.log().contains(SECRET));
}

#[test]
fn a_bound_operator_is_left_alone_unless_forced() {
    let up = Simulator::new().start();
    let smsc = Smsc::new().operator("up", up.address()).start();
    smsc.wait_for_binds("up", 1);
    let admin = smsc.admin();
    let (status, found) = admin.call("POST", "/v1/operators/up/test", None);
    assert_eq!((status, &found["live"]), (200, &json!(true)), "{found}");
    assert!(
        found["ok"] == true && steps(&found).is_empty(),
        "no connection was made: {found}"
    );
    let said = found["detail"].as_str().unwrap();
    assert!(said.starts_with("1 of 1 binds to up are up"), "{said}");
    let (status, found) = admin.call("POST", "/v1/operators/up/test?force=true", None);
    assert_eq!((status, &found["live"]), (200, &json!(false)), "{found}");
    assert_eq!(
        steps(&found),
        ["resolve", "connect", "bind", "unbind"],
        "{found}"
    );
    smsc.wait_for_binds("up", 1);

    // On the command line.
    let said = smsc.command(&["operator", "test", "up", "--force"]);
    assert!(said.success, "{}{}", said.stdout, said.stderr);
    for word in ["resolve", "bind", "the operator has taken a bind"] {
        assert!(said.stdout.contains(word), "{}", said.stdout);
    }
    drop(up);
    until("the bind to be gone", || {
        (admin.get("/v1/operators/up")["bound"] == 0).then_some(())
    });
    let said = smsc.command(&["operator", "test", "up"]);
    assert!(!said.success, "{}", said.stdout);
    assert!(
        said.stdout.contains("failed: ") && said.stderr.contains("nothing listens"),
        "{}{}",
        said.stdout,
        said.stderr
    );
}

#[test]
fn few_are_tested_at_a_time() {
    let silent = FakeOperator::listen();
    let smsc = Smsc::new().start();
    let admin = smsc.admin();
    let mut settings = at(silent.address());
    settings["bind_timeout"] = json!("10s");
    let asked: Vec<_> = (0..4)
        .map(|_| {
            let (admin, settings) = (admin.clone(), settings.clone());
            thread::spawn(move || admin.call("POST", PATH, Some(&settings)))
        })
        .collect();
    let held: Vec<Peer> = (0..4).map(|_| silent.accept()).collect();
    let (status, said) = admin.call("POST", PATH, Some(&settings));
    assert_eq!(
        (status, &said["limit"]),
        (429, &json!("requests")),
        "{said}"
    );
    // They end at once.
    drop(held);
    for one in asked {
        let (status, found) = one.join().unwrap();
        assert_eq!((status, &found["failed"]), (200, &json!("bind")), "{found}");
    }
    let closed: SocketAddr = ([127, 0, 0, 1], free_port()).into();
    assert_fails(&admin, &at(closed), "connect", &["refuses"]);
}

#[test]
fn who_may_not_and_what_is_wrong_is_refused() {
    let up = Simulator::new().start();
    let smsc = Smsc::new()
        .operator("up", up.address())
        .operator_with("told", up.address(), "enabled = false")
        .start();
    let admin = smsc.admin();
    for role in ["read", "operate"] {
        let theirs = admin.with_role(role, role);
        let settings = at(up.address());
        assert_eq!(theirs.call("POST", PATH, Some(&settings)).0, 403, "{role}");
    }
    // One that is configured and not enabled is tried.
    let (status, found) = admin.call("POST", "/v1/operators/told/test", None);
    assert_eq!((status, &found["ok"]), (200, &json!(true)), "{found}");
    let (status, said) = admin.call("POST", PATH, None);
    assert_eq!(status, 404, "{said}");
    let (status, said) = admin.call("POST", PATH, Some(&json!({ "adress": "x" })));
    assert_eq!(status, 422, "{said}");
    let (status, said) = admin.call("POST", PATH, Some(&json!({ "address": "nowhere" })));
    assert_eq!(status, 422, "{said}");
    let fields = said["problems"].as_array().unwrap().iter();
    let fields: Vec<&str> = fields.map(|one| one["field"].as_str().unwrap()).collect();
    assert!(
        fields.contains(&"address") && fields.contains(&"system_id"),
        "{said}"
    );
    let mut other = at(up.address());
    other["protocol"] = json!("cmpp");
    let (status, said) = admin.call("POST", PATH, Some(&other));
    assert_eq!(status, 409, "{said}");
    assert!(
        said["detail"]
            .as_str()
            .unwrap()
            .contains("only connections by SMPP")
    );
    let (status, _) = admin.call("POST", "/v1/operators/up/test?again=1", None);
    assert_eq!(status, 400);
}
