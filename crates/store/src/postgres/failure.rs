//! Classifies a failed transaction: a bad row, a temporary failure of the database, or a broken
//! connection.
//!
//! Called by the writer and, for the text, by everyone; guarantees that a database that is away, full
//! or restarting is never taken for a bad row, and that an error text has the server's message.

use deadpool::managed::PoolError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::StoreError;

/// SQLSTATE that the function `fence` raises.
const FENCED: &str = "SM001";

/// What a transaction comes to.
pub type CommitResult<T = ()> = Result<T, PostgresFailure>;

/// Why a transaction was not committed, as far as that is known.
#[derive(Debug)]
pub enum PostgresFailure {
    /// One row is at fault: find it, quarantine it, write the rest.
    Row(String),
    /// It was rolled back and may do better later: a deadlock, a lock, a full disk.
    Later(String),
    /// The connection is gone; whether it was committed is to be found out.
    Lost(String),
    /// The lane belongs to this node no more.
    Fenced,
    /// The store was closed while the database was away: waiting batches are not written any more.
    Closed(String),
    /// Anything else; rolled back, and the batch is answered with it.
    Other(String),
}

// === impl PostgresFailure ===

impl PostgresFailure {
    /// In words.
    pub fn reason(self) -> String {
        match self {
            Self::Row(reason)
            | Self::Later(reason)
            | Self::Lost(reason)
            | Self::Closed(reason)
            | Self::Other(reason) => reason,
            Self::Fenced => StoreError::Fenced.to_string(),
        }
    }
}

impl From<Error> for PostgresFailure {
    fn from(error: Error) -> Self {
        let text = describe(&error);
        let Some(database) = error.as_db_error() else {
            // A parameter that cannot be encoded is a bug, and fails on any connection.
            let is_ours = text.starts_with("error serializing") || text.starts_with("error deser");
            return if is_ours {
                Self::Other(text)
            } else {
                Self::Lost(text)
            };
        };
        let code = database.code().code();
        match code {
            FENCED => Self::Fenced,
            // Cannot be written to: a primary that was demoted.
            "25006" => Self::Lost(text),
            "40001" | "40P01" | "55P03" | "57014" => Self::Later(text),
            // The transaction failed before this statement, which has no error of its own.
            "25P02" => Self::Other(text),
            _ => match &code[..2] {
                "22" | "23" | "54" => Self::Row(text),
                // Out of disk, memory, connections.
                "53" | "58" => Self::Later(text),
                // Connection exceptions; an administrator ended the session or the server.
                "08" | "57" => Self::Lost(text),
                _ => Self::Other(text),
            },
        }
    }
}

/// The server's message, with its SQLSTATE.
pub fn describe(error: &Error) -> String {
    match error.as_db_error() {
        Some(database) => format!(
            "{} (SQLSTATE {})",
            database.message(),
            database.code().code()
        ),
        None => {
            let cause = std::error::Error::source(error);
            let text = cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
            if text.contains("TLS handshake") {
                format!(
                    "{text}; postgres.ca_file names what the server's certificate must descend from"
                )
            } else {
                text
            }
        }
    }
}

/// A [`StoreError::Failed`] with this text.
pub fn failed(text: impl Into<String>) -> StoreError {
    StoreError::Failed(text.into())
}

/// The caller's error for a failed statement.
pub fn sql_failed(error: &Error) -> StoreError {
    let fenced = error.code().is_some_and(|code| code.code() == FENCED);
    if fenced {
        return StoreError::Fenced;
    }
    failed(format!("PostgreSQL: {}", describe(error)))
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        sql_failed(&error)
    }
}

/// What a statement comes to.
pub type DbResult<T = ()> = Result<T, DbError>;

/// Why a transaction failed, with the code that says what to do about it.
#[derive(Debug)]
pub enum DbError {
    Sql(Error),
    Store(StoreError),
    /// A row came that was not asked for: its id is another than its index has.
    Strange(u64),
}

/// What is wrong with a row of this id that was not asked for.
pub fn strange(id: u64) -> String {
    format!("its row says that it is of message {id}")
}

/// Whether the database cannot read a page of its own, or what it read makes no sense.
pub fn is_unreadable(error: &Error) -> bool {
    let Some(database) = error.as_db_error() else {
        return false;
    };
    match database.code().code() {
        // The disk fails, or a row says that it is of a transaction that has no file.
        "58030" | "58P01" => true,
        code => code.starts_with("XX"),
    }
}

// === impl DbError ===

impl DbError {
    pub fn has(&self, code: &SqlState) -> bool {
        matches!(self, Self::Sql(error) if error.code() == Some(code))
    }
}

impl From<Error> for DbError {
    fn from(error: Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for DbError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<PoolError<StoreError>> for DbError {
    fn from(error: PoolError<StoreError>) -> Self {
        Self::Store(error.into())
    }
}

impl From<DbError> for StoreError {
    fn from(error: DbError) -> Self {
        match error {
            DbError::Sql(error) => sql_failed(&error),
            DbError::Store(error) => error,
            DbError::Strange(id) => failed(strange(id)),
        }
    }
}

impl From<PoolError<StoreError>> for StoreError {
    fn from(error: PoolError<StoreError>) -> Self {
        match error {
            PoolError::Backend(error) => error,
            PoolError::Closed => Self::Closed,
            other => failed(format!("PostgreSQL: {other}")),
        }
    }
}
