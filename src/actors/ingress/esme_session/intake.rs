//! Submissions on their way in: one batch per socket read to Ingest, answered after the commit.

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};

use super::{EsmeSession, INTAKE};
use crate::actors::ingress::ingest::{Keys, Submit};
use crate::actors::receipts::shown_id::IdNotation;
use crate::actors::session::bound::BoundProtocol as _;
use crate::actors::session::core::Arriving;
use crate::actors::session::smpp_terms;
use crate::content::compose::check_reference;
use crate::content::pdu;
use crate::pb::{Kind, Message, SubmitBatch, SubmitReply, SubmitResult};
use crate::smpp::{CommandStatus, SubmitSm, Tlvs};
use bytes::Bytes;

/// congestion_state from which on a peer is told (5.0 §4.8.4.18: 70-89 is the best load, from 90 on
/// congestion is near).
const BUSY: usize = 80;
const CONGESTED: u8 = 100;

impl EsmeSession {
    /// A message that came over CMPP, and its text if that came in GBK.
    pub(super) fn carried(&self, message: SubmitSm, gbk: Option<Bytes>) -> Message {
        let mut message = pdu::message_of(message, Kind::Mt);
        if let Some(gbk) = gbk {
            smpp_terms::came_in_gbk(&mut message, gbk);
        }
        self.wished(message)
    }

    /// A message that asks for nothing gets what its account asks for.
    pub(super) fn wished(&self, mut message: Message) -> Message {
        if message.registered_delivery & 0x03 == 0
            && let Some(wished) = self
                .account
                .as_ref()
                .and_then(|account| account.config.registered_delivery)
        {
            message.registered_delivery |= u32::from(wished);
        }
        if let Some(tag) = (self.account.as_ref()).and_then(|account| account.config.reference_tlv)
        {
            name_by(tag, &mut message);
        }
        self.id_form().mark(&mut message);
        message
    }

    /// How ids are written to this peer: in digits over CMPP, which has numbers; a message_id of SMPP 3.3 has eight hexadecimal digits.
    pub(super) fn id_form(&self) -> IdNotation {
        let short = self.core.protocol.peer_version() < 0x34;
        let account = self.account.as_ref();
        let account = account.filter(|_| !self.core.protocol.is_cmpp());
        account.map_or_else(IdNotation::default, |account| {
            IdNotation::of_account(&account.config, short)
        })
    }

    /// Hands the submissions of one socket read to Ingest; the answers follow the commit.
    pub(super) fn flush(&mut self, ctx: &mut Context<Self>) {
        self.flush_multis(ctx);
        let Some(account) = &self.account else {
            return;
        };
        let Some((mut batch, sequences, arriving)) = self.core.take_batch(account.id) else {
            return;
        };
        batch.alphabet = self.alphabet.map(Into::into);
        batch.alphabet_is_fixed = self.core.protocol.is_cmpp();
        self.hand_over(batch, arriving, ctx, move |session, reply| match reply {
            Some(reply) => session.answer(&reply.results),
            None => {
                let failed = sequences.into_iter().map(|sequence| SubmitResult {
                    sequence,
                    status: CommandStatus::ESME_RSYSERR.0,
                    ..SubmitResult::default()
                });
                session.answer(&failed.collect::<Vec<_>>());
            }
        });
    }

    /// Hands a batch to Ingest; `answer` gets its reply after the commit. It gets none if Ingest failed on this batch:
    /// whether it was accepted is unknown then, so the sender must ask again rather than believe.
    pub(super) fn hand_over(
        &mut self,
        batch: SubmitBatch,
        arriving: Arriving,
        ctx: &mut Context<Self>,
        answer: impl FnOnce(&mut Self, Option<&SubmitReply>) + 'static,
    ) {
        self.core.snapshot.received_total += batch.submissions.len() as u64;
        let submit = Submit::timed(batch, Keys::None, &self.core.node);
        let request = self.ingest.send(submit);
        let turn = self.accepted.begin();
        ctx.spawn(request.into_actor(self).map(move |reply, session, ctx| {
            session.core.answered(arriving);
            let accepted = reply.ok();
            answer(session, accepted.as_ref().map(|accepted| &accepted.reply));
            session.accepted.pass_on(turn, accepted);
            session.go_on(ctx);
        }));
    }

    fn answer(&mut self, results: &[SubmitResult]) {
        let congestion = self.congestion(results);
        let form = self.id_form();
        self.core.answer(|protocol, came_as, out| {
            protocol.submitted(came_as, results, form, congestion, out);
        });
    }

    /// How busy we are for this peer, when it is worth telling and the peer can be told.
    pub(super) fn congestion(&self, results: &[SubmitResult]) -> Option<u8> {
        let account = self.account.as_ref()?;
        if self.core.protocol.peer_version() < 0x50 {
            return None;
        }
        let is_refusal = |result: &SubmitResult| {
            let status = CommandStatus(result.status);
            status == CommandStatus::ESME_RTHROTTLED || status == CommandStatus::ESME_RMSGQFUL
        };
        if results.iter().any(is_refusal) {
            return Some(CONGESTED);
        }
        let share = (self.core.intake * 100 / INTAKE).max(self.core.node.filled(account.id));
        (share >= BUSY).then(|| share.min(usize::from(CONGESTED)) as u8)
    }
}

/// Takes the sender's own name for a message from the TLV of this tag, with or without a NUL at its end.
fn name_by(tag: u32, message: &mut Message) {
    let tlvs = Tlvs::from_raw(message.tlvs.clone());
    let value = u16::try_from(tag).ok().and_then(|tag| tlvs.get(tag));
    let text = value.and_then(|octets| std::str::from_utf8(octets).ok());
    let reference = text.map(|text| text.trim_end_matches('\0'));
    let usable = |text: &&str| !text.is_empty() && check_reference(text).is_ok();
    if let Some(reference) = reference.filter(usable) {
        let client = message.client_data.get_or_insert_default();
        reference.clone_into(&mut client.reference);
    }
}
