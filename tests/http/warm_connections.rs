//! A client that opens many connections before it uses them: those beyond `api.strangers` are told so by an answer (503),
//! and one that has shown a valid key stays, however many others come.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use crate::harness::{PATIENCE, Smsc};
use serde_json::Value;

const STRANGERS: usize = 8;

/// A connection that stays open between requests.
struct Warm(TcpStream);

// === impl Warm ===

impl Warm {
    fn open(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(socket)
    }

    /// Status and body of the answer to a request with a key.
    fn get(&mut self, key: &str) -> (u16, Value) {
        let request = format!(
            "GET /v1/balance HTTP/1.1\r\nHost: smsc\r\nAuthorization: Bearer {key}\r\n\r\n"
        );
        // The answer may be there already, and the other side closed.
        let _ = self.0.write_all(request.as_bytes());
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut octet = [0];
            self.0.read_exact(&mut octet).expect("an answer");
            head.push(octet[0]);
        }
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.unwrap().parse().unwrap()];
        self.0.read_exact(&mut body).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_slice(&body).unwrap())
    }
}

#[test]
fn connections_beyond_the_limit_are_told_and_known_ones_stay() {
    let smsc = Smsc::new()
        .with_api_and(&format!("strangers = {STRANGERS}\nworkers = 1"))
        .account("test", "test")
        .start();
    let address = smsc.api_address();
    let key = smsc.api_of("test", "both").token().to_owned();
    let mut warm: Vec<Warm> = (0..STRANGERS + 4).map(|_| Warm::open(address)).collect();
    // The server has seen all of them when it answers on the last one.
    assert_eq!(warm.last_mut().unwrap().get(&key).0, 200);
    let answers: Vec<(u16, Value)> = warm.iter_mut().map(|one| one.get(&key)).collect();
    let told = answers.iter().filter(|(status, _)| *status == 503);
    let told: Vec<&Value> = told.map(|(_, body)| body).collect();
    assert_eq!(told.len(), 4, "{answers:?}");
    for body in told {
        assert_eq!(body["type"], "urn:smsc:problem:unavailable", "{body}");
        assert_eq!(body["limit"], "connections", "{body}");
    }
    assert!(
        answers[4..].iter().all(|(status, _)| *status == 200),
        "{answers:?}"
    );
    let mut others: Vec<Warm> = (0..3 * STRANGERS).map(|_| Warm::open(address)).collect();
    assert_eq!(others.last_mut().unwrap().get(&key).0, 200);
    for one in &mut warm[4..] {
        assert_eq!(one.get(&key).0, 200, "it has shown a valid key");
    }
}
