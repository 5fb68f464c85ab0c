//! PROXY protocol version 2 on a listener: the announced client is the ESME for allow lists, logs and
//! the admin API. Connections without a valid header, or from an unknown load balancer, are refused.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};

use crate::harness::{self, Authority, Peer, Smsc, SmscBuilder, free_port, pdu, submit, until};
use smsc::smpp::{BindRequest, Body, CommandStatus};

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// A header of version 2 over TCP and IPv4, with a TLV that a load balancer may add.
fn announcing(client: Ipv4Addr, port: u16) -> Vec<u8> {
    let mut body = Vec::from(client.octets());
    body.extend([127, 0, 0, 1]);
    body.extend(port.to_be_bytes());
    body.extend(2775_u16.to_be_bytes());
    body.extend([0xEA, 0, 3, 1, 2, 3]);
    header(0x21, 0x11, &body)
}

fn header(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
    let mut header = SIGNATURE.to_vec();
    header.extend([command, family]);
    header.extend((body.len() as u16).to_be_bytes());
    header.extend(body);
    header
}

/// An SMSC behind load balancers at these addresses, whose account may bind from 192.0.2.7 and from
/// this machine, and the listener's address.
fn behind(balancers: &str, keys: &str) -> (SmscBuilder, SocketAddr) {
    behind_within("30s", balancers, keys)
}

/// Like [`behind`], with this time to bind.
fn behind_within(time: &str, balancers: &str, keys: &str) -> (SmscBuilder, SocketAddr) {
    let address: SocketAddr = ([127, 0, 0, 1], free_port()).into();
    let builder = Smsc::new()
        .smpp(&format!("session_init_timeout = {time:?}"))
        .account_with("test", "test", "allow = [\"192.0.2.7\", \"127.0.0.1\"]")
        .route("", "test:delivered")
        .toml(&format!(
            "[[listener]]\nname = \"front\"\nlisten = \"{address}\"\nproxy_from = [{balancers:?}]\n{keys}"
        ));
    (builder, address)
}

fn bind_after(address: SocketAddr, header: &[u8]) -> (Peer, CommandStatus) {
    let mut peer = Peer::connect(address);
    peer.send(header);
    let status = peer.bind_as(Body::BindTransceiver, "test", "test");
    (peer, status)
}

/// Whatever is sent, the other side sends nothing and ends the connection.
fn assert_refused(address: SocketAddr, octets: &[u8]) {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(harness::PATIENCE)).unwrap();
    socket.write_all(octets).unwrap();
    let mut answer = Vec::new();
    // An end, or a reset if octets were left unread.
    let _ = socket.read_to_end(&mut answer);
    assert!(answer.is_empty(), "{answer:?}");
}

#[test]
fn the_announced_client_is_the_esme() {
    let (builder, address) = behind("127.0.0.1", "");
    let smsc = builder.start();
    let client = Ipv4Addr::new(192, 0, 2, 7);
    let (mut esme, status) = bind_after(address, &announcing(client, 40_123));
    assert_eq!(status, CommandStatus::ESME_ROK);
    esme.submit(submit("447700900123", "through a load balancer"));
    let peer = until("the bind to be shown", || {
        let binds = smsc.admin().get("/v1/binds");
        let bind = binds["binds"]
            .as_array()?
            .iter()
            .find(|bind| bind["name"] == "test")?;
        Some(bind["peer"].as_str()?.to_owned())
    });
    assert_eq!(peer, "192.0.2.7:40123");
    until("the log to name it", || {
        smsc.log().contains("192.0.2.7:40123").then_some(())
    });
    // The allow list applies to the announced address, not to the load balancer's.
    let elsewhere = Ipv4Addr::new(198, 51, 100, 1);
    let (_, status) = bind_after(address, &announcing(elsewhere, 40_123));
    assert_eq!(status, CommandStatus::ESME_RINVPASWD);
    // The same header in pieces.
    let mut slow = Peer::connect(address);
    for octet in announcing(client, 40_124) {
        slow.send(&[octet]);
    }
    assert_eq!(
        slow.bind_as(Body::BindTransceiver, "test", "test"),
        CommandStatus::ESME_ROK
    );
    // With LOCAL or an unknown protocol, the connection belongs to the load balancer itself.
    for own in [header(0x20, 0x00, &[]), header(0x21, 0x00, &[])] {
        let (mut probe, status) = bind_after(address, &own);
        assert_eq!(status, CommandStatus::ESME_ROK);
        probe.assert_alive();
    }
    let six = {
        let mut body = vec![0; 36];
        body[..4].copy_from_slice(&[0x20, 0x01, 0x0D, 0xB8]);
        header(0x21, 0x21, &body)
    };
    let (_, status) = bind_after(address, &six);
    assert_eq!(
        status,
        CommandStatus::ESME_RINVPASWD,
        "2001:db8:: is not allowed"
    );
}

