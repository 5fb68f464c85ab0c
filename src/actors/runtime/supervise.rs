//! Keeps actors and tasks alive through panics and stops.
//!
//! `actix::Supervisor` does not survive a panic, so every long-lived actor here runs inside
//! [`Supervise`]: it polls actix's own `ContextFut` inside `catch_unwind`; after a panic (in a
//! handler or in a spawned future) or a stop it waits, then restarts the context. The `Addr` and
//! the queued messages stay. `Supervised::restarting` must rebuild the actor's state.
//!
//! What nobody sends a message to is a task ([`start_task`]): work that is begun anew after a panic or an end.
//!
//! A panic or an unexpected stop counts against the restart budget; when that is spent, the failure
//! escalates. With [`AfterStop::Again`] an actor declares beforehand that its stop is expected (a lost
//! bind) and when to restart it: such a stop never counts.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix::dev::channel::{self, AddressReceiver};
use actix::{Actor, Addr, ArbiterHandle, Context, Supervised};
use futures_util::FutureExt as _;
use tokio::sync::Notify;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use crate::pb::ActorSnapshot;

/// What a supervised actor wants after `ctx.stop()`; set by [`Health::after_stop`].
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum AfterStop {
    /// The stop was a failure: restart with a pause, against the budget.
    #[default]
    Failure,
    /// Expected: restart after this pause (`None`: when woken), outside the budget.
    Again(Option<Duration>),
    /// The actor has finished its work.
    End,
}

/// How many restarts are allowed within which time, and the pauses between them.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    pub restarts: usize,
    pub within: Duration,
    pub first_pause: Duration,
    pub longest_pause: Duration,
}

/// Restart counters and requests of one supervised actor, shared with its snapshot.
#[derive(Debug, Default)]
pub struct Health {
    name: String,
    restarts: AtomicU64,
    panics: AtomicU64,
    last_panic: Mutex<String>,
    /// With the number of wakes that was known when it was decided.
    after_stop: Mutex<(AfterStop, u64)>,
    wakes: AtomicU64,
    wake: Notify,
}

/// Called with the name of an actor whose budget is spent.
pub type Escalate = Arc<dyn Fn(&str) + Send + Sync>;

/// The receiving end of an address whose actor is started later, on its arbiter.
pub struct ActorSlot<A: Actor<Context = Context<A>>> {
    receiver: AddressReceiver<A>,
}

/// What is known of an actor or task while it is kept alive.
struct Supervise {
    failures: VecDeque<Instant>,
    budget: Budget,
    health: Arc<Health>,
    escalate: Escalate,
}

/// An address and the slot that [`ActorSlot::start`] fills.
pub fn slot<A: Actor<Context = Context<A>>>(capacity: usize) -> (Addr<A>, ActorSlot<A>) {
    let (sender, receiver) = channel::channel(capacity);
    (Addr::new(sender), ActorSlot { receiver })
}

/// Starts a task on `arbiter`. `work` never ends by itself: after a panic or an end it is called again, with the pauses and the
/// budget of an actor.
pub fn start_task(
    arbiter: &ArbiterHandle,
    health: Arc<Health>,
    escalate: Escalate,
    work: impl AsyncFnMut() + Send + 'static,
) {
    arbiter.spawn_fn(move || {
        actix::spawn(Supervise::new(health, escalate).run(work));
    });
}

/// Does `work` again and again, each time after a pause.
pub async fn every(pause: Duration, mut work: impl AsyncFnMut()) {
    loop {
        tokio::time::sleep(pause).await;
        work().await;
    }
}

/// Waits for `time`. A panic of one of `tasks` meanwhile is one of the caller.
pub async fn watch_for(time: Duration, tasks: &mut JoinSet<()>) {
    let watch = async {
        while let Some(ended) = tasks.join_next().await {
            if let Err(Ok(panic)) = ended.map_err(JoinError::try_into_panic) {
                resume_unwind(panic);
            }
        }
        std::future::pending::<()>().await;
    };
    // It is over when the time is.
    let _ = tokio::time::timeout(time, watch).await;
}

// === impl Budget ===

impl Default for Budget {
    fn default() -> Self {
        Self {
            restarts: 5,
            within: Duration::from_secs(10),
            first_pause: Duration::from_millis(50),
            longest_pause: Duration::from_secs(2),
        }
    }
}

// === impl ActorSlot ===

impl<A: Actor<Context = Context<A>> + Supervised> ActorSlot<A> {
    /// Starts the actor that `make` builds, on `arbiter`.
    pub fn start(
        self,
        arbiter: &ArbiterHandle,
        health: Arc<Health>,
        escalate: Escalate,
        make: impl FnOnce() -> A + Send + 'static,
    ) {
        let receiver = self.receiver;
        arbiter.spawn_fn(move || {
            let mut context = Context::with_receiver(receiver).into_future(make());
            let (for_actor, mut has_begun) = (Arc::clone(&health), false);
            let work = async move || {
                if has_begun && !context.restart() {
                    // Nobody holds an address any more.
                    return for_actor.after_stop(AfterStop::End);
                }
                has_begun = true;
                (&mut context).await;
            };
            actix::spawn(Supervise::new(health, escalate).run(work));
        });
    }
}

