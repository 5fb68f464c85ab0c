//! Finds out something about the number that a message is for, between its acceptance and its route: the
//! network that the number belongs to (number portability), or the IMSI of its subscriber.
//!
//! ```text
//! Ingest ── known: table, cache ──────────────────────────────▶ Queue of the route
//!    └───── not known ──▶ Queue "internal:resolve" ◀─ResolvedBatch─┐    ▲
//!                         or    "internal:imsi"                    │    │
//!                                 └──DeliverBatch──▶ Resolver ─────┘    │ change row: move
//!                                 └─────────────────────────────────────┘
//! ```
//!
//! There is an actor for each question, and it serves its queue like a session. Invariants: a number is
//! looked up once, however many messages wait for it; answers are cached here and in Redis until they
//! expire; a failing service delays messages by the pauses of the configuration. Then networks are given
//! up, or at once where a breaker is open; an IMSI is waited for until the message expires, and while
//! nobody can be asked for IMSIs the messages wait in the queue, where they can be cancelled, moved and
//! expire. No state here has to survive the process: waiting messages are in the store, in that queue.

mod control;
mod enumber;
mod known;
mod look_up;
mod question;
mod service;
mod source;
mod sources;

use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Supervised, WrapFuture};

pub use self::known::{Imsis, KnownAnswers, Networks};
pub use self::question::{ImsiQuestion, LookUpQuestion, NetworkQuestion};
use self::question::{LookUpFailure, LookUpSettings};
use self::source::LookUpSource;
pub use self::sources::SourcedQuestion;
use crate::actors::context::NodeContext;
use crate::actors::context::ports::QueuePort;
use crate::actors::runtime::timed_mailbox::Timed;
use crate::clock;
use crate::domain::breaker::{self, Breaker};
use crate::pb::{
    DeliverBatch, Failed, Held, Message, ReportHeld, Resolved, ResolvedBatch, SettleBatch,
};

/// Batches that may wait in the mailbox; credit bounds the messages.
pub const MAILBOX: usize = 1024;
/// Messages that may wait here for answers, in memory.
const WINDOW: u32 = 4096;
/// Messages that may wait here while nobody can be asked: the one with which it is tried again.
const WINDOW_AWAY: u32 = 1;
const TICK: Duration = Duration::from_millis(250);
/// Ticks between two checks of the table file.
const LOOK_EVERY: u32 = 20;
/// Results that go to the queue at once; fewer wait for others for a millisecond, which makes larger
/// commits.
const RESULTS: usize = 256;

/// A number without its plus.
type BareNumber = Box<[u8]>;

pub struct Resolver<Q: SourcedQuestion> {
    node: Arc<NodeContext>,
    known: Arc<KnownAnswers<Q>>,
    /// Our session number at the queue.
    session: u64,
    queue: Option<Arc<QueuePort>>,
    /// Messages that the queue may give us at once.
    window: u32,
    /// The configuration from which the sources were built, and what follows from it.
    section: Q::Section,
    settings: LookUpSettings,
    sources: Vec<Guarded>,
    /// How often the sources were built: what an earlier one answers counts for no breaker.
    generation: u32,
    waiting: HashMap<BareNumber, WaitingNumber>,
    /// Numbers to be looked up, in order.
    line: VecDeque<BareNumber>,
    /// Numbers that are being asked for.
    asking: HashSet<BareNumber>,
    /// Numbers that are looked up although no message may wait for them.
    renewing: HashSet<BareNumber>,
    /// For the queue, soon.
    results: Vec<Resolved>,
    ticks: u32,
    looking: bool,
    /// The error of the table file that was last logged.
    warned: String,
}

/// A source, and whether it is asked.
struct Guarded {
    source: Rc<dyn LookUpSource>,
    breaker: Breaker,
}

/// The messages to one number.
#[derive(Default)]
struct WaitingNumber {
    messages: Vec<Message>,
    failures: usize,
}

// === impl Resolver ===

