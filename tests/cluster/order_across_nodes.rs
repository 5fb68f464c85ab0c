//! Messages of one sender to one subscriber keep their order although they were accepted by several nodes and one of
//! these has a wrong clock: all nodes follow the clock of the database.

use std::time::Duration;

use crate::harness::{
    Cluster, ClusterBuilder, Gate, Peer, Simulator, WallClock, submit, until, within,
};

const MESSAGES: usize = 30;
const DAY: i64 = 86_400;
/// Many times what the clocks of two nodes differ by: their ids compare to a few milliseconds, and on a busy machine to
/// some more.
const PRECISION: Duration = Duration::from_millis(200);

/// Waits for the operator to have all, and compares their order with that of their acceptance.
fn assert_in_order(operator: &Simulator, accepted: &[String]) {
    let came = operator.wait_for(accepted.len()).into_iter();
    let came: Vec<String> = came.map(|line| line.text).collect();
    let overtaken = came.windows(2).filter(|two| two[0] > two[1]).count();
    assert_eq!(came, accepted, "{overtaken} overtook others");
}

/// What the other node accepts comes by the hand-off table, a moment later than what is accepted since.
#[test]
fn what_is_handed_off_goes_in_the_order_of_acceptance() {
    run(Cluster::of(2), false);
}

/// What waits is read from the store, in the order of ids, by the node that gets the partition.
#[test]
fn what_is_taken_over_goes_in_the_order_of_acceptance_whatever_a_clock_says() {
    run(Cluster::of(2).short_lease(), true);
}

fn run(builder: ClusterBuilder, is_taken_over: bool) {
    let operator = Simulator::new().start();
    let door = Gate::to(operator.address());
    // Nobody serves the queue until all are accepted.
    door.shut();
    let address = door.address();
    let clock = WallClock::new();
    let wall = clock.variables();
    let mut cluster = builder
        .each(move |smsc| {
            let keys = "binds = 1\nwindow = 10\nreconnect = [\"500ms\"]\nbind_timeout = \"2s\"";
            smsc.account("test", "test")
                .operator_with("up", address, keys)
                .route("", "up")
        })
        .skewed_by(1, wall)
        .start();
    let nodes = cluster.nodes.iter();
    let mut esmes: Vec<Peer> = nodes
        .map(|node| Peer::transmitter(node.smpp(), "test", "test"))
        .collect();
    let mut accepted = Vec::new();
    for number in 0..MESSAGES {
        if number == MESSAGES / 3 {
            clock.set(DAY);
        }
        let text = format!("{number:03}");
        // Each is answered before the next is sent, by the other node, and later than their clocks may differ.
        within(PRECISION, || None::<()>);
        esmes[(number + 1) % 2].submit(submit("447700900123", &text));
        accepted.push(text);
    }
    until("all to wait in the queues", || {
        let queues = cluster.nodes[0].admin().get("/v1/queues");
        let queues = queues["queues"].as_array().or(queues.as_array()).unwrap();
        let up = queues.iter().find(|queue| queue["name"] == "operator:up")?;
        (up["waiting"].as_u64() == Some(MESSAGES as u64)).then_some(())
    });
    if is_taken_over {
        cluster.nodes[0].kill();
        let taken = || cluster.nodes[1].log_lines_with("a dead node is taken over");
        until("the take-over", || (taken() > 0).then_some(()));
    }
    door.open();
    until("the bind", || (door.connections() > 0).then_some(()));
    assert_in_order(&operator, &accepted);
    // Nor does a clock that is put right stop anything.
    clock.set(0);
    accepted.push("right again".to_owned());
    esmes[1].submit(submit("447700900123", "right again"));
    assert_in_order(&operator, &accepted);
}
