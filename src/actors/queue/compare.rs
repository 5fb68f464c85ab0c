//! What the store has for this queue, compared with what the queue knows.
//!
//! Asked by the janitor now and then, a page of the active messages at a time
//! ([`crate::actors::control::janitor`]). Keeps true that nothing is put back that is on its way somewhere: a
//! message has to be missed twice, unchanged in the store, without having been handed over to the
//! queue in between. Each question looks once through the lists in memory, as expiry does every second.

use std::collections::HashMap;

use actix::{Context, Handler, MessageResult};

use super::level::Level;
use super::messages::{Compare, Compared, Missed};
use super::seeds::Seed;
use super::{Item, Queue};
use crate::pb::delivery::What;

impl Queue {
    /// Those that are in no list in memory; `None` while some may be on their way into one.
    fn unknown(&self, expected: Vec<Seed>) -> Option<Vec<Seed>> {
        if !self.phase.running() || self.reading {
            return None;
        }
        let key = |item: &Item| (item.id, item.what);
        let mut unknown: HashMap<_, _, ahash::RandomState> = expected
            .into_iter()
            .map(|seed| (key(&seed.item), seed))
            .collect();
        let levels = self.lists.levels().iter();
        let waiting = levels.flat_map(Level::in_memory);
        let scheduled = self.scheduled.items().copied();
        let held = self.held.values().map(|held| held.item);
        let unsure = self.unsure.values().map(|(_, item)| *item);
        let all = waiting.chain(scheduled);
        for item in all.chain(held).chain(unsure) {
            if unknown.is_empty() {
                break;
            }
            unknown.remove(&key(&item));
        }
        let mut unknown: Vec<Seed> = unknown.into_values().collect();
        unknown.sort_unstable_by_key(|seed| seed.item.id);
        Some(unknown)
    }

    /// It has come into the queue after all.
    pub(super) fn not_missed(&mut self, id: u64, what: What) {
        if !self.missed.is_empty() {
            self.missed.remove(&(id, what));
        }
    }
}

impl Handler<Compare> for Queue {
    type Result = MessageResult<Compare>;

    fn handle(&mut self, compare: Compare, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.unknown(compare.expected).map(|missing| {
            let inside = |(lowest, highest): (u64, u64)| {
                let from = missing.partition_point(|seed| seed.item.id < lowest);
                missing
                    .get(from)
                    .is_some_and(|seed| seed.item.id <= highest)
            };
            let blocks = self.lists.levels().iter().flat_map(Level::spilled_blocks);
            let blocks = blocks.filter(|(_, ids)| inside(*ids));
            Compared {
                blocks: blocks.map(|(number, _)| number).collect(),
                missing,
            }
        }))
    }
}

impl Handler<Missed> for Queue {
    type Result = u64;

    fn handle(&mut self, missed: Missed, ctx: &mut Context<Self>) -> u64 {
        let Missed { round, seeds } = missed;
        self.missed
            .retain(|_, (_, in_round)| *in_round + 1 >= round);
        let Some(unknown) = self.unknown(seeds) else {
            return 0;
        };
        let mut put_back = Vec::new();
        for seed in unknown {
            let key = (seed.item.id, seed.item.what);
            match self.missed.get(&key) {
                Some((before, in_round)) if *before == seed && *in_round < round => {
                    let is_ours = self
                        .node
                        .local_lease
                        .hold()
                        .owns(self.port.id, seed.item.part);
                    if is_ours && !self.is_leaving(&seed.item) {
                        put_back.push(seed);
                    }
                }
                _ => drop(self.missed.insert(key, (seed, round))),
            }
        }
        if put_back.is_empty() {
            return 0;
        }
        let count = put_back.len() as u64;
        let first = put_back.first().map(|seed| seed.item.id);
        tracing::error!(queue = %self.port.name, messages = count, first, "messages that no queue knew are put back");
        self.node.metrics.put_back.inc_by(count);
        put_back.into_iter().for_each(|seed| self.plant(seed));
        self.pump(ctx);
        self.publish();
        count
    }
}
