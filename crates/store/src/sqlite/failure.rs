//! Classifies a failed commit: a bad row, a failed disk, or unknown.
//!
//! Called by the writer only; guarantees that an I/O error is never taken for a bad row, and that a
//! full disk is never taken for a broken one.

use rusqlite::ErrorCode;

use super::rows::RowError;

/// SQLITE_IOERR_SHMSIZE: the shared-memory file could not grow, which is a full disk in practice.
const IOERR_SHMSIZE: i32 = 4874;

/// Why a transaction did not commit. It has been rolled back.
#[derive(Debug)]
pub enum SqliteFailure {
    /// One row is at fault: find it, quarantine it, write the rest.
    Row(String),
    /// No space left: results wait, new messages are refused.
    Full(String),
    /// Another process holds the write lock: wait.
    Busy(String),
    /// The disk or the file cannot be trusted: end the process.
    Fatal(String),
    /// Anything else; the batch is answered with it.
    Other(String),
}

// === impl SqliteFailure ===

impl From<rusqlite::Error> for SqliteFailure {
    fn from(error: rusqlite::Error) -> Self {
        let text = error.to_string();
        let rusqlite::Error::SqliteFailure(inner, _) = &error else {
            // Raised by rusqlite itself while binding: a value that SQLite cannot hold.
            return Self::Row(text);
        };
        let text = format!("{text} (SQLite code {})", inner.extended_code);
        match inner.code {
            ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::TypeMismatch => {
                Self::Row(text)
            }
            ErrorCode::DiskFull => Self::Full(text),
            ErrorCode::SystemIoFailure if inner.extended_code == IOERR_SHMSIZE => Self::Full(text),
            ErrorCode::SystemIoFailure
            | ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::FileLockingProtocolFailed => Self::Fatal(text),
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Busy(text),
            _ => Self::Other(text),
        }
    }
}

impl From<RowError> for SqliteFailure {
    fn from(error: RowError) -> Self {
        match error {
            RowError::Row(reason) => Self::Row(reason),
            RowError::Sql(error) => error.into(),
        }
    }
}

/// The message of a panic.
pub fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned());
    format!("panic: {}", text.unwrap_or_else(|| "unknown".to_owned()))
}
