//! The Admin actor: what the admin API knows and may order.
//!
//! Called by `src/http` only. It reads the snapshots that the other actors publish, asks the store
//! for messages, and passes administrators' commands on to queues and binds; it holds nothing that
//! would be lost with it. Every command leaves a line with the target `audit`: who, what, result.
//! Runs on the core arbiter under `supervise`.

mod access;
mod callback;
mod command;
mod drain;
mod failed;
mod messages;
mod nodes;
mod opt_outs;
mod readiness;
mod replay;
mod settings;
mod snapshots;
mod unmatched;
mod whole;

use std::sync::Arc;
use std::time::Duration;

use actix::{
    Actor, AsyncContext, Context, Handler, MessageResult, ResponseFuture, Supervised, WrapFuture,
};

use crate::actors::billing::balance;
use crate::actors::context::NodeContext;
use crate::actors::context::addresses::SupervisorAddress;
use crate::actors::control::access::{Access, REFRESH};
use crate::actors::control::settings::Configuration;
use crate::actors::ingress::ingest::Intake;
use crate::actors::orders;
use crate::actors::receipts::cdr::Records;
use crate::clock;
use crate::pb::{
    AddCredits, AddToken, AddedCredits, AddedToken, AuditList, BalanceView, BindList,
    CallbackAttempt, CheckReadiness, CollectSnapshots, CommandDrain, CommandMessage,
    CommandOperator, CommandQueue, Commanded, DrainView, DropReceipt, EraseSubscriber,
    ErasedMessages, FindMessage, ListAudit, ListBinds, ListFailed, ListNodes, ListOperators,
    ListQueues, ListTokens, ListTopUps, ListUnmatched, MatchReceipt, MessageList, MessageView,
    MoveMessages, NodeSnapshot, NoteAudit, NotedAudit, OperatorList, Order, QueueList, ReadBalance,
    Readiness, Refusal, RemoveToken, RemovedToken, ReplayMessage, ReplayMessages, ReplayReport,
    Replayed, SearchMessages, TestCallback, TokenList, TopUpList, UnmatchedList,
};

pub use settings::{
    ChangeSettings, CompareFile, ReadSettings, ReadVersions, Reseal, SettingsState,
};

use readiness::RestartWatch;

/// How often restarts of other actors are looked for: a restart is seen while its pause lasts.
const WATCH_EVERY: Duration = Duration::from_millis(500);

/// Collects snapshots and executes administrators' commands.
pub struct Admin {
    node: Arc<NodeContext>,
    supervisor: SupervisorAddress,
    configuration: Arc<Configuration>,
    /// Tokens of the admin API.
    access: Arc<Access>,
    /// Failed messages are sent again through it; policy, networks and balances are asked as they are in it.
    intake: Arc<Intake>,
    /// The files of call detail records, where there are any.
    records: Option<Records>,
    restarts: RestartWatch,
}

// === impl Admin ===

impl Admin {
    /// An Admin that looks at the actors of `node`.
    pub fn new(
        node: Arc<NodeContext>,
        supervisor: SupervisorAddress,
        configuration: Arc<Configuration>,
        access: Arc<Access>,
        intake: Arc<Intake>,
        records: Option<Records>,
    ) -> Self {
        Self {
            node,
            supervisor,
            configuration,
            access,
            intake,
            records,
            restarts: RestartWatch::default(),
        }
    }

    fn refresh_tokens(&self, ctx: &mut Context<Self>) {
        let (node, access) = (Arc::clone(&self.node), Arc::clone(&self.access));
        let work = async move { access::refresh(&node, &access).await };
        ctx.spawn(work.into_actor(self));
    }
}

impl Actor for Admin {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.run_interval(WATCH_EVERY, |admin, _| {
            admin.restarts.look(&admin.node, clock::now_ms());
        });
        self.refresh_tokens(ctx);
        ctx.run_interval(REFRESH, |admin, ctx| admin.refresh_tokens(ctx));
    }
}

impl Supervised for Admin {}

// === messages ===

impl Handler<ListQueues> for Admin {
    type Result = MessageResult<ListQueues>;

    fn handle(&mut self, ask: ListQueues, _: &mut Self::Context) -> Self::Result {
        let mut queues: QueueList = match ask.own {
            true => snapshots::queues(&self.node),
            false => whole::queues(&self.node),
        };
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
            binds: snapshots::binds(&self.node),
        })
    }
}

