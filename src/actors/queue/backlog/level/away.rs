//! Blocks of a level that are out of memory, being written out, or being read back. Each belongs to one
//! account.

use super::{Flow, Flows, Level};
use crate::actors::queue::backlog::waiting::BLOCK;

/// Blocks with fewer items stay in memory: writing them out would not pay.
const LEAST_BLOCK: usize = 64;

impl Level {
    /// Takes a block to be written out of memory: the newest of the account with the most items.
    /// Confirm with [`Level::spilled_as`].
    pub fn leave(&mut self, number: u64) -> Option<Vec<u8>> {
        let in_memory = |flow: &Flow| flow.waiting.len() - flow.waiting.spilled();
        let most = |least: usize, flows: &Flows| {
            let able = flows
                .iter()
                .filter(|(_, flow)| flow.waiting.may_leave(least));
            let largest = able.max_by_key(|(_, flow)| in_memory(flow));
            largest.map(|(sender, _)| *sender)
        };
        let (sender, least) = match most(BLOCK, &self.flows) {
            Some(sender) => (sender, BLOCK),
            None => (most(LEAST_BLOCK, &self.flows)?, LEAST_BLOCK),
        };
        let octets = self.flows.get_mut(&sender)?.waiting.leave(number, least)?;
        self.blocks.insert(number, sender);
        Some(octets)
    }

    /// The block is in the index file (or, with `kept`, could not be written and stays in memory).
    /// Returns false if its items have been taken out meanwhile: then nobody will read it.
    pub fn spilled_as(&mut self, number: u64, kept: bool) -> bool {
        let sender = self.blocks.get(&number).copied();
        let flow = sender.and_then(|sender| self.flows.get_mut(&sender));
        let is_here = flow.is_some_and(|flow| flow.waiting.spilled_as(number, kept));
        if kept || !is_here {
            self.blocks.remove(&number);
        }
        is_here
    }

    /// A spilled block has been read.
    pub fn filled(&mut self, number: u64, octets: &[u8]) {
        let Some(sender) = self.blocks.remove(&number) else {
            return;
        };
        if let Some(flow) = self.flows.get_mut(&sender) {
            self.waiting -= flow.waiting.len();
            flow.waiting.filled(number, octets);
            self.waiting += flow.waiting.len();
        }
        self.join(sender);
        self.list(sender);
    }

    /// A spilled block that holds an expired item.
    pub fn spilled_expired(&self, now: u32) -> Option<u64> {
        let flows = self.flows.values();
        flows
            .into_iter()
            .find_map(|flow| flow.waiting.spilled_expired(now))
    }

    /// Spilled blocks, each with the lowest and the highest id in it.
    pub fn spilled_blocks(&self) -> impl Iterator<Item = (u64, (u64, u64))> {
        self.flows
            .values()
            .flat_map(|flow| flow.waiting.spilled_blocks())
    }
}
