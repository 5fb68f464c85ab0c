//! Submits commands in batches: those that have come while the batch before was on its way.
//!
//! Batches grow with load, as those of the store's writer do, and a command that comes alone does not wait. While one is
//! being stored, the next one is made. They enter Ingest in the order in which they came. A batch that panics takes none of
//! those after it along: its commands come again, each alone.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};

use tokio::sync::{mpsc, oneshot};

use super::source::{Source, WaitingCommands};
use crate::actors::context::plan::AccountPlan;
use crate::actors::ingress::account_api::{Command, CommandOutcome, Ids, NotOnce, SentCommands};

/// Commands of a batch, or a few more: what came together stays together.
const MOST: usize = 1_024;
/// Batches under way at once.
const DEPTH: usize = 2;

/// Those who wait for what becomes of their commands, so many each.
type Replies = Vec<(usize, oneshot::Sender<Vec<CommandOutcome>>)>;

/// Submits what comes, until the source and all work on its commands are gone.
pub(super) async fn run(source: Weak<Source>, mut waiting: mpsc::Receiver<WaitingCommands>) {
    let mut under_way = VecDeque::with_capacity(DEPTH);
    let mut put_off = None;
    loop {
        let first = match put_off.take() {
            Some(first) => first,
            None => match waiting.recv().await {
                Some(first) => first,
                None => return,
            },
        };
        let Some(source) = source.upgrade() else {
            return;
        };
        let batch;
        (batch, put_off) = gathered(first, || waiting.try_recv().ok());
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

/// What has come since the first one of a batch, and what came then and cannot be in it.
fn gathered(
    first: WaitingCommands,
    mut next: impl FnMut() -> Option<WaitingCommands>,
) -> (Vec<WaitingCommands>, Option<WaitingCommands>) {
    let (mut count, is_alone) = (first.commands.len(), first.is_alone);
    let mut batch = vec![first];
    while count < MOST
        && !is_alone
        && let Some(more) = next()
    {
        if more.is_alone {
            return (batch, Some(more));
        }
        count += more.commands.len();
        batch.push(more);
    }
    (batch, None)
}

/// Submits a batch, says so, and tells those who wait what has become of its commands.
async fn submit(source: Arc<Source>, batch: Vec<WaitingCommands>, is_sent: oneshot::Sender<()>) {
    let Some(account) = source.api.account(&source.config.account) else {
        for one in batch {
            let later = || Err(NotOnce::Unavailable("its account is disabled".to_owned()));
            // Who asked may be gone, here and below.
            let _ = one
                .reply
                .send(one.commands.iter().map(|_| later()).collect());
        }
        return;
    };
    let mut by_queue: BTreeMap<u32, Vec<WaitingCommands>> = BTreeMap::new();
    for one in batch {
        by_queue.entry(one.to).or_default().push(one);
    }
    let mut sent = Vec::with_capacity(by_queue.len());
    for (to, batch) in by_queue {
        sent.push(send_to(&source, &account, to, batch).await);
    }
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
    batch: Vec<WaitingCommands>,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(to: u32, is_alone: bool) -> WaitingCommands {
        WaitingCommands {
            commands: Vec::new(),
            to,
            is_alone,
            reply: oneshot::channel().0,
        }
    }

    #[test]
    fn what_is_to_be_alone_is_in_a_batch_of_its_own() {
        let came = [(1, false), (2, false), (3, true), (4, true), (5, false)];
        let mut came = came.map(|(to, is_alone)| waiting(to, is_alone)).into_iter();
        let (mut batches, mut put_off) = (Vec::new(), None);
        while let Some(first) = put_off.take().or_else(|| came.next()) {
            let batch;
            (batch, put_off) = gathered(first, || came.next());
            batches.push(batch.iter().map(|one| one.to).collect::<Vec<u32>>());
        }
        assert_eq!(batches, [vec![1, 2], vec![3], vec![4], vec![5]]);
    }
}
