//! Copies finished messages, with all that happened to them, into files or a second database (docs/events.md).
//!
//! One more reader of the outbox: a message stays in the store until its event is finished, and the event is finished
//! when its row is durable elsewhere. What a kill in between leaves:
//!
//! - Files: their mark tells which messages were being written and whether they all are ([`super::archive_files`]);
//!   those that are there are not written again.
//! - Database: the rows are sent again and replace themselves, because their id is the key.
//!
//! A step that fails, on a full disk or without the database, leaves everything as it was and is repeated.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use secrecy::ExposeSecret as _;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::archive_files::ArchiveFiles;
use super::series::OnDisk;
use super::step::{ABANDONED, Events, ExportError};
use crate::actors::context::NodeContext;
use crate::actors::context::plan::Plan;
use crate::actors::receipts::just_ended::JustEnded;
use crate::archive::columns::{Cell, RowMaker};
use crate::archive::table::{ArchiveTable, TableOptions};
use crate::archive::{self, ArchiveFileFormat};
use crate::clock;
use crate::config::{ArchiveFormat, ArchiveNumbers, Config};
use crate::store::MessageHistory;
use crate::store::outbox::{EventReader, ReaderOutcome, TakenEvents};

/// Messages that are read at once: all of each is in memory.
const BATCH: usize = 2048;
/// Messages that are read at once for a file of Parquet, which is written at once.
const PARQUET_BATCH: usize = 20_000;
/// How often what waits for such a file is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// The reader that archives.
pub struct ArchiveReader {
    events: Events,
    target: ArchiveTarget,
    with_text: bool,
    masked: bool,
    busy: Arc<Mutex<()>>,
}

enum ArchiveTarget {
    Files(IntoFiles),
    Database {
        options: TableOptions,
        /// `None` until the database has answered, and again after a failure or with another URL.
        table: Option<ArchiveTable>,
    },
}

struct IntoFiles {
    files: OnDisk<ArchiveFiles>,
    format: ArchiveFileFormat,
    /// Messages that are in a file although their events are not finished.
    written: HashSet<u64>,
    /// Whether `written` has those of the time before.
    is_recovered: bool,
    /// When what waits was last looked at, for Parquet.
    looked: Option<Instant>,
}

/// What an erasure needs of the archive.
#[derive(Clone)]
pub struct Archived {
    target: ArchivedIn,
    /// Held while messages are read and written, so that none that was read before an erasure is written after it.
    busy: Arc<Mutex<()>>,
}

#[derive(Clone)]
enum ArchivedIn {
    Files(OnDisk<ArchiveFiles>),
    Database(TableOptions, Arc<NodeContext>),
}

// === impl ArchiveReader ===

impl ArchiveReader {
    /// Prepares what the configuration says; `None` where there is no archive.
    ///
    /// # Errors
    /// The folder or the file with the URL cannot be used, or this build lacks the format.
    pub fn start(config: &Config, just_ended: &Arc<JustEnded>) -> anyhow::Result<Option<Self>> {
        let section = &config.archive;
        if !section.enabled {
            return Ok(None);
        }
        let (target, holder) = match format_of(section.format)? {
            Some(format) => {
                let files = ArchiveFiles::start(config, extension(section.format));
                let files = files.with_context(|| {
                    let dir = config.archive_dir();
                    format!("archive.dir: {} cannot be used", dir.display())
                })?;
                let holder = files.name.clone();
                let files = IntoFiles {
                    files,
                    format,
                    written: HashSet::new(),
                    is_recovered: false,
                    looked: None,
                };
                (ArchiveTarget::Files(files), holder)
            }
            None => {
                let options = table_options(config)?;
                let target = ArchiveTarget::Database {
                    options,
                    table: None,
                };
                (target, format!("node:{}", config.node))
            }
        };
        Ok(Some(Self {
            events: Events::new(EventReader::Archive, holder, Arc::clone(just_ended)),
            target,
            with_text: section.text,
            masked: section.numbers == ArchiveNumbers::Masked,
            busy: Arc::default(),
        }))
    }

    /// For erasing a number; `node` knows the URL of the database.
    pub fn archived(&self, node: &Arc<NodeContext>) -> Archived {
        let target = match &self.target {
            ArchiveTarget::Files(into) => ArchivedIn::Files(into.files.clone()),
            ArchiveTarget::Database { options, .. } => {
                ArchivedIn::Database(options.clone(), Arc::clone(node))
            }
        };
        Archived {
            target,
            busy: Arc::clone(&self.busy),
        }
    }

    /// The work before may have ended halfway, by a panic.
    pub(super) fn begin_anew(&mut self) {
        if let ArchiveTarget::Files(into) = &mut self.target {
            into.is_recovered = false;
        }
    }

