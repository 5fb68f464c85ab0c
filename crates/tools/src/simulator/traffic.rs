//! The messages of one bind: the answers to submits, and the schedule of deliveries.
//!
//! Owned by a connection, which hands in decoded messages and answers and gives the buffer to write
//! to. One table of deadlines holds delayed answers and delayed receipts; nothing here waits, reads
//! a clock or touches a socket. Invariant: every accepted message is in the journal, and its receipt
//! is in exactly one place (table, ready, window, hub) until it is acknowledged or given up.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use bytes::BytesMut;

use super::SimulatorShared;
use super::counters::add;
use super::delivery::{DeliveryKind, Encoder, PduAddress, SimulatedDelivery, SimulatedReceipt};
use super::in_flight::RequestWindow;
use super::journal::push_escaped;
use super::options::Moods;
use crate::table::TimedTable;
use smsc_domain::state;
use smsc_smpp::{Body, CommandStatus, DeliverSmResp, Pdu, SubmitSm, encode_submit_sm_resp, tag};

/// How much later than an early receipt its answer follows, at least.
const EARLY_ANSWER: Duration = Duration::from_millis(50);
/// Pause before a refused delivery is tried again.
const REFUSED_PAUSE: Duration = Duration::from_secs(1);
/// Refusals after which a delivery is given up.
const REFUSALS_MAX: u8 = 100;
/// Octets of the text that the journal shows.
const TEXT_IN_JOURNAL: usize = 40;
/// registered_delivery: the bits that ask for a receipt (§5.2.17).
const RECEIPT_BITS: u8 = 0b11;
/// registered_delivery: a receipt only of a failure.
const RECEIPT_ON_FAILURE: u8 = 0b10;
/// The states that failed messages get in turn.
const FAILURES: [u8; 5] = [
    state::UNDELIVERABLE,
    state::EXPIRED,
    state::REJECTED,
    state::DELETED,
    state::UNKNOWN,
];

/// Which operation brought a message, and so which answer it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubmitOperation {
    SubmitSm,
    DeliverSm,
}

/// The moment a batch of PDUs is handled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now {
    pub instant: Instant,
    pub unix_ms: i64,
}

/// State of one bind's messages.
#[derive(Debug)]
pub(super) struct Traffic {
    shared: Arc<SimulatorShared>,
    moods: Moods,
    received: u64,
    table: TimedTable<TrafficItem>,
    ready: VecDeque<SimulatedDelivery>,
    in_flight: RequestWindow<SimulatedDelivery>,
    encoder: Encoder,
    journal_lines: Vec<u8>,
    scratch: BytesMut,
}

#[derive(Debug)]
struct PendingAnswer {
    operation: SubmitOperation,
    sequence: u32,
    status: CommandStatus,
    id: u64,
}

#[derive(Debug)]
enum TrafficItem {
    Answer(PendingAnswer),
    Delivery(Box<SimulatedDelivery>),
}

// === impl Traffic ===

impl Traffic {
    pub(super) fn new(shared: Arc<SimulatorShared>) -> Self {
        let options = &shared.options;
        Self {
            moods: Moods::new(options),
            received: 0,
            table: TimedTable::default(),
            ready: VecDeque::new(),
            in_flight: RequestWindow::new(options.window),
            encoder: Encoder::new(options.message_id_form.receipt, options.receipt_tlvs),
            journal_lines: Vec::new(),
            scratch: BytesMut::new(),
            shared,
        }
    }

    /// Takes one message: answers it now or later, and plans its receipt. `false` when the
    /// connection has brought as many as it may.
    pub(super) fn on_message(
        &mut self,
        now: Now,
        operation: SubmitOperation,
        sequence: u32,
        message: &SubmitSm,
        out: &mut BytesMut,
    ) -> bool {
        let shared = self.shared.clone();
        let counters = &shared.counters;
        self.received += 1;
        add(&counters.submits, 1);
        let within = shared
            .options
            .cut_after
            .is_none_or(|limit| self.received < limit);
        let is_over_limit = || shared.is_over_limit(now.instant);
        let Some(status) = self.moods.answer(&shared.options, is_over_limit) else {
            add(&counters.unanswered, 1);
            return within;
        };
        let mut answer = PendingAnswer {
            operation,
            sequence,
            status,
            id: 0,
        };
        if !status.is_ok() {
            let throttled = status == CommandStatus::ESME_RTHROTTLED;
            let counter = if throttled {
                &counters.throttled
            } else {
                &counters.rejected
            };
            add(counter, 1);
            self.answer(now, answer, out);
            return within;
        }
        add(&counters.accepted, 1);
        answer.id = shared.next_id.fetch_add(1, Relaxed);
        let id = answer.id;
        self.write_journal(now, id, message);
        let answered_at = self.answer(now, answer, out);
        self.plan_receipt(now, id, message, answered_at);
        within
    }

