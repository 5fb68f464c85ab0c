//! A gateway of a carrier over a blocking socket, which does exactly what the test says.
//!
//! Uses the project's own codecs, which tests of their crates compare with the standards. What a protocol says is in the
//! files below: `cmpp`, `smgp`, `sgip`.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use smsc::carrier::{Kind, Pdu, Protocol, next_frame};

use super::{PATIENCE, until};

mod cmpp;
pub mod sgip;
pub mod smgp;

/// What the SMSC logs in with.
pub const SOURCE: &str = "900001";
pub const SECRET: &str = "888888-long";

/// A listening gateway.
pub struct FakeGateway<P> {
    listener: TcpListener,
    protocol: P,
}

/// One connection.
pub struct Line<P: Protocol> {
    socket: TcpStream,
    input: BytesMut,
    /// PDUs that came while something else was awaited.
    kept: Vec<Pdu<P::Sequence, P::Body>>,
    protocol: P,
    sequence: u32,
}

// === impl FakeGateway ===

impl<P: Protocol + Copy> FakeGateway<P> {
    pub fn listen(protocol: P) -> Self {
        let listener = super::listen();
        listener.set_nonblocking(true).unwrap();
        Self { listener, protocol }
    }

    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    /// A connection of the SMSC, and its login.
    fn accept_login(&self) -> (Line<P>, Pdu<P::Sequence, P::Body>) {
        let socket = until("a connection of the smsc", || {
            let (socket, _) = self.listener.accept().ok()?;
            socket.set_nonblocking(false).unwrap();
            Some(socket)
        });
        let mut line = Line::new(socket, self.protocol);
        let login = line.expect("a login", |body| P::kind(body) == Kind::Login);
        (line, login)
    }
}

// === impl Line ===

impl<P: Protocol> Line<P> {
    pub fn new(socket: TcpStream, protocol: P) -> Self {
        let patience = Some(Duration::from_millis(50));
        socket.set_read_timeout(patience).unwrap();
        Self {
            socket,
            input: BytesMut::new(),
            kept: Vec::new(),
            protocol,
            sequence: 0,
        }
    }

    /// The next PDU that fits; others are kept. Answers tests of the connection.
    pub fn expect(
        &mut self,
        what: &str,
        fits: impl Fn(&P::Body) -> bool,
    ) -> Pdu<P::Sequence, P::Body> {
        if let Some(at) = self.kept.iter().position(|pdu| fits(&pdu.body)) {
            return self.kept.remove(at);
        }
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            let Some(pdu) = self.read() else { continue };
            if fits(&pdu.body) {
                return pdu;
            }
            self.kept.push(pdu);
        }
        panic!("{what} did not come, but {:?}", self.kept);
    }

    fn read(&mut self) -> Option<Pdu<P::Sequence, P::Body>> {
        loop {
            if let Some(frame) = next_frame::<P>(&mut self.input).unwrap() {
                let pdu = self.protocol.decode(&frame).unwrap();
                let kind = P::kind(&pdu.body);
                if kind != Kind::Probe {
                    return Some(pdu);
                }
                self.send(pdu.sequence, P::reply(kind).unwrap());
                continue;
            }
            let mut octets = [0; 4096];
            match self.socket.read(&mut octets) {
                Ok(0) => panic!("the smsc has closed the connection"),
                Ok(count) => self.input.extend_from_slice(&octets[..count]),
                Err(_) => return None,
            }
        }
    }

    pub fn send(&mut self, sequence: P::Sequence, body: P::Body) {
        let mut out = BytesMut::new();
        let pdu = Pdu { sequence, body };
        self.protocol.encode(&pdu, &mut out).unwrap();
        self.socket.write_all(&out).unwrap();
    }

    /// Sends a request under a sequence of its own; does not wait for the answer.
    pub fn ask(&mut self, body: P::Body) {
        self.sequence += 1;
        self.send(self.protocol.sequence(self.sequence), body);
    }

    /// Cuts the connection off.
    pub fn cut(self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}
