//! The distribution of resources over nodes: the same pure rule on every node, so that none has to
//! lead.
//!
//! Each queue's partitions are spread evenly over the nodes that serve it, the same parts of all queues on the same
//! node where that costs no move (`parts`); each operator's bind slots over the nodes that deliver (`spread`). The name of a GSM network that is the same on all nodes is held by one of
//! those that reach its HLR, as far as they know. A node gives back what the plan has with another node, and takes
//! what is free and planned for it; otherwise resources stay where they are.
//!
//! The queue of an account is held as a whole until several nodes serve it, and in parts from then on, if all
//! nodes know parts. Invariant: nothing of one kind is claimed before all of the other kind is given back; the
//! database refuses it, too, because nodes look at different moments.

use std::collections::{HashMap, HashSet};

use super::parts::PartHolders;
use super::spread::{SpreadRow, spread};
use crate::config::NodeRole;
use crate::domain::partition::{PARTITIONS, WHOLE};
use crate::store::cluster::{LeasedResource, Partition, View};

/// What the rule needs to know of a queue.
#[derive(Debug, Clone, Copy)]
pub struct QueueNeed {
    pub queue: u32,
    /// The queue of an account belongs to nodes that listen for ESMEs, others to nodes that deliver.
    pub is_account: bool,
    pub split: Split,
}

/// Whether a queue is held in partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// An operator's, or an internal one.
    Always,
    /// An account's that receives over binds.
    WhenShared,
    Never,
}

/// The configured bind slots of an operator.
#[derive(Debug, Clone, Copy)]
pub struct BindNeed {
    pub operator: u32,
    pub slots: u32,
}

/// What a node should do next.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rebalance {
    pub claim: Vec<LeasedResource>,
    pub release: Vec<LeasedResource>,
    /// What is free, and left to the node that should have it.
    pub left: Vec<LeasedResource>,
}

/// All resources to share, and this node.
pub struct Shares<'a> {
    pub me: u8,
    pub view: &'a View,
    pub queues: &'a [QueueNeed],
    pub binds: &'a [BindNeed],
    /// GSM networks whose name all nodes have.
    pub names: &'a [u32],
    /// What this node has left to others for [`WAIT_FOR_OTHERS`] and nobody has taken.
    pub overdue: &'a HashSet<LeasedResource>,
}

/// Heartbeats that a free resource waits for the node that should have it.
pub const WAIT_FOR_OTHERS: u32 = 3;

fn whole_of(queue: u32) -> LeasedResource {
    LeasedResource::Queue(Partition { queue, part: WHOLE })
}

fn parts_of(queue: u32) -> Vec<LeasedResource> {
    let parts = 0..PARTITIONS;
    parts
        .map(|part| LeasedResource::Queue(Partition { queue, part }))
        .collect()
}

// === impl Shares ===

