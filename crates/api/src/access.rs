//! Tokens, API keys, the audit log and the drain as the admin API shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{KeyRoleName, RoleName, time};
use smsc_domain::id;
use smsc_proto as pb;

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
    pub method: String,
    /// Numbers of subscribers are masked.
    pub path: String,
    /// The HTTP status of the answer.
    pub status: u32,
    /// The node that answered.
    pub node: u32,
    /// Details that are not in the path: that a text was read, the name and role of a new token,
    /// how many refused requests this entry stands for.
    pub detail: String,
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

// === conversions ===

impl From<pb::TokenList> for Tokens {
    fn from(list: pb::TokenList) -> Self {
        Self {
            tokens: list.tokens.into_iter().map(Token::from).collect(),
        }
    }
}

impl From<pb::TokenView> for Token {
    fn from(token: pb::TokenView) -> Self {
        Self {
            name: token.name,
            role: token.role,
            created_at: time(token.created_at),
            created_by: token.created_by,
            expires_at: time(token.expires_at),
            used_at: time(token.used_at),
        }
    }
}

impl From<pb::AddedToken> for NewToken {
    fn from(made: pb::AddedToken) -> Self {
        Self {
            token: made.token.unwrap_or_default().into(),
            secret: made.secret,
        }
    }
}

impl From<pb::ApiKeyList> for ApiKeys {
    fn from(list: pb::ApiKeyList) -> Self {
        Self {
            keys: list.keys.into_iter().map(ApiKey::from).collect(),
        }
    }
}

impl From<pb::ApiKeyView> for ApiKey {
    fn from(key: pb::ApiKeyView) -> Self {
        Self {
            id: key.id,
            account: key.account,
            label: key.label,
            role: key.role,
            allow: key.allow,
            created_at: time(key.created_at),
            created_by: key.created_by,
            expires_at: time(key.expires_at),
            used_at: time(key.used_at),
        }
    }
}

impl From<pb::AddedApiKey> for NewApiKey {
    fn from(made: pb::AddedApiKey) -> Self {
        Self {
            key: made.key.unwrap_or_default().into(),
            secret: made.secret,
        }
    }
}

impl From<pb::AuditList> for Audit {
    fn from(list: pb::AuditList) -> Self {
        Self {
            entries: list.entries.into_iter().map(AuditEntry::from).collect(),
            next_before: (list.next_before != 0).then(|| list.next_before.to_string()),
        }
    }
}

impl From<pb::AuditEntry> for AuditEntry {
    fn from(entry: pb::AuditEntry) -> Self {
        let what = entry.what.unwrap_or_default();
        Self {
            id: entry.id.to_string(),
            at: time(id::millis(entry.id)),
            token: what.token,
            role: what.role,
            address: what.address,
            method: what.method,
            path: what.path,
            status: what.status,
            node: entry.node,
            detail: what.detail,
        }
    }
}

impl From<pb::DrainView> for Drain {
    fn from(drain: pb::DrainView) -> Self {
        Self {
            draining: drain.draining,
            in_flight: drain.in_flight,
            sessions: drain.sessions,
            finished: drain.draining && drain.in_flight == 0 && drain.sessions == 0,
        }
    }
}
