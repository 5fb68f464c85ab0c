//! The ledger of a run: every message from its submit to its receipt, to detect loss.
//!
//! One for all binds, since a receipt may come on another bind than its message went; each bind
//! takes the lock once per batch of PDUs. Pure: instants come in as microseconds since the start.
//!
//! Invariants: each message that was sent is in exactly one of *outstanding*, *to be sent again*,
//! refused, unanswered, accepted; each accepted one is *pending* until its receipt. An entry is
//! removed when its receipt arrives; one bit per id stays, which distinguishes a duplicate receipt
//! from one with an unknown id.

use std::collections::HashMap;

use super::counts::LoadCounts;
use super::journal_lines::JournalLines;
use super::meter::Meter;
use super::plan::{LoadPlan, PendingSubmission};
use super::reference::{IdKeys, IdSet, RunTag};
use smsc_smpp::receipt;
use smsc_smpp::{CommandStatus, DeliverSm, tag};

/// Receipts with ids we do not know that are remembered until their answer comes.
const EARLY_MAX: usize = 1_000_000;
/// Ids of missing receipts that are shown.
const EXAMPLES: usize = 10;

/// The books.
#[derive(Debug)]
pub struct LoadLedger {
    /// What is sent when.
    pub plan: LoadPlan,
    /// Latencies and throughput.
    pub meter: Meter,
    /// Totals.
    pub counts: LoadCounts,
    /// Lines for the journal.
    pub lines: JournalLines,
    tag: RunTag,
    wants_receipts: bool,
    keys: IdKeys,
    pending: HashMap<u64, AwaitedReceipt, ahash::RandomState>,
    early: HashMap<u64, UnclaimedReceipt, ahash::RandomState>,
    done: IdSet,
    /// Messages that may have been accepted although no answer arrived: receipts with unknown ids
    /// belong to them.
    doubtful: IdSet,
    /// When anything last happened.
    last_event_us: u64,
}

/// An accepted message without a receipt.
#[derive(Debug, Clone, Copy)]
struct AwaitedReceipt {
    index: u64,
    intended_us: u64,
}

/// A receipt without an accepted message.
#[derive(Debug, Clone, Copy)]
struct UnclaimedReceipt {
    /// Our message, when the receipt repeats its text.
    index: Option<u64>,
    at_us: u64,
    state: u8,
}

// === impl LoadLedger ===

impl LoadLedger {
    /// Empty books for a run.
    pub fn new(tag: RunTag, plan: LoadPlan, wants_receipts: bool, lines: JournalLines) -> Self {
        Self {
            plan,
            meter: Meter::default(),
            counts: LoadCounts::default(),
            lines,
            tag,
            wants_receipts,
            keys: IdKeys::default(),
            pending: HashMap::default(),
            early: HashMap::default(),
            done: IdSet::default(),
            doubtful: IdSet::default(),
            last_event_us: 0,
        }
    }

    /// The next message to send, if one is due.
    pub fn take(&mut self, now_us: u64) -> Option<PendingSubmission> {
        let submission = self.plan.take(now_us)?;
        self.counts.outstanding += 1;
        self.counts.resubmitted += u64::from(submission.again);
        self.last_event_us = now_us;
        Some(submission)
    }

    /// The answer to a submit.
    pub fn on_answer(
        &mut self,
        now_us: u64,
        submission: &PendingSubmission,
        status: CommandStatus,
        message_id: &[u8],
    ) {
        self.counts.outstanding -= 1;
        self.last_event_us = now_us;
        if !status.is_ok() {
            *self.counts.refused.entry(status.0).or_default() += 1;
            self.lines.refused(submission.index, status);
            return;
        }
        let latency_us = now_us - submission.intended_us.min(now_us);
        self.counts.accepted += 1;
        self.meter.on_answer(now_us, latency_us);
        self.lines.accepted(submission.index, message_id);
        if !self.wants_receipts {
            return;
        }
        let key = self.keys.key(message_id);
        if let Some(early) = self.early.remove(&key) {
            self.done.insert(key);
            self.counts.early += 1;
            let waited = early.at_us.saturating_sub(submission.intended_us);
            return self.on_match(early.at_us, waited, early.state);
        }
        let pending = AwaitedReceipt {
            index: submission.index,
            intended_us: submission.intended_us,
        };
        let replaced = self.pending.insert(key, pending).is_some();
        if replaced || self.done.contains(key) {
            self.counts.ids_given_twice += 1;
        }
    }

    /// The connection broke before these were answered.
    pub fn on_lost(&mut self, submissions: Vec<PendingSubmission>, resubmit: bool) {
        self.counts.disconnects += 1;
        for submission in submissions {
            self.counts.outstanding -= 1;
            self.doubtful.insert(submission.index);
            if resubmit {
                self.plan.send_again(submission);
            } else {
                self.counts.unanswered += 1;
            }
        }
    }

