//! TLS on listeners and towards operators: certificates, authorities on both sides, names, files that
//! change during sessions, and peers that use the wrong protocol.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use crate::harness::{
    self, Authority, Certificate, Client, Peer, Smsc, SmscBuilder, Tunnel, free_port, node_script,
    submit, until,
};
use smsc::smpp::{Body, CommandStatus};

/// An SMSC with a TLS listener with this certificate, and its address.
fn with_listener(
    folder: &Path,
    certificate: &Certificate,
    keys: &str,
) -> (SmscBuilder, SocketAddr) {
    let (cert, key) = certificate.write(folder, "smsc");
    let address: SocketAddr = ([127, 0, 0, 1], free_port()).into();
    let listener = format!(
        "[[listener]]\nname = \"secure\"\nlisten = \"{address}\"\ntls_cert = {cert:?}\n\
         tls_key = {key:?}\n{keys}"
    );
    let builder = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .toml(&listener);
    (builder, address)
}

fn metric(smsc: &Smsc, line: &str) -> f64 {
    let (_, page) = smsc.admin().text("/metrics").unwrap();
    let value = page.lines().find_map(|found| found.strip_prefix(line));
    let value = value.unwrap_or_else(|| panic!("no {line} in\n{page}"));
    value.trim().parse().unwrap()
}

/// Whatever is sent, the other side ends the connection.
fn assert_ended(address: SocketAddr, octets: &[u8]) {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(harness::PATIENCE)).unwrap();
    socket.write_all(octets).unwrap();
    // A response, an alert or a nack may come first; then the end, or a reset.
    let mut answer = [0; 1024];
    while socket.read(&mut answer).is_ok_and(|count| count > 0) {}
}

#[test]
fn an_independent_esme_is_served_over_tls() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    let (builder, address) = with_listener(folder.path(), &authority.sign("127.0.0.1"), "");
    let smsc = builder.start();
    std::fs::write(folder.path().join("ca.pem"), &authority.pem).unwrap();
    authority.sign("node").write(folder.path(), "node");
    let port = address.port().to_string();
    let arguments = [
        "esme",
        &port,
        "test",
        "test",
        folder.path().to_str().unwrap(),
    ];
    let seen = Client::run(node_script("node_tls.js", &arguments));
    assert_eq!(seen["protocol"], "TLSv1.3");
    assert_eq!((&seen["bind"], &seen["submit"]), (&0.into(), &0.into()));
    assert_eq!(seen["receipt"], seen["id"]);
    // The expiry of the certificate is in a metric.
    let expires = metric(
        &smsc,
        "smsc_certificate_expires_timestamp_seconds{certificate=\"listener:secure\"}",
    );
    assert!(expires > 1.7e9, "{expires}");
    // Many octets in both directions, in pieces that do not match TLS records.
    let tunnel = Tunnel::to(address, &authority, None);
    let mut esme = Peer::bind(tunnel.address(), "test", "test");
    let text = "x".repeat(160);
    let sequences: Vec<u32> = (0..2_000)
        .map(|_| esme.request(Body::SubmitSm(submit("447700900123", &text))))
        .collect();
    for sequence in sequences {
        assert_eq!(esme.answer_to(sequence).status, CommandStatus::ESME_ROK);
    }
    for _ in 0..2_000 {
        esme.deliver();
    }
    esme.unbind();
    smsc.assert_no_panic();
}

