//! Receipts wait until a receiver of their account is bound, over restarts and kills, and are spread
//! over its receivers; their content is that of SMPP 3.4 appendix B and §5.3.2.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::harness::{
    Peer, PeerError, Smsc, SmscBuilder, database, migrate, submit, submit_quietly, until,
};
use bytes::Bytes;
use smsc::smpp::{Body, CommandId, CommandStatus, SubmitSm, tag};

const MESSAGES: usize = 30;
/// Long enough for a receipt to arrive, if there were one.
const QUIET: Duration = Duration::from_millis(700);

/// An SMSC on which every message ends at once.
fn delivering() -> SmscBuilder {
    Smsc::new()
        .account("test", "test")
        .route("", "test:delivered")
}

fn bind_as(smsc: &Smsc, kind: fn(smsc::smpp::BindRequest) -> Body) -> Peer {
    let mut peer = Peer::connect(smsc.smpp());
    let answer = peer.bind_as(kind, "test", "test");
    assert_eq!(answer, CommandStatus::ESME_ROK);
    peer
}

/// Submits messages on a transmitter, which gets no receipts.
fn submit_some(smsc: &Smsc) -> HashSet<String> {
    let mut transmitter = bind_as(smsc, Body::BindTransmitter);
    let ids: HashSet<String> = (0..MESSAGES)
        .map(|number| transmitter.submit(submit(&format!("4477009{number:05}"), "hello")))
        .collect();
    for id in &ids {
        assert_eq!(smsc.wait_for_final(id)["state"], "DELIVERED");
    }
    assert_eq!(
        transmitter.next(QUIET),
        Err(PeerError::Silence),
        "a transmitter"
    );
    ids
}

fn id_of(receipt: &SubmitSm) -> String {
    let id = receipt
        .tlvs
        .get_c_string(tag::RECEIPTED_MESSAGE_ID)
        .unwrap();
    String::from_utf8(id.to_vec()).unwrap()
}

/// Takes as many receipts as there are messages, and checks that no more come.
fn take_all(receiver: &mut Peer) -> HashSet<String> {
    let told: HashSet<String> = (0..MESSAGES).map(|_| id_of(&receiver.deliver())).collect();
    assert_eq!(receiver.next(QUIET), Err(PeerError::Silence));
    told
}

#[test]
fn pain_04_sent_when_a_receiver_binds() {
    let smsc = delivering().start();
    let ids = submit_some(&smsc);
    let mut receiver = bind_as(&smsc, Body::BindReceiver);
    assert_eq!(take_all(&mut receiver), ids);
    for id in &ids {
        smsc.wait_until_told(id);
    }
    let mut later = bind_as(&smsc, Body::BindReceiver);
    assert_eq!(
        later.next(QUIET),
        Err(PeerError::Silence),
        "they were told once"
    );
}

#[test]
fn kept_over_a_restart() {
    let mut smsc = delivering().start();
    let ids = submit_some(&smsc);
    assert!(smsc.terminate().success());
    smsc.start_again();
    let mut receiver = bind_as(&smsc, Body::BindReceiver);
    assert_eq!(take_all(&mut receiver), ids);
}

#[test]
fn kept_over_a_kill() {
    let mut smsc = delivering().start();
    let ids = submit_some(&smsc);
    smsc.kill();
    smsc.start_again();
    let mut receiver = bind_as(&smsc, Body::BindReceiver);
    assert_eq!(take_all(&mut receiver), ids);
    for id in &ids {
        smsc.wait_until_told(id);
    }
    smsc.kill();
    drop(receiver);
    smsc.start_again();
    let mut receiver = bind_as(&smsc, Body::BindReceiver);
    assert_eq!(
        receiver.next(QUIET),
        Err(PeerError::Silence),
        "told before the kill"
    );
    smsc.kill();
    smsc.fsck();
}

#[test]
fn an_unacknowledged_receipt_is_sent_again() {
    let smsc = delivering().start();
    let mut transmitter = bind_as(&smsc, Body::BindTransmitter);
    let id = transmitter.submit(submit("447700900123", "hello"));
    let mut receiver = bind_as(&smsc, Body::BindReceiver);
    receiver.expect("a receipt", |pdu| matches!(pdu.body, Body::DeliverSm(_)));
    drop(receiver);
    let mut receiver = bind_as(&smsc, Body::BindReceiver);
    assert_eq!(id_of(&receiver.deliver()), id);
}

#[test]
fn pain_05_spread_over_receivers_within_their_windows() {
    let smsc = Smsc::new()
        .account_with("test", "test", "window = 10")
        .route("", "test:delivered")
        .start();
    let ids = submit_some(&smsc);
    // Without acknowledgements each receiver gets one window, no more.
    let mut receivers: Vec<Peer> = (0..3).map(|_| bind_as(&smsc, Body::BindReceiver)).collect();
    let mut told = HashSet::new();
    let mut sequences = Vec::new();
    for receiver in &mut receivers {
        let mut own = Vec::new();
        for _ in 0..10 {
            let pdu = receiver.expect("a receipt", |pdu| matches!(pdu.body, Body::DeliverSm(_)));
            let Body::DeliverSm(receipt) = pdu.body else {
                unreachable!("just matched")
            };
            told.insert(id_of(&receipt));
            own.push(pdu.sequence);
        }
        assert_eq!(
            receiver.next(QUIET),
            Err(PeerError::Silence),
            "one window each"
        );
        sequences.push(own);
    }
    assert_eq!(told, ids);
    for (receiver, own) in receivers.iter_mut().zip(sequences) {
        own.into_iter()
            .for_each(|sequence| receiver.acknowledge(CommandId::DELIVER_SM_RESP, sequence));
    }
    for id in &ids {
        smsc.wait_until_told(id);
    }
}