// === impl Health ===

impl Health {
    pub fn new(name: impl Into<String>) -> Arc<Self> {
        Arc::new(Self {
            name: name.into(),
            ..Self::default()
        })
    }

    /// Sets what happens after the next stop; valid for one stop.
    pub fn after_stop(&self, after: AfterStop) {
        self.after_stop_since(after, self.wakes());
    }

    /// Like [`Health::after_stop`], as decided by what was so when `wakes` was read. Who changes that wakes
    /// the actor, and it may not be asleep yet: the pause then ends at once.
    pub fn after_stop_since(&self, after: AfterStop, wakes: u64) {
        *lock(&self.after_stop) = (after, wakes);
    }

    /// How often the actor was woken.
    pub fn wakes(&self) -> u64 {
        self.wakes.load(Ordering::SeqCst)
    }

    /// Ends a pause of [`AfterStop::Again`] early, also one that was decided upon and has not begun.
    pub fn wake(&self) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
        // A stored permit would end a later pause at once, so only current waiters are woken.
        self.wake.notify_waiters();
    }

    /// Waits for the next wake; not at all if there was one since `wakes` was read.
    async fn woken_since(&self, wakes: u64) {
        // It hears of wakes from its creation on.
        let woken = self.wake.notified();
        if self.wakes() == wakes {
            woken.await;
        }
    }

    pub fn snapshot(&self) -> ActorSnapshot {
        ActorSnapshot {
            name: self.name.clone(),
            restarts: self.restarts.load(Ordering::Relaxed),
            panics: self.panics.load(Ordering::Relaxed),
            last_panic: lock(&self.last_panic).clone(),
        }
    }

    /// How often the actor was restarted after a failure.
    pub fn restarts(&self) -> u64 {
        self.restarts.load(Ordering::Relaxed)
    }
}

// === impl Supervise ===

impl Supervise {
    fn new(health: Arc<Health>, escalate: Escalate) -> Self {
        Self {
            failures: VecDeque::new(),
            budget: Budget::default(),
            health,
            escalate,
        }
    }

    /// Calls `work` until it must not start again.
    async fn run(mut self, mut work: impl AsyncFnMut()) {
        loop {
            let ended = AssertUnwindSafe(work()).catch_unwind().await;
            if let Err(payload) = &ended {
                self.note_panic(payload.as_ref());
            }
            if !self.may_restart(ended.is_err()).await {
                return;
            }
        }
    }

    /// Waits until the next start; false if there is none.
    async fn may_restart(&mut self, panicked: bool) -> bool {
        let (after, wakes) = std::mem::take(&mut *lock(&self.health.after_stop));
        match (panicked, after) {
            (false, AfterStop::End) => return false,
            (false, AfterStop::Again(pause)) => {
                let woken = self.health.woken_since(wakes);
                match pause {
                    Some(pause) => {
                        // The pause ends after its time or with a call of `wake`.
                        let _ = tokio::time::timeout(pause, woken).await;
                    }
                    None => woken.await,
                }
            }
            _ => match self.failure_pause() {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return false,
            },
        }
        true
    }

    /// The pause after a failure, or `None` if the budget is spent.
    fn failure_pause(&mut self) -> Option<Duration> {
        let now = Instant::now();
        while self
            .failures
            .front()
            .is_some_and(|at| now.duration_since(*at) > self.budget.within)
        {
            self.failures.pop_front();
        }
        if self.failures.len() >= self.budget.restarts {
            tracing::error!(
                actor = %self.health.name,
                failures = self.failures.len() + 1,
                "restart budget spent, escalating"
            );
            (self.escalate)(&self.health.name);
            return None;
        }
        self.failures.push_back(now);
        self.health.restarts.fetch_add(1, Ordering::Relaxed);
        let doubled = self.budget.first_pause * 2u32.pow(self.failures.len() as u32 - 1);
        let pause = jitter(doubled.min(self.budget.longest_pause));
        tracing::warn!(
            actor = %self.health.name,
            pause_ms = pause.as_millis() as u64,
            "actor failed, restarting"
        );
        Some(pause)
    }

    fn note_panic(&self, payload: &(dyn std::any::Any + Send)) {
        self.health.panics.fetch_add(1, Ordering::Relaxed);
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "panic without a text".to_owned());
        tracing::error!(actor = %self.health.name, panic = %text, "actor panicked");
        *lock(&self.health.last_panic) = text;
    }
}

/// Varies a pause by 75-125 %, so that actors that failed together do not restart together.
pub fn jitter(pause: Duration) -> Duration {
    pause.mul_f64(rand::random_range(0.75..1.25))
}

/// The pause after this many failures to connect in a row, 1 and more: the last one of `pauses` repeats.
pub fn reconnect_after(pauses: &[Duration], failures: u32) -> Duration {
    let at = (failures.saturating_sub(1) as usize).min(pauses.len().saturating_sub(1));
    jitter(pauses.get(at).copied().unwrap_or(Duration::from_secs(5)))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