    /// Reads events once; false when there are no more.
    pub(super) async fn step(&mut self, node: &NodeContext) -> Result<bool, ExportError> {
        let done = self.copy(node).await;
        if done.is_err() {
            node.metrics.archive_failures.inc();
        }
        done
    }

    async fn copy(&mut self, node: &NodeContext) -> Result<bool, ExportError> {
        let busy = Arc::clone(&self.busy);
        let _not_while_erasing = busy.lock().await;
        let (limit, patience) = match &mut self.target {
            ArchiveTarget::Database { .. } => (BATCH, ABANDONED),
            ArchiveTarget::Files(into) => {
                let closed = into.files.call(ArchiveFiles::close_if_over).await;
                closed.map_err(of_files)?;
                if self.events.is_idle(node) || !into.has_enough(node).await? {
                    return Ok(false);
                }
                into.recover().await.map_err(of_files)?;
                let patience = node.config().archive.wait_for_node.as_millis() as i64;
                (into.batch(), patience)
            }
        };
        let Some(taken) = self.events.take(node, limit, patience).await? else {
            return Ok(false);
        };
        let TakenEvents {
            claim,
            ids,
            is_full,
        } = taken;
        let histories = self.events.histories(node, &ids).await?;
        self.write(node, &histories).await?;
        let finished = (self.events)
            .finish(node, claim, ReaderOutcome::Elsewhere, &histories)
            .await?;
        match &mut self.target {
            ArchiveTarget::Files(into) if finished => ids.iter().for_each(|id| {
                into.written.remove(id);
            }),
            ArchiveTarget::Files(_) => tracing::error!(
                messages = ids.len(),
                "events were taken over by another node, or dropped, while their messages were archived: \
                 some of them may be there twice"
            ),
            ArchiveTarget::Database { .. } => {}
        }
        Ok(is_full)
    }

    /// The rows of these messages are durable when this returns.
    async fn write(
        &mut self,
        node: &NodeContext,
        histories: &[Option<MessageHistory>],
    ) -> Result<(), ExportError> {
        let plan = node.plan();
        let rows = RowMaker::whole(names(&plan, histories), self.with_text, self.masked);
        let ended = histories.iter().flatten();
        let ended = ended.filter(|history| history.stored.fin.is_some());
        match &mut self.target {
            ArchiveTarget::Files(into) => {
                let written = &into.written;
                let new: Vec<&MessageHistory> = ended
                    .filter(|history| !written.contains(&history.stored.message.id))
                    .collect();
                if new.is_empty() {
                    return Ok(());
                }
                let ids: Vec<u64> = new
                    .iter()
                    .map(|history| history.stored.message.id)
                    .collect();
                let all = new
                    .into_iter()
                    .map(|history| (history.stored.message.id, rows.whole_row(history)));
                let octets = archive::octets(into.format, &rows, all)
                    .map_err(|error| ExportError::Archive(error.to_string()))?;
                let length = octets.len() as u64;
                // Until it is known what became of them.
                into.is_recovered = false;
                let named = ids.clone();
                let append = move |files: &mut ArchiveFiles| files.append(&octets, named);
                into.files.call(append).await.map_err(of_files)?;
                into.is_recovered = true;
                into.written.extend(ids);
                node.metrics.archive_octets.inc_by(length);
            }
            ArchiveTarget::Database { options, table } => {
                let failed = |error: archive::ArchiveError| ExportError::Archive(error.to_string());
                if follow_url(options, &node.config()) {
                    *table = None;
                }
                // Until all is well: a failure closes the connection.
                let mut open = match table.take() {
                    Some(open) => open,
                    None => {
                        let connected = ArchiveTable::connect(options, rows.columns());
                        connected.await.map_err(failed)?
                    }
                };
                let ended: Vec<Vec<Cell>> = ended.map(|one| rows.whole_row(one)).collect();
                let octets: usize = ended.iter().flatten().map(size).sum();
                open.put(ended).await.map_err(failed)?;
                node.metrics.archive_octets.inc_by(octets as u64);
                *table = Some(open);
            }
        }
        Ok(())
    }
}

fn of_files(error: io::Error) -> ExportError {
    ExportError::Archive(format!("archive.dir: {error}"))
}

/// Octets of a value, about.
fn size(cell: &Cell) -> usize {
    match cell {
        Cell::Null => 0,
        Cell::Number(_) => size_of::<i64>(),
        Cell::Text(text) => text.len(),
    }
}

