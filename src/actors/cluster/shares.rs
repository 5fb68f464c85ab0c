//! The distribution of resources over nodes: the same pure rule on every node, so that none has to
//! lead.
//!
//! Each queue's partitions are spread evenly over the nodes that serve it; each operator's bind slots
//! over the nodes that deliver. A node with more than its share gives back, a node with less takes free
//! resources; otherwise resources stay where they are.

use std::collections::{BTreeMap, HashMap};

use crate::domain::partition::{PARTITIONS, WHOLE};
use crate::store::cluster::{Partition, Resource, View};

/// What the rule needs to know of a queue.
#[derive(Debug, Clone, Copy)]
pub struct QueueNeed {
    pub queue: u32,
    /// The queue of an account belongs to nodes that listen for ESMEs, others to nodes that deliver.
    pub is_account: bool,
    /// Whether it is an operator's queue, which has partitions.
    pub is_split: bool,
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
    pub claim: Vec<Resource>,
    pub release: Vec<Resource>,
    /// Whether this node leaves a free bind slot, which it could take, to nodes with fewer binds.
    pub is_patient: bool,
}

/// All resources to share, and this node.
pub struct Shares<'a> {
    pub me: u8,
    pub view: &'a View,
    pub queues: &'a [QueueNeed],
    pub binds: &'a [BindNeed],
    /// Whether other nodes have had [`WAIT_FOR_OTHERS`] to take what this node left to them.
    pub others_had_time: bool,
}

/// Heartbeats that a free bind slot waits for a node with fewer binds.
pub const WAIT_FOR_OTHERS: u32 = 3;

/// All resources.
pub fn everything(queues: &[QueueNeed], binds: &[BindNeed]) -> impl Iterator<Item = Resource> {
    let partitions = queues.iter().flat_map(partitions_of);
    let slots = binds.iter().flat_map(slots_of);
    partitions.chain(slots).chain([Resource::Janitor])
}

/// Every partition of a queue.
fn partitions_of(need: &QueueNeed) -> impl Iterator<Item = Resource> + use<> {
    let queue = need.queue;
    let parts = match need.is_split {
        true => 0..=PARTITIONS - 1,
        false => WHOLE..=WHOLE,
    };
    parts.map(move |part| Resource::Queue(Partition { queue, part }))
}

// === impl Shares ===

