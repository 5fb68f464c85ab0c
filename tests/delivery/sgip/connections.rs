//! Connections in both directions: TLS at our listener, logins that are refused many times, a gateway that is gone
//! without a word, and one that is slow to say goodbye.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use smsc::sgip::bodies::UnbindResp;
use smsc::sgip::status;

use super::*;
use crate::harness::{Authority, PATIENCE, Tunnel};

/// Logins with a wrong password, more than are logged one by one.
const GUESSES: usize = 60;

#[test]
fn gateways_come_over_tls_and_show_their_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (Authority::new("ours"), Authority::new("gateways"));
    let (cert, key) = ours.sign("127.0.0.1").write(folder.path(), "smsc");
    let ca = folder.path().join("gateways.pem");
    std::fs::write(&ca, &theirs.pem).unwrap();
    let (gateway, listens) = (FakeGateway::listen(SGIP), local(free_port()));
    let tls = format!("tls_cert = {cert:?}\ntls_key = {key:?}\ntls_client_ca = {ca:?}");
    let smsc = Smsc::new()
        .toml(&format!("[sgip]\nlisten = [\"{listens}\"]\n{tls}\n"))
        .account_with("test", "test", "addresses = [\"10655\"]")
        .operator_with("up", gateway.address(), &keys("", ""))
        .start();
    gateway.accept();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let certificate = theirs.sign("gateway");
    let tunnel = Tunnel::to(listens, &ours, Some(&certificate));
    let mut brings = Line::enter(tunnel.address());
    brings.deliver(NUMBER, "10655", 0, b"hi");
    assert_eq!(brings.taken(), 0);
    assert_eq!(esme.deliver().short_message, "hi");
    let admin = smsc.admin();
    let expires = "smsc_certificate_expires_timestamp_seconds{certificate=\"listener:sgip\"}";
    assert!(admin.metric(expires).is_some_and(|at| at > 1.7e9));
    // In clear, and without a certificate.
    let refused = "smsc_connections_failed_total{reason=\"tls\"}";
    let before = admin.metric(refused).unwrap_or_default();
    let stranger = Tunnel::to(listens, &ours, None);
    for address in [listens, stranger.address()] {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.write_all(&[0; 61]).unwrap();
        let mut answer = [0; 64];
        while socket.read(&mut answer).is_ok_and(|count| count > 0) {}
    }
    until("both to be counted", || {
        (admin.metric(refused).unwrap_or_default() >= before + 2.0).then_some(())
    });
    let log = smsc.log();
    assert!(log.contains("does the client speak in clear to a TLS listener?"));
    smsc.assert_no_panic();
}

#[test]
fn refused_logins_do_not_fill_the_log() {
    let (gateway, listens) = (FakeGateway::listen(SGIP), local(free_port()));
    let smsc = listening(listens)
        .smpp("bind_refusal_delay = \"0s\"")
        .operator_with("up", gateway.address(), &keys("", ""))
        .start();
    for _ in 0..GUESSES {
        let (_, result) = Line::knock(listens, SOURCE, "wrong");
        assert_eq!(result, status::LOGIN);
    }
    let lines = smsc
        .log()
        .matches("the login of a gateway is refused")
        .count();
    assert!((1..=GUESSES / 2).contains(&lines), "{lines} lines");
    let sum = "more binds and connections were refused than are told one by one";
    until(sum, || smsc.log().contains(sum).then_some(()));
    smsc.assert_no_panic();
}

#[test]
fn a_message_during_the_goodbye_does_not_cost_the_bind() {
    let mut scene = Scene::with("", "enquire_link_interval = \"1s\"");
    let unbind = scene
        .line
        .expect("an Unbind", |body| matches!(body, Body::Unbind(_)));
    let id = scene.esme.submit(submit(NUMBER, "in between"));
    let admin = scene.smsc.admin();
    until("it to be with the connection", || {
        let shown = admin.get("/v1/operators/up");
        (shown["binds"][0]["in_flight"] == 1).then_some(())
    });
    let resp = Body::UnbindResp(UnbindResp {});
    scene.line.send(unbind.sequence, resp);
    scene.line = scene.gateway.accept();
    let (sequence, _) = scene.line.take();
    scene.brings.report(sequence, NUMBER, 0, 0);
    assert_eq!(scene.smsc.final_state(&id), "DELIVERED");
    // It was not given back to its queue.
    let message = admin.get(&format!("/v1/messages/{id}"));
    assert_eq!(message["attempts"], 1, "{message}");
    scene.smsc.assert_no_panic();
}

#[test]
fn a_gateway_that_is_gone_without_a_word_is_bound_again() {
    // Long enough for this test to answer on the next connection.
    let mut scene = Scene::with("", "response_timeout = \"3s\"");
    scene.esme.submit(submit(NUMBER, "into the void"));
    scene.line.submit();
    // The connection stays open, and nothing comes on it.
    let mut again = scene.gateway.accept();
    let log = scene.smsc.log();
    assert!(log.contains("it does not answer"), "{log}");
    let id = scene.esme.submit(submit(NUMBER, "and on"));
    let (sequence, _) = loop {
        let (sequence, taken) = again.take();
        if text(&taken) == b"and on" {
            break (sequence, taken);
        }
    };
    scene.brings.report(sequence, NUMBER, 0, 0);
    assert_eq!(scene.brings.taken(), 0);
    assert_eq!(scene.smsc.final_state(&id), "DELIVERED");
    scene.smsc.assert_no_panic();
}
