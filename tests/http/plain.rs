//! Requests as programs of other products write them, over a plain socket.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use crate::harness::{PATIENCE, Peer, Smsc};
use smsc::smpp::SubmitSm;

/// The bits of esm_class for the messaging mode (SMPP 3.4 §5.2.12).
const MODE: u8 = 0x03;

/// A response.
#[derive(Debug, PartialEq, Eq)]
pub struct Said {
    pub status: u16,
    pub head: String,
    pub text: String,
}

impl Said {
    /// Status and text.
    pub fn brief(&self) -> (u16, &str) {
        (self.status, &self.text)
    }

    fn parse(answer: &str) -> Self {
        let (head, text) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self {
            status,
            head: head.to_ascii_lowercase(),
            text: text.to_owned(),
        }
    }
}

/// The octets of a request, and what they are answered with.
pub fn exchange(address: SocketAddr, request: &[u8]) -> Said {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(request).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    Said::parse(&answer)
}

/// A GET request.
pub fn get(address: SocketAddr, path: &str) -> Said {
    let head = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n");
    exchange(address, head.as_bytes())
}

/// A POST request with a body of this type.
pub fn post(address: SocketAddr, path: &str, content_type: &str, body: &str) -> Said {
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.0\r\nHost: {address}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    exchange(address, request.as_bytes())
}

/// An SMSC with the accounts `user`, whose messages go to the account `sink`, and its bind.
pub fn with_sink(api: &str, keys: &str) -> (Smsc, Peer) {
    let smsc = Smsc::new()
        .with_api_and(api)
        .account_with("user", "word", keys)
        .account("test", "test")
        .account("sink", "sink")
        .route("", "sink")
        .start();
    let sink = Peer::bind(smsc.smpp(), "sink", "sink");
    (smsc, sink)
}

/// What of a message the handset would see; not the messaging mode, which is between the SMSC and its clients.
pub fn seen(pdu: &SubmitSm) -> String {
    format!(
        "to {} dcs {:02x} esm {:02x} pid {} priority {} service {:?} octets {:02x?}",
        String::from_utf8_lossy(&pdu.destination_addr),
        pdu.data_coding,
        pdu.esm_class & !MODE,
        pdu.protocol_id,
        pdu.priority_flag,
        String::from_utf8_lossy(&pdu.service_type),
        &pdu.short_message[..],
    )
}
