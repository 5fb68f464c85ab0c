//! Balances and quotas as the admin API shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/accounts/{name}/balance`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Balance {
    pub account: String,
    /// Whether messages are paid from the balance.
    pub prepaid: bool,
    /// What is left, on all nodes.
    pub credits: i64,
    /// What nodes have reserved of it for the next seconds; 0 with the embedded store.
    pub reserved: i64,
    /// Segments (short messages) per UTC day; null without a quota.
    pub quota_per_day: Option<i64>,
    /// Segments of this UTC day; counted while there is a quota.
    pub quota_used_today: i64,
    /// When the next UTC day begins.
    #[schema(format = DateTime)]
    pub resets_at: Option<String>,
}

/// What was added to a balance, or taken from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TopUp {
    pub id: String,
    #[schema(format = DateTime)]
    pub at: Option<String>,
    /// Credits; below zero for a correction.
    pub add: i64,
    /// Null when none was given.
    pub reference: Option<String>,
    /// Token and address of who ordered it.
    pub by: String,
}

/// `POST /v1/accounts/{name}/balance`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ToppedUp {
    /// This reference was there already with the same amount: nothing was changed.
    pub repeated: bool,
    /// The first one of its reference.
    pub top_up: TopUp,
    pub balance: Balance,
}

/// `GET /v1/accounts/{name}/balance/top-ups`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TopUps {
    /// Newest first.
    pub top_ups: Vec<TopUp>,
    /// `before` of the next page; null on the last one.
    pub next_before: Option<String>,
}