#[test]
fn a_client_must_show_a_certificate_where_one_is_demanded() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, clients) = (Authority::new("ours"), Authority::new("clients"));
    let ca = folder.path().join("clients.pem");
    std::fs::write(&ca, &clients.pem).unwrap();
    let keys = format!("tls_client_ca = {ca:?}");
    let (builder, address) = with_listener(folder.path(), &authority.sign("127.0.0.1"), &keys);
    let smsc = builder.start();
    let known = Tunnel::to(address, &authority, Some(&clients.sign("esme")));
    let mut esme = Peer::bind(known.address(), "test", "test");

    let nobody = Tunnel::to(address, &authority, None);
    assert_ended(nobody.address(), &[]);
    let stranger = Authority::new("strangers").sign("esme");
    let stranger = Tunnel::to(address, &authority, Some(&stranger));
    assert_ended(stranger.address(), &[]);
    for said in [
        "has shown no certificate",
        "cannot be accepted by tls_client_ca",
    ] {
        until(said, || smsc.log().contains(said).then_some(()));
    }
    let failed = "smsc_connections_failed_total{reason=\"tls\"}";
    assert_eq!(metric(&smsc, failed), 2.0);
    esme.assert_alive();
    esme.submit(submit("447700900123", "still here"));
}

#[test]
fn a_client_certificate_belongs_to_an_account_and_can_be_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, clients) = (Authority::new("ours"), Authority::new("clients"));
    let [bank, shop, stolen] =
        ["bank.example", "shop.example", "stolen"].map(|name| clients.sign(name));
    let [ca, crl] = ["clients.pem", "revoked.pem"].map(|name| folder.path().join(name));
    std::fs::write(&ca, &clients.pem).unwrap();
    std::fs::write(&crl, clients.revoke(&[&stolen])).unwrap();
    let keys = format!("tls_client_ca = {ca:?}\ntls_client_crl = {crl:?}");
    let (builder, address) = with_listener(folder.path(), &authority.sign("127.0.0.1"), &keys);
    let smsc = builder
        .account_with("bank", "bank", "certificates = [\"bank.example\"]")
        .start();
    let by = |own: &Certificate| Tunnel::to(address, &authority, Some(own));
    // The right password does not suffice.
    let [bank, shop, stolen] = [&bank, &shop, &stolen].map(by);
    for address in [shop.address(), smsc.smpp()] {
        let answer = Peer::connect(address).bind_as(Body::BindTransceiver, "bank", "bank");
        assert_ne!(
            answer,
            CommandStatus::ESME_ROK,
            "with another certificate or none"
        );
    }
    until("the reason", || {
        smsc.log().contains("certificate").then_some(())
    });
    let mut esme = Peer::bind(bank.address(), "bank", "bank");
    esme.submit(submit("447700900123", "by its own"));
    // An account without a configured certificate may use any that the listener accepts.
    Peer::bind(shop.address(), "test", "test");
    assert_ended(stolen.address(), &[]);
    until("the refusal", || {
        smsc.log().contains("was revoked").then_some(())
    });
    // A list that cannot be read is not blamed on the authorities, and leaves the one before.
    let none = "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n";
    std::fs::write(&crl, none).unwrap();
    smsc.reload();
    let blamed = "revoked.pem cannot be used: there is a list in it that cannot be read";
    until(blamed, || smsc.log().contains(blamed).then_some(()));
    assert_ended(stolen.address(), &[]);
    esme.assert_alive();
}

#[test]
fn pain_21_a_new_certificate_drops_no_session() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    let (old, new) = (authority.sign("127.0.0.1"), authority.sign("127.0.0.1"));
    let (builder, address) = with_listener(folder.path(), &old, "");
    let smsc = builder.start();
    let tunnel = Tunnel::to(address, &authority, None);
    let mut before = Peer::bind(tunnel.address(), "test", "test");
    assert!(tunnel.was_shown(&old));

    // A file that cannot be used changes nothing.
    std::fs::write(folder.path().join("smsc.pem"), "no certificate").unwrap();
    smsc.reload();
    let stays = "the certificate in force stays";
    until(stays, || smsc.log().contains(stays).then_some(()));
    Peer::bind(tunnel.address(), "test", "test").unbind();
    assert!(tunnel.was_shown(&old));

    new.write(folder.path(), "smsc");
    smsc.reload();
    let again = "certificate read again";
    until(again, || smsc.log().contains(again).then_some(()));
    let mut after = Peer::bind(tunnel.address(), "test", "test");
    assert!(tunnel.was_shown(&new));
    for esme in [&mut before, &mut after] {
        esme.submit(submit("447700900123", "neither was dropped"));
    }
}

