//! The task Export: reads the outbox of the store, and makes call detail records, sums of usage, events on brokers,
//! an archive and a mirror in Redis of it.
//!
//! Only the node that does the work for all nodes takes events, except those of the mirror in Redis, whose readers have roles
//! of their own (`platform_roles.rs`). It writes their records, and then finishes the
//! events in the store; what holds when it is killed between the two:
//!
//! - Records in files: the events are still this node's. When it is back, it reads the end of its files and
//!   writes only what is missing. If it does not come back within `cdr.wait_for_node`, another node writes these
//!   records, perhaps once more: the only case in which a record is there twice.
//! - Records in the table, and usage: they are written in the transaction that finishes the events, so once in any
//!   case.
//! - The archive: `archive.rs`. The mirror in Redis: it passes over what it has (`platform.rs`).
//!
//! - Events of sinks, on NATS or Kafka: `sinks.rs`.
//!
//! In: nothing. Out: files, rows of the store, keys of Redis, and messages on NATS and Kafka.

mod archive;
mod archive_erase;
mod archive_files;
mod erase;
mod files;
mod left_by_nats;
mod platform;
mod record;
mod rewrite;
mod series;
mod sink_tasks;
mod sinks;
mod step;
#[cfg(test)]
mod tests;
mod told;
mod usage;

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

pub use self::archive::{ArchiveReader, Archived};
pub use self::erase::Records;
use self::files::RecordFiles;
pub(super) use self::platform::REFERENCE;
use self::platform::{Before, Forwarder, Platform};
use self::series::OnDisk;
use self::sink_tasks::{count_sinks, publish_all};
use self::sinks::Watch;
pub use self::sinks::{SinkStates, sink_backlog};
use self::step::{ABANDONED, BATCH, Events, ExportError, pause_after};
use self::usage::Usage;
use crate::actors::context::NodeContext;
use crate::actors::context::plan::Plan;
use crate::actors::receipts::just_ended::JustEnded;
use crate::actors::runtime::supervise::every;
use crate::clock;
use crate::config::{CdrFormat, Config};
use crate::store::outbox::{CdrRow, EventReader, ReaderBacklog, ReaderOutcome, TakenEvents};
use crate::store::redis::Redis;
use crate::store::{Store, StoreError, Stored};

/// How often the binds of operators are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often what waits is counted.
const COUNT_EVERY: Duration = Duration::from_secs(10);

/// Where records go, and the state of writing them.
pub struct Cdr {
    output: Output,
    events: Events,
    busy: Arc<Mutex<()>>,
    /// Messages that may have a record already although their events are not finished.
    unsure: HashSet<u64>,
    /// Whether `unsure` has those at the end of the files.
    knows_tail: bool,
}

enum Output {
    Files(OnDisk<RecordFiles>, CdrFormat),
    Table,
}

/// All readers, and what publishes for event sinks.
pub struct Export {
    node: Arc<NodeContext>,
    just_ended: Arc<JustEnded>,
    /// `None` where there are no records.
    cdr: Option<Cdr>,
    /// `None` where usage is not counted.
    usage: Option<Usage>,
    /// `None` where there is no archive.
    archive: Option<ArchiveReader>,
    /// The mirror in Redis of ends, and of what happens before; `None` where there is none.
    platform: Option<Platform>,
    before: Option<Before>,
    /// What happens to reports and keys after the end.
    forwarder: Option<Forwarder>,
    /// What has become of publishing for event sinks.
    states: Arc<SinkStates>,
    /// The binds of operators.
    watch: Watch,
}

/// Who reads events, as configured.
pub fn readers(config: &Config) -> Vec<EventReader> {
    let cdr = config.cdr.enabled.then_some(EventReader::Cdr);
    let usage = config.usage.enabled.then_some(EventReader::Usage);
    let archive = config.archive.enabled.then_some(EventReader::Archive);
    let all = cdr.into_iter().chain(usage);
    let platform = config
        .redis_platform
        .enabled
        .then_some(EventReader::Platform);
    all.chain(archive).chain(platform).collect()
}

/// The readers of which something may wait: also what the build before has left.
fn waiting_readers(config: &Config) -> Vec<EventReader> {
    let mut all = readers(config);
    all.push(EventReader::Nats);
    all
}

