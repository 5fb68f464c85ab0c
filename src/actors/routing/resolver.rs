//! Finds out which network a destination belongs to (number portability), between the acceptance of
//! a message and its route.
//!
//! ```text
//! Ingest ── known: table, cache ──────────────────────────────▶ Queue of the route
//!    └───── not known ──▶ Queue "internal:resolve" ◀─ResolvedBatch─┐    ▲
//!                                 └──DeliverBatch──▶ Resolver ─────┘    │ change row: move
//!                                 └─────────────────────────────────────┘
//! ```
//!
//! The actor serves its queue like a session. Invariants: a number is looked up once, however many
//! messages wait for it; answers are cached here and in Redis until they expire; a failing service
//! delays messages by `resolver.delays` at most, and not at all once its breaker is open. No state here
//! has to survive the process: waiting messages are in the store, in that queue.
//!
//! ENUM and HLR look-ups are not implemented.

mod networks;
mod service;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Supervised, WrapFuture};

pub use self::networks::Networks;
pub use self::service::{LookupError, Service};
use crate::actors::context::NodeContext;
use crate::actors::context::ports::{QueuePort, SessionPort};
use crate::actors::runtime::timed_mailbox::measured;
use crate::config::{self, LookupFailure};
use crate::domain::address;
use crate::domain::breaker::{self, Breaker};
use crate::pb::failed::Why;
use crate::pb::{
    DeliverBatch, Failed, Held, Message, ReportHeld, Resolved, ResolvedBatch, SessionDown,
    SettleBatch,
};
use crate::store::redis::{KnownNetwork, Redis};
use crate::telemetry::metrics::ResultLabel;

/// Batches that may wait in the mailbox; credit bounds the messages.
pub const MAILBOX: usize = 1024;
/// Messages that may wait here for answers, in memory.
const WINDOW: u32 = 4096;
const TICK: Duration = Duration::from_millis(250);
/// Ticks between two checks of the table file.
const LOOK_EVERY: u32 = 20;

/// A number without its plus.
type Number = Box<[u8]>;

pub struct Resolver {
    node: Arc<NodeContext>,
    networks: Arc<Networks>,
    redis: Option<Arc<Redis>>,
    /// Our session number at the queue.
    session: u64,
    queue: Option<Arc<QueuePort>>,
    /// The configuration from which service and breaker were built.
    config: config::Resolver,
    service: Option<Arc<Service>>,
    breaker: Breaker,
    waiting: HashMap<Number, Waiting>,
    /// Numbers to be looked up, in order.
    line: VecDeque<Number>,
    /// Pending requests.
    asking: usize,
    ticks: u32,
    looking: bool,
    /// The error of the table file that was last logged.
    warned: String,
}

/// The messages to one number.
#[derive(Default)]
struct Waiting {
    messages: Vec<Message>,
    failures: usize,
}

// === impl Resolver ===

impl Resolver {
    /// `redis`: where answers are shared, if configured.
    pub fn new(node: Arc<NodeContext>, networks: Arc<Networks>, redis: Option<Arc<Redis>>) -> Self {
        let mut resolver = Self {
            session: node.binds.next_session(),
            config: node.config().resolver.clone(),
            node,
            networks,
            redis,
            queue: None,
            service: None,
            breaker: Breaker::new(breaker::Limits::OFF),
            waiting: HashMap::new(),
            line: VecDeque::new(),
            asking: 0,
            ticks: 0,
            looking: false,
            warned: String::new(),
        };
        resolver.configure();
        resolver
    }

    /// Builds service and breaker from the configuration.
    fn configure(&mut self) {
        let config = &self.config;
        self.breaker.configure(breaker::Limits::in_a_row(
            config.breaker_failures,
            config.breaker_pause,
        ));
        self.service = match Service::new(config) {
            Ok(service) => service.map(Arc::new),
            Err(error) => {
                tracing::error!(%error, "numbers cannot be looked up");
                None
            }
        };
    }

