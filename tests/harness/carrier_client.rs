//! A client that speaks CMPP over a blocking socket, and does exactly what the test says: the other side of
//! [`super::gateway`], with the same connection.

use std::net::{SocketAddr, TcpStream};

use bytes::Bytes;
use smsc::carrier::fields::{Content, Recipients, Widened};
use smsc::cmpp::bodies::{Cancel, Deliver, MessageResp, Query, QueryResp, Submit};
use smsc::cmpp::{Body, Cmpp, Report};

use super::gateway::Line;
use super::{SmscBuilder, free_port};

/// The account of a client in every test.
pub const SOURCE: &str = "900001";
pub const SECRET: &str = "a shared secret";
/// Its number, and one of a handset.
pub const SHORT_CODE: &str = "10655";
pub const NUMBER: &str = "8613800138000";
/// MMDDhhmmss of the logins.
const TIMESTAMP: u32 = 1_126_003_159;

/// A logged in client.
pub struct CarrierClient {
    pub line: Line<Cmpp>,
    version: Cmpp,
}

/// A free address for a listener.
pub fn free_listener() -> SocketAddr {
    ([127, 0, 0, 1], free_port()).into()
}

/// The account of [`SOURCE`], with more keys, and a listener for it at this address.
pub fn with_client(builder: SmscBuilder, address: SocketAddr, keys: &str) -> SmscBuilder {
    let listener = format!("[[listener]]\nlisten = \"{address}\"\nprotocol = \"cmpp\"");
    let keys = format!("carrier_secret = {SECRET:?}\naddresses = [{SHORT_CODE:?}]\n{keys}");
    builder
        .toml(&listener)
        .account_with(SOURCE, "not for CMPP", &keys)
}

/// A message that asks for a report.
pub fn message(to: &[&str], format: u8, content: &[u8]) -> Submit {
    Submit {
        pk_total: 1,
        pk_number: 1,
        registered_delivery: 1,
        service_id: "SVC".into(),
        msg_fmt: format,
        msg_src: SOURCE.into(),
        fee_type: "01".into(),
        fee_code: "0".into(),
        src_id: SHORT_CODE.into(),
        dest_terminal_id: Recipients(
            to.iter()
                .map(|to| Bytes::copy_from_slice(to.as_bytes()))
                .collect(),
        ),
        msg_content: Content(Bytes::copy_from_slice(content)),
        ..Submit::default()
    }
}

/// Logs in; the status of the response, and the connection.
pub fn log_in(address: SocketAddr, version: Cmpp, source: &str, secret: &str) -> (u32, Line<Cmpp>) {
    let mut line = Line::over(TcpStream::connect(address).unwrap(), version);
    let login = version.connect(source, secret.as_bytes(), TIMESTAMP);
    line.send(1, login.clone());
    let fits = |body: &Body| matches!(body, Body::ConnectResp(_));
    let pdu = line.expect("a CMPP_CONNECT_RESP", fits);
    let Body::ConnectResp(resp) = pdu.body else {
        unreachable!("it was looked at");
    };
    let Body::Connect(connect) = login else {
        unreachable!("a login is one");
    };
    if resp.status.0 == 0 {
        let right = version.connect_resp(&connect, secret.as_bytes(), 0);
        assert_eq!(
            Body::ConnectResp(resp.clone()),
            right,
            "the smsc proves itself"
        );
    } else {
        let nothing = [0; 16];
        assert_eq!(
            resp.authenticator_ismg.0, nothing,
            "a refusal tells nothing about the secret"
        );
    }
    assert_eq!(pdu.sequence, 1);
    (resp.status.0, line)
}

// === impl CarrierClient ===

impl CarrierClient {
    pub fn log_in(address: SocketAddr, version: Cmpp) -> Self {
        let (status, line) = log_in(address, version, SOURCE, SECRET);
        assert_eq!(status, 0, "the login is accepted");
        Self { line, version }
    }

    /// Sends a request; its sequence.
    pub fn request(&mut self, body: Body) -> u32 {
        self.line.ask(body)
    }

    /// The response to a CMPP_SUBMIT: Result and Msg_Id.
    pub fn answer_to(&mut self, sequence: u32) -> (u32, u64) {
        let pdu = self.line.expect_of("a CMPP_SUBMIT_RESP", |pdu| {
            pdu.sequence == sequence && matches!(pdu.body, Body::SubmitResp(_))
        });
        let Body::SubmitResp(MessageResp { msg_id, result }) = pdu.body else {
            unreachable!("it was looked at");
        };
        (result.0, msg_id)
    }

    /// Submits, which must be accepted; the Msg_Id.
    pub fn submit(&mut self, submit: Submit) -> u64 {
        let sequence = self.request(Body::Submit(Box::new(submit)));
        let (result, msg_id) = self.answer_to(sequence);
        assert_eq!(result, 0, "the message is accepted");
        assert_ne!(msg_id, 0);
        msg_id
    }

    /// Submits, which must be refused; the Result.
    pub fn refused(&mut self, submit: Submit) -> u32 {
        let sequence = self.request(Body::Submit(Box::new(submit)));
        let (result, msg_id) = self.answer_to(sequence);
        assert_eq!(msg_id, 0);
        result
    }

    /// The next CMPP_DELIVER with its sequence, not answered.
    pub fn take(&mut self) -> (u32, Deliver) {
        let fits = |body: &Body| matches!(body, Body::Deliver(_));
        let pdu = self.line.expect("a CMPP_DELIVER", fits);
        match pdu.body {
            Body::Deliver(deliver) => (pdu.sequence, *deliver),
            _ => unreachable!("it was looked at"),
        }
    }

    pub fn answer(&mut self, sequence: u32, msg_id: u64, result: u32) {
        let result = Widened(result);
        let resp = MessageResp { msg_id, result };
        self.line.send(sequence, Body::DeliverResp(resp));
    }

    /// The next CMPP_DELIVER, which is taken.
    pub fn deliver(&mut self) -> Deliver {
        let (sequence, deliver) = self.take();
        self.answer(sequence, deliver.msg_id, 0);
        deliver
    }

    /// What the next CMPP_DELIVER reports.
    pub fn report(&mut self) -> Report {
        let deliver = self.deliver();
        self.report_in(&deliver)
    }

    pub fn report_in(&self, deliver: &Deliver) -> Report {
        assert_eq!(deliver.registered_delivery, 1, "{deliver:?}");
        Report::decode(&deliver.msg_content.0, self.version).unwrap()
    }

    /// Success_Id of a CMPP_CANCEL.
    pub fn cancel(&mut self, msg_id: u64) -> u32 {
        self.request(Body::Cancel(Cancel { msg_id }));
        let fits = |body: &Body| matches!(body, Body::CancelResp(_));
        match self.line.expect("a CMPP_CANCEL_RESP", fits).body {
            Body::CancelResp(resp) => resp.success_id.0,
            _ => unreachable!("it was looked at"),
        }
    }

    pub fn query(&mut self, day: &str) -> QueryResp {
        self.request(Body::Query(Query {
            time: day.into(),
            ..Query::default()
        }));
        let fits = |body: &Body| matches!(body, Body::QueryResp(_));
        match self.line.expect("a CMPP_QUERY_RESP", fits).body {
            Body::QueryResp(resp) => resp,
            _ => unreachable!("it was looked at"),
        }
    }
}
