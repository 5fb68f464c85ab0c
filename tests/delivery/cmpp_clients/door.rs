//! Who may log in, and what becomes of what is no login.

use std::io::Write as _;
use std::net::TcpStream;

use smsc::cmpp::{Body, Cmpp};

use crate::harness::carrier_client::{
    CarrierClient, NUMBER, SECRET, SOURCE, free_listener, log_in, message, with_client,
};
use crate::harness::gateway::Line;
use crate::harness::{Authority, Smsc, SmscBuilder, Tunnel, submit};

const NOT_AUTHENTIC: u32 = 3;
const TOO_HIGH: u32 = 4;
const ANOTHER: u32 = 5;

/// Delivers everything.
fn builder(address: std::net::SocketAddr, keys: &str) -> SmscBuilder {
    with_client(Smsc::new(), address, keys).route("", "test:delivered")
}

#[test]
fn who_comes_from_elsewhere_is_told_another_error_where_refusals_are_exact() {
    let address = free_listener();
    let smsc = builder(address, "allow = [\"192.0.2.0/24\"]")
        .smpp("bind_refusal_delay = \"0s\"\nbind_refusals = \"exact\"")
        .start();
    let (status, line) = log_in(address, Cmpp::V30, SOURCE, SECRET);
    assert_eq!(status, ANOTHER);
    assert_eq!(line.until_closed(), []);
    smsc.assert_no_panic();
}

#[test]
fn only_who_knows_the_shared_secret_logs_in() {
    let address = free_listener();
    let smsc = builder(address, "")
        .account("900002", "secret")
        .account_with(
            "900003",
            "secret",
            "carrier_secret = \"s\"\nallow = [\"192.0.2.0/24\"]",
        )
        .smpp("bind_refusal_delay = \"0s\"")
        .start();
    for (source, secret) in [
        (SOURCE, "wrong"),
        // The password is for SMPP, and an account without a secret has none that could be guessed.
        (SOURCE, "not for CMPP"),
        ("900002", "secret"),
        ("900002", ""),
        ("nobody", SECRET),
        ("900003", "s"),
    ] {
        let (status, line) = log_in(address, Cmpp::V20, source, secret);
        assert_eq!(status, NOT_AUTHENTIC, "{source} {secret}");
        assert_eq!(line.until_closed(), []);
    }
    for (reason, count) in [("password", 4.0), ("unknown", 1.0), ("address", 1.0)] {
        let metric = format!("smsc_binds_refused_by_reason_total{{reason=\"{reason}\"}}");
        assert_eq!(smsc.admin().metric(&metric), Some(count), "{reason}");
    }
    let mut client = CarrierClient::log_in(address, Cmpp::V30);
    client.submit(message(&[NUMBER], 0, b"hello"));
    client.report();
    // It is logged in already.
    let sequence = client.request(Cmpp::V30.connect(SOURCE, SECRET.as_bytes(), 1));
    let again = client
        .line
        .expect_of("a response", |pdu| pdu.sequence == sequence);
    let Body::ConnectResp(resp) = again.body else {
        panic!("{again:?}");
    };
    assert_eq!(resp.status.0, ANOTHER);
    let binds = smsc.admin().get("/v1/binds").to_string();
    assert!(binds.contains(SOURCE), "{binds}");
    let log = smsc.log();
    assert!(!log.contains(SECRET), "the secret is in the log");
    smsc.assert_no_panic();
}

#[test]
fn a_secret_changes_without_a_restart_and_is_never_shown() {
    let address = free_listener();
    let smsc = builder(address, "").start();
    let mut before = CarrierClient::log_in(address, Cmpp::V20);
    let admin = smsc.admin();
    let shown = admin.get(&format!("/v1/accounts/{SOURCE}")).to_string();
    assert!(!shown.contains(SECRET), "{shown}");
    smsc.set_config(&smsc.config().replace(SECRET, "another secret"));
    smsc.apply();
    assert_eq!(log_in(address, Cmpp::V20, SOURCE, SECRET).0, NOT_AUTHENTIC);
    assert_eq!(log_in(address, Cmpp::V20, SOURCE, "another secret").0, 0);
    // Who is logged in stays.
    before.submit(message(&[NUMBER], 0, b"still here"));
    assert!(
        !smsc
            .run(&["config", "versions"])
            .stdout
            .contains("another secret")
    );
}

