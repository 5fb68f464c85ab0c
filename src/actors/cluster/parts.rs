//! Which node holds which part of the queues: the same part of all of them is best with one node.
//!
//! A message and its receipt have the part of the message's destination. Where one node has that part of the
//! operator's queue and of the account's, its receipts need no hand-off. Called by `shares`; a preference only:
//! nothing moves for it.

use super::spread::SpreadRow;
use crate::domain::partition::PARTITIONS;
use crate::store::cluster::{LeasedResource, View};

/// Numbers of nodes.
const NODES: usize = 1 << u8::BITS;

/// Of how many queues each node holds a part, by part and node.
pub struct PartHolders(Vec<u32>);

// === impl PartHolders ===

impl PartHolders {
    pub fn of(view: &View) -> Self {
        let mut counts = vec![0; usize::from(PARTITIONS) * NODES];
        for held in &view.held {
            // Not what is held as a whole.
            if let LeasedResource::Queue(partition) = held.resource
                && partition.part < PARTITIONS
            {
                counts[place(partition.part, held.node)] += 1;
            }
        }
        Self(counts)
    }

    /// Prefers for each part of a queue the node that has it of the most other ones.
    pub fn prefer(&self, row: &mut SpreadRow, nodes: &[u8]) {
        // With more nodes than parts the same ones would have nothing of any queue.
        if nodes.len() > usize::from(PARTITIONS) {
            return;
        }
        // What several queues lose at once is dealt to the same nodes.
        row.key = 0;
        let parts = (0..PARTITIONS).zip(&row.holders);
        row.preferred = parts
            .map(|(part, holder)| self.favourite(part, *holder, nodes))
            .collect();
    }

    /// `holder` has the part of the queue itself, which does not count.
    fn favourite(&self, part: u8, holder: Option<u8>, nodes: &[u8]) -> Option<u8> {
        let others = |node: u8| self.0[place(part, node)] - u32::from(holder == Some(node));
        let most = nodes.iter().copied().rev().max_by_key(|node| others(*node));
        most.filter(|node| others(*node) > 0)
    }
}

fn place(part: u8, node: u8) -> usize {
    usize::from(part) * NODES + usize::from(node)
}