impl Shares<'_> {
    /// What this node should claim and release.
    pub fn rebalance(&self) -> Rebalance {
        let mut rebalance = Rebalance::default();
        let holders: HashMap<Resource, u8> = self
            .view
            .held
            .iter()
            .map(|held| (held.resource, held.node))
            .collect();
        for need in self.queues {
            self.share_queue(need, &holders, &mut rebalance);
        }
        self.share_binds(&holders, &mut rebalance);
        self.share_janitor(&holders, &mut rebalance);
        rebalance
    }

    /// Numbers of the live nodes with a role, ascending.
    fn nodes_with(&self, role: &str) -> Vec<u8> {
        self.view
            .nodes
            .iter()
            .filter(|node| node.lives_for.is_some() && !node.card.draining)
            .filter(|node| node.card.roles.iter().any(|has| has == role))
            .map(|node| node.node)
            .collect()
    }

    fn share_queue(
        &self,
        need: &QueueNeed,
        holders: &HashMap<Resource, u8>,
        rebalance: &mut Rebalance,
    ) {
        let able = self.nodes_with(if need.is_account { "smpp" } else { "delivery" });
        let serving: Vec<u8> =
            able.iter()
                .copied()
                .filter(|node| {
                    self.view.nodes.iter().any(|other| {
                        other.node == *node && other.card.serving.contains(&need.queue)
                    })
                })
                .collect();
        // Messages must expire and fail over even while no node can deliver.
        let eligible = if serving.is_empty() { able } else { serving };
        let all = partitions_of(need);
        if !eligible.contains(&self.me) {
            if !eligible.is_empty() {
                rebalance
                    .release
                    .extend(all.filter(|resource| holders.get(resource) == Some(&self.me)));
            }
            return;
        }
        let (mut mine, mut free) = (Vec::new(), Vec::new());
        let mut total = 0;
        for resource in all {
            total += 1;
            match holders.get(&resource) {
                Some(node) if *node == self.me => mine.push(resource),
                Some(_) => {}
                None => free.push(resource),
            }
        }
        let most = total_share(total, eligible.len());
        if mine.len() > most {
            rebalance.release.extend(mine.drain(most..));
        } else {
            // Nodes begin at different places, so that they seldom claim the same one.
            let turn = usize::from(self.me) * most % free.len().max(1);
            free.rotate_left(turn);
            rebalance
                .claim
                .extend(free.into_iter().take(most - mine.len()));
        }
    }

    fn share_binds(&self, holders: &HashMap<Resource, u8>, rebalance: &mut Rebalance) {
        let able = self.nodes_with("delivery");
        let mut counts: BTreeMap<u8, usize> = able.iter().map(|node| (*node, 0)).collect();
        let mut total = 0;
        for need in self.binds {
            for resource in slots_of(need) {
                total += 1;
                if let Some(count) = holders.get(&resource).and_then(|node| counts.get_mut(node)) {
                    *count += 1;
                }
            }
        }
        let held_by_me = |resource: &Resource| holders.get(resource) == Some(&self.me);
        let Some(mut own) = counts.get(&self.me).copied() else {
            for need in self.binds {
                rebalance.release.extend(slots_of(need).filter(held_by_me));
            }
            return;
        };
        let fair = total_share(total, able.len());
        let fewest = counts.values().min().copied().unwrap_or(0);
        for need in self.binds {
            let most = total_share(need.slots as usize, able.len());
            let mut mine: Vec<Resource> = slots_of(need).filter(held_by_me).collect();
            // Another node may take what exceeds the share; one at a time, so that traffic continues.
            let excess = mine.len() > most || (own > fair && own > fewest + 1 && !mine.is_empty());
            if excess && let Some(last) = mine.pop() {
                rebalance.release.push(last);
                own -= 1;
                continue;
            }
            for resource in slots_of(need) {
                if mine.len() >= most || holders.contains_key(&resource) {
                    continue;
                }
                if own < fair || self.others_had_time {
                    mine.push(resource);
                    own += 1;
                    rebalance.claim.push(resource);
                } else {
                    rebalance.is_patient = true;
                }
            }
        }
        // Slots that are no longer configured.
        rebalance
            .release
            .extend(self.view.held.iter().filter_map(|held| {
                let Resource::Bind { operator, slot } = held.resource else {
                    return None;
                };
                let wanted = self
                    .binds
                    .iter()
                    .any(|need| need.operator == operator && slot < need.slots);
                (held.node == self.me && !wanted).then_some(held.resource)
            }));
    }

    fn share_janitor(&self, holders: &HashMap<Resource, u8>, rebalance: &mut Rebalance) {
        let able = self.nodes_with("janitor").contains(&self.me);
        match holders.get(&Resource::Janitor) {
            None if able => rebalance.claim.push(Resource::Janitor),
            Some(node) if *node == self.me && !able => rebalance.release.push(Resource::Janitor),
            _ => {}
        }
    }
}

fn slots_of(need: &BindNeed) -> impl Iterator<Item = Resource> + use<> {
    let operator = need.operator;
    (0..need.slots).map(move |slot| Resource::Bind { operator, slot })
}

