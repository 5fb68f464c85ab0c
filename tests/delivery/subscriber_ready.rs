//! An operator says by alert_notification that a subscriber is there again (SMPP 3.4 §4.12): what waits for a retry to
//! it is tried at once, in order, over a kill and on whatever node it waits.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;

use crate::harness::{
    Cluster, FakeOperator, Peer, Smsc, SmscBuilder, accept, answer, next_submit, submit, until,
};
use smsc::smpp::{AlertNotification, Body, CommandId, CommandStatus};

const ABSENT: &str = "447700900123";
const OTHER: &str = "447700900124";
/// A retry that no test waits for.
const NEVER: &str = "[retry]\ndelays = [\"1h\"]\n";

fn alert(link: &mut Peer, subscriber: &str) {
    link.request(Body::AlertNotification(AlertNotification {
        source_addr: Bytes::copy_from_slice(subscriber.as_bytes()),
        esme_addr: Bytes::from_static(b"12345"),
        ..AlertNotification::default()
    }));
}

/// Refuses the next message for now, and returns its text.
fn refuse(link: &mut Peer) -> String {
    let (sequence, message) = next_submit(link);
    answer(link, sequence, CommandStatus::ESME_RSYSERR, "");
    String::from_utf8(message.short_message.to_vec()).unwrap()
}

fn take(link: &mut Peer) -> String {
    let (sequence, message) = next_submit(link);
    accept(link, sequence, &format!("id{sequence}"));
    String::from_utf8(message.short_message.to_vec()).unwrap()
}

/// Answers what comes now; how many messages that were.
fn answers(link: &mut Peer, status: CommandStatus) -> usize {
    let mut messages = 0;
    while let Ok(pdu) = link.next(Duration::from_millis(50)) {
        match pdu.body {
            Body::SubmitSm(_) => {
                answer(link, pdu.sequence, status, &format!("id{}", pdu.sequence));
                messages += 1;
            }
            Body::Unbind => link.acknowledge(CommandId::UNBIND_RESP, pdu.sequence),
            _ => {}
        }
    }
    messages
}

/// Answers what comes now on all binds; how many messages came on each.
fn answer_all(links: &mut [Peer], status: CommandStatus) -> Vec<usize> {
    links.iter_mut().map(|link| answers(link, status)).collect()
}

fn wait_for_scheduled(smsc: &Smsc, count: u64) {
    until("the messages to wait for a retry", || {
        let queue = smsc.admin().get("/v1/queues/operator:up");
        (queue["scheduled"] == count).then_some(())
    });
}

#[test]
fn what_waits_for_it_is_tried_at_once_and_nothing_else() {
    let operator = FakeOperator::listen();
    let mut smsc = Smsc::new()
        .account("test", "test")
        .operator("up", operator.address())
        .route("", "up")
        .toml(NEVER)
        .start();
    let mut link = operator.accept_bind();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let mut ids = Vec::new();
    for number in ["first", "second", "third"] {
        ids.push(esme.submit(submit(ABSENT, number)));
        assert_eq!(refuse(&mut link), number);
    }
    let other = esme.submit(submit(OTHER, "other"));
    assert_eq!(refuse(&mut link), "other");
    wait_for_scheduled(&smsc, 4);
    alert(&mut link, &format!("+{ABSENT}"));
    for number in ["first", "second", "third"] {
        assert_eq!(refuse(&mut link), number);
    }
    wait_for_scheduled(&smsc, 4);

    // After a kill they are found in the store.
    for id in ids.iter().chain([&other]) {
        smsc.wait_until_sent(id);
    }
    smsc.kill();
    smsc.start_again();
    let mut link = operator.accept_bind();
    wait_for_scheduled(&smsc, 4);
    alert(&mut link, ABSENT);
    for number in ["first", "second", "third"] {
        assert_eq!(take(&mut link), number);
    }
    wait_for_scheduled(&smsc, 1);
    assert_eq!(
        smsc.admin().get(&format!("/v1/messages/{other}"))["state"],
        "ENROUTE"
    );
}

#[test]
fn it_is_heard_on_every_node() {
    let operator = FakeOperator::listen();
    let address = operator.address();
    let relaying = move |smsc: SmscBuilder| {
        smsc.account("test", "test")
            .operator_with("up", address, "binds = 2")
            .route("", "up")
            .toml(NEVER)
    };
    let cluster = Cluster::of(2).each(relaying).start();
    // The node that starts first has both binds for a moment.
    let new = Arc::new(Mutex::new(Vec::new()));
    let accepted = Arc::clone(&new);
    std::thread::spawn(move || {
        loop {
            let link = operator.accept_bind();
            accepted.lock().unwrap().push(link);
        }
    });
    let mut links: Vec<Peer> = Vec::new();
    until("a bind of each node", || {
        links.append(&mut new.lock().unwrap());
        answer_all(&mut links, CommandStatus::ESME_RSYSERR);
        let each = [0, 1].map(|node| cluster.binds_of(node, 0));
        (each == [1, 1]).then_some(())
    });
    let mut esme = Peer::bind(cluster.nodes[0].smpp(), "test", "test");
    let (mut numbers, mut refused) = (Vec::new(), Vec::new());
    // Partitions follow the binds.
    until("both nodes to have tried some", || {
        // A node has its slot before it is bound.
        links.append(&mut new.lock().unwrap());
        if refused.iter().filter(|count| **count > 0).count() < 2 {
            let number = format!("4477009{:05}", numbers.len());
            esme.submit(submit(&number, &number));
            numbers.push(number);
        }
        let now = answer_all(&mut links, CommandStatus::ESME_RSYSERR);
        refused.resize(now.len(), 0);
        refused
            .iter_mut()
            .zip(now)
            .for_each(|(all, now)| *all += now);
        let tried = refused.iter().filter(|count| **count > 0).count();
        let all = refused.iter().sum::<usize>() == numbers.len();
        (tried > 1 && all).then_some(())
    });
    // All of them by one link, which is that of one node.
    let link = links.last_mut().expect("a bind");
    for number in &numbers {
        alert(link, number);
    }
    let mut taken = 0;
    until("all to be tried again", || {
        taken += answer_all(&mut links, CommandStatus::ESME_ROK)
            .iter()
            .sum::<usize>();
        (taken == numbers.len()).then_some(())
    });
}
