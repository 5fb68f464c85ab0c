//! China Unicom's gateway (SGIP): takes messages on the connections of the SMSC, and makes one to it for the rest.

use std::net::{SocketAddr, TcpStream};

use smsc::carrier::fields::Content;
use smsc::sgip::bodies::{Bind, Deliver, Report, ResultResp, Submit};
use smsc::sgip::{Body, Sequence, Sgip, Version, status};

use super::{FakeGateway, Line, SECRET, SOURCE};

/// The node that the SMSC is configured with.
pub const NODE: u32 = 3_010_012_345;

/// The gateway's own.
pub const SGIP: Sgip = Sgip {
    version: Version::V12,
    node: 101_001,
    time: 1_120_203_230,
};

// === impl FakeGateway ===

impl FakeGateway<Sgip> {
    /// A connection of type 1, and its login, which is answered with 1 if it is wrong.
    pub fn accept(&self) -> Line<Sgip> {
        let (mut line, pdu) = self.accept_login();
        let Body::Bind(bind) = pdu.body else {
            unreachable!("it was looked at");
        };
        assert_eq!((bind.login_type, pdu.sequence.node), (1, NODE));
        assert_eq!(bind.login_name.0, SOURCE);
        let result = if bind.login_password.0 == SECRET {
            status::OK
        } else {
            status::LOGIN
        };
        line.send(pdu.sequence, Body::BindResp(ResultResp::of(result)));
        line
    }
}

// === impl Line ===

impl Line<Sgip> {
    /// A connection of type 2 to the SMSC, and the result of its login.
    pub fn knock(address: SocketAddr, name: &str, password: &str) -> (Self, u8) {
        let socket = TcpStream::connect(address).unwrap();
        let mut line = Self::over(socket, SGIP);
        line.ask(Body::Bind(Bind {
            login_type: 2,
            login_name: name.into(),
            login_password: password.into(),
            ..Bind::default()
        }));
        let pdu = line.expect("a Bind_Resp", |body| matches!(body, Body::BindResp(_)));
        match pdu.body {
            Body::BindResp(resp) => (line, resp.result),
            _ => unreachable!("it was looked at"),
        }
    }

    /// A connection of type 2 that is let in.
    pub fn enter(address: SocketAddr) -> Self {
        let (line, result) = Self::knock(address, SOURCE, SECRET);
        assert_eq!(result, status::OK);
        line
    }

    /// The next Submit, with its sequence.
    pub fn submit(&mut self) -> (Sequence, Submit) {
        let pdu = self.expect("a Submit", |body| matches!(body, Body::Submit(_)));
        match pdu.body {
            Body::Submit(submit) => (pdu.sequence, *submit),
            _ => unreachable!("it was looked at"),
        }
    }

    pub fn answer(&mut self, sequence: Sequence, result: u8) {
        self.send(sequence, Body::SubmitResp(ResultResp::of(result)));
    }

    /// The next Submit, taken.
    pub fn take(&mut self) -> (Sequence, Submit) {
        let (sequence, submit) = self.submit();
        self.answer(sequence, status::OK);
        (sequence, submit)
    }

    /// Sends a report; does not wait for its answer.
    pub fn report(&mut self, of: Sequence, number: &str, state: u8, error_code: u8) {
        self.ask(Body::Report(Report {
            submit_node: of.node,
            submit_time: of.time,
            submit_counter: of.counter,
            user_number: number.into(),
            state,
            error_code,
            ..Report::default()
        }));
    }

    pub fn deliver(&mut self, from: &str, to: &str, coding: u8, octets: &[u8]) {
        self.ask(Body::Deliver(Box::new(Deliver {
            user_number: from.into(),
            sp_number: to.into(),
            message_coding: coding,
            message_content: Content(octets.to_vec().into()),
            ..Deliver::default()
        })));
    }

    /// The result in the next response to a Deliver or a Report.
    pub fn taken(&mut self) -> u8 {
        let fits = |body: &Body| matches!(body, Body::DeliverResp(_) | Body::ReportResp(_));
        match self.expect("a response", fits).body {
            Body::DeliverResp(resp) | Body::ReportResp(resp) => resp.result,
            _ => unreachable!("it was looked at"),
        }
    }
}
