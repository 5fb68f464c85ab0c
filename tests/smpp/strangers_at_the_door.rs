//! Peers without a password, or that send nothing: guessing is slow, hardly logged and counted; hashed
//! passwords cost no more than the cores; and no single address locks the others out.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use super::hostile_input::bind;
use crate::harness::{PATIENCE, Peer, PeerError, Smsc, pdu, submit, until};
use argon2::{Algorithm, Argon2, Params, PasswordHasher, Version};
use smsc::smpp::{Body, CommandId, CommandStatus, Pdu};
use socket2::{Domain, Socket, Type};

const WRONG: CommandStatus = CommandStatus::ESME_RINVPASWD;
const MEMORY_KIB: u32 = 32 * 1024;

fn try_bind(smsc: &Smsc, system_id: &str, password: &str) -> CommandStatus {
    Peer::connect(smsc.smpp()).bind_as(Body::BindTransceiver, system_id, password)
}

/// A connection from another address of this machine.
fn connect_from(last: u8, to: SocketAddr) -> Peer {
    Peer::over(socket_from(last, to))
}

fn socket_from(last: u8, to: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let own = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)), 0);
    socket.bind(&own.into()).unwrap();
    socket.connect(&to.into()).unwrap();
    socket.into()
}

/// How long the refusal of a wrong password takes over HTTP, asked from another address of this machine.
fn http_refusal(last: u8, to: SocketAddr, name: &str) -> Duration {
    let mut socket = socket_from(last, to);
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let begin = Instant::now();
    let url = format!("/cgi-bin/sendsms?username={name}&password=x&to=447700900123&text=a");
    let request = format!("GET {url} HTTP/1.1\r\nhost: {to}\r\n\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    let mut status = [0; 12];
    socket.read_exact(&mut status).unwrap();
    let took = begin.elapsed();
    assert_eq!(String::from_utf8_lossy(&status), "HTTP/1.1 403");
    took
}

fn refused_for(smsc: &Smsc, reason: &str) -> u64 {
    counted(smsc, "smsc_binds_refused_by_reason_total", reason)
}

fn counted(smsc: &Smsc, name: &str, reason: &str) -> u64 {
    let (_, page) = smsc.admin().text("/metrics").unwrap();
    let series = format!("{name}{{reason=\"{reason}\"}} ");
    let line = page.lines().find_map(|line| line.strip_prefix(&series));
    line.map_or(0, |value| value.parse().unwrap())
}

/// The PDU that has arrived, if any, without waiting.
fn answer_so_far(peer: &mut Peer) -> Option<Pdu> {
    match peer.next(Duration::ZERO) {
        Ok(pdu) => Some(pdu),
        Err(PeerError::Silence) => None,
        Err(PeerError::Closed) => panic!("closed without an answer"),
    }
}

#[test]
fn a_connection_has_one_guess() {
    let smsc = Smsc::new().account("test", "test").start();
    let mut guesser = Peer::connect(smsc.smpp());
    let guesses: Vec<u8> = (1..=1_000)
        .flat_map(|number| pdu(number, bind("test", &format!("g{number}"))))
        .chain(pdu(1_001, bind("test", "test")))
        .collect();
    let _ = guesser.try_send(&guesses);
    let said = guesser.until_closed();
    assert_eq!(said.len(), 1, "{} guesses were answered", said.len());
    assert_eq!((said[0].sequence, said[0].status), (1, WRONG));
    assert_eq!(refused_for(&smsc, "password"), 1);
}

#[test]
fn guesses_are_held_back_and_nobody_else_is() {
    const GUESSES: usize = 60;
    // Refusals are held back for much longer than a busy machine needs for what others do meanwhile.
    let smsc = Smsc::new()
        .smpp("bind_refusal_delay = \"15s\"\nsession_init_timeout = \"2m\"")
        .account("test", "test")
        .account("other", "other")
        .route("", "test:delivered")
        .start();
    let mut bystander = Peer::bind(smsc.smpp(), "other", "other");
    let mut guessers: Vec<Peer> = (0..GUESSES)
        .map(|number| {
            let mut peer = Peer::connect(smsc.smpp());
            peer.send(&pdu(1, bind("test", &format!("g{number}"))));
            peer
        })
        .collect();
    // The right password is not delayed, for the same account from the same address.
    let mut right = Peer::bind(smsc.smpp(), "test", "test");
    for peer in [&mut bystander, &mut right] {
        peer.submit(submit("447700900123", "undisturbed"));
        peer.deliver();
    }
    let waiting = guessers
        .iter_mut()
        .filter_map(|peer| match answer_so_far(peer) {
            None => Some(peer),
            Some(refusal) => {
                assert_eq!(refusal.status, WRONG);
                None
            }
        });
    let mut waiting: Vec<&mut Peer> = waiting.collect();
    assert!(waiting.len() > GUESSES / 2, "{} still wait", waiting.len());
    // In the end every guesser gets a response and is disconnected.
    for peer in &mut waiting {
        assert_eq!(peer.answer_to(1).status, WRONG);
        assert_eq!(peer.until_closed(), []);
    }
    assert_eq!(refused_for(&smsc, "password"), GUESSES as u64);
    // The log has some of them, and then a sum.
    let sum = "more binds and connections were refused than are told one by one";
    let log = until(sum, || Some(smsc.log()).filter(|log| log.contains(sum)));
    let lines = log.matches("bind refused: wrong password").count();
    assert!((1..=GUESSES / 2).contains(&lines), "{lines} lines");
    assert!(log.contains("127.0.0.1"), "{log}");
    smsc.assert_no_panic();
}

#[test]
fn strangers_are_all_told_the_same() {
    let accounts = || {
        Smsc::new()
            .account("test", "test")
            .account_with("off", "off", "enabled = false")
            .account_with("far", "far", "allow = [\"192.0.2.1\"]")
            .account_with("typed", "typed", "system_type = \"VMA\"")
    };
    let attempts = [
        ("nobody", "x"),
        ("off", "off"),
        ("far", "far"),
        ("far", "x"),
        ("test", "x"),
        ("typed", "x"),
    ];
    let smsc = accounts().start();
    let statuses = attempts.map(|(system_id, password)| try_bind(&smsc, system_id, password));
    assert_eq!(statuses, [WRONG; 6]);
    let reasons = ["unknown", "address", "password"].map(|reason| refused_for(&smsc, reason));
    assert_eq!(reasons, [2, 2, 2]);
    // A peer with the right password is told what is wrong.
    let status = try_bind(&smsc, "typed", "typed");
    assert_eq!(status, CommandStatus::ESME_RINVSYSTYP);

    let smsc = accounts().smpp("bind_refusals = \"exact\"").start();
    let statuses = attempts.map(|(system_id, password)| try_bind(&smsc, system_id, password));
    let (unknown, far) = (CommandStatus::ESME_RINVSYSID, CommandStatus::ESME_RBINDFAIL);
    assert_eq!(statuses, [unknown, unknown, far, far, WRONG, WRONG]);
}

#[test]
fn who_was_refused_for_something_else_may_try_again_at_once() {
    let smsc = Smsc::new()
        .account_with("full", "full", "max_binds = 1")
        .account("test", "test")
        .start();
    let _only = Peer::bind(smsc.smpp(), "full", "full");
    let mut peer = Peer::connect(smsc.smpp());
    peer.send(&[0, 0, 0, 16, 0, 0, 0, 0x33, 0, 0, 0, 0, 0, 0, 0, 7]);
    assert_eq!(peer.answer_to(7).status, CommandStatus::ESME_RINVCMDID);
    let full = pdu(8, bind("full", "full"));
    let right = pdu(9, bind("test", "test"));
    peer.send(&[full, right].concat());
    assert_eq!(peer.answer_to(8).status, CommandStatus::ESME_RALYBND);
    assert_eq!(peer.answer_to(9).status, CommandStatus::ESME_ROK);
    peer.assert_alive();
    for reason in ["unknown", "address", "password", "busy"] {
        assert_eq!(refused_for(&smsc, reason), 0, "{reason}");
    }
}

/// The hash of `s3cret`.
fn hash() -> String {
    let params = Params::new(MEMORY_KIB, 2, 1, None).unwrap();
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_with_salt(b"s3cret", b"some salt of it!")
        .unwrap()
        .to_string()
}

#[test]
fn the_time_of_a_refusal_does_not_tell_whether_there_is_the_account() {
    const SAMPLES: u8 = 9;
    const HTTP_SAMPLES: u8 = 3;
    let smsc = Smsc::new()
        .account("hashed", &hash())
        .account("plain", "plain")
        .account_with("far", "far", "allow = [\"192.0.2.1\"]")
        .with_api_and("kannel = true")
        .start();
    let names = ["nobody", "hashed", "plain", "far"];
    let mut took: [Vec<Duration>; 4] = Default::default();
    let mut origins = 2..;
    for _ in 0..SAMPLES {
        for (name, took) in names.iter().zip(&mut took) {
            // Addresses that were not refused before, so that no refusal is delayed.
            let mut peer = connect_from(origins.next().unwrap(), smsc.smpp());
            let begin = Instant::now();
            assert_eq!(peer.bind_as(Body::BindTransceiver, name, "x"), WRONG);
            took.push(begin.elapsed());
        }
    }
    // A busy machine only adds time, so the shortest of each is what it takes.
    let least = took
        .each_ref()
        .map(|took| took.iter().min().copied().unwrap());
    for one in least {
        assert!(
            one > least[1] / 4 && one < least[1] * 4,
            "{names:?} {took:?}"
        );
    }
    // Over HTTP too.
    let mut took: [Vec<Duration>; 2] = Default::default();
    for _ in 0..HTTP_SAMPLES {
        for (name, took) in ["nobody", "hashed"].into_iter().zip(&mut took) {
            let origin = origins.next().unwrap();
            took.push(http_refusal(origin, smsc.api_address(), name));
        }
    }
    let [of_nobody, of_known] = took
        .each_ref()
        .map(|took| took.iter().min().copied().unwrap());
    assert!(of_nobody > of_known / 4, "{took:?}");
}

#[test]
fn hashed_passwords_are_checked_by_the_cores_and_no_more() {
    let hash = hash();
    let cores = available_parallelism().unwrap().get();
    let smsc = Smsc::new()
        .account("plain", "plain")
        .account("hashed", &hash)
        .account("too", &hash)
        .route("", "test:delivered")
        .start();
    let mut bystander = Peer::bind(smsc.smpp(), "plain", "plain");
    let before = smsc.process().memory_kib("VmHWM");
    // More than one address may have in the queue: half of it.
    let mut guessers: Vec<Peer> = (0..cores * 32 + 20)
        .map(|number| {
            let mut peer = Peer::connect(smsc.smpp());
            peer.send(&pdu(1, bind("hashed", &format!("g{number}"))));
            peer
        })
        .collect();
    bystander.submit(submit("447700900123", "undisturbed"));
    bystander.deliver();
    Peer::bind(smsc.smpp(), "plain", "plain").unbind();
    // Others have room in the queue; they only wait for their turn.
    let mut right = connect_from(2, smsc.smpp());
    let status = right.bind_as(Body::BindTransceiver, "hashed", "s3cret");
    assert_eq!(status, CommandStatus::ESME_ROK);
    let statuses: Vec<CommandStatus> = guessers
        .iter_mut()
        .map(|peer| peer.answer_to(1).status)
        .collect();
    let grown = smsc.process().memory_kib("VmHWM") - before;
    let at_once = guessers.len() as u64 * u64::from(MEMORY_KIB);
    assert!(grown < at_once / 4, "{grown} KiB more, of {at_once}");
    let count = |status| statuses.iter().filter(|own| **own == status).count();
    let busy = count(CommandStatus::ESME_RSYSERR);
    assert!(busy > 0, "{statuses:?}");
    assert_eq!(busy + count(WRONG), statuses.len(), "{statuses:?}");
    assert_eq!(refused_for(&smsc, "busy"), busy as u64);
    // A hundred binds with one password cost one check.
    let mut crowd: Vec<Peer> = (0..60)
        .map(|_| {
            let mut peer = Peer::connect(smsc.smpp());
            peer.send(&pdu(1, bind("too", "s3cret")));
            peer
        })
        .collect();
    for peer in &mut crowd {
        assert_eq!(peer.answer_to(1).status, CommandStatus::ESME_ROK);
    }
    smsc.assert_no_panic();
}

#[test]
fn one_address_does_not_lock_the_others_out() {
    let smsc = Smsc::new()
        .smpp("max_connections = 100")
        .account("test", "test")
        .route("", "test:delivered")
        .start();
    let mut bystander = Peer::bind(smsc.smpp(), "test", "test");
    // Bound sessions do not count.
    let mut bound: Vec<Peer> = (0..30)
        .map(|_| Peer::bind(smsc.smpp(), "test", "test"))
        .collect();
    let silent: Vec<Peer> = (0..120).map(|_| Peer::connect(smsc.smpp())).collect();
    let mut elsewhere = connect_from(2, smsc.smpp());
    let status = elsewhere.bind_as(Body::BindTransceiver, "test", "test");
    assert_eq!(status, CommandStatus::ESME_ROK);
    for peer in [&mut bystander, &mut elsewhere]
        .into_iter()
        .chain(&mut bound)
    {
        peer.assert_alive();
    }
    let crowded = counted(&smsc, "smsc_connections_failed_total", "crowded");
    assert_eq!(crowded, 88, "all but 32");
    // When they disconnect, there is room again for the same address.
    drop(silent);
    until("room for a bind", || {
        let mut peer = Peer::connect(smsc.smpp());
        peer.try_send(&pdu(1, bind("test", "test"))).ok()?;
        let fits = |pdu: &Pdu| pdu.command_id() == CommandId::BIND_TRANSCEIVER_RESP;
        let answer = peer.try_expect(fits).ok()?;
        answer.status.is_ok().then_some(())
    });
    smsc.assert_no_panic();
}

#[test]
fn names_from_outside_do_not_write_the_log() {
    let smsc = Smsc::new().account("test", "test").start();
    let name = "x\u{1b}[2J\n\u{202e}y";
    assert!(!try_bind(&smsc, name, "x").is_ok());
    let shown = "system_id=x\\u{1b}[2J\\n\\u{202e}y";
    let log = until(shown, || Some(smsc.log()).filter(|log| log.contains(shown)));
    let hidden = |c: &char| (c.is_control() && *c != '\n') || *c == '\u{202e}';
    assert_eq!(log.chars().find(hidden), None, "{log:?}");
}
