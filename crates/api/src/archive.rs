//! The archive as JSON: `GET /v1/archive`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/archive`: how far finished messages have been copied elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Archive {
    /// `archive.enabled` of the node that answers.
    pub enabled: bool,
    /// `jsonl`, `parquet` or `database`; empty when it is not enabled.
    pub format: String,
    /// The folder of its files on this node; empty for a database.
    pub dir: String,
    /// Finished messages that are not in it yet; at least as many, where there are very many.
    pub waiting: u64,
    /// The earliest end of one of them; null when none waits.
    #[schema(format = DateTime)]
    pub oldest_at: Option<String>,
    /// This node writes it now.
    pub writes_here: bool,
    /// Messages that this node has written since its start.
    pub messages: u64,
    /// Octets that it has written.
    pub octets: u64,
    /// Writes that failed and were or will be repeated.
    pub failures: u64,
}
