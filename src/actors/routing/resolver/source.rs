//! Who is asked about numbers, as the resolver sees it, and why there may be no answer.
//!
//! Implemented by each kind of source. Invariant: an answer is one that the question may have, or an empty
//! text when the source knows nothing; anything else is an error. Unknown and unreachable are different
//! outcomes, and every question ends in time.

use std::future::Future;
use std::pin::Pin;

/// Somebody who is asked about numbers.
pub trait LookUpSource {
    /// What it is, for people.
    fn name(&self) -> String;

    /// Asks about a number without a plus. Bounded in time.
    fn ask(&self, number: &[u8]) -> LookUpAnswer;
}

/// An answer to come: empty when the source knows nothing about the number.
pub type LookUpAnswer = Pin<Box<dyn Future<Output = Result<String, LookupError>>>>;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    #[error("it answers with status {0}")]
    Status(u16),
    #[error("its answer cannot be used: {0}")]
    Unusable(String),
}
