//! rusmppc as a second ESME: another codec and another session, of SMPP 5.0, on the other side.

mod harness;

use std::str::FromStr;
use std::time::Duration;

use futures_util::StreamExt as _;
use harness::{PATIENCE, Simulator, Smsc};
use rusmpp::pdus::{BindTransceiver, DeliverSm, DeliverSmResp, SubmitSm};
use rusmpp::types::{COctetString, OctetString};
use rusmpp::values::RegisteredDelivery;
use rusmpp::{CommandStatus, Pdu};
use rusmppc::{ConnectionBuilder, Event};

#[tokio::test]
async fn rusmppc_submits_and_is_told_how_it_ended() {
    let operator = Simulator::new().start();
    let smsc = Smsc::new()
        .account("test", "test")
        .operator("up", operator.address())
        .route("", "up")
        .start();

    let (client, events) = ConnectionBuilder::new()
        // Often, so that our answer to it is seen too: none in time is an error event.
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
    // We close the connection after unbind_resp.
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
