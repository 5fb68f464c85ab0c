//! The messages in the store that wait for a receipt: the initial state of Correlation.
//!
//! Read by Correlation when it restarts, and by code that sorts all active messages of the store.

use bytes::Bytes;

use crate::store::{MessageStage, Store, StoreError};

/// A message that waits for its receipt.
#[derive(Debug, Clone)]
pub struct Awaited {
    pub id: u64,
    pub operator: u32,
    /// The operator's message id.
    pub theirs: Bytes,
    /// When it was sent last, Unix milliseconds.
    pub at: i64,
}

// === impl Awaited ===

impl Awaited {
    /// A message that was sent, once for each id that the operator has given it.
    pub fn of(id: u64, at: i64, ids: Vec<(u32, Bytes)>) -> impl Iterator<Item = Self> {
        ids.into_iter().map(move |(operator, theirs)| Self {
            id,
            operator,
            theirs,
            at,
        })
    }

    /// All of them; blocks.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(super) fn read(store: &dyn Store) -> Result<Vec<Self>, StoreError> {
        let mut all = Vec::new();
        store.recover(None, &mut |active| {
            if let MessageStage::Sent { at, ids } = active.stage {
                all.extend(Self::of(active.id, at, ids));
            }
        })?;
        Ok(all)
    }
}
