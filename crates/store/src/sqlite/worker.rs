//! A thread that owns a context (mostly a connection) and does one job after the other.
//!
//! Used by the readers, the index and the upkeep; guarantees that the queue of jobs is bounded, that
//! a job that panics costs its own answer only, and that stopping waits for the jobs taken.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::schema::failed;
use crate::{Reply, StoreError, StoreResult};

/// Called between jobs; returns when to call it again.
pub type WorkerTick<C> = fn(&mut C) -> Duration;
type WorkerJob<C> = Box<dyn FnOnce(&mut C) + Send>;

/// The end that hands jobs to the thread.
#[derive(Debug)]
pub struct StoreWorker<C> {
    name: &'static str,
    state: Mutex<WorkerState<C>>,
}

#[derive(Debug)]
struct WorkerState<C> {
    /// None after `stop`.
    jobs: Option<SyncSender<WorkerJob<C>>>,
    thread: Option<JoinHandle<()>>,
}

// === impl StoreWorker ===

impl<C: Send + 'static> StoreWorker<C> {
    /// Starts the thread. `tick` runs at least once before each wait.
    pub fn start(
        name: &'static str,
        mailbox: usize,
        context: C,
        tick: Option<WorkerTick<C>>,
    ) -> StoreResult<Self> {
        let (jobs, waiting) = sync_channel(mailbox);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || run(context, &waiting, tick))
            .map_err(|error| failed(format!("cannot start thread {name}: {error}")))?;
        Ok(Self {
            name,
            state: Mutex::new(WorkerState {
                jobs: Some(jobs),
                thread: Some(thread),
            }),
        })
    }

    /// Queues a job; its result is the answer.
    pub fn ask<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut C) -> StoreResult<T> + Send + 'static,
    ) -> Reply<T> {
        let (answer, reply) = Reply::pair();
        let sender = self.lock().jobs.clone();
        let Some(sender) = sender else {
            let _ = answer.send(Err(StoreError::Closed));
            return reply;
        };
        // The answer is taken out by the job that sends it, or here when the queue is full.
        let answer = std::sync::Arc::new(Mutex::new(Some(answer)));
        let ours = std::sync::Arc::clone(&answer);
        let send = move |slot: &Mutex<Option<tokio::sync::oneshot::Sender<_>>>, result| {
            let taken = slot.lock().ok().and_then(|mut slot| slot.take());
            if let Some(answer) = taken {
                let _ = answer.send(result);
            }
        };
        let name = self.name;
        let boxed: WorkerJob<C> = Box::new(move |context| {
            let result = catch_unwind(AssertUnwindSafe(|| job(context)))
                .unwrap_or_else(|_| Err(failed(format!("{name} panicked; see the log"))));
            send(&answer, result);
        });
        match sender.try_send(boxed) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                send(&ours, Err(failed(format!("{name} is overloaded"))));
            }
            Err(TrySendError::Disconnected(_)) => send(&ours, Err(StoreError::Closed)),
        }
        reply
    }

    /// Ends the thread after the jobs it has.
    pub fn stop(&self) {
        let thread = {
            let mut state = self.lock();
            state.jobs = None;
            state.thread.take()
        };
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!(thread = self.name, "store thread ended by a panic");
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, WorkerState<C>> {
        // Nothing can panic while it is held, and its content stays valid if something did.
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn run<C>(mut context: C, waiting: &Receiver<WorkerJob<C>>, tick: Option<WorkerTick<C>>) {
    let mut due = Instant::now();
    loop {
        let job = match tick {
            None => match waiting.recv() {
                Ok(job) => job,
                Err(_) => return,
            },
            Some(tick) => {
                if Instant::now() >= due {
                    let pause = catch_unwind(AssertUnwindSafe(|| tick(&mut context)));
                    due = Instant::now() + pause.unwrap_or(Duration::from_secs(1));
                }
                match waiting.recv_timeout(due.saturating_duration_since(Instant::now())) {
                    Ok(job) => job,
                    Err(RecvTimeoutError::Timeout) => continue,
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        job(&mut context);
    }
}
