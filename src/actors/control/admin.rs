//! The Admin actor, which answers the admin API.
//!
//! Called by `src/http` only. It reads the snapshots that the other actors publish, asks the store for
//! messages, and passes administrators' commands on to queues and binds; it has no state that a crash
//! would lose. Every command is logged with the target `audit`: by whom, what, result. Runs on the core
//! arbiter under `supervise`.

pub mod access;
pub mod api_keys;
pub mod archive;
pub mod callback;
pub mod cancel;
pub mod command;
mod context;
pub mod damaged;
pub mod drain;
pub mod failed;
pub mod failures;
pub mod figures;
mod findings;
pub mod given_up;
pub mod held;
pub mod history;
pub mod incidents;
pub mod logins;
pub mod lookups;
pub mod messages;
pub mod nodes;
pub mod operator_test;
pub mod opt_outs;
mod readiness;
pub mod replay;
pub mod settings;
pub mod sinks;
mod snapshots;
pub mod unmatched;
mod waits;
pub mod watching;
mod whole;

pub(super) use self::whole::operators as operators_of_all_nodes;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use actix::{
    Actor, AsyncContext, Context, Handler, MessageResult, ResponseFuture, Supervised, WrapFuture,
};

use crate::actors::control::access::REFRESH;
use crate::clock;
use crate::pb::Order;

pub use context::{AdminCall, AdminContext};
pub use readiness::{CheckReadiness, Readiness};
pub use snapshots::NodeSnapshot;
pub use watching::{BeginWatch, Watching, Whom};

use readiness::RestartWatch;

/// How often to check for restarts of other actors: often enough to see one while its pause lasts.
const WATCH_EVERY: Duration = Duration::from_millis(500);

/// Collects snapshots and executes administrators' commands.
pub struct Admin {
    context: Arc<AdminContext>,
    restarts: RestartWatch,
}

// === impl Admin ===

impl Admin {
    /// An Admin that answers with this.
    pub fn new(context: Arc<AdminContext>) -> Self {
        Self {
            context,
            restarts: RestartWatch::default(),
        }
    }

    fn refresh_tokens(&self, ctx: &mut Context<Self>) {
        let context = Arc::clone(&self.context);
        let work = async move { access::refresh(&context.node, &context.access).await };
        ctx.spawn(work.into_actor(self));
    }
}

impl Actor for Admin {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.run_interval(WATCH_EVERY, |admin, _| {
            admin.restarts.look(&admin.context.node, clock::now_ms());
        });
        self.refresh_tokens(ctx);
        ctx.run_interval(REFRESH, |admin, ctx| admin.refresh_tokens(ctx));
    }
}

impl Supervised for Admin {}

// === messages ===

impl<F, A> Handler<AdminCall<F>> for Admin
where
    F: FnOnce(Arc<AdminContext>) -> A + 'static,
    A: Future + 'static,
    A::Output: 'static,
{
    type Result = ResponseFuture<A::Output>;

    fn handle(&mut self, call: AdminCall<F>, _: &mut Self::Context) -> Self::Result {
        Box::pin((call.0)(Arc::clone(&self.context)))
    }
}

impl Handler<CheckReadiness> for Admin {
    type Result = MessageResult<CheckReadiness>;

    fn handle(&mut self, _: CheckReadiness, _: &mut Self::Context) -> Self::Result {
        let now = clock::now_ms();
        self.restarts.look(&self.context.node, now);
        MessageResult(Readiness {
            unused_file: self.context.configuration.state.unused_file(),
            ..readiness::check(&self.context.node, &self.restarts, now)
        })
    }
}

/// Orders of other nodes; they are executed concurrently.
impl Handler<Order> for Admin {
    type Result = ();

    fn handle(&mut self, order: Order, _: &mut Self::Context) {
        actix::spawn(command::execute(Arc::clone(&self.context), order));
    }
}
