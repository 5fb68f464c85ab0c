//! The active messages in the store, sorted by who continues them: the initial state of queues and
//! Correlation.
//!
//! Read by `app` at the start, by a queue that starts again, by the cluster actor when it takes partitions
//! over, and by the janitor, which compares it with the queues.

use std::collections::HashMap;

use crate::actors::context::item::{Item, PRIORITIES, Seed, expiry_second};
use crate::actors::receipts::correlation::Awaited;
use crate::config::{Config, ValidityConfig};
use crate::pb::delivery::What;
use crate::store::{Active, MessageStage, Store, StoreError};

#[derive(Debug, Default)]
pub struct Seeds {
    pub queues: HashMap<u32, Vec<Seed>>,
    /// Messages that wait for their receipts.
    pub sent: Vec<Awaited>,
    /// Unfinished messages per sender, for the limits of accounts.
    pub unfinished: HashMap<u32, u64>,
    pub active: u64,
    /// How long messages wait for receipts.
    validity: ValidityConfig,
}

// === impl Seeds ===

impl Seeds {
    /// Empty; the rules for reading come from this configuration.
    pub fn new(config: &Config) -> Self {
        Self {
            validity: config.validity.clone(),
            ..Self::default()
        }
    }

    /// Reads the store; blocks.
    pub fn read(store: &dyn Store, config: &Config) -> Result<Self, StoreError> {
        let mut seeds = Self::new(config);
        store.recover(None, &mut |active| seeds.add(active))?;
        Ok(seeds)
    }

    /// Sorts one active message in.
    pub fn add(&mut self, active: Active) {
        self.active += 1;
        if !matches!(active.stage, MessageStage::Untold { .. }) {
            *self.unfinished.entry(active.sender).or_default() += 1;
        }
        if let MessageStage::Sent { at, ids } = active.stage {
            self.sent.extend(Awaited::of(active.id, at, ids));
            return;
        }
        let (queue, what, unsure) = match active.stage {
            MessageStage::Untold { tell, .. } => (tell, What::Receipt, false),
            MessageStage::OutcomeUnknown => (active.queue, What::Message, true),
            _ => (active.queue, What::Message, false),
        };
        let expires_at = match active.stage {
            MessageStage::Untold { at, .. } => self.validity.of_receipt(at),
            _ => active.expires_at,
        };
        self.queues.entry(queue).or_default().push(Seed {
            item: Item {
                id: active.id,
                expires: expiry_second(expires_at),
                attempts: active.attempts.min(u32::from(u16::MAX)) as u16,
                priority: active.priority.min(PRIORITIES as u32 - 1) as u8,
                what,
                part: active.part,
                sender: active.sender,
            },
            due_at: match what {
                What::Receipt => 0,
                What::Message => active.due_at,
            },
            unsure,
            ended: u8::try_from(active.ended).unwrap_or(u8::MAX),
        });
    }
}