#[test]
fn who_speaks_the_wrong_thing_is_told_apart_and_harms_nobody() {
    let (folder, authority) = (tempfile::tempdir().unwrap(), Authority::new("ours"));
    let (builder, secure) = with_listener(folder.path(), &authority.sign("127.0.0.1"), "");
    let smsc = builder.smpp("session_init_timeout = \"10s\"").start();
    let tunnel = Tunnel::to(secure, &authority, None);
    let mut over_tls = Peer::bind(tunnel.address(), "test", "test");
    let mut plain = Peer::bind(smsc.smpp(), "test", "test");

    // A plain bind_transceiver to TLS.
    let bind = [0, 0, 0, 0x20, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1];
    assert_ended(secure, &bind);
    // A ClientHello to plain SMPP.
    let wrong = Tunnel::to(smsc.smpp(), &authority, None);
    assert_ended(wrong.address(), &[]);
    // No octets to TLS.
    assert_ended(secure, &[]);
    for said in [
        "does the client speak in clear to a TLS listener?",
        "the client speaks TLS to a listener without tls_cert",
        "nothing usable came within smpp.session_init_timeout",
    ] {
        until(said, || smsc.log().contains(said).then_some(()));
    }
    over_tls.assert_alive();
    plain.assert_alive();
    smsc.assert_no_panic();
}

#[test]
fn operators_are_dialled_by_name_with_an_authority_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new("operators");
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("ca.pem"), &authority.pem).unwrap();
    std::fs::write(file("other.pem"), &Authority::new("others").pem).unwrap();
    authority
        .sign("smpp.operator.example")
        .write(folder.path(), "node");
    let (cert, key) = authority.sign("smsc.example").write(folder.path(), "own");
    let port = free_port();
    let arguments = [
        "operator",
        &port.to_string(),
        folder.path().to_str().unwrap(),
    ];
    let mut operator = Client::start("node operator", node_script("node_tls.js", &arguments));
    operator.wait_for("listening", |_| true);
    let address: SocketAddr = ([127, 0, 0, 1], port).into();

    let keys = |ca: &str, name: &str| {
        format!(
            "tls = true\ntls_ca_file = {:?}\ntls_name = \"{name}\"\ntls_cert = {cert:?}\ntls_key = {key:?}",
            file(ca)
        )
    };
    let smsc = Smsc::new()
        .account("test", "test")
        .operator_with("up", address, &keys("ca.pem", "smpp.operator.example"))
        .operator_with(
            "untrusted",
            address,
            &keys("other.pem", "smpp.operator.example"),
        )
        .operator_with("misnamed", address, &keys("ca.pem", "other.example"))
        .operator_with(
            "unshown",
            address,
            &keys("ca.pem", "smpp.operator.example")
                .replace("tls_cert", "#")
                .replace("tls_key", "#"),
        )
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 1);
    let bind = operator.wait_for("bind", |_| true);
    assert_eq!(bind["servername"], "smpp.operator.example");
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    esme.submit(submit("447700900123", "sealed"));
    operator.wait_for("message", |event| event["text"] == "sealed");

    let admin = smsc.admin();
    for (id, why) in [
        ("untrusted", "an authority that is not trusted here"),
        ("misnamed", "it is not valid for"),
        ("unshown", "ertificate"),
    ] {
        until(&format!("{id} to say why"), || {
            let binds = admin.try_get("/v1/binds").ok()?;
            let bind = binds["binds"]
                .as_array()?
                .iter()
                .find(|bind| bind["name"] == id)?;
            bind["last_error"].as_str()?.contains(why).then_some(())
        });
    }
    let expires = "smsc_certificate_expires_timestamp_seconds{certificate=\"operator:up\"}";
    assert!(metric(&smsc, expires) > 1.7e9);
    assert_eq!(smsc.log().matches("bound operator=up").count(), 1);
}