    fn tick(&mut self, ctx: &mut Context<Self>) {
        let config = self.node.config();
        let changed = config.resolver != self.config;
        if changed {
            self.config = config.resolver.clone();
            self.configure();
        }
        self.ticks = self.ticks.wrapping_add(1);
        if changed || self.ticks.is_multiple_of(LOOK_EVERY) {
            self.look_at_table(ctx);
        }
        if self.node.draining.load(Ordering::Relaxed) {
            self.give_back(|_| true);
        } else if self.queue.is_none() {
            self.join(ctx);
        }
        let open = self.breaker.is_open();
        self.node.metrics.resolver_away.set(i64::from(open));
    }

    fn look_at_table(&mut self, ctx: &mut Context<Self>) {
        if std::mem::replace(&mut self.looking, true) {
            return;
        }
        let (networks, config) = (Arc::clone(&self.networks), self.config.clone());
        let look = tokio::task::spawn_blocking(move || networks.refresh(&config));
        ctx.spawn(look.into_actor(self).map(|looked, resolver, _| {
            resolver.looking = false;
            let error = match looked {
                Ok(Err(error)) => error,
                _ => String::new(),
            };
            if !error.is_empty() && error != resolver.warned {
                tracing::error!(%error, "resolver.table cannot be used; the earlier table stays in force");
            }
            resolver.warned = error;
        }));
    }

    /// Begins to serve the queue as soon as it exists.
    fn join(&mut self, ctx: &mut Context<Self>) {
        let queue = self.node.plan().resolve_queue;
        let Some(port) = queue.and_then(|id| self.node.queue(id)) else {
            return;
        };
        let addr = ctx.address();
        let session = SessionPort::new(addr.clone().recipient(), addr.recipient());
        port.serve(self.session, session, WINDOW);
        self.queue = Some(port);
    }

    /// Gives messages back to the queue: the next process or another node looks them up.
    fn give_back(&mut self, goes: impl Fn(&Message) -> bool) {
        let back = self.waiting.values_mut();
        let back: Vec<Message> = back
            .flat_map(|waiting| waiting.messages.extract_if(.., |message| goes(message)))
            .collect();
        // Drop numbers without messages; answers of pending requests for them are ignored.
        self.waiting
            .retain(|_, waiting| !waiting.messages.is_empty());
        let failed: Vec<Failed> = back
            .into_iter()
            .map(|message| Failed {
                id: message.id,
                why: Why::NotSent.into(),
                ..Failed::default()
            })
            .collect();
        if let (Some(queue), false) = (&self.queue, failed.is_empty()) {
            queue.post(SettleBatch {
                session: self.session,
                room: failed.len() as u32,
                failed,
                ..SettleBatch::default()
            });
        }
    }

    fn send(&self, resolved: Vec<Resolved>) {
        if let (Some(queue), false) = (&self.queue, resolved.is_empty()) {
            queue.post(ResolvedBatch {
                session: self.session,
                room: resolved.len() as u32,
                resolved,
            });
        }
    }

    /// Answers messages whose network is known, and looks up the rest.
    fn take(&mut self, messages: impl Iterator<Item = Message>, ctx: &mut Context<Self>) {
        let node = Arc::clone(&self.node);
        let plan = node.plan();
        let (mut resolved, mut fresh) = (Vec::new(), Vec::new());
        for mut message in messages {
            if self.networks.tell(&plan, &mut message) {
                let origin = match message.network.is_empty() {
                    true => "nobody knows it",
                    false => "known",
                };
                self.count("cached", 1);
                resolved.push(told(message, origin));
                continue;
            }
            let number: Number = address::normalise(&message.destination).into();
            let waiting = self.waiting.entry(number.clone()).or_default();
            if waiting.messages.is_empty() {
                fresh.push(number);
            }
            waiting.messages.push(message);
        }
        self.send(resolved);
        if !fresh.is_empty() {
            self.look_in_redis(fresh, ctx);
        }
    }

