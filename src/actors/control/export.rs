//! The actor Export: reads the outbox of the store, and makes call detail records, sums of usage, events on NATS and
//! an archive of it.
//!
//! Only the node that does the work for all nodes takes events. It writes their records, and then finishes the
//! events in the store; what holds when it is killed between the two:
//!
//! - Records in files: the events are still this node's. When it is back, it reads the end of its files and
//!   writes only what is missing. If it does not come back within `cdr.wait_for_node`, another node writes these
//!   records, perhaps once more: the only case in which a record is there twice.
//! - Records in the table, and usage: they are written in the transaction that finishes the events, so once in any
//!   case.
//!
//! - Events on NATS: they are published again, with the same Nats-Msg-Id (`nats.rs`).
//! - The archive: `archive.rs`.
//!
//! In: nothing. Out: files, rows of the store, and messages on NATS.

mod archive;
mod archive_erase;
mod archive_files;
mod erase;
mod files;
mod nats;
mod record;
mod step;
mod usage;

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context, Supervised, WrapFuture};
use tokio::sync::Mutex;

pub use self::archive::{Archive, Archived};
pub use self::erase::Records;
use self::files::CdrFiles;
use self::nats::Nats;
use self::step::{ABANDONED, BATCH, Events, ExportError, pause_after};
use self::usage::Usage;
use crate::actors::context::NodeContext;
use crate::actors::context::plan::Plan;
use crate::actors::receipts::just_ended::JustEnded;
use crate::clock;
use crate::config::{CdrFormat, Config};
use crate::store::outbox::{CdrRow, Outcome, Reader, TakenEvents};
use crate::store::{Store, StoreError, Stored};

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
    Files(CdrFiles, CdrFormat),
    Table,
}

pub struct Export {
    node: Arc<NodeContext>,
    just_ended: Arc<JustEnded>,
    /// `None` where there are no records. Locked by the work under way.
    cdr: Option<Arc<Mutex<Cdr>>>,
    /// The same for usage.
    usage: Option<Arc<Mutex<Usage>>>,
    /// The same for NATS.
    nats: Option<Arc<Mutex<Nats>>>,
    /// The same for the archive.
    archive: Option<Arc<Mutex<Archive>>>,
}

/// Who reads events, as configured.
pub fn readers(config: &Config) -> Vec<Reader> {
    let cdr = config.cdr.enabled.then_some(Reader::Cdr);
    let usage = config.usage.enabled.then_some(Reader::Usage);
    let nats = (!config.nats.servers.is_empty()).then_some(Reader::Nats);
    let archive = config.archive.enabled.then_some(Reader::Archive);
    let all = cdr.into_iter().chain(usage).chain(nats);
    all.chain(archive).collect()
}

