//! What receipts say that does not end a message, and does not count as on its way either.
//!
//! UNKNOWN and ACCEPTD may not be an operator's last word: a message keeps the last of them in the store, and ends with it
//! after `receipts.settle_after`, or when its correlation ends, unless another receipt ends it before. What is due is
//! read from the store by the janitor, a page at a time, so nothing is held in memory and a restart changes nothing. A word
//! that no standard has ends nothing at all; it is kept for people to look at.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use tokio::time::Instant;

use super::last_heard::settle_page;
use super::{Correlation, Match, is_final, ok};
use crate::clock;
use crate::pb::{MessageState, OperatorReceipt, ReceiptResult};
use crate::store::WriteBatch;
use crate::store::heard::HeardRow;

/// Longest and shortest time between two looks for states that are due.
const LOOK_EVERY: (Duration, Duration) = (Duration::from_secs(10), Duration::from_millis(200));
/// An operator's words of no standard are logged at most once in this time.
const WARN_AGAIN: Duration = Duration::from_secs(60);

impl Correlation {
    /// Whether a receipt ends its message when it comes.
    pub(super) fn ends(&self, receipt: &OperatorReceipt) -> bool {
        is_final(receipt.state()) && !self.may_change(receipt)
    }

    /// Whether a receipt says a state that another receipt may follow.
    fn may_change(&self, receipt: &OperatorReceipt) -> bool {
        matches!(
            receipt.state(),
            MessageState::Unknown | MessageState::Accepted
        ) && !receipt.configured
            && !self.node.config().receipts.settle_after.is_zero()
    }

    /// What becomes of a receipt that has found its message, as a label of metrics.
    pub(super) fn result_of(&self, receipt: &OperatorReceipt) -> &'static str {
        let is_final = is_final(receipt.state());
        if is_final && self.may_change(receipt) {
            "heard"
        } else if !is_final && !receipt.extras().word.is_empty() {
            "strange"
        } else {
            "matched"
        }
    }

    /// Keeps what may be the last state of these messages, and answers the operator after the commit.
    pub(super) fn hear(&self, heard: Vec<Match>, ctx: &mut Context<Self>) {
        if heard.is_empty() {
            return;
        }
        let now = clock::now_ms();
        let wait = self.node.config().receipts.settle_after.as_millis();
        let due = now.saturating_add(i64::try_from(wait).unwrap_or(i64::MAX));
        let mut rows = WriteBatch::default();
        let mut answers: HashMap<u64, Vec<ReceiptResult>> = HashMap::new();
        for found in heard {
            match found.parked {
                0 => {
                    let answer = ok(&found.receipt);
                    answers.entry(found.session).or_default().push(answer);
                }
                parked => rows.unpark.push(parked),
            }
            rows.unpark.extend(&found.receipt.extras().rows);
            let word = crate::domain::state::receipt_stat(found.receipt.state as u8);
            rows.heard.push(HeardRow {
                word: bytes::Bytes::from_static(word.as_bytes()),
                ..row(&found, now, due)
            });
        }
        let ticket = self.node.store.write(rows);
        ctx.spawn(ticket.into_actor(self).map(|written, correlation, _| {
            if let Err(error) = &written {
                // The operator keeps the receipts and repeats them.
                tracing::error!(%error, "receipts not written");
            }
            correlation.answer_written(answers, written.is_ok());
        }));
    }

    /// Keeps words of no standard for people to look at. Nothing depends on them, so nobody waits for the commit.
    pub(super) fn keep_words(&mut self, said: &[Match]) {
        let now = clock::now_ms();
        let strange = said
            .iter()
            .filter(|found| !found.receipt.extras().word.is_empty());
        let heard: Vec<HeardRow> = strange.map(|found| row(found, now, 0)).collect();
        let Some(first) = heard.first() else {
            return;
        };
        let warned = self.waiting.warned.get(&first.operator);
        if warned.is_none_or(|at| at.elapsed() >= WARN_AGAIN) {
            self.waiting.warned.insert(first.operator, Instant::now());
            tracing::warn!(
                operator = %self.node.name_of(first.operator),
                word = %String::from_utf8_lossy(&first.word),
                "a receipt says a state that no standard has, which ends nothing; receipt_states of the \
                 operator gives it a meaning"
            );
        }
        let batch = WriteBatch {
            heard,
            ..WriteBatch::default()
        };
        drop(self.node.store.write(batch));
    }

    /// Ends messages whose last state was heard long enough ago, if it is time to look and this node does that.
    pub(super) fn settle_heard(&mut self, ctx: &mut Context<Self>) {
        let now = Instant::now();
        let is_due = self.waiting.next_look.is_none_or(|at| at <= now);
        if !is_due || self.waiting.is_looking || !self.node.local_lease.is_janitor() {
            return;
        }
        let (longest, shortest) = LOOK_EVERY;
        let pause = self.node.config().receipts.settle_after / 4;
        self.waiting.next_look = Some(now + pause.clamp(shortest, longest));
        self.waiting.is_looking = true;
        let node = Arc::clone(&self.node);
        let work = async move { settle_page(&node).await };
        ctx.spawn(work.into_actor(self).map(|more, correlation, _| {
            correlation.waiting.is_looking = false;
            match more {
                Ok(true) => correlation.waiting.next_look = None,
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "states that wait could not be settled"),
            }
        }));
    }
}

/// What a receipt says of its message.
fn row(found: &Match, at: i64, due: i64) -> HeardRow {
    let receipt = &found.receipt;
    HeardRow {
        id: found.id,
        at,
        operator: found.operator,
        state: receipt.state(),
        word: receipt.extras().word.clone(),
        error: receipt.error.clone(),
        done_at: receipt.done_at,
        due,
    }
}
