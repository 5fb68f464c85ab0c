//! Takes submissions in: validates, routes through the current plan, makes them durable, answers,
//! and hands them to their queues.
//!
//! One per session arbiter, so that a batch crosses threads only twice: to the store's writer and
//! to the queue. The answer is given after the commit and never before.

mod admission;
mod check;

use std::sync::Arc;

use actix::{Actor, Context, Handler, ResponseFuture, Supervised};

use self::admission::Admission;
use crate::actors::context::NodeContext;
use crate::actors::dispatch::pass_on;
use crate::actors::duplicates::Claim;
use crate::actors::rewrite;
use crate::actors::shown_id;
use crate::actors::stage::Staged;
use crate::actors::timed_mailbox::measured;
use crate::content;
use crate::pb::{Alphabet, Kind, SubmitBatch, SubmitReply, SubmitResult};
use crate::smpp::DeliverSm;

/// Socket reads of one arbiter's sessions.
pub const MAILBOX: usize = 4096;

pub struct Ingest {
    node: Arc<NodeContext>,
}

/// The answers to a batch, and what happens after they are written: the messages go to their
/// queues when this is dropped. So no receipt overtakes the answer that it needs, and nothing stays
/// behind when the session that asked is gone.
pub struct Accepted {
    pub reply: SubmitReply,
    node: Arc<NodeContext>,
    taken: Vec<Taken>,
}

/// An accepted message, and the sequence number of its submission.
struct Taken {
    sequence: u32,
    staged: Staged,
    /// Held until its outcome is known, where duplicates are looked for.
    claim: Option<Box<Claim>>,
}

/// Not in the table of `pb.rs`: the answer carries more than a protobuf struct can.
impl actix::Message for SubmitBatch {
    type Result = Accepted;
}

// === impl Accepted ===

impl Accepted {
    fn new(results: Vec<SubmitResult>, node: Arc<NodeContext>, taken: Vec<Taken>) -> Self {
        Self {
            reply: SubmitReply { results },
            node,
            taken,
        }
    }
}

impl Drop for Accepted {
    fn drop(&mut self) {
        let taken = std::mem::take(&mut self.taken);
        let count = taken.iter().map(|taken| taken.staged.dispatches()).sum();
        let dispatches = taken
            .into_iter()
            .flat_map(|taken| taken.staged.into_parcels());
        pass_on(&self.node, count, dispatches);
    }
}

// === impl Taken ===

impl Taken {
    /// The number by which its sender knows it.
    fn shown_id(&self) -> u64 {
        let message = self.staged.message();
        message.map_or(self.staged.id(), shown_id::number)
    }

    /// Its claim, with what to say of it.
    fn claimed(&mut self) -> Option<(Box<Claim>, u64)> {
        let id = self.shown_id();
        self.claim.take().map(|claim| (claim, id))
    }
}

// === impl Ingest ===

impl Ingest {
    pub fn new(node: Arc<NodeContext>) -> Self {
        Self { node }
    }
}

/// Accepts a batch, stage by stage; what a stage refuses does not reach the next one. Every submission is
/// answered; the accepted ones only after the commit.
pub async fn accept(node: Arc<NodeContext>, batch: SubmitBatch) -> Accepted {
    let (mut admission, submissions) = Admission::begin(node, batch);
    let mut checked = admission.check(submissions).await;
    admission.screen(&mut checked).await;
    admission.take_duplicates_out(&mut checked).await;
    let checked = admission.identify(checked);
    let mut taken = admission.stage(checked);
    admission.charge(&mut taken).await;
    admission.write(&mut taken).await;
    admission.answer(taken).await
}

/// What data_coding 0 means in what this sender submits: as it is configured, else as its listener
/// says.
pub fn alphabet_of(node: &NodeContext, sender: u32, listener: Option<i32>) -> Alphabet {
    let plan = node.plan();
    let says = plan
        .account_by_id(sender)
        .is_none_or(|account| account.config.alphabet.is_some());
    let listener = listener.and_then(|alphabet| Alphabet::try_from(alphabet).ok());
    match listener {
        Some(alphabet) if !says => alphabet,
        _ => content::as_stored(plan.alphabet_of(sender)),
    }
}

/// Which way a message travels that came as `deliver_sm`: to an account's own address it is MO.
pub fn kind_of(node: &NodeContext, sender: u32, deliver: &DeliverSm) -> Kind {
    let plan = node.plan();
    let destination = rewrite::destination(&plan, sender, deliver);
    if plan.mo_account(&destination).is_some() {
        Kind::Mo
    } else {
        Kind::Mt
    }
}

// === messages ===

measured!(Ingest: SubmitBatch);

impl Actor for Ingest {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Supervised for Ingest {}

impl Handler<SubmitBatch> for Ingest {
    type Result = ResponseFuture<Accepted>;

    fn handle(&mut self, batch: SubmitBatch, _: &mut Self::Context) -> Self::Result {
        Box::pin(accept(Arc::clone(&self.node), batch))
    }
}
