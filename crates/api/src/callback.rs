//! Callbacks as the admin API shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time;
use smsc_proto as pb;

/// An attempt at a callback, and the answer of `POST /v1/accounts/{name}/callback/test`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CallbackAttempt {
    /// When it ended.
    #[schema(format = DateTime)]
    pub at: Option<String>,
    /// Of the answer; null when there is none.
    pub status: Option<u16>,
    /// Why there is no answer.
    pub error: Option<String>,
    pub latency_ms: u32,
    /// How the body of the answer begins; null without one.
    pub answer: Option<String>,
}

impl From<pb::CallbackAttempt> for CallbackAttempt {
    fn from(attempt: pb::CallbackAttempt) -> Self {
        Self {
            at: time(attempt.at),
            status: u16::try_from(attempt.status)
                .ok()
                .filter(|status| *status > 0),
            error: (!attempt.error.is_empty()).then_some(attempt.error),
            latency_ms: attempt.latency_ms,
            answer: (!attempt.said.is_empty()).then_some(attempt.said),
        }
    }
}