    fn look_in_redis(&mut self, numbers: Vec<Number>, ctx: &mut Context<Self>) {
        let Some(redis) = self.redis.clone().filter(|redis| redis.is_up()) else {
            self.line.extend(numbers);
            return self.pump(ctx);
        };
        let work = async move {
            // Without Redis all numbers are looked up: slower, but otherwise the same.
            let known = redis.networks(&numbers).await.unwrap_or_default();
            (numbers, known)
        };
        let then = |(numbers, known): (Vec<Number>, Vec<Option<KnownNetwork>>),
                    resolver: &mut Self,
                    ctx: &mut Context<Self>| {
            let mut known = known.into_iter();
            for number in numbers {
                match known.next().flatten() {
                    Some(answer) => {
                        resolver.count("shared", 1);
                        let life = answer.life.min(resolver.life_of(&answer.network));
                        resolver.answered(&number, answer.network.into(), life, "shared cache");
                    }
                    None => resolver.line.push_back(number),
                }
            }
            resolver.pump(ctx);
        };
        ctx.spawn(work.into_actor(self).map(then));
    }

    /// How long an answer is valid.
    fn life_of(&self, network: &str) -> Duration {
        match network.is_empty() {
            true => self.config.cache_unknown_for,
            false => self.config.cache_for,
        }
    }

    /// Starts requests for waiting numbers, up to the configured concurrency.
    fn pump(&mut self, ctx: &mut Context<Self>) {
        while self.asking < self.config.concurrency {
            let Some(number) = self.line.pop_front() else {
                return;
            };
            if !self.waiting.contains_key(&number) {
                continue;
            }
            match self.service.clone() {
                Some(service) if self.breaker.admit(Instant::now()) => {
                    self.ask(service, number, ctx);
                }
                _ => self.not_answered(number, ctx),
            }
        }
    }

    fn ask(&mut self, service: Arc<Service>, number: Number, ctx: &mut Context<Self>) {
        self.asking += 1;
        let began = Instant::now();
        let asked = number.clone();
        let question = tokio::task::spawn_blocking(move || service.ask(&asked));
        ctx.spawn(question.into_actor(self).map(move |answer, resolver, ctx| {
            resolver.asking = resolver.asking.saturating_sub(1);
            let seconds = began.elapsed().as_secs_f64();
            resolver.node.metrics.lookup_seconds.observe(seconds);
            let answer = answer
                .unwrap_or_else(|error| Err(LookupError::Unusable(error.to_string())));
            match answer {
                Ok(network) => {
                    if resolver.breaker.is_open() {
                        tracing::info!("the look-up service answers again");
                    }
                    resolver.breaker.succeeded(Instant::now());
                    let found = if network.is_empty() { "not_ported" } else { "found" };
                    resolver.count(found, 1);
                    resolver.share(&number, &network, ctx);
                    let life = resolver.life_of(&network);
                    resolver.answered(&number, network.into(), life, "looked up");
                }
                Err(error) => {
                    resolver.count("failed", 1);
                    tracing::debug!(%error, number = %address::mask(&number), "a number was not looked up");
                    if resolver.breaker.failed(Instant::now()) {
                        tracing::warn!(%error, "the look-up service fails and gets no requests for a while");
                    }
                    resolver.not_answered(number, ctx);
                }
            }
            resolver.pump(ctx);
        }));
    }

    /// Stores an answer in Redis, for other nodes and for this one after a restart.
    fn share(&self, number: &Number, network: &str, ctx: &mut Context<Self>) {
        let Some(redis) = self.redis.clone() else {
            return;
        };
        let (number, life) = (number.clone(), self.life_of(network));
        let network = network.to_owned();
        let keep = async move {
            // The client has logged that Redis is unreachable.
            let _ = redis.keep_network(&number, &network, life).await;
        };
        ctx.spawn(keep.into_actor(self));
    }

    fn answered(&mut self, number: &Number, network: Arc<str>, life: Duration, from: &str) {
        self.networks.keep(number, &network, life);
        let Some(waiting) = self.waiting.remove(number) else {
            return;
        };
        let settled = self.networks.settle(&network, number);
        let origin = match (network.is_empty(), settled.is_empty()) {
            (false, _) => from.to_owned(),
            (true, false) => format!("table; not ported, {from}"),
            (true, true) => format!("not ported, {from}"),
        };
        self.send(told_all(waiting.messages, &settled, &origin));
    }

