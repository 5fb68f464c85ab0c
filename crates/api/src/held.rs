//! Messages that wait for an order, as the admin API shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/held`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HeldMessages {
    /// The lowest ids first.
    pub messages: Vec<HeldEntry>,
    /// `after` of the next page; null on the last one.
    pub next_after: Option<String>,
    /// How many there are on all pages.
    pub count: u64,
    /// Partitions of queues in which more may be found.
    pub partitions: u64,
}

/// A message that may have been sent before the database went back in time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HeldEntry {
    /// The message.
    pub id: String,
    /// Since when it is held.
    #[schema(format = DateTime)]
    pub since: Option<String>,
    /// As it is routed and stored; null, like all below, when its row is gone.
    #[serde(default)]
    pub from: Option<String>,
    /// As it is routed and stored.
    #[serde(default)]
    pub to: Option<String>,
    /// Who brought it: `account:…` or `operator:…`.
    #[serde(default)]
    pub sender: Option<String>,
    /// The queue that it goes back to.
    #[serde(default)]
    pub queue: Option<String>,
    #[schema(format = DateTime)]
    #[serde(default)]
    pub accepted_at: Option<String>,
}
