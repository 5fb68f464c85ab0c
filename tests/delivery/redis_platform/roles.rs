//! What nodes do for the platform, on different ones.

use super::{ask, connect, finished, list, push};
use crate::harness::{Cluster, Simulator, Smsc, redis_database, until};

const MESSAGES: usize = 10;

fn read(smsc: &Smsc, metric: &str) -> f64 {
    smsc.admin().metric(metric).unwrap_or_default()
}

#[test]
fn sender_receiver_and_forwarder_are_different_nodes() {
    let redis = redis_database();
    let operator = Simulator::new().start();
    let address = operator.address();
    let toml = format!(
        "[redis]\nurl = {:?}\n[redis_platform]\nenabled = true\naccount = \"test\"\nkeep_taken = \"1s\"\n",
        redis.url()
    );
    let mut cluster = Cluster::of(4)
        .short_lease()
        .each(move |smsc| smsc.relaying_to(address).toml(&toml))
        // The first node does the work for all, and nothing of this.
        .variable(0, "SMSC_REDIS_PLATFORM__ROLES", "[]")
        .variable(1, "SMSC_REDIS_PLATFORM__ROLES", "[\"sender\"]")
        .variable(2, "SMSC_REDIS_PLATFORM__ROLES", "[\"receiver\"]")
        .variable(
            3,
            "SMSC_REDIS_PLATFORM__ROLES",
            "[\"forwarder\", \"receiver\"]",
        )
        .start();
    let mut connection = connect(&redis.url());
    let mut ids: Vec<String> = (0..MESSAGES)
        .map(|_| push(&mut connection, "list:Pending-1", "447700900123"))
        .collect();
    let mut ended = finished(&mut connection, MESSAGES);
    ids.sort();
    ended.sort();
    assert_eq!(ended, ids);
    let accepted = "smsc_messages_accepted_total";
    let events = "smsc_outbox_read_total{reader=\"redis_platform\"}";
    let of = |metric: &str| -> Vec<f64> {
        cluster
            .nodes
            .iter()
            .map(|node| read(node, metric))
            .collect()
    };
    let count = MESSAGES as f64;
    assert_eq!(of(accepted), [0.0, count, 0.0, 0.0]);
    until("the receiver to count them", || {
        (of(events) == [0.0, 0.0, count, 0.0]).then_some(())
    });
    let _: i64 = ask(&mut connection, &["DEL", "list:Finish"]);
    until("the forwarder to remove the keys", || {
        (read(&cluster.nodes[3], "smsc_redis_platform_pumped_total") == count).then_some(())
    });

    // Another node that may does what the one that is gone did.
    cluster.nodes[2].kill();
    for _ in 0..MESSAGES {
        push(&mut connection, "list:Pending-1", "447700900123");
    }
    finished(&mut connection, MESSAGES);
    until("the other one to count them", || {
        (read(&cluster.nodes[3], events) == count).then_some(())
    });
    assert_eq!(
        list(&mut connection, "list:Pending-1"),
        Vec::<String>::new()
    );
}
