//! Receipts that come in several messages, over whichever binds of their operator.
//!
//! Each part is parked in the store and answered, as a receipt that matches nothing is; so it survives a restart, and people
//! see it if the rest never comes. The part that makes a receipt complete is not: it goes on as the whole receipt, with the
//! rows of the others, which are deleted when that is settled or parked itself. Parts that came to different nodes are put
//! together by the janitor, which reads what all have parked. Bounded by operator, by number and by time.

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use bytes::Bytes;

use super::gathered::ReceiptSoFar;
use super::{Correlation, ok};
use crate::actors::receipts::said;
use crate::clock;
use crate::pb::{OperatorReceipt, ReceiptBatch, ReceiptResult};
use crate::smpp::CommandStatus;
use crate::smpp::receipt::joined;
use crate::store::{ParkedRow, WriteBatch};

/// Parts that are found in the store are no older, in milliseconds: the janitor reads them every minute.
const FOUND_WITHIN_MS: i64 = 150_000;
/// No bind waits for the answer.
const NOBODY: u64 = u64::MAX;

impl Correlation {
    /// Takes the parts of receipts out of a batch, parks them, and puts in the receipts that are complete now.
    pub(super) fn gather(&mut self, batch: &mut ReceiptBatch, ctx: &mut Context<Self>) {
        let operator = batch.operator;
        let mut incomplete = Vec::new();
        let mut whole = Vec::new();
        for receipt in std::mem::take(&mut batch.receipts) {
            if receipt.part().is_none() {
                whole.push(receipt);
                continue;
            }
            match self.gathered.add(operator, &receipt, None) {
                Some(set) => whole.push(self.read(operator, set, &receipt)),
                None => incomplete.push(receipt),
            }
        }
        batch.receipts = whole;
        self.park_parts(operator, batch.session, incomplete, ctx);
    }

    fn read(
        &mut self,
        operator: u32,
        mut set: ReceiptSoFar,
        last: &OperatorReceipt,
    ) -> OperatorReceipt {
        set.parts.sort_by_key(|part| part.number);
        set.rows.sort_unstable();
        set.rows.dedup();
        let texts: Vec<Bytes> = set.parts.iter().map(|part| part.text.clone()).collect();
        let tlvs: Vec<Bytes> = set.parts.iter().map(|part| part.tlvs.clone()).collect();
        let plan = self.node.plan();
        let states = plan.receipt_states(operator);
        for row in &set.rows {
            self.parked.forget(*row);
        }
        let mut whole = OperatorReceipt {
            sequence: last.sequence,
            source: set.source,
            destination: set.destination,
            ..said::of(&joined(&texts, &tlvs), states)
        };
        whole.extras.get_or_insert_default().rows = set.rows;
        whole
    }

    fn park_parts(
        &mut self,
        operator: u32,
        session: u64,
        parts: Vec<OperatorReceipt>,
        ctx: &mut Context<Self>,
    ) {
        if parts.is_empty() {
            return;
        }
        let now = clock::now_ms();
        let mut rows = WriteBatch::default();
        let mut answers = Vec::with_capacity(parts.len());
        for receipt in parts {
            let Ok(id) = self.node.next_id(now) else {
                // The operator keeps it and repeats it.
                answers.push(refused(&receipt));
                continue;
            };
            answers.push(ok(&receipt));
            self.gathered.note_row(operator, &receipt, id);
            let row = ParkedRow {
                id,
                operator,
                operator_message_id: Bytes::new(),
                at: now,
                receipt: prost::Message::encode_to_vec(&receipt).into(),
            };
            let dropped = self.parked.add(id, now, operator, Vec::new(), receipt);
            rows.unpark.extend(dropped);
            rows.park.push(row);
        }
        let ticket = self.node.store.write(rows);
        ctx.spawn(ticket.into_actor(self).map(move |written, correlation, _| {
            correlation.answer_written([(session, answers)], written.is_ok());
        }));
    }

    /// Goes on with a part that was parked before this process started, or by another node. True if it is in a receipt that
    /// is complete now: that goes on at the next tick.
    pub(super) fn gather_again(&mut self, row: &ParkedRow, receipt: &OperatorReceipt) -> bool {
        let age = clock::now_ms().saturating_sub(row.at);
        if receipt.part().is_none() || self.parked.has(row.id) || age > FOUND_WITHIN_MS {
            return false;
        }
        let set = self.gathered.add(row.operator, receipt, Some(row.id));
        let whole = set.map(|set| self.read(row.operator, set, receipt));
        let is_complete = whole.is_some();
        self.complete
            .extend(whole.map(|whole| (row.operator, whole)));
        is_complete
    }

    /// Goes on with receipts whose parts were found in the store: nobody waits for an answer.
    pub(super) fn go_on(&mut self, ctx: &mut Context<Self>) {
        for (operator, receipt) in std::mem::take(&mut self.complete) {
            let batch = ReceiptBatch {
                operator,
                session: NOBODY,
                receipts: vec![receipt],
            };
            self.receipts(batch, ctx);
        }
    }
}

fn refused(receipt: &OperatorReceipt) -> ReceiptResult {
    ReceiptResult {
        status: CommandStatus::ESME_RX_T_APPN.0,
        ..ok(receipt)
    }
}
