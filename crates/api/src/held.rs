//! Messages that wait for an order, as the admin API shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Message, time};
use smsc_proto as pb;

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
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

// === conversions ===

impl From<pb::HeldList> for HeldMessages {
    fn from(list: pb::HeldList) -> Self {
        Self {
            messages: list.messages.into_iter().map(HeldEntry::from).collect(),
            next_after: (list.next != 0).then(|| list.next.to_string()),
            count: list.count,
            partitions: list.partitions,
        }
    }
}

impl From<pb::HeldView> for HeldEntry {
    fn from(held: pb::HeldView) -> Self {
        let message = held.message.map(|view| Message::new(view, false));
        let of = |field: fn(&Message) -> &String| message.as_ref().map(|one| field(one).clone());
        Self {
            id: held.id.to_string(),
            since: time(held.since),
            from: of(|one| &one.from),
            to: of(|one| &one.to),
            sender: of(|one| &one.sender),
            queue: of(|one| &one.queue),
            accepted_at: message.as_ref().and_then(|one| one.accepted_at.clone()),
        }
    }
}