impl Shares<'_> {
    /// All resources that nodes may claim as things are. The whole of a queue is known before its parts: a claim
    /// of parts locks it.
    pub fn everything(&self) -> Vec<LeasedResource> {
        let divided: HashSet<u32> = self.view.divided().collect();
        let mut all = vec![LeasedResource::Janitor];
        for need in self.queues {
            if need.split != Split::Always {
                all.push(whole_of(need.queue));
            }
            if self.is_split(need, &divided) {
                all.extend(parts_of(need.queue));
            }
        }
        all.extend(self.binds.iter().flat_map(slots_of));
        all.extend(self.names.iter().copied().map(name_of));
        all
    }

    /// Whether a queue is to be held in parts. That of an account stays so when only one node serves it still:
    /// what the others have lost is waited for, but the parts of that node go on.
    fn is_split(&self, need: &QueueNeed, divided: &HashSet<u32>) -> bool {
        match need.split {
            Split::Always => true,
            Split::Never => false,
            Split::WhenShared => {
                self.view.living().all(|node| node.card.splits_accounts)
                    && (divided.contains(&need.queue) || self.serving(need).len() > 1)
            }
        }
    }

    /// What this node should claim and release.
    pub fn rebalance(&self) -> Rebalance {
        let mut rebalance = Rebalance::default();
        let holders: HashMap<LeasedResource, u8> = self
            .view
            .held
            .iter()
            .map(|held| (held.resource, held.node))
            .collect();
        let divided: HashSet<u32> = self.view.divided().collect();
        let part_holders = PartHolders::of(self.view);
        for need in self.queues {
            let is_split = self.is_split(need, &divided);
            self.share_queue(need, is_split, &holders, &part_holders, &mut rebalance);
        }
        self.share_binds(&holders, &mut rebalance);
        self.share_names(&holders, &mut rebalance);
        self.share_janitor(&holders, &mut rebalance);
        rebalance
    }

    /// Numbers of the live nodes with a role, ascending.
    fn nodes_with(&self, role: NodeRole) -> Vec<u8> {
        self.view
            .nodes
            .iter()
            .filter(|node| node.lives_for.is_some() && !node.card.draining)
            .filter(|node| node.card.roles.iter().any(|has| has == role.as_str()))
            .map(|node| node.node)
            .collect()
    }

    /// The nodes that may hold a queue, whether they serve it or not.
    fn able(&self, need: &QueueNeed) -> Vec<u8> {
        let role = if need.is_account {
            NodeRole::Smpp
        } else {
            NodeRole::Delivery
        };
        self.nodes_with(role)
    }

    fn serving(&self, need: &QueueNeed) -> Vec<u8> {
        let serves = |node: &u8| {
            let mut nodes = self.view.nodes.iter();
            nodes.any(|other| other.node == *node && other.card.serving.contains(&need.queue))
        };
        let mut able = self.able(need);
        able.retain(serves);
        able
    }

    fn share_queue(
        &self,
        need: &QueueNeed,
        is_split: bool,
        holders: &HashMap<LeasedResource, u8>,
        part_holders: &PartHolders,
        rebalance: &mut Rebalance,
    ) {
        let serving = self.serving(need);
        // Messages must expire and fail over even while no node can deliver.
        let eligible = if serving.is_empty() {
            self.able(need)
        } else {
            serving
        };
        if eligible.is_empty() {
            return;
        }
        let (whole, parts) = (vec![whole_of(need.queue)], parts_of(need.queue));
        let (all, others) = if is_split {
            (parts, whole)
        } else {
            (whole, parts)
        };
        let is_mine = |resource: &LeasedResource| holders.get(resource) == Some(&self.me);
        let wrong = others.iter().filter(|other| is_mine(other));
        rebalance.release.extend(wrong);
        if !eligible.contains(&self.me) {
            let mine = all.into_iter().filter(is_mine);
            return rebalance.release.extend(mine);
        }
        if others.iter().any(|other| holders.contains_key(other)) {
            return;
        }
        let mut row = row_of(need.queue, &all, holders);
        if is_split {
            part_holders.prefer(&mut row, &eligible);
        }
        for planned in spread(&[row], &eligible) {
            let given_up = self.follow(&all, &planned, holders, rebalance);
            rebalance.release.extend(given_up);
        }
    }

    fn share_binds(&self, holders: &HashMap<LeasedResource, u8>, rebalance: &mut Rebalance) {
        let able = self.nodes_with(NodeRole::Delivery);
        let is_able = able.contains(&self.me);
        let slots: Vec<Vec<LeasedResource>> = self
            .binds
            .iter()
            .map(|need| slots_of(need).collect())
            .collect();
        if is_able {
            let needs = self.binds.iter().zip(&slots);
            let rows: Vec<SpreadRow> = needs
                .map(|(need, slots)| row_of(need.operator, slots, holders))
                .collect();
            for (slots, planned) in slots.iter().zip(spread(&rows, &able)) {
                let given_up = self.follow(slots, &planned, holders, rebalance);
                // One at a time, so that traffic continues.
                rebalance.release.extend(given_up.last());
            }
        }
        // Slots that this node should not have at all, and those that are no longer configured.
        let names: Vec<LeasedResource> = self.names.iter().copied().map(name_of).collect();
        let configured: HashSet<&LeasedResource> = slots.iter().flatten().chain(&names).collect();
        rebalance
            .release
            .extend(self.view.held.iter().filter_map(|held| {
                let is_bind = matches!(held.resource, LeasedResource::Bind { .. });
                let is_wanted = is_able && configured.contains(&held.resource);
                (is_bind && held.node == self.me && !is_wanted).then_some(held.resource)
            }));
    }

    /// A name stays with a node that reaches the HLR. Where none does, it stays with whom it is.
    fn share_names(&self, holders: &HashMap<LeasedResource, u8>, rebalance: &mut Rebalance) {
        let able = self.nodes_with(NodeRole::Delivery);
        for name in self.names {
            let reaches = |node: &u8| {
                let mut nodes = self.view.nodes.iter();
                nodes.any(|other| other.node == *node && !other.card.cut_off.contains(name))
            };
            let mut eligible = able.clone();
            eligible.retain(reaches);
            if eligible.is_empty() {
                eligible.clone_from(&able);
            }
            let resources = [name_of(*name)];
            if !eligible.contains(&self.me) {
                let is_mine = |resource: &LeasedResource| holders.get(resource) == Some(&self.me);
                // Who delivers no more has given it up with its binds.
                if able.contains(&self.me) {
                    rebalance
                        .release
                        .extend(resources.into_iter().filter(is_mine));
                }
                continue;
            }
            let row = row_of(*name, &resources, holders);
            for planned in spread(&[row], &eligible) {
                let given_up = self.follow(&resources, &planned, holders, rebalance);
                rebalance.release.extend(given_up);
            }
        }
    }

    /// Claims what is free and planned for this node; returns what it holds and should not.
    fn follow(
        &self,
        resources: &[LeasedResource],
        planned: &[u8],
        holders: &HashMap<LeasedResource, u8>,
        rebalance: &mut Rebalance,
    ) -> Vec<LeasedResource> {
        let mut given_up = Vec::new();
        for (resource, node) in resources.iter().zip(planned) {
            let is_mine = *node == self.me;
            match holders.get(resource) {
                None if is_mine || self.overdue.contains(resource) => {
                    rebalance.claim.push(*resource);
                }
                None => rebalance.left.push(*resource),
                Some(holder) if *holder == self.me && !is_mine => given_up.push(*resource),
                Some(_) => {}
            }
        }
        given_up
    }

    fn share_janitor(&self, holders: &HashMap<LeasedResource, u8>, rebalance: &mut Rebalance) {
        let able = self.nodes_with(NodeRole::Janitor).contains(&self.me);
        match holders.get(&LeasedResource::Janitor) {
            None if able => rebalance.claim.push(LeasedResource::Janitor),
            Some(node) if *node == self.me && !able => {
                rebalance.release.push(LeasedResource::Janitor)
            }
            _ => {}
        }
    }
}

fn slots_of(need: &BindNeed) -> impl Iterator<Item = LeasedResource> + use<> {
    let operator = need.operator;
    (0..need.slots).map(move |slot| LeasedResource::Bind { operator, slot })
}

/// The one connection to a GSM network whose name all nodes have.
fn name_of(gsm: u32) -> LeasedResource {
    LeasedResource::Bind {
        operator: gsm,
        slot: 0,
    }
}

fn row_of(
    key: u32,
    resources: &[LeasedResource],
    holders: &HashMap<LeasedResource, u8>,
) -> SpreadRow {
    let holders = resources
        .iter()
        .map(|resource| holders.get(resource).copied());
    SpreadRow {
        key,
        holders: holders.collect(),
        preferred: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
