//! What the operator sends: answers, receipts, mobile-originated messages. One socket read leaves
//! as one batch of each kind.

use std::sync::Arc;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use bytes::{Bytes, BytesMut};
use tokio::time::Instant;

use super::OperatorSession;
use crate::actors::egress::operator_event::{
    BindEvent, BroughtContent, OperatorAnswer, OperatorEvent,
};
use crate::actors::ingress::ingest::{self, Keys, Submit};
use crate::actors::receipts::{alert, said};
use crate::actors::session::smpp_terms;
use crate::content::pdu;
use crate::pb::{MessageState, OperatorReceipt, ReceiptBatch, Sent, SentBatch, SubmitReply};
use crate::smpp::session::CloseReason;
use crate::smpp::{Body, CommandStatus, Pdu, SubmitSm, receipt};

impl OperatorSession {
    /// Takes the events of what was read.
    pub(super) fn hear(&mut self, octets: &mut BytesMut, ctx: &mut Context<Self>) {
        let now = Instant::now();
        loop {
            match self.core.next_event(octets, now) {
                Ok(Some(event)) => self.on_event(event, ctx),
                Ok(None) => return,
                Err(bad) => {
                    let why = format!("bad command_length {}", bad.length);
                    self.core
                        .write(|protocol, out| protocol.on_bad_length(bad, out));
                    octets.clear();
                    self.flush(ctx);
                    return self.part(why, ctx);
                }
            }
        }
    }

    /// Takes events that no octets have brought.
    pub(super) fn take_news(&mut self, ctx: &mut Context<Self>) {
        if self.core.protocol.has_news() {
            self.hear(&mut BytesMut::new(), ctx);
            self.flush(ctx);
        }
    }

    /// Takes the answers that are known when the session is over.
    pub(super) fn take_last_answers(&mut self) {
        let answers = self.core.protocol.other().map(|bind| bind.last_answers());
        for answer in answers.into_iter().flatten() {
            self.on_answer(answer);
        }
        self.tell_sent();
    }

    fn on_event(&mut self, event: OperatorEvent, ctx: &mut Context<Self>) {
        match event {
            OperatorEvent::Nothing => {}
            OperatorEvent::Request(pdu) => self.on_request(pdu),
            OperatorEvent::Refused => self.core.snapshot.errors_total += 1,
            OperatorEvent::Unbind => {
                self.part("the operator has unbound", ctx);
                // In good order: there is no hurry.
                self.cut_off = false;
            }
            OperatorEvent::Bind(event) => self.on_bind_event(event, ctx),
        }
    }

    fn on_bind_event(&mut self, event: BindEvent, ctx: &mut Context<Self>) {
        match event {
            BindEvent::BindResult(status) => self.bind_result(status, ctx),
            BindEvent::Brought(sequence, BroughtContent::Report(report)) => {
                self.core.snapshot.received_total += 1;
                let states = self.plan.as_ref().map(|plan| &plan.receipt_states);
                self.on_receipt(sequence, said::of_report(report, states));
            }
            BindEvent::Brought(sequence, BroughtContent::Message { deliver, gbk }) => {
                self.on_brought(sequence, *deliver, gbk);
            }
            BindEvent::Answered(answer) => self.on_answer(answer),
            BindEvent::Close(CloseReason::UnbindDone) => self.part("unbound", ctx),
            BindEvent::Close(reason) => self.come_back(&format!("{reason:?}"), ctx),
            BindEvent::Ended(why) => self.part(why, ctx),
            BindEvent::Asleep => self.go_to_rest(ctx),
        }
    }

    fn on_request(&mut self, pdu: Pdu) {
        let sequence = pdu.sequence;
        let command_id = pdu.body.command_id();
        // What came as data_sm is the same, and answered in its own way.
        let body = match pdu.body {
            Body::DataSm(data) => {
                let Some(deliver) = self.core.take_data_sm(sequence, data) else {
                    return;
                };
                Body::DeliverSm(deliver)
            }
            body => body,
        };
        match body {
            Body::DeliverSm(deliver) => self.on_brought(sequence, deliver, None),
            Body::AlertNotification(alert) => {
                alert::pass_on(&self.core.node, self.options.operator, alert);
            }
            Body::Outbind(_) => {}
            _ => {
                let status = CommandStatus::ESME_RINVCMDID;
                self.core.refuse(command_id, sequence, status);
            }
        }
    }

    fn on_brought(&mut self, sequence: u32, deliver: SubmitSm, gbk: Option<Bytes>) {
        self.core.snapshot.received_total += 1;
        if self.is_receipt(&deliver) {
            let states = self.plan.as_ref().map(|plan| &plan.receipt_states);
            return self.on_receipt(sequence, said::of(&deliver, states));
        }
        let kind = ingest::kind_of(&self.core.node, self.options.operator, &deliver);
        let mut message = pdu::message_of(deliver, kind);
        if let Some(gbk) = gbk {
            smpp_terms::came_in_gbk(&mut message, gbk);
        }
        self.core.submit(sequence, message);
    }

