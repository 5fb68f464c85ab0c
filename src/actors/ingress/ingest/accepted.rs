//! The result of a batch of submissions.

use std::sync::Arc;

use crate::actors::context::NodeContext;
use crate::actors::ingress::duplicates::Claim;
use crate::actors::multipart::stage::Staged;
use crate::actors::queue::dispatch::pass_on;
use crate::actors::receipts::shown_id;
use crate::actors::runtime::in_turn::InTurn;
use crate::pb::{SubmitReply, SubmitResult};

/// The answers to a batch, and its accepted messages. These go to their queues by [`Self::pass_on`] once the
/// answers are written, so that no receipt overtakes the answer with its message id. If the session is gone,
/// they go when this is dropped.
pub struct Accepted {
    pub reply: SubmitReply,
    /// Whether the final states that came with the batch are written.
    pub ended: bool,
    node: Arc<NodeContext>,
    taken: Vec<Taken>,
}

/// An accepted message, and the sequence number of its submission.
pub(super) struct Taken {
    pub(super) sequence: u32,
    pub(super) staged: Staged,
    /// Where duplicates are checked: held until the outcome is known.
    pub(super) claim: Option<Box<Claim>>,
}

// === impl Accepted ===

impl Accepted {
    pub(super) fn new(
        results: Vec<SubmitResult>,
        ended: bool,
        node: Arc<NodeContext>,
        taken: Vec<Taken>,
    ) -> Self {
        Self {
            reply: SubmitReply { results },
            ended,
            node,
            taken,
        }
    }

    /// Passes the messages to their queues.
    pub fn pass_on(mut self) {
        self.pass_on_taken();
    }

    fn pass_on_taken(&mut self) {
        let taken = std::mem::take(&mut self.taken);
        let count = taken.iter().map(|taken| taken.staged.dispatches()).sum();
        let dispatches = taken
            .into_iter()
            .flat_map(|taken| taken.staged.into_dispatches(&self.node));
        pass_on(&self.node, count, dispatches);
    }
}

impl Drop for Accepted {
    fn drop(&mut self) {
        if !self.taken.is_empty() {
            self.pass_on_taken();
        }
    }
}

// === impl InTurn ===

impl InTurn<Accepted> {
    /// A batch is answered, or there is none: those whose turn it is go to their queues.
    pub fn pass_on(&mut self, turn: u64, accepted: Option<Accepted>) {
        let accepted = self.end(turn, accepted);
        accepted.into_iter().for_each(Accepted::pass_on);
    }
}

// === impl Taken ===

impl Taken {
    /// The number by which its sender knows it.
    pub(super) fn shown_id(&self) -> u64 {
        let message = self.staged.message();
        message.map_or(self.staged.id(), shown_id::number)
    }

    /// The answer to its submission.
    pub(super) fn result(&self) -> SubmitResult {
        SubmitResult {
            sequence: self.sequence,
            id: self.shown_id(),
            ..SubmitResult::default()
        }
    }

    /// Its claim, with the id to report.
    pub(super) fn claimed(&mut self) -> Option<(Box<Claim>, u64)> {
        let id = self.shown_id();
        self.claim.take().map(|claim| (claim, id))
    }
}
