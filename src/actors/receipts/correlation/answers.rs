//! Operators' answers: an attempt becomes durable, and its id finds the message from now on.
//!
//! Called for each [`SentBatch`]. Rows are in the writer's queue before those of the receipts that follow.

use std::sync::Arc;

use actix::{AsyncContext, Context, WrapFuture};

use super::addresses::fits;
use super::{Correlation, Match, RECENT, SentAttempt, earliest};
use crate::actors::context::ports::UnwrittenAttempts;
use crate::actors::context::traced;
use crate::actors::receipts::confirms::Confirms;
use crate::actors::receipts::{final_state, states};
use crate::clock;
use crate::domain::bind;
use crate::domain::outcomes::counts_for_shares;
use crate::pb::{Final, Message, MessageState, SentBatch};
use crate::store::postgres::known_as;
use crate::store::{SentRow, WriteBatch};

impl Correlation {
    pub(super) fn sent(&mut self, batch: SentBatch, ctx: &mut Context<Self>) {
        let confirms = Confirms::of(&self.node, &batch);
        let now = clock::now_ms();
        let form = self.form_of(batch.operator);
        let by = bind::number(self.node.ids.node(), batch.session);
        let cache = self.node.config().correlation.cache;
        self.count_outcomes(&batch, now);
        let mut rows = WriteBatch::default();
        let (mut finals, mut reached) = (Vec::new(), Vec::new());
        let mut overdue = Vec::new();
        let mut answers = Vec::new();
        let attempts = batch.sent.len();
        rows.sent.reserve(batch.sent.len());
        for sent in batch.sent {
            answers.extend(traced::answer(
                sent.message.as_deref(),
                sent.attempt,
                &sent.operator_message_id,
            ));
            let key = self
                .index
                .key(batch.operator, &sent.operator_message_id, form);
            rows.sent.push(SentRow {
                id: sent.id,
                attempt: sent.attempt,
                at: now,
                operator: batch.operator,
                status: 0,
                operator_message_id: sent.operator_message_id.clone(),
                latency_ms: sent.latency_ms,
                correlation: if sent.receipt_expected { key as u64 } else { 0 },
                bind: by,
                known_as: sent.message.as_deref().and_then(known_as),
            });
            reached.extend(states::sent(&self.node, batch.operator, &sent, now));
            if !sent.receipt_expected {
                // Who says with the answer that it arrived means now.
                let is_arrival = sent.state() != MessageState::Accepted;
                finals.push(Final {
                    id: sent.id,
                    state: sent.state,
                    at: now,
                    message: sent.message,
                    operator: batch.operator,
                    attempts: sent.attempt,
                    done_at: if is_arrival { now } else { 0 },
                    ..Final::default()
                });
                continue;
            }
            if self.index.insert(key, sent.id, now) {
                self.node.metrics.ids_reused.inc();
            }
            if !self.parked.is_empty()
                && let message = sent.message.as_deref()
                && let since = earliest(sent.id, message, now)
                && let Some((row, receipt)) = self.parked.take(key, since, |receipt| {
                    message.is_none_or(|message| fits(receipt, message) != Some(false))
                })
            {
                if self.ends(&receipt) {
                    self.index.mark_done(key, sent.id);
                }
                overdue.push(Match {
                    id: sent.id,
                    receipt,
                    operator: batch.operator,
                    session: 0,
                    parked: row,
                    key: Some(key),
                });
            }
            if let Some(message) = sent.message {
                self.remember(message, sent.attempt, now, cache);
            }
        }
        let node = Arc::clone(&self.node);
        let counted = (node.queue(batch.operator))
            .and_then(|port| UnwrittenAttempts::counted_before(&port, attempts));
        // Calls are committed in their order: the attempt before its receipt.
        let mut finish = Box::pin(async move {
            final_state::write_reached(&node, rows, finals, reached).await;
            drop((counted, confirms));
            for answer in answers {
                traced::answered(&node, answer);
            }
        });
        // Polled once here so that the rows are in the writer's queue before later ones.
        let polled = futures_util::FutureExt::now_or_never(finish.as_mut());
        if polled.is_none() {
            ctx.spawn(finish.into_actor(self));
        }
        if !overdue.is_empty() {
            self.settle(overdue, ctx);
        }
        if !self.early.is_empty() {
            self.retry_early(ctx);
        }
        self.spill(ctx);
    }

    /// Counts what operators have taken.
    fn count_outcomes(&self, batch: &SentBatch, now: i64) {
        self.node.outcomes.count(|log| {
            for sent in &batch.sent {
                let message = sent.message.as_deref();
                let account = message.map_or(0, |message| message.sender);
                let mut counts = log.at(batch.operator, account, now);
                if counts_for_shares(sent.attempt) {
                    counts.note_taken(sent.receipt_expected, sent.latency_ms);
                } else {
                    counts.note_taken_again(sent.receipt_expected, sent.latency_ms);
                }
            }
        });
    }

    pub(super) fn remember(&mut self, message: Box<Message>, attempt: u32, at: i64, cache: usize) {
        self.recent_order.push_back(message.id);
        self.recent_octets += message.weight();
        let recent = SentAttempt {
            message,
            attempt,
            at,
        };
        let before = self.recent.insert(recent.message.id, recent);
        self.recent_octets -= before.map_or(0, |before| before.message.weight());
        while self.recent_order.len() > cache || self.recent_octets > RECENT {
            let Some(oldest) = self.recent_order.pop_front() else {
                break;
            };
            self.take_recent(oldest);
        }
    }

    /// A message that was sent lately; it is forgotten.
    pub(super) fn take_recent(&mut self, id: u64) -> Option<SentAttempt> {
        let recent = self.recent.remove(&id)?;
        self.recent_octets -= recent.message.weight();
        Some(recent)
    }
}