/// The most that one of `nodes` holds of `total` when all share evenly.
fn total_share(total: usize, nodes: usize) -> usize {
    total.div_ceil(nodes.max(1))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::store::cluster::{Held, NodeCard, NodeView};

    const QUEUE: QueueNeed = QueueNeed {
        queue: 7,
        is_account: false,
        is_split: true,
    };
    const ACCOUNT: QueueNeed = QueueNeed {
        queue: 8,
        is_account: true,
        is_split: false,
    };

    fn node(number: u8, serving: &[u32]) -> NodeView {
        NodeView {
            node: number,
            epoch: u64::from(number) + 100,
            card: NodeCard {
                roles: ["smpp", "delivery", "janitor"].map(str::to_owned).to_vec(),
                serving: serving.to_vec(),
                ..NodeCard::default()
            },
            lives_for: Some(Duration::from_secs(5)),
            dead_for: Duration::ZERO,
            since: 0,
        }
    }

    /// Lets every node act on the same view until nothing changes; returns the final view.
    fn settle(mut view: View, queues: &[QueueNeed], binds: &[BindNeed]) -> View {
        for round in 0..50 {
            let mut changed = false;
            for at in 0..view.nodes.len() {
                let me = view.nodes[at].clone();
                let rebalance = Shares {
                    me: me.node,
                    view: &view,
                    queues,
                    binds,
                    others_had_time: round >= WAIT_FOR_OTHERS,
                }
                .rebalance();
                view.held.retain(|held| {
                    !(held.node == me.node && rebalance.release.contains(&held.resource))
                });
                changed |= !rebalance.release.is_empty();
                for resource in rebalance.claim {
                    let free = view.held.iter().all(|held| held.resource != resource);
                    assert!(free, "claims only what is free");
                    changed = true;
                    view.held.push(Held {
                        resource,
                        node: me.node,
                        epoch: me.epoch,
                    });
                }
            }
            if !changed && round > WAIT_FOR_OTHERS {
                return view;
            }
        }
        panic!("the nodes pass resources to and fro: {:?}", view.held);
    }

    fn count(view: &View, node: u8, wanted: fn(&Resource) -> bool) -> usize {
        view.held
            .iter()
            .filter(|held| held.node == node && wanted(&held.resource))
            .count()
    }

    fn is_queue(resource: &Resource) -> bool {
        matches!(resource, Resource::Queue(partition) if partition.part != WHOLE)
    }

    fn is_bind(resource: &Resource) -> bool {
        matches!(resource, Resource::Bind { .. })
    }

    #[test]
    fn partitions_spread_over_the_nodes_that_serve() {
        let view = View {
            nodes: vec![node(0, &[7]), node(1, &[7]), node(2, &[7]), node(3, &[])],
            ..View::default()
        };
        let view = settle(view, &[QUEUE], &[]);
        let counts = [0, 1, 2, 3].map(|number| count(&view, number, is_queue));
        assert_eq!(counts.iter().sum::<usize>(), usize::from(PARTITIONS));
        assert!(
            counts[..3].iter().all(|held| (10..=11).contains(held)),
            "{counts:?}"
        );
        assert_eq!(counts[3], 0);
    }

    #[test]
    fn partitions_follow_the_bind() {
        let mut view = View {
            nodes: vec![node(0, &[]), node(1, &[])],
            ..View::default()
        };
        view = settle(view, &[QUEUE, ACCOUNT], &[]);
        assert_eq!(count(&view, 0, is_queue), 16);
        view.nodes[1].card.serving = vec![7, 8];
        view = settle(view, &[QUEUE, ACCOUNT], &[]);
        assert_eq!(count(&view, 1, is_queue), 32);
        let account = Resource::Queue(Partition {
            queue: 8,
            part: WHOLE,
        });
        assert!(
            view.held
                .iter()
                .any(|held| held.resource == account && held.node == 1)
        );
    }

    #[test]
    fn a_node_that_joins_gets_its_share_of_binds() {
        let binds = [
            BindNeed {
                operator: 1,
                slots: 4,
            },
            BindNeed {
                operator: 2,
                slots: 1,
            },
            BindNeed {
                operator: 3,
                slots: 1,
            },
        ];
        let mut view = View {
            nodes: vec![node(0, &[])],
            ..View::default()
        };
        view = settle(view, &[], &binds);
        assert_eq!(count(&view, 0, is_bind), 6);
        view.nodes.push(node(1, &[]));
        view = settle(view, &[], &binds);
        assert_eq!([0, 1].map(|number| count(&view, number, is_bind)), [3, 3]);
        view.nodes.push(node(2, &[]));
        view = settle(view, &[], &binds);
        let counts = [0, 1, 2].map(|number| count(&view, number, is_bind));
        assert_eq!(counts.iter().sum::<usize>(), 6);
        assert!(
            counts.iter().all(|held| (1..=3).contains(held)),
            "{counts:?}"
        );
    }

    #[test]
    fn what_one_node_gave_back_it_leaves_to_the_others() {
        let binds = [1, 2, 3].map(|operator| BindNeed { operator, slots: 1 });
        let mut view = View {
            nodes: vec![node(0, &[])],
            ..View::default()
        };
        view = settle(view, &[], &binds);
        view.nodes.push(node(1, &[]));
        let look = |view: &View, others_had_time| {
            let shares = Shares {
                me: 0,
                view,
                queues: &[],
                binds: &binds,
                others_had_time,
            };
            shares.rebalance()
        };
        let first = look(&view, false);
        assert_eq!(first.release.len(), 1);
        view.held
            .retain(|held| !first.release.contains(&held.resource));
        let second = look(&view, false);
        assert_eq!(second.claim, [], "the other node has not looked yet");
        assert!(second.is_patient);
        assert_eq!(look(&view, true).claim, first.release, "nobody wants it");
    }

    #[test]
    fn a_draining_or_dead_node_holds_nothing_new_and_gives_back() {
        let mut view = View {
            nodes: vec![node(0, &[7]), node(1, &[7])],
            ..View::default()
        };
        view = settle(view, &[QUEUE], &[]);
        view.nodes[0].card.draining = true;
        view = settle(view, &[QUEUE], &[]);
        assert_eq!(count(&view, 1, is_queue), 32);
        assert!(
            view.held
                .iter()
                .any(|held| held.resource == Resource::Janitor && held.node == 1)
        );
    }
}
