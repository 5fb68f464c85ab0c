//! Why a message waits, as JSON: part of `GET /v1/messages/{id}`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time;
use smsc_proto as pb;

/// Why a message waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Wait {
    /// A word: `suspended`, `paused`, `no bind`, `failing`, `throttled`, `window`, `rate`, `turn`, `answer`, `receipt`,
    /// `retry`, `schedule`, `lookup`, `parts`, `outcome unknown`, `held`, `store`, `queue` or `no queue`.
    pub reason: String,
    /// The same as a sentence.
    pub text: String,
    /// Until when, if that is known.
    #[schema(format = DateTime)]
    pub until: Option<String>,
    /// Since when, if it is held.
    #[schema(format = DateTime)]
    #[serde(default)]
    pub since: Option<String>,
}

impl From<pb::WaitView> for Wait {
    fn from(waits: pb::WaitView) -> Self {
        let (until, since) = (time(waits.until), time(waits.since));
        let shown = |time: &Option<String>| time.as_deref().unwrap_or("an unknown time").to_owned();
        let text = waits.text.replace("{until}", &shown(&until));
        Self {
            reason: waits.reason,
            text: text.replace("{since}", &shown(&since)),
            until,
            since,
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
            ..pb::WaitView::default()
        });
        assert_eq!(wait.text, "it is tried again at 2023-11-14T22:13:20.000Z");
        assert_eq!(wait.until.as_deref(), Some("2023-11-14T22:13:20.000Z"));
        let wait = Wait::from(pb::WaitView {
            text: "held since {since}".to_owned(),
            since: 1_700_000_000_000,
            ..pb::WaitView::default()
        });
        assert_eq!(wait.text, "held since 2023-11-14T22:13:20.000Z");
        assert_eq!(wait.until, None);
        assert_eq!(wait.since.as_deref(), Some("2023-11-14T22:13:20.000Z"));
    }
}