/// The earliest end (Unix milliseconds) of a message whose events a configured reader has not read; `None` when
/// nothing waits. Such a message must stay in the store.
pub async fn oldest_unread(node: &NodeContext) -> Result<Option<i64>, StoreError> {
    let configured = waiting_readers(&node.config());
    let waiting = node.store.backlog().await?;
    let waiting = waiting
        .iter()
        .filter(|one| configured.contains(&one.reader));
    let of_readers = waiting.map(|one| one.oldest_at);
    let of_sinks = sink_backlog(node).await?;
    let of_sinks = of_sinks.iter().map(|one| one.oldest_at);
    Ok(of_readers.chain(of_sinks).min())
}

/// What waits for each reader. That of the mirror in Redis is all of both.
async fn backlog(node: &NodeContext) -> Result<Vec<ReaderBacklog>, StoreError> {
    let mut waiting = node.store.backlog().await?;
    let Some(mirror) = node.plan().mirror() else {
        return Ok(waiting);
    };
    for before in node.store.sink_backlog(vec![mirror.reader]).await? {
        match waiting
            .iter_mut()
            .find(|one| one.reader == EventReader::Platform)
        {
            Some(one) => {
                one.events += before.events;
                one.oldest_at = one.oldest_at.min(before.oldest_at);
            }
            None => waiting.push(ReaderBacklog {
                reader: EventReader::Platform,
                events: before.events,
                oldest_at: before.oldest_at,
            }),
        }
    }
    Ok(waiting)
}

// === impl Cdr ===

impl Cdr {
    /// Prepares what the configuration says; also gives access to the records, to erase a number in them.
    ///
    /// # Errors
    /// The folder cannot be used.
    pub fn start(
        config: &Config,
        store: Arc<dyn Store>,
        just_ended: Arc<JustEnded>,
    ) -> io::Result<(Option<Self>, Records)> {
        let busy = Arc::default();
        let mut records = Records {
            store,
            files: None,
            archived: None,
            just_ended: Arc::clone(&just_ended),
            busy: Arc::clone(&busy),
        };
        if !config.cdr.enabled {
            return Ok((None, records));
        }
        let (output, holder) = match config.cdr.format {
            CdrFormat::Table => (Output::Table, format!("node:{}", config.node)),
            format => {
                let files = RecordFiles::start(config)?;
                records.files = Some(files.clone());
                let name = files.name.clone();
                (Output::Files(files, format), name)
            }
        };
        let cdr = Self {
            output,
            events: Events::new(EventReader::Cdr, holder, just_ended),
            busy,
            unsure: HashSet::new(),
            knows_tail: false,
        };
        Ok((Some(cdr), records))
    }

    /// Reads events once; false when there are no more.
    async fn step(&mut self, node: &NodeContext) -> Result<bool, ExportError> {
        if self.events.is_idle(node) {
            return Ok(false);
        }
        let busy = Arc::clone(&self.busy);
        let _not_while_erasing = busy.lock().await;
        if let (Output::Files(files, _), false) = (&self.output, self.knows_tail) {
            self.unsure.extend(files.call(RecordFiles::tail).await?);
            self.knows_tail = true;
        }
        let patience = match self.output {
            Output::Files(..) => node.config().cdr.wait_for_node.as_millis() as i64,
            Output::Table => ABANDONED,
        };
        let Some(taken) = self.events.take(node, BATCH, patience).await? else {
            return Ok(false);
        };
        let is_full = taken.is_full;
        self.write(node, taken).await?;
        Ok(is_full)
    }

