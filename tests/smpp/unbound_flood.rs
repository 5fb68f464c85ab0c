//! Who sends requests without having bound: some are answered, many end the session, and others do not wait for them.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::thread;

use smsc::smpp::{Body, CommandStatus, SubmitSm};

use crate::harness::{PATIENCE, Peer, Smsc, pdu, submit, until};

/// What a stranger may have sent when it is cut off: what it may say, and what buffers of sockets hold beside it.
const MOST: usize = 16 * 1024 * 1024;

fn ended(smsc: &Smsc) -> f64 {
    let name = "smsc_connections_failed_total{reason=\"unbound\"}";
    let (_, page) = smsc.admin().text("/metrics").unwrap();
    let line = page.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0.0, |value| value.trim().parse().unwrap())
}

fn large(sequence: u32) -> Vec<u8> {
    let mut tlvs = smsc::smpp::Tlvs::default();
    tlvs.push(0x0424, &[b'x'; 60_000]);
    let message = SubmitSm {
        tlvs,
        ..submit("447700900123", "")
    };
    pdu(sequence, Body::SubmitSm(message))
}

#[test]
fn who_sends_many_requests_without_a_bind_is_disconnected() {
    const REQUESTS: u32 = 5_000;
    let smsc = Smsc::new().account("test", "test").start();
    let mut stranger = Peer::connect(smsc.smpp());
    let one = |sequence| pdu(sequence, Body::SubmitSm(submit("447700900123", "hello")));
    let requests: Vec<u8> = (1..=REQUESTS).flat_map(one).collect();
    // It may be disconnected before it has sent all of them.
    let _ = stranger.try_send(&requests);
    let answers = stranger.until_closed();
    let right = CommandStatus::ESME_RINVBNDSTS;
    assert!(answers.iter().all(|answer| answer.status == right));
    assert!(answers.len() < 1_000, "{} were answered", answers.len());
    until("the session to be counted", || {
        (ended(&smsc) == 1.0).then_some(())
    });
    smsc.assert_no_panic();
}

#[test]
fn a_few_requests_before_the_bind_are_answered() {
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .start();
    let mut early = Peer::connect(smsc.smpp());
    for sequence in 1..=20 {
        early.send(&pdu(
            sequence,
            Body::SubmitSm(submit("447700900123", "hello")),
        ));
        assert_eq!(
            early.answer_to(sequence).status,
            CommandStatus::ESME_RINVBNDSTS
        );
    }
    let status = early.bind_as(Body::BindTransceiver, "test", "test");
    assert_eq!(status, CommandStatus::ESME_ROK);
    // From then on it may send what it likes.
    for _ in 0..200 {
        early.submit(submit("447700900123", "hello"));
    }
    // One large request is answered, too.
    let mut large_one = Peer::connect(smsc.smpp());
    large_one.send(&large(7));
    assert_eq!(
        large_one.answer_to(7).status,
        CommandStatus::ESME_RINVBNDSTS
    );
    assert_eq!(large_one.until_closed(), []);
    smsc.assert_no_panic();
}

/// Sends for as long as anybody reads; returns how many octets went.
fn flood(address: std::net::SocketAddr, requests: &[u8]) -> usize {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_write_timeout(Some(PATIENCE)).unwrap();
    let mut answers = socket.try_clone().unwrap();
    let reader = thread::spawn(move || {
        let mut room = [0; 4096];
        while answers.read(&mut room).is_ok_and(|read| read > 0) {}
    });
    let mut sent = 0;
    while sent < 2 * MOST {
        match socket.write(requests) {
            Ok(octets) if octets > 0 => sent += octets,
            _ => break,
        }
    }
    let _ = socket.shutdown(Shutdown::Both);
    reader.join().unwrap();
    sent
}

#[test]
fn a_flood_without_binds_is_not_read_and_bound_sessions_go_on() {
    const STRANGERS: usize = 16;
    let smsc = Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
        .start();
    let mut bound = Peer::bind(smsc.smpp(), "test", "test");
    let requests: Vec<u8> = (1..=8).flat_map(large).collect();
    let address = smsc.smpp();
    let floods: Vec<_> = (0..STRANGERS)
        .map(|_| {
            let requests = requests.clone();
            thread::spawn(move || flood(address, &requests))
        })
        .collect();
    for _ in 0..20 {
        bound.submit(submit("447700900123", "undisturbed"));
        bound.deliver();
    }
    for flood in floods {
        let sent = flood.join().unwrap();
        assert!(sent < MOST, "{sent} octets of a stranger were read");
    }
    bound.assert_alive();
    smsc.assert_no_panic();
}
