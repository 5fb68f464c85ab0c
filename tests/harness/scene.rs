//! One account, one operator played by the test, and an SMSC between them.

use bytes::Bytes;
use serde_json::Value;
use smsc::smpp::{Body, CommandId, CommandStatus, SubmitSm};

use super::{FakeOperator, Peer, Smsc, SmscBuilder, submit};

/// What most tests of operators' peculiarities need.
pub struct Scene {
    pub operator: FakeOperator,
    pub smsc: Smsc,
    /// The bind of the operator `up`.
    pub bind: Peer,
    /// A bind of the account `test`.
    pub esme: Peer,
}

// === impl Scene ===

impl Scene {
    /// With more keys of the operator, as TOML lines.
    pub fn new(keys: &str) -> Self {
        Self::with(keys, |builder| builder)
    }

    /// With more keys of the operator and any other configuration.
    pub fn with(keys: &str, more: impl FnOnce(SmscBuilder) -> SmscBuilder) -> Self {
        Self::of("", keys, more)
    }

    /// With more keys of the account, more keys of the operator and any other configuration.
    pub fn of(account: &str, keys: &str, more: impl FnOnce(SmscBuilder) -> SmscBuilder) -> Self {
        let operator = FakeOperator::listen();
        let builder = Smsc::new()
            .account_with("test", "test", account)
            .route("", "up");
        let smsc = more(builder)
            .operator_with("up", operator.address(), keys)
            .start();
        let bind = operator.accept_bind();
        smsc.wait_for_binds("up", 1);
        let esme = Peer::bind(smsc.smpp(), "test", "test");
        Self {
            operator,
            smsc,
            bind,
            esme,
        }
    }

    /// Kills the process and starts it again; both peers bind again.
    pub fn kill_and_start_again(&mut self) {
        self.smsc.kill();
        self.smsc.start_again();
        self.bind = self.operator.accept_bind();
        self.smsc.wait_for_binds("up", 1);
        self.esme = Peer::bind(self.smsc.smpp(), "test", "test");
    }

    /// Submits a message that requests a receipt.
    pub fn submit(&mut self) -> String {
        self.esme.submit(submit("447700900123", "hello"))
    }

    /// Submits a message, which the operator accepts under this id.
    pub fn submit_as(&mut self, theirs: &str) -> String {
        let id = self.submit();
        self.take(theirs);
        id
    }

    /// The next submit_sm, which the operator accepts under this id.
    pub fn take(&mut self, theirs: &str) -> SubmitSm {
        taken(&mut self.bind, theirs)
    }

    /// Refuses the next submit_sm.
    pub fn refuse(&mut self, status: CommandStatus) {
        let (sequence, _) = next_submit(&mut self.bind);
        super::answer(&mut self.bind, sequence, status, "");
    }

    /// Sends a minimal receipt, which must be accepted.
    pub fn report(&mut self, theirs: &str, stat: &str) {
        let receipt = SubmitSm {
            esm_class: 0x04,
            short_message: Bytes::from(format!("id:{theirs} stat:{stat} err:000")),
            ..submit("12345", "")
        };
        let status = send_receipt(&mut self.bind, receipt);
        assert_eq!(status, CommandStatus::ESME_ROK);
    }

    pub fn message(&self, id: &str) -> Value {
        self.smsc.admin().get(&format!("/v1/messages/{id}"))
    }

    /// The name of the status of every attempt.
    pub fn attempts(&self, id: &str) -> Vec<String> {
        let message = self.message(id);
        let history = message["history"].as_array().unwrap();
        let status = |attempt: &Value| attempt["status"].as_str().unwrap().to_owned();
        history.iter().map(status).collect()
    }

    /// The value of a metric; 0 before it was first counted.
    pub fn metric(&self, name: &str) -> f64 {
        self.smsc.admin().metric(name).unwrap_or(0.0)
    }
}

/// The next submit_sm on an operator's bind, with its sequence number.
pub fn next_submit(bind: &mut Peer) -> (u32, SubmitSm) {
    let pdu = bind.expect("a submit_sm", |pdu| matches!(pdu.body, Body::SubmitSm(_)));
    match pdu.body {
        Body::SubmitSm(submit) => (pdu.sequence, submit),
        _ => unreachable!("it was looked at"),
    }
}

/// The next submit_sm on an operator's bind, accepted under this id.
pub fn taken(bind: &mut Peer, id: &str) -> SubmitSm {
    let (sequence, submit) = next_submit(bind);
    super::accept(bind, sequence, id);
    submit
}

/// A deliver_sm that is marked as a receipt and has this text.
pub fn receipt(text: &str) -> SubmitSm {
    SubmitSm {
        esm_class: 0x04,
        registered_delivery: 0,
        short_message: Bytes::copy_from_slice(text.as_bytes()),
        ..submit("12345", "")
    }
}

/// Sends a receipt to the SMSC and returns the status of the response.
pub fn send_receipt(bind: &mut Peer, receipt: SubmitSm) -> CommandStatus {
    let sequence = bind.request(Body::DeliverSm(receipt));
    let answer = bind.answer_to(sequence);
    assert_eq!(answer.command_id(), CommandId::DELIVER_SM_RESP);
    answer.status
}
