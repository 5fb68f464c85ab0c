//! The buckets that this node keeps itself, and the answer of an empty one.

use std::time::Duration;

use crate::domain::limit::{Gcra, GcraParameters};
use crate::pb::TakenTokens;

/// Tokens of this node.
pub(super) struct Bucket {
    pub limit: Limit,
    pub gcra: Gcra,
}

/// What a bucket is made with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Limit {
    /// Of an account, or of the operator of a single node: the rate, and what goes out at once.
    Whole(f64, u32),
    Share(GcraParameters),
}

// === impl Limit ===

impl Limit {
    pub fn bucket(&self) -> Gcra {
        match self {
            Self::Whole(rate, burst) => Gcra::new(*rate, *burst),
            Self::Share(pace) => Gcra::paced(pace),
        }
    }
}

/// Nothing; the next question is welcome after this time.
pub(super) fn refused(retry_in: Duration) -> TakenTokens {
    TakenTokens {
        retry_in_ms: retry_in.as_millis() as u32,
        ..TakenTokens::default()
    }
}
