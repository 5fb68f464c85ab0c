//! What a word leads to.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/find`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FoundNames {
    /// Accounts first, then operators, other resources, errors, keys of the configuration and sections of the manual.
    pub found: Vec<FoundName>,
}

/// Something whose name is like the word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FoundName {
    /// `accounts`, `operators` and so on for a resource; `error`, `key` or `manual`.
    pub kind: String,
    /// Of a resource its name, of an error `ESME_RTHROTTLED`, of a key `accounts.max_binds`, of a section its title.
    pub name: String,
    /// What it says or means; empty for a resource.
    pub text: String,
    /// Of a section of the manual its place below `/docs/`; null for others.
    pub page: Option<String>,
}