    /// These were never answered, and the wait is over.
    pub fn on_unanswered(&mut self, submissions: Vec<PendingSubmission>) {
        for submission in submissions {
            self.counts.outstanding -= 1;
            self.counts.unanswered += 1;
            self.doubtful.insert(submission.index);
        }
    }

    /// Something was delivered to us.
    pub fn on_deliver(&mut self, now_us: u64, deliver_sm: &DeliverSm) {
        self.last_event_us = now_us;
        if !receipt::is_receipt(deliver_sm) {
            self.counts.mobile_originated += 1;
            return;
        }
        let tlvs = &deliver_sm.tlvs;
        let quick = tlvs
            .get_c_string(tag::RECEIPTED_MESSAGE_ID)
            .zip(tlvs.get_uint(tag::MESSAGE_STATE));
        let (id, state, intermediate) = match quick {
            Some((id, state)) => (id, state as u8, is_intermediate(deliver_sm, state as u8)),
            None => match receipt::extract(deliver_sm, 0) {
                Some(read) => (read.message_id, read.state, read.intermediate),
                None => {
                    self.counts.unreadable += 1;
                    return;
                }
            },
        };
        if intermediate {
            self.counts.intermediate += 1;
            return;
        }
        self.lines.receipt(&id, state);
        let key = self.keys.key(&id);
        if let Some(pending) = self.pending.remove(&key) {
            self.done.insert(key);
            let latency_us = now_us - pending.intended_us.min(now_us);
            self.on_match(now_us, latency_us, state);
        } else if self.done.contains(key) || self.early.contains_key(&key) {
            self.counts.duplicated += 1;
        } else if self.early.len() < EARLY_MAX {
            let early = UnclaimedReceipt {
                index: self.index_in(deliver_sm),
                at_us: now_us,
                state,
            };
            self.early.insert(key, early);
        } else {
            self.counts.unknown += 1;
        }
    }

    /// Counts what is left over: call once, when the run has ended.
    pub fn close(&mut self) {
        self.counts.unanswered += self.plan.abandon();
        for early in std::mem::take(&mut self.early).into_values() {
            if early
                .index
                .is_some_and(|index| self.doubtful.contains(index))
            {
                self.counts.for_lost_answers += 1;
            } else {
                self.counts.unknown += 1;
            }
        }
    }

    /// Accepted messages without a receipt.
    pub fn missing(&self) -> u64 {
        self.pending.len() as u64
    }

    /// References of some messages without a receipt, the oldest first.
    pub fn missing_examples(&self) -> Vec<String> {
        let mut indexes: Vec<u64> = self.pending.values().map(|entry| entry.index).collect();
        indexes.sort_unstable();
        indexes.truncate(EXAMPLES);
        let tag = self.tag.as_str();
        indexes
            .into_iter()
            .map(|index| format!("{tag}-{index:010}"))
            .collect()
    }

    /// Whether everything was sent, answered and reported.
    pub fn is_settled(&self, now_us: u64) -> bool {
        self.plan.is_empty(now_us) && self.counts.outstanding == 0 && self.pending.is_empty()
    }

    /// Microseconds in which nothing happened.
    pub fn quiet_us(&self, now_us: u64) -> u64 {
        now_us.saturating_sub(self.last_event_us)
    }

    fn on_match(&mut self, at_us: u64, latency_us: u64, state: u8) {
        *self.counts.receipts.entry(state).or_default() += 1;
        self.meter.on_receipt(at_us, latency_us);
    }

    /// Which message of ours a receipt repeats the text of.
    fn index_in(&self, deliver_sm: &DeliverSm) -> Option<u64> {
        let text = receipt::parse(&deliver_sm.payload())?.text;
        self.tag.read(&text)
    }
}

