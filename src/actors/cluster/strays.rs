//! Finds items of the hand-off table that were written for a queue of an account as a whole while it is held in
//! parts, or the other way round.
//!
//! Nodes learn with their next look that a queue is held otherwise, and builds before hand everything over for whole
//! queues. Nobody collects such items where they are, so one node for each queue looks for them: while nodes may not
//! have looked yet, and always while there are nodes of such a build. Invariant: a view is no older than a lease.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::partition::WHOLE;
use crate::store::cluster::{LeasedResource, NodeView, Partition, View};

/// How long to look after a change, in leases.
const LEASES: u32 = 2;

/// The queues of accounts, and how they are held.
#[derive(Default)]
pub struct Strays {
    /// Whether in parts, and until when to look.
    queues: HashMap<u32, (bool, Instant)>,
    /// Queues that this node looks at, as a whole and in parts.
    mine: (Vec<u32>, Vec<u32>),
    is_mixed: bool,
    is_looking: bool,
}

// === impl Strays ===

impl Strays {
    /// How the queues are held now; `is_account` tells those that may be held both ways.
    pub fn see(&mut self, view: &View, me: u8, lease: Duration, is_account: impl Fn(u32) -> bool) {
        let knows = |node: &NodeView| node.card.splits_accounts;
        let mut living = view.living();
        self.is_mixed = !living.clone().all(knows);
        let is_first = living
            .find(|node| knows(node))
            .is_some_and(|node| node.node == me);
        let is_of_before = |number: u8| {
            let mut nodes = view.nodes.iter();
            nodes.any(|node| node.node == number && !knows(node))
        };
        let until = Instant::now() + lease * LEASES;
        let before = std::mem::take(&mut self.queues);
        self.mine = (Vec::new(), Vec::new());
        for held in &view.held {
            // Of the parts the first one stands for all.
            let (queue, is_divided) = match held.resource {
                LeasedResource::Queue(Partition { queue, part: WHOLE }) => (queue, false),
                LeasedResource::Queue(Partition { queue, part: 0 }) => (queue, true),
                _ => continue,
            };
            if !is_account(queue) {
                continue;
            }
            let as_before = before.get(&queue).filter(|(was, _)| *was == is_divided);
            let seen = as_before.copied().unwrap_or((is_divided, until));
            self.queues.insert(queue, seen);
            let is_mine = held.node == me || (is_first && is_of_before(held.node));
            match is_divided {
                _ if !is_mine => {}
                false => self.mine.0.push(queue),
                true => self.mine.1.push(queue),
            }
        }
    }

    /// The queues to look at now, whole ones and divided ones, until [`Strays::end`]; nothing while others are being
    /// looked at.
    pub fn begin(&mut self) -> Option<(Vec<u32>, Vec<u32>)> {
        let (whole, divided) = self.due();
        let is_nothing = whole.is_empty() && divided.is_empty();
        if self.is_looking || is_nothing {
            return None;
        }
        self.is_looking = true;
        Some((whole, divided))
    }

    pub fn end(&mut self) {
        self.is_looking = false;
    }

    fn due(&self) -> (Vec<u32>, Vec<u32>) {
        let now = Instant::now();
        let is_due = |queue: &&u32| {
            self.is_mixed
                || self
                    .queues
                    .get(queue)
                    .is_some_and(|(_, until)| now < *until)
        };
        let due = |queues: &[u32]| queues.iter().filter(is_due).copied().collect();
        (due(&self.mine.0), due(&self.mine.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::cluster::{NodeCard, ResourceHolder};

    const LEASE: Duration = Duration::from_secs(15);

    fn node(number: u8, splits_accounts: bool) -> NodeView {
        NodeView {
            node: number,
            epoch: 1,
            card: NodeCard {
                splits_accounts,
                ..NodeCard::default()
            },
            lives_for: Some(LEASE),
            dead_for: Duration::ZERO,
            since: 0,
        }
    }

    /// Queue, part, node.
    fn view(nodes: &[NodeView], held: &[(u32, u8, u8)]) -> View {
        let held = held.iter().map(|&(queue, part, node)| ResourceHolder {
            resource: LeasedResource::Queue(Partition { queue, part }),
            node,
            epoch: 1,
        });
        View {
            nodes: nodes.to_vec(),
            held: held.collect(),
            now: 0,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_node_looks_while_others_may_not_know_yet() {
        let nodes = [node(0, true), node(1, true)];
        let mut strays = Strays::default();
        let mut due = |held: &[(u32, u8, u8)]| {
            strays.see(&view(&nodes, held), 0, LEASE, |queue| queue < 10);
            strays.due()
        };
        let held = [
            (7, WHOLE, 0),
            (8, WHOLE, 1),
            (9, 0, 0),
            (9, 1, 1),
            (10, 0, 0),
        ];
        assert_eq!(due(&held), (vec![7], vec![9]), "not 10: an operator's");
        tokio::time::advance(LEASE * LEASES).await;
        assert_eq!(due(&held), (vec![], vec![]));
        let held = [(7, 1, 0), (7, 0, 1), (9, WHOLE, 0)];
        assert_eq!(due(&held), (vec![9], vec![]), "7 is for the other node");
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_node_looks_for_those_of_builds_before() {
        let nodes = [node(0, false), node(1, true), node(2, true)];
        let held = [(7, WHOLE, 0), (8, WHOLE, 2)];
        for (me, wanted) in [(1, vec![7]), (2, vec![8])] {
            let mut strays = Strays::default();
            let seen = view(&nodes, &held);
            strays.see(&seen, me, LEASE, |_| true);
            tokio::time::advance(LEASE * LEASES).await;
            strays.see(&seen, me, LEASE, |_| true);
            assert_eq!(strays.due(), (wanted, vec![]), "as node {me} sees it");
        }
    }
}
