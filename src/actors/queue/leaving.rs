//! Partitions on their way to another node, and the requests that wait until nothing of them is under way
//! here.
//!
//! Used by the actions that hand partitions over and read for them. Invariants: nothing of such a
//! partition enters a list again, and no partition is given away while a session holds a message of it.

use tokio::sync::oneshot;

use super::partition_set::PartitionSet;

#[derive(Default)]
pub(super) struct Leaving {
    parts: PartitionSet,
    waiters: Vec<(PartitionSet, oneshot::Sender<()>)>,
}

// === impl Leaving ===

impl Leaving {
    pub(super) fn has(&self, part: u8) -> bool {
        self.parts.has(part)
    }

    /// All leaving partitions.
    pub(super) fn parts(&self) -> PartitionSet {
        self.parts
    }

    /// Whether no request waits for a partition.
    pub(super) fn is_settled(&self) -> bool {
        self.waiters.is_empty()
    }

    /// These partitions leave; the answer comes when nothing of them is under way.
    pub(super) fn leave(&mut self, parts: PartitionSet) -> oneshot::Receiver<()> {
        self.parts.add(parts);
        let (waiter, released) = oneshot::channel();
        self.waiters.push((parts, waiter));
        released
    }

    /// These partitions have come back.
    pub(super) fn stay(&mut self, parts: PartitionSet) {
        self.parts.remove(parts);
    }

    /// The requests whose partitions no session holds messages of any more.
    pub(super) fn take_free(&mut self, held: PartitionSet) -> Vec<oneshot::Sender<()>> {
        let free = self.waiters.extract_if(.., |(parts, _)| !parts.meets(held));
        free.map(|(_, waiter)| waiter).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_free_when_no_session_holds_anything_of_it() {
        let mut leaving = Leaving::default();
        let _one = leaving.leave(PartitionSet::of([1]));
        let _two = leaving.leave(PartitionSet::of([2, 3]));
        assert_eq!(leaving.take_free(PartitionSet::of([3, 4])).len(), 1);
        assert!(!leaving.is_settled() && leaving.has(1));
        assert_eq!(leaving.take_free(PartitionSet::default()).len(), 1);
        assert!(leaving.is_settled());
        leaving.stay(PartitionSet::of([1]));
        assert!(!leaving.has(1) && leaving.has(2));
    }
}
