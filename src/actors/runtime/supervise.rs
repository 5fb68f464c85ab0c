//! Keeps an actor alive through panics and stops.
//!
//! `actix::Supervisor` does not survive a panic, so every long-lived actor here runs inside
//! [`Supervise`]: it polls actix's own `ContextFut` inside `catch_unwind`; after a panic (in a
//! handler or in a spawned future) or a stop it waits, then restarts the context. The `Addr` and
//! the queued messages stay. `Supervised::restarting` must rebuild the actor's state.
//!
//! A panic or an unexpected stop counts against the restart budget; when that is spent, the failure
//! escalates. With [`AfterStop::Again`] an actor declares beforehand that its stop is expected (a lost
//! bind) and when to restart it: such a stop never counts.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use actix::dev::ContextFut;
use actix::dev::channel::{self, AddressReceiver};
use actix::{Actor, Addr, ArbiterHandle, Context, Supervised};
use tokio::sync::Notify;
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

struct Supervise<A: Actor<Context = Context<A>> + Supervised> {
    fut: ContextFut<A, Context<A>>,
    pause: Option<Pin<Box<dyn Future<Output = ()>>>>,
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
            actix::spawn(Supervise {
                fut: Context::with_receiver(receiver).into_future(make()),
                pause: None,
                failures: VecDeque::new(),
                budget: Budget::default(),
                health,
                escalate,
            });
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

impl<A: Actor<Context = Context<A>> + Supervised> Supervise<A> {
    /// The pause before the next start, or `None` if the actor must not start again.
    fn next_pause(&mut self, panicked: bool) -> Option<Pin<Box<dyn Future<Output = ()>>>> {
        let (after, wakes) = std::mem::take(&mut *lock(&self.health.after_stop));
        match (panicked, after) {
            (false, AfterStop::End) => None,
            (false, AfterStop::Again(pause)) => {
                let health = Arc::clone(&self.health);
                Some(Box::pin(async move {
                    let woken = health.woken_since(wakes);
                    match pause {
                        Some(pause) => {
                            // The pause ends after its time or with a call of `wake`.
                            let _ = tokio::time::timeout(pause, woken).await;
                        }
                        None => woken.await,
                    }
                }))
            }
            _ => self.failure_pause(),
        }
    }

    fn failure_pause(&mut self) -> Option<Pin<Box<dyn Future<Output = ()>>>> {
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
        Some(Box::pin(tokio::time::sleep(pause)))
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

// A ContextFut is Unpin, and so is everything else here.
impl<A: Actor<Context = Context<A>> + Supervised> Unpin for Supervise<A> {}

impl<A: Actor<Context = Context<A>> + Supervised> Future for Supervise<A> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<()> {
        let this = self.get_mut();
        loop {
            if let Some(pause) = &mut this.pause {
                std::task::ready!(pause.as_mut().poll(cx));
                this.pause = None;
                let restarted = std::panic::catch_unwind(AssertUnwindSafe(|| this.fut.restart()));
                match restarted {
                    Ok(true) => {}
                    // Nobody holds an address any more.
                    Ok(false) => return Poll::Ready(()),
                    Err(payload) => {
                        this.note_panic(payload.as_ref());
                        this.pause = this.next_pause(true);
                        if this.pause.is_none() {
                            return Poll::Ready(());
                        }
                        continue;
                    }
                }
            }
            let polled =
                std::panic::catch_unwind(AssertUnwindSafe(|| Pin::new(&mut this.fut).poll(cx)));
            let panicked = match polled {
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(())) => false,
                Err(payload) => {
                    this.note_panic(payload.as_ref());
                    true
                }
            };
            this.pause = this.next_pause(panicked);
            if this.pause.is_none() {
                return Poll::Ready(());
            }
        }
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
