//! The Admin actor: what the admin API knows and may order.
//!
//! Called by `src/http` only. It reads the snapshots that the other actors publish, asks the store
//! for messages, and passes operators' commands on to queues and binds; it holds nothing that
//! would be lost with it. Every command leaves a line with the target `audit`: who, what, result.
//! Runs on the core arbiter under `supervise`.

mod abroad;
mod command;
mod messages;
mod nodes;
mod readiness;
mod settings;
mod snapshots;

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Handler, MessageResult, ResponseFuture, Supervised};

use crate::actors::hub::Hub;
use crate::clock;
use crate::pb::refusal::Reason;
use crate::pb::{
    BindList, CheckReadiness, CollectSnapshots, CommandMessage, CommandOperator, CommandQueue,
    Commanded, EraseSubscriber, ErasedMessages, FindMessage, ListBinds, ListNodes, ListOperators,
    ListQueues, MessageList, MessageView, NodeSnapshot, OperatorList, QueueList, Readiness,
    Refusal, SearchMessages,
};
use crate::store::StoreError;

pub(super) use abroad::to_others;
pub use command::execute;

pub use settings::{
    ChangeSettings, CompareFile, ExplainRoute, ReadSettings, ReadVersions, SettingsState,
};

use readiness::RestartWatch;

/// How often restarts of other actors are looked for: a restart is seen while its pause lasts.
const WATCH_EVERY: Duration = Duration::from_millis(500);

/// Collects snapshots and executes operators' commands.
pub struct Admin {
    hub: Arc<Hub>,
    restarts: RestartWatch,
}

// === impl Admin ===

impl Admin {
    /// An Admin that looks at the actors of `hub`.
    pub fn new(hub: Arc<Hub>) -> Self {
        Self {
            hub,
            restarts: RestartWatch::default(),
        }
    }
}

impl Actor for Admin {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.run_interval(WATCH_EVERY, |admin, _| {
            admin.restarts.look(&admin.hub, clock::now_ms());
        });
    }
}

impl Supervised for Admin {}

// === impl Refusal ===

impl Refusal {
    fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            detail: detail.into(),
        }
    }

    pub(super) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(Reason::NotFound, detail)
    }

    pub(super) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(Reason::Conflict, detail)
    }

    pub(super) fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(Reason::Unavailable, detail)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::unavailable(error.to_string())
    }
}

// === messages ===

impl Handler<ListQueues> for Admin {
    type Result = MessageResult<ListQueues>;

    fn handle(&mut self, ask: ListQueues, _: &mut Self::Context) -> Self::Result {
        let mut queues: QueueList = snapshots::queues(&self.hub);
        if !ask.name.is_empty() {
            queues.queues.retain(|queue| queue.name == ask.name);
        }
        MessageResult(queues)
    }
}

impl Handler<ListBinds> for Admin {
    type Result = MessageResult<ListBinds>;

    fn handle(&mut self, _: ListBinds, _: &mut Self::Context) -> Self::Result {
        MessageResult(BindList {
            binds: snapshots::binds(&self.hub),
        })
    }
}

impl Handler<ListOperators> for Admin {
    type Result = MessageResult<ListOperators>;

    fn handle(&mut self, ask: ListOperators, _: &mut Self::Context) -> Self::Result {
        let mut operators: OperatorList = snapshots::operators(&self.hub);
        if !ask.id.is_empty() {
            operators.operators.retain(|operator| operator.id == ask.id);
        }
        MessageResult(operators)
    }
}

impl Handler<CheckReadiness> for Admin {
    type Result = MessageResult<CheckReadiness>;

    fn handle(&mut self, _: CheckReadiness, _: &mut Self::Context) -> Self::Result {
        let now = clock::now_ms();
        self.restarts.look(&self.hub, now);
        let answer: Readiness = readiness::check(&self.hub, &self.restarts, now);
        MessageResult(answer)
    }
}

impl Handler<CollectSnapshots> for Admin {
    type Result = MessageResult<CollectSnapshots>;

    fn handle(&mut self, _: CollectSnapshots, _: &mut Self::Context) -> Self::Result {
        let node: NodeSnapshot = snapshots::node(&self.hub);
        MessageResult(node)
    }
}

impl Handler<FindMessage> for Admin {
    type Result = ResponseFuture<Result<MessageView, Refusal>>;

    fn handle(&mut self, ask: FindMessage, _: &mut Self::Context) -> Self::Result {
        Box::pin(messages::find(Arc::clone(&self.hub), ask.id))
    }
}

impl Handler<SearchMessages> for Admin {
    type Result = ResponseFuture<Result<MessageList, Refusal>>;

    fn handle(&mut self, ask: SearchMessages, _: &mut Self::Context) -> Self::Result {
        Box::pin(messages::search(Arc::clone(&self.hub), ask))
    }
}

impl Handler<EraseSubscriber> for Admin {
    type Result = ResponseFuture<Result<ErasedMessages, Refusal>>;

    fn handle(&mut self, ask: EraseSubscriber, _: &mut Self::Context) -> Self::Result {
        Box::pin(messages::erase(Arc::clone(&self.hub), ask))
    }
}

impl Handler<CommandQueue> for Admin {
    type Result = ResponseFuture<Result<Commanded, Refusal>>;

    fn handle(&mut self, order: CommandQueue, _: &mut Self::Context) -> Self::Result {
        Box::pin(command::queue(Arc::clone(&self.hub), order))
    }
}

impl Handler<CommandOperator> for Admin {
    type Result = ResponseFuture<Result<Commanded, Refusal>>;

    fn handle(&mut self, order: CommandOperator, _: &mut Self::Context) -> Self::Result {
        Box::pin(command::operator(Arc::clone(&self.hub), order))
    }
}

impl Handler<CommandMessage> for Admin {
    type Result = ResponseFuture<Result<Commanded, Refusal>>;

    fn handle(&mut self, order: CommandMessage, _: &mut Self::Context) -> Self::Result {
        Box::pin(command::message(Arc::clone(&self.hub), order))
    }
}

impl Handler<ListNodes> for Admin {
    type Result = MessageResult<ListNodes>;

    fn handle(&mut self, _: ListNodes, _: &mut Self::Context) -> Self::Result {
        MessageResult(nodes::list(&self.hub))
    }
}