    /// The answer to a deliver_sm of ours.
    pub(super) fn on_delivery_answer(&mut self, now: Now, sequence: u32, status: CommandStatus) {
        let Some(mut delivery) = self.in_flight.take(sequence) else {
            return;
        };
        let counters = &self.shared.counters;
        let is_receipt = matches!(delivery.kind, DeliveryKind::Receipt(_));
        let counter = match (is_receipt, status.is_ok()) {
            (true, true) => &counters.receipts_acknowledged,
            (true, false) => &counters.receipts_refused,
            (false, true) => &counters.mo_acknowledged,
            (false, false) => &counters.mo_refused,
        };
        add(counter, 1);
        if status.is_ok() {
            return;
        }
        delivery.refusals += 1;
        if delivery.refusals >= REFUSALS_MAX {
            add(&counters.receipts_dropped, 1);
            return;
        }
        delivery.due = now.instant + REFUSED_PAUSE;
        self.table
            .enter(delivery.due, TrafficItem::Delivery(Box::new(delivery)));
    }

    /// Takes deliveries that others made for this bind.
    pub(super) fn adopt(&mut self, now: Now, deliveries: Vec<SimulatedDelivery>) {
        for delivery in deliveries {
            self.schedule(now, delivery);
        }
    }

    /// Writes every answer that is due, and moves receipts that are due to those that may go.
    pub(super) fn on_tick(&mut self, now: Now, out: &mut BytesMut) {
        while let Some(item) = self.table.pop_due(now.instant) {
            match item {
                TrafficItem::Answer(answer) => self.write_answer(&answer, out),
                TrafficItem::Delivery(delivery) => self.ready.push_back(*delivery),
            }
        }
    }

    /// Writes as many deliveries as the window takes.
    pub(super) fn deliver(&mut self, now: Now, out: &mut BytesMut) {
        let (mut receipts, mut others) = (0, 0);
        while self.in_flight.room() > 0 {
            let Some(delivery) = self.ready.pop_front() else {
                break;
            };
            match delivery.kind {
                DeliveryKind::Receipt(_) => receipts += 1,
                DeliveryKind::Mo(_) => others += 1,
            }
            let Ok(sequence) = self.in_flight.insert(delivery) else {
                break;
            };
            if let Some(delivery) = self.in_flight.get(sequence) {
                let kind = &delivery.kind;
                self.encoder.encode(out, sequence, kind, now.unix_ms);
            }
        }
        add(&self.shared.counters.receipts_sent, receipts);
        add(&self.shared.counters.mo_sent, others);
    }

