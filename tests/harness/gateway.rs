//! A gateway of a carrier that speaks CMPP over a blocking socket, and does exactly what the test says.
//!
//! Checks the proof of a login itself. Uses the project's own codec, which tests of `crates/cmpp` compare with the
//! standard.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use smsc::carrier::fields::{Content, Varying, Widened};
use smsc::carrier::{Protocol as _, next_frame};
use smsc::cmpp::bodies::{Deliver, Submit, SubmitResp};
use smsc::cmpp::{Body, Cmpp, Pdu, Report, proof, status};

use super::{PATIENCE, until};

/// What the SMSC logs in with.
pub const SOURCE: &str = "900001";
pub const SECRET: &str = "888888-long";

/// A listening gateway.
pub struct FakeGateway {
    listener: TcpListener,
    version: Cmpp,
}

/// One connection.
pub struct Line {
    socket: TcpStream,
    input: BytesMut,
    /// Requests that came while something else was awaited.
    kept: Vec<Pdu>,
    version: Cmpp,
    pub(super) sequence: u32,
}

// === impl FakeGateway ===

impl FakeGateway {
    pub fn listen(version: Cmpp) -> Self {
        let listener = super::listen();
        listener.set_nonblocking(true).unwrap();
        Self { listener, version }
    }

    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    /// A connection, and its login, which is answered with this status if it is right, and else with 3.
    pub fn accept(&self, status: u32) -> Line {
        let socket = until("a connection of the smsc", || {
            let (socket, _) = self.listener.accept().ok()?;
            socket.set_nonblocking(false).unwrap();
            Some(socket)
        });
        let mut line = Line::over(socket, self.version);
        let pdu = line.expect("a login", |body| matches!(body, Body::Connect(_)));
        let Body::Connect(connect) = pdu.body else {
            unreachable!("it was looked at");
        };
        assert_eq!(connect.version, self.version as u8);
        assert_eq!(connect.source_addr.0, SOURCE);
        let right = proof(SOURCE.as_bytes(), SECRET.as_bytes(), connect.timestamp);
        let status = match connect.authenticator_source == right {
            true => status,
            false => 3,
        };
        let resp = self
            .version
            .connect_resp(&connect, SECRET.as_bytes(), status);
        line.send(pdu.sequence, resp);
        line
    }
}

// === impl Line ===

impl Line {
    pub fn over(socket: TcpStream, version: Cmpp) -> Self {
        socket
            .set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        Self {
            socket,
            input: BytesMut::new(),
            kept: Vec::new(),
            version,
            sequence: 0,
        }
    }

    /// The next PDU that fits; others are kept. Answers tests of the connection.
    pub fn expect(&mut self, what: &str, fits: impl Fn(&Body) -> bool) -> Pdu {
        self.expect_of(what, |pdu| fits(&pdu.body))
    }

    /// The same, by more than its body.
    pub fn expect_of(&mut self, what: &str, fits: impl Fn(&Pdu) -> bool) -> Pdu {
        self.try_expect(PATIENCE, fits)
            .unwrap_or_else(|| panic!("{what} did not come, but {:?}", self.kept))
    }

    /// The same, if it comes within this time.
    pub fn try_expect(&mut self, limit: Duration, fits: impl Fn(&Pdu) -> bool) -> Option<Pdu> {
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

    fn read(&mut self) -> Option<Pdu> {
        loop {
            let pdu = self.read_any()?;
            let Body::ActiveTest(_) = pdu.body else {
                return Some(pdu);
            };
            self.send(pdu.sequence, Body::ActiveTestResp(Default::default()));
        }
    }

    /// The next PDU, which may be a test of the connection; `None` if nothing comes for a moment.
    fn read_any(&mut self) -> Option<Pdu> {
        loop {
            if let Some(frame) = next_frame::<Cmpp>(&mut self.input).unwrap() {
                return Some(self.version.decode(&frame).unwrap());
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
    pub fn until_closed(mut self) -> Vec<Pdu> {
        let mut came = std::mem::take(&mut self.kept);
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            while let Some(frame) = next_frame::<Cmpp>(&mut self.input).unwrap() {
                came.push(self.version.decode(&frame).unwrap());
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

    pub fn send(&mut self, sequence: u32, body: Body) {
        let mut out = BytesMut::new();
        let pdu = Pdu { sequence, body };
        self.version.encode(&pdu, &mut out).unwrap();
        self.send_octets(&out);
    }

    pub fn send_octets(&mut self, octets: &[u8]) {
        self.socket.write_all(octets).unwrap();
    }

    /// The next CMPP_SUBMIT, with its sequence.
    pub fn submit(&mut self) -> (u32, Submit) {
        let pdu = self.expect("a CMPP_SUBMIT", |body| matches!(body, Body::Submit(_)));
        match pdu.body {
            Body::Submit(submit) => (pdu.sequence, submit),
            _ => unreachable!("it was looked at"),
        }
    }

    pub fn answer(&mut self, sequence: u32, msg_id: u64, result: u32) {
        let result = Widened(result);
        self.send(sequence, Body::SubmitResp(SubmitResp { msg_id, result }));
    }

    /// The next CMPP_SUBMIT, taken under this Msg_Id.
    pub fn take(&mut self, msg_id: u64) -> Submit {
        let (sequence, submit) = self.submit();
        self.answer(sequence, msg_id, status::OK);
        submit
    }

    /// Sends a report; does not wait for its answer.
    pub fn report(&mut self, msg_id: u64, stat: &str) {
        let report = Report {
            msg_id,
            stat: stat.into(),
            submit_time: "2611250931".into(),
            done_time: "2611250932".into(),
            dest_terminal_id: "13800138000".into(),
            smsc_sequence: 1,
        };
        self.deliver(Deliver {
            msg_id: msg_id + 1,
            dest_id: "10655".into(),
            registered_delivery: 1,
            src_terminal_id: Varying(Bytes::from_static(b"13800138000")),
            msg_content: Content(report.encode(self.version).unwrap()),
            ..Deliver::default()
        });
    }

    pub fn deliver(&mut self, deliver: Deliver) {
        self.sequence += 1;
        self.send(self.sequence, Body::Deliver(deliver));
    }

    /// The result in the next CMPP_DELIVER_RESP, and its Msg_Id.
    pub fn delivered(&mut self) -> (u32, u64) {
        let fits = |body: &Body| matches!(body, Body::DeliverResp(_));
        match self.expect("a CMPP_DELIVER_RESP", fits).body {
            Body::DeliverResp(resp) => (resp.result.0, resp.msg_id),
            _ => unreachable!("it was looked at"),
        }
    }

    /// Cuts the connection off.
    pub fn cut(self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}
