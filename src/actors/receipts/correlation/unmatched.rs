//! Receipts that match nothing yet: looked up in the spilled hours, held briefly, parked durably, and
//! tried again.

use std::collections::HashMap;
use std::sync::Arc;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use tokio::time::Instant;

use super::addresses::fits;
use super::index::CorrelationKey;
use super::parked::{self, Late, Parked};
use super::sweep::drop_parked;
use super::{
    Correlation, EARLY, EarlyReceipt, FoundMessage, Match, UncorrelatedReceipt, earliest, is_final,
    ok,
};
use crate::clock;
use crate::domain::id;
use crate::domain::share::FairShares;
use crate::pb::{Message, OperatorReceipt, ReceiptResult};
use crate::smpp::CommandStatus;
use crate::store::{ParkedRow, WriteBatch};

/// All parked receipts are compared every this many rounds.
const RETRY_ALL: u32 = 60;
/// How long a parked receipt counts as new, in milliseconds.
const FRESH_MS: i64 = 60_000;
const RETRY_AT_ONCE: usize = 1000;
/// Most receipts that the janitor drops at once of those beyond `correlation.parked_max` on all nodes.
const DROPPED_AT_ONCE: usize = 100_000;

// === impl Match ===

impl Match {
    /// Of a receipt that came before the id of its message.
    pub(super) fn of_early(early: EarlyReceipt, id: u64, key: CorrelationKey) -> Self {
        Self {
            id,
            receipt: early.receipt,
            operator: early.operator,
            session: early.session,
            parked: 0,
            key: Some(key),
        }
    }

    /// Of a parked receipt, which was answered when it came.
    pub(super) fn of_parked(late: Late, id: u64, key: Option<CorrelationKey>) -> Self {
        Self {
            id,
            receipt: late.receipt,
            operator: late.operator,
            session: 0,
            parked: late.row,
            key,
        }
    }
}

impl Correlation {
    /// Looks receipts up in the spilled hours, then holds those that are still unknown.
    pub(super) fn look_further(
        &mut self,
        operator: u32,
        session: u64,
        unmatched: Vec<UncorrelatedReceipt>,
        ctx: &mut Context<Self>,
    ) {
        if self.index.spilled == 0 && !self.node.local_lease.is_shared() {
            let receipts = unmatched.into_iter().map(|one| one.receipt).collect();
            self.hold(operator, session, receipts, ctx);
            return;
        }
        let mut keys = Vec::new();
        let mut owners = Vec::new();
        for (at, one) in unmatched.iter().enumerate() {
            for (form, key) in self.keys(operator, &one.receipt.operator_message_id) {
                keys.push(key);
                owners.push((at, self.is_expected(operator, form)));
            }
        }
        let reply = self.node.store.find_correlations(keys, self.oldest());
        ctx.spawn(reply.into_actor(self).map(move |found, correlation, ctx| {
            let mut ids: Vec<Option<u64>> = vec![None; unmatched.len()];
            let mut are_several = vec![false; unmatched.len()];
            let mut are_expected = vec![false; unmatched.len()];
            for ((owner, is_expected), id) in owners.into_iter().zip(found.unwrap_or_default()) {
                are_expected[owner] |= id.is_some() && is_expected;
                are_several[owner] |= id.is_some() && ids[owner].is_some_and(|one| Some(one) != id);
                ids[owner] = ids[owner].or(id);
            }
            let mut unclear = Vec::new();
            let (mut matches, mut unknown, mut answered) = (Vec::new(), Vec::new(), Vec::new());
            let mut repeated = 0;
            let found = ids.into_iter().zip(are_several).zip(are_expected);
            for (UncorrelatedReceipt { receipt, known }, ((id, are_several), is_expected)) in
                unmatched.into_iter().zip(found)
            {
                match id {
                    // The others may be of the right one: its address decides.
                    _ if are_several && session != 0 => {
                        unclear.push(correlation.early_of(operator, session, receipt));
                    }
                    // No other message has this id.
                    found if known.is_some() && (found == known || found.is_none()) => {
                        repeated += u64::from(session != 0);
                        let known = known.unwrap_or_default();
                        answered.extend(correlation.or_wait(known, session, ok(&receipt)));
                    }
                    // Another form is looked at when its hold is over.
                    Some(_) if !is_expected => unknown.push(receipt),
                    Some(id) => matches.push(Match {
                        id,
                        receipt,
                        operator,
                        session,
                        parked: 0,
                        key: None,
                    }),
                    None => unknown.push(receipt),
                }
            }
            correlation.repeated(repeated);
            correlation.answer(session, answered);
            correlation.decide(unclear, ctx);
            if !matches.is_empty() {
                correlation.settle(matches, ctx);
            }
            if !unknown.is_empty() {
                correlation.hold(operator, session, unknown, ctx);
            }
        }));
    }