impl<Q: SourcedQuestion> Resolver<Q> {
    pub fn new(node: Arc<NodeContext>, known: Arc<KnownAnswers<Q>>) -> Self {
        let section = Q::section(&node.config()).clone();
        let mut resolver = Self {
            session: node.binds.next_session(),
            settings: Q::settings(&section),
            section,
            node,
            known,
            queue: None,
            window: WINDOW,
            sources: Vec::new(),
            generation: 0,
            waiting: HashMap::new(),
            line: VecDeque::new(),
            asking: HashSet::new(),
            renewing: HashSet::new(),
            results: Vec::new(),
            ticks: 0,
            looking: false,
            warned: String::new(),
        };
        resolver.configure();
        resolver
    }

    /// Builds the sources from the configuration.
    fn configure(&mut self) {
        self.settings = Q::settings(&self.section);
        let sources = Q::sources(&self.section, &self.node.handlers).unwrap_or_else(|error| {
            tracing::error!(%error, question = Q::NAME, "numbers cannot be looked up");
            Vec::new()
        });
        self.take_sources(sources);
    }

    fn take_sources(&mut self, sources: Vec<Rc<dyn LookUpSource>>) {
        let limits = breaker::BreakerLimits::in_a_row(
            self.settings.breaker_failures,
            self.settings.breaker_pause,
        );
        let guarded = |source| Guarded {
            source,
            breaker: Breaker::new(limits),
        };
        self.sources = sources.into_iter().map(guarded).collect();
        self.generation = self.generation.wrapping_add(1);
    }

    fn tick(&mut self, ctx: &mut Context<Self>) {
        let config = self.node.config();
        let changed = *Q::section(&config) != self.section;
        if changed {
            self.section = Q::section(&config).clone();
            self.configure();
        }
        self.ticks = self.ticks.wrapping_add(1);
        if changed || self.ticks.is_multiple_of(LOOK_EVERY) {
            self.look_at_table(ctx);
        }
        if self.node.draining.load(Ordering::Relaxed) {
            self.give_back(true, |_| true);
        } else if self.queue.is_none() {
            self.join(ctx);
        } else {
            self.adapt_window(ctx);
        }
        if self.settings.failure == LookUpFailure::Wait {
            // Only its queue ends a message.
            let now = clock::now_ms();
            self.give_back(true, |message| {
                message.expires_at != 0 && message.expires_at <= now
            });
        }
        self.renew(ctx);
        let open = self.sources.iter().any(|one| one.breaker.is_open());
        Q::meters(&self.node.metrics).away.set(i64::from(open));
    }

    fn look_at_table(&mut self, ctx: &mut Context<Self>) {
        if std::mem::replace(&mut self.looking, true) {
            return;
        }
        let (known, settings) = (Arc::clone(&self.known), self.settings.clone());
        let work = move || known.refresh(settings.cache, settings.table.as_deref());
        let look = tokio::task::spawn_blocking(work);
        ctx.spawn(look.into_actor(self).map(|looked, resolver, _| {
            resolver.looking = false;
            let error = match looked {
                Ok(Err(error)) => error,
                _ => String::new(),
            };
            if !error.is_empty() && error != resolver.warned {
                let key = Q::TABLE_KEY;
                tracing::error!(%error, "{key} cannot be used; the earlier table stays in force");
            }
            resolver.warned = error;
        }));
    }

    /// Begins to serve the queue as soon as it exists.
    fn join(&mut self, ctx: &mut Context<Self>) {
        let queue = Q::queue(&self.node.plan());
        let Some(port) = queue.and_then(|id| self.node.queue(id)) else {
            return;
        };
        port.serve(self.session, &ctx.address(), self.window);
        self.queue = Some(port);
    }

    /// Whether nobody can be asked now.
    fn is_away(&self) -> bool {
        !self.sources.is_empty() && self.sources.iter().all(|one| one.breaker.is_open())
    }

    /// Where messages wait for an answer, however long it takes, they wait in their queue while nobody can be
    /// asked.
    fn adapt_window(&mut self, ctx: &mut Context<Self>) {
        let window = if self.settings.failure == LookUpFailure::Wait && self.is_away() {
            WINDOW_AWAY
        } else {
            WINDOW
        };
        if window == self.window {
            return;
        }
        self.window = window;
        self.flush();
        let Some(queue) = self.queue.take() else {
            return;
        };
        // First, so that nothing is granted to this session again.
        queue.leave(self.session);
        self.queue = Some(Arc::clone(&queue));
        self.give_back(false, |_| true);
        queue.session_down(self.session);
        self.session = self.node.binds.next_session();
        self.queue = None;
        self.join(ctx);
    }

