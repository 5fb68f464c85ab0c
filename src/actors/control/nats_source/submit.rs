//! Submits commands in batches: those that have come while the batch before was being stored.
//!
//! Batches grow with load, as those of the store's writer do, and a command that comes alone does not wait.

use std::sync::Weak;

use tokio::sync::mpsc;

use super::source::{Source, Waiting};
use crate::actors::ingress::account_api::{Command, NotOnce};

/// Most commands of a batch.
const MOST: usize = 256;

/// Submits what comes, until the source and all work on its commands are gone.
pub(super) async fn run(source: Weak<Source>, mut waiting: mpsc::Receiver<Waiting>) {
    let mut batch = Vec::with_capacity(MOST);
    while waiting.recv_many(&mut batch, MOST).await > 0 {
        let Some(source) = source.upgrade() else {
            return;
        };
        let peer = format!("nats:{}", source.config.name);
        let (commands, replies): (Vec<Command>, Vec<_>) =
            batch.drain(..).map(|one| (one.command, one.reply)).unzip();
        let account = source.api.account(&source.config.account);
        let outcomes = match account.zip(source.target()) {
            Some((account, to)) => {
                let taken = source.api.take_commands(&account, to, &peer, commands);
                taken.await
            }
            None => Vec::new(),
        };
        let mut outcomes = outcomes.into_iter();
        for reply in replies {
            let missing = || {
                Err(NotOnce::Unavailable(
                    "its account or its operator is disabled".to_owned(),
                ))
            };
            // Who asked may be gone; the command comes again then.
            let _ = reply.send(outcomes.next().unwrap_or_else(missing));
        }
    }
}