    /// The earliest acceptance (Unix ms) of a message whose receipt may still come: it may have waited
    /// for delivery for its whole validity.
    pub(super) fn oldest(&self) -> i64 {
        let longest = self.node.plan().longest_correlation_ttl() + self.node.config().validity.max;
        clock::now_ms().saturating_sub(i64::try_from(longest.as_millis()).unwrap_or(i64::MAX))
    }

    /// A receipt that may have come too early, and is waited with for so long.
    pub(super) fn early_of(
        &self,
        operator: u32,
        session: u64,
        receipt: OperatorReceipt,
    ) -> EarlyReceipt {
        EarlyReceipt {
            until: Instant::now() + self.node.config().correlation.early_hold,
            operator,
            session,
            receipt,
        }
    }

    pub(super) fn hold(
        &mut self,
        operator: u32,
        session: u64,
        receipts: Vec<OperatorReceipt>,
        ctx: &mut Context<Self>,
    ) {
        self.counters.early += receipts.len() as u64;
        self.node
            .metrics
            .receipts_early
            .inc_by(receipts.len() as u64);
        let mut shares = FairShares::default();
        for early in &self.early {
            shares.take(&early.operator, parked::octets(&early.receipt));
        }
        let mut beyond = Vec::new();
        for receipt in receipts {
            let has_room = shares.try_take(&operator, parked::octets(&receipt), EARLY);
            let early = self.early_of(operator, session, receipt);
            if has_room {
                self.early.push(early);
            } else {
                beyond.push(early);
            }
        }
        self.park(beyond, ctx);
    }

    /// New ids have come: some held receipts may match now.
    pub(super) fn retry_early(&mut self, ctx: &mut Context<Self>) {
        let early = std::mem::take(&mut self.early);
        let (rest, unclear) = self.try_again(early, ctx);
        self.early = rest;
        self.decide(unclear, ctx);
    }

    /// Settles receipts that match now; returns the others, and those that may match several messages.
    fn try_again(
        &mut self,
        receipts: Vec<EarlyReceipt>,
        ctx: &mut Context<Self>,
    ) -> (Vec<EarlyReceipt>, Vec<EarlyReceipt>) {
        let (mut matches, mut repeats) = (Vec::new(), Vec::new());
        let (mut rest, mut unclear) = (Vec::new(), Vec::new());
        for early in receipts {
            match self.find(early.operator, &early.receipt) {
                FoundMessage::Open(id, key) => matches.push(Match::of_early(early, id, key)),
                FoundMessage::Repeated(known) => repeats.push((known, early)),
                FoundMessage::Nothing => rest.push(early),
                FoundMessage::Unclear => unclear.push(early),
            }
        }
        if !matches.is_empty() {
            self.settle(matches, ctx);
        }
        for (known, early) in repeats {
            self.repeated(1);
            let answer = self.or_wait(known, early.session, ok(&early.receipt));
            self.answer(early.session, answer.into_iter().collect());
        }
        (rest, unclear)
    }

