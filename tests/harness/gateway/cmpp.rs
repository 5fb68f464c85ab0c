//! China Mobile's gateway (CMPP): checks the proof of a login itself.

use bytes::Bytes;
use smsc::carrier::fields::{Content, Varying, Widened};
use smsc::cmpp::bodies::{Deliver, MessageResp, Submit};
use smsc::cmpp::{Body, Cmpp, Report, proof, status};

use super::{FakeGateway, Line, SECRET, SOURCE};

// === impl FakeGateway ===

impl FakeGateway<Cmpp> {
    /// A connection, and its login, which is answered with this status if it is right, and else with 3.
    pub fn accept(&self, status: u32) -> Line<Cmpp> {
        let (mut line, login) = self.accept_login();
        let Body::Connect(connect) = login.body else {
            unreachable!("it was looked at");
        };
        assert_eq!(connect.version, self.protocol as u8);
        assert_eq!(connect.source_addr.0, SOURCE);
        let right = proof(SOURCE.as_bytes(), SECRET.as_bytes(), connect.timestamp);
        let status = if connect.authenticator_source == right {
            status
        } else {
            3
        };
        let resp = self
            .protocol
            .connect_resp(&connect, SECRET.as_bytes(), status);
        line.send(login.sequence, resp);
        line
    }
}

// === impl Line ===

impl Line<Cmpp> {
    /// The next CMPP_SUBMIT, with its sequence.
    pub fn submit(&mut self) -> (u32, Submit) {
        let pdu = self.expect("a CMPP_SUBMIT", |body| matches!(body, Body::Submit(_)));
        match pdu.body {
            Body::Submit(submit) => (pdu.sequence, *submit),
            _ => unreachable!("it was looked at"),
        }
    }

    pub fn answer(&mut self, sequence: u32, msg_id: u64, result: u32) {
        let result = Widened(result);
        self.send(sequence, Body::SubmitResp(MessageResp { msg_id, result }));
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
            msg_content: Content(report.encode(self.protocol).unwrap()),
            ..Deliver::default()
        });
    }

    pub fn deliver(&mut self, deliver: Deliver) {
        self.ask(Body::Deliver(Box::new(deliver)));
    }

    /// The result in the next CMPP_DELIVER_RESP, and its Msg_Id.
    pub fn delivered(&mut self) -> (u32, u64) {
        let fits = |body: &Body| matches!(body, Body::DeliverResp(_));
        match self.expect("a CMPP_DELIVER_RESP", fits).body {
            Body::DeliverResp(resp) => (resp.result.0, resp.msg_id),
            _ => unreachable!("it was looked at"),
        }
    }
}