    /// Gives messages back to the queue, in their order: the next process or another node looks them up.
    fn give_back(&mut self, with_room: bool, goes: impl Fn(&Message) -> bool) {
        let back = self.waiting.values_mut();
        let mut back: Vec<u64> = back
            .flat_map(|waiting| waiting.messages.extract_if(.., |message| goes(message)))
            .map(|message| message.id)
            .collect();
        back.sort_unstable();
        // Drop numbers without messages; answers of pending requests for them are only cached.
        self.waiting
            .retain(|_, waiting| !waiting.messages.is_empty());
        let failed: Vec<Failed> = back.into_iter().map(Failed::not_sent).collect();
        if let (Some(queue), false) = (&self.queue, failed.is_empty()) {
            queue.post(SettleBatch {
                session: self.session,
                room: if with_room { failed.len() as u32 } else { 0 },
                failed,
                ..SettleBatch::default()
            });
        }
    }

    /// Sends results to the queue, together with others.
    fn send(&mut self, resolved: impl IntoIterator<Item = Resolved>, ctx: &mut Context<Self>) {
        let is_first = self.results.is_empty();
        self.results.extend(resolved);
        if self.results.len() >= RESULTS {
            self.flush();
        } else if is_first && !self.results.is_empty() {
            ctx.run_later(Duration::ZERO, |resolver, _| resolver.flush());
        }
    }

    fn flush(&mut self) {
        let resolved = std::mem::take(&mut self.results);
        if let (Some(queue), false) = (&self.queue, resolved.is_empty()) {
            queue.post(ResolvedBatch {
                session: self.session,
                room: resolved.len() as u32,
                resolved,
            });
        }
    }
}

// === messages ===

impl<Q: SourcedQuestion> Actor for Resolver<Q> {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.run_interval(TICK, |resolver, ctx| resolver.tick(ctx));
        self.join(ctx);
    }
}

impl<Q: SourcedQuestion> Supervised for Resolver<Q> {
    /// The queue owns the messages that it had handed out.
    fn restarting(&mut self, _: &mut Self::Context) {
        if let Some(queue) = &self.queue {
            queue.session_down(self.session);
        }
        *self = Self::new(Arc::clone(&self.node), Arc::clone(&self.known));
    }
}

impl<Q: SourcedQuestion> Handler<Timed<DeliverBatch>> for Resolver<Q> {
    type Result = ();

    fn handle(&mut self, timed: Timed<DeliverBatch>, ctx: &mut Self::Context) {
        let (batch, handling) = timed.open();
        let messages = batch.deliveries.into_iter();
        self.take(
            messages.filter_map(|delivery| delivery.message.map(|boxed| *boxed)),
            ctx,
        );
        if self.node.draining.load(Ordering::Relaxed) {
            self.give_back(true, |_| true);
        }
        handling.done();
    }
}

impl<Q: SourcedQuestion> Handler<ReportHeld> for Resolver<Q> {
    type Result = ();

    /// Gives back the messages of leaving partitions; otherwise reports what is here.
    fn handle(&mut self, ask: ReportHeld, _: &mut Self::Context) {
        // What has an answer leaves by that.
        self.flush();
        let Some(queue) = &self.queue else { return };
        if !ask.give_back.is_empty() {
            let (node, id) = (Arc::clone(&self.node), queue.id);
            return self.give_back(true, |message| {
                let part = node.part_of(id, &message.destination);
                ask.give_back.contains(&u32::from(part))
            });
        }
        let messages = self.waiting.values().flat_map(|one| &one.messages);
        let ids: Vec<u64> = messages.map(|message| message.id).collect();
        queue.post(Held {
            session: self.session,
            room: self.window.saturating_sub(ids.len() as u32),
            ids,
            question: ask.question,
            ..Held::default()
        });
    }
}

#[cfg(test)]
mod tests;
