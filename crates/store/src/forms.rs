//! The port for what correlation has learned: the form of the ids in an operator's receipts
//! (`message_id = "auto"`).
//!
//! Read at start, written when a form is learned or changes, which is rare.

use super::Reply;

/// Learned forms of operators' message ids.
pub trait FormStore {
    /// The form of each operator, by its interned name; what the numbers mean is the caller's.
    fn message_id_forms(&self) -> Reply<Vec<(u32, u8)>>;

    /// Stores the form of an operator, replacing the earlier one.
    fn keep_message_id_form(&self, operator: u32, form: u8) -> Reply<()>;
}

/// The key in the table `meta`, in front of the operator's number.
const KEY: &str = "message_id_form:";

/// The key of an operator in the table `meta`.
pub fn key(operator: u32) -> String {
    format!("{KEY}{operator}")
}

/// Reads a row of the table `meta`; `None` for one of another kind.
pub fn of_meta(key: &str, value: i64) -> Option<(u32, u8)> {
    let operator = key.strip_prefix(KEY)?.parse().ok()?;
    Some((operator, u8::try_from(value).ok()?))
}

/// Those rows of the table `meta`.
pub const SELECT: &str = "SELECT key, value FROM meta WHERE key LIKE 'message_id_form:%'";
