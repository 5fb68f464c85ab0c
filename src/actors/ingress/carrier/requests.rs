//! What a client asks for, as requests to the session, and how these were answered: a part of [`super::relay`].

use std::time::Instant;

use bytes::{Bytes, BytesMut};

use super::numbers::{msg_id_of, number_of};
use super::query::DayQuery;
use super::relay::{ClientRequest, MOST_OWED, Relay};
use super::translate::{Submission, is_cut, recipients_of, refusal_of, submission_of};
use crate::actors::receipts::shown_id;
use crate::carrier::fields::Widened;
use crate::clock;
use crate::cmpp::bodies::{Cancel, CancelResp, Connect, Submit, SubmitResp};
use crate::cmpp::{Body, Pdu, status};
use crate::smpp::{
    Body as Smpp, CancelSm, CommandStatus, Pdu as SmppPdu, UnsuccessSme, encode_submit_sm,
};

/// A login on a connection that has one (CMPP §8.4.1.2: another error).
const LOGGED_IN: u32 = 5;
/// Success_Id (§8.4.6.2).
const CANCELLED: u32 = 0;
const NOT_CANCELLED: u32 = 1;

// === impl Relay ===

impl Relay {
    pub(super) fn asked(&mut self, pdu: Pdu) {
        let sequence = pdu.sequence;
        match pdu.body {
            Body::Submit(submit) => self.submit(sequence, *submit),
            Body::Cancel(Cancel { msg_id }) => self.cancel(sequence, msg_id),
            Body::Query(query) => {
                let source = self.source();
                self.query = Some(DayQuery::begin(&self.node, &source, sequence, query));
            }
            Body::Connect(connect) => self.refuse_login(sequence, &connect),
            // It has no response that we know.
            other => tracing::debug!(command = other.command(), "a client asks for the unknown"),
        }
    }

    fn refuse_login(&mut self, sequence: u32, connect: &Connect) {
        let resp = (self.far.protocol).connect_resp(connect, &[], LOGGED_IN);
        self.answer(sequence, resp);
    }

    fn submit(&mut self, sequence: u32, mut submit: Submit) {
        if is_cut(&submit) {
            return self.submitted(sequence, CommandStatus::ESME_RINVMSGLEN, 0);
        }
        let (right, wrong) = recipients_of(&mut submit);
        if right == 0 {
            return self.submitted(sequence, CommandStatus::ESME_RINVDSTADR, 0);
        }
        let asked = ClientRequest::Submit {
            sequence,
            reports_to: (submit.registered_delivery == 1).then(|| submit.src_id.0.clone()),
            wrong,
        };
        let submission = submission_of(submit, self.far.protocol);
        let write = |out: &mut BytesMut, sequence| match submission {
            Submission::One(message) => encode_submit_sm(out, sequence, &message),
            Submission::Many(messages) => {
                SmppPdu::request(sequence, Smpp::SubmitMulti(*messages)).encode(out);
            }
        };
        let out = &mut self.near_out;
        // There is room, or it would not have been read; a session that ends answers nothing, and the client submits
        // it again elsewhere.
        let _ = self.near.send(Instant::now(), asked, out, write);
    }

    fn cancel(&mut self, sequence: u32, msg_id: u64) {
        let Some(number) = number_of(msg_id) else {
            return self.cancelled(sequence, NOT_CANCELLED);
        };
        let cancel = CancelSm {
            message_id: number.to_string().into(),
            ..CancelSm::default()
        };
        let write = |out: &mut BytesMut, sequence| {
            SmppPdu::request(sequence, Smpp::CancelSm(cancel)).encode(out);
        };
        let asked = ClientRequest::Cancel { sequence };
        let out = &mut self.near_out;
        let _ = self.near.send(Instant::now(), asked, out, write);
    }

    fn cancelled(&mut self, sequence: u32, success_id: u32) {
        let success_id = Widened(success_id);
        self.answer(sequence, Body::CancelResp(CancelResp { success_id }));
    }

    /// The session has answered.
    pub(super) fn answered(&mut self, asked: ClientRequest, pdu: &SmppPdu) {
        match asked {
            ClientRequest::Cancel { sequence } => {
                let is_done = pdu.status.is_ok();
                self.cancelled(sequence, if is_done { CANCELLED } else { NOT_CANCELLED });
            }
            ClientRequest::Submit {
                sequence,
                reports_to,
                mut wrong,
            } => {
                let (id, refused): (&[u8], &[UnsuccessSme]) = match &pdu.body {
                    Smpp::SubmitSmResp(resp) => (&resp.message_id, &[]),
                    Smpp::SubmitMultiResp(resp) => (&resp.message_id, &resp.unsuccess_sme),
                    _ => (&[], &[]),
                };
                let number = shown_id::parse(id).unwrap_or_default();
                self.submitted(sequence, pdu.status, number);
                if let Some(sender) = reports_to.filter(|_| pdu.status.is_ok()) {
                    wrong.extend(refused.iter().map(|one| one.destination_addr.clone()));
                    self.owe(number, &sender, wrong);
                }
            }
        }
    }

    fn submitted(&mut self, sequence: u32, status: CommandStatus, number: u64) {
        let msg_id = if status.is_ok() { msg_id_of(number) } else { 0 };
        let result = Widened(status::of_smpp(status));
        self.answer(sequence, Body::SubmitResp(SubmitResp { msg_id, result }));
    }

    /// The response has one result for all recipients: those that were refused have reports at once.
    fn owe(&mut self, number: u64, sender: &Bytes, refused: Vec<Bytes>) {
        let (version, now) = (self.far.protocol, clock::now_ms());
        let room = MOST_OWED.saturating_sub(self.owed.len());
        for recipient in refused.into_iter().take(room) {
            let report = refusal_of(number, sender.clone(), recipient, version, now);
            self.owed.extend(report);
        }
        self.pay();
    }
}
