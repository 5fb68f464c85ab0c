//! Takes messages out of a level out of turn: by id, by a condition, or any.

use std::collections::VecDeque;

use super::{Flow, Item, Level, ReadyItem, Withdrawn};
use crate::actors::queue::backlog::waiting::{Popped, TakenItem};

impl Level {
    /// Takes out one item by its id; faster with its sender.
    pub fn take(&mut self, id: u64, sender: Option<u32>) -> TakenItem {
        if let Some(sender) = sender {
            return self.take_of(sender, id);
        }
        let senders: Vec<u32> = self.flows.keys().copied().collect();
        let mut taken = TakenItem::NotHere;
        for sender in senders {
            match self.take_of(sender, id) {
                TakenItem::NotHere => {}
                TakenItem::Away => taken = TakenItem::Away,
                found => return found,
            }
        }
        taken
    }

    fn take_of(&mut self, sender: u32, id: u64) -> TakenItem {
        let Some(flow) = self.flows.get_mut(&sender) else {
            return TakenItem::NotHere;
        };
        for (list, count) in flow.bodies(&mut self.ready, &mut self.behind) {
            let at = list.iter().position(|(item, _)| item.id == id);
            if let Some((item, message)) = at.and_then(|at| list.remove(at)) {
                *count -= 1;
                self.octets -= message.weight();
                return TakenItem::Item(item);
            }
        }
        let at = flow.returned.iter().position(|item| item.id == id);
        if let Some(item) = at.and_then(|at| flow.returned.remove(at)) {
            self.waiting -= 1;
            return TakenItem::Item(item);
        }
        let taken = flow.waiting.take(id);
        if let TakenItem::Item(item) = taken {
            self.waiting -= 1;
            self.join(sender);
            return TakenItem::Item(Item { sender, ..item });
        }
        taken
    }

    /// Takes out the items in memory that match `wanted`, with their bodies where these are in memory,
    /// in order of ids.
    pub fn take_if(&mut self, mut wanted: impl FnMut(&Item) -> bool) -> Vec<Withdrawn> {
        let mut taken = Vec::new();
        let senders: Vec<u32> = self.flows.keys().copied().collect();
        for sender in senders {
            self.take_if_of(sender, &mut wanted, &mut taken);
            self.join(sender);
        }
        if self.flows.len() > 1 {
            taken.sort_by_key(|(item, _)| item.id);
        }
        taken
    }

    fn take_if_of(
        &mut self,
        sender: u32,
        wanted: &mut impl FnMut(&Item) -> bool,
        taken: &mut Vec<Withdrawn>,
    ) {
        let Some(flow) = self.flows.get_mut(&sender) else {
            return;
        };
        let (bodies, octets) = take_bodies(&mut flow.ready, wanted, taken);
        self.ready -= bodies;
        self.octets -= octets;
        let (out, stays): (Vec<Item>, Vec<Item>) =
            flow.returned.drain(..).partition(|item| wanted(item));
        flow.returned = stays.into();
        self.waiting -= out.len();
        taken.extend(out.into_iter().map(|item| (item, None)));
        if !flow.waiting.is_empty() {
            let mut wants = |item: &Item| wanted(&Item { sender, ..*item });
            let out = flow.waiting.take_if(&mut wants);
            self.waiting -= out.len();
            let withdrawn = out.into_iter().map(|item| Item { sender, ..item });
            taken.extend(withdrawn.map(|item| (item, None)));
        }
        let (bodies, octets) = take_bodies(&mut flow.behind, wanted, taken);
        self.behind -= bodies;
        self.octets -= octets;
    }

    /// Takes out up to `most` items of any account, with their bodies where these are in memory; also
    /// returns the blocks that must be read back to take more.
    pub fn take_some(&mut self, most: usize) -> (Vec<Withdrawn>, Vec<u64>) {
        let (mut taken, mut blocks) = (Vec::new(), Vec::new());
        let senders: Vec<u32> = self.flows.keys().copied().collect();
        for sender in senders {
            blocks.extend(self.take_some_of(sender, most, &mut taken));
            self.join(sender);
        }
        (taken, blocks)
    }

    /// Returns the block that must be read back to take more.
    fn take_some_of(
        &mut self,
        sender: u32,
        most: usize,
        taken: &mut Vec<Withdrawn>,
    ) -> Option<u64> {
        let flow = self.flows.get_mut(&sender)?;
        while taken.len() < most
            && let Some((item, message)) = flow.ready.pop_front()
        {
            self.ready -= 1;
            self.octets -= message.weight();
            taken.push((item, Some(message)));
        }
        while taken.len() < most
            && let Some(item) = flow.returned.pop_front()
        {
            self.waiting -= 1;
            taken.push((item, None));
        }
        while taken.len() < most {
            match flow.waiting.pop() {
                Popped::Item(item) => {
                    self.waiting -= 1;
                    taken.push((Item { sender, ..item }, None));
                }
                Popped::Spilled(number) => return Some(number),
                Popped::Empty => break,
            }
        }
        None
    }
}

impl Flow {
    /// The lists with bodies, each with its counter in the level.
    fn bodies<'a>(
        &'a mut self,
        ready: &'a mut usize,
        behind: &'a mut usize,
    ) -> [(&'a mut VecDeque<ReadyItem>, &'a mut usize); 2] {
        [(&mut self.ready, ready), (&mut self.behind, behind)]
    }
}

/// Takes out the messages that match `wanted`; returns how many, and what they took in memory.
fn take_bodies(
    list: &mut VecDeque<ReadyItem>,
    wanted: &mut impl FnMut(&Item) -> bool,
    taken: &mut Vec<Withdrawn>,
) -> (usize, u64) {
    let (before, mut octets) = (taken.len(), 0);
    for _ in 0..list.len() {
        let Some((item, message)) = list.pop_front() else {
            break;
        };
        if wanted(&item) {
            octets += message.weight();
            taken.push((item, Some(message)));
        } else {
            list.push_back((item, message));
        }
    }
    (taken.len() - before, octets)
}
