//! The cluster as this node saw it at the last heartbeat.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::context::AdminContext;
use crate::actors::context::NodeContext;
use crate::api::{Node, Nodes, QueueShare, time};
use crate::domain::queue_name::QueueName;
use crate::store::cluster::{LeasedResource, NodeView, QueueFigures, View};

/// All nodes, with what they hold; empty with the embedded store.
pub async fn list(admin: Arc<AdminContext>) -> Nodes {
    let node = &admin.node;
    let cluster_view = node.local_lease.cluster_view();
    let view = &cluster_view.view;
    Nodes {
        nodes: view
            .nodes
            .iter()
            .map(|member| show(node, view, member))
            .collect(),
        as_of: time(view.now),
    }
}

fn show(node: &NodeContext, view: &View, member: &NodeView) -> Node {
    let mut queues: BTreeMap<String, u32> = BTreeMap::new();
    let mut binds = Vec::new();
    let mut janitor = false;
    let is_holder = |holder: (u8, u64)| holder == (member.node, member.epoch);
    for held in &view.held {
        if !is_holder((held.node, held.epoch)) {
            continue;
        }
        match held.resource {
            LeasedResource::Queue(partition) => {
                *queues.entry(node.name_of(partition.queue)).or_default() += 1;
            }
            LeasedResource::Bind { operator, slot } => {
                let name = node.name_of(operator);
                binds.push(match QueueName::parse(&name) {
                    QueueName::Operator(id) => format!("{id}/{slot}"),
                    // There is one name.
                    _ => name,
                });
            }
            LeasedResource::Janitor => janitor = true,
        }
    }
    binds.sort();
    let figures = &member.card.figures;
    let sum = |field: fn(&QueueFigures) -> u64| figures.queues.iter().map(field).sum::<u64>();
    let state = match member.lives_for {
        None => "lost",
        Some(_) if member.card.draining => "draining",
        Some(_) => "alive",
    };
    Node {
        bound: figures.operators.iter().map(|one| one.bound).sum(),
        esmes: figures.esmes,
        accepted_total: figures.accepted,
        delivered_total: figures.delivered,
        failed_total: figures.failed,
        waiting: sum(|queue| queue.waiting),
        scheduled: sum(|queue| queue.scheduled),
        in_flight: sum(|queue| queue.in_flight),
        node: member.node.into(),
        epoch: member.epoch,
        this_node: member.node == node.ids.node(),
        name: member.card.name.clone(),
        version: member.card.version.clone(),
        roles: member.card.roles.clone(),
        http: member.card.http.clone(),
        smpp: member.card.smpp.clone(),
        state: state.to_owned(),
        lease_ms: member.lives_for.map_or(0, |left| left.as_millis() as u64),
        since: time(member.since),
        partitions: queues.values().sum(),
        binds_held: binds.len() as u32,
        queues: queues
            .into_iter()
            .map(|(queue, partitions)| QueueShare { queue, partitions })
            .collect(),
        binds,
        janitor,
    }
}
