//! What comes before anybody has logged in: forms with very many parameters, bodies that do not come, and addresses that
//! send many of both.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};

use socket2::{Domain, Socket, Type};

use crate::harness::{PATIENCE, Smsc};
use crate::plain::post;

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
fn connect_from(last: u8, to: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let own = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)), 0);
    socket.bind(&own.into()).unwrap();
    socket.connect(&to.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(2 * PATIENCE)).unwrap();
    stream
}

/// Begins a request whose body does not come.
fn begin(smsc: &Smsc, last: u8, path: &str, kind: &str, length: usize) -> TcpStream {
    let mut stream = connect_from(last, smsc.api_address());
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
    assert_eq!(answers, [503; 5]);
    smsc.assert_no_panic();
}
