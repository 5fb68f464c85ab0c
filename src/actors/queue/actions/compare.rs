//! Compares the active messages of the store with those that the queue knows.
//!
//! The janitor asks for it from time to time, one page of active messages at a time. Invariant: the
//! queue puts back no message that is on its way somewhere. A message counts as lost only if two rounds
//! miss it, unchanged in the store, and it was not handed to the queue in between. Each question looks
//! once through the lists in memory, as expiry does every second.

use std::collections::HashMap;

use actix::Context;

use crate::actors::context::item::{Item, Seed};
use crate::actors::context::messages::{Compared, Missed};
use crate::actors::queue::Queue;
use crate::actors::queue::backlog::Level;

impl Queue {
    /// The expected items that are in no list in memory; `None` while some may be on their way into
    /// one.
    fn unknown(&self, expected: Vec<Seed>) -> Option<Vec<Seed>> {
        if !self.recovery.is_running() || self.backlog.is_reading() {
            return None;
        }
        let key = |item: &Item| (item.id, item.what);
        let mut unknown: HashMap<_, _, ahash::RandomState> = expected
            .into_iter()
            .map(|seed| (key(&seed.item), seed))
            .collect();
        for item in self.backlog.in_memory().chain(self.in_flight.items()) {
            if unknown.is_empty() {
                break;
            }
            unknown.remove(&key(&item));
        }
        let mut unknown: Vec<Seed> = unknown.into_values().collect();
        unknown.sort_unstable_by_key(|seed| seed.item.id);
        Some(unknown)
    }

    pub(in crate::actors::queue) fn compare(&self, expected: Vec<Seed>) -> Option<Compared> {
        let missing = self.unknown(expected)?;
        let inside = |(lowest, highest): (u64, u64)| {
            let from = missing.partition_point(|seed| seed.item.id < lowest);
            missing
                .get(from)
                .is_some_and(|seed| seed.item.id <= highest)
        };
        let blocks = self.backlog.levels().iter().flat_map(Level::spilled_blocks);
        let blocks = blocks.filter(|(_, ids)| inside(*ids));
        Some(Compared {
            blocks: blocks.map(|(number, _)| number).collect(),
            missing,
        })
    }

    /// Puts back the missed messages that are lost; returns how many.
    pub(in crate::actors::queue) fn missed(
        &mut self,
        missed: Missed,
        ctx: &mut Context<Self>,
    ) -> u64 {
        let Missed { round, seeds } = missed;
        self.recovery.misses().begin_round(round);
        let Some(mut lost) = self.unknown(seeds) else {
            return 0;
        };
        lost.retain(|seed| {
            self.recovery.misses().is_lost(*seed, round)
                && (self.node.local_lease.hold()).owns(self.port.id, seed.item.part)
                && !self.leaving.has(seed.item.part)
        });
        if lost.is_empty() {
            return 0;
        }
        let count = lost.len() as u64;
        let first = lost.first().map(|seed| seed.item.id);
        tracing::error!(queue = %self.port.name, messages = count, first, "messages that no queue knew are put back");
        self.node.metrics.put_back.inc_by(count);
        lost.into_iter().for_each(|seed| self.plant(seed));
        self.pump(ctx);
        self.publish();
        count
    }
}