/// The interned names that these messages need.
fn names(plan: &Plan, histories: &[Option<MessageHistory>]) -> Vec<(u32, String)> {
    let mut numbers = BTreeSet::new();
    for history in histories.iter().flatten() {
        let stored = &history.stored;
        numbers.extend([stored.queue, stored.message.sender]);
        numbers.extend(stored.fin.iter().flat_map(|fin| [fin.operator, fin.tell]));
        numbers.extend(history.attempts.iter().map(|attempt| attempt.operator));
        numbers.extend(history.changes.iter().map(|change| change.queue));
    }
    numbers.remove(&0);
    let named = |number: u32| (number, plan.name_of(number).to_owned());
    numbers.into_iter().map(named).collect()
}

/// `None` for the database.
fn format_of(format: ArchiveFormat) -> anyhow::Result<Option<ArchiveFileFormat>> {
    Ok(match format {
        ArchiveFormat::Jsonl => Some(ArchiveFileFormat::Jsonl),
        #[cfg(feature = "parquet")]
        ArchiveFormat::Parquet => Some(ArchiveFileFormat::Parquet),
        #[cfg(not(feature = "parquet"))]
        ArchiveFormat::Parquet => anyhow::bail!(
            "archive.format: this build has no Parquet: build with --features parquet, or write jsonl"
        ),
        ArchiveFormat::Database => None,
    })
}

fn extension(format: ArchiveFormat) -> &'static str {
    match format {
        ArchiveFormat::Parquet => "parquet",
        ArchiveFormat::Jsonl | ArchiveFormat::Database => "jsonl",
    }
}

fn table_options(config: &Config) -> anyhow::Result<TableOptions> {
    let section = &config.archive;
    let url = section.database_url.as_ref();
    let url = url.context("archive.database_url: is missing")?;
    let ca = section.database_ca_file.clone();
    Ok(TableOptions {
        url: url.expose_secret().to_owned(),
        ca: ca.map(|file| ("archive.database_ca_file", file)),
        patience: section.database_timeout,
    })
}

/// Takes the URL of now, whose file may have another content; whether it is another one. One that the file of the
/// configuration does not name any more stays until a restart.
fn follow_url(options: &mut TableOptions, config: &Config) -> bool {
    let Some(now) = &config.archive.database_url else {
        return false;
    };
    let now = now.expose_secret();
    let has_changed = options.url != now;
    if has_changed {
        now.clone_into(&mut options.url);
    }
    has_changed
}

// === impl IntoFiles ===

impl IntoFiles {
    fn batch(&self) -> usize {
        match self.format {
            ArchiveFileFormat::Jsonl | ArchiveFileFormat::Csv => BATCH,
            #[cfg(feature = "parquet")]
            ArchiveFileFormat::Parquet => PARQUET_BATCH,
        }
    }

    /// Whether what waits is worth a file of its own, where each write is one.
    async fn has_enough(&mut self, node: &NodeContext) -> Result<bool, ExportError> {
        if matches!(
            self.format,
            ArchiveFileFormat::Jsonl | ArchiveFileFormat::Csv
        ) {
            return Ok(true);
        }
        let rotate_every = node.config().archive.rotate_every;
        let pause = LOOK_EVERY.min(rotate_every);
        if self.looked.is_some_and(|at| at.elapsed() < pause) {
            return Ok(false);
        }
        let waiting = node.store.backlog().await?;
        let mine = waiting
            .iter()
            .find(|one| one.reader == EventReader::Archive);
        let before = clock::now_ms() - rotate_every.as_millis() as i64;
        let has_enough =
            mine.is_some_and(|one| one.events >= PARQUET_BATCH as u64 || one.oldest_at <= before);
        self.looked = (!has_enough).then(Instant::now);
        Ok(has_enough)
    }

    /// Once after a start, and after a write that failed.
    async fn recover(&mut self) -> io::Result<()> {
        if !self.is_recovered {
            self.written
                .extend(self.files.call(ArchiveFiles::recover).await?);
            self.is_recovered = true;
        }
        Ok(())
    }
}

// === impl Archived ===

impl Archived {
    /// Replaces an address (digits, without a plus) in the archive; returns in how many messages.
    ///
    /// # Errors
    /// A file or the database cannot be read or written.
    pub async fn erase(&self, digits: String) -> io::Result<u64> {
        let _not_now = self.busy.lock().await;
        match &self.target {
            ArchivedIn::Files(files) => {
                files
                    .call(move |files| super::archive_erase::erase(files, digits.as_bytes()))
                    .await
            }
            ArchivedIn::Database(options, node) => {
                let mut options = options.clone();
                follow_url(&mut options, &node.config());
                let columns = RowMaker::whole(Vec::new(), true, false).columns();
                let table = ArchiveTable::connect(&options, columns).await;
                let erased = table.map_err(io::Error::other)?.erase(&digits).await;
                erased.map_err(io::Error::other)
            }
        }
    }
}