impl Handler<ListOperators> for Admin {
    type Result = MessageResult<ListOperators>;

    fn handle(&mut self, ask: ListOperators, _: &mut Self::Context) -> Self::Result {
        let mut operators: OperatorList = match ask.own {
            true => snapshots::operators(&self.node),
            false => whole::operators(&self.node),
        };
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
        self.restarts.look(&self.node, now);
        let answer: Readiness = readiness::check(&self.node, &self.restarts, now);
        MessageResult(answer)
    }
}

impl Handler<CollectSnapshots> for Admin {
    type Result = MessageResult<CollectSnapshots>;

    fn handle(&mut self, ask: CollectSnapshots, _: &mut Self::Context) -> Self::Result {
        let node: NodeSnapshot = match ask.whole {
            true => whole::node(&self.node, &self.intake.balance),
            false => snapshots::node(&self.node, &self.intake.balance),
        };
        MessageResult(node)
    }
}

impl Handler<FindMessage> for Admin {
    type Result = ResponseFuture<Result<MessageView, Refusal>>;

    fn handle(&mut self, ask: FindMessage, _: &mut Self::Context) -> Self::Result {
        Box::pin(messages::find(Arc::clone(&self.node), ask.id))
    }
}

impl Handler<SearchMessages> for Admin {
    type Result = ResponseFuture<Result<MessageList, Refusal>>;

    fn handle(&mut self, ask: SearchMessages, _: &mut Self::Context) -> Self::Result {
        Box::pin(messages::search(Arc::clone(&self.node), ask))
    }
}

impl Handler<EraseSubscriber> for Admin {
    type Result = ResponseFuture<Result<ErasedMessages, Refusal>>;

    fn handle(&mut self, ask: EraseSubscriber, _: &mut Self::Context) -> Self::Result {
        let known = Arc::clone(&self.intake.networks);
        Box::pin(messages::erase(
            Arc::clone(&self.node),
            known,
            self.records.clone(),
            ask,
        ))
    }
}

/// What was ordered on another node. Orders are carried out beside each other.
impl Handler<Order> for Admin {
    type Result = ();

    fn handle(&mut self, order: Order, _: &mut Self::Context) {
        let configuration = Arc::clone(&self.configuration);
        actix::spawn(command::execute(
            Arc::clone(&self.node),
            configuration,
            self.records.clone(),
            order,
        ));
    }
}

impl Handler<CommandQueue> for Admin {
    type Result = ResponseFuture<Result<Commanded, Refusal>>;

    fn handle(&mut self, order: CommandQueue, _: &mut Self::Context) -> Self::Result {
        Box::pin(command::queue(Arc::clone(&self.node), order))
    }
}

impl Handler<CommandOperator> for Admin {
    type Result = ResponseFuture<Result<Commanded, Refusal>>;

    fn handle(&mut self, order: CommandOperator, _: &mut Self::Context) -> Self::Result {
        Box::pin(command::operator(Arc::clone(&self.node), order))
    }
}

impl Handler<CommandMessage> for Admin {
    type Result = ResponseFuture<Result<Commanded, Refusal>>;

    fn handle(&mut self, order: CommandMessage, _: &mut Self::Context) -> Self::Result {
        Box::pin(orders::message::order(Arc::clone(&self.node), order))
    }
}

impl Handler<ListNodes> for Admin {
    type Result = MessageResult<ListNodes>;

    fn handle(&mut self, _: ListNodes, _: &mut Self::Context) -> Self::Result {
        MessageResult(nodes::list(&self.node))
    }
}

impl Handler<ListTokens> for Admin {
    type Result = ResponseFuture<Result<TokenList, Refusal>>;

    fn handle(&mut self, _: ListTokens, _: &mut Self::Context) -> Self::Result {
        Box::pin(access::tokens(Arc::clone(&self.node)))
    }
}

impl Handler<AddToken> for Admin {
    type Result = ResponseFuture<Result<AddedToken, Refusal>>;

    fn handle(&mut self, order: AddToken, _: &mut Self::Context) -> Self::Result {
        Box::pin(access::add(
            Arc::clone(&self.node),
            Arc::clone(&self.access),
            order,
        ))
    }
}