    /// Whether it is a receipt: by its marks, or by its text where the operator does not mark them.
    fn is_receipt(&self, deliver: &SubmitSm) -> bool {
        receipt::is_receipt(deliver)
            || (self.plan.as_ref()).is_some_and(|plan| plan.config.receipts_by_text)
                && receipt::reads_like_one(deliver)
    }

    fn on_receipt(&mut self, sequence: u32, mut receipt: OperatorReceipt) {
        receipt.sequence = sequence;
        if receipt.operator_message_id.is_empty() && receipt.part().is_none() {
            tracing::warn!(operator = %self.core.snapshot.name, "a receipt without a message id or a state matches nothing");
        }
        if self.receipts.is_empty() {
            self.receipts.reserve(self.receipts_of_a_read);
        }
        self.receipts.push(receipt);
    }

    fn on_answer(&mut self, answer: OperatorAnswer) {
        let (context, status) = (answer.context, answer.status);
        let elapsed = answer.sent_at.elapsed();
        self.core.snapshot.answered(elapsed);
        if !answer.unsent {
            self.failures = 0;
        }
        let Some(serving) = &mut self.core.serving else {
            return;
        };
        let latency_ms = elapsed.as_millis() as u32;
        if !status.is_ok() {
            if answer.late {
                serving.refused_late(&context, status.0, elapsed);
            } else {
                serving.refused(&context, status.0, elapsed);
            }
            if answer.unsent {
                serving.unsent();
            }
            return;
        }
        if answer.late {
            self.core.node.metrics.late_answers.inc();
        }
        serving.done(&context, elapsed, !answer.late);
        // A program that names no id has delivered it.
        let state = if self
            .plan
            .as_ref()
            .is_some_and(|plan| plan.config.is_local())
        {
            MessageState::Delivered
        } else {
            MessageState::Accepted
        };
        self.sent.push(Sent {
            id: context.id,
            attempt: context.attempt,
            // Without an id no receipt can ever match: the answer is the end of it.
            receipt_expected: context.receipt_expected && !answer.message_id.is_empty(),
            operator_message_id: answer.message_id,
            latency_ms,
            message: context.message,
            state: state.into(),
        });
    }

    /// Passes on what one socket read brought: ids before receipts, so that a receipt that follows
    /// its answer always finds it.
    pub(super) fn flush(&mut self, ctx: &mut Context<Self>) {
        let operator = self.options.operator;
        let node = Arc::clone(&self.core.node);
        self.tell_sent();
        if let Some(serving) = &mut self.core.serving {
            serving.flush();
        }
        if !self.receipts.is_empty() {
            let receipts = std::mem::take(&mut self.receipts);
            self.core.intake += receipts.len();
            self.receipts_of_a_read = receipts.len().max(self.receipts_of_a_read / 2);
            node.tell_correlation(ReceiptBatch {
                operator,
                receipts,
                session: self.core.port.session,
            });
        }
        if let Some((batch, sequences, arriving)) = self.core.take_batch(operator) {
            let submit = Submit::timed(batch, Keys::None, &node);
            let request = self.options.ingest.send(submit);
            let turn = self.accepted.begin();
            ctx.spawn(request.into_actor(self).map(move |reply, session, ctx| {
                session.core.answered(arriving);
                let accepted = reply.ok();
                let answers = accepted.as_ref().map(|accepted| &accepted.reply);
                session.answer_mo(&sequences, answers);
                session.accepted.pass_on(turn, accepted);
                session.end_if_answered(ctx);
            }));
        }
    }

    fn tell_sent(&mut self) {
        if !self.sent.is_empty() {
            self.core.node.tell_sent(SentBatch {
                operator: self.options.operator,
                sent: std::mem::take(&mut self.sent),
                confirm: false,
                session: self.core.port.session,
            });
        }
    }

    fn answer_mo(&mut self, sequences: &[u32], reply: Option<&SubmitReply>) {
        match reply {
            Some(reply) => {
                self.acknowledge(reply.results.iter().map(|one| (one.sequence, one.status)));
            }
            // Whether it was accepted is unknown: the operator brings it again.
            None => {
                let status = CommandStatus::ESME_RX_T_APPN.0;
                self.acknowledge(sequences.iter().map(|sequence| (*sequence, status)));
            }
        }
    }

    /// Answers receipts and messages of handsets.
    pub(super) fn acknowledge(&mut self, answers: impl Iterator<Item = (u32, u32)>) {
        self.core.answer(|protocol, came_as, out| {
            for (sequence, status) in answers {
                protocol.acknowledge(came_as, sequence, CommandStatus(status), out);
            }
        });
        if let Some(outbox) = &self.core.outbox {
            outbox.resume();
        }
    }
}
