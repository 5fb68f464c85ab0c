//! The SMPP session of `smsc send`: submits the messages, waits for every answer and receipt, and
//! reports them.
//!
//! Invariant: a submitted message is reported once with its answer and, if receipts were requested
//! and it was accepted, once with its final receipt.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use bytes::Bytes;

use crate::cli::client::print_line;
use crate::cli::exit::UndeliveredMessage;
use crate::clock;
use crate::domain::state;
use crate::simulator::wire::SimulatorWire;
use crate::smpp::codec::{Decoded, decode};
use crate::smpp::{
    Body, CommandId, CommandStatus, Leniency, Pdu, QuerySm, QuerySmResp, SubmitSm,
    encode_deliver_sm_resp, encode_empty_resp, encode_submit_sm, receipt,
};

/// sequence_number of our first submit_sm; the bind had 1.
const FIRST_SEQUENCE: u32 = 2;
/// Messages without an answer; every SMSC allows a window of this size.
const WINDOW: usize = 8;

/// How long without a receipt until the state of a message is asked for, and from then on how often.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// When the message was done, with seconds if the receipt has any.
fn done_date(receipt: &receipt::Extracted) -> String {
    let form = if receipt.done_in_minutes {
        "%Y-%m-%d %H:%M UTC"
    } else {
        "%Y-%m-%d %H:%M:%S UTC"
    };
    let done = jiff::Timestamp::from_millisecond(receipt.done_at_ms).unwrap_or_default();
    done.strftime(form).to_string()
}

/// Whether the message arrived, as far as can be known.
fn is_delivered(state: u8) -> bool {
    matches!(state, state::DELIVERED | state::ACCEPTED)
}

/// Messages under way.
pub struct Conversation<'a> {
    to: &'a str,
    messages: &'a [SubmitSm],
    wants_receipts: bool,
    started: Instant,
    /// How many were submitted.
    sent: usize,
    /// What was answered, by message.
    answers: Vec<SubmitProgress>,
    /// Receipts that came before the answer that names their message.
    early: Vec<receipt::Extracted>,
    /// When the states of those without a receipt are asked for.
    ask_at: Instant,
    /// The messages that were asked for, in the order of the questions.
    asked: Vec<usize>,
    /// What went wrong, the first.
    failure: Option<String>,
}

/// Where a message stands.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SubmitProgress {
    /// Not answered yet.
    Open,
    /// Accepted under this id.
    Accepted(Bytes),
    /// Nothing more is to come.
    Over,
}

// === impl Conversation ===

impl<'a> Conversation<'a> {
    /// Nothing is sent yet.
    pub fn new(to: &'a str, messages: &'a [SubmitSm], wants_receipts: bool) -> Self {
        Self {
            to,
            messages,
            wants_receipts,
            started: Instant::now(),
            sent: 0,
            answers: vec![SubmitProgress::Open; messages.len()],
            early: Vec::new(),
            ask_at: Instant::now() + ASK_EVERY,
            asked: Vec::new(),
            failure: None,
        }
    }

    /// The sequence_number that is free after all messages.
    pub fn next_sequence(&self) -> u32 {
        self.first_question() + self.asked.len() as u32
    }

    /// Submits, and waits until everything is over.
    ///
    /// # Errors
    /// The connection ends before that, or a message was refused or not delivered.
    pub async fn run(&mut self, wire: &mut SimulatorWire) -> anyhow::Result<()> {
        loop {
            self.submit(wire);
            while let Some(frame) = wire.next_frame()? {
                if let Decoded::Pdu(pdu) = decode(&frame, &Leniency::default()) {
                    self.take(wire, &pdu)?;
                }
            }
            if self.is_over() {
                return match self.failure.take() {
                    None => Ok(()),
                    Some(failure) => Err(UndeliveredMessage(failure).into()),
                };
            }
            self.submit(wire);
            let received = tokio::select! {
                received = wire.receive() => received.context("the connection broke")?,
                () = tokio::time::sleep_until(self.ask_at.into()) => {
                    self.ask(wire);
                    true
                }
            };
            if !received {
                bail!("the SMSC closed the connection before the end; see its log for the reason");
            }
        }
    }

