//! Damaged rows of the store as the admin API shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/damaged`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DamagedRows {
    /// The last ids first.
    pub rows: Vec<DamagedRowEntry>,
    /// `before` of the next page; null on the last one.
    pub next_before: Option<String>,
}

/// A row of the store that is not as it was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DamagedRowEntry {
    /// The table that it is in.
    pub table: String,
    /// The message that it is about, as far as that is legible; the number of the row in the table `parked`.
    pub id: String,
    /// What is wrong with it.
    pub why: String,
    /// What it seems to say, numbers masked and without the text; it may be as wrong as the rest.
    pub legible: String,
    /// When it was found.
    #[schema(format = DateTime)]
    pub found_at: Option<String>,
}
