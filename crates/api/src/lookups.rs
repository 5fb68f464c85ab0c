//! Look-ups of numbers as the admin API shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::words::LookupKind;
use smsc_proto as pb;

/// `GET /v1/lookups`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Lookups {
    pub lookups: Vec<Lookup>,
}

/// One question about numbers, as this node stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Lookup {
    pub question: LookupKind,
    /// Answers in memory, those included whose time is over.
    pub cached: u64,
    /// Messages that wait for an answer.
    pub waiting: u64,
    /// A source counts as away and is asked by one request at a time only.
    pub away: bool,
    /// Whether anybody can be asked, besides a table.
    pub has_source: bool,
}

/// `DELETE /v1/lookups/{question}` and `/v1/lookups/{question}/{msisdn}`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Forgotten {
    /// Answers that the node which carried it out had in memory.
    pub forgotten: u64,
}

// === conversions ===

impl From<pb::LookupQuestion> for LookupKind {
    fn from(question: pb::LookupQuestion) -> Self {
        match question {
            pb::LookupQuestion::Network => Self::Network,
            pb::LookupQuestion::Imsi => Self::Imsi,
        }
    }
}

impl From<LookupKind> for pb::LookupQuestion {
    fn from(kind: LookupKind) -> Self {
        match kind {
            LookupKind::Network => Self::Network,
            LookupKind::Imsi => Self::Imsi,
        }
    }
}
