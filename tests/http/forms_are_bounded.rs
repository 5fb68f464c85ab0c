//! What comes before anybody has logged in: forms with very many parameters, bodies that do not come, and addresses that
//! send many of both.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::json;
use socket2::{Domain, Socket, Type};

use crate::harness::{Admin, PATIENCE, Smsc, until};
use crate::plain::{get, post};

const FORM: &str = "application/x-www-form-urlencoded";

fn serving(keys: &str) -> Smsc {
    Smsc::new()
        .with_api_and(&format!(
            "kannel = true\njasmin = true\nxml_rpc = true\n{keys}"
        ))
        .account("test", "test")
        .route("", "test:delivered")
        .start()
}

/// A connection from another address of this machine.
fn connect_from(number: u16, to: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let [high, low] = number.to_be_bytes();
    let own = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, high, low)), 0);
    socket.bind(&own.into()).unwrap();
    socket.connect(&to.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(2 * PATIENCE)).unwrap();
    stream
}

/// Begins a request whose body does not come.
fn begin(smsc: &Smsc, number: u16, path: &str, kind: &str, length: usize) -> TcpStream {
    let mut stream = connect_from(number, smsc.api_address());
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n<"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// The first line of what is answered.
fn status(stream: &mut TcpStream) -> u16 {
    let mut octets = [0; 12];
    stream.read_exact(&mut octets).unwrap();
    std::str::from_utf8(&octets[9..]).unwrap().parse().unwrap()
}

#[test]
fn very_many_parameters_are_refused_and_take_no_memory() {
    let smsc = serving("");
    let address = smsc.api_address();
    for path in ["/cgi-bin/sendsms", "/send", "/rate", "/balance"] {
        let said = post(address, path, FORM, &"a&".repeat(100_000));
        assert_eq!(said.status, 400, "{path}: {}", said.text);
        assert!(said.text.contains("oo many"), "{path}: {}", said.text);
    }
    let nested = format!("{{\"a\": [{}0]}}", "{\"\":0},".repeat(30_000));
    let said = post(address, "/send", "application/json", &nested);
    assert_eq!(said.status, 400, "{}", said.text);
    let before = smsc.process().memory_kib("VmHWM");
    let forms: Vec<_> = (0..40)
        .map(|_| {
            std::thread::spawn(move || {
                post(address, "/cgi-bin/sendsms", FORM, &"a&".repeat(120_000))
            })
        })
        .collect();
    for form in forms {
        assert_eq!(form.join().unwrap().status, 400);
    }
    let grown = smsc.process().memory_kib("VmHWM") - before;
    assert!(
        grown < 40 * 1024,
        "{grown} KiB more for forty forms of 240 KB"
    );
    smsc.assert_no_panic();
}

#[test]
fn bodies_that_do_not_come_keep_only_their_own_address_out() {
    let smsc = serving("max_requests = 4");
    let silent: Vec<TcpStream> = (0..40)
        .map(|_| begin(&smsc, 9, "/RPC2", "text/xml", 1_000_000))
        .collect();
    let call = "<?xml version=\"1.0\"?><methodCall><methodName>system.listMethods</methodName></methodCall>";
    let mut others = connect_from(2, smsc.api_address());
    let request = format!(
        "POST /RPC2 HTTP/1.1\r\nHost: x\r\nContent-Type: text/xml\r\nContent-Length: {}\r\n\r\n{call}",
        call.len()
    );
    others.write_all(request.as_bytes()).unwrap();
    let mut answer = vec![0; 4096];
    let read = others.read(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
    assert!(answer.contains("sms.send"), "{answer}");
    let said = post(
        smsc.api_address(),
        "/balance",
        FORM,
        "username=test&password=test",
    );
    assert_eq!(said.status, 200, "{}", said.text);
    drop(silent);
    smsc.assert_no_panic();
}

#[test]
fn a_body_has_its_time_at_every_entrance() {
    let smsc = serving("");
    let entrances = [
        ("/cgi-bin/sendsms", FORM),
        ("/send", FORM),
        ("/rate", FORM),
        ("/balance", FORM),
        ("/RPC2", "text/xml"),
    ];
    let mut silent = entrances.map(|(path, kind)| begin(&smsc, 3, path, kind, 1_000));
    let answers = silent.each_mut().map(status);
    assert_eq!(answers, [503, 503, 503, 503, 408]);
    smsc.assert_no_panic();
}

const SUBMISSION: &str = "username=test&password=test&to=447700900123";
const LIST: &str =
    "<?xml version=\"1.0\"?><methodCall><methodName>system.listMethods</methodName></methodCall>";

/// Addresses of the crowds here, which are none of 127.0.0.0/24.
const CROWD: std::ops::Range<u16> = 0x100..0x100 + 300;

/// Every way in is open, for bodies of all lengths.
fn everybody_is_served(smsc: &Smsc, key: &Admin) {
    let address = smsc.api_address();
    for (path, text, status) in [("/cgi-bin/sendsms", "text", 202), ("/send", "content", 200)] {
        let form = format!("{SUBMISSION}&{text}=hello");
        let said = get(address, &format!("{path}?{form}"));
        assert_eq!(said.status, status, "GET {path}: {}", said.text);
        let said = post(address, path, FORM, &form);
        assert_eq!(said.status, status, "POST {path}: {}", said.text);
        // Pairs without a name are none, so this is one with a long body.
        let long = form + &"&".repeat(100_000);
        let said = post(address, path, FORM, &long);
        assert_eq!(said.status, status, "long POST {path}: {}", said.text);
    }
    let order = json!({ "to": ["447700900123"], "from": "ACME", "text": "hello" });
    let (status, said) = key.call("POST", "/v1/messages", Some(&order));
    assert_eq!(status, 202, "{said}");
    let said = post(address, "/RPC2", "text/xml", LIST);
    assert!(said.text.contains("sms.send"), "{}", said.text);
}

/// A form in chunks of one octet, the last ones one in a second.
fn sends_slowly(smsc: &Smsc) -> u16 {
    let form = format!("{SUBMISSION}&text=hello");
    let mut stream = connect_from(7, smsc.api_address());
    let head = format!(
        "POST /cgi-bin/sendsms HTTP/1.1\r\nHost: x\r\nContent-Type: {FORM}\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    for (at, octet) in form.chars().enumerate() {
        if at + 4 > form.len() {
            pause(Duration::from_secs(1));
        }
        stream
            .write_all(format!("1\r\n{octet}\r\n").as_bytes())
            .unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    status(&mut stream)
}

#[expect(clippy::disallowed_methods, reason = "a client that is slow")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Three hundred addresses that announce bodies: of all kinds at all ways in, with a length or in chunks.
#[test]
fn crowds_whose_bodies_do_not_come_keep_nobody_out() {
    let smsc = serving("");
    let key = smsc.api_of("test", "send");
    let ways = [
        ("/cgi-bin/sendsms", FORM),
        ("/send", FORM),
        ("/send", "application/json"),
        ("/balance", FORM),
        ("/RPC2", "text/xml"),
        ("/v1/messages", "application/json"),
    ];
    let silent: Vec<TcpStream> = CROWD
        .map(|number| {
            let at = usize::from(number - CROWD.start);
            // What the long ones leave is for the short ones.
            let (way, length) = match at {
                ..100 => (4, 1_000_000),
                100..200 => (at % ways.len(), 250_000),
                _ => (at % ways.len(), 100),
            };
            let (path, kind) = ways[way];
            let mut stream = connect_from(number, smsc.api_address());
            let body = if at % 100 < 90 {
                format!("Content-Length: {length}\r\n\r\n<")
            } else {
                "Transfer-Encoding: chunked\r\n\r\n1\r\n<\r\n".to_owned()
            };
            let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\n{body}");
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    let slow = std::thread::scope(|scope| {
        let slow = scope.spawn(|| sends_slowly(&smsc));
        for _ in 0..5 {
            everybody_is_served(&smsc, &key);
        }
        slow.join().unwrap()
    });
    assert_eq!(slow, 202);
    drop(silent);
    smsc.assert_no_panic();
}

/// A crowd that sends most of what it announces.
#[test]
fn crowds_whose_bodies_do_not_end_keep_nobody_out_that_is_known() {
    const MIB: u64 = 1_024;
    let smsc = serving("");
    let key = smsc.api_of("test", "send");
    everybody_is_served(&smsc, &key);
    let before = smsc.process().memory_kib("VmHWM");
    let most = vec![b'<'; 900_000];
    let mut crowd: Vec<TcpStream> = CROWD
        .map(|number| begin(&smsc, number, "/RPC2", "text/xml", most.len() + 100))
        .collect();
    // Who is refused meanwhile closes his side.
    let refused = crowd.iter_mut().filter_map(|one| {
        let limit = Some(Duration::from_millis(100));
        one.set_write_timeout(limit).unwrap();
        one.write_all(&most).err()
    });
    let refused = refused.count();
    until("the crowd to fill its share", || {
        let mut new = begin(&smsc, 3, "/RPC2", "text/xml", most.len());
        let told = new.write_all(&most).and_then(|()| {
            new.set_read_timeout(Some(Duration::from_millis(200)))?;
            new.read(&mut [0; 12])
        });
        (refused > 0 || told.is_ok_and(|read| read > 0)).then_some(())
    });
    everybody_is_served(&smsc, &key);
    let mut stranger = connect_from(4, smsc.api_address());
    let form = format!("{SUBMISSION}&text=hello");
    let length = form.len();
    let request = format!(
        "POST /cgi-bin/sendsms HTTP/1.1\r\nHost: x\r\nContent-Type: {FORM}\r\nContent-Length: {length}\r\n\r\n{form}"
    );
    stranger.write_all(request.as_bytes()).unwrap();
    assert_eq!(
        status(&mut stranger),
        202,
        "a short form from a new address"
    );
    let grown = smsc.process().memory_kib("VmHWM") - before;
    // Bodies grow by doubling, and actix reads up to 128 KiB ahead on each connection: 170-210 MiB were seen.
    assert!(
        grown < 300 * MIB,
        "{} MiB more for a crowd that sends 260 MiB",
        grown / MIB
    );
    drop(crowd);
    smsc.assert_no_panic();
}