    fn first_question(&self) -> u32 {
        FIRST_SEQUENCE + self.messages.len() as u32
    }

    /// Asks what became of messages without a receipt: it may have gone to another bind of the account.
    fn ask(&mut self, wire: &mut SimulatorWire) {
        self.ask_at = Instant::now() + ASK_EVERY;
        for (place, answer) in self.answers.iter().enumerate() {
            let (SubmitProgress::Accepted(id), message) = (answer, &self.messages[place]) else {
                continue;
            };
            let question = Body::QuerySm(QuerySm {
                message_id: id.clone(),
                source_addr_ton: message.source_addr_ton,
                source_addr_npi: message.source_addr_npi,
                source_addr: message.source_addr.clone(),
            });
            let sequence = FIRST_SEQUENCE + (self.messages.len() + self.asked.len()) as u32;
            Pdu::request(sequence, question).encode(&mut wire.output);
            self.asked.push(place);
        }
    }

    /// What became of a message that was asked for.
    fn told_state(&mut self, pdu: &Pdu, answer: &QuerySmResp) {
        let question = pdu.sequence.checked_sub(self.first_question());
        let place = question.and_then(|at| self.asked.get(at as usize).copied());
        let is_final = pdu.status.is_ok() && state::is_final(answer.message_state);
        let Some(place) = place.filter(|_| is_final) else {
            return;
        };
        if self.answers[place] != SubmitProgress::Accepted(answer.message_id.clone()) {
            return;
        }
        self.answers[place] = SubmitProgress::Over;
        let name = state::name(answer.message_state);
        let which = self.which(place);
        // If the reader of the output is gone, the message is still sent.
        let _ = print_line(&format!(
            "{name:<10} {}, says the SMSC; the receipt has gone to another bind of the account, or waits{which}",
            self.to
        ));
        if !is_delivered(answer.message_state) {
            self.fail(format!("the message was not delivered{which}: {name}"));
        }
    }

    fn is_over(&self) -> bool {
        self.answers
            .iter()
            .all(|answer| *answer == SubmitProgress::Over)
    }

    fn submit(&mut self, wire: &mut SimulatorWire) {
        let open = |answers: &[SubmitProgress]| {
            answers
                .iter()
                .filter(|a| **a == SubmitProgress::Open)
                .count()
        };
        while let Some(message) = self.messages.get(self.sent)
            && open(&self.answers[..self.sent]) < WINDOW
        {
            let sequence = FIRST_SEQUENCE + self.sent as u32;
            encode_submit_sm(&mut wire.output, sequence, message);
            self.sent += 1;
        }
    }

    fn take(&mut self, wire: &mut SimulatorWire, pdu: &Pdu) -> anyhow::Result<()> {
        match &pdu.body {
            Body::SubmitSmResp(answer) => self.answered(pdu, &answer.message_id),
            Body::QuerySmResp(answer) => self.told_state(pdu, answer),
            Body::GenericNack => self.nacked(pdu),
            Body::DeliverSm(deliver_sm) => {
                let found = receipt::extract(deliver_sm, clock::now_ms());
                self.early
                    .extend(found.filter(|receipt| !receipt.intermediate));
                encode_deliver_sm_resp(&mut wire.output, pdu.sequence, CommandStatus::ESME_ROK);
            }
            Body::EnquireLink => {
                let (answer, ok) = (CommandId::ENQUIRE_LINK_RESP, CommandStatus::ESME_ROK);
                encode_empty_resp(&mut wire.output, answer, pdu.sequence, ok);
            }
            Body::Unbind => bail!("the SMSC ended the session; is it being stopped?"),
            _ => {}
        }
        self.match_receipts();
        Ok(())
    }

    /// Which of our messages an answer is for, if it was open.
    fn place(&self, sequence: u32) -> Option<usize> {
        let place = sequence.checked_sub(FIRST_SEQUENCE)? as usize;
        (self.answers.get(place)? == &SubmitProgress::Open).then_some(place)
    }

