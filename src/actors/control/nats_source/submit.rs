//! Submits commands in batches: those that have come while the batch before was on its way.
//!
//! Batches grow with load, as those of the store's writer do, and a command that comes alone does not wait. While one is
//! being stored, the next one is made. They enter Ingest in the order in which they came. A batch that panics takes none of
//! those after it along: its commands come again.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};

use tokio::sync::{mpsc, oneshot};

use super::source::{Source, Waiting};
use crate::actors::context::plan::AccountPlan;
use crate::actors::ingress::account_api::{Command, Ids, NotOnce, Outcome, SentCommands};

/// Commands of a batch, or a few more: what came together stays together.
const MOST: usize = 1_024;
/// Batches under way at once.
const DEPTH: usize = 2;

/// Those who wait for what becomes of their commands, so many each.
type Replies = Vec<(usize, oneshot::Sender<Vec<Outcome>>)>;

/// Submits what comes, until the source and all work on its commands are gone.
pub(super) async fn run(source: Weak<Source>, mut waiting: mpsc::Receiver<Waiting>) {
    let mut under_way = VecDeque::with_capacity(DEPTH);
    while let Some(first) = waiting.recv().await {
        let Some(source) = source.upgrade() else {
            return;
        };
        let mut count = first.commands.len();
        let mut batch = vec![first];
        while count < MOST
            && let Ok(more) = waiting.try_recv()
        {
            count += more.commands.len();
            batch.push(more);
        }
        let (sent, is_sent) = oneshot::channel();
        // On its own, so that a panic ends it alone.
        under_way.push_back(actix::spawn(submit(Arc::clone(&source), batch, sent)));
        // Also when it has failed.
        let _ = is_sent.await;
        if under_way.len() == DEPTH
            && let Some(oldest) = under_way.pop_front()
            && let Err(error) = oldest.await
        {
            let name = &source.config.name;
            tracing::error!(%error, source = name, "a batch of commands has failed; they come again");
        }
    }
}

/// Submits a batch, says so, and tells those who wait what has become of its commands.
async fn submit(source: Arc<Source>, batch: Vec<Waiting>, is_sent: oneshot::Sender<()>) {
    let Some(account) = source.api.account(&source.config.account) else {
        // Nobody hears of them: they come again.
        return;
    };
    let mut by_queue: BTreeMap<u32, Vec<Waiting>> = BTreeMap::new();
    for one in batch {
        by_queue.entry(one.to).or_default().push(one);
    }
    let mut sent = Vec::with_capacity(by_queue.len());
    for (to, batch) in by_queue {
        sent.push(send_to(&source, &account, to, batch).await);
    }
    // Who asked may be gone, here and below.
    let _ = is_sent.send(());
    for (sent, replies) in sent {
        let outcomes = source.api.outcomes(&account, sent).await;
        let mut outcomes = outcomes.into_iter();
        for (count, reply) in replies {
            let _ = reply.send(outcomes.by_ref().take(count).collect());
        }
    }
}

async fn send_to(
    source: &Source,
    account: &AccountPlan,
    to: u32,
    batch: Vec<Waiting>,
) -> (SentCommands, Replies) {
    let peer = format!("nats:{}", source.config.name);
    let (mut commands, mut replies) = (Vec::<Command>::new(), Vec::with_capacity(batch.len()));
    for one in batch {
        replies.push((one.commands.len(), one.reply));
        commands.extend(one.commands);
    }
    let sent = source
        .api
        .send_commands(account, Ids::Commands, to, &peer, commands);
    (sent.await, replies)
}

/// Of a command that was not submitted.
pub(super) fn not_submitted() -> NotOnce {
    NotOnce::Unavailable("its batch was not submitted".to_owned())
}