/// The earliest end (Unix milliseconds) of a message whose events a configured reader has not read; `None` when
/// nothing waits. Such a message must stay in the store.
pub async fn oldest_unread(node: &NodeContext) -> Result<Option<i64>, StoreError> {
    let configured = readers(&node.config());
    let waiting = node.store.backlog().await?;
    let waiting = waiting
        .iter()
        .filter(|one| configured.contains(&one.reader));
    Ok(waiting.map(|one| one.oldest_at).min())
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
                let files = CdrFiles::start(config)?;
                records.files = Some((files.dir.clone(), files.writer.clone()));
                let name = files.name.clone();
                (Output::Files(files, format), name)
            }
        };
        let cdr = Self {
            output,
            events: Events::new(Reader::Cdr, holder, just_ended),
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
            self.unsure.extend(files.tail().await?);
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
            Output::Table => Outcome::Records(self.records(&node.plan(), &ended).collect()),
            Output::Files(files, format) => {
                let mut lines = Vec::with_capacity(ids.len() * 400);
                // One at a time, so that their memory is used again and again.
                self.records(&node.plan(), &ended)
                    .for_each(|one| record::line(*format, &mut lines, &one));
                if !lines.is_empty()
                    && let Err(error) = files.write(lines).await
                {
                    self.knows_tail = false;
                    return Err(error.into());
                }
                self.unsure.extend(&ids);
                Outcome::Elsewhere
            }
        };
        if !self.events.finish(node, claim, outcome, &ended).await? {
            // What is left of them is taken again.
            tracing::error!(
                messages = ids.len(),
                "events were taken over by another node, or dropped, while their CDRs were written: \
                 with files, some records may be there twice"
            );
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
        archive: Option<Archive>,
    ) -> Self {
        let config = node.config();
        let usage =
            (config.usage.enabled).then(|| Usage::new(config.node, Arc::clone(&just_ended)));
        let nats = Nats::start(&config, &just_ended);
        Self {
            cdr: cdr.map(|cdr| Arc::new(Mutex::new(cdr))),
            usage: usage.map(|usage| Arc::new(Mutex::new(usage))),
            nats: nats.map(|nats| Arc::new(Mutex::new(nats))),
            archive: archive.map(|archive| Arc::new(Mutex::new(archive))),
            just_ended,
            node,
        }
    }

    /// Writes records until there are none, and again after a pause.
    fn write_records(&mut self, ctx: &mut Context<Self>) {
        let Some(cdr) = self.cdr.clone() else {
            return;
        };
        let (node, just_ended) = (Arc::clone(&self.node), Arc::clone(&self.just_ended));
        let work = async move {
            let mut cdr = cdr.lock().await;
            // The work before may have ended halfway, by a panic.
            cdr.knows_tail = false;
            loop {
                pause_after(Reader::Cdr, &just_ended, cdr.step(&node).await).await;
            }
        };
        ctx.spawn(work.into_actor(self));
    }

    /// The same for usage.
    fn count_usage(&mut self, ctx: &mut Context<Self>) {
        let Some(usage) = self.usage.clone() else {
            return;
        };
        let (node, just_ended) = (Arc::clone(&self.node), Arc::clone(&self.just_ended));
        let work = async move {
            let mut usage = usage.lock().await;
            loop {
                pause_after(Reader::Usage, &just_ended, usage.step(&node).await).await;
            }
        };
        ctx.spawn(work.into_actor(self));
    }

    /// The same for NATS.
    fn publish_events(&mut self, ctx: &mut Context<Self>) {
        let Some(nats) = self.nats.clone() else {
            return;
        };
        let (node, just_ended) = (Arc::clone(&self.node), Arc::clone(&self.just_ended));
        let work = async move {
            let mut nats = nats.lock().await;
            loop {
                pause_after(Reader::Nats, &just_ended, nats.step(&node).await).await;
            }
        };
        ctx.spawn(work.into_actor(self));
    }

    /// The same for the archive.
    fn archive_messages(&mut self, ctx: &mut Context<Self>) {
        let Some(archive) = self.archive.clone() else {
            return;
        };
        let (node, just_ended) = (Arc::clone(&self.node), Arc::clone(&self.just_ended));
        let work = async move {
            let mut archive = archive.lock().await;
            archive.begin_anew();
            loop {
                pause_after(Reader::Archive, &just_ended, archive.step(&node).await).await;
            }
        };
        ctx.spawn(work.into_actor(self));
    }

    /// Publishes what waits for each reader.
    fn count(&self, ctx: &mut Context<Self>) {
        let node = Arc::clone(&self.node);
        let work = async move {
            let waiting = match node.local_lease.is_janitor() {
                true => node.store.backlog().await,
                false => Ok(Vec::new()),
            };
            match waiting {
                Ok(waiting) => {
                    for reader in readers(&node.config()) {
                        let one = waiting.iter().find(|one| one.reader == reader);
                        let age = one.map_or(0, |one| clock::now_ms() - one.oldest_at);
                        let events = one.map_or(0, |one| one.events);
                        node.metrics.events_waiting(reader.name(), events, age);
                    }
                }
                Err(error) => tracing::warn!(%error, "waiting events could not be counted"),
            }
        };
        ctx.spawn(work.into_actor(self));
    }
}

impl Actor for Export {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.write_records(ctx);
        self.count_usage(ctx);
        self.publish_events(ctx);
        self.archive_messages(ctx);
        ctx.run_interval(COUNT_EVERY, |export, ctx| export.count(ctx));
    }
}

