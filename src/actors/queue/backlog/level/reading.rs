//! Which bodies of a level are read next: those of accounts that have none, then those of all.

use super::{FEW, Item, Level, LevelPage, Listed, Message, Weights};
use crate::actors::queue::backlog::waiting::Popped;

/// Most bodies read at once for a hungry account while others have enough. Where many accounts share a
/// page, each may have this many, because reading them together costs less.
const BITE: usize = 16;

impl Level {
    /// Whether more bodies are to be read: half of the page is used up, or a quarter while as many
    /// messages with bodies have come behind those without.
    pub fn runs_low(&self, page: usize) -> bool {
        self.ready * 2 <= page || (self.ready * 4 <= page * 3 && self.behind * 4 >= page)
    }

    /// Takes out the items to read next, at most `most`: those of hungry accounts and, while the page
    /// runs low, of all others. [`Level::end_reading`] follows.
    pub fn next_page(&mut self, page: usize, most: usize) -> LevelPage {
        let mut next = LevelPage::default();
        let runs_low = self.runs_low(page);
        let mut senders = Vec::with_capacity(self.hungry.len());
        for sender in std::mem::take(&mut self.hungry) {
            if let Some(flow) = self.flows.get_mut(&sender)
                && flow.listed == Listed::Hungry
            {
                flow.listed = Listed::Nowhere;
                senders.push(sender);
            }
        }
        if runs_low {
            let flows = &self.flows;
            let has_more =
                |sender: &&u32| (flows.get(*sender)).is_some_and(|flow| !flow.waiting.is_empty());
            senders.extend(self.turns.iter().filter(has_more));
        }
        let share = (most / senders.len().max(1)).max(1);
        let share = if self.ready >= page {
            share.min(FEW)
        } else if runs_low {
            // The accounts at the end get theirs with the next page.
            share.max(BITE)
        } else {
            BITE
        };
        for sender in senders {
            if next.items.len() < most {
                self.take_page(sender, share.min(most - next.items.len()), &mut next);
            }
            self.list(sender);
        }
        next
    }

    fn take_page(&mut self, sender: u32, most: usize, next: &mut LevelPage) {
        let Some(flow) = self.flows.get_mut(&sender) else {
            return;
        };
        let before = next.items.len();
        while next.items.len() - before < most {
            match flow.waiting.pop() {
                Popped::Item(item) => next.items.push(Item { sender, ..item }),
                Popped::Spilled(number) => {
                    if next.items.len() == before {
                        next.blocks.push(number);
                    }
                    break;
                }
                Popped::Empty => break,
            }
        }
        let taken = next.items.len() - before;
        self.waiting -= taken;
        if taken > 0 {
            flow.is_being_read = true;
            self.reading.push(sender);
        }
    }

    /// An item of the page has been read.
    pub fn read(&mut self, item: Item, message: Box<Message>, weights: &Weights) {
        let flow = self.flow(item.sender, weights);
        if !flow.returned.is_empty() {
            flow.put_returned(item);
            self.waiting += 1;
            return;
        }
        let octets = message.weight();
        flow.ready.push_back((item, message));
        self.octets += octets;
        self.ready += 1;
        self.list(item.sender);
    }

    /// The whole page has been read or was given back by [`Level::push_front`].
    pub fn end_reading(&mut self) {
        for sender in std::mem::take(&mut self.reading) {
            if let Some(flow) = self.flows.get_mut(&sender) {
                flow.is_being_read = false;
                let returned = flow.returned.drain(..).rev();
                returned.for_each(|item| flow.waiting.push_first(item));
            }
            self.join(sender);
            self.list(sender);
        }
    }
}
