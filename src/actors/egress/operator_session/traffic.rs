//! What the operator sends: answers, receipts, mobile-originated messages. One socket read leaves
//! as one batch of each kind.

use super::*;

impl OperatorSession {
    pub(super) fn on_event(&mut self, event: Event<InFlight>, ctx: &mut Context<Self>) {
        match event {
            Event::Nothing | Event::Bind { .. } => {}
            Event::BindResult { status, .. } => self.bind_result(status, ctx),
            Event::Request(pdu) => self.on_request(pdu),
            Event::Response {
                pdu,
                context,
                sent_at,
                late,
            } => self.on_response(pdu, context, sent_at, late),
            Event::Unbind => {
                self.part("the operator has unbound", ctx);
                // In good order: there is no hurry.
                self.cut_off = false;
            }
            Event::Close(CloseReason::UnbindDone) => self.part("unbound", ctx),
            Event::Close(reason) => self.come_back(&format!("{reason:?}"), ctx),
            Event::Answered { .. } => self.core.snapshot.errors_total += 1,
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
            Body::DeliverSm(deliver) if self.is_receipt(&deliver) => {
                self.on_receipt(sequence, &deliver)
            }
            Body::DeliverSm(deliver) => {
                self.core.snapshot.received_total += 1;
                let kind = ingest::kind_of(&self.core.node, self.options.operator, &deliver);
                let mut message = pdu::message_of(deliver, kind);
                let protocol = self.plan.as_ref().map(|plan| plan.config.protocol);
                if protocol != Some(OperatorProtocol::Smpp) {
                    server_end::take_gbk(&mut message);
                }
                self.core.submit(sequence, message);
            }
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

    /// Whether it is a receipt: by its marks, or by its text where the operator does not mark them.
    fn is_receipt(&self, deliver: &SubmitSm) -> bool {
        receipt::is_receipt(deliver)
            || (self.plan.as_ref()).is_some_and(|plan| plan.config.receipts_by_text)
                && receipt::reads_like_one(deliver)
    }

    fn on_receipt(&mut self, sequence: u32, deliver: &SubmitSm) {
        self.core.snapshot.received_total += 1;
        let states = self.plan.as_ref().map(|plan| &plan.receipt_states);
        let receipt = OperatorReceipt {
            sequence,
            ..said::of(deliver, states)
        };
        if receipt.operator_message_id.is_empty() && receipt.part().is_none() {
            tracing::warn!(operator = %self.core.snapshot.name, "a receipt without a message id or a state matches nothing");
        }
        if self.receipts.is_empty() {
            self.receipts.reserve(self.receipts_of_a_read);
        }
        self.receipts.push(receipt);
    }

    fn on_response(
        &mut self,
        pdu: Pdu,
        context: InFlight,
        sent_at: std::time::Instant,
        late: bool,
    ) {
        let elapsed = sent_at.elapsed();
        self.core.snapshot.answered(elapsed);
        self.failures = 0;
        let Some(serving) = &mut self.core.serving else {
            return;
        };
        let latency_ms = elapsed.as_millis() as u32;
        let theirs = match pdu.body {
            Body::SubmitSmResp(resp) | Body::DeliverSmResp(resp) | Body::DataSmResp(resp) => {
                resp.message_id
            }
            _ => Bytes::new(),
        };
        if !pdu.status.is_ok() {
            if late {
                serving.refused_late(&context, pdu.status.0, elapsed);
            } else {
                serving.refused(&context, pdu.status.0, elapsed);
            }
            if theirs == server_end::NOT_SENT {
                serving.unsent();
            }
            return;
        }
        if late {
            self.core.node.metrics.late_answers.inc();
        }
        serving.done(&context, elapsed, !late);
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
            receipt_expected: context.receipt_expected && !theirs.is_empty(),
            // A small copy, so that the read buffer is free again.
            operator_message_id: Bytes::copy_from_slice(&theirs),
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
        if !self.sent.is_empty() {
            let sent = std::mem::take(&mut self.sent);
            let session = self.core.port.session;
            node.tell_sent(SentBatch {
                operator,
                sent,
                confirm: false,
                session,
            });
        }
        if let Some(serving) = &mut self.core.serving {
            serving.flush();
        }
        if !self.receipts.is_empty() {
            let receipts = std::mem::take(&mut self.receipts);
            self.core.intake += receipts.len();
            self.receipts_of_a_read = receipts.len();
            node.tell_correlation(ReceiptBatch {
                operator,
                receipts,
                session: self.core.port.session,
            });
        }
        if let Some((batch, sequences, arriving)) = self.core.take_batch(operator) {
            let request = self
                .options
                .ingest
                .send(Timed::new(Submit(batch), &node.mailboxes.ingest));
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

    fn answer_mo(&mut self, sequences: &[u32], reply: Option<&SubmitReply>) {
        let Some(outbox) = &self.core.outbox else {
            return;
        };
        let came_as = &mut self.core.came_as;
        write_shown(
            &self.core.node,
            &self.core.port,
            outbox,
            |out| match reply {
                Some(reply) => {
                    for result in &reply.results {
                        let status = CommandStatus(result.status);
                        acknowledge(came_as, out, result.sequence, status);
                    }
                }
                // Whether it was accepted is unknown: the operator brings it again.
                None => sequences.iter().for_each(|sequence| {
                    acknowledge(came_as, out, *sequence, CommandStatus::ESME_RX_T_APPN);
                }),
            },
        );
        outbox.resume();
    }
}

/// Answers a deliver_sm, or a data_sm if it came as one.
pub(super) fn acknowledge(
    came_as: &mut CameAs,
    out: &mut BytesMut,
    sequence: u32,
    status: CommandStatus,
) {
    match came_as.take(sequence) {
        Some(operation) => {
            let tail = SubmitRespTail::default();
            encode_message_resp(out, operation.response(), sequence, status, tail);
        }
        None => encode_deliver_sm_resp(out, sequence, status),
    }
}
