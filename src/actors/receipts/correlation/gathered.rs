//! The parts of receipts that come in several messages, until they are complete. Bounded by operator, by number and by time.

use std::collections::VecDeque;

use bytes::Bytes;

use std::time::Duration;

use tokio::time::Instant;

use crate::domain::ByQueue;
use crate::pb::{OperatorReceipt, ReceiptPart};

/// How long parts of a receipt wait for the others.
const WAIT: Duration = Duration::from_secs(60);
/// Receipts of an operator that may be incomplete at a time; the oldest give way.
const MOST: usize = 256;

/// Receipts of which parts have come, by operator.
#[derive(Default)]
pub(super) struct Gathered(ByQueue<VecDeque<ReceiptSoFar>>);

/// The parts of one receipt.
pub(super) struct ReceiptSoFar {
    since: Instant,
    pub(super) source: Bytes,
    pub(super) destination: Bytes,
    reference: u32,
    total: u32,
    pub(super) parts: Vec<ReceiptPart>,
    /// Of the parts, in the store.
    pub(super) rows: Vec<u64>,
}

// === impl Gathered ===

impl Gathered {
    /// Adds a part, with its row in the store if it has one; returns the set if it is complete, which is gone then.
    pub(super) fn add(
        &mut self,
        operator: u32,
        receipt: &OperatorReceipt,
        row: Option<u64>,
    ) -> Option<ReceiptSoFar> {
        let part = receipt.part()?;
        let sets = self.0.entry(operator).or_default();
        while sets.front().is_some_and(|set| set.since.elapsed() > WAIT) {
            sets.pop_front();
        }
        let place = sets.iter().position(|set| set.is_of(receipt, part));
        let place = place.unwrap_or_else(|| {
            if sets.len() >= MOST {
                sets.pop_front();
            }
            sets.push_back(ReceiptSoFar::new(receipt, part));
            sets.len() - 1
        });
        let set = &mut sets[place];
        set.parts.retain(|other| other.number != part.number);
        set.parts.push(part.clone());
        set.rows.extend(row);
        if set.parts.len() as u32 == set.total {
            sets.remove(place)
        } else {
            None
        }
    }

    /// Adds the row of a part that was added without one.
    pub(super) fn note_row(&mut self, operator: u32, receipt: &OperatorReceipt, row: u64) {
        if let Some(part) = receipt.part()
            && let Some(sets) = self.0.get_mut(&operator)
            && let Some(set) = sets.iter_mut().find(|set| set.is_of(receipt, part))
        {
            set.rows.push(row);
        }
    }
}

// === impl ReceiptSoFar ===

impl ReceiptSoFar {
    fn new(receipt: &OperatorReceipt, part: &ReceiptPart) -> Self {
        Self {
            since: Instant::now(),
            source: receipt.source.clone(),
            destination: receipt.destination.clone(),
            reference: part.reference,
            total: part.total,
            parts: Vec::new(),
            rows: Vec::new(),
        }
    }

    fn is_of(&self, receipt: &OperatorReceipt, part: &ReceiptPart) -> bool {
        self.reference == part.reference
            && self.total == part.total
            && self.source == receipt.source
            && self.destination == receipt.destination
    }
}