#[test]
fn an_account_has_so_many_connections() {
    let address = free_listener();
    let smsc = builder(address, "max_binds = 1").start();
    let mut client = CarrierClient::log_in(address, Cmpp::V20);
    assert_eq!(log_in(address, Cmpp::V20, SOURCE, SECRET).0, ANOTHER);
    client.submit(message(&[NUMBER], 0, b"the first one stays"));
    client.request(Body::Terminate(Default::default()));
    client.line.expect("a CMPP_TERMINATE_RESP", |body| {
        matches!(body, Body::TerminateResp(_))
    });
    client.line.until_closed();
    crate::harness::until("room for another", || {
        (log_in(address, Cmpp::V20, SOURCE, SECRET).0 == 0).then_some(())
    });
    smsc.assert_no_panic();
}

#[test]
fn what_is_no_login_is_closed() {
    let address = free_listener();
    let smsc = builder(address, "").start();
    let connect = || Line::over(TcpStream::connect(address).unwrap(), Cmpp::V30);
    // A version that nobody speaks.
    let mut line = connect();
    let Body::Connect(mut login) = Cmpp::V30.connect(SOURCE, SECRET.as_bytes(), 1) else {
        unreachable!("a login is one");
    };
    login.version = 0x40;
    line.send(7, Body::Connect(login));
    let [resp] = &line.until_closed()[..] else {
        panic!("one response");
    };
    let Body::ConnectResp(resp) = &resp.body else {
        panic!("{resp:?}");
    };
    assert_eq!((resp.status.0, resp.version), (TOO_HIGH, 0x30));
    // A message before the login, the response to a login, SMPP, and HTTP.
    let mut line = connect();
    line.send(1, Body::Submit(Box::new(message(&[NUMBER], 0, b"x"))));
    assert_eq!(line.until_closed(), []);
    let mut line = connect();
    line.send(1, Body::ConnectResp(Default::default()));
    line.send(2, Body::Submit(Box::new(message(&[NUMBER], 0, b"x"))));
    assert_eq!(line.until_closed(), []);
    for octets in [
        crate::harness::pdu(1, smsc::smpp::Body::SubmitSm(submit(NUMBER, "x"))),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0; 64],
    ] {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.write_all(&octets).unwrap();
        Line::over(socket, Cmpp::V30).until_closed();
    }
    CarrierClient::log_in(address, Cmpp::V30);
    smsc.assert_no_panic();
}

#[test]
fn over_tls_and_behind_a_load_balancer() {
    let (address, behind) = (free_listener(), free_listener());
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new("ours");
    let clients = Authority::new("clients");
    let (cert, key) = authority.sign("127.0.0.1").write(folder.path(), "smsc");
    let ca = folder.path().join("clients.pem");
    std::fs::write(&ca, &clients.pem).unwrap();
    let secure = format!(
        "[[listener]]\nlisten = \"{address}\"\nname = \"secure\"\nprotocol = \"cmpp\"\ntls_cert = {cert:?}\ntls_key = {key:?}\ntls_client_ca = {ca:?}\n\
         [[listener]]\nlisten = \"{behind}\"\nname = \"behind\"\nprotocol = \"cmpp\"\nproxy_from = [\"127.0.0.1\"]"
    );
    let keys = "certificates = [\"client-of-900001\"]";
    let smsc = with_client(Smsc::new(), free_listener(), keys)
        .account_with(
            "900002",
            "secret",
            "carrier_secret = \"s\"\nallow = [\"192.0.2.7\"]",
        )
        .toml(&secure)
        .route("", "test:delivered")
        .start();
    let known = Tunnel::to(address, &authority, Some(&clients.sign("client-of-900001")));
    let mut client = CarrierClient::log_in(known.address(), Cmpp::V30);
    for number in 0..200 {
        client.submit(message(&[NUMBER], 0, format!("number {number}").as_bytes()));
    }
    for _ in 0..200 {
        client.report();
    }
    // Another certificate of the same authority.
    let stranger = Tunnel::to(address, &authority, Some(&clients.sign("somebody")));
    assert_eq!(
        log_in(stranger.address(), Cmpp::V30, SOURCE, SECRET).0,
        NOT_AUTHENTIC
    );
    // The load balancer says from where the client comes.
    let header = |last: u8| {
        let mut header = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0C".to_vec();
        header.extend([192, 0, 2, last, 127, 0, 0, 1, 0x12, 0x34, 0x1E, 0xD2]);
        header
    };
    for (from, status) in [(7, 0), (8, NOT_AUTHENTIC)] {
        let mut socket = TcpStream::connect(behind).unwrap();
        socket.write_all(&header(from)).unwrap();
        let mut line = Line::over(socket, Cmpp::V20);
        line.send(1, Cmpp::V20.connect("900002", b"s", 1));
        let pdu = line.expect("a response", |body| matches!(body, Body::ConnectResp(_)));
        let Body::ConnectResp(resp) = pdu.body else {
            unreachable!("it was looked at");
        };
        assert_eq!(resp.status.0, status, "{from}");
    }
    smsc.assert_no_panic();
}
