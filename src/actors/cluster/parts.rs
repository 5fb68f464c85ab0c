//! Which node holds which part of the queues: the same part of all of them is best with one node.
//!
//! A message and its receipt have the part of the message's destination. Where one node has that part of the
//! operator's queue and of the account's, its receipts need no hand-off. Called by `shares`; a preference only:
//! nothing moves for it.

use std::collections::HashMap;

use super::spread::Row;
use crate::domain::partition::{PARTITIONS, WHOLE};
use crate::store::cluster::{Resource, View};

/// How many queues each node holds a part of, by part.
pub struct Parts {
    counts: HashMap<(u8, u8), u32>,
}

// === impl Parts ===

impl Parts {
    pub fn of(view: &View) -> Self {
        let mut counts = HashMap::new();
        for held in &view.held {
            if let Resource::Queue(partition) = held.resource
                && partition.part != WHOLE
            {
                *counts.entry((partition.part, held.node)).or_default() += 1;
            }
        }
        Self { counts }
    }

    /// Prefers for each part of a queue the node that has it of the most other ones.
    pub fn prefer(&self, row: &mut Row, nodes: &[u8]) {
        // With more nodes than parts the same ones would have nothing of any queue.
        if nodes.len() > usize::from(PARTITIONS) {
            return;
        }
        row.key = 0;
        let parts = (0..PARTITIONS).zip(&row.holders);
        row.preferred = parts
            .map(|(part, holder)| self.favourite(part, *holder, nodes))
            .collect();
    }

    /// The holder of the row itself does not count.
    fn favourite(&self, part: u8, holder: Option<u8>, nodes: &[u8]) -> Option<u8> {
        let others = |node: u8| {
            let all = self.counts.get(&(part, node)).copied().unwrap_or_default();
            all - u32::from(holder == Some(node))
        };
        let most = nodes.iter().copied().rev().max_by_key(|node| others(*node));
        most.filter(|node| others(*node) > 0)
    }
}
