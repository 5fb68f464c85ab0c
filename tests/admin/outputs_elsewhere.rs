//! Logs to syslog and metrics to statsd: they arrive in the form that the receiver expects, and a
//! receiver that is down delays nothing.

use std::io::Read as _;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixDatagram;

use crate::harness::{PATIENCE, Peer, Simulator, Smsc, free_port, submit, until};

/// Reads datagrams until one satisfies the condition; returns it.
fn datagram(socket: &UdpSocket, what: &str, fits: impl Fn(&str) -> bool) -> String {
    socket.set_nonblocking(true).unwrap();
    let mut buffer = [0; 65_536];
    until(what, || {
        // Reads all datagrams that have arrived: they come faster than the polls.
        while let Ok(count) = socket.recv(&mut buffer) {
            let text = String::from_utf8(buffer[..count].to_vec()).unwrap();
            if fits(&text) {
                return Some(text);
            }
        }
        None
    })
}

/// An smsc that logs to this target.
fn logging_to(target: &str) -> Smsc {
    Smsc::new()
        .toml(&format!(
            "[log]\nsyslog = {target:?}\nsyslog_facility = \"local1\""
        ))
        .start()
}

#[test]
fn log_lines_go_to_syslog_by_udp() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let smsc = logging_to(&format!("udp://{}", server.local_addr().unwrap()));
    let line = datagram(&server, "the line that it is ready", |line| {
        line.contains(": ready ")
    });
    // local1 and informational: 17 * 8 + 6.
    let words: Vec<&str> = line.split(' ').collect();
    assert_eq!(words[0], "<142>1", "{line}");
    assert!(words[1].ends_with('Z') && words[1].contains('T'), "{line}");
    assert_eq!(words[3], "smsc");
    assert_eq!(words[4], smsc.process().id().to_string());
    assert_eq!(&words[5..7], ["-", "-"]);
    assert!(smsc.log().contains("ready"), "standard error has it too");
}

#[test]
fn log_lines_go_to_syslog_by_tcp_and_what_was_lost_is_counted() {
    let port = free_port();
    // Nothing listens yet: it starts nevertheless.
    let smsc = logging_to(&format!("tcp://127.0.0.1:{port}"));
    let server = TcpListener::bind(("127.0.0.1", port)).unwrap();
    server.set_nonblocking(true).unwrap();
    let mut stream = until("a connection to the syslog server", || {
        // Each reload logs a line.
        smsc.reload();
        server.accept().ok()
    })
    .0;
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    until("what was lost", || {
        smsc.reload();
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the connection stays");
        text.extend_from_slice(&buffer[..count]);
        String::from_utf8_lossy(&text)
            .contains("lines lost")
            .then_some(())
    });
    // Each line is preceded by its length.
    let text = String::from_utf8(text).unwrap();
    let (length, rest) = text.split_once(' ').unwrap();
    let length: usize = length.parse().unwrap();
    assert!(rest[..length].starts_with("<140>1 "), "{rest}");
    assert!(rest[..length].ends_with("was away or slow"), "{rest}");
    assert!(
        rest[length..].is_empty() || rest.as_bytes()[length].is_ascii_digit(),
        "{rest}"
    );
    smsc.assert_no_panic();
}

#[test]
fn log_lines_go_to_the_daemon_of_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let daemon = UnixDatagram::bind(&path).unwrap();
    daemon.set_nonblocking(true).unwrap();
    let smsc = logging_to(&format!("unix://{}", path.display()));
    let mut buffer = [0; 4096];
    let line = until("the line that it is ready", || {
        let count = daemon.recv(&mut buffer).ok()?;
        let line = String::from_utf8(buffer[..count].to_vec()).unwrap();
        line.contains(": ready ").then_some(line)
    });
    let head = format!("<142>smsc[{}]: smsc::app: ready", smsc.process().id());
    assert!(line.starts_with(&head), "{line}");
}

#[test]
fn metrics_go_to_statsd() {
    let operator = Simulator::new().start();
    let plain = UdpSocket::bind("127.0.0.1:0").unwrap();
    let smsc = Smsc::new()
        .relaying_to(operator.address())
        .toml(&format!(
            "[statsd]\naddress = \"{}\"\nprefix = \"gateway\"\ninterval = \"200ms\"",
            plain.local_addr().unwrap()
        ))
        .start();
    datagram(&plain, "a gauge of the queue", |text| {
        text.lines()
            .any(|line| line == "gateway.queue_waiting.operator_up:0|g")
    });
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    for _ in 0..3 {
        esme.submit(submit("447700900123", "hello"));
    }
    // Each is reported once, in any number of pushes.
    let mut told = 0;
    until("three accepted messages", || {
        let text = datagram(&plain, "accepted messages", |text| {
            text.contains("messages_accepted:")
        });
        let added = text
            .lines()
            .find_map(|line| line.strip_prefix("gateway.messages_accepted:"))
            .and_then(|rest| rest.strip_suffix("|c"))
            .unwrap();
        told += added.parse::<u32>().unwrap();
        (told >= 3).then_some(())
    });
    assert_eq!(told, 3);
}

#[test]
fn metrics_have_tags_for_those_who_want_them_and_nobody_need_listen() {
    let tagged = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = tagged.local_addr().unwrap();
    let operator = Simulator::new().start();
    let smsc = Smsc::new()
        .operator("up", operator.address())
        .toml(&format!(
            "[statsd]\naddress = \"{address}\"\ntags = true\ninterval = \"200ms\""
        ))
        .start();
    datagram(&tagged, "a gauge with tags", |text| {
        text.lines().any(|line| {
            line.starts_with("smsc.queue_waiting:") && line.ends_with("|g|#queue:operator:up")
        })
    });
    drop(tagged);
    // The kernel reports the closed port at a later push; the next listener is reached again.
    let again = until("the port again", || UdpSocket::bind(address).ok());
    datagram(&again, "a push", |text| text.contains("smsc.draining:0|g"));
    smsc.assert_no_panic();
}
