//! Simulates ESMEs against an SMSC, measures it, and checks that nothing is lost or duplicated.
//!
//! Used by `smsc load` and by tests:
//!
//! ```text
//! run ─→ esme (one task per bind: window, batches) ─→ ledger (plan, books, meter; one for all)
//!  │                                                     │
//!  └─ pacer (wakes binds on time), progress, journal     └─→ summary ─→ table, JSON
//! ```
//!
//! Invariants: every message carries a reference that is unique in the run and in time; latency is
//! counted from when a message should have been sent; an accepted message is missing until a
//! receipt with exactly its id has come. A message costs about one encode, two decodes and its
//! share of reads and writes: no task or channel per message.

pub mod bind;
pub mod counts;
pub mod cpu;
mod esme;
pub mod journal_lines;
pub mod ledger;
pub mod meter;
pub mod options;
mod pacer;
pub mod plan;
pub mod reference;
pub mod summary;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
pub use options::{Destinations, LoadBindType, LoadOptions};
pub use summary::LoadSummary;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use self::bind::{BindError, LoadBindRole};
use self::esme::Esme;
use self::journal_lines::JournalLines;
use self::ledger::LoadLedger;
use self::pacer::Pacer;
use self::plan::LoadPlan;
use self::reference::RunTag;
use crate::simulator::journal::{FLUSH_EVERY, Journal};

/// How often the end of the run is checked, and the journal flushed.
const LOOK_EVERY: Duration = FLUSH_EVERY;
/// How long all binds together may take to unbind.
const FAREWELL: Duration = Duration::from_secs(2);
/// The progress bar counts tenths of a second when there is no count of messages.
const PROGRESS_UNITS: u64 = 10;

