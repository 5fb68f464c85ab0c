//! Why a message waits, as JSON: part of `GET /v1/messages/{id}`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time;
use smsc_proto as pb;

/// Why a message waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Wait {
    /// A word: `suspended`, `paused`, `no bind`, `failing`, `throttled`, `window`, `rate`, `turn`, `answer`, `receipt`,
    /// `retry`, `schedule`, `lookup`, `parts`, `outcome unknown`, `store`, `queue` or `no queue`.
    pub reason: String,
    /// The same as a sentence.
    pub text: String,
    /// Until when, if that is known.
    #[schema(format = DateTime)]
    pub until: Option<String>,
}

impl From<pb::WaitView> for Wait {
    fn from(waits: pb::WaitView) -> Self {
        let until = time(waits.until);
        let shown = until.as_deref().unwrap_or("an unknown time");
        Self {
            reason: waits.reason,
            text: waits.text.replace("{until}", shown),
            until,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_in_the_sentence() {
        let wait = Wait::from(pb::WaitView {
            reason: "retry".to_owned(),
            text: "it is tried again at {until}".to_owned(),
            until: 1_700_000_000_000,
        });
        assert_eq!(wait.text, "it is tried again at 2023-11-14T22:13:20.000Z");
        assert_eq!(wait.until.as_deref(), Some("2023-11-14T22:13:20.000Z"));
    }
}
