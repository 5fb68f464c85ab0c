//! Accepts submissions: validates them, routes them by the current plan, makes them durable, answers,
//! and passes them to their queues.
//!
//! One per session arbiter, so that a batch changes threads only twice: to the store's writer and to
//! the queue. The answer is sent after the commit and never before.

mod accepted;
mod admission;
mod check;
mod entered;
mod in_line;
mod intake;
mod keys;
mod refusals;

use std::sync::Arc;

use actix::{Actor, Context, Handler, ResponseFuture, Supervised};
use futures_util::FutureExt;

pub use self::accepted::Accepted;
pub use self::check::alphabet_of;
pub(in crate::actors::ingress) use self::check::{bringer, no_route, no_such_number, take_tokens};
pub use self::intake::Intake;
pub use self::keys::Keys;

use self::admission::Admission;
use crate::actors::context::NodeContext;
use crate::actors::routing::rewrite;
use crate::actors::runtime::timed_mailbox::{Timed, measured};
use crate::pb::{Final, Kind, SubmitBatch};
use crate::smpp::DeliverSm;

/// Socket reads of one arbiter's sessions.
pub const MAILBOX: usize = 4096;

pub struct Ingest {
    intake: Arc<Intake>,
}

/// A batch on its way to Ingest, and the claims that its answer is for. Not in the table of `proto`, because the answer
/// is not a protobuf struct.
pub struct Submit(pub SubmitBatch, pub Keys);

impl actix::Message for Submit {
    type Result = Accepted;
}

// === impl Submit ===

impl Submit {
    /// For the measured mailbox of an Ingest.
    pub fn timed(batch: SubmitBatch, keys: Keys, node: &NodeContext) -> Timed<Self> {
        Timed::new(Self(batch, keys), &node.mailboxes.ingest)
    }
}

// === impl Ingest ===

impl Ingest {
    pub fn new(intake: Arc<Intake>) -> Self {
        Self { intake }
    }
}

/// Accepts a batch without keys.
pub async fn accept(intake: Arc<Intake>, batch: SubmitBatch) -> Accepted {
    admit(intake, batch, Keys::None, Vec::new()).await
}

/// Accepts a batch, stage by stage; a refused submission does not reach the next stage. Every submission
/// is answered; the accepted ones only after the commit. `ends`: the messages that one message answers. They end in the
/// commit that makes it durable ([`Accepted::ended`]), and not if it is refused; duplicates of it are not looked for.
pub async fn admit(
    intake: Arc<Intake>,
    batch: SubmitBatch,
    keys: Keys,
    ends: Vec<Final>,
) -> Accepted {
    let (mut admission, submissions) = Admission::begin(intake, batch, keys, ends);
    let mut checked = admission.check(submissions).await;
    admission.screen(&mut checked).await;
    admission.take_duplicates_out(&mut checked).await;
    let checked = admission.identify(checked);
    let mut taken = admission.stage(checked);
    admission.charge(&mut taken).await;
    admission.write(&mut taken).await;
    admission.answer(taken).await
}

/// The direction of a message that came as `deliver_sm`: one to an account's own address is MO.
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

measured!(Ingest: Submit);

impl Actor for Ingest {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
    }
}

impl Supervised for Ingest {}

impl Handler<Submit> for Ingest {
    type Result = ResponseFuture<Accepted>;

    fn handle(&mut self, Submit(batch, keys): Submit, _: &mut Self::Context) -> Self::Result {
        begun(admit(Arc::clone(&self.intake), batch, keys, Vec::new()))
    }
}

/// Work whose first step is taken: batches that wait for nothing get their ids in the order in which they came,
/// and not in that in which actix polls its futures.
fn begun(work: impl Future<Output = Accepted> + 'static) -> ResponseFuture<Accepted> {
    let mut work = Box::pin(work);
    match (&mut work).now_or_never() {
        Some(accepted) => Box::pin(std::future::ready(accepted)),
        None => work,
    }
}
