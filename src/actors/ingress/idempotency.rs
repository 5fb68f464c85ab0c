//! The guard of requests with an Idempotency-Key: each is carried out once, and a repetition gets the same answer.
//!
//! The HTTP side asks [`begin`] first. A new request gets a [`IdempotencyClaim`], which goes to Ingest with the batch of its
//! submissions ([`Submit`](super::ingest::Submit)). Ingest writes the answer with the messages, in one
//! transaction. One request is one batch.
//!
//! A claim that is dropped without an answer frees its key. That is so when every submission was refused: nothing
//! is stored then, and the sender may repeat the request under the same key. If at least one was accepted, the
//! refusals of the others are part of the answer; to submit those again takes a new key.

use std::sync::Arc;

use prost::Message as _;
use sha2::{Digest as _, Sha256};

use crate::actors::context::NodeContext;
use crate::clock;
use crate::pb::{IdempotentAnswer, SubmitResult};
use crate::store::idempotency::{Claimed, HASH, IdempotencyRow, KeyClaim};
use crate::store::{StoreError, WriteBatch};
use crate::telemetry::metrics::ResultLabel;

/// A request as it is compared with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    account: u32,
    key: [u8; HASH],
    request: [u8; HASH],
}

/// What is to be done with a request.
pub enum BegunRequest {
    /// It is new. Ingest needs the claim.
    New(Box<IdempotencyClaim>),
    /// It was carried out: the same answer is due.
    Again(IdempotentAnswer),
}

/// Why a request that may be repeated was not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotOnce {
    /// Another request had the same key (422).
    OtherRequest,
    /// A request with this key is being carried out (409).
    InProgress,
    /// `api.idempotency_keys` keys are remembered (503).
    Full,
    /// The store does not answer.
    Unavailable(String),
    /// An error of the SMSC; it is not known whether it was carried out.
    Broken,
}

/// The right to carry a request out, and the duty to keep its answer.
pub struct IdempotencyClaim {
    node: Arc<NodeContext>,
    claim: KeyClaim,
    /// The results that were last given to the store.
    results: Vec<SubmitResult>,
    is_kept: bool,
}

impl From<StoreError> for NotOnce {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

// === impl Request ===

impl Request {
    /// `account` is its interned name, `target` what the body is for, such as method and path.
    pub fn new(account: u32, key: &str, target: &str, body: &[u8]) -> Self {
        let mut request = Sha256::new();
        // With the key, which is kept nowhere and usually random: nobody can find numbers by guessing bodies.
        for part in [key, target] {
            request.update((part.len() as u64).to_le_bytes());
            request.update(part);
        }
        request.update(body);
        Self {
            account,
            key: Sha256::digest(key).into(),
            request: request.finalize().into(),
        }
    }
}

/// Claims the key of a request, or tells what became of the one before.
///
/// # Errors
/// It is not to be carried out; nothing is claimed.
pub async fn begin(node: &Arc<NodeContext>, request: Request) -> Result<BegunRequest, NotOnce> {
    let node = Arc::clone(node);
    to_its_end(async move {
        let claim = claim_of(&node, &request);
        let claimed = node.store.claim_key(claim.clone()).await?;
        begun(&node, claim, claimed)
    })
    .await
}

/// Goes on if the client leaves, so that a claim is dropped rather than forgotten.
async fn to_its_end<T: Send + 'static>(
    asking: impl Future<Output = Result<T, NotOnce>> + Send + 'static,
) -> Result<T, NotOnce> {
    match tokio::spawn(asking).await {
        Ok(begun) => begun,
        Err(error) => Err(StoreError::Failed(error.to_string()).into()),
    }
}

/// Begins requests that have come together, in one question to the store; in their order.
///
/// # Errors
/// The store did not answer; claims are over as [`IdempotencyStore::claim_keys`] says.
///
/// [`IdempotencyStore::claim_keys`]: crate::store::idempotency::IdempotencyStore::claim_keys
pub async fn begin_all(
    node: &Arc<NodeContext>,
    requests: Vec<Request>,
) -> Result<Vec<Result<BegunRequest, NotOnce>>, NotOnce> {
    let node = Arc::clone(node);
    to_its_end(async move {
        let claims: Vec<KeyClaim> = requests.iter().map(|one| claim_of(&node, one)).collect();
        let claimed = node.store.claim_keys(claims.clone()).await?;
        let both = claims.into_iter().zip(claimed);
        Ok(both
            .map(|(claim, claimed)| begun(&node, claim, claimed))
            .collect())
    })
    .await
}