    /// A look-up failed: it is tried again after a pause, or given up.
    fn not_answered(&mut self, number: Number, ctx: &mut Context<Self>) {
        let refuses = self.config.on_failure == LookupFailure::Refuse;
        let gives_up_at_once = self.breaker.is_open() && !refuses;
        let Some(waiting) = self.waiting.get_mut(&number) else {
            return;
        };
        waiting.failures += 1;
        let pause = self.config.delays.get(waiting.failures - 1).copied();
        if let (Some(pause), false) = (pause, gives_up_at_once) {
            ctx.run_later(pause, move |resolver, ctx| {
                resolver.line.push_back(number);
                resolver.pump(ctx);
            });
            return;
        }
        let messages = self.waiting.remove(&number).unwrap_or_default().messages;
        let result = if refuses { "refused" } else { "routed" };
        let given_up = &self.node.metrics.lookups_given_up;
        given_up
            .get_or_create(&ResultLabel { result })
            .inc_by(messages.len() as u64);
        let network = match refuses {
            true => String::new(),
            false => self.networks.of_range(&number),
        };
        let origin = match network.is_empty() {
            true => "no answer",
            false => "table; no answer",
        };
        let mut resolved = told_all(messages, &network, origin);
        resolved.iter_mut().for_each(|one| one.refused = refuses);
        self.send(resolved);
    }

    fn count(&self, result: &'static str, times: u64) {
        let lookups = &self.node.metrics.lookups;
        lookups.get_or_create(&ResultLabel { result }).inc_by(times);
    }
}

fn told(message: Message, origin: &str) -> Resolved {
    Resolved {
        message: Some(Box::new(message)),
        origin: origin.to_owned(),
        refused: false,
    }
}

fn told_all(messages: Vec<Message>, network: &str, origin: &str) -> Vec<Resolved> {
    let tell = |mut message: Message| {
        network.clone_into(&mut message.network);
        told(message, origin)
    };
    messages.into_iter().map(tell).collect()
}

// === messages ===

measured!(Resolver: DeliverBatch);

impl Actor for Resolver {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.run_interval(TICK, |resolver, ctx| resolver.tick(ctx));
        self.join(ctx);
    }
}

impl Supervised for Resolver {
    /// The queue owns the messages that it had handed out.
    fn restarting(&mut self, _: &mut Self::Context) {
        if let Some(queue) = &self.queue {
            queue.leave(self.session);
            queue.post(SessionDown {
                session: self.session,
            });
        }
        let (node, networks) = (Arc::clone(&self.node), Arc::clone(&self.networks));
        *self = Self::new(node, networks, self.redis.take());
    }
}

impl Handler<DeliverBatch> for Resolver {
    type Result = ();

    fn handle(&mut self, batch: DeliverBatch, ctx: &mut Self::Context) {
        let messages = batch.deliveries.into_iter();
        self.take(
            messages.filter_map(|delivery| delivery.message.map(|boxed| *boxed)),
            ctx,
        );
        if self.node.draining.load(Ordering::Relaxed) {
            self.give_back(|_| true);
        }
    }
}

impl Handler<ReportHeld> for Resolver {
    type Result = ();

    /// Gives back the messages of leaving partitions; otherwise reports what is here.
    fn handle(&mut self, ask: ReportHeld, _: &mut Self::Context) {
        let Some(queue) = &self.queue else { return };
        if !ask.give_back.is_empty() {
            let (node, id) = (Arc::clone(&self.node), queue.id);
            return self.give_back(|message| {
                let part = node.part_of(id, &message.destination);
                ask.give_back.contains(&u32::from(part))
            });
        }
        let messages = self.waiting.values().flat_map(|one| &one.messages);
        let ids: Vec<u64> = messages.map(|message| message.id).collect();
        queue.post(Held {
            session: self.session,
            room: WINDOW.saturating_sub(ids.len() as u32),
            ids,
        });
    }
}
