//! Waits for operators' answers to messages: of all commands of a source that wait for one, in one read of the store.
//!
//! Another node may send the message, so the store is where its answer is found. Each is looked at soon after it was
//! submitted, and then less and less often.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};

use crate::actors::ingress::account_api::AccountApi;
use crate::store::MessageHistory;

/// Between two looks at those that are due.
const TICK: Duration = Duration::from_millis(20);
/// Pauses between looks at one message: from the first to the last.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LAST_LOOK: Duration = Duration::from_secs(1);
/// Messages of one read.
const MOST: usize = 1_000;

/// Where it is asked for answers.
pub(super) struct Answers {
    asks: mpsc::Sender<AwaitedAnswer>,
}

/// A message, and who waits for its answer.
pub(super) struct AwaitedAnswer {
    id: u64,
    reply: oneshot::Sender<()>,
}

/// One that is waited for.
struct Waiter {
    /// The message; of a text that was divided, those of its parts without an answer.
    ids: Vec<u64>,
    reply: oneshot::Sender<()>,
    due: Instant,
    pause: Duration,
}

// === impl Answers ===

impl Answers {
    /// Answers for so many commands at a time, and where the questions arrive.
    pub(super) fn new(most: usize) -> (Self, mpsc::Receiver<AwaitedAnswer>) {
        let (asks, asked) = mpsc::channel(most);
        (Self { asks }, asked)
    }

    /// Returns when a message has had an answer of its operator, or has ended. Of a text that was divided, each part.
    pub(super) async fn wait_for(&self, id: u64) {
        loop {
            let (reply, answer) = oneshot::channel();
            if self.asks.send(AwaitedAnswer { id, reply }).await.is_ok() && answer.await.is_ok() {
                return;
            }
            // The look has failed.
            sleep(LAST_LOOK).await;
        }
    }
}

/// Looks for what is asked, until the source and all work on its commands are gone.
pub(super) async fn run(api: AccountApi, mut asked: mpsc::Receiver<AwaitedAnswer>) {
    let mut waiting: Vec<Waiter> = Vec::new();
    loop {
        if waiting.is_empty() {
            match asked.recv().await {
                Some(ask) => waiting.push(ask.into()),
                None => return,
            }
        }
        sleep(TICK).await;
        while let Ok(ask) = asked.try_recv() {
            waiting.push(ask.into());
        }
        // Who asked may be gone: its command comes again.
        waiting.retain(|one| !one.reply.is_closed());
        // On its own: a panic ends this look alone, and who waited asks again.
        let looked = actix::spawn(look(api.clone(), waiting)).await;
        waiting = looked.unwrap_or_else(|error| {
            tracing::error!(%error, "a look for answers of operators has failed");
            Vec::new()
        });
    }
}

/// Looks once at those that are due; returns those that wait on.
async fn look(api: AccountApi, waiting: Vec<Waiter>) -> Vec<Waiter> {
    let now = Instant::now();
    let (mut due, mut left): (Vec<Waiter>, Vec<Waiter>) =
        waiting.into_iter().partition(|one| one.due <= now);
    left.extend(due.split_off(due.len().min(MOST)));
    let ids: Vec<u64> = due.iter().flat_map(|one| one.ids.clone()).collect();
    if ids.is_empty() {
        return left;
    }
    let Ok(histories) = api.node().store.histories(ids).await else {
        for mut one in due {
            one.is_looked_at();
            left.push(one);
        }
        return left;
    };
    let mut histories = histories.into_iter();
    for mut one in due {
        let count = one.ids.len();
        let found = std::mem::take(&mut one.ids)
            .into_iter()
            .zip(histories.by_ref().take(count));
        one.ids = found
            .flat_map(|(id, history)| unanswered(id, history))
            .collect();
        if one.ids.is_empty() {
            // Who asked may be gone.
            let _ = one.reply.send(());
        } else {
            one.is_looked_at();
            left.push(one);
        }
    }
    left
}

/// Which messages are to be looked at again, of one with this history.
fn unanswered(id: u64, history: Option<MessageHistory>) -> Vec<u64> {
    let Some(history) = history.filter(|history| history.stored.fin.is_none()) else {
        // It has ended, and may be gone already.
        return Vec::new();
    };
    let composition = history.stored.message.composition.as_deref();
    match composition {
        // Its parts are sent instead.
        Some(composition) if !composition.sent_as.is_empty() => composition.sent_as.clone(),
        _ if history.attempts.is_empty() && history.retry.is_none() => vec![id],
        _ => Vec::new(),
    }
}

// === impl Waiter ===

impl Waiter {
    fn is_looked_at(&mut self) {
        self.due = Instant::now() + self.pause;
        self.pause = (self.pause * 3 / 2).min(LAST_LOOK);
    }
}

impl From<AwaitedAnswer> for Waiter {
    fn from(ask: AwaitedAnswer) -> Self {
        Self {
            ids: vec![ask.id],
            reply: ask.reply,
            // No operator answers at once.
            due: Instant::now() + FIRST_LOOK,
            pause: FIRST_LOOK,
        }
    }
}