/// Why a run did not take place, or is worth nothing.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The first binds failed: nothing was sent.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The journal cannot be written.
    #[error("cannot write the journal {path}: {source}; choose another file with --journal")]
    Journal {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A thread with a runtime of its own did not start.
    #[error("cannot start a thread: {0}; use fewer --threads")]
    Thread(io::Error),
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoadPhase {
    Starting,
    Running,
    Finished,
}

/// What all binds of a run share.
#[derive(Debug)]
struct LoadShared {
    options: LoadOptions,
    tag: RunTag,
    ledger: Mutex<LoadLedger>,
    journal: Option<Journal>,
    start: OnceLock<Instant>,
}

/// Runs to the end: all sent, answered and reported, or no activity for the settle time. When
/// `interrupted` completes, no more is submitted, and the run continues.
///
/// # Errors
/// When a bind fails at the start or the journal cannot be written. What happens later is in the
/// summary.
pub async fn run(
    options: LoadOptions,
    interrupted: impl Future<Output = ()>,
) -> Result<LoadSummary, LoadError> {
    let cpu_before = cpu::seconds();
    let shared = Arc::new(LoadShared::new(options)?);
    let options = &shared.options;
    let (phase, phase_seen) = watch::channel(LoadPhase::Starting);
    let (bound, mut outcomes) = mpsc::channel(options.binds.max(1));
    let wakes: Vec<Arc<Notify>> = (0..options.binds).map(|_| Arc::default()).collect();
    let esmes = esmes(&shared, &wakes);
    let count = esmes.len();
    let mut tasks = JoinSet::new();
    start_binds(esmes, options.threads, &bound, &phase_seen, &mut tasks)?;
    drop(bound);
    for _ in 0..count {
        if let Some(outcome) = outcomes.recv().await {
            outcome?;
        }
    }
    let start = *shared.start.get_or_init(Instant::now);
    let pacer = options
        .rate
        .map(|rate| Pacer::start(rate, start, wakes.clone()));
    // Binds are waiting for this; were they all gone, the run would end at once.
    let _ = phase.send(LoadPhase::Running);

    watch_over(&shared, &wakes, interrupted).await;

    drop(pacer);
    let _ = phase.send(LoadPhase::Finished);
    let farewell = async { while tasks.join_next().await.is_some() {} };
    // A bind that cannot unbind is closed: the ledger is closed below either way.
    let _ = tokio::time::timeout(FAREWELL, farewell).await;
    shared.finish(cpu_before)
}

/// The binds of a run, each with its role.
fn esmes(shared: &Arc<LoadShared>, wakes: &[Arc<Notify>]) -> Vec<Esme> {
    let esme =
        |number, role, wake: &Arc<Notify>| Esme::new(shared.clone(), number, role, wake.clone());
    wakes
        .iter()
        .enumerate()
        .flat_map(|(number, wake)| match shared.options.bind_type {
            LoadBindType::Transceiver => vec![esme(number, LoadBindRole::Transceiver, wake)],
            LoadBindType::Pair => vec![
                // Receipts may come as soon as a message is sent: the receiver is there first.
                esme(number, LoadBindRole::Receiver, &Arc::default()),
                esme(number, LoadBindRole::Transmitter, wake),
            ],
        })
        .collect()
}

/// Starts the binds on this runtime, or shared out to threads with a runtime each.
fn start_binds(
    esmes: Vec<Esme>,
    threads: usize,
    bound: &mpsc::Sender<Result<(), BindError>>,
    phase: &watch::Receiver<LoadPhase>,
    tasks: &mut JoinSet<()>,
) -> Result<(), LoadError> {
    if threads <= 1 {
        for esme in esmes {
            tasks.spawn(esme.run(bound.clone(), phase.clone()));
        }
        return Ok(());
    }
    let mut groups: Vec<Vec<Esme>> = (0..threads).map(|_| Vec::new()).collect();
    for (number, esme) in esmes.into_iter().enumerate() {
        groups[number % threads].push(esme);
    }
    for group in groups.into_iter().filter(|group| !group.is_empty()) {
        let (bound, phase) = (bound.clone(), phase.clone());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(LoadError::Thread)?;
        let (ended, has_ended) = tokio::sync::oneshot::channel::<()>();
        thread::Builder::new()
            .spawn(move || {
                runtime.block_on(async {
                    let mut binds = JoinSet::new();
                    for esme in group {
                        binds.spawn(esme.run(bound.clone(), phase.clone()));
                    }
                    drop(bound);
                    while binds.join_next().await.is_some() {}
                });
                drop(ended);
            })
            .map_err(LoadError::Thread)?;
        tasks.spawn(async {
            // Nothing is ever sent: the end of the thread closes the channel.
            let _ = has_ended.await;
        });
    }
    Ok(())
}

/// Flushes, shows progress, and returns when the run has come to its end.
async fn watch_over(
    shared: &LoadShared,
    wakes: &[Arc<Notify>],
    interrupted: impl Future<Output = ()>,
) {
    let mut look = interval(LOOK_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let progress = progress_bar(&shared.options);
    let settle_us = shared.options.settle.as_micros() as u64;
    let mut interrupted = std::pin::pin!(interrupted);
    let mut listening = true;
    let mut before = LoadProgress {
        at_us: shared.now_us(),
        accepted: 0,
        receipts: 0,
    };
    loop {
        tokio::select! {
            _ = look.tick() => {}
            () = &mut interrupted, if listening => {
                listening = false;
                shared.ledger().plan.stop();
            }
        }
        if let Some(journal) = &shared.journal {
            journal.flush();
        }
        // Messages to be sent again wait for a bind with room.
        wakes.iter().for_each(|wake| wake.notify_one());
        let now_us = shared.now_us();
        let ledger = shared.ledger();
        let over = ledger.plan.is_over(now_us);
        if ledger.is_settled(now_us) || (over && ledger.quiet_us(now_us) >= settle_us) {
            break;
        }
        before = show(&progress, &shared.options, &ledger, before, now_us);
    }
    progress.finish_and_clear();
}

/// What the progress bar of a load run showed last, and when.
#[derive(Clone, Copy)]
struct LoadProgress {
    at_us: u64,
    accepted: u64,
    receipts: u64,
}

/// Updates the bar twice a second at most; gives what it showed last.
fn show(
    progress: &ProgressBar,
    options: &LoadOptions,
    ledger: &LoadLedger,
    before: LoadProgress,
    now_us: u64,
) -> LoadProgress {
    let elapsed_us = now_us - before.at_us.min(now_us);
    if elapsed_us < 500_000 || progress.is_hidden() {
        return before;
    }
    let (accepted, receipts) = (ledger.counts.accepted, ledger.counts.receipts_total());
    let rate = |now: u64, then: u64| summary::grouped((now - then) * 1_000_000 / elapsed_us);
    progress.set_position(match options.count {
        Some(_) => ledger.plan.sent(),
        None => now_us * PROGRESS_UNITS / 1_000_000,
    });
    progress.set_message(format!(
        "accepted {}/s, receipts {}/s, waiting for {} answers and {} receipts",
        rate(accepted, before.accepted),
        rate(receipts, before.receipts),
        summary::grouped(ledger.counts.outstanding),
        summary::grouped(ledger.missing()),
    ));
    LoadProgress {
        at_us: now_us,
        accepted,
        receipts,
    }
}

fn progress_bar(options: &LoadOptions) -> ProgressBar {
    let target = if options.progress {
        ProgressDrawTarget::stderr_with_hz(4)
    } else {
        ProgressDrawTarget::hidden()
    };
    let length = match (options.count, options.duration) {
        (Some(count), _) => count,
        (None, Some(duration)) => duration.as_millis() as u64 * PROGRESS_UNITS / 1000,
        (None, None) => 0,
    };
    let bar = ProgressBar::with_draw_target(Some(length), target);
    // The template is a constant; if it were wrong, the bar would only look plain.
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {percent}%\n{msg}") {
        bar.set_style(style);
    }
    bar
}

// === impl LoadShared ===

impl LoadShared {
    fn new(options: LoadOptions) -> Result<Self, LoadError> {
        let journal_error = |source| LoadError::Journal {
            path: options.journal.clone().unwrap_or_default(),
            source,
        };
        let journal = options.journal.as_deref().map(Journal::create);
        let journal = journal.transpose().map_err(journal_error)?;
        let tag = RunTag::random();
        let lines = match &journal {
            Some(_) => JournalLines::new(tag, options.destinations.clone()),
            None => JournalLines::disabled(),
        };
        let plan = LoadPlan::new(options.rate, options.count, options.duration);
        Ok(Self {
            ledger: Mutex::new(LoadLedger::new(tag, plan, options.receipts, lines)),
            tag,
            journal,
            start: OnceLock::new(),
            options,
        })
    }

    /// Microseconds since the start, 0 before it.
    fn now_us(&self) -> u64 {
        let start = self.start.get();
        start.map_or(0, |start| start.elapsed().as_micros() as u64)
    }

    fn ledger(&self) -> std::sync::MutexGuard<'_, LoadLedger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the books and makes the summary.
    fn finish(&self, cpu_before: Option<f64>) -> Result<LoadSummary, LoadError> {
        let mut ledger = self.ledger();
        ledger.close();
        if let Some(journal) = &self.journal {
            ledger.lines.write_to(journal);
            if let Some(source) = journal.take_error() {
                let path = self.options.journal.clone().unwrap_or_default();
                return Err(LoadError::Journal { path, source });
            }
        }
        let used = cpu::seconds()
            .zip(cpu_before)
            .map(|(now, before)| now - before);
        Ok(LoadSummary::new(&self.options, &ledger, used))
    }
}