impl Handler<RemoveToken> for Admin {
    type Result = ResponseFuture<Result<RemovedToken, Refusal>>;

    fn handle(&mut self, order: RemoveToken, _: &mut Self::Context) -> Self::Result {
        Box::pin(access::remove(
            Arc::clone(&self.node),
            Arc::clone(&self.access),
            order,
        ))
    }
}

impl Handler<NoteAudit> for Admin {
    type Result = ResponseFuture<Result<NotedAudit, Refusal>>;

    fn handle(&mut self, note: NoteAudit, _: &mut Self::Context) -> Self::Result {
        Box::pin(access::note(Arc::clone(&self.node), note))
    }
}

impl Handler<ListAudit> for Admin {
    type Result = ResponseFuture<Result<AuditList, Refusal>>;

    fn handle(&mut self, ask: ListAudit, _: &mut Self::Context) -> Self::Result {
        Box::pin(access::audited(Arc::clone(&self.node), ask))
    }
}

impl Handler<ReadBalance> for Admin {
    type Result = ResponseFuture<Result<BalanceView, Refusal>>;

    fn handle(&mut self, ask: ReadBalance, _: &mut Self::Context) -> Self::Result {
        Box::pin(balance::read(Arc::clone(&self.node), ask))
    }
}

impl Handler<AddCredits> for Admin {
    type Result = ResponseFuture<Result<AddedCredits, Refusal>>;

    fn handle(&mut self, order: AddCredits, _: &mut Self::Context) -> Self::Result {
        let balance = Arc::clone(&self.intake.balance);
        Box::pin(balance::add(Arc::clone(&self.node), balance, order))
    }
}

impl Handler<ListTopUps> for Admin {
    type Result = ResponseFuture<Result<TopUpList, Refusal>>;

    fn handle(&mut self, ask: ListTopUps, _: &mut Self::Context) -> Self::Result {
        Box::pin(balance::top_ups(Arc::clone(&self.node), ask))
    }
}

impl Handler<TestCallback> for Admin {
    type Result = ResponseFuture<Result<CallbackAttempt, Refusal>>;

    fn handle(&mut self, order: TestCallback, _: &mut Self::Context) -> Self::Result {
        Box::pin(callback::test(Arc::clone(&self.node), order))
    }
}

impl Handler<CommandDrain> for Admin {
    type Result = MessageResult<CommandDrain>;

    fn handle(&mut self, order: CommandDrain, _: &mut Self::Context) -> Self::Result {
        let state: DrainView = drain::command(&self.node, &self.supervisor, order.verb());
        MessageResult(state)
    }
}

impl Handler<MoveMessages> for Admin {
    type Result = ResponseFuture<Result<Commanded, Refusal>>;

    fn handle(&mut self, order: MoveMessages, _: &mut Self::Context) -> Self::Result {
        Box::pin(orders::transfer::many(Arc::clone(&self.node), order))
    }
}

/// Questions and orders that are carried out as they come, each by one function.
macro_rules! carried_out {
    ($($order:ty => $answer:ty, $by:path;)*) => {$(
        impl Handler<$order> for Admin {
            type Result = ResponseFuture<Result<$answer, Refusal>>;

            fn handle(&mut self, order: $order, _: &mut Self::Context) -> Self::Result {
                Box::pin($by(Arc::clone(&self.node), order))
            }
        }
    )*};
}

impl Handler<ReplayMessage> for Admin {
    type Result = ResponseFuture<Result<Replayed, Refusal>>;

    fn handle(&mut self, order: ReplayMessage, _: &mut Self::Context) -> Self::Result {
        Box::pin(replay::one(Arc::clone(&self.intake), order))
    }
}

impl Handler<ReplayMessages> for Admin {
    type Result = ResponseFuture<Result<ReplayReport, Refusal>>;

    fn handle(&mut self, order: ReplayMessages, _: &mut Self::Context) -> Self::Result {
        Box::pin(replay::many(Arc::clone(&self.intake), order))
    }
}

carried_out! {
    ListFailed => MessageList, failed::list;
    ListUnmatched => UnmatchedList, unmatched::list;
    MatchReceipt => MessageView, unmatched::settle;
    DropReceipt => Commanded, unmatched::drop_one;
}
