//! The live events of `GET /v1/events`: gathered once a second, for all listeners together.
//!
//! [`LiveFeed::run`] asks the Admin actor once per second, makes the events of that second, and hands
//! the same octets to every listener, but for those that show a part of the lists ([`shown`]): for them the part is
//! cut out of the last second. A listener that reads nothing for [`BACKLOG`] seconds is
//! dropped: nothing is buffered for it. Without listeners only the data of the graph is kept.

mod attention;
mod events;
mod rates;
mod shown;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix::Addr;
use actix_web::web::Bytes;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::{Instant, MissedTickBehavior};

use crate::actors::control::access::{Access, Bearer};
use crate::actors::control::admin::{
    Admin, AdminCall, CheckReadiness, NodeSnapshot, figures, nodes,
};
use crate::api::{End, Hello, History, OperatorHistory};
use crate::clock;
use crate::domain::queue_name::QueueName;
use crate::pb::BindDirection;

pub(super) use events::Kind;
use events::{Latest, LiveEvent, LiveSecond};
use rates::{QueueRates, RateWindow};
pub(super) use shown::ShownLists;
use shown::ShownPart;

/// Between two looks.
const EVERY: Duration = Duration::from_secs(1);
/// Seconds of history that a new listener gets.
const HISTORY: usize = 300;
/// Seconds of it that are kept of each operator, and of how many.
const OPERATORS: usize = 120;
const MOST_OPERATORS: usize = 64;
/// Seconds that a listener may be behind.
const BACKLOG: usize = 16;
/// Most listeners at once.
const LISTENERS: usize = 64;
/// Most listeners with one token.
const LISTENERS_OF_TOKEN: usize = 16;
/// How long a client waits before it connects again.
const RETRY_MS: u64 = 2_000;

/// What is sent to the listeners, and the last minutes.
pub struct LiveFeed {
    inner: Mutex<Inner>,
}

struct Inner {
    /// `None` once the server stops.
    sender: Option<broadcast::Sender<Arc<Vec<LiveEvent>>>>,
    latest: Latest,
    /// The last look, for those that show a part of it; `None` without listeners.
    second: Option<Arc<LiveSecond>>,
    rate: RateWindow,
    history: VecDeque<Point>,
    node: u32,
    /// Listeners by the name of their token.
    by_token: HashMap<String, usize>,
}

/// One second of the graph.
#[derive(Debug, Clone)]
struct Point {
    at_ms: i64,
    accepted: f64,
    sent: f64,
    failed: f64,
    waiting: u64,
    /// By queue of an operator; only of the last two minutes.
    operators: Vec<(String, QueueRates, f64)>,
}

/// One listener.
pub(super) struct Subscription {
    kinds: Vec<Kind>,
    /// What it shows of the lists, if that is a part.
    part: Option<ShownPart>,
    first: Option<Bytes>,
    events: broadcast::Receiver<Arc<Vec<LiveEvent>>>,
    owner: Owner,
    is_over: bool,
}

/// Whose listener it is; its place is free again when this is dropped.
struct Owner {
    live: Arc<LiveFeed>,
    bearer: Bearer,
    access: Arc<Access>,
}

/// Why no further client may listen.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum ListenRefused {
    #[error("{LISTENERS} clients listen already; close one, or poll /v1/queues and /v1/binds")]
    Full,
    #[error(
        "this token has {LISTENERS_OF_TOKEN} listeners already; close one, or poll /v1/queues and /v1/binds"
    )]
    TokenFull,
    #[error("the server is stopping; connect to another node, or again in a moment")]
    Stopping,
}

// === impl LiveFeed ===