#[test]
fn whom_a_load_balancer_announces_has_so_many_connections_without_a_bind() {
    let (builder, address) = behind_within("10m", "127.0.0.1", "");
    let smsc = builder
        .smpp("max_connections = 100")
        .account("other", "other")
        .start();
    let silent = |client: Ipv4Addr, port: u16| {
        let mut peer = Peer::connect(address);
        let _ = peer.try_send(&announcing(client, port));
        peer
    };
    let (one, other) = (Ipv4Addr::new(192, 0, 2, 7), Ipv4Addr::new(192, 0, 2, 8));
    let idle: Vec<Peer> = (0..110).map(|port| silent(one, 1_000 + port)).collect();
    // All of them share the load balancer's address, which is not limited.
    let try_bind = |client: Ipv4Addr, system_id: &str| {
        let mut peer = silent(client, 2_000);
        let bind = Body::BindTransceiver(BindRequest {
            system_id: system_id.to_owned().into(),
            password: system_id.to_owned().into(),
            interface_version: 0x34,
            ..BindRequest::default()
        });
        // The connection may be closed while others still come in.
        peer.try_send(&pdu(1, bind)).ok()?;
        let answer = peer.try_expect(|pdu| pdu.sequence == 1).ok()?;
        answer.status.is_ok().then_some(peer)
    };
    until("room for another one", || try_bind(other, "other"));
    let crowded = "smsc_connections_failed_total{reason=\"crowded\"} ";
    let (_, metrics) = smsc.admin().text("/metrics").unwrap();
    let line = metrics.lines().find_map(|line| line.strip_prefix(crowded));
    let refused: usize = line.unwrap().parse().unwrap();
    assert!(refused >= 20, "{refused} of {}", idle.len());
    // When they are closed, there is room again for connections from that address.
    drop(idle);
    let mut esme = until("room", || try_bind(one, "test"));
    esme.assert_alive();
    smsc.assert_no_panic();
}

#[test]
fn what_is_no_header_is_refused_with_its_reason() {
    // Two of them are waited for until their time is over.
    let (builder, address) = behind_within("5s", "127.0.0.1", "");
    let smsc = builder.start();
    let mut other = Peer::bind(smsc.smpp(), "test", "test");
    let bind = [0, 0, 0, 0x20, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1];
    let long = header(0x21, 0x11, &[0; 5_000]);
    let cases: [(&[u8], &str); 6] = [
        (&bind, "no PROXY protocol header came"),
        (
            b"PROXY TCP4 192.0.2.7 127.0.0.1 1 2\r\n",
            "header of version 1 came",
        ),
        (&long, "more than the 4096 that are taken"),
        (&header(0x21, 0x11, &[1, 2, 3]), "header cannot be read"),
        (&SIGNATURE[..8], "within smpp.session_init_timeout"),
        (b"", "within smpp.session_init_timeout"),
    ];
    for (octets, why) in cases {
        assert_refused(address, octets);
        until(why, || smsc.log().contains(why).then_some(()));
    }
    // It is counted after the peer has seen the end of its connection.
    for line in ["{reason=\"proxy\"} 4", "{reason=\"late\"} 2"] {
        let line = format!("smsc_connections_failed_total{line}");
        until(&line, || {
            let (_, metrics) = smsc.admin().text("/metrics").ok()?;
            metrics.contains(&line).then_some(())
        });
    }
    // A header where none is configured.
    let mut unexpected = Peer::connect(smsc.smpp());
    unexpected.send(&announcing(Ipv4Addr::LOCALHOST, 1));
    unexpected.until_closed();
    let hint = "a PROXY protocol header came to a listener without proxy_from";
    until(hint, || smsc.log().contains(hint).then_some(()));
    other.assert_alive();
    smsc.assert_no_panic();
}

#[test]
fn only_the_load_balancers_may_connect() {
    let (builder, address) = behind("192.0.2.0/24", "");
    let smsc = builder.start();
    assert_refused(address, &announcing(Ipv4Addr::new(192, 0, 2, 7), 1));
    let why = "only the load balancers of `proxy_from` may connect";
    until(why, || smsc.log().contains(why).then_some(()));
    Peer::bind(smsc.smpp(), "test", "test").unbind();
}

#[test]
fn tls_begins_behind_the_header() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new("ours");
    let (cert, key) = authority.sign("127.0.0.1").write(folder.path(), "smsc");
    let keys = format!("tls_cert = {cert:?}\ntls_key = {key:?}");
    let (builder, address) = behind("127.0.0.1", &keys);
    let smsc = builder.start();
    let client = Ipv4Addr::new(192, 0, 2, 7);
    let tunnel = harness::Tunnel::behind(address, &authority, announcing(client, 40_125));
    let mut esme = Peer::bind(tunnel.address(), "test", "test");
    esme.submit(submit("447700900123", "sealed, through a load balancer"));
    let binds = smsc.admin().get("/v1/binds");
    let peer = binds["binds"][0]["peer"].as_str().unwrap();
    assert_eq!(peer.parse::<SocketAddr>().unwrap().ip(), IpAddr::V4(client));
}