impl Supervised for Export {}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::actors::multipart::stage;
    use crate::actors::test_support::{self, TestNode};
    use crate::config::CdrFormat;
    use crate::pb::{Final, Message, MessageState};
    use crate::store::{FinRow, WriteBatch};

    async fn node(folder: &std::path::Path, format: CdrFormat) -> TestNode {
        let dir = folder.join("cdr");
        let node = test_support::node_with(1, None, |config| {
            config.cdr.dir = Some(dir);
            config.cdr.format = format;
        });
        let node = node.await;
        let context = &node.context;
        context.store.write_events_for(&readers(&context.config()));
        node
    }

    /// Accepts and ends messages.
    async fn end(node: &TestNode, ids: &[u64]) {
        let message = |id: &u64| Message {
            id: *id,
            sender: node.account,
            queue: node.operator,
            destination: Bytes::from_static(b"447700900123"),
            ..Message::default()
        };
        let fin = |id: &u64| FinRow {
            id: *id,
            at: 1_800_000_000_000,
            state: MessageState::Delivered,
            error: Bytes::new(),
            operator: node.operator,
            tell: 0,
            done_at: 0,
            remote_item: Bytes::new(),
            remote_part: 0,
        };
        let rows = WriteBatch {
            accept: ids.iter().map(message).collect(),
            fin: ids.iter().map(fin).collect(),
            ..WriteBatch::default()
        };
        node.context.store.write(rows).await.expect("written");
    }

    fn start(node: &TestNode) -> Cdr {
        let store = Arc::clone(&node.context.store);
        let just_ended = Arc::new(JustEnded::new(&[Reader::Cdr]));
        let started = Cdr::start(&node.context.config(), store, just_ended);
        started.expect("a folder").0.expect("enabled")
    }

    fn lines(folder: &std::path::Path) -> Vec<u64> {
        let files = files::all(&folder.join("cdr")).expect("a folder");
        let text = files.iter().map(|path| std::fs::read(path).expect("read"));
        let text: Vec<u8> = text.flatten().collect();
        let lines = text.split(|octet| *octet == b'\n');
        lines.filter_map(record::id_of).collect()
    }

    async fn all(cdr: &mut Cdr, node: &TestNode) {
        while cdr.step(&node.context).await.expect("written") {}
    }

    #[actix::test]
    async fn what_a_crash_has_left_written_is_not_written_again() {
        for format in [CdrFormat::Jsonl, CdrFormat::Csv] {
            let folder = tempfile::tempdir().expect("a folder");
            let node = node(folder.path(), format).await;
            end(&node, &[11, 12, 13]).await;
            // Killed after two records and half of the third, before the events were finished.
            let Output::Files(files, _) = start(&node).output else {
                panic!("no files");
            };
            let mut written = Vec::new();
            for id in [11, 12, 13] {
                let row = CdrRow {
                    id,
                    ..Default::default()
                };
                record::line(format, &mut written, &row);
            }
            written.truncate(written.len() - 5);
            files.write(written).await.expect("written");
            drop(files);
            let mut cdr = start(&node);
            all(&mut cdr, &node).await;
            assert_eq!(lines(folder.path()), [11, 12, 13]);
            end(&node, &[14]).await;
            all(&mut cdr, &node).await;
            assert_eq!(lines(folder.path()), [11, 12, 13, 14]);
            let waiting = node.context.store.backlog().await.expect("answers");
            assert_eq!(waiting, []);
        }
    }

    #[actix::test]
    async fn a_record_says_the_same_from_memory_as_from_the_store() {
        let folder = tempfile::tempdir().expect("a folder");
        let node = node(folder.path(), CdrFormat::Jsonl).await;
        let context = &node.context;
        end(&node, &[11]).await;
        let rows = WriteBatch {
            sent: vec![stage::handed_to(11, node.operator, Bytes::new(), 1)],
            ..WriteBatch::default()
        };
        context.store.write(rows).await.expect("written");
        let read = context.store.read_ended(vec![11]).await.expect("answers");
        let read = read[0].as_ref().expect("a message");
        let fin = read.fin.clone().expect("it has ended");
        let just_ended = JustEnded::new(&[Reader::Cdr]);
        just_ended.keep(vec![Final {
            id: 11,
            state: fin.state.into(),
            at: fin.at,
            operator: fin.operator,
            attempts: 1,
            message: Some(Box::new(read.message.clone())),
            ..Final::default()
        }]);
        let kept = just_ended.take(Reader::Cdr, &[11]);
        let kept = kept[0].as_ref().expect("it was kept");
        let plan = context.plan();
        let record = record::record(&plan, kept);
        assert_eq!(record, record::record(&plan, read));
        assert_eq!(record.expect("a record").attempts, 1);
    }

    #[actix::test]
    async fn a_file_that_cannot_be_written_loses_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let node = node(folder.path(), CdrFormat::Jsonl).await;
        let mut cdr = start(&node);
        end(&node, &[11]).await;
        let (dir, away) = (folder.path().join("cdr"), folder.path().join("away"));
        std::fs::rename(&dir, &away).expect("renamed");
        assert!(cdr.step(&node.context).await.is_err());
        let oldest = oldest_unread(&node.context).await;
        assert_eq!(oldest, Ok(Some(1_800_000_000_000)), "its message stays");
        std::fs::rename(&away, &dir).expect("renamed");
        all(&mut cdr, &node).await;
        assert_eq!(lines(folder.path()), [11]);
        assert_eq!(oldest_unread(&node.context).await, Ok(None));
    }
}