impl LiveFeed {
    /// Events without a history; [`LiveFeed::run`] fills them.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            inner: Mutex::new(Inner {
                sender: Some(broadcast::Sender::new(BACKLOG)),
                latest: Latest::default(),
                second: None,
                rate: RateWindow::default(),
                history: VecDeque::with_capacity(HISTORY),
                node: 0,
                by_token: HashMap::new(),
            }),
        })
    }

    /// Takes a snapshot every second until [`LiveFeed::close`].
    pub async fn run(self: Arc<Self>, admin: Addr<Admin>) {
        let mut timer = tokio::time::interval(EVERY);
        timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            timer.tick().await;
            let Some(has_listeners) = self.has_listeners() else {
                return;
            };
            // A restarting Admin answers the next time: until then there are no updates.
            let Ok(node) = admin
                .send(AdminCall(|admin| figures::collect(admin, false)))
                .timeout(EVERY)
                .await
            else {
                continue;
            };
            if !has_listeners {
                self.note(&node, Instant::now(), clock::now_ms());
                continue;
            }
            let questions = futures_util::future::join3(
                admin.send(CheckReadiness).timeout(EVERY),
                admin
                    .send(AdminCall(|admin| figures::operators(admin, false)))
                    .timeout(EVERY),
                admin.send(AdminCall(nodes::list)).timeout(EVERY),
            );
            if let (Ok(readiness), Ok(operators), Ok(nodes)) = questions.await {
                let rest = events::Rest {
                    readiness,
                    operators,
                    nodes,
                };
                self.publish(&node, rest, Instant::now(), clock::now_ms());
            }
        }
    }

    /// Ends every stream with the event `end`; no client can listen afterwards.
    pub fn close(&self) {
        let mut inner = self.lock();
        let end = End {
            reason: "the server is stopping".to_owned(),
        };
        if let Some(sender) = inner.sender.take() {
            let end = LiveEvent::new(Kind::End, clock::now_ms(), &end);
            // Without listeners nothing is sent.
            let _ = sender.send(Arc::new(vec![end]));
        }
    }

    /// A new listener: it gets everything once, or the part that it shows, with the history after `since` (Unix
    /// milliseconds, the id of the last event it has), then what changes.
    /// It ends when its token is removed from `access`, or ends.
    pub(super) fn subscribe(
        self: &Arc<Self>,
        kinds: Vec<Kind>,
        shown: Option<ShownLists>,
        since: i64,
        bearer: Bearer,
        access: Arc<Access>,
    ) -> Result<Subscription, ListenRefused> {
        let mut inner = self.lock();
        let sender = inner.sender.as_ref().ok_or(ListenRefused::Stopping)?;
        if sender.receiver_count() >= LISTENERS {
            return Err(ListenRefused::Full);
        }
        let events = sender.subscribe();
        let of_token = inner.by_token.entry(bearer.name.clone()).or_default();
        if *of_token >= LISTENERS_OF_TOKEN {
            return Err(ListenRefused::TokenFull);
        }
        *of_token += 1;
        let owner = Owner {
            live: Arc::clone(self),
            bearer,
            access,
        };
        let mut part = shown.map(ShownPart::new);
        let second = inner.second.as_deref();
        let mut operators = inner.operator_histories();
        if let Some(part) = &part {
            part.lists.keep_histories(&mut operators, second);
        }
        let hello = Hello {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            node: inner.node,
            every_ms: EVERY.as_millis() as u64,
            history: inner.history_after(since),
            operators,
        };
        let at_ms = inner.history.back().map_or(0, |point| point.at_ms);
        let mut first = format!("retry: {RETRY_MS}\n").into_bytes();
        first.extend_from_slice(&LiveEvent::new(Kind::Hello, at_ms, &hello).octets);
        match &mut part {
            None => {
                let all = inner.latest.all();
                for event in all.filter(|event| kinds.contains(&event.kind)) {
                    first.extend_from_slice(&event.octets);
                }
            }
            Some(part) => {
                let news = second.map(|second| part.news(&kinds, second));
                for event in news.iter().flatten() {
                    first.extend_from_slice(&event.octets);
                }
            }
        }
        Ok(Subscription {
            kinds,
            part,
            first: Some(first.into()),
            events,
            owner,
            is_over: false,
        })
    }

    /// Whether the server stops.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().sender.is_none()
    }

    /// Whether somebody listens; `None` after the end.
    fn has_listeners(&self) -> Option<bool> {
        let inner = self.lock();
        Some(inner.sender.as_ref()?.receiver_count() > 0)
    }

    /// Keeps the figures of the graph.
    fn note(&self, node: &NodeSnapshot, now: Instant, at_ms: i64) {
        let mut inner = self.lock();
        // The last events are outdated: the next listener must not get them.
        inner.latest = Latest::default();
        inner.second = None;
        inner.look(node, now, at_ms);
    }

    /// Makes the events of this second and sends them.
    fn publish(&self, node: &NodeSnapshot, rest: events::Rest, now: Instant, at_ms: i64) {
        let mut inner = self.lock();
        let measured = inner.look(node, now, at_ms);
        let second = LiveSecond::new(node, rest, &measured, at_ms);
        let whole = Kind::ALL.into_iter();
        let events = whole.filter_map(|kind| second.whole(kind)).collect();
        let news = inner.latest.replace(events);
        inner.second = Some(Arc::new(second));
        if let Some(sender) = &inner.sender {
            let _ = sender.send(Arc::new(news));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Inner ===

impl Inner {
    fn look(&mut self, node: &NodeSnapshot, now: Instant, at_ms: i64) -> rates::Measured {
        self.node = node.node;
        let measured = self.rate.measure(node, now);
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(Point {
            at_ms,
            accepted: measured.rates.accepted,
            sent: measured.rates.sent,
            failed: measured.rates.failed,
            waiting: events::backlog(node),
            operators: operators(node, &measured),
        });
        if let Some(old) = self.history.len().checked_sub(OPERATORS + 1)
            && let Some(point) = self.history.get_mut(old)
        {
            point.operators = Vec::new();
        }
        measured
    }

    fn history_after(&self, since: i64) -> History {
        let mut history = History::default();
        for point in self.history.iter().filter(|point| point.at_ms > since) {
            history.at_ms.push(point.at_ms);
            history.accepted.push(point.accepted);
            history.sent.push(point.sent);
            history.failed.push(point.failed);
            history.waiting.push(point.waiting);
        }
        history
    }

    /// How each operator did in the last two minutes.
    fn operator_histories(&self) -> Vec<OperatorHistory> {
        let mut all: BTreeMap<&str, OperatorHistory> = BTreeMap::new();
        for (name, rates, answer_ms) in self.history.iter().flat_map(|point| &point.operators) {
            let one = all.entry(name).or_default();
            one.sent.push(rates.delivered);
            one.throttled.push(rates.throttled);
            one.refused.push(rates.refused);
            one.answer_ms.push(*answer_ms);
        }
        let named = |(name, one): (&str, OperatorHistory)| OperatorHistory {
            name: name.to_owned(),
            ..one
        };
        all.into_iter().map(named).collect()
    }
}

/// How operators do now: the first of them, if there are very many.
fn operators(node: &NodeSnapshot, measured: &rates::Measured) -> Vec<(String, QueueRates, f64)> {
    let mut all = Vec::new();
    for queue in &node.queues {
        let Some(id) = QueueName::parse(&queue.name).operator() else {
            continue;
        };
        if all.len() == MOST_OPERATORS {
            break;
        }
        let binds = node
            .binds
            .iter()
            .filter(|bind| bind.direction() == BindDirection::Out && bind.name == id);
        let answers = binds
            .map(|bind| bind.answer_us)
            .filter(|answer| *answer > 0);
        let answers: Vec<u64> = answers.collect();
        let mean = answers
            .iter()
            .sum::<u64>()
            .checked_div(answers.len() as u64);
        let rates = measured
            .queues
            .get(&queue.name)
            .copied()
            .unwrap_or_default();
        all.push((
            queue.name.clone(),
            rates,
            mean.unwrap_or_default() as f64 / 1000.0,
        ));
    }
    all
}

// === impl Subscription ===

impl Subscription {
    /// The next octets of the stream; `None` when it is over: the server stops, or this listener
    /// was too slow.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        if self.is_over {
            return None;
        }
        let received = self.events.recv().await;
        let now = clock::now_ms();
        let Owner { bearer, access, .. } = &self.owner;
        if received.is_ok() && !access.is_still_good(bearer, now) {
            self.is_over = true;
            let reason = "the token was removed or has ended".to_owned();
            return Some(LiveEvent::new(Kind::End, now, &End { reason }).octets);
        }
        match received {
            Ok(events) => Some(self.select(&events)),
            Err(RecvError::Lagged(missed)) => {
                tracing::debug!(
                    missed,
                    "a listener of the live events is too slow and dropped"
                );
                None
            }
            Err(RecvError::Closed) => None,
        }
    }

    fn select(&mut self, events: &[LiveEvent]) -> Bytes {
        let mut octets = Vec::new();
        let is_end = events.iter().any(|event| event.kind == Kind::End);
        match &mut self.part {
            Some(part) if !is_end => {
                let second = self.owner.live.lock().second.clone();
                let news = second.map(|second| part.news(&self.kinds, &second));
                for event in news.iter().flatten() {
                    octets.extend_from_slice(&event.octets);
                }
            }
            _ => {
                let wanted = |kind| kind == Kind::End || self.kinds.contains(&kind);
                for event in events.iter().filter(|event| wanted(event.kind)) {
                    octets.extend_from_slice(&event.octets);
                }
            }
        }
        if octets.is_empty() {
            // A comment keeps the connection alive.
            Bytes::from_static(b":\n\n")
        } else {
            octets.into()
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let mut inner = self.live.lock();
        if let Some(count) = inner.by_token.get_mut(&self.bearer.name) {
            *count -= 1;
            if *count == 0 {
                inner.by_token.remove(&self.bearer.name);
            }
        }
    }
}

#[cfg(test)]
mod tests;
