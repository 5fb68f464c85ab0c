//! `smsc migrate-store`: moves everything from the embedded store into the PostgreSQL database.
//!
//! Run once, while nothing runs on either; if interrupted, it continues where it stopped. One
//! thread reads ahead while this one writes. Guarantees that the embedded store is only read, that
//! memory does not grow with it, and that it succeeds only if every row has arrived.

use std::collections::{HashMap, HashSet};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};

use crate::app::bootstrap::pg_options;
use crate::cli::client::print_line;
use crate::config::{Config, MessageIdForm};
use crate::domain::queue_name::QueueName;
use crate::domain::{correlation, moment};
use crate::store::StoreError;
use crate::store::moving::{Inventory, MovePart, MovedPage, TABLES};
use crate::store::postgres::{Import, MoveStart};
use crate::store::sqlite::StoreAtRest;

/// Pages that are read ahead of the one that is written.
const AHEAD: usize = 2;
/// Between two lines of progress where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(1);

/// Arguments of `smsc migrate-store`.
#[derive(Debug, clap::Args)]
pub struct MigrateStoreArgs {
    /// Configuration file with the section [postgres] and the operators.
    #[arg(long, short, value_name = "FILE", env = "SMSC_CONFIG")]
    config: Option<PathBuf>,
    /// The data folder to move from [default: data_dir of the configuration].
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Messages per transaction.
    #[arg(long, value_name = "N", default_value_t = 1000,
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch: u32,
}

/// Sets the correlation keys, which the embedded store rebuilds at every start.
struct CorrelationKeySetter {
    /// How ids of an operator's receipts relate to its answers, by the number of its queue.
    forms: HashMap<u32, MessageIdForm>,
    /// Queues of accounts, which send no receipts.
    accounts: HashSet<u32>,
}

/// Progress output.
struct MigrationProgress {
    bar: ProgressBar,
    /// No terminal: lines instead of the bar.
    lines: bool,
    total: u64,
    done: u64,
    /// Done before this run.
    before: u64,
    since: Instant,
    said: Option<Instant>,
}

/// Moves, compares, and prints the next steps.
///
/// # Errors
/// The configuration names no database; a server runs on the data folder or nodes on the database;
/// the database holds something else; a row cannot be written; not everything has arrived.
pub fn run(args: &MigrateStoreArgs) -> anyhow::Result<()> {
    let config = Config::load(args.config.as_deref())?;
    let options = pg_options(&config)?
        .context("postgres.url is not set: there is no database to move into")?;
    let folder = args.data_dir.as_ref().unwrap_or(&config.data_dir);
    let source = StoreAtRest::open(folder)?;
    let mut target = Import::open(&options)?;
    print_line(&format!("counting what is in {}", folder.display()))?;
    let inventory = source.inventory()?;
    let (marks, before) = match target.begin(&inventory)? {
        MoveStart::Ended(at) => {
            let at = moment::show(at).unwrap_or_default();
            return print_line(&format!(
                "everything was moved already, at {at}: nothing is left to do"
            ));
        }
        MoveStart::At { marks, messages } => (marks, messages),
    };
    if before > 0 {
        print_line(&format!(
            "going on: {before} messages are there already and are skipped"
        ))?;
    }
    let mut progress = MigrationProgress::new(inventory.messages(), before);
    let keys = CorrelationKeySetter::new(&config, &inventory);
    let limit = args.batch as usize;
    thread::scope(|scope| {
        let (sender, pages) = sync_channel(AHEAD);
        // Each end is dropped with its side, so that neither waits for one that failed.
        let reader = scope.spawn(move || read(&source, marks, limit, &sender));
        write(&mut target, pages, &keys, &mut progress)?;
        reader
            .join()
            .map_err(|_| anyhow::anyhow!("the thread that reads panicked"))?
            .context("the embedded store cannot be read")
    })?;
    progress.end();
    let rows = target.finish(&inventory)?;
    say_what_is_next(folder, &rows)
}