    /// Compares parked receipts with messages that other nodes have sent meanwhile: new receipts often,
    /// all of them from time to time and by the janitor only. Other nodes leave older receipts to the
    /// janitor, so that they neither show nor drop those that it has settled.
    pub(super) fn retry_parked(&mut self, ctx: &mut Context<Self>) {
        self.retries = self.retries.wrapping_add(1);
        let is_janitor = self.node.local_lease.is_janitor();
        if is_janitor && self.retries.is_multiple_of(RETRY_ALL) {
            return self.retry_all_parked(ctx);
        }
        let since = clock::now_ms() - FRESH_MS;
        if !is_janitor {
            self.parked.drop_before(since);
        }
        let rows = self.parked.since(since, RETRY_AT_ONCE);
        self.find_parked(rows, ctx);
    }

    /// Compares the parked receipts of all nodes, including those that no node has in memory any more,
    /// and drops those beyond the limit.
    fn retry_all_parked(&mut self, ctx: &mut Context<Self>) {
        let store = Arc::clone(&self.node.store);
        let most = self.node.config().correlation.parked_max;
        let limit = most.saturating_add(DROPPED_AT_ONCE);
        let read = tokio::task::spawn_blocking(move || store.parked(limit));
        ctx.spawn(read.into_actor(self).map(move |read, correlation, ctx| {
            let Ok(Ok(rows)) = read else { return };
            correlation.parked = Parked::new(&correlation.node.config().correlation);
            let rows = rows.into_iter();
            let beyond = rows
                .flat_map(|row| correlation.park_in_memory(row))
                .collect();
            let node = Arc::clone(&correlation.node);
            ctx.spawn(async move { drop_parked(&node, beyond).await }.into_actor(correlation));
            let rows = correlation.parked.since(0, usize::MAX);
            correlation.find_all_parked(rows, ctx);
        }));
    }

    /// Compares parked receipts with the store, a few at a time.
    pub(super) fn find_all_parked(&mut self, mut rows: Vec<Late>, ctx: &mut Context<Self>) {
        while !rows.is_empty() {
            let rest = rows.split_off(rows.len().min(RETRY_AT_ONCE));
            self.find_parked(std::mem::replace(&mut rows, rest), ctx);
        }
    }

    fn find_parked(&mut self, rows: Vec<Late>, ctx: &mut Context<Self>) {
        if rows.is_empty() {
            return;
        }
        let keys = rows.iter().flat_map(|late| late.keys.clone()).collect();
        let reply = self.node.store.find_correlations(keys, self.oldest());
        ctx.spawn(reply.into_actor(self).map(move |found, correlation, ctx| {
            let mut found = found.unwrap_or_default().into_iter();
            let (mut sure, mut unsure) = (Vec::new(), Vec::new());
            for late in rows {
                // The store gives one answer per key of this row.
                let answers = found.by_ref().take(late.keys.len());
                let ids: Vec<u64> = answers.flatten().collect();
                // A message is accepted no later than the time in its id, so these receipts came after
                // it.
                match ids.iter().find(|id| late.at >= id::millis(**id)) {
                    Some(id) if ids.iter().all(|other| other == id) => sure.push((late, *id)),
                    None if ids.is_empty() => {}
                    _ => unsure.push((late, ids)),
                }
            }
            correlation.settle_parked(sure, ctx);
            correlation.settle_unsure(unsure, ctx);
        }));
    }

    /// Ids may be ahead of the clock, so this compares with the times of acceptance in the messages. Of several messages
    /// the address in the receipt says which it is.
    fn settle_unsure(&mut self, unsure: Vec<(Late, Vec<u64>)>, ctx: &mut Context<Self>) {
        if unsure.is_empty() {
            return;
        }
        let ids = unsure.iter().flat_map(|(_, ids)| ids.clone()).collect();
        let reply = self.node.store.load(ids);
        ctx.spawn(reply.into_actor(self).map(|loaded, correlation, ctx| {
            let now = clock::now_ms();
            let mut loaded = loaded.unwrap_or_default().into_iter();
            let mut found = Vec::new();
            for (late, ids) in unsure {
                let mut ours: Vec<Message> = (loaded.by_ref().take(ids.len()).flatten())
                    .map(|stored| stored.message)
                    .filter(|message| late.at >= earliest(message.id, Some(message), now))
                    .collect();
                ours.dedup_by_key(|message| message.id);
                if ours.len() > 1 {
                    ours.retain(|message| fits(&late.receipt, message) == Some(true));
                }
                if let [message] = &ours[..] {
                    found.push((late, message.id));
                }
            }
            correlation.settle_parked(found, ctx);
        }));
    }

