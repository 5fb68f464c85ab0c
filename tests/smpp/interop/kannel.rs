//! Kannel as an ESME, in the cases: its bearerbox binds to us (as a transmitter and a receiver, then as
//! a transceiver), its smsbox accepts messages over HTTP, and calls URLs for reports and
//! mobile-originated messages.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Kannel, Smsc, listen, until};

/// Kannel's dlr-mask: delivered, failed, accepted and refused by the SMSC.
const EVERY_REPORT: u32 = 1 + 2 + 8 + 16;
/// Kannel's report of a delivered message.
const DELIVERED: &str = "1";
const TO: &str = "447700900123";

/// The server for Kannel's URLs, and the requests that it got.
struct Urls {
    listener: TcpListener,
    receipts: Vec<Value>,
    mo: Vec<Value>,
}

fn start(smsc: &Smsc, urls: &Urls, transceiver: bool) -> Kannel {
    let mo = format!("http://{}/mo?from=%p&text=%a", urls.address());
    Kannel::start(smsc, &mo, transceiver)
}

/// Submits a text without spaces; its reports name it `id`.
fn send(kannel: &Kannel, id: &str, text: &str, urls: &Urls) {
    let report = format!(
        "http%3A%2F%2F{}%2Freport%3Fid%3D{id}%26type%3D%25d",
        urls.address()
    );
    let path = format!(
        "/cgi-bin/sendsms?username=user&password=word&from=12345&to={TO}&text={text}\
         &dlr-mask={EVERY_REPORT}&dlr-url={report}"
    );
    let answer = kannel.get(&path);
    assert!(answer.contains("Accepted for delivery"), "{answer}");
}

// === impl Urls ===

impl Urls {
    fn listen() -> Self {
        let listener = listen();
        listener.set_nonblocking(true).unwrap();
        Self {
            listener,
            receipts: Vec::new(),
            mo: Vec::new(),
        }
    }

    fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    /// Answers requests with 200 until the condition holds.
    fn hear(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        until(what, || {
            while let Ok((socket, _)) = self.listener.accept() {
                self.take(socket);
            }
            done(self).then_some(())
        });
    }

    fn take(&mut self, mut socket: TcpStream) {
        socket.set_nonblocking(false).unwrap();
        let patience = Some(Duration::from_secs(5));
        socket.set_read_timeout(patience).unwrap();
        let mut head = [0; 4096];
        let count = socket.read(&mut head).unwrap_or(0);
        let _ = socket.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n");
        let head = String::from_utf8_lossy(&head[..count]).into_owned();
        let path = head.split(' ').nth(1).unwrap_or_default();
        let value = |name: &str| {
            let query = path.split_once('?').map_or("", |(_, query)| query);
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            let found = pairs.find(|(key, _)| *key == name);
            found
                .map(|(_, value)| value.replace('+', " "))
                .unwrap_or_default()
        };
        if path.starts_with("/mo?") {
            // Kannel puts a plus before international numbers.
            let source = value("from").replace("%2B", "");
            self.mo
                .push(json!({ "source": source, "text": value("text") }));
        } else if value("type") == DELIVERED {
            self.receipts
                .push(json!({ "id": value("id"), "stat": "DELIVRD" }));
        }
    }

    fn is_told(&self, id: &str) -> bool {
        self.receipts.iter().any(|receipt| receipt["id"] == id)
    }
}

/// Waits until the account has so many binds.
fn wait_for_binds(smsc: &Smsc, count: usize) {
    let admin = smsc.admin();
    until("the binds of bearerbox", || {
        let list = admin.get("/v1/binds");
        let bound = list["binds"].as_array()?.iter();
        let of_kannel = bound.filter(|bind| bind["name"] == "test" && bind["state"] == "bound");
        (of_kannel.count() == count).then_some(())
    });
}

/// The cases.
pub fn play(smsc: &Smsc) -> Value {
    let mut urls = Urls::listen();
    let pair = start(smsc, &urls, false);
    wait_for_binds(smsc, 2);
    pair.stop();
    wait_for_binds(smsc, 0);

    let kannel = start(smsc, &urls, true);
    wait_for_binds(smsc, 1);
    send(&kannel, "plain", "hello+kannel", &urls);
    send(&kannel, "long", &"0123456789".repeat(30), &urls);
    urls.hear("reports and a message from a mobile", |urls| {
        urls.is_told("plain") && urls.is_told("long") && !urls.mo.is_empty()
    });

    // bearerbox is killed, which drops the connection without unbind; another one replaces it.
    send(&kannel, "last", "before+the+drop", &urls);
    urls.hear("the last report", |urls| urls.is_told("last"));
    kannel.kill();
    let kannel = start(smsc, &urls, true);
    wait_for_binds(smsc, 1);
    send(&kannel, "after", "after+the+drop", &urls);
    urls.hear("a report after the drop", |urls| urls.is_told("after"));
    kannel.stop();
    json!({
        // The list of binds has shown each of them.
        "binds": { "transmitter": 0, "receiver": 0, "transceiver": 0 },
        "submit": "plain",
        "long": ["long"],
        // The long text is two parts.
        "messages": 5,
        "receipts": urls.receipts,
        "mo": urls.mo,
        "reconnect": "last",
        // bearerbox has ended normally.
        "unbind": 0,
    })
}
