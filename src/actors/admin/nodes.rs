//! The cluster as this node sees it, as of the last beat.

use std::collections::BTreeMap;

use crate::actors::hub::Hub;
use crate::pb::{ClusterNode, NodeList, QueueShare};
use crate::store::cluster::{NodeView, QueueFigures, Resource, View};

/// All nodes, with what they hold; none with the embedded store.
pub fn list(hub: &Hub) -> NodeList {
    let neighbours = hub.tenure.neighbours();
    let view = &neighbours.view;
    NodeList {
        nodes: view
            .nodes
            .iter()
            .map(|node| show(hub, view, node))
            .collect(),
        now: view.now,
    }
}

fn show(hub: &Hub, view: &View, node: &NodeView) -> ClusterNode {
    let mut queues: BTreeMap<String, u32> = BTreeMap::new();
    let mut binds = Vec::new();
    let mut janitor = false;
    let is_holder = |holder: (u8, u64)| holder == (node.node, node.epoch);
    for held in &view.held {
        if !is_holder((held.node, held.epoch)) {
            continue;
        }
        match held.resource {
            Resource::Queue(partition) => {
                *queues.entry(hub.name_of(partition.queue)).or_default() += 1;
            }
            Resource::Bind { operator, slot } => {
                let name = hub.name_of(operator);
                let id = name.split_once(':').map_or(name.as_str(), |(_, id)| id);
                binds.push(format!("{id}/{slot}"));
            }
            Resource::Janitor => janitor = true,
        }
    }
    binds.sort();
    let figures = &node.card.figures;
    let sum = |field: fn(&QueueFigures) -> u64| figures.queues.iter().map(field).sum::<u64>();
    ClusterNode {
        bound: figures.operators.iter().map(|one| one.bound).sum(),
        esmes: figures.esmes,
        waiting: sum(|queue| queue.waiting),
        scheduled: sum(|queue| queue.scheduled),
        in_flight: sum(|queue| queue.in_flight),
        node: node.node.into(),
        epoch: node.epoch,
        this_node: node.node == hub.ids.node(),
        name: node.card.name.clone(),
        version: node.card.version.clone(),
        roles: node.card.roles.clone(),
        http: node.card.http.clone(),
        smpp: node.card.smpp.clone(),
        draining: node.card.draining,
        alive: node.lives_for.is_some(),
        lease_ms: node.lives_for.map_or(0, |left| left.as_millis() as u64),
        since: node.since,
        queues: queues
            .into_iter()
            .map(|(queue, partitions)| QueueShare { queue, partitions })
            .collect(),
        binds,
        janitor,
    }
}
