//! Numbers under keys, in the table `meta`. They belong to no node: of two that write one at once the last one wins.

use super::cold::{ColdRecord as _, ColdStatement, record, values};

record! {
    /// A number under a key.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct MetaRow in "meta" {
        pub key: String,
        pub value: i64,
    }
}

// === impl MetaRow ===

impl MetaRow {
    pub fn new(key: impl Into<String>, value: impl Into<i64>) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
        }
    }

    /// The statement that reads those whose keys begin so.
    pub fn starting_with(prefix: &str) -> ColdStatement {
        let rest = "WHERE substr(key, 1, length(CAST($1 AS text))) = $1";
        Self::select(rest, values![prefix.to_owned()])
    }

    /// The number behind a prefix in its key, and its value.
    pub fn numbered(&self, prefix: &str) -> Option<(u32, i64)> {
        let number = self.key.strip_prefix(prefix)?.parse().ok()?;
        Some((number, self.value))
    }

    /// The statement that writes it, over an earlier one.
    pub fn put(&self) -> ColdStatement {
        self.insert("ON CONFLICT(key) DO UPDATE SET value = excluded.value")
    }
}
