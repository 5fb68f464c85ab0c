//! Long messages on three nodes with one store: parts that arrive on different nodes are assembled
//! once, even if a node dies while they wait, and the receipts of parts become one.

use std::collections::HashMap;

use crate::harness::{Cluster, ClusterBuilder, FakeOperator, Peer, accept, stat_of, submit};
use crate::long_messages::texts::{self, part_of, read, whole_of};
use bytes::Bytes;
use smsc::smpp::{Body, CommandStatus, SubmitSm};

const ENTRY: usize = 0;
const NUMBERS: u32 = 8;

/// ESMEs connect to the first node, operators and queues are on the other two.
fn cluster(operator: &FakeOperator, long_messages: &str) -> ClusterBuilder {
    let address = operator.address();
    let keys = format!("window = 50\nlong_messages = \"{long_messages}\"");
    Cluster::of(3)
        .roles(ENTRY, &["smpp", "http"])
        .roles(1, &["delivery", "http", "janitor"])
        .roles(2, &["delivery", "http", "janitor"])
        .each(move |node| {
            node.account_with("test", "test", "window = 50")
                .operator_with("up", address, &keys)
                .route("", "up")
        })
}

fn number(index: u32) -> String {
    format!("4477009{index:05}")
}

/// Three parts for one subscriber; the text contains the index.
fn parts(index: u32) -> Vec<SubmitSm> {
    (1..=3u8)
        .map(|part| {
            let mut octets = vec![5, 0, 3, 42, 3, part];
            octets.extend(format!("<{index}:{part}>").bytes());
            SubmitSm {
                esm_class: 0x40,
                short_message: octets.into(),
                ..submit(&number(index), "")
            }
        })
        .collect()
}

fn take(bind: &mut Peer, id: &str) -> SubmitSm {
    let pdu = bind.expect("a submit_sm", |pdu| matches!(pdu.body, Body::SubmitSm(_)));
    accept(bind, pdu.sequence, id);
    match pdu.body {
        Body::SubmitSm(submit) => submit,
        _ => unreachable!("just matched"),
    }
}

fn report(bind: &mut Peer, id: &str) {
    let text = format!(
        "id:{id} sub:001 dlvrd:001 submit date:2601010000 done date:2601010000 stat:DELIVRD err:000 text:"
    );
    let sequence = bind.request(Body::DeliverSm(SubmitSm {
        esm_class: 0x04,
        short_message: Bytes::from(text),
        ..SubmitSm::default()
    }));
    assert_eq!(bind.answer_to(sequence).status, CommandStatus::ESME_ROK);
}

#[test]
fn parts_that_wait_on_a_node_that_dies_are_put_together_on_another() {
    let operator = FakeOperator::listen();
    let mut cluster = cluster(&operator, "payload").short_lease().start();
    let mut bind = operator.accept_bind();
    let mut esme = Peer::bind(cluster.nodes[ENTRY].smpp(), "test", "test");
    let mut ids = Vec::new();
    for part in [2, 0] {
        ids.extend((0..NUMBERS).map(|index| esme.submit(parts(index)[part].clone())));
    }
    // Whether or not this node has the bind, it owns half of the queue's partitions.
    cluster.nodes[1].kill();
    let mut other = None;
    ids.extend((0..NUMBERS).map(|index| esme.submit(parts(index)[1].clone())));
    let mut wholes = HashMap::new();
    for taken in 0..NUMBERS {
        let theirs = format!("w{taken}");
        let open = |bind: &mut Peer| bind.try_expect(|pdu| matches!(pdu.body, Body::SubmitSm(_)));
        let pdu = match open(other.as_mut().unwrap_or(&mut bind)) {
            Ok(pdu) => pdu,
            Err(_) => open(other.insert(operator.accept_bind())).expect("a submit_sm"),
        };
        let bind = other.as_mut().unwrap_or(&mut bind);
        accept(bind, pdu.sequence, &theirs);
        let Body::SubmitSm(whole) = pdu.body else {
            unreachable!("just matched")
        };
        let text = read(&whole.payload(), 0);
        wholes.insert(whole.destination_addr.clone(), text);
        report(bind, &theirs);
    }
    for index in 0..NUMBERS {
        let expected = format!("<{index}:1><{index}:2><{index}:3>");
        assert_eq!(wholes.get(number(index).as_bytes()), Some(&expected));
    }
    let mut told: Vec<String> = ids.iter().map(|_| stat_of(&esme.deliver()).0).collect();
    told.sort();
    ids.sort();
    assert_eq!(told, ids, "every part hears of the end of its whole");
}

#[test]
fn the_receipts_of_parts_become_one_whichever_node_reads_them() {
    let operator = FakeOperator::listen();
    let cluster = cluster(&operator, "udh").start();
    let mut bind = operator.accept_bind();
    let mut esme = Peer::bind(cluster.nodes[ENTRY].smpp(), "test", "test");
    for text in texts::all() {
        let id = esme.submit(text.submit(&number(1)));
        let first = take(&mut bind, "p1");
        let total = part_of(&first).unwrap().total;
        let mut all = vec![first];
        all.extend((2..=total).map(|part| take(&mut bind, &format!("p{part}"))));
        assert_eq!(whole_of(&all), text.text);
        for part in (1..=total).rev() {
            report(&mut bind, &format!("p{part}"));
        }
        assert_eq!(stat_of(&esme.deliver()), (id, 2));
    }
}