    /// The records of those that have none yet.
    fn records<'s>(
        &'s self,
        plan: &'s Plan,
        ended: &'s [Option<Arc<Stored>>],
    ) -> impl Iterator<Item = CdrRow> + 's {
        let is_new = |stored: &&Arc<Stored>| !self.unsure.contains(&stored.message.id);
        let new = ended.iter().flatten().filter(is_new);
        new.filter_map(move |stored| record::record(plan, stored))
    }

    async fn write(&mut self, node: &NodeContext, taken: TakenEvents) -> Result<(), ExportError> {
        let TakenEvents { claim, ids, .. } = taken;
        let ended = self.events.messages(node, &ids).await?;
        let outcome = match &self.output {
            Output::Table => ReaderOutcome::Records(self.records(&node.plan(), &ended).collect()),
            Output::Files(files, format) => {
                let mut lines = Vec::with_capacity(ids.len() * 400);
                // One at a time, so that their memory is used again and again.
                self.records(&node.plan(), &ended)
                    .for_each(|one| record::line(*format, &mut lines, &one));
                if !lines.is_empty()
                    && let Err(error) = files.call(move |files| files.append(&lines)).await
                {
                    self.knows_tail = false;
                    return Err(error.into());
                }
                self.unsure.extend(&ids);
                ReaderOutcome::Elsewhere
            }
        };
        if !self.events.finish(node, claim, outcome, &ended).await? {
            // What is left of them is taken again.
            let messages = ids.len();
            match &self.output {
                Output::Table => tracing::info!(
                    messages,
                    "events were taken over by another node while their CDRs were written: they have one each"
                ),
                Output::Files(..) => tracing::warn!(
                    messages,
                    "events were taken over by another node, or dropped, while their CDRs were written: \
                     some records may be in files of two nodes"
                ),
            }
            return Ok(());
        }
        for id in &ids {
            self.unsure.remove(id);
        }
        Ok(())
    }
}

// === impl Export ===

impl Export {
    pub fn new(
        node: Arc<NodeContext>,
        just_ended: Arc<JustEnded>,
        cdr: Option<Cdr>,
        states: Arc<SinkStates>,
        archive: Option<ArchiveReader>,
        redis: Option<Arc<Redis>>,
    ) -> Self {
        let config = node.config();
        let is_counted = config.usage.enabled;
        Self {
            cdr,
            usage: is_counted.then(|| Usage::new(config.node, Arc::clone(&just_ended))),
            archive,
            before: Before::start(&config, redis.clone()),
            forwarder: Forwarder::start(&config, redis.clone()),
            platform: Platform::start(&config, &just_ended, redis),
            states,
            watch: Watch::default(),
            just_ended,
            node,
        }
    }

    /// Lets all of them work, without an end.
    pub async fn run(&mut self) {
        // The work before may have ended halfway, by a panic.
        if let Some(cdr) = &mut self.cdr {
            cdr.knows_tail = false;
        }
        if let Some(archive) = &mut self.archive {
            archive.begin_anew();
        }
        let (node, ended) = (&self.node, &self.just_ended);
        let (watch, mirror) = (&mut self.watch, EventReader::Platform);
        let look = async || {
            if let Err(error) = watch.look(node).await {
                tracing::warn!(%error, "events of operators could not be written");
            }
        };
        let show = async || {
            count(node).await;
            count_sinks(node).await;
        };
        tokio::join!(
            read(node, ended, EventReader::Cdr, &mut self.cdr, Cdr::step),
            read(
                node,
                ended,
                EventReader::Usage,
                &mut self.usage,
                Usage::step
            ),
            read(
                node,
                ended,
                EventReader::Archive,
                &mut self.archive,
                ArchiveReader::step
            ),
            read(node, ended, mirror, &mut self.platform, Platform::step),
            read(node, ended, mirror, &mut self.before, Before::step),
            read(node, ended, mirror, &mut self.forwarder, Forwarder::step),
            publish_all(node, &self.states),
            left_by_nats::announce(node),
            every(COUNT_EVERY, show),
            every(LOOK_EVERY, look),
        );
    }
}

/// Lets a reader take step after step, with a pause where there is nothing more to read.
async fn read<R>(
    node: &NodeContext,
    just_ended: &JustEnded,
    reader: EventReader,
    one: &mut Option<R>,
    step: impl AsyncFn(&mut R, &NodeContext) -> Result<bool, ExportError>,
) {
    let Some(one) = one else { return };
    loop {
        pause_after(reader, just_ended, step(one, node).await).await;
    }
}

/// Publishes what waits for each reader.
async fn count(node: &NodeContext) {
    let waiting = if node.local_lease.is_janitor() {
        backlog(node).await
    } else {
        Ok(Vec::new())
    };
    match waiting {
        Ok(waiting) => {
            for reader in waiting_readers(&node.config()) {
                let one = waiting.iter().find(|one| one.reader == reader);
                if one.is_none() && reader == EventReader::Nats {
                    node.metrics.forget_reader(reader.name());
                    continue;
                }
                let age = one.map_or(0, |one| clock::now_ms() - one.oldest_at);
                let events = one.map_or(0, |one| one.events);
                node.metrics.events_waiting(reader.name(), events, age);
            }
        }
        Err(error) => tracing::warn!(%error, "waiting events could not be counted"),
    }
}
