//! The claims that a batch of submissions answers: one for all of it, or one for each submission.
//!
//! Held by the admission of the batch. Invariant: the answer of a claim is in the commit of the messages that it is about.

use std::collections::HashMap;

use crate::actors::ingress::idempotency::IdempotencyClaim;
use crate::pb::SubmitResult;
use crate::store::idempotency::IdempotencyRow;

/// The claims of a batch.
#[derive(Default)]
pub enum Keys {
    #[default]
    None,
    /// The batch is one request.
    All(Box<IdempotencyClaim>),
    /// Each submission is one: the claims are in the order of the sequence numbers, which begin with 0.
    Each(Vec<IdempotencyClaim>),
}

// === impl Keys ===

impl Keys {
    pub(super) fn are_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// The rows of the answers, to be written with the messages. A submission that was refused, and is a request of its
    /// own, has none.
    pub(super) fn rows(&mut self, results: Vec<SubmitResult>) -> Vec<IdempotencyRow> {
        match self {
            Self::None => Vec::new(),
            Self::All(claim) => vec![claim.row(results)],
            Self::Each(claims) => {
                let accepted = results.into_iter().filter(|result| result.status == 0);
                let row = |result: SubmitResult| {
                    let claim = claims.get_mut(result.sequence as usize)?;
                    Some(claim.row(vec![alone(&result)]))
                };
                accepted.filter_map(row).collect()
            }
        }
    }

    /// The store has the rows.
    pub(super) fn kept(&mut self) {
        match self {
            Self::None => {}
            Self::All(claim) => claim.kept(),
            Self::Each(claims) => {
                let answered = claims.iter_mut().filter(|claim| claim.is_answered());
                answered.for_each(IdempotencyClaim::kept);
            }
        }
    }

    /// These are the results.
    pub(super) async fn end(self, results: &[SubmitResult]) {
        match self {
            Self::None => {}
            Self::All(claim) => {
                IdempotencyClaim::end_all(vec![(*claim, results.to_vec())]).await;
            }
            Self::Each(claims) => {
                let of: HashMap<u32, &SubmitResult> =
                    results.iter().map(|one| (one.sequence, one)).collect();
                let ended = (0_u32..).zip(claims).filter_map(|(sequence, claim)| {
                    let own = of.get(&sequence)?;
                    Some((claim, vec![alone(own)]))
                });
                IdempotencyClaim::end_all(ended.collect()).await;
            }
        }
    }
}

/// A result as that of a request of one submission.
fn alone(result: &SubmitResult) -> SubmitResult {
    SubmitResult {
        sequence: 0,
        ..*result
    }
}
