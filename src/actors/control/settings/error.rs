//! Errors of reading and changing the configuration.

use crate::config::{ConfigProblem, Unopened};
use crate::store::StoreError;

/// How often a change is repeated on top of another one that came between.
pub(super) const TRIES: usize = 8;

/// Why the configuration was not changed or cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// All problems of the given configuration.
    #[error("{}", said(.0))]
    Invalid(Vec<ConfigProblem>),
    /// There is no such resource or version.
    #[error("{0}")]
    NotFound(String),
    /// If-Match or If-None-Match does not hold.
    #[error("{0}")]
    Precondition(String),
    /// Passwords in the store that cannot be opened, or cannot be sealed.
    #[error("{0}")]
    Sealed(String),
    /// Other changes keep coming between.
    #[error("the configuration was changed by others {TRIES} times meanwhile; try again")]
    Busy,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SettingsError {
    /// # Errors
    /// [`Self::Invalid`] if there are problems.
    pub(super) fn if_any(problems: Vec<ConfigProblem>) -> Result<(), Self> {
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Self::Invalid(problems))
        }
    }
}

fn said(problems: &[ConfigProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("; ")
}

impl From<Unopened> for SettingsError {
    fn from(error: Unopened) -> Self {
        Self::Sealed(error.to_string())
    }
}
