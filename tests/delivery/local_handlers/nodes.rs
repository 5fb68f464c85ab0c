//! Three nodes, each with a socket of its own: a program at one of them works for all, and another one at another
//! node takes over.

use std::time::Duration;

use super::{Asked, Said};
use crate::harness::local::Program;
use crate::harness::{Cluster, PATIENCE, Peer, SmscBuilder, submit, until};
use smsc::pb::local::{Delivered, NotDelivered, Ready, not_delivered};

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

    // A kill would bring again what is not durable yet.
    cluster.wait_until_idle_with(PATIENCE, || {
        esmes.iter_mut().for_each(Peer::acknowledge_all)
    });

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

/// A program says who is there again to one node, and messages wait on all.
#[test]
fn a_subscriber_is_there_again_for_every_node() {
    let uid = rustix::process::getuid().as_raw();
    let cluster = Cluster::of(2)
        .each(move |smsc| {
            smsc.account("test", "test")
                .toml(&format!(
                    "[local]\nsocket = \"smsc.sock\"\nroles = {{ {uid} = \"gsm:home\" }}\n\
                     [[gsm]]\nname = \"home\"\naddress = \"local\"\nsmsc_address = \"49160000\"\n\
                     reconnect = [\"200ms\"]\nretry = {{ delays = [\"1h\"] }}\n\
                     [imsi]\ntable = \"imsis.csv\"\n"
                ))
                .file("imsis.csv", "4916*,00101*\n")
                .toml("[[route]]\nprefix = \"4916\"\nto = [\"gsm:home\"]\n")
        })
        .start();
    let mut programs: Vec<Program> = (cluster.nodes.iter())
        .map(|smsc| Program::handler(&smsc.file("smsc.sock"), "gsm:home"))
        .collect();
    // Both nodes have partitions.
    until("both programs to be among the binds", || {
        let is_served = |at: &usize| {
            let queue = cluster.nodes[*at]
                .admin()
                .get("/v1/queues/gsm:home?scope=node");
            queue["sessions"].as_u64() > Some(0)
        };
        [0, 1].iter().all(is_served).then_some(())
    });
    until("both nodes to have partitions of it", || {
        let nodes = cluster.nodes[0].admin().get("/v1/nodes");
        let nodes = nodes["nodes"].as_array().unwrap().clone();
        let has_some = |node: &serde_json::Value| {
            let queues = node["queues"].as_array().unwrap();
            queues.iter().any(|one| one["queue"] == "gsm:home")
        };
        (nodes.len() == 2 && nodes.iter().all(has_some)).then_some(())
    });
    let mut esme = Peer::bind(cluster.nodes[0].smpp(), "test", "test");
    let subscribers = 0..20;
    for at in subscribers.clone() {
        esme.submit(submit(&format!("4916{at:08}"), "hello"));
    }
    // Nobody is there; each subscriber is asked for once, at one of the nodes.
    let mut of_nodes = [0, 0];
    let absent = || NotDelivered {
        cause: Some(not_delivered::Cause::RpCause(27)),
    };
    until("all messages to be refused", || {
        for (at, program) in programs.iter_mut().enumerate() {
            while let Some((number, said)) = program.asked_within(Duration::from_millis(50)) {
                assert!(matches!(said, Said::ToHandset(_)), "{said:?}");
                program.answer(number, Asked::NotDelivered(absent()));
                of_nodes[at] += 1;
            }
        }
        (of_nodes[0] + of_nodes[1] == 20).then_some(())
    });
    assert!(of_nodes[0] > 0 && of_nodes[1] > 0, "{of_nodes:?}");
    until("the refusals to be stored", || {
        let waits = |at: usize| {
            cluster.nodes[at]
                .admin()
                .get("/v1/queues/gsm:home?scope=node")["scheduled"]
                .as_u64()
                .unwrap_or(0)
        };
        (waits(0) + waits(1) == 20).then_some(())
    });

    for at in subscribers {
        programs[0].request(Asked::Ready(Ready {
            imsi: format!("00101{at:08}"),
            has_memory: false,
        }));
    }
    let mut delivered = 0;
    until("all messages to be delivered", || {
        for program in &mut programs {
            while let Some((number, said)) = program.asked_within(Duration::from_millis(50)) {
                if let Said::ToHandset(_) = said {
                    program.answer(number, Asked::Delivered(Delivered::default()));
                    delivered += 1;
                }
            }
        }
        (delivered == 20).then_some(())
    });
}
