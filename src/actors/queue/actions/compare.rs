//! What the store has for this queue, compared with what the queue knows.
//!
//! Asked by the janitor now and then, a page of the active messages at a time
//! (the janitor). Keeps true that nothing is put back that is on its way somewhere: a
//! message has to be missed twice, unchanged in the store, without having been handed over to the
//! queue in between. Each question looks once through the lists in memory, as expiry does every second.

use std::collections::HashMap;

use actix::Context;

use crate::actors::context::item::{Item, Seed};
use crate::actors::context::messages::{Compared, Missed};
use crate::actors::queue::Queue;
use crate::actors::queue::backlog::Level;

impl Queue {
    /// Those that are in no list in memory; `None` while some may be on their way into one.
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

    /// Puts back what is lost of what was missed; says how many.
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
