//! Failures by what they have in common, and errors in words.

use serde::{Deserialize, Serialize};
use smsc_domain::error_meaning::ErrorMeaning;
use utoipa::ToSchema;

/// `GET /v1/failures`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailureReport {
    /// What they are counted by.
    pub by: String,
    #[schema(format = DateTime)]
    pub ended_since: Option<String>,
    #[schema(format = DateTime)]
    pub ended_until: Option<String>,
    /// False where more messages have ended in this time than one answer counts: then only the latest ones are counted.
    pub complete: bool,
    /// Since when all are counted, if not since `ended_since`; null otherwise.
    #[schema(format = DateTime)]
    pub counted_since: Option<String>,
    /// All that were counted.
    pub messages: u64,
    /// The largest hundred, the largest first; hours in the order of time.
    pub groups: Vec<FailureGroup>,
    /// Messages of all other groups.
    pub rest: u64,
    /// From the first to the last, those without messages included.
    pub buckets: Vec<FailureBucket>,
    /// Which operators and accounts are not well now, each in a sentence: the incidents that go on, whatever is counted.
    #[serde(default)]
    pub incidents: Vec<String>,
}

/// Failures that have one thing in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailureGroup {
    /// The error code as it is kept, the name of an operator or account, the ISO 3166-1 code of a country, or the beginning
    /// of an hour. Empty for messages without it: those the filters `error` and `country` call `none`.
    pub key: String,
    pub messages: u64,
    /// The id of the latest of them.
    pub latest: String,
    /// What the error means, as the latest of them has it; null where nobody knows but the operator, and for other groups.
    #[serde(default)]
    pub in_words: Option<ErrorInWords>,
}

/// Failures of some time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailureBucket {
    #[schema(format = DateTime)]
    pub since: Option<String>,
    #[schema(format = DateTime)]
    pub until: Option<String>,
    pub messages: u64,
    /// How many of them are of the first groups, in their order; at most six, and none of hours.
    pub of_groups: Vec<u64>,
}

/// What an error means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorInWords {
    /// As it is called: `ESME_RTHROTTLED`, `RP_CONGESTION`; the state of a message that ended without a code.
    pub name: String,
    /// What it says, in one sentence.
    pub meaning: String,
    /// What usually helps, in one sentence.
    pub cure: String,
}

impl From<ErrorMeaning> for ErrorInWords {
    fn from(words: ErrorMeaning) -> Self {
        Self {
            name: words.name.to_owned(),
            meaning: words.meaning.to_owned(),
            cure: words.cure.to_owned(),
        }
    }
}