/// SCHEDULED and ENROUTE are not the end, nor is what calls itself a notification.
fn is_intermediate(deliver_sm: &DeliverSm, state: u8) -> bool {
    const NOTIFICATION: u8 = 0x20;
    deliver_sm.esm_class & NOTIFICATION != 0 || state <= receipt::ENROUTE
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bytes::{Bytes, BytesMut};

    use super::*;
    use smsc_smpp::Tlvs;

    const TAG_DONE: &str = "stat:DELIVRD err:000 text:";

    fn ledger(count: u64) -> LoadLedger {
        let plan = LoadPlan::new(None, Some(count), None);
        LoadLedger::new(RunTag::random(), plan, true, JournalLines::disabled())
    }

    fn with_tlvs(id: &str, state: u8) -> DeliverSm {
        let mut tlvs = Tlvs::new();
        tlvs.push(tag::RECEIPTED_MESSAGE_ID, format!("{id}\0").as_bytes());
        tlvs.push(tag::MESSAGE_STATE, &[state]);
        DeliverSm {
            esm_class: 4,
            tlvs,
            ..DeliverSm::default()
        }
    }

    fn text_only(id: &str, repeated: &[u8]) -> DeliverSm {
        let mut text = BytesMut::from(format!("id:{id} sub:001 dlvrd:001 {TAG_DONE}").as_bytes());
        text.extend_from_slice(repeated);
        DeliverSm {
            esm_class: 4,
            short_message: text.freeze(),
            ..DeliverSm::default()
        }
    }

    const OK: CommandStatus = CommandStatus::ESME_ROK;

    #[test]
    fn every_accepted_message_waits_for_one_receipt() {
        let mut ledger = ledger(3);
        let sent: Vec<PendingSubmission> = std::iter::from_fn(|| ledger.take(10)).collect();
        ledger.on_answer(1_010, &sent[0], OK, b"100");
        ledger.on_answer(1_010, &sent[1], OK, b"beef");
        ledger.on_answer(1_010, &sent[2], CommandStatus::ESME_RTHROTTLED, b"");
        assert!(!ledger.is_settled(2_000));
        ledger.on_deliver(5_010, &with_tlvs("100", 2));
        ledger.on_deliver(5_020, &with_tlvs("100", 2));
        assert_eq!((ledger.missing(), ledger.missing_examples().len()), (1, 1));
        assert!(ledger.missing_examples()[0].ends_with("-0000000001"));
        ledger.on_deliver(6_000, &text_only("beef", b""));
        ledger.on_deliver(6_000, &with_tlvs("beef", 1));
        assert!(ledger.is_settled(6_000));
        ledger.close();
        let counts = &ledger.counts;
        assert_eq!(
            (counts.accepted, counts.throttled(), counts.outstanding),
            (2, 1, 0)
        );
        assert_eq!(counts.receipts, BTreeMap::from([(2, 2)]));
        assert_eq!(
            (counts.duplicated, counts.unknown, counts.intermediate),
            (1, 0, 1)
        );
        assert_eq!(ledger.meter.receipt.len(), 2);
        assert!((ledger.meter.answer.percentile_ms(50.0) - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_receipt_before_its_answer_matches_when_the_answer_comes() {
        let mut ledger = ledger(1);
        let sent = ledger.take(0).unwrap();
        ledger.on_deliver(3_000, &with_tlvs("7", 2));
        ledger.on_deliver(3_000, &with_tlvs("7", 2));
        ledger.on_answer(9_000, &sent, OK, b"7");
        ledger.on_deliver(9_500, &with_tlvs("7", 2));
        assert!(ledger.is_settled(9_500));
        ledger.close();
        assert_eq!((ledger.counts.early, ledger.counts.duplicated), (1, 2));
        assert!((ledger.meter.receipt.max_ms() - 3.0).abs() < 0.01);
    }

    #[test]
    fn a_lost_answer_explains_a_receipt_with_an_unknown_id() {
        let mut ledger = ledger(1);
        let sent = ledger.take(0).unwrap();
        ledger.on_lost(vec![sent], true);
        let again = ledger.take(1_000).unwrap();
        assert!(again.again && ledger.counts.resubmitted == 1);
        ledger.on_answer(2_000, &again, OK, b"2");
        ledger.on_deliver(3_000, &with_tlvs("2", 2));
        let mut repeated = BytesMut::new();
        ledger.tag.write(&mut repeated, 0);
        ledger.on_deliver(3_000, &text_only("1", &repeated));
        ledger.on_deliver(3_000, &text_only("999", b"not ours"));
        ledger.close();
        let counts = &ledger.counts;
        assert_eq!((counts.for_lost_answers, counts.unknown), (1, 1));
        assert_eq!(
            (counts.accepted, counts.unanswered, ledger.missing()),
            (1, 0, 0)
        );
    }

    #[test]
    fn what_is_no_receipt_and_what_repeats_an_id_is_counted() {
        let mut ledger = ledger(2);
        let sent: Vec<PendingSubmission> = std::iter::from_fn(|| ledger.take(0)).collect();
        ledger.on_answer(1, &sent[0], OK, b"5");
        ledger.on_answer(1, &sent[1], OK, b"5");
        ledger.on_deliver(
            2,
            &DeliverSm {
                short_message: Bytes::from_static(b"hello"),
                ..DeliverSm::default()
            },
        );
        ledger.on_lost(Vec::new(), false);
        let counts = &ledger.counts;
        assert_eq!((counts.ids_given_twice, counts.mobile_originated), (1, 1));
        assert_eq!(counts.disconnects, 1);
    }
}
