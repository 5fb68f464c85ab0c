//! What a client asks for, and how that is answered: a part of [`super::client`].

use std::time::Instant;

use bytes::{Bytes, BytesMut};

use super::client::{CmppClient, ReportedSubmit};
use super::numbers::{msg_id_of, number_of};
use super::translate::{is_cut, recipients_of, refusal_of, submission_of};
use crate::actors::ingress::client_event::ClientEvent;
use crate::actors::receipts::shown_id;
use crate::carrier::fields::Widened;
use crate::carrier::text;
use crate::clock;
use crate::cmpp::bodies::{Cancel, CancelResp, Connect, MessageResp, Submit};
use crate::cmpp::{Body, Pdu, status};
use crate::smpp::session::Event;
use crate::smpp::{Body as Smpp, CancelSm, CommandStatus, Pdu as SmppPdu, UnsuccessSme};

/// A login on a connection that has one (CMPP §8.4.1.2: another error).
const LOGGED_IN: u32 = 5;
/// Success_Id (§8.4.6.2).
const CANCELLED: u32 = 0;
const NOT_CANCELLED: u32 = 1;
/// Reports of refused recipients that may wait for room in the client's window.
const MOST_OWED: usize = 1_000;

// === impl CmppClient ===

impl CmppClient {
    pub(super) fn on_request(&mut self, pdu: Pdu, out: &mut BytesMut) -> Option<ClientEvent> {
        let sequence = pdu.sequence;
        match pdu.body {
            Body::Submit(submit) => self.submit(sequence, *submit, out),
            Body::Cancel(Cancel { msg_id }) => self.cancel(sequence, msg_id, out),
            Body::Query(query) => Some(ClientEvent::CountDay { sequence, query }),
            Body::Connect(connect) => {
                self.refuse_login(sequence, &connect, out);
                None
            }
            // It has no response that we know.
            other => {
                tracing::debug!(command = other.command(), "a client asks for the unknown");
                None
            }
        }
    }

    fn refuse_login(&mut self, sequence: u32, connect: &Connect, out: &mut BytesMut) {
        let resp = (self.session.protocol).connect_resp(connect, &[], LOGGED_IN);
        self.respond(sequence, resp, out);
    }

    /// `None` when it is answered here.
    fn submit(
        &mut self,
        sequence: u32,
        mut submit: Submit,
        out: &mut BytesMut,
    ) -> Option<ClientEvent> {
        if is_cut(&submit) {
            self.answer_submit(sequence, CommandStatus::ESME_RINVMSGLEN, 0, out);
            return None;
        }
        let (right, wrong) = recipients_of(&mut submit);
        if right == 0 {
            self.answer_submit(sequence, CommandStatus::ESME_RINVDSTADR, 0, out);
            return None;
        }
        // Only one of several recipients can be refused while the request is accepted.
        if submit.registered_delivery == 1 && right + wrong.len() > 1 {
            let sender = submit.src_id.0.clone();
            let reported = ReportedSubmit { sender, wrong };
            self.reported.insert(sequence, reported);
        }
        let has_header = submit.tp_udhi & 1 != 0;
        // The session takes data_coding 0 for ASCII.
        let gbk = text::part_in_gbk(submit.msg_fmt, &submit.msg_content.0, has_header);
        let (message, recipients) = submission_of(submit, self.session.protocol);
        Some(ClientEvent::Submit {
            sequence,
            message,
            recipients,
            gbk,
        })
    }

    /// `None` when it is answered here.
    fn cancel(&mut self, sequence: u32, msg_id: u64, out: &mut BytesMut) -> Option<ClientEvent> {
        let Some(number) = number_of(msg_id) else {
            self.cancelled(sequence, NOT_CANCELLED, out);
            return None;
        };
        let cancel = CancelSm {
            message_id: number.to_string().into(),
            ..CancelSm::default()
        };
        let pdu = SmppPdu::request(sequence, Smpp::CancelSm(cancel));
        Some(ClientEvent::Smpp(Event::Request(pdu)))
    }

    fn cancelled(&mut self, sequence: u32, success_id: u32, out: &mut BytesMut) {
        let success_id = Widened(success_id);
        self.respond(sequence, Body::CancelResp(CancelResp { success_id }), out);
    }

    /// Answers a CMPP_SUBMIT or CMPP_CANCEL by what SMPP would be answered.
    pub(in crate::actors::ingress) fn answer(&mut self, answer: &SmppPdu, out: &mut BytesMut) {
        let (id, refused): (&[u8], &[UnsuccessSme]) = match &answer.body {
            Smpp::SubmitSmResp(resp) => (&resp.message_id, &[]),
            Smpp::SubmitMultiResp(resp) => (&resp.message_id, &resp.unsuccess_sme),
            Smpp::CancelSmResp => {
                let is_done = answer.status.is_ok();
                let success_id = if is_done { CANCELLED } else { NOT_CANCELLED };
                return self.cancelled(answer.sequence, success_id, out);
            }
            _ => (&[], &[]),
        };
        let number = shown_id::parse(id).unwrap_or_default();
        self.submitted(answer.sequence, answer.status, number, refused, out);
    }

    /// Answers a CMPP_SUBMIT with the number of its message, and those of its recipients who were refused.
    pub(in crate::actors::ingress) fn submitted(
        &mut self,
        sequence: u32,
        status: CommandStatus,
        number: u64,
        refused: &[UnsuccessSme],
        out: &mut BytesMut,
    ) {
        let reported = self.reported.remove(&sequence);
        self.answer_submit(sequence, status, number, out);
        if let Some(ReportedSubmit { sender, mut wrong }) = reported
            && status.is_ok()
        {
            wrong.extend(refused.iter().map(|one| one.destination_addr.clone()));
            self.owe(number, &sender, wrong, out);
        }
    }

    pub(super) fn answer_submit(
        &mut self,
        sequence: u32,
        status: CommandStatus,
        number: u64,
        out: &mut BytesMut,
    ) {
        let msg_id = if status.is_ok() { msg_id_of(number) } else { 0 };
        let result = Widened(status::of_smpp(status));
        let resp = Body::SubmitResp(MessageResp { msg_id, result });
        self.respond(sequence, resp, out);
    }

    /// The response has one result for all recipients: those that were refused have reports at once.
    fn owe(&mut self, number: u64, sender: &Bytes, refused: Vec<Bytes>, out: &mut BytesMut) {
        let (version, now) = (self.session.protocol, clock::now_ms());
        let room = MOST_OWED.saturating_sub(self.owed.len());
        for recipient in refused.into_iter().take(room) {
            let report = refusal_of(number, sender.clone(), recipient, version, now);
            self.owed.extend(report);
        }
        self.pay(Instant::now(), out);
    }
}
