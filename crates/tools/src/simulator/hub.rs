//! Routes deliveries to a receiver if the connection that created them cannot send them itself.
//!
//! A transmitter's receipts, those of a connection that has ended, and MO messages pass through here,
//! in batches. Per system_id: its receiver binds in turn, or a bounded buffer until one binds (what
//! does not fit is dropped and counted). A transceiver's own receipts never come here.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use super::counters::{SimulatorCounters, add};
use super::delivery::SimulatedDelivery;

/// Receipts kept for one system_id that has no receiver bound.
const PARKED_MAX: usize = 1_000_000;

/// All receivers of a simulator.
#[derive(Debug)]
pub(super) struct ReceiverHub {
    groups: Mutex<HashMap<Bytes, ReceiverGroup>>,
    counters: Arc<SimulatorCounters>,
}

/// The receivers of one system_id.
#[derive(Debug, Default)]
struct ReceiverGroup {
    receivers: Vec<Arc<Inbox>>,
    parked: Vec<SimulatedDelivery>,
    next: usize,
}

/// What others have for one receiver bind.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    waiting: Mutex<Vec<SimulatedDelivery>>,
    wake: Notify,
}

// === impl ReceiverHub ===

impl ReceiverHub {
    pub(super) fn new(counters: Arc<SimulatorCounters>) -> Self {
        Self {
            groups: Mutex::default(),
            counters,
        }
    }

    /// A receiver has bound: it gets everything that was parked, and its share from now on.
    pub(super) fn join(&self, system_id: &Bytes) -> Arc<Inbox> {
        let inbox = Arc::new(Inbox::default());
        let mut groups = self.lock();
        let group = groups.entry(system_id.clone()).or_default();
        self.counters
            .receipts_parked
            .fetch_sub(group.parked.len() as u64, Ordering::Relaxed);
        inbox.put(std::mem::take(&mut group.parked));
        group.receivers.push(inbox.clone());
        inbox
    }

    /// A receiver has gone: what it still had goes to the others of its system_id.
    pub(super) fn leave(
        &self,
        system_id: &Bytes,
        inbox: &Arc<Inbox>,
        mut left: Vec<SimulatedDelivery>,
    ) {
        if let Some(group) = self.lock().get_mut(system_id) {
            group.receivers.retain(|other| !Arc::ptr_eq(other, inbox));
        }
        left.append(&mut inbox.take());
        self.forward(system_id, left);
    }

    /// Gives a batch to the next receiver of this system_id, or parks it.
    pub(super) fn forward(&self, system_id: &Bytes, batch: Vec<SimulatedDelivery>) {
        if batch.is_empty() {
            return;
        }
        let mut groups = self.lock();
        let group = groups.entry(system_id.clone()).or_default();
        if let Some(inbox) = group.next_receiver() {
            return inbox.put(batch);
        }
        let offered = batch.len();
        let room = PARKED_MAX.saturating_sub(group.parked.len());
        group.parked.extend(batch.into_iter().take(room));
        let parked = offered.min(room);
        add(&self.counters.receipts_parked, parked as u64);
        add(&self.counters.receipts_dropped, (offered - parked) as u64);
    }

    /// Gives a batch to any receiver; false when none is bound.
    pub(super) fn forward_to_any(&self, batch: Vec<SimulatedDelivery>) -> bool {
        let mut groups = self.lock();
        let receiver = groups.values_mut().find_map(ReceiverGroup::next_receiver);
        receiver.map(|inbox| inbox.put(batch)).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Bytes, ReceiverGroup>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl ReceiverGroup ===

impl ReceiverGroup {
    fn next_receiver(&mut self) -> Option<&Arc<Inbox>> {
        let count = self.receivers.len();
        if count == 0 {
            return None;
        }
        self.next = (self.next + 1) % count;
        self.receivers.get(self.next)
    }
}

// === impl Inbox ===

impl Inbox {
    /// Returns when something was put in.
    pub(super) async fn filled(&self) {
        self.wake.notified().await;
    }

    /// Everything that waits.
    pub(super) fn take(&self) -> Vec<SimulatedDelivery> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn put(&self, mut batch: Vec<SimulatedDelivery>) {
        if batch.is_empty() {
            return;
        }
        self.waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .append(&mut batch);
        self.wake.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::delivery::{DeliveryKind, Mo};
    use super::*;

    fn batch(count: usize) -> Vec<SimulatedDelivery> {
        let mo = Mo {
            from: Bytes::new(),
            to: Bytes::new(),
            text: Bytes::new(),
        };
        vec![
            SimulatedDelivery {
                due: Instant::now(),
                refusals: 0,
                kind: DeliveryKind::Mo(mo),
            };
            count
        ]
    }

    #[test]
    fn batches_are_parked_shared_and_handed_on() {
        let counters = Arc::new(SimulatorCounters::default());
        let hub = ReceiverHub::new(counters.clone());
        let (one, other) = (Bytes::from_static(b"one"), Bytes::from_static(b"other"));
        hub.forward(&one, batch(3));
        assert_eq!(counters.snapshot().receipts_parked, 3);
        assert!(!hub.forward_to_any(batch(1)));

        let stranger = hub.join(&other);
        assert_eq!(stranger.take().len(), 0, "another system_id");
        let first = hub.join(&one);
        assert_eq!(first.take().len(), 3);
        assert_eq!(counters.snapshot().receipts_parked, 0);

        let second = hub.join(&one);
        hub.forward(&one, batch(1));
        hub.forward(&one, batch(1));
        assert_eq!((first.take().len(), second.take().len()), (1, 1), "in turn");

        hub.forward(&one, batch(1));
        hub.forward(&one, batch(1));
        hub.leave(&one, &second, batch(2));
        assert_eq!(first.take().len(), 4, "nothing is lost with a receiver");
        hub.leave(&one, &first, batch(1));
        assert_eq!(counters.snapshot().receipts_parked, 1);
    }
}
