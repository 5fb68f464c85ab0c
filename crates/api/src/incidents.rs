//! Operators and accounts that are not well, as the admin API shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/incidents`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Incidents {
    /// Open ones that nobody knows of, open ones that somebody has acknowledged, and those that have ended; each the newest
    /// first.
    pub incidents: Vec<Incident>,
}

/// An operator or account whose messages are refused, fail, get no receipts, or are answered slowly.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Incident {
    pub id: String,
    /// `operator:ID`, `gsm:NAME` or `account:SYSTEM_ID`.
    pub about: String,
    /// `refused`, `failed_receipts`, `missing_receipts` or `slow_answers`.
    pub kind: String,
    /// In one sentence; of one that has ended, as it was last seen.
    pub text: String,
    /// The command_status or message state of most of it; empty for none.
    pub cause: String,
    /// The nodes that have found it.
    pub nodes: Vec<u32>,
    #[schema(format = DateTime)]
    pub began_at: Option<String>,
    /// Null while it goes on.
    #[schema(format = DateTime)]
    pub ended_at: Option<String>,
    /// Token and address of who knows of it; null for nobody.
    pub acknowledged_by: Option<String>,
    #[schema(format = DateTime)]
    pub acknowledged_at: Option<String>,
}
