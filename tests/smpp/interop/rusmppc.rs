//! rusmppc as an ESME: an independent codec and session of SMPP 5.0. It plays the cases, and handles
//! frequent enquire_link while it submits.

use std::str::FromStr;
use std::time::Duration;

use crate::harness::{PATIENCE, Simulator, Smsc};
use futures_util::StreamExt as _;
use futures_util::stream::LocalBoxStream;
use rusmpp::pdus::{
    BindReceiver, BindTransceiver, BindTransmitter, DeliverSm, DeliverSmResp, SubmitSm,
};
use rusmpp::tlvs::MessageSubmissionRequestTlvValue;
use rusmpp::types::AnyOctetString;
use rusmpp::types::{COctetString, OctetString};
use rusmpp::values::{EsmClass, MessagePayload, RegisteredDelivery};
use rusmpp::{CommandStatus, Pdu};
use rusmppc::{Client, ConnectionBuilder, Event};
use serde_json::{Value, json};

#[tokio::test]
async fn rusmppc_submits_and_is_told_how_it_ended() {
    let operator = Simulator::new().start();
    let smsc = Smsc::new().relaying_to(operator.address()).start();

    let (client, events) = ConnectionBuilder::new()
        // Often, so that the SMSC must answer in time: a missing answer is an error event.
        .enquire_link_interval(Duration::from_millis(50))
        .enquire_link_response_timeout(PATIENCE)
        .response_timeout(PATIENCE)
        .connect(format!("smpp://{}", smsc.smpp()))
        .await
        .unwrap();
    let mut deliveries = Box::pin(events.filter_map(|event| async move {
        match event {
            Event::Incoming(command) => match command.pdu() {
                Some(Pdu::DeliverSm(deliver)) => Some((command.sequence_number(), deliver.clone())),
                _ => None,
            },
            Event::Error(error) => panic!("rusmppc: {error}"),
        }
    }));
    client
        .bind_transceiver(
            BindTransceiver::builder()
                .system_id(COctetString::from_str("test").unwrap())
                .password(COctetString::from_str("test").unwrap())
                .build(),
        )
        .await
        .unwrap();

    let mut ids = Vec::new();
    for number in 0..20 {
        let answer = client
            .submit_sm(message(&format!("rusmppc {number}")))
            .await
            .unwrap();
        ids.push(answer.message_id().to_string());
    }
    client.enquire_link().await.unwrap();

    for _ in 0..ids.len() {
        let next = tokio::time::timeout(PATIENCE, deliveries.next()).await;
        let (sequence, receipt) = next.expect("a receipt in time").expect("an open session");
        client
            .deliver_sm_resp(sequence, DeliverSmResp::default())
            .await
            .unwrap();
        let id = told(&receipt);
        let at = ids.iter().position(|known| *known == id);
        ids.remove(at.unwrap_or_else(|| panic!("an unknown or second receipt of {id}")));
    }
    client.unbind().await.unwrap();
    // The SMSC closes the connection after unbind_resp.
    tokio::time::timeout(PATIENCE, client.closed())
        .await
        .expect("an end in time");

    let refused = refused_bind(&smsc).await;
    assert_eq!(refused, CommandStatus::EsmeRinvpaswd);
    assert_eq!(operator.wait_for(20).len(), 20);
    smsc.assert_no_panic();
}

fn message(text: &str) -> SubmitSm {
    SubmitSm::builder()
        .source_addr(COctetString::from_str("12345").unwrap())
        .destination_addr(COctetString::from_str("447700900123").unwrap())
        .registered_delivery(RegisteredDelivery::request_all())
        .short_message(OctetString::from_str(text).unwrap())
        .build()
}

/// The id that a receipt of a delivered message names.
fn told(receipt: &DeliverSm) -> String {
    let text = receipt.short_message().to_string();
    assert!(text.contains("stat:DELIVRD"), "{text}");
    let id = text
        .strip_prefix("id:")
        .and_then(|rest| rest.split(' ').next());
    id.unwrap_or_else(|| panic!("no id in {text}")).to_owned()
}

async fn refused_bind(smsc: &Smsc) -> CommandStatus {
    let (client, _events) = ConnectionBuilder::new()
        .response_timeout(PATIENCE)
        .connect(format!("smpp://{}", smsc.smpp()))
        .await
        .unwrap();
    let answer = client
        .bind_transceiver(
            BindTransceiver::builder()
                .system_id(COctetString::from_str("test").unwrap())
                .password(COctetString::from_str("wrong").unwrap())
                .build(),
        )
        .await;
    match answer {
        Err(rusmppc::error::Error::UnexpectedResponse { response }) => response.status(),
        other => panic!("not a refusal: {other:?}"),
    }
}

/// What the sessions of the cases have received.
#[derive(Default)]
struct Heard {
    receipts: Vec<Value>,
    mo: Vec<Value>,
}