    fn answered(&mut self, pdu: &Pdu, message_id: &Bytes) {
        let Some(place) = self.place(pdu.sequence) else {
            return;
        };
        if !pdu.status.is_ok() {
            let cure = match pdu.status {
                CommandStatus::ESME_RINVDSTADR => {
                    "no route for this number; `smsc route explain NUMBER` says why"
                }
                CommandStatus::ESME_RTHROTTLED => "the account is over its rate; try again later",
                CommandStatus::ESME_RMSGQFUL => {
                    "a queue or the disk is full; see `smsc queue list`"
                }
                _ => "see its log for the reason",
            };
            let which = self.which(place);
            self.answers[place] = SubmitProgress::Over;
            return self.fail(format!(
                "the SMSC refuses the message{which}: {}, {cure}",
                pdu.status
            ));
        }
        // If the reader of the output is gone, the message is still sent.
        let _ = print_line(&format!(
            "accepted   {} as {} in {:.1} ms{}",
            self.to,
            String::from_utf8_lossy(message_id),
            self.started.elapsed().as_secs_f64() * 1000.0,
            self.which(place),
        ));
        self.answers[place] = if self.wants_receipts {
            SubmitProgress::Accepted(message_id.clone())
        } else {
            SubmitProgress::Over
        };
    }

    fn nacked(&mut self, pdu: &Pdu) {
        if let Some(place) = self.place(pdu.sequence) {
            self.answers[place] = SubmitProgress::Over;
            self.fail(format!("the SMSC does not take submit_sm: {}", pdu.status));
        }
    }

    /// Receipts whose message is known; others wait for its answer while one is open.
    fn match_receipts(&mut self) {
        for receipt in std::mem::take(&mut self.early) {
            // An SMSC that puts parts together gives them one id, and one receipt.
            let id = SubmitProgress::Accepted(receipt.message_id.clone());
            let places: Vec<usize> = (0..self.answers.len())
                .filter(|place| self.answers[*place] == id)
                .collect();
            if places.is_empty() {
                if self.answers.contains(&SubmitProgress::Open) {
                    self.early.push(receipt);
                }
                continue;
            }
            for place in places {
                self.answers[place] = SubmitProgress::Over;
                self.tell(place, &receipt);
            }
        }
    }

    fn tell(&mut self, place: usize, receipt: &receipt::Extracted) {
        let name = state::name(receipt.state);
        let error = String::from_utf8_lossy(&receipt.error);
        let error = match error.trim_start_matches('0') {
            "" => String::new(),
            _ => format!(", error {error}"),
        };
        let which = match self.messages.len() {
            1 => String::new(),
            _ => {
                let id = String::from_utf8_lossy(&receipt.message_id);
                format!("{}, {id}", self.which(place))
            }
        };
        // If the reader of the output is gone, the message is still sent.
        let _ = print_line(&format!(
            "{name:<10} {} after {:.1} ms, done {}{error}{which}",
            self.to,
            self.started.elapsed().as_secs_f64() * 1000.0,
            done_date(receipt),
        ));
        if !is_delivered(receipt.state) {
            let which = self.which(place);
            self.fail(format!(
                "the message was not delivered{which}: {name}{error}"
            ));
        }
    }

    /// Names the part, when there are several.
    fn which(&self, place: usize) -> String {
        match self.messages.len() {
            1 => String::new(),
            total => format!(", part {} of {total}", place + 1),
        }
    }

    fn fail(&mut self, text: String) {
        self.failure.get_or_insert(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_done_date_has_the_seconds_of_its_receipt() {
        let said = |done_in_minutes| {
            done_date(&receipt::Extracted {
                done_at_ms: 1_700_000_000_000,
                done_in_minutes,
                ..receipt::Extracted::default()
            })
        };
        assert_eq!(said(true), "2023-11-14 22:13 UTC");
        assert_eq!(said(false), "2023-11-14 22:13:20 UTC");
    }
}
