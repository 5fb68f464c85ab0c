//! Keeps the index within its memory limit, and ends messages that wait longer than the TTL of their
//! operator.

use std::sync::Arc;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};

use super::{Correlation, last_heard};
use crate::actors::context::NodeContext;
use crate::actors::receipts::{final_state, parts};
use crate::clock;
use crate::domain::period::HOUR_MS;
use crate::pb::{Final, MessageState};
use crate::store::{MessageStage, WriteBatch};

impl Correlation {
    pub(super) fn spill(&mut self, ctx: &mut Context<Self>) {
        let Some((hour, sorted)) = self.index.take_spill() else {
            return;
        };
        let count = sorted.len();
        let reply = self.node.store.spill_correlations(hour, sorted);
        ctx.spawn(
            reply
                .into_actor(self)
                .map(move |written, correlation, ctx| {
                    correlation.index.confirm_spill(written.is_ok(), count);
                    if written.is_ok() {
                        correlation.spill(ctx);
                    }
                }),
        );
    }

    /// Ends as UNKNOWN, or with the state that was heard last, all messages that have waited for their receipt longer than
    /// the operator's TTL.
    /// Drops parked receipts of that age, and spilled hours that are older than every operator's TTL.
    pub(super) fn sweep(&mut self, ctx: &mut Context<Self>) {
        let now = clock::now_ms();
        let node = Arc::clone(&self.node);
        let ttl = node.config().correlation.ttl.as_millis() as i64;
        let mut dropped = self.parked.drop_before(now - ttl);
        if !dropped.is_empty() {
            self.node
                .metrics
                .receipts_dropped
                .inc_by(dropped.len() as u64);
        }
        // Counted when they found no room.
        dropped.append(&mut self.beyond);
        let work = async move {
            drop_parked(&node, dropped).await;
            let plan = node.plan();
            let longest = plan.longest_correlation_ttl().as_millis() as i64;
            let _ = node
                .store
                .drop_correlations_before((now - longest) / HOUR_MS)
                .await;
            let store = Arc::clone(&node.store);
            let late = tokio::task::spawn_blocking(move || {
                let (mut late, mut divided) = (Vec::new(), Vec::new());
                let read = store.recover(None, &mut |active| {
                    if let MessageStage::Sent { at, ids } = &active.stage {
                        let operator = ids.last().map_or(0, |(operator, _)| *operator);
                        if operator == plan.divided && parts::is_due(*at) {
                            divided.push(active.id);
                        }
                        if plan.is_carrier(operator) {
                            // The message ends when its parts end.
                            return;
                        }
                        let ttl = plan.correlation_ttl(operator).as_millis() as i64;
                        if at + ttl <= now {
                            late.push((active.id, operator, active.attempts));
                        }
                    }
                });
                read.map(|()| (late, divided))
            });
            let (late, divided) = match late.await {
                Ok(Ok(found)) => found,
                Ok(Err(error)) => {
                    tracing::error!(%error, "sweep could not read the store");
                    return;
                }
                Err(_) => return,
            };
            for some in divided.chunks(1000) {
                parts::conclude(&node, some.to_vec()).await;
            }
            node.metrics.receipts_overdue.inc_by(late.len() as u64);
            for chunk in late.chunks(1000) {
                let mut finals: Vec<Final> = chunk
                    .iter()
                    .map(|(id, operator, attempts)| Final {
                        id: *id,
                        state: MessageState::Unknown.into(),
                        at: now,
                        operator: *operator,
                        attempts: *attempts,
                        ..Final::default()
                    })
                    .collect();
                last_heard::end_as_heard(&node, &mut finals).await;
                final_state::write(&node, WriteBatch::default(), finals).await;
            }
        };
        ctx.spawn(work.into_actor(self));
    }
}

/// Deletes parked receipts from the store.
pub(super) async fn drop_parked(node: &NodeContext, rows: Vec<u64>) {
    if rows.is_empty() {
        return;
    }
    let ticket = node.store.write(WriteBatch {
        unpark: rows,
        ..WriteBatch::default()
    });
    if let Err(error) = ticket.await {
        tracing::error!(%error, "parked receipts could not be dropped");
    }
}
