//! A gateway of a carrier over a blocking socket, which does exactly what the test says.
//!
//! Uses the project's own codecs, which tests of their crates compare with the standards. What a protocol says is in the
//! files below: `cmpp`, `smgp`, `sgip`.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
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

    /// The next PDU that fits by more than its body; others are kept.
    pub fn expect_of(&mut self, what: &str, fits: impl Fn(&PduOf<P>) -> bool) -> PduOf<P> {
        self.try_expect(PATIENCE, fits)
            .unwrap_or_else(|| panic!("{what} did not come, but {:?}", self.kept))
    }

    /// The next PDU that fits, if it comes within this time; others are kept.
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

/// What the far end of a connection cannot bear, and what comes before and behind it.
pub const POISON: &str = "poison";
pub const AROUND_POISON: [&str; 7] = [
    "good 0", "good 1", "good 2", POISON, "good 3", "good 4", "good 5",
];
/// Keys of an operator, with which what ends a connection is tried again soon.
pub const TRIES_AGAIN_SOON: &str = "suspect_pause = \"300ms\"\n";
/// Keys of an operator that falls silent, with which that is found out soon. It is tested three times, so that one that
/// answers late, on a busy machine, is not taken for silent.
pub const FINDS_SOON: &str = "response_timeout = \"1s\"\nenquire_link_interval = \"1s\"\nenquire_link_timeout = \"1500ms\"\n\
    suspect_pause = \"300ms\"\n";

/// Submits [`AROUND_POISON`] to one number, and the bad one to another.
pub fn submit_around_poison(esme: &mut Peer, number: &str, number_of_poison: &str) {
    for text in AROUND_POISON {
        let to = match text {
            POISON => number_of_poison,
            _ => number,
        };
        esme.submit(submit(to, text));
    }
}

/// A gateway, or a client, that ends or leaves the connection on which [`POISON`] comes.
pub struct PickyCarrier<P: Protocol> {
    pub line: Line<P>,
    /// Whether it keeps the connection, but answers nothing any more, not even whether it is there.
    pub falls_silent: bool,
}

// === impl PickyCarrier ===

impl<P: Protocol> PickyCarrier<P> {
    /// Of [`AROUND_POISON`] the bad one is given up after three connections, and all others arrive. `connect` makes the next
    /// connection; `text_of` is `None` for what is no message.
    pub fn gets_all_but_poison(
        mut self,
        smsc: &Smsc,
        connect: impl Fn() -> Line<P>,
        text_of: impl Fn(&P::Body) -> Option<Bytes>,
        answer: impl Fn(&mut Line<P>, PduOf<P>),
    ) {
        let good = AROUND_POISON.iter().filter(|text| **text != POISON);
        let good: BTreeSet<Bytes> = good.map(|text| Bytes::from(*text)).collect();
        let (mut came, mut sendings, mut left) = (BTreeSet::new(), 0, Vec::new());
        let moment = Duration::from_millis(100);
        let given_up = until("the end of the bad one, and the others", || {
            let is_message = |pdu: &PduOf<P>| text_of(&pdu.body).is_some();
            if let Some(pdu) = self.line.try_expect(moment, is_message)
                && let Some(text) = text_of(&pdu.body)
            {
                if text != POISON {
                    came.insert(text);
                    answer(&mut self.line, pdu);
                } else {
                    sendings += 1;
                    if !self.falls_silent {
                        self.line.socket.shutdown(Shutdown::Both).unwrap();
                    }
                    left.push(std::mem::replace(&mut self.line, connect()));
                }
            }
            // Not before: meanwhile others would wait for their answers, and count as silence.
            if came != good {
                return None;
            }
            let dead = smsc.admin().get("/v1/dead-letters");
            let dead = dead["messages"].as_array().unwrap().clone();
            (!dead.is_empty()).then_some(dead)
        });
        assert_eq!(given_up.len(), 1, "{given_up:?}");
        assert_eq!(given_up[0]["final"]["error"], "ended the session 3 times");
        assert!((3..=5).contains(&sendings), "{sendings} sendings");
        smsc.assert_no_panic();
    }
}
