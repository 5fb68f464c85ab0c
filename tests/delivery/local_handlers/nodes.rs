//! Three nodes, each with a socket of its own: a program at one of them works for all, and another one at another
//! node takes over.

use std::time::Duration;

use super::{Asked, Said};
use crate::harness::local::Program;
use crate::harness::{Cluster, PATIENCE, Peer, SmscBuilder, submit, until};
use smsc::pb::local::Delivered;

const ROLE: &str = "operator:fax";
const MESSAGES: usize = 30;

fn node(smsc: SmscBuilder) -> SmscBuilder {
    let uid = rustix::process::getuid().as_raw();
    smsc.account("test", "test")
        .toml(&format!(
            "[local]\nsocket = \"smsc.sock\"\nroles = {{ {uid} = {ROLE:?} }}\n\
             [[operator]]\nid = \"fax\"\naddress = \"local\"\nbinds = 3\nreconnect = [\"200ms\"]\n"
        ))
        .route("", "fax")
}

/// Answers a request to deliver; its text.
fn deliver_one(program: &mut Program, (number, asked): (u64, Said)) -> usize {
    let Said::ToPeer(to_peer) = asked else {
        panic!("{asked:?}");
    };
    let octets = to_peer.message.unwrap().octets;
    let text = std::str::from_utf8(&octets).unwrap();
    program.answer(number, Asked::Delivered(Delivered::default()));
    text.parse().unwrap()
}

/// Delivers so many messages; their texts in order.
fn deliver(program: &mut Program, count: usize) -> Vec<usize> {
    let mut texts: Vec<usize> = (0..count)
        .map(|_| {
            let asked = program.asked();
            deliver_one(program, asked)
        })
        .collect();
    texts.sort_unstable();
    texts
}

#[test]
fn a_program_at_one_node_works_for_all() {
    let mut cluster = Cluster::of(3).short_lease().each(node).start();
    let mut esmes: Vec<Peer> = (0..3)
        .map(|at| Peer::bind(cluster.nodes[at].smpp(), "test", "test"))
        .collect();
    let mut program = Program::handler(&cluster.nodes[1].file("smsc.sock"), ROLE);
    let send = |esmes: &mut [Peer], first: usize| {
        for text in first..first + MESSAGES {
            let at = text % esmes.len();
            let number = format!("4477009{text:05}");
            esmes[at].submit(submit(&number, &text.to_string()));
        }
    };
    send(&mut esmes, 0);
    let texts = deliver(&mut program, MESSAGES);
    assert_eq!(texts, Vec::from_iter(0..MESSAGES));

    // Its node is killed; a program at another one gets what waits.
    send(&mut esmes, MESSAGES);
    cluster.nodes[1].kill();
    drop(program);
    esmes.remove(1);
    let mut other = Program::handler(&cluster.nodes[2].file("smsc.sock"), ROLE);
    let texts = deliver(&mut other, MESSAGES);
    assert_eq!(texts, Vec::from_iter(MESSAGES..2 * MESSAGES));
    // Two nodes share three slots: this one has one of them or two.
    until("the program to be among the binds", || {
        (cluster.binds_of(2, 0) > 0).then_some(())
    });
    cluster.wait_until_idle_with(PATIENCE, || {
        if let Some(asked) = other.asked_within(Duration::from_millis(1)) {
            panic!("a second time: {}", deliver_one(&mut other, asked));
        }
        esmes.iter_mut().for_each(Peer::acknowledge_all)
    });
}
