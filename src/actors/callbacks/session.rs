//! Callbacks of one account: an actor that serves a queue of the account as a bind of an ESME would.
//!
//! Started by the Supervisor on every node that may own the queue, for each account with
//! `deliver_by = "callback"`, and for each host that its messages may name; ends when the account has that way no
//! more. It offers the queue as much credit as it may
//! send at once and a little to follow, and settles what it is granted: taken (2xx), later, given up, or not sent.
//! Keeps true that nothing is sent without the lease, that one subscriber's callbacks to a URL go one after another,
//! that a URL that fails, or its host, is left alone for longer and longer and holds no other, and that nothing is given
//! up that was not tried itself. 410 suspends the queue until an administrator resumes it; where callbacks of the queue
//! go to several URLs, that URL.

mod bodies;
mod outcome;
mod state;
mod told;

pub use self::outcome::attempt;
pub use self::state::CallbackScope;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use actix::fut::ActorFuture;
use actix::{
    Actor, ActorContext, ActorFutureExt, ArbiterHandle, AsyncContext, Context, Handler, Supervised,
    WrapFuture,
};
use futures_util::StreamExt as _;
use tokio::time::Instant;

use self::state::CallbackSession;
use super::client::CallbackClient;
use crate::actors::context::NodeContext;
use crate::actors::context::binds::BindPort;
use crate::actors::context::plan::AccountPlan;
use crate::actors::context::ports::QueuePort;
use crate::actors::runtime::supervise::{self, AfterStop, Escalate, Health};
use crate::actors::runtime::timed_mailbox::measured;
use crate::actors::session::core::{MAILBOX, TICK};
use crate::clock;
use crate::config::{Account, CallbackFormat, DeliverBy};
use crate::domain::callback::kannel;
use crate::domain::callback::target::CallbackTarget;
use crate::domain::limit::Gcra;
use crate::pb::{BindState, CallbackUrls, DeliverBatch, ReportHeld};

/// Until what cannot be used is looked at again: a file may be there by then.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// What it takes to start the callbacks of an account.
pub struct CallbackOptions {
    pub node: Arc<NodeContext>,
    pub account: u32,
    pub way: CallbackScope,
    pub queue: Arc<QueuePort>,
    pub escalate: Escalate,
}

// === impl CallbackOptions ===

impl CallbackOptions {
    /// Starts the actor on an arbiter; gives its session number.
    pub fn start(self, arbiter: &ArbiterHandle) -> u64 {
        let health = Health::new(format!("callbacks {}", self.queue.name));
        self.node.watch(Arc::clone(&health));
        let port = BindPort::new(self.node.binds.next_session(), Some(Arc::clone(&health)));
        self.node.binds.add(Arc::clone(&port));
        let (session, escalate) = (port.session, Arc::clone(&self.escalate));
        let (_, slot) = supervise::slot::<CallbackSession>(MAILBOX);
        let for_actor = Arc::clone(&health);
        slot.start(arbiter, health, escalate, move || {
            let (account, way) = (self.account, self.way);
            CallbackSession::new(self.node, account, way, self.queue, for_actor, port)
        });
        session
    }
}

// === impl CallbackSession ===

impl CallbackSession {
    /// Follows the plan: a new URL, other secrets, another rate. False when the account has no callbacks any more.
    fn follow_plan(&mut self, ctx: &mut Context<Self>) -> bool {
        let newest = self.node.plan().account_by_id(self.account).cloned();
        let newest = newest.filter(|plan| match &self.way {
            CallbackScope::Own => plan.config.deliver_by == DeliverBy::Callback,
            CallbackScope::Second => plan.config.callback_url.is_some(),
            CallbackScope::Host(host) => plan.callbacks.queues().any(|(known, _)| known == host),
        });
        let Some(newest) = newest else { return false };
        let before = self.plan.replace(Arc::clone(&newest));
        let is_same = before
            .as_ref()
            .is_some_and(|before| Arc::ptr_eq(before, &newest));
        let as_before = |before: Arc<AccountPlan>| is_alike(&before.config, &newest.config);
        if is_same || before.is_some_and(as_before) {
            return true;
        }
        let config = &newest.config;
        self.rate = config.callback_rate.map(|rate| {
            let burst = rate.ceil().min(f64::from(u32::MAX)) as u32;
            Gcra::new(rate, burst)
        });
        self.snapshot.name.clone_from(&config.system_id);
        // The rest of the URL may be a secret of the receiver.
        self.snapshot.peer = match &self.way {
            CallbackScope::Own | CallbackScope::Second => host_and_port(config),
            CallbackScope::Host(host) => host.clone(),
        };
        // Made anew, for another URL perhaps.
        self.give_back_waiting();
        // Whatever it was, it may be over.
        self.start_anew();
        self.rest_until = None;
        self.build_client(newest, ctx);
        true
    }

