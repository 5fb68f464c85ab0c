//! Names of GSM networks that all nodes have.

use super::*;
use crate::config::Gsm;
use crate::pb::{BindDirection, BindSnapshot};

#[actix::test]
async fn a_node_that_does_not_reach_the_hlr_gives_the_name_to_another() {
    let (shelf, node, _) = started_with(None, |config| {
        config.gsm = vec![Gsm {
            name: "home".to_owned(),
            address: "127.0.0.1:9".to_owned(),
            smsc_address: "49160000".to_owned(),
            ipa_name: "SMSC".to_owned(),
            ..Gsm::default()
        }];
    })
    .await;
    let gsm = node.context.plan().queue_of("gsm:home").expect("a network");
    let name = LeasedResource::Bind {
        operator: gsm,
        slot: 0,
    };
    until("its name", || node.has(name)).await;
    let session = node.bind(name);
    let port = node.context.binds.all();
    let port = port.iter().find(|port| port.session == session);
    let says = |failures: u32| {
        let snapshot = BindSnapshot {
            direction: BindDirection::Gsm.into(),
            state: BindState::Waiting.into(),
            reconnect_attempts: failures,
            ..BindSnapshot::default()
        };
        port.expect("a bind").snapshot.set(snapshot);
    };
    // Nobody else could have it.
    says(CUT_OFF);
    let heartbeat = node.context.config().cluster.heartbeat;
    tokio::time::sleep(heartbeat * 3).await;
    assert!(node.has(name));
    says(CUT_OFF - 1);
    tokio::time::sleep(heartbeat * 3).await;
    lock(&shelf.state).is_joined = true;
    tokio::time::sleep(heartbeat * 3).await;
    assert!(node.has(name), "it has failed twice only");
    says(CUT_OFF);
    until("given up", || !node.has(name)).await;
    tokio::time::sleep(heartbeat).await;
    assert_eq!(shelf.holder(name), Some(ME), "its connection has not ended");
    node.context.binds.remove(session);
    until("given back", || shelf.holder(name) == Some(OTHER)).await;
    stays_away(&node, &shelf, name).await;
}
