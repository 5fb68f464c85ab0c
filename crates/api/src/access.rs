//! Tokens, API keys, the audit log and the drain as the admin API shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{KeyRoleName, RoleName};

/// `GET /v1/tokens`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Tokens {
    pub tokens: Vec<Token>,
}

/// One token, without its secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    pub name: String,
    #[schema(value_type = RoleName)]
    pub role: String,
    #[schema(format = DateTime)]
    pub created_at: Option<String>,
    /// Token and address of who made it.
    pub created_by: String,
    /// Null for never.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// To the minute; null for never.
    #[schema(format = DateTime)]
    pub used_at: Option<String>,
}

/// `POST /v1/tokens`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewToken {
    pub token: Token,
    /// For `Authorization: Bearer`; shown only here.
    pub secret: String,
}

/// `GET /v1/self`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Myself {
    /// The token's name.
    pub name: String,
    /// Each includes the ones before.
    #[schema(value_type = RoleName)]
    pub role: String,
}

/// `GET /oidc`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignInOffer {
    /// What stands on the console's button behind "Sign in with"; null if only tokens sign in.
    pub label: Option<String>,
}

/// `GET /v1/api-keys`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApiKeys {
    pub keys: Vec<ApiKey>,
}

/// One API key, without its secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApiKey {
    /// Names the key in lists and in the audit log; opens nothing.
    pub id: String,
    /// The account whose messages it submits and sees.
    pub account: String,
    /// What it is for.
    pub label: String,
    #[schema(value_type = KeyRoleName)]
    pub role: String,
    /// IP addresses and CIDR blocks that it may be used from; any if empty.
    pub allow: Vec<String>,
    #[schema(format = DateTime)]
    pub created_at: Option<String>,
    /// Token and address of who made it.
    pub created_by: String,
    /// Null for never.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// To the minute; null for never.
    #[schema(format = DateTime)]
    pub used_at: Option<String>,
}

/// `POST /v1/api-keys`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewApiKey {
    pub key: ApiKey,
    /// For `Authorization: Bearer`; shown only here.
    pub secret: String,
}

/// `GET /v1/audit`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Audit {
    /// Newest first.
    pub entries: Vec<AuditEntry>,
    /// `before` of the next page; null on the last one.
    pub next_before: Option<String>,
}

/// One command or change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    pub id: String,
    #[schema(format = DateTime)]
    pub at: Option<String>,
    /// Name of the token.
    pub token: String,
    /// Its role at that time.
    pub role: String,
    /// Where the request came from.
    pub address: String,
    /// What was asked for, in words: `set account shop`.
    #[serde(default)]
    pub what: String,
    pub method: String,
    /// Numbers of subscribers are masked.
    pub path: String,
    /// The HTTP status of the answer.
    pub status: u32,
    /// The node that answered.
    pub node: u32,
    /// Details that are not in the path: what was changed, that a text was read, the name and role of a
    /// new token, how many refused requests this entry stands for.
    pub detail: String,
    /// The version of the configuration that it made; null for none.
    #[serde(default)]
    pub version: Option<u64>,
}

/// `GET /v1/drain`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Drain {
    pub draining: bool,
    /// Messages that wait for an answer of an operator or account.
    pub in_flight: u64,
    /// SMPP sessions that are still there.
    pub sessions: u64,
    /// Draining, and nothing is left to wait for.
    pub finished: bool,
}