    fn build_client(&mut self, plan: Arc<AccountPlan>, ctx: &mut Context<Self>) {
        if std::mem::replace(&mut self.building, true) {
            return;
        }
        let for_thread = Arc::clone(&plan);
        let (node, queue) = (Arc::clone(&self.node), self.queue.id);
        let build = async move {
            // Also read when it is built anew: it costs little.
            let paused = node
                .store
                .paused()
                .await
                .map_err(|error| error.to_string())?;
            let build = move || CallbackClient::new(&for_thread.config);
            let built = tokio::task::spawn_blocking(build).await;
            let client = built.map_err(|error| error.to_string())??;
            Ok::<_, String>((client, paused.contains(&queue)))
        };
        ctx.spawn(build.into_actor(self).map(move |built, session, ctx| {
            session.building = false;
            let is_newest = session
                .plan
                .as_ref()
                .is_some_and(|newest| is_alike(&newest.config, &plan.config));
            if let (false, Some(newest)) = (is_newest, session.plan.clone()) {
                return session.build_client(newest, ctx);
            }
            match built {
                Ok((client, is_paused)) => {
                    if is_paused {
                        session.queue.suspended.store(true, Ordering::Relaxed);
                    }
                    session.client = Some(Arc::new(client));
                    session.snapshot.last_error.clear();
                    session.join(ctx);
                    session.go_on();
                }
                Err(error) => session.cannot_send(error),
            }
        }));
    }

    /// The configuration cannot be used on this node: it leaves the queue to others.
    fn cannot_send(&mut self, error: String) {
        tracing::error!(queue = %self.queue.name, %error, "callbacks cannot be sent");
        self.client = None;
        self.rest_until = Some(Instant::now() + LOOK_AGAIN);
        self.snapshot.last_error = error;
        self.give_back_waiting();
        self.go_on();
        self.served.leave();
    }

    fn join(&mut self, ctx: &mut Context<Self>) {
        if self.served.is_joined() || self.served.is_retiring() {
            return;
        }
        let room = self.room();
        let queue = Arc::clone(&self.queue);
        self.served.join(queue, &ctx.address(), "", room);
    }

    fn tick(&mut self, ctx: &mut Context<Self>) {
        let wanted = self.follow_plan(ctx);
        let draining = self.node.draining.load(Ordering::Relaxed);
        if !wanted || draining {
            return self.finish(ctx);
        }
        if self.served.is_retiring() {
            // The queue was told that it takes no more; only a new session takes that back.
            self.health
                .after_stop(AfterStop::Again(Some(Duration::ZERO)));
            return ctx.stop();
        }
        if self.rest_until.is_some_and(|until| until <= Instant::now()) {
            self.rest_until = None;
            if let (None, Some(plan)) = (&self.client, self.plan.clone()) {
                self.build_client(plan, ctx);
            }
        }
        // Each order that suspends or resumes the queue makes it anew.
        let ordered_by = self.queue.suspended_by.get();
        if !Arc::ptr_eq(&ordered_by, &self.ordered_by) {
            self.ordered_by = ordered_by;
            self.start_anew();
        }
        if self.is_suspended() {
            // Whoever suspended it may cancel, move or purge what waits: in the queue, and not here.
            self.give_back_waiting();
        }
        self.go_on();
        self.publish();
    }

    /// What is known of receivers may be over.
    fn start_anew(&mut self) {
        self.receivers.forget(Instant::now());
        self.gone.clear();
    }

    /// On the way out: takes no more, and ends when what is under way is answered.
    fn finish(&mut self, ctx: &mut Context<Self>) {
        self.served.retire();
        self.give_back_waiting();
        self.go_on();
        if self.under_way.is_empty() && self.loading.is_empty() {
            self.health.after_stop(AfterStop::End);
            ctx.stop();
        }
    }

