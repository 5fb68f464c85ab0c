//! One bind of a load run: submits what is due, answers deliveries, reconnects when disconnected.
//!
//! Run by [`super::run`], one task each. A turn handles everything that one read brought and fills
//! the window, under one lock of the ledger, and writes once. Invariant: everything in the window
//! when the connection ends goes to the ledger, to be sent again or counted.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{sleep, timeout};

use super::bind::{BindError, BindTarget, LoadBindRole, connect, farewell};
use super::ledger::LoadLedger;
use super::plan::{PendingSubmission, sharers};
use super::reference::REFERENCE;
use super::{LoadPhase, LoadShared};
use crate::simulator::in_flight::RequestWindow;
use crate::simulator::wire::SimulatorWire;
use smsc_host::clock;
use smsc_smpp::codec::{Decoded, decode};
use smsc_smpp::{
    Body, CommandId, CommandStatus, Leniency, SubmitSm, encode_deliver_sm_resp, encode_empty_resp,
    encode_generic_nack, encode_submit_sm, tag,
};

/// First and longest pause before a lost connection is tried again.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// How long the SMSC may take to answer our unbind.
const FAREWELL: Duration = Duration::from_secs(1);
/// sequence_number of our unbind: outside the numbers of submits.
const UNBIND_SEQUENCE: u32 = 0x7FFF_FFFF;
/// Fills texts up to their length.
const FILLER: &[u8] = b" the quick brown fox jumps over the lazy dog";
/// Room for the texts of some hundred messages.
const SCRATCH: usize = 16 * 1024;
/// TON and NPI of an international E.164 number.
const INTERNATIONAL: (u8, u8) = (1, 1);

/// A bind and what it needs to build messages.
pub(super) struct Esme {
    shared: Arc<LoadShared>,
    role: LoadBindRole,
    target: BindTarget,
    /// Woken when messages are due.
    wake: Arc<Notify>,
    in_flight: RequestWindow<PendingSubmission>,
    message: SubmitSm,
    filler: Bytes,
    scratch: BytesMut,
    leniency: Leniency,
}

/// Why a connection is over.
#[derive(PartialEq, Eq)]
enum DisconnectReason {
    Broken,
    Finished,
}

// === impl Esme ===

impl Esme {
    pub(super) fn new(
        shared: Arc<LoadShared>,
        number: usize,
        role: LoadBindRole,
        wake: Arc<Notify>,
    ) -> Self {
        let options = &shared.options;
        let filler = FILLER.iter().copied().cycle();
        Self {
            role,
            target: BindTarget {
                to: options.to_of(number),
                system_id: options.system_id_of(number),
                password: options.password.clone(),
            },
            wake,
            in_flight: RequestWindow::new(options.window),
            message: SubmitSm {
                source_addr: Bytes::copy_from_slice(options.source.as_bytes()),
                dest_addr_ton: INTERNATIONAL.0,
                dest_addr_npi: INTERNATIONAL.1,
                registered_delivery: u8::from(options.receipts),
                ..SubmitSm::default()
            },
            filler: filler
                .take(options.length.saturating_sub(REFERENCE))
                .collect(),
            scratch: BytesMut::new(),
            leniency: Leniency::default(),
            shared,
        }
    }

    /// Binds, reports the outcome, waits for the start, and works until the run is finished.
    pub(super) async fn run(
        mut self,
        bound: mpsc::Sender<Result<(), BindError>>,
        mut phase: watch::Receiver<LoadPhase>,
    ) {
        let mut wire = match connect(&self.target, self.role).await {
            Ok(wire) => wire,
            Err(error) => {
                // The receiver is gone when another bind failed first.
                let _ = bound.send(Err(error)).await;
                return;
            }
        };
        if bound.send(Ok(())).await.is_err() {
            return;
        }
        drop(bound);
        if phase
            .wait_for(|phase| *phase != LoadPhase::Starting)
            .await
            .is_err()
        {
            return;
        }
        loop {
            let end = self.work(&mut wire, &mut phase).await;
            let unanswered = self.in_flight.drain();
            if end == DisconnectReason::Finished {
                self.ledger().on_unanswered(unanswered);
                // The run is over: the result of the unbind does not matter.
                let _ = timeout(FAREWELL, farewell(&mut wire, UNBIND_SEQUENCE)).await;
                return;
            }
            let resubmit = self.shared.options.resubmit;
            self.ledger().on_lost(unanswered, resubmit);
            wire = match self.reconnect(&mut phase).await {
                Some(wire) => wire,
                None => return,
            };
        }
    }

    async fn work(
        &mut self,
        wire: &mut SimulatorWire,
        phase: &mut watch::Receiver<LoadPhase>,
    ) -> DisconnectReason {
        let mut quota = u64::MAX;
        loop {
            if !self.turn(wire, quota) {
                // Our last answers may still get out; the connection is given up either way.
                let _ = wire.flush();
                return DisconnectReason::Broken;
            }
            tokio::select! {
                received = wire.receive() => {
                    if !received.unwrap_or(false) {
                        return DisconnectReason::Broken;
                    }
                    quota = u64::MAX;
                }
                () = self.wake.notified() => quota = self.share_of_due(),
                changed = phase.changed() => {
                    if changed.is_err() || *phase.borrow() == LoadPhase::Finished {
                        return DisconnectReason::Finished;
                    }
                }
            }
        }
    }

