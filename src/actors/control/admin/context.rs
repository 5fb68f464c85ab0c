//! What the Admin actor answers with, and the message by which HTTP has it answer.
//!
//! Every question and order is a function of this folder, or of the room that it is about, and [`AdminCall`] has the actor run
//! it. What such a function is given and gives back is in no message of `proto`, because it never leaves the process.

use std::future::Future;
use std::sync::Arc;

use actix::Message;

use crate::actors::context::NodeContext;
use crate::actors::context::addresses::SupervisorAddress;
use crate::actors::control::access::Access;
use crate::actors::control::export::{Records, SinkStates};
use crate::actors::control::nats_source::Board;
use crate::actors::control::settings::StoredConfiguration;
use crate::actors::ingress::ingest::Intake;

/// What the functions of the Admin actor work with.
pub struct AdminContext {
    pub node: Arc<NodeContext>,
    pub supervisor: SupervisorAddress,
    pub configuration: Arc<StoredConfiguration>,
    /// Tokens of the admin API.
    pub access: Arc<Access>,
    /// Failed messages are replayed through it; policy, networks and balances are those of it.
    pub intake: Arc<Intake>,
    /// The call detail records, to erase a number in them.
    pub records: Records,
    /// What has become of publishing events.
    pub sinks: Arc<SinkStates>,
    /// How sources of commands stand.
    pub sources: Arc<Board>,
}

/// Has the Admin actor run a function; the answer is what the function gives.
pub struct AdminCall<F>(pub F);

impl<F, A> Message for AdminCall<F>
where
    F: FnOnce(Arc<AdminContext>) -> A,
    A: Future,
    A::Output: 'static,
{
    type Result = A::Output;
}