#[test]
fn what_a_receipt_says() {
    let smsc = delivering().route("44", "test:failed").start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let message = SubmitSm {
        source_addr_ton: 5,
        source_addr_npi: 0,
        source_addr: Bytes::from_static(b"ACME"),
        ..submit("15550001", "a text of more than twenty octets")
    };
    let mut message_with_reference = message.clone();
    message_with_reference
        .tlvs
        .push(tag::USER_MESSAGE_REFERENCE, &[0x12, 0x34]);
    let id = esme.submit(message_with_reference);
    let receipt = esme.deliver();
    assert_eq!(receipt.esm_class, 0x04);
    assert_eq!(receipt.registered_delivery, 0);
    assert_eq!(receipt.source_addr, "15550001");
    assert_eq!((receipt.source_addr_ton, receipt.source_addr_npi), (1, 1));
    assert_eq!(receipt.destination_addr, "ACME");
    assert_eq!((receipt.dest_addr_ton, receipt.dest_addr_npi), (5, 0));
    assert_eq!(id_of(&receipt), id);
    assert_eq!(receipt.tlvs.get_uint(tag::MESSAGE_STATE), Some(2));
    assert_eq!(
        receipt.tlvs.get(tag::USER_MESSAGE_REFERENCE),
        Some(&[0x12, 0x34][..])
    );
    let text = String::from_utf8(receipt.short_message.to_vec()).unwrap();
    let (head, rest) = text.split_once(" submit date:").unwrap();
    assert_eq!(head, format!("id:{id} sub:001 dlvrd:001"));
    let (submitted, rest) = rest.split_once(" done date:").unwrap();
    let (done, rest) = rest.split_once(" stat:").unwrap();
    assert!(submitted <= done, "{text}");
    assert!(
        [submitted, done]
            .iter()
            .all(|date| { date.len() == 10 && date.bytes().all(|digit| digit.is_ascii_digit()) })
    );
    assert_eq!(rest, "DELIVRD err:000 text:a text of more than ");

    let id = esme.submit(submit("447700900123", "hello"));
    let receipt = esme.deliver();
    assert_eq!(id_of(&receipt), id);
    assert_eq!(receipt.tlvs.get_uint(tag::MESSAGE_STATE), Some(5));
    let text = String::from_utf8(receipt.short_message.to_vec()).unwrap();
    assert!(
        text.contains(" dlvrd:000 ") && text.contains(" stat:UNDELIV "),
        "{text}"
    );
}

/// An SMSC with an account that only submits, whose receipts wait for this time at most.
fn impatient(time: &str, more: impl FnOnce(SmscBuilder) -> SmscBuilder) -> Smsc {
    more(delivering().toml(&format!("[validity]\nreceipts = {time:?}"))).start()
}

/// Every receipt is given up, as metrics and timelines show, and is never delivered.
fn given_up(smsc: &mut Smsc, ids: &HashSet<String>) {
    let admin = smsc.admin();
    for id in ids {
        let message = until("the receipt to be given up", || {
            let message = admin.get(&format!("/v1/messages/{id}"));
            (message["final"]["receipt_given_up"] == true).then_some(message)
        });
        assert_eq!(message["state"], "DELIVERED");
        assert_eq!(message["final"]["receipt_acknowledged"], false);
        let change = &message["changes"][0];
        assert_eq!(change["kind"], "give_up", "{message}");
        assert_eq!(change["by"], "validity.receipts");
    }
    until("nothing to wait", || {
        let queue = admin.get("/v1/queues/account:test");
        (queue["waiting"] == 0).then_some(())
    });
    let count = admin.metric("smsc_receipts_given_up_total");
    assert_eq!(count, Some(ids.len() as f64));
    smsc.kill();
    smsc.start_again();
    let mut receiver = bind_as(smsc, Body::BindReceiver);
    assert_eq!(receiver.next(QUIET), Err(PeerError::Silence));
}

#[test]
fn given_up_when_nobody_takes_them_in_time() {
    let mut smsc = impatient("2s", |builder| builder);
    let ids = submit_some(&smsc);
    given_up(&mut smsc, &ids);
    smsc.kill();
    smsc.fsck();
}

#[test]
fn given_up_when_their_time_ends_while_nothing_runs() {
    // None of them ends before the kill.
    let mut smsc = impatient("10s", |builder| builder);
    let ids = submit_some(&smsc);
    smsc.kill();
    let ended = Instant::now();
    until("the end of their time", || {
        (ended.elapsed() > Duration::from_secs(12)).then_some(())
    });
    smsc.start_again();
    given_up(&mut smsc, &ids);
}

#[test]
fn given_up_by_a_cluster() {
    let database = database();
    migrate(database.url());
    let store = format!("[postgres]\nurl = {:?}", database.url());
    let mut smsc = impatient("2s", |builder| builder.toml(&store));
    let ids = submit_some(&smsc);
    given_up(&mut smsc, &ids);
}

#[test]
fn nobody_is_told_who_did_not_ask() {
    let smsc = delivering().start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit_quietly("447700900123", "hello"));
    smsc.wait_for_final(&id);
    assert_eq!(esme.next(QUIET), Err(PeerError::Silence));
}
