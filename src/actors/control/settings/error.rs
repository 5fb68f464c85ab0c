//! Why the configuration was not changed or cannot be shown.

use crate::config::{Problem, Unopened};
use crate::store::StoreError;

/// How often a change is made again on top of somebody else's that came between.
pub(super) const TRIES: usize = 8;

/// Why the configuration was not changed or cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// Everything that is wrong with what was given.
    #[error("{}", said(.0))]
    Invalid(Vec<Problem>),
    /// There is no such resource or version.
    #[error("{0}")]
    NotFound(String),
    /// If-Match or If-None-Match does not hold.
    #[error("{0}")]
    Precondition(String),
    /// Passwords in the store that cannot be opened, or not be sealed.
    #[error("{0}")]
    Sealed(String),
    /// Others change it all the time.
    #[error("the configuration was changed by others {TRIES} times meanwhile; try again")]
    Busy,
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn said(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("; ")
}

impl From<Unopened> for SettingsError {
    fn from(error: Unopened) -> Self {
        Self::Sealed(error.to_string())
    }
}
