//! Submits commands in batches: those that have come while the batch before was being stored.
//!
//! Batches grow with load, as those of the store's writer do, and a command that comes alone does not wait. A batch that
//! panics takes none of those after it along: its commands come again.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Weak};

use tokio::sync::mpsc;

use super::source::{Source, Waiting};
use crate::actors::ingress::account_api::{Command, Ids, NotOnce};

/// Most commands of a batch.
const MOST: usize = 1_024;

/// Submits what comes, until the source and all work on its commands are gone.
pub(super) async fn run(source: Weak<Source>, mut waiting: mpsc::Receiver<Waiting>) {
    let mut batch = Vec::with_capacity(MOST);
    while waiting.recv_many(&mut batch, MOST).await > 0 {
        let Some(source) = source.upgrade() else {
            return;
        };
        // On its own, so that a panic ends it alone.
        let batch = mem::replace(&mut batch, Vec::with_capacity(MOST));
        let done = actix::spawn(submit(Arc::clone(&source), batch)).await;
        if let Err(error) = done {
            let name = &source.config.name;
            tracing::error!(%error, source = name, "a batch of commands has failed; they come again");
        }
    }
}

/// Submits a batch, and tells those who wait for what becomes of its commands.
async fn submit(source: Arc<Source>, batch: Vec<Waiting>) {
    let mut by_queue: BTreeMap<u32, Vec<Waiting>> = BTreeMap::new();
    for one in batch {
        by_queue.entry(one.to).or_default().push(one);
    }
    for (to, batch) in by_queue {
        submit_to(&source, to, batch).await;
    }
}

async fn submit_to(source: &Source, to: u32, batch: Vec<Waiting>) {
    let peer = format!("nats:{}", source.config.name);
    let (commands, replies): (Vec<Command>, Vec<_>) = batch
        .into_iter()
        .map(|one| (one.command, one.reply))
        .unzip();
    let outcomes = match source.api.account(&source.config.account) {
        Some(account) => {
            let ids = Ids::Commands;
            let taken = source.api.take_commands(&account, ids, to, &peer, commands);
            taken.await
        }
        None => Vec::new(),
    };
    let mut outcomes = outcomes.into_iter();
    for reply in replies {
        let missing = || Err(NotOnce::Unavailable("its account is disabled".to_owned()));
        // Who asked may be gone; the command comes again then.
        let _ = reply.send(outcomes.next().unwrap_or_else(missing));
    }
}
