//! A gateway of a carrier over a blocking socket, which does exactly what the test says.
//!
//! Uses the project's own codecs, which tests of their crates compare with the standards. What a protocol says is in the
//! files below: `cmpp`, `smgp`, `sgip`.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use smsc::carrier::{Kind, Pdu, Protocol, next_frame};

use super::{PATIENCE, Peer, Simulator, Smsc, SmscBuilder, submit, until};

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

/// A PDU of a protocol.
pub type PduOf<P> = Pdu<<P as Protocol>::Sequence, <P as Protocol>::Body>;

/// One connection.
pub struct Line<P: Protocol> {
    socket: TcpStream,
    input: BytesMut,
    /// PDUs that came while something else was awaited.
    kept: Vec<PduOf<P>>,
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
    fn accept_login(&self) -> (Line<P>, PduOf<P>) {
        let socket = until("a connection of the smsc", || {
            let (socket, _) = self.listener.accept().ok()?;
            socket.set_nonblocking(false).unwrap();
            Some(socket)
        });
        let mut line = Line::over(socket, self.protocol);
        let login = line.expect("a login", |body| P::kind(body) == Kind::Login);
        (line, login)
    }
}

// === impl Line ===

impl<P: Protocol> Line<P> {
    pub fn over(socket: TcpStream, protocol: P) -> Self {
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
    pub fn expect(&mut self, what: &str, fits: impl Fn(&P::Body) -> bool) -> PduOf<P> {
        self.expect_of(what, |pdu| fits(&pdu.body))
    }

    /// The same, by more than its body.
    pub fn expect_of(&mut self, what: &str, fits: impl Fn(&PduOf<P>) -> bool) -> PduOf<P> {
        self.try_expect(PATIENCE, fits)
            .unwrap_or_else(|| panic!("{what} did not come, but {:?}", self.kept))
    }

    /// The same, if it comes within this time.
    pub fn try_expect(
        &mut self,
        limit: Duration,
        fits: impl Fn(&PduOf<P>) -> bool,
    ) -> Option<PduOf<P>> {
        if let Some(at) = self.kept.iter().position(&fits) {
            return Some(self.kept.remove(at));
        }
        let end = Instant::now() + limit;
        while Instant::now() < end {
            let Some(pdu) = self.read() else { continue };
            if fits(&pdu) {
                return Some(pdu);
            }
            self.kept.push(pdu);
        }
        None
    }

    fn read(&mut self) -> Option<PduOf<P>> {
        loop {
            let pdu = self.read_any()?;
            let kind = P::kind(&pdu.body);
            if kind != Kind::Probe {
                return Some(pdu);
            }
            self.send(pdu.sequence, P::reply(kind).unwrap());
        }
    }

    /// The next PDU, which may be a test of the connection; `None` if nothing comes for a moment.
    fn read_any(&mut self) -> Option<PduOf<P>> {
        loop {
            if let Some(frame) = next_frame::<P>(&mut self.input).unwrap() {
                return Some(self.protocol.decode(&frame).unwrap());
            }
            let mut octets = [0; 4096];
            match self.socket.read(&mut octets) {
                Ok(0) => panic!("the smsc has closed the connection"),
                Ok(count) => self.input.extend_from_slice(&octets[..count]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                    panic!("the smsc has closed the connection: {error}")
                }
                Err(_) => return None,
            }
        }
    }

    /// Waits until the smsc has closed the connection; answers nothing. What came before that.
    pub fn until_closed(mut self) -> Vec<PduOf<P>> {
        let mut came = std::mem::take(&mut self.kept);
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            while let Some(frame) = next_frame::<P>(&mut self.input).unwrap() {
                came.push(self.protocol.decode(&frame).unwrap());
            }
            let mut octets = [0; 4096];
            match self.socket.read(&mut octets) {
                Ok(count) if count > 0 => self.input.extend_from_slice(&octets[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                _ => return came,
            }
        }
        panic!("the smsc has not closed the connection, but sent {came:?}");
    }

    /// Whether nothing but tests of the connection comes for this time.
    pub fn is_quiet(&mut self, time: Duration) -> bool {
        let end = Instant::now() + time;
        while self.kept.is_empty() && Instant::now() < end {
            let read = self.read();
            self.kept.extend(read);
        }
        self.kept.is_empty()
    }

    pub fn send(&mut self, sequence: P::Sequence, body: P::Body) {
        let mut out = BytesMut::new();
        let pdu = Pdu { sequence, body };
        self.protocol.encode(&pdu, &mut out).unwrap();
        self.send_octets(&out);
    }

    pub fn send_octets(&mut self, octets: &[u8]) {
        self.socket.write_all(octets).unwrap();
    }

    /// The next PDU of this kind, if one comes at once.
    pub fn next_if(&mut self, fits: impl Fn(&P::Body) -> bool) -> Option<PduOf<P>> {
        self.try_expect(Duration::from_millis(100), |pdu| fits(&pdu.body))
    }

    /// Sends a request under a sequence of its own, which it returns; does not wait for the answer.
    pub fn ask(&mut self, body: P::Body) -> P::Sequence {
        self.sequence += 1;
        let sequence = self.protocol.sequence(self.sequence);
        self.send(sequence, body);
        sequence
    }

    /// Cuts the connection off.
    pub fn cut(self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// `smsc simulate` with these flags gets all messages to this number, and each ends as reported, although the SMSC is
/// killed while they are under way.
pub fn gets_all_although_killed(flags: &str, builder: SmscBuilder, keys: &str, number: &str) {
    let flags = format!(
        "{flags} --system-id {SOURCE} --password {SECRET} --throttle-percent 20 --receipt-delay 10ms"
    );
    let gateway = Simulator::new().flags(&flags).start();
    let mut smsc = builder
        .account("test", "test")
        .route("", "up")
        .operator_with("up", gateway.address(), keys)
        .start();
    smsc.wait_for_binds("up", 1);
    let mut ids = Vec::new();
    for when in ["before", "after"] {
        if when == "after" {
            smsc.kill();
            smsc.start_again();
        }
        let mut esme = Peer::bind(smsc.smpp(), "test", "test");
        ids.extend((0..30).map(|at| esme.submit(submit(number, &format!("{when} {at}")))));
    }
    for id in &ids {
        assert_eq!(smsc.final_state(id), "DELIVERED");
    }
    until("all texts in the journal", || {
        let lines = gateway.journal();
        let texts: BTreeSet<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        (texts.len() == ids.len()).then_some(())
    });
    smsc.assert_no_panic();
}

/// What a gateway cannot bear.
pub const POISON: &str = "poison";
/// How a culprit is found quickly, in every protocol that has these keys.
pub const FINDS_SOON: &str = "response_timeout = \"1s\"\nenquire_link_interval = \"1s\"\nenquire_link_timeout = \"500ms\"\n\
    suspect_pause = \"300ms\"\nreconnect = [\"200ms\"]\n";

/// A gateway that ends or leaves the connection on which [`POISON`] comes, among other messages to one number.
pub struct Picky<'a, P: Protocol> {
    pub smsc: &'a Smsc,
    pub esme: &'a mut Peer,
    pub line: Line<P>,
    pub number: &'a str,
    pub number_of_poison: &'a str,
    /// Whether it keeps the connection, but answers nothing any more, not even whether it is there.
    pub falls_silent: bool,
}

// === impl Picky ===

impl<P: Protocol> Picky<'_, P> {
    /// The bad message ends UNDELIVERABLE after three times, and all others arrive. `take` gives the text of the next
    /// message, if one comes at once, and answers it unless it is the bad one.
    pub fn gives_up_the_bad_one_alone(
        mut self,
        accept: impl Fn() -> Line<P>,
        take: impl Fn(&mut Line<P>) -> Option<Vec<u8>>,
    ) {
        let good: BTreeSet<String> = (0..6).map(|number| format!("good {number}")).collect();
        let mut bad = String::new();
        for (number, text) in good.iter().enumerate() {
            self.esme.submit(submit(self.number, text));
            if number == 2 {
                bad = self.esme.submit(submit(self.number_of_poison, POISON));
            }
        }
        let (mut came, mut sendings, mut silent) = (BTreeSet::new(), 0, Vec::new());
        let ended = until("the end of the bad one, and the others", || {
            match take(&mut self.line) {
                Some(text) if text == POISON.as_bytes() => {
                    sendings += 1;
                    if !self.falls_silent {
                        self.line.socket.shutdown(Shutdown::Both).unwrap();
                    }
                    silent.push(std::mem::replace(&mut self.line, accept()));
                }
                Some(text) => {
                    came.insert(String::from_utf8(text).unwrap());
                }
                None => {}
            }
            let message = self.smsc.admin().get(&format!("/v1/messages/{bad}"));
            (message["final"].is_object() && came == good).then_some(message)
        });
        assert_eq!(ended["final"]["error"], "ended the session 3 times");
        assert!((3..=5).contains(&sendings), "{sendings} sendings");
        self.smsc.assert_no_panic();
    }
}
