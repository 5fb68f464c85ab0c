//! The opt-out lists as the admin API shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/opt-outs`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OptOuts {
    /// Newest first.
    pub opt_outs: Vec<OptOut>,
    /// `before` of the next page; null on the last one.
    pub next_before: Option<String>,
}

/// An opt-out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OptOut {
    /// Without a leading plus.
    pub number: String,
    /// Whose messages; null for everybody's.
    pub account: Option<String>,
    /// Since when.
    #[schema(format = DateTime)]
    pub at: Option<String>,
    /// Who changed it: a token, or a keyword and the sender of that message.
    pub by: String,
}

/// `PUT` and `DELETE /v1/opt-outs/{number}`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChangedOptOut {
    /// False when it was so already.
    pub changed: bool,
}