impl Heard {
    fn take(&mut self, deliver: &DeliverSm) {
        let text = deliver.short_message().to_string();
        if text.contains(" stat:") {
            self.receipts
                .push(json!({ "id": told(deliver), "stat": "DELIVRD" }));
        } else {
            let source = deliver.source_addr.to_string();
            self.mo.push(json!({ "source": source, "text": text }));
        }
    }

    fn is_told(&self, ids: &[String]) -> bool {
        let told = |id: &String| self.receipts.iter().any(|one| one["id"] == **id);
        ids.iter().all(told)
    }
}

/// A bound session, and its events.
struct Session {
    client: Client,
    events: LocalBoxStream<'static, Event>,
}

impl Session {
    /// Binds as `kind`; panics if that is refused.
    async fn bound(smsc: &Smsc, kind: &str) -> Self {
        let (client, events) = ConnectionBuilder::new()
            .response_timeout(PATIENCE)
            .connect(format!("smpp://{}", smsc.smpp()))
            .await
            .unwrap();
        let word = || COctetString::from_str("test").unwrap();
        match kind {
            "transmitter" => {
                let bind = BindTransmitter::builder().system_id(word());
                let bind = bind.password(COctetString::from_str("test").unwrap());
                client.bind_transmitter(bind.build()).await.map(drop)
            }
            "receiver" => {
                let bind = BindReceiver::builder().system_id(word());
                let bind = bind.password(COctetString::from_str("test").unwrap());
                client.bind_receiver(bind.build()).await.map(drop)
            }
            _ => {
                let bind = BindTransceiver::builder().system_id(word());
                let bind = bind.password(COctetString::from_str("test").unwrap());
                client.bind_transceiver(bind.build()).await.map(drop)
            }
        }
        .unwrap();
        Self {
            client,
            events: events.boxed_local(),
        }
    }

    async fn submit(&self, message: SubmitSm) -> String {
        let answer = self.client.submit_sm(message).await.unwrap();
        answer.message_id().to_string()
    }

    async fn hear(&mut self, heard: &mut Heard, done: impl Fn(&Heard) -> bool) {
        while !done(heard) {
            let next = tokio::time::timeout(PATIENCE, self.events.next()).await;
            match next
                .expect("a deliver_sm in time")
                .expect("an open session")
            {
                Event::Incoming(command) => {
                    let Some(Pdu::DeliverSm(deliver)) = command.pdu() else {
                        continue;
                    };
                    heard.take(deliver);
                    let sequence = command.sequence_number();
                    let answer = DeliverSmResp::default();
                    self.client.deliver_sm_resp(sequence, answer).await.unwrap();
                }
                Event::Error(error) => panic!("rusmppc: {error}"),
            }
        }
    }

    /// The SMSC closes the connection after unbind_resp.
    async fn unbind(self) {
        self.client.unbind().await.unwrap();
        let closed = tokio::time::timeout(PATIENCE, self.client.closed());
        closed.await.expect("an end in time");
    }
}

/// The cases.
pub fn play(smsc: &Smsc) -> Value {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        for kind in ["transmitter", "receiver"] {
            Session::bound(smsc, kind).await.unbind().await;
        }
        let mut heard = Heard::default();
        let mut session = Session::bound(smsc, "transceiver").await;
        let plain = session.submit(message("hello rusmppc")).await;
        let text = "0123456789".repeat(30);
        let mut payload = message("");
        let octets = AnyOctetString::from_slice(text.as_bytes());
        payload.push_tlv(MessageSubmissionRequestTlvValue::MessagePayload(
            MessagePayload::new(octets),
        ));
        let mut long = vec![session.submit(payload).await];
        for (number, part) in [&text[..150], &text[150..]].into_iter().enumerate() {
            let header = [5, 0, 3, 7, 2, number as u8 + 1];
            let mut whole = message("");
            whole.esm_class = EsmClass::from(0x40);
            whole.set_short_message(
                OctetString::from_vec([&header, part.as_bytes()].concat()).unwrap(),
            );
            long.push(session.submit(whole).await);
        }
        let first: Vec<String> = [&plain].into_iter().chain(&long).cloned().collect();
        let all = |heard: &Heard| !heard.mo.is_empty() && heard.is_told(&first);
        session.hear(&mut heard, all).await;

        // The connection is dropped without unbind; the receipt comes on the next one.
        let last = session.submit(message("before the drop")).await;
        session.client.close().await.unwrap();
        let mut session = Session::bound(smsc, "transceiver").await;
        let last_told = |heard: &Heard| heard.is_told(std::slice::from_ref(&last));
        session.hear(&mut heard, last_told).await;
        session.unbind().await;
        json!({
            // Each was accepted: rusmppc reports a refusal as an error.
            "binds": { "transmitter": 0, "receiver": 0, "transceiver": 0 },
            "submit": plain,
            "messages": 2 + long.len(),
            "long": long,
            "receipts": heard.receipts,
            "mo": heard.mo,
            "reconnect": last,
            "unbind": 0,
        })
    })
}
