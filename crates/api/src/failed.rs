//! Unmatched receipts and replays as the admin API shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/receipts/unmatched`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Unmatched {
    /// Newest first.
    pub receipts: Vec<UnmatchedReceipt>,
    /// `before` of the next page; null on the last one.
    pub next_before: Option<String>,
}

/// A receipt that matches no message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UnmatchedReceipt {
    pub id: String,
    /// Who brought it: `operator:…`.
    pub operator: String,
    /// The message id that it names.
    pub operator_message_id: String,
    /// The subscriber according to the receipt; empty in receipts parked by a release before this
    /// list.
    pub from: String,
    /// The recipient according to the receipt.
    pub to: String,
    pub state: String,
    /// The operator's error code, as it was written; empty without one.
    pub error: String,
    /// When it came.
    #[schema(format = DateTime)]
    pub at: Option<String>,
    /// When the message ended according to the receipt.
    #[schema(format = DateTime)]
    pub done_at: Option<String>,
    /// Its text, which may have the beginning of the message; null unless it was asked for.
    pub text: Option<String>,
}

/// `POST /v1/messages/{id}/replay`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Replayed {
    /// The id of the new message.
    pub message: String,
}

/// `POST /v1/messages/replay`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReplayReport {
    /// Nothing was sent.
    pub dry_run: bool,
    /// Messages that fit, up to the limit.
    pub matched: u64,
    pub replayed: u64,
    /// Messages that cannot be sent again, or that were refused as a submission would be.
    pub refused: u64,
    /// Why, for the first twenty of them.
    pub reasons: Vec<RefusedReplay>,
    /// Messages that fit and were not reached in time: repeat the request.
    pub left: u64,
    /// `before` for what is older; null when there is no more.
    pub next_before: Option<String>,
}

/// `POST /v1/messages/cancel`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CancelReport {
    /// Nothing was cancelled.
    pub dry_run: bool,
    /// Messages that fit and that no operator has, up to the limit.
    pub matched: u64,
    pub cancelled: u64,
    /// Messages that could not be cancelled: a session had them, or they ended meanwhile.
    pub refused: u64,
    /// Why, for the first twenty of them.
    pub reasons: Vec<RefusedReplay>,
    /// Messages that fit and were not reached in time: repeat the request.
    pub left: u64,
    /// `before` for what is older; null when there is no more.
    pub next_before: Option<String>,
}

/// A message that was not sent again, or not cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RefusedReplay {
    pub id: String,
    pub reason: String,
}