    fn settle_parked(&mut self, found: Vec<(Late, u64)>, ctx: &mut Context<Self>) {
        let mut matches = Vec::new();
        for (late, id) in found {
            if self.parked.forget(late.row) {
                matches.push(Match::of_parked(late, id, None));
            }
        }
        if !matches.is_empty() {
            self.settle(matches, ctx);
        }
    }

    /// Makes unmatched receipts durable, then answers them. Intermediate states are not kept: the next
    /// state replaces them.
    pub(super) fn keep(&mut self, receipts: Vec<EarlyReceipt>, ctx: &mut Context<Self>) {
        // During the look-up they were in no list, so the answer may have come meanwhile.
        let (mut receipts, unclear) = self.try_again(receipts, ctx);
        receipts.extend(unclear);
        let came = receipts
            .iter()
            .map(|early| (early.operator, &early.receipt, "unmatched"));
        self.count_by_operator(came);
        for early in receipts.extract_if(.., |early| !is_final(early.receipt.state())) {
            self.node.metrics.notifications_dropped.inc();
            self.answer(early.session, vec![ok(&early.receipt)]);
        }
        if receipts.is_empty() {
            return;
        }
        let now = clock::now_ms();
        self.counters.unmatched += receipts.len() as u64;
        self.node
            .metrics
            .receipts_unmatched
            .inc_by(receipts.len() as u64);
        let mut rows = WriteBatch::default();
        let mut answers: HashMap<u64, Vec<ReceiptResult>> = HashMap::new();
        for mut early in receipts {
            let answer = answers.entry(early.session).or_default();
            let Ok(id) = self.node.next_id(now) else {
                // The operator keeps it and repeats it.
                answer.push(ReceiptResult {
                    status: CommandStatus::ESME_RX_T_APPN.0,
                    ..ok(&early.receipt)
                });
                continue;
            };
            answer.push(ok(&early.receipt));
            if let Some(extras) = &mut early.receipt.extras {
                rows.unpark.append(&mut extras.rows);
            }
            let row = ParkedRow {
                id,
                operator: early.operator,
                operator_message_id: early.receipt.operator_message_id.clone(),
                at: now,
                receipt: prost::Message::encode_to_vec(&early.receipt).into(),
            };
            rows.unpark.extend(self.park_in_memory(row.clone()));
            rows.park.push(row);
        }
        let ticket = self.node.store.write(rows);
        ctx.spawn(ticket.into_actor(self).map(|written, correlation, _| {
            correlation.answer_written(answers, written.is_ok());
        }));
    }

    /// Indexes a parked receipt; returns the rows that were dropped for it.
    pub(super) fn park_in_memory(&mut self, row: ParkedRow) -> Vec<u64> {
        let receipt = match <OperatorReceipt as prost::Message>::decode(row.receipt.clone()) {
            Ok(receipt) => receipt,
            Err(error) => {
                tracing::error!(%error, row = row.id, "a parked receipt cannot be read");
                self.node.metrics.receipts_dropped.inc();
                return vec![row.id];
            }
        };
        if self.gather_again(&row, &receipt) {
            return Vec::new();
        }
        let keys = self.parked_keys(row.operator, &row.operator_message_id, &receipt);
        let dropped = self.parked.add(row.id, row.at, row.operator, keys, receipt);
        let count = dropped.len() as u64;
        self.node.metrics.receipts_dropped.inc_by(count);
        dropped
    }
}
