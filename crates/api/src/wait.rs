//! Why a message waits, as JSON: part of `GET /v1/messages/{id}`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why a message waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Wait {
    /// A word: `suspended`, `paused`, `no bind`, `failing`, `throttled`, `window`, `rate`, `turn`, `answer`, `receipt`,
    /// `retry`, `schedule`, `lookup`, `parts`, `outcome unknown`, `held`, `store`, `queue` or `no queue`.
    pub reason: String,
    /// Why it waits, as a sentence.
    pub text: String,
    /// Until when, if that is known.
    #[schema(format = DateTime)]
    pub until: Option<String>,
    /// Since when, if it is held.
    #[schema(format = DateTime)]
    #[serde(default)]
    pub since: Option<String>,
}