fn claim_of(node: &NodeContext, request: &Request) -> KeyClaim {
    let at = clock::now_ms();
    let retention = node.config().api.idempotency.as_millis();
    KeyClaim {
        account: request.account,
        key: request.key,
        request: request.request,
        at,
        since: at.saturating_sub(i64::try_from(retention).unwrap_or(i64::MAX)),
    }
}

fn begun(
    node: &Arc<NodeContext>,
    claim: KeyClaim,
    claimed: Claimed,
) -> Result<BegunRequest, NotOnce> {
    let result = match &claimed {
        Claimed::New => "new",
        Claimed::Done(_) => "repeated",
        Claimed::Other => "other_request",
        Claimed::InProgress => "in_progress",
        Claimed::Full => "full",
    };
    let requests = &node.metrics.idempotency;
    requests.get_or_create(&ResultLabel { result }).inc();
    match claimed {
        Claimed::New => Ok(BegunRequest::New(Box::new(IdempotencyClaim {
            node: Arc::clone(node),
            claim,
            results: Vec::new(),
            is_kept: false,
        }))),
        Claimed::Done(answer) => match IdempotentAnswer::decode(claim.open(&answer)?) {
            Ok(answer) => Ok(BegunRequest::Again(answer)),
            Err(error) => {
                let text = format!("the answer to a request cannot be read: {error}");
                Err(StoreError::Failed(text).into())
            }
        },
        Claimed::Other => Err(NotOnce::OtherRequest),
        Claimed::InProgress => Err(NotOnce::InProgress),
        Claimed::Full => Err(NotOnce::Full),
    }
}

// === impl IdempotencyClaim ===

impl IdempotencyClaim {
    /// The row to write with the messages of the request.
    pub(super) fn row(&mut self, results: Vec<SubmitResult>) -> IdempotencyRow {
        let mut answer = IdempotentAnswer {
            results,
            ..IdempotentAnswer::default()
        };
        answer.results.sort_unstable_by_key(|one| one.sequence);
        let sealed = self.claim.seal(&answer.encode_to_vec());
        let row = self.claim.answered(sealed);
        self.results = answer.results;
        row
    }

    /// Whether there is a row of it.
    pub(super) fn is_answered(&self) -> bool {
        !self.results.is_empty()
    }

    /// The store has the row.
    pub(super) fn kept(&mut self) {
        self.is_kept = true;
    }

    /// The row to write when these are the results: once more if they differ from those of the row before, because the
    /// store rejected a message, or because of a duplicate of a submission that was just being stored; and now if only
    /// duplicates were accepted.
    fn last_row(&mut self, results: Vec<SubmitResult>) -> Option<IdempotencyRow> {
        if !self.is_kept && results.iter().all(|result| result.status != 0) {
            return None;
        }
        let written = std::mem::take(&mut self.results);
        let row = self.row(results);
        (!self.is_kept || self.results != written).then_some(row)
    }

    /// These are the results of requests. What is still to be written of their answers shares a commit.
    pub(super) async fn end_all(ended: Vec<(Self, Vec<SubmitResult>)>) {
        let (mut claims, mut rows) = (Vec::new(), Vec::new());
        for (mut claim, results) in ended {
            if let Some(row) = claim.last_row(results) {
                claims.push(claim);
                rows.push(row);
            }
        }
        let Some(first) = claims.first() else {
            return;
        };
        let batch = WriteBatch {
            idempotency: rows,
            ..WriteBatch::default()
        };
        match first.node.store.write(batch).await {
            Ok(_) => claims.iter_mut().for_each(Self::kept),
            Err(error) => {
                tracing::error!(%error, "the answers to requests with an Idempotency-Key are not kept");
            }
        }
    }
}

impl Drop for IdempotencyClaim {
    fn drop(&mut self) {
        if !self.is_kept {
            // It is carried out without being waited for; if it fails, the claim ends by itself.
            drop(self.node.store.release_key(self.claim.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