/// Reads every part from its mark on; ends early when the writer has gone.
fn read(
    source: &StoreAtRest,
    marks: [u64; MovePart::ALL.len()],
    limit: usize,
    pages: &SyncSender<MovedPage>,
) -> Result<(), StoreError> {
    for (part, mut mark) in MovePart::ALL.into_iter().zip(marks) {
        while let Some(page) = source.page(part, mark, limit)? {
            mark = page.upto;
            if pages.send(page).is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn write(
    target: &mut Import,
    pages: Receiver<MovedPage>,
    keys: &CorrelationKeySetter,
    progress: &mut MigrationProgress,
) -> Result<(), StoreError> {
    for mut page in pages {
        keys.set(&mut page);
        target.write(&page)?;
        progress.add(page.rows.accept.len() as u64);
    }
    Ok(())
}

fn say_what_is_next(folder: &Path, rows: &[u64]) -> anyhow::Result<()> {
    print_line("everything has arrived; rows in both stores:")?;
    for (table, count) in TABLES.iter().zip(rows) {
        print_line(&format!("  {table:<15} {count}"))?;
    }
    print_line(&format!(
        "next: start smsc with [postgres] url set as in this configuration. Keep {} until you are \
         satisfied, but start nothing on it: it does not know what happens from now on.",
        folder.display()
    ))
}

// === impl CorrelationKeySetter ===

impl CorrelationKeySetter {
    fn new(config: &Config, inventory: &Inventory) -> Self {
        let mut keys = Self {
            forms: HashMap::new(),
            accounts: HashSet::new(),
        };
        // The configuration in the store is the one in use; a store of an earlier release has none.
        let own = config
            .with_resources(&inventory.settings.resources())
            .config;
        let operators = match inventory.settings.version {
            0 => &config.operator,
            _ => &own.operator,
        };
        for (number, name) in &inventory.names {
            let name = QueueName::parse(name);
            if name.account().is_some() {
                keys.accounts.insert(*number);
            }
            let id = name.operator();
            let operator = operators.iter().find(|one| Some(&*one.id) == id);
            if let Some(operator) = operator {
                keys.forms.insert(*number, operator.message_id);
            }
        }
        keys
    }

    /// So that receipts find what was sent before the move.
    fn set(&self, page: &mut MovedPage) {
        for row in &mut page.rows.sent {
            let id = &row.operator_message_id;
            if row.status != 0 || id.is_empty() || self.accounts.contains(&row.operator) {
                continue;
            }
            let as_is = self.forms.get(&row.operator) == Some(&MessageIdForm::AsIs);
            row.correlation = correlation::key(row.operator, id, as_is) as u64;
        }
    }
}

// === impl MigrationProgress ===

impl MigrationProgress {
    fn new(total: u64, before: u64) -> Self {
        let bar = ProgressBar::new(total).with_position(before);
        // The template is a constant; if it were wrong, the bar would only look plain.
        if let Ok(style) = ProgressStyle::with_template(
            "{wide_bar} {human_pos} of {human_len} messages, {per_sec}, {eta} left",
        ) {
            bar.set_style(style);
        }
        // Earlier runs do not count for the rate.
        bar.reset_eta();
        Self {
            bar,
            lines: !std::io::stderr().is_terminal(),
            total,
            done: before,
            before,
            since: Instant::now(),
            said: None,
        }
    }

    fn add(&mut self, messages: u64) {
        self.done += messages;
        self.bar.set_position(self.done);
        if self.lines && self.said.is_none_or(|said| said.elapsed() >= LINE_EVERY) {
            self.said = Some(Instant::now());
            self.say();
        }
    }

    fn end(&mut self) {
        self.bar.finish();
        if self.lines {
            self.say();
        }
    }

    fn say(&self) {
        let rate = (self.done - self.before) as f64 / self.since.elapsed().as_secs_f64().max(0.001);
        let left = self.total.saturating_sub(self.done) as f64 / rate.max(0.001);
        eprintln!(
            "{} of {} messages moved, {rate:.0} per second, {left:.0} s left",
            self.done, self.total
        );
    }
}