    /// Handles what was received and submits at most `quota` messages; `false` when the connection
    /// is of no use any more.
    fn turn(&mut self, wire: &mut SimulatorWire, quota: u64) -> bool {
        let shared = self.shared.clone();
        let now_us = shared.now_us();
        let mut ledger = shared.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.journal.is_some() {
            ledger.lines.now_ms = clock::now_ms();
        }
        let usable = self.read(wire, &mut ledger, now_us);
        if usable && self.role != LoadBindRole::Receiver {
            self.submit(wire, &mut ledger, now_us, quota);
        }
        if let Some(journal) = &shared.journal {
            ledger.lines.write_to(journal);
        }
        usable
    }

    fn read(&mut self, wire: &mut SimulatorWire, ledger: &mut LoadLedger, now_us: u64) -> bool {
        loop {
            let frame = match wire.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => return true,
                Err(_) => return false,
            };
            let out = &mut wire.output;
            let pdu = match decode(&frame, &self.leniency) {
                Decoded::Pdu(pdu) => pdu,
                Decoded::Malformed(bad) => {
                    if !bad.header.command_id.is_response() {
                        encode_generic_nack(out, bad.header.sequence, bad.status);
                    }
                    continue;
                }
            };
            match &pdu.body {
                Body::SubmitSmResp(answer) => {
                    if let Some(submission) = self.in_flight.take(pdu.sequence) {
                        ledger.on_answer(now_us, &submission, pdu.status, &answer.message_id);
                    }
                }
                Body::GenericNack => {
                    if let Some(submission) = self.in_flight.take(pdu.sequence) {
                        ledger.on_answer(now_us, &submission, pdu.status, b"");
                    }
                }
                Body::DeliverSm(deliver_sm) => {
                    ledger.on_deliver(now_us, deliver_sm);
                    encode_deliver_sm_resp(out, pdu.sequence, CommandStatus::ESME_ROK);
                }
                Body::EnquireLink => {
                    let answer = CommandId::ENQUIRE_LINK_RESP;
                    encode_empty_resp(out, answer, pdu.sequence, CommandStatus::ESME_ROK);
                }
                Body::Unbind => {
                    let answer = CommandId::UNBIND_RESP;
                    encode_empty_resp(out, answer, pdu.sequence, CommandStatus::ESME_ROK);
                    return false;
                }
                other if other.command_id().is_response() => {}
                _ => encode_generic_nack(out, pdu.sequence, CommandStatus::ESME_RINVCMDID),
            }
        }
    }

    fn submit(
        &mut self,
        wire: &mut SimulatorWire,
        ledger: &mut LoadLedger,
        now_us: u64,
        quota: u64,
    ) {
        let mut left = quota;
        while left > 0 && self.in_flight.room() > 0 {
            let Some(submission) = ledger.take(now_us) else {
                break;
            };
            left -= 1;
            self.write_message(submission.index);
            if let Ok(sequence) = self.in_flight.insert(submission) {
                encode_submit_sm(&mut wire.output, sequence, &self.message);
            }
        }
    }

    /// Puts destination and text of message `index` into the prepared submit_sm.
    fn write_message(&mut self, index: u64) {
        let options = &self.shared.options;
        if self.scratch.capacity() < options.length + 64 {
            self.scratch.reserve(SCRATCH + options.length);
        }
        options.destinations.write(&mut self.scratch, index);
        self.message.destination_addr = self.scratch.split().freeze();
        self.shared.tag.write(&mut self.scratch, index);
        self.scratch.put_slice(&self.filler);
        self.message.short_message = self.scratch.split().freeze();
        if options.user_message_reference {
            let mut tlvs = smsc_smpp::Tlvs::new();
            tlvs.push(tag::USER_MESSAGE_REFERENCE, &(index as u16).to_be_bytes());
            self.message.tlvs = tlvs;
        }
    }

    /// What this bind sends when all are woken for the same messages.
    fn share_of_due(&self) -> u64 {
        let due = self.ledger().plan.due(self.shared.now_us());
        due.div_ceil(sharers(due, self.shared.options.binds))
    }

    /// Tries until it works or the run is finished.
    async fn reconnect(&self, phase: &mut watch::Receiver<LoadPhase>) -> Option<SimulatorWire> {
        let mut pause = BACKOFF.0;
        loop {
            // Half of the pause is jitter: binds that broke together do not come back together.
            let wait = pause.mul_f64(0.5 + rand::random::<f64>() / 2.0);
            tokio::select! {
                () = sleep(wait) => {}
                changed = phase.changed() => {
                    if changed.is_err() || *phase.borrow() == LoadPhase::Finished {
                        return None;
                    }
                }
            }
            if let Ok(wire) = connect(&self.target, self.role).await {
                return Some(wire);
            }
            pause = (pause * 2).min(BACKOFF.1);
        }
    }

    fn ledger(&self) -> MutexGuard<'_, LoadLedger> {
        self.shared
            .ledger
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
