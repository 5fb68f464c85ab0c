//! The simulator's protocol over loopback: what load runs do not show.

use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinHandle;

use super::wire::SimulatorWire;
use super::{CounterSnapshot, Simulator, SimulatorOptions};
use crate::load::bind::{BindTarget, LoadBindRole, connect};
use smsc_smpp::codec::{Decoded, decode};
use smsc_smpp::{Body, CommandStatus, Leniency, Pdu, QuerySm, SubmitSm, encode_submit_sm, tag};

struct Operator {
    target: BindTarget,
    counters: std::sync::Arc<super::SimulatorCounters>,
    serving: JoinHandle<()>,
}

impl Operator {
    async fn start(options: SimulatorOptions) -> Self {
        let options = SimulatorOptions {
            listen: "127.0.0.1:0".to_owned(),
            ..options
        };
        let simulator = Simulator::bind(options).await.unwrap();
        Self {
            target: BindTarget {
                to: simulator.local_addr().to_string(),
                system_id: "test".to_owned(),
                password: "test".to_owned(),
            },
            counters: simulator.counters(),
            serving: tokio::spawn(simulator.run()),
        }
    }

    async fn bind(&self, role: LoadBindRole) -> SimulatorWire {
        connect(&self.target, role).await.unwrap()
    }

    fn counters(&self) -> CounterSnapshot {
        self.counters.snapshot()
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn message(registered_delivery: u8) -> SubmitSm {
    let mut message = SubmitSm {
        source_addr: Bytes::from_static(b"12345"),
        destination_addr: Bytes::from_static(b"447700900123"),
        registered_delivery,
        short_message: Bytes::from_static(b"ref-1 hello"),
        ..SubmitSm::default()
    };
    message.tlvs.push(tag::USER_MESSAGE_REFERENCE, &[0, 7]);
    message
}

async fn next(wire: &mut SimulatorWire) -> Pdu {
    loop {
        if let Some(frame) = wire.next_frame().unwrap() {
            match decode(&frame, &Leniency::strict()) {
                Decoded::Pdu(pdu) => return pdu,
                Decoded::Malformed(malformed) => panic!("{malformed:?}"),
            }
        }
        let received = tokio::time::timeout(Duration::from_secs(5), wire.receive()).await;
        assert!(received.unwrap().unwrap(), "closed");
    }
}

#[tokio::test]
async fn receipts_of_a_transmitter_wait_for_a_receiver_of_the_same_account() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let operator = Operator::start(SimulatorOptions {
        journal: Some(journal.clone()),
        ..SimulatorOptions::default()
    })
    .await;
    let mut transmitter = operator.bind(LoadBindRole::Transmitter).await;
    encode_submit_sm(&mut transmitter.output, 9, &message(1));
    encode_submit_sm(&mut transmitter.output, 10, &message(0));
    let answer = next(&mut transmitter).await;
    assert_eq!(answer.sequence, 9);
    let Body::SubmitSmResp(answer) = answer.body else {
        panic!("{answer:?}");
    };
    assert_eq!(next(&mut transmitter).await.sequence, 10);
    let mut receiver = operator.bind(LoadBindRole::Receiver).await;
    let Body::DeliverSm(receipt) = next(&mut receiver).await.body else {
        panic!("no receipt");
    };
    let id = receipt.tlvs.get_c_string(tag::RECEIPTED_MESSAGE_ID);
    assert_eq!(id, Some(answer.message_id.clone()));
    assert_eq!(
        operator.counters().receipts_sent,
        1,
        "only what asked for one"
    );

    // It was not acknowledged: the next receiver gets it again.
    drop(receiver);
    let mut receiver = operator.bind(LoadBindRole::Receiver).await;
    assert!(matches!(next(&mut receiver).await.body, Body::DeliverSm(_)));

    tokio::time::sleep(super::journal::FLUSH_EVERY * 3).await;
    let lines = std::fs::read_to_string(journal).unwrap();
    let columns: Vec<&str> = lines.lines().next().unwrap().split('\t').collect();
    assert_eq!(columns[0].as_bytes(), &answer.message_id[..]);
    assert_eq!(columns[1..3], ["447700900123", "ref-1 hello"]);
    assert_eq!(columns[4], "7");
    assert_eq!(lines.lines().count(), 2);
}

#[tokio::test]
async fn every_request_is_answered_in_the_right_state() {
    let operator = Operator::start(SimulatorOptions::default()).await;
    let mut receiver = operator.bind(LoadBindRole::Receiver).await;
    encode_submit_sm(&mut receiver.output, 5, &message(1));
    let query = Body::QuerySm(QuerySm::default());
    Pdu::request(6, query).encode(&mut receiver.output);
    Pdu::request(7, Body::EnquireLink).encode(&mut receiver.output);
    let unknown = Body::Unknown {
        command_id: smsc_smpp::CommandId(0x0001_0203),
        body: Bytes::from_static(b"x"),
    };
    Pdu::request(8, unknown).encode(&mut receiver.output);
    Pdu::request(9, Body::Unbind).encode(&mut receiver.output);
    let mut answers = Vec::new();
    for _ in 0..5 {
        let pdu = next(&mut receiver).await;
        answers.push((pdu.sequence, pdu.command_id().to_string(), pdu.status));
    }
    let expected = [
        (5, "submit_sm_resp", CommandStatus::ESME_RINVBNDSTS),
        (6, "query_sm_resp", CommandStatus::ESME_RINVCMDID),
        (7, "enquire_link_resp", CommandStatus::ESME_ROK),
        (8, "generic_nack", CommandStatus::ESME_RINVCMDID),
        (9, "unbind_resp", CommandStatus::ESME_ROK),
    ];
    assert_eq!(
        answers,
        expected.map(|(sequence, name, status)| (sequence, name.to_owned(), status))
    );
    assert!(
        !receiver.receive().await.unwrap(),
        "closed behind unbind_resp"
    );
}

#[tokio::test]
async fn a_deliver_sm_counts_as_a_message_and_broken_framing_ends_the_session() {
    let operator = Operator::start(SimulatorOptions::default()).await;
    let mut wire = operator.bind(LoadBindRole::Transceiver).await;
    Pdu::request(3, Body::DeliverSm(message(0))).encode(&mut wire.output);
    let Body::DeliverSmResp(answer) = next(&mut wire).await.body else {
        panic!("no answer");
    };
    assert!(!answer.message_id.is_empty());
    wire.output
        .extend_from_slice(&[0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 5]);
    let nack = next(&mut wire).await;
    assert_eq!((nack.body, nack.sequence), (Body::GenericNack, 5));
    assert!(!wire.receive().await.unwrap());
    let counters = operator.counters();
    assert_eq!((counters.accepted, counters.malformed), (1, 1));
}
