//! The Admin actor, which answers the admin API.
//!
//! Called by `src/http` only. It reads the snapshots that the other actors publish, asks the store for
//! messages, and passes administrators' commands on to queues and binds; it has no state that a crash
//! would lose. Every command is logged with the target `audit`: by whom, what, result. Runs on the core
//! arbiter under `supervise`.

mod access;
mod api_keys;
mod archive;
mod callback;
mod cancel;
mod command;
mod damaged;
mod drain;
mod failed;
mod given_up;
mod held;
mod lookups;
mod messages;
mod nodes;
mod opt_outs;
mod readiness;
mod replay;
mod settings;
mod sinks;
mod snapshots;
mod unmatched;
mod waits;
mod watching;
mod whole;

pub(super) use self::whole::operators as operators_of_all_nodes;

use std::sync::Arc;
use std::time::Duration;

use actix::{
    Actor, AsyncContext, Context, Handler, MessageResult, ResponseFuture, Supervised, WrapFuture,
};

use crate::actors::billing::{balance, usage};
use crate::actors::context::NodeContext;
use crate::actors::context::addresses::SupervisorAddress;
use crate::actors::control::access::{Access, REFRESH};
use crate::actors::control::export::{Records, SinkStates};
use crate::actors::control::nats_source::Board;
use crate::actors::control::settings::Configuration;
use crate::actors::ingress::ingest::Intake;
use crate::actors::orders;
use crate::actors::routing::policy;
use crate::clock;
use crate::pb::{
    AddApiKey, AddCredits, AddToken, AddedApiKey, AddedCredits, AddedToken, ApiKeyList,
    ArchiveView, AuditList, BalanceView, BindList, CallbackAttempt, CancelMessages, CancelReport,
    ChangeOptOut, ChangedOptOut, CheckReadiness, CollectSnapshots, CommandDrain, CommandMessage,
    CommandOperator, CommandQueue, Commanded, DamagedList, Disconnect, DrainView, DropReceipt,
    EraseSubscriber, ErasedMessages, FindMessage, ForgetDamaged, ForgetLookups, ForgottenLookups,
    HeldList, ListApiKeys, ListAudit, ListBinds, ListDamaged, ListFailed, ListGsm, ListHeld,
    ListLookups, ListNatsSources, ListNodes, ListOperators, ListOptOuts, ListQueues, ListSinks,
    ListTokens, ListTopUps, ListUnmatched, MatchReceipt, MessageList, MessageView, MoveMessages,
    NodeSnapshot, NoteAudit, NotedAudit, OperatorList, OptOutList, Order, OrderHeld, QueueList,
    ReadBalance, ReadUsage, Readiness, Refusal, RemoveApiKey, RemoveToken, RemovedApiKey,
    RemovedToken, ReplayMessage, ReplayMessages, ReplayReport, Replayed, RetellReceipt,
    SearchMessages, ShowArchive, SinkList, TestCallback, TokenList, TopUpList, UnmatchedList,
    UsageList,
};

pub use watching::{BeginWatch, Watching, Whom};

pub use settings::{ChangeSettings, CompareFile, ReadSettings, ReadVersions, Reseal};

use readiness::RestartWatch;

/// How often to check for restarts of other actors: often enough to see one while its pause lasts.
const WATCH_EVERY: Duration = Duration::from_millis(500);

/// Collects snapshots and executes administrators' commands.
pub struct Admin {
    node: Arc<NodeContext>,
    supervisor: SupervisorAddress,
    configuration: Arc<Configuration>,
    /// Tokens of the admin API.
    access: Arc<Access>,
    /// Failed messages are replayed through it; policy, networks and balances are those of it.
    intake: Arc<Intake>,
    /// The call detail records, to erase a number in them.
    records: Records,
    /// What has become of publishing events.
    sinks: Arc<SinkStates>,
    /// How sources of commands stand.
    sources: Arc<Board>,
    restarts: RestartWatch,
}

// === impl Admin ===

