//! Settles receipts for our messages: they end a message, repeat an earlier receipt, or come too late.
//!
//! A message ends once. Its earlier final state stays (UNKNOWN if the wait for its receipt timed out).
//! The receipt is answered, so that the operator does not repeat it, and counted.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};

use super::forget::final_of;
use super::{Correlation, Match, UncorrelatedReceipt, is_final, ok};
use crate::actors::context::plan::target_of;
use crate::actors::receipts::final_state;
use crate::clock;
use crate::pb::{MessageState, OperatorReceipt, ReceiptResult};
use crate::store::WriteBatch;

impl Correlation {
    /// Ends the matched messages and answers the operator after the commit. Intermediate states are
    /// passed on instead, and those that may not be the last are kept.
    pub(super) fn settle(&mut self, mut matches: Vec<Match>, ctx: &mut Context<Self>) {
        // What was parked was counted when it came.
        let came = matches.iter().filter(|found| found.parked == 0);
        self.count_by_operator(came.map(|found| {
            let result = self.result_of(&found.receipt);
            (found.operator, &found.receipt, result)
        }));
        if matches.iter().any(|found| !self.ends(&found.receipt)) {
            let (ends, open): (Vec<_>, Vec<_>) = matches
                .into_iter()
                .partition(|found| self.ends(&found.receipt));
            let (heard, said): (Vec<_>, Vec<_>) = open
                .into_iter()
                .partition(|found| is_final(found.receipt.state()));
            self.keep_words(&said);
            self.notify(said, ctx);
            self.hear(heard, ctx);
            matches = ends;
            if matches.is_empty() {
                return;
            }
        }
        let now = clock::now_ms();
        self.counters.matched += matches.len() as u64;
        self.node
            .metrics
            .receipts_matched
            .inc_by(matches.len() as u64);
        let mut rows = WriteBatch::default();
        let mut finals = Vec::with_capacity(matches.len());
        let mut answers: HashMap<u64, Vec<ReceiptResult>> = HashMap::new();
        let mut keys = Vec::with_capacity(matches.len());
        let mut ids = Vec::with_capacity(matches.len());
        let mut settled = Vec::new();
        let is_shared = self.node.local_lease.is_shared();
        for found in matches {
            self.settling.entry(found.id).or_default();
            ids.push(found.id);
            if let Some(key) = found.key {
                keys.push((key, found.id));
                if is_shared {
                    settled.push((found.operator, found.id, found.receipt.clone()));
                }
            }
            rows.unpark.extend(&found.receipt.extras().rows);
            if found.parked != 0 {
                rows.unpark.push(found.parked);
            } else {
                answers
                    .entry(found.session)
                    .or_default()
                    .push(ok(&found.receipt));
            }
            let recent = self.take_recent(found.id);
            let is_own = !is_shared || recent.is_some() || found.key.is_some();
            let mut ended = final_of(found.id, found.receipt, found.operator, now);
            ended.unawaited = !is_own;
            if let Some(recent) = recent {
                final_state::note_sent(&mut ended, recent.at);
                ended.message = Some(recent.message);
                ended.attempts = recent.attempt;
            }
            finals.push(ended);
        }
        let node = Arc::clone(&self.node);
        let settle = async move {
            let done = final_state::try_write(&node, &mut rows, &mut finals).await;
            (done, answers)
        };
        ctx.spawn(
            settle
                .into_actor(self)
                .map(move |(done, mut answers), correlation, ctx| {
                    match &done {
                        Ok(lost) if !lost.is_empty() => correlation.lost(lost, settled, ctx),
                        Ok(_) => {}
                        Err(error) => {
                            // The operator keeps the receipts and repeats them.
                            tracing::error!(%error, "receipts not written");
                            keys.into_iter().for_each(|(key, id)| {
                                correlation.index.open_again(key, id, clock::now_ms());
                            });
                        }
                    }
                    let repeats = ids
                        .iter()
                        .filter_map(|id| correlation.settling.remove(id))
                        .flatten();
                    for (session, result) in repeats {
                        answers.entry(session).or_default().push(result);
                    }
                    correlation.answer_written(answers, done.is_ok());
                }),
        );
    }

    /// Counts receipts that repeat an earlier one.
    pub(super) fn repeated(&mut self, count: u64) {
        self.counters.repeated += count;
        self.node.metrics.receipts_repeated.inc_by(count);
    }

    /// The answer to a repeated receipt; `None` while the first one is not durable: then both are
    /// answered together.
    pub(super) fn or_wait(
        &mut self,
        message: u64,
        session: u64,
        answer: ReceiptResult,
    ) -> Option<ReceiptResult> {
        match self.settling.get_mut(&message) {
            Some(repeats) if session != 0 => {
                repeats.push((session, answer));
                None
            }
            _ => Some(answer),
        }
    }

    /// These messages were already final in the store, which this node's memory did not know. Receipts
    /// in `settled` may be about messages of other nodes with the same ids.
    fn lost(
        &mut self,
        lost: &[u64],
        settled: Vec<(u32, u64, OperatorReceipt)>,
        ctx: &mut Context<Self>,
    ) {
        let ids: HashSet<u64> = lost.iter().copied().collect();
        let mut by_operator: HashMap<u32, Vec<UncorrelatedReceipt>> = HashMap::new();
        for (operator, id, receipt) in settled {
            if ids.contains(&id) {
                by_operator
                    .entry(operator)
                    .or_default()
                    .push(UncorrelatedReceipt {
                        receipt,
                        known: Some(id),
                    });
            }
        }
        for (operator, unmatched) in by_operator {
            // They are answered already.
            self.look_further(operator, 0, unmatched, ctx);
        }
        let reply = self.node.store.load(lost.to_vec());
        ctx.spawn(reply.into_actor(self).map(|loaded, correlation, _| {
            let ended = |stored: &crate::store::Stored| stored.fin.as_ref().map(|fin| fin.state);
            let states: Vec<MessageState> = loaded
                .unwrap_or_default()
                .iter()
                .flatten()
                .filter_map(ended)
                .collect();
            let is_ours = |state: &&MessageState| {
                use MessageState::{Deleted, Expired, Unknown};
                matches!(state, Unknown | Expired | Deleted)
            };
            let late = states.iter().filter(is_ours).count();
            correlation.node.metrics.receipts_late.inc_by(late as u64);
            correlation.repeated((states.len() - late) as u64);
        }));
    }
}

impl Correlation {
    /// Counts receipts by operator and state. One batch has few of both.
    pub(super) fn count_by_operator<'a>(
        &self,
        receipts: impl Iterator<Item = (u32, &'a OperatorReceipt, &'static str)>,
    ) {
        let mut counts: HashMap<_, u64, ahash::RandomState> = HashMap::default();
        for (operator, receipt, result) in receipts {
            *counts
                .entry((operator, receipt.state(), result))
                .or_default() += 1;
        }
        for ((operator, state, result), count) in counts {
            let name = self.node.name_of(operator);
            let operator = target_of(&name);
            (self.node.metrics).receipts_of(operator, state, result, count);
        }
    }
}
