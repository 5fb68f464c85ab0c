//! Suspects that are kept out of the lists until they are tried.

use super::Suspects;
use crate::actors::context::item::Item;
use crate::actors::queue::partition_set::PartitionSet;
use crate::pb::Message;

impl Suspects {
    /// Keeps a suspect out of the lists until it is tried.
    pub fn set_aside(&mut self, item: Item, message: Option<Box<Message>>) {
        self.aside.insert(item.id, (item, message));
    }

    /// Gives one back that was set aside.
    pub fn take_aside(&mut self, id: u64) -> Option<Item> {
        self.aside.remove(&id).map(|(item, _)| item)
    }

    /// Gives back all that were set aside, or those of some partitions, in order.
    pub fn take_all_aside(&mut self, of: Option<PartitionSet>) -> Vec<Item> {
        let fits = |item: &Item| of.is_none_or(|parts| parts.has(item.part));
        let taken = self.aside.extract_if(.., |_, (item, _)| fits(item));
        taken.map(|(_, (item, _))| item).collect()
    }

    /// Gives back those that are acquitted, in order.
    pub fn take_acquitted(&mut self) -> Vec<Item> {
        if self.aside.is_empty() {
            return Vec::new();
        }
        let all = &self.all;
        let taken = self.aside.extract_if(.., |id, _| !all.contains_key(id));
        taken.map(|(_, (item, _))| item).collect()
    }

    /// Takes out those that are late at this second (Unix).
    pub fn take_late(&mut self, second: u32) -> Vec<Item> {
        let late = |item: &Item| item.expires <= second;
        let taken = self.aside.extract_if(.., |_, (item, _)| late(item));
        taken.map(|(_, (item, _))| item).collect()
    }

    pub fn aside_len(&self) -> usize {
        self.aside.len()
    }
}