    fn publish(&mut self) {
        let now = Instant::now();
        let urls = self.receivers.urls();
        let at_rest: Vec<Duration> = self.receivers.rests(now).collect();
        let all_rest = urls > 0 && at_rest.len() == urls;
        let looks = self.rest_until.map(|until| until - now);
        let rest = looks.or(at_rest.iter().min().copied().filter(|_| all_rest));
        let state = match (&self.client, rest) {
            (None, _) => BindState::Connecting,
            _ if self.is_suspended() => BindState::Paused,
            (_, Some(_)) => BindState::Waiting,
            (_, None) => BindState::Bound,
        };
        self.snapshot.state = state.into();
        self.snapshot.next_reconnect_at =
            rest.map_or(0, |rest| clock::now_ms() + rest.as_millis() as i64);
        self.snapshot.reconnect_attempts = self.receivers.failures();
        self.snapshot.urls = Some(CallbackUrls {
            known: urls as u32,
            at_rest: at_rest.len() as u32,
            gone: self.gone.count() as u32,
        });
        self.snapshot.restarts = self.health.restarts();
        let waits_since = self.receivers.iter().map(|work| work.context.since);
        self.snapshot.oldest_at = waits_since.min().unwrap_or_default();
        let concurrency = self
            .plan
            .as_ref()
            .map_or(0, |plan| plan.config.callback_concurrency);
        self.snapshot.window = concurrency;
        self.snapshot.in_flight = self.under_way.len() as u32;
        self.port.snapshot.update(&self.snapshot);
    }
}

fn host_and_port(config: &Account) -> String {
    let url = config.callback_url.as_deref().unwrap_or_default();
    let target = match config.callback_format {
        CallbackFormat::Kannel => CallbackTarget::parse(&kannel::example(url)),
        _ => CallbackTarget::parse(url),
    };
    target.map_or_else(
        |_| String::new(),
        |target| format!("{}:{}", target.host(), target.port()),
    )
}

/// Whether callbacks go on as they are with the other configuration.
fn is_alike(before: &Account, after: &Account) -> bool {
    let alike = Account {
        callback_url: after.callback_url.clone(),
        callback_receipt_url: after.callback_receipt_url.clone(),
        callback_format: after.callback_format,
        callback_hosts: after.callback_hosts.clone(),
        callbacks: after.callbacks.clone(),
        callback_secrets: after.callback_secrets.clone(),
        callback_rate: after.callback_rate,
        callback_concurrency: after.callback_concurrency,
        callback_timeout: after.callback_timeout,
        callback_allow_private: after.callback_allow_private.clone(),
        callback_ca_file: after.callback_ca_file.clone(),
        ..before.clone()
    };
    alike == *before
}

impl Drop for CallbackSession {
    fn drop(&mut self) {
        self.leave();
        self.node.binds.remove(self.port.session);
    }
}

/// Polls the requests under way, for as long as the actor lives.
pub struct SendAll;

impl ActorFuture<CallbackSession> for SendAll {
    type Output = ();

    fn poll(
        self: Pin<&mut Self>,
        session: &mut CallbackSession,
        ctx: &mut Context<CallbackSession>,
        task: &mut TaskContext<'_>,
    ) -> Poll<()> {
        session.waker = Some(task.waker().clone());
        let mut any = false;
        // What is begun in `go_on` is polled in the next turn of the loop.
        loop {
            while let Poll::Ready(Some(ended)) = session.under_way.poll_next_unpin(task) {
                any = true;
                session.ended(ended, ctx);
            }
            if !std::mem::take(&mut any) {
                return Poll::Pending;
            }
            session.go_on();
        }
    }
}

measured!(CallbackSession: DeliverBatch);

impl Actor for CallbackSession {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.spawn(SendAll);
        ctx.run_interval(TICK, |session, ctx| session.tick(ctx));
        self.tick(ctx);
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.leave();
    }
}

impl Supervised for CallbackSession {
    fn restarting(&mut self, _: &mut Self::Context) {
        self.leave();
        self.plan = None;
        self.client = None;
        self.building = false;
        self.served.restart();
    }
}

impl Handler<DeliverBatch> for CallbackSession {
    type Result = ();

    fn handle(&mut self, batch: DeliverBatch, ctx: &mut Self::Context) {
        if let Some(granted) = self.served.granted(batch) {
            self.granted.extend(granted);
            self.load(ctx);
        }
    }
}

impl Handler<ReportHeld> for CallbackSession {
    type Result = ();

    fn handle(&mut self, report: ReportHeld, _: &mut Self::Context) {
        if !report.give_back.is_empty() {
            self.give_back_waiting();
            self.go_on();
        }
        let (ids, room) = (self.held_ids(), self.room());
        self.served.report(&report, ids, room);
    }
}