impl Admin {
    /// An Admin for the actors of `node`.
    pub fn new(
        node: Arc<NodeContext>,
        supervisor: SupervisorAddress,
        configuration: Arc<Configuration>,
        access: Arc<Access>,
        intake: Arc<Intake>,
        (records, sinks): (Records, Arc<SinkStates>),
        sources: Arc<Board>,
    ) -> Self {
        Self {
            node,
            supervisor,
            configuration,
            access,
            intake,
            records,
            sinks,
            sources,
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

impl Handler<ListGsm> for Admin {
    type Result = MessageResult<ListGsm>;

    fn handle(&mut self, ask: ListGsm, _: &mut Self::Context) -> Self::Result {
        MessageResult(match ask.own {
            true => snapshots::gsms(&self.node),
            false => whole::gsms(&self.node),
        })
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
        let mut node: NodeSnapshot = match ask.whole {
            true => whole::node(&self.node, &self.intake.balance),
            false => snapshots::node(&self.node, &self.intake.balance),
        };
        node.nats_sources = self.sources.list().sources;
        MessageResult(node)
    }
}

impl Handler<FindMessage> for Admin {
    type Result = ResponseFuture<Result<MessageView, Refusal>>;

    fn handle(&mut self, ask: FindMessage, _: &mut Self::Context) -> Self::Result {
        Box::pin(messages::find(Arc::clone(&self.node), ask.id))
    }
}

impl Handler<BeginWatch> for Admin {
    type Result = MessageResult<BeginWatch>;

    fn handle(&mut self, ask: BeginWatch, _: &mut Self::Context) -> Self::Result {
        MessageResult(watching::begin(Arc::clone(&self.node), ask))
    }
}

/// Orders of other nodes; they are executed concurrently.
impl Handler<Order> for Admin {
    type Result = ();

    fn handle(&mut self, order: Order, _: &mut Self::Context) {
        let configuration = Arc::clone(&self.configuration);
        actix::spawn(command::execute(
            Arc::clone(&self.intake),
            configuration,
            self.records.clone(),
            order,
        ));
    }
}

impl Handler<ListNodes> for Admin {
    type Result = MessageResult<ListNodes>;

    fn handle(&mut self, _: ListNodes, _: &mut Self::Context) -> Self::Result {
        MessageResult(nodes::list(&self.node))
    }
}

impl Handler<ListLookups> for Admin {
    type Result = MessageResult<ListLookups>;

    fn handle(&mut self, _: ListLookups, _: &mut Self::Context) -> Self::Result {
        MessageResult(lookups::list(&self.node, &self.intake))
    }
}

impl Handler<ListNatsSources> for Admin {
    type Result = MessageResult<ListNatsSources>;

    fn handle(&mut self, _: ListNatsSources, _: &mut Self::Context) -> Self::Result {
        MessageResult(self.sources.list())
    }
}

impl Handler<ListTokens> for Admin {
    type Result = ResponseFuture<Result<TokenList, Refusal>>;

    fn handle(&mut self, _: ListTokens, _: &mut Self::Context) -> Self::Result {
        Box::pin(access::tokens(Arc::clone(&self.node)))
    }
}

impl Handler<CommandDrain> for Admin {
    type Result = MessageResult<CommandDrain>;

    fn handle(&mut self, order: CommandDrain, _: &mut Self::Context) -> Self::Result {
        let state: DrainView = drain::command(&self.node, &self.supervisor, order.verb());
        MessageResult(state)
    }
}

/// Handlers for questions and orders that one function answers.
macro_rules! carried_out {
    ($($order:ty => $answer:ty: $by:path [$($($need:ident).+),+];)*) => {$(
        impl Handler<$order> for Admin {
            type Result = ResponseFuture<Result<$answer, Refusal>>;

            fn handle(&mut self, order: $order, _: &mut Self::Context) -> Self::Result {
                Box::pin($by($(self.$($need).+.clone(),)+ order))
            }
        }
    )*};
}

carried_out! {
    SearchMessages => MessageList: messages::search [node];
    EraseSubscriber => ErasedMessages: messages::erase [node, intake, records];
    ForgetLookups => ForgottenLookups: lookups::forget [node, intake];
    CommandQueue => Commanded: command::queue [node];
    CommandOperator => Commanded: command::operator [node];
    CommandMessage => Commanded: orders::message::order [node];
    MoveMessages => Commanded: orders::transfer::many [node];
    Disconnect => Commanded: watching::disconnect [node];
    ListFailed => MessageList: failed::list [node];
    ReplayMessage => Replayed: replay::one [intake];
    ReplayMessages => ReplayReport: replay::many [intake];
    CancelMessages => CancelReport: cancel::many [node];
    RetellReceipt => Replayed: given_up::retell [node];
    ListOptOuts => OptOutList: policy::list_opt_outs [node];
    ChangeOptOut => ChangedOptOut: opt_outs::change [node, intake.policy];
    ListSinks => SinkList: sinks::list [node, sinks];
    ListUnmatched => UnmatchedList: unmatched::list [node];
    MatchReceipt => MessageView: unmatched::settle [node];
    DropReceipt => Commanded: unmatched::drop_one [node];
    ListDamaged => DamagedList: damaged::list [node];
    ForgetDamaged => Commanded: damaged::forget [node];
    ListHeld => HeldList: held::list [node];
    OrderHeld => Commanded: held::order [node];
    AddToken => AddedToken: access::add [node, access];
    RemoveToken => RemovedToken: access::remove [node, access];
    ListApiKeys => ApiKeyList: api_keys::list [node];
    AddApiKey => AddedApiKey: api_keys::add [node, access];
    RemoveApiKey => RemovedApiKey: api_keys::remove [node, access];
    NoteAudit => NotedAudit: access::note [node];
    ListAudit => AuditList: access::audited [node];
    TestCallback => CallbackAttempt: callback::test [node];
    ReadBalance => BalanceView: balance::read [node];
    AddCredits => AddedCredits: balance::add [node, intake.balance];
    ListTopUps => TopUpList: balance::top_ups [node];
    ReadUsage => UsageList: usage::read [node];
    ShowArchive => ArchiveView: archive::show [node];
}
