//! Submissions on their way in: one batch per socket read to Ingest, answered after the commit.

use super::*;

impl EsmeSession {
    pub(super) fn submit(&mut self, sequence: u32, mut message: crate::pb::Message) {
        if message.registered_delivery & 0x03 == 0
            && let Some(wished) = self
                .account
                .as_ref()
                .and_then(|account| account.config.registered_delivery)
        {
            message.registered_delivery |= u32::from(wished);
        }
        self.submissions.push(Submission {
            sequence,
            message: Some(message),
        });
    }

    /// Hands the submissions of one socket read to Ingest; the answers follow the commit.
    pub(super) fn hand_over(&mut self, ctx: &mut Context<Self>) {
        if self.submissions.is_empty() {
            return;
        }
        let Some(account) = &self.account else {
            return;
        };
        let submissions = std::mem::take(&mut self.submissions);
        let count = submissions.len();
        self.intake += count;
        self.snapshot.received_total += count as u64;
        let sequences: Vec<u32> = submissions.iter().map(|one| one.sequence).collect();
        let batch = SubmitBatch {
            sender: account.id,
            submissions,
            peer: self.snapshot.peer.clone(),
            alphabet: self.alphabet.map(Into::into),
        };
        let request = self
            .ingest
            .send(Posted::new(batch, &self.hub.mailboxes.ingest));
        ctx.spawn(request.into_actor(self).map(move |reply, session, _| {
            session.intake -= count;
            match reply {
                Ok(accepted) => session.answer(&accepted.reply),
                // Ingest failed on this batch; whether it was accepted is unknown, so the sender
                // must ask again rather than believe.
                Err(_) => session.answer(&SubmitReply {
                    results: sequences
                        .into_iter()
                        .map(|sequence| crate::pb::SubmitResult {
                            sequence,
                            status: CommandStatus::ESME_RSYSERR.0,
                            id: 0,
                        })
                        .collect(),
                }),
            }
        }));
    }

    fn answer(&mut self, reply: &SubmitReply) {
        let as_deliver_sm = &mut self.as_deliver_sm;
        let Some(outbox) = &self.outbox else { return };
        outbox.write(|out| {
            let mut digits = [0u8; 20];
            for result in &reply.results {
                let status = CommandStatus(result.status);
                if let Some(at) = as_deliver_sm
                    .iter()
                    .position(|sequence| *sequence == result.sequence)
                {
                    as_deliver_sm.swap_remove(at);
                    encode_deliver_sm_resp(out, result.sequence, status);
                } else if status.is_ok() {
                    encode_submit_sm_resp(
                        out,
                        result.sequence,
                        status,
                        decimal(result.id, &mut digits),
                    );
                } else {
                    encode_error_resp(out, CommandId::SUBMIT_SM, result.sequence, status);
                }
            }
        });
        outbox.resume();
    }
}

/// Decimal digits without an allocation.
fn decimal(mut value: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            return &digits[at..];
        }
    }
}
