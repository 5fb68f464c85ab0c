//! China Telecom's gateway (SMGP): checks the proof of a login itself.

use smsc::carrier::fields::{Content, Raw};
use smsc::carrier::login::client;
use smsc::smgp::bodies::{Deliver, MessageResp, Submit};
use smsc::smgp::{Body, Report, Smgp, login_resp, status};

use super::{FakeGateway, Line, SECRET, SOURCE};

/// A MsgID that is neither text nor number.
pub fn msg_id(number: u8) -> [u8; 10] {
    [0, b' ', 0xFF, b':', 0x99, 0x12, 0x31, 0x23, 0x59, number]
}

// === impl FakeGateway ===

impl FakeGateway<Smgp> {
    /// A connection for these directions (LoginMode).
    pub fn accept(&self, mode: u8) -> Line<Smgp> {
        let (asked, line) = self.accept_any();
        assert_eq!(asked, mode);
        line
    }

    /// A connection and its LoginMode. Its login is answered with 21 if it is wrong.
    pub fn accept_any(&self) -> (u8, Line<Smgp>) {
        let (mut line, pdu) = self.accept_login();
        let Body::Login(login) = pdu.body else {
            unreachable!("it was looked at");
        };
        assert_eq!(login.client_version, 0x30);
        assert_eq!(login.client_id.0, SOURCE);
        let secret = SECRET.as_bytes();
        let right = client(SOURCE.as_bytes(), 7, secret, login.timestamp);
        let status = if login.authenticator_client.0 == right {
            status::OK
        } else {
            21
        };
        line.send(pdu.sequence, login_resp(&login, secret, status));
        (login.login_mode, line)
    }
}

// === impl Line ===

impl Line<Smgp> {
    /// The next Submit, with its sequence.
    pub fn submit(&mut self) -> (u32, Submit) {
        let pdu = self.expect("a Submit", |body| matches!(body, Body::Submit(_)));
        match pdu.body {
            Body::Submit(submit) => (pdu.sequence, *submit),
            _ => unreachable!("it was looked at"),
        }
    }

    pub fn answer(&mut self, sequence: u32, number: u8, status: u32) {
        let msg_id = Raw(msg_id(number));
        self.send(sequence, Body::SubmitResp(MessageResp { msg_id, status }));
    }

    /// The next Submit, taken under the MsgID with this number.
    pub fn take(&mut self, number: u8) -> Submit {
        let (sequence, submit) = self.submit();
        self.answer(sequence, number, status::OK);
        submit
    }

    /// Sends a report; does not wait for its answer.
    pub fn report(&mut self, number: u8, stat: &str, err: &str) {
        let report = Report {
            msg_id: msg_id(number),
            stat: stat.to_owned().into(),
            err: err.to_owned().into(),
            submit_date: "2611250931".into(),
            done_date: "2611250932".into(),
        };
        self.ask(Body::Deliver(Box::new(Deliver {
            msg_id: Raw(msg_id(100 + number)),
            is_report: 1,
            src_term_id: "13300000001".into(),
            dest_term_id: "10655".into(),
            msg_content: Content(report.encode()),
            ..Deliver::default()
        })));
    }

    /// The status in the next Deliver_Resp, and its MsgID.
    pub fn delivered(&mut self) -> (u32, [u8; 10]) {
        let fits = |body: &Body| matches!(body, Body::DeliverResp(_));
        match self.expect("a Deliver_Resp", fits).body {
            Body::DeliverResp(resp) => (resp.status, resp.msg_id.0),
            _ => unreachable!("it was looked at"),
        }
    }
}