    /// When the table next needs [`Self::on_tick`].
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.table.next_due()
    }

    /// Deliveries for a bind that cannot take them: they go elsewhere with the time they are due.
    pub(super) fn take_deliveries(&mut self) -> Vec<SimulatedDelivery> {
        let mut deliveries: Vec<SimulatedDelivery> = self.ready.drain(..).collect();
        if !self.in_flight.is_empty() {
            deliveries.extend(self.in_flight.drain());
        }
        let planned = self
            .table
            .extract(|item| matches!(item, TrafficItem::Delivery(_)));
        deliveries.extend(planned.into_iter().filter_map(|item| match item {
            TrafficItem::Delivery(delivery) => Some(*delivery),
            TrafficItem::Answer(_) => None,
        }));
        deliveries
    }

    /// Answers that will never be written because the connection has ended.
    pub(super) fn answers_waiting(&self) -> usize {
        let is_answer = |item: &&TrafficItem| matches!(item, TrafficItem::Answer(_));
        self.table.items().filter(is_answer).count()
    }

    /// Hands the lines of this batch to the journal.
    pub(super) fn flush_journal(&mut self) {
        if let Some(journal) = &self.shared.journal {
            journal.append(&mut self.journal_lines);
        }
    }

    /// Writes the answer now or enters it into the table; returns when it goes out.
    fn answer(&mut self, now: Now, answer: PendingAnswer, out: &mut BytesMut) -> Instant {
        let options = &self.shared.options;
        let mut delay = options.latency.draw();
        if options.early_receipts && answer.status.is_ok() {
            delay = delay.max(EARLY_ANSWER);
        }
        if delay.is_zero() {
            self.write_answer(&answer, out);
            return now.instant;
        }
        let due = now.instant + delay;
        self.table.enter(due, TrafficItem::Answer(answer));
        due
    }

    fn write_answer(&mut self, answer: &PendingAnswer, out: &mut BytesMut) {
        self.scratch.clear();
        if answer.status.is_ok() {
            let notation = self.shared.options.message_id_form.answer;
            notation.write(&mut self.scratch, answer.id);
        }
        match answer.operation {
            SubmitOperation::SubmitSm => {
                encode_submit_sm_resp(out, answer.sequence, answer.status, &self.scratch);
            }
            SubmitOperation::DeliverSm => {
                let body = DeliverSmResp {
                    message_id: self.scratch.clone().freeze(),
                    ..DeliverSmResp::default()
                };
                let body = Body::DeliverSmResp(body);
                Pdu::response(answer.status, answer.sequence, body).encode(out);
            }
        }
    }

    fn plan_receipt(&mut self, now: Now, id: u64, message: &SubmitSm, answered_at: Instant) {
        let options = &self.shared.options;
        let wanted = message.registered_delivery & RECEIPT_BITS;
        if wanted == 0 {
            return;
        }
        let Some(state) = self.moods.receipt(options, state::DELIVERED, FAILURES) else {
            return;
        };
        if wanted == RECEIPT_ON_FAILURE && state == state::DELIVERED {
            return;
        }
        let due = if options.early_receipts {
            now.instant
        } else {
            answered_at + options.receipt_delay.draw()
        };
        let copies = if options.duplicate_receipts { 2 } else { 1 };
        let reference = message.tlvs.get_uint(tag::USER_MESSAGE_REFERENCE);
        let receipt = SimulatedReceipt {
            id,
            state,
            submitted_ms: now.unix_ms,
            sender: PduAddress {
                ton: message.source_addr_ton,
                npi: message.source_addr_npi,
                digits: message.source_addr.clone(),
            },
            recipient: PduAddress {
                ton: message.dest_addr_ton,
                npi: message.dest_addr_npi,
                digits: message.destination_addr.clone(),
            },
            text: message.payload(),
            user_message_reference: reference.map(|number| number as u16),
        };
        let delivery = SimulatedDelivery {
            due,
            refusals: 0,
            kind: DeliveryKind::Receipt(receipt),
        };
        for _ in 1..copies {
            self.schedule(now, delivery.clone());
        }
        self.schedule(now, delivery);
    }

    fn schedule(&mut self, now: Now, delivery: SimulatedDelivery) {
        if delivery.due <= now.instant {
            self.ready.push_back(delivery);
        } else {
            self.table
                .enter(delivery.due, TrafficItem::Delivery(Box::new(delivery)));
        }
    }

    /// `operator's id, destination, start of the text, Unix ms, user_message_reference or -`.
    fn write_journal(&mut self, now: Now, id: u64, message: &SubmitSm) {
        if self.shared.journal.is_none() {
            return;
        }
        let line = &mut self.journal_lines;
        self.scratch.clear();
        let notation = self.shared.options.message_id_form.answer;
        notation.write(&mut self.scratch, id);
        line.extend_from_slice(&self.scratch);
        line.push(b'\t');
        push_escaped(line, &message.destination_addr);
        line.push(b'\t');
        let text = message.payload();
        push_escaped(line, &text[..text.len().min(TEXT_IN_JOURNAL)]);
        line.push(b'\t');
        line.extend_from_slice(now.unix_ms.to_string().as_bytes());
        line.push(b'\t');
        match message.tlvs.get_uint(tag::USER_MESSAGE_REFERENCE) {
            Some(reference) => line.extend_from_slice(reference.to_string().as_bytes()),
            None => line.push(b'-'),
        }
        line.push(b'\n');
    }
}
