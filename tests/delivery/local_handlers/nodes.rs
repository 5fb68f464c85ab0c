//! Three nodes, each with a socket of its own: a program at one of them works for all, and another one at another
//! node takes over.

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

/// Delivers what comes until `count` messages have come; their texts.
fn deliver(program: &mut Program, count: usize) -> Vec<String> {
    let mut texts = Vec::new();
    while texts.len() < count {
        let (number, asked) = program.asked();
        let Said::ToPeer(to_peer) = asked else {
            panic!("{asked:?}");
        };
        let octets = to_peer.message.unwrap().octets;
        texts.push(String::from_utf8(octets.to_vec()).unwrap());
        program.answer(number, Asked::Delivered(Delivered::default()));
    }
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
    let mut texts = deliver(&mut program, MESSAGES);
    texts.sort_unstable_by_key(|text| text.parse::<usize>().unwrap());
    let wanted: Vec<String> = (0..MESSAGES).map(|text| text.to_string()).collect();
    assert_eq!(texts, wanted);

    // Its node is killed; a program at another one gets what waits.
    send(&mut esmes, MESSAGES);
    cluster.nodes[1].kill();
    drop(program);
    esmes.remove(1);
    let mut other = Program::handler(&cluster.nodes[2].file("smsc.sock"), ROLE);
    let mut texts = deliver(&mut other, MESSAGES);
    texts.sort_unstable_by_key(|text| text.parse::<usize>().unwrap());
    let wanted: Vec<String> = (MESSAGES..2 * MESSAGES)
        .map(|text| text.to_string())
        .collect();
    assert_eq!(texts, wanted);
    // Two nodes share three slots: this one has one of them or two.
    until("the program to be among the binds", || {
        (cluster.binds_of(2, 0) > 0).then_some(())
    });
    cluster.wait_until_idle_with(PATIENCE, || {
        esmes.iter_mut().for_each(Peer::acknowledge_all)
    });
}
