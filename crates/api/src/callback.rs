//! Callbacks as the admin API shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::copies::copies;
use super::time;
use smsc_proto as pb;

copies! {
    /// An attempt at a callback, and the answer of `POST /v1/accounts/{name}/callback/test`.
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
    pub struct CallbackAttempt from pb::CallbackAttempt as attempt {
        /// When it ended.
        #[schema(format = DateTime)]
        pub at: Option<String> = time(attempt.at),
        /// Of the answer; null when there is none.
        pub status: Option<u16> = u16::try_from(attempt.status).ok().filter(|status| *status > 0),
        /// Why there is no answer.
        pub error: Option<String> = (!attempt.error.is_empty()).then_some(attempt.error),
        pub latency_ms: u32,
        /// How the body of the answer begins; null without one.
        pub answer: Option<String> = (!attempt.said.is_empty()).then_some(attempt.said),
    }
}
