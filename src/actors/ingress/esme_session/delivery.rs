//! What goes to the ESME: receipts and MO that its account's queue grants, and alerts.

use std::borrow::Cow;

use actix::{Context, Handler};

use super::EsmeSession;
use crate::actors::context::plan::AccountPlan;
use crate::actors::receipts::receipt;
use crate::actors::routing::rewrite;
use crate::actors::runtime::link::Outbox;
use crate::actors::session::bound::DeliveryOperation;
use crate::actors::session::data_sm;
use crate::actors::session::outgoing::Prepared;
use crate::config::DeliverAs;
use crate::content::peer::{PeerEncoding, shape};
use crate::content::{self, door, pdu};
use crate::pb::delivery::What;
use crate::pb::{Alphabet, DeliverBatch, ForwardAlert, Message, ReportHeld};
use crate::smpp::codec::decode;
use crate::smpp::{Decoded, Leniency};

/// How an account wants its messages on this bind: where it does not say what data_coding 0 means,
/// its listener does; over CMPP it is as that has it.
fn peer_encoding_of(
    account: Option<&AccountPlan>,
    listener: Option<Alphabet>,
    is_cmpp: bool,
) -> Option<Cow<'_, PeerEncoding>> {
    let account = account?;
    if is_cmpp {
        return Some(Cow::Owned(account.peer_encoding.clone().over_carrier()));
    }
    Some(match (account.config.alphabet, listener) {
        (None, Some(alphabet)) => Cow::Owned(PeerEncoding {
            alphabet: content::alphabet(alphabet),
            ..account.peer_encoding.clone()
        }),
        _ => Cow::Borrowed(&account.peer_encoding),
    })
}

impl Handler<DeliverBatch> for EsmeSession {
    type Result = ();

    fn handle(&mut self, batch: DeliverBatch, ctx: &mut Context<Self>) {
        let operation = self.operation();
        let with_tlvs = self.core.with_tlvs();
        let account = self.account.as_deref();
        let is_cmpp = self.core.protocol.is_cmpp();
        let peer_encoding = peer_encoding_of(account, self.alphabet, is_cmpp);
        self.core.deliver(batch, operation, |message, what| {
            let mut pdu = pdu::deliver_sm_of(message);
            let characters_changed = peer_encoding
                .as_ref()
                .map_or(0, |encoding| shape::shape(&mut pdu, message, encoding));
            let is_receipt = what == What::Receipt || content::is_receipt_copy(message);
            let rewritten = match (account, is_receipt) {
                (Some(_), true) if is_cmpp => Ok(()),
                (Some(account), true) => {
                    receipt::shape(&mut pdu, account.config.receipt_form, with_tlvs);
                    Ok(())
                }
                (Some(account), _) => rewrite::outgoing(&account.rewrite_out, &mut pdu),
                (None, _) => Ok(()),
            };
            Prepared {
                pdu,
                keep_message: false,
                receipt_expected: false,
                characters_changed,
                refused: rewritten.err(),
            }
        });
        self.take_news(ctx);
    }
}

impl EsmeSession {
    /// Which operation carries messages on this bind.
    fn operation(&self) -> DeliveryOperation {
        let as_data_sm = !self.core.protocol.is_cmpp()
            && self.core.with_tlvs()
            && self
                .account
                .as_ref()
                .is_some_and(|account| account.config.deliver_as == DeliverAs::DataSm);
        if as_data_sm {
            DeliveryOperation::DATA_SM
        } else {
            DeliveryOperation::DELIVER_SM
        }
    }

    /// Writes an intermediate notification beside the window: its answer means nothing to us. An ESME
    /// that does not read gets none.
    fn notify(&mut self, message: &Message) {
        let encode = self.operation().encode;
        if self.core.outbox.as_ref().is_none_or(Outbox::is_filling) {
            return;
        }
        let mut pdu = pdu::deliver_sm_of(message);
        if let Some(peer_encoding) = peer_encoding_of(
            self.account.as_deref(),
            self.alphabet,
            self.core.protocol.is_cmpp(),
        ) {
            shape::shape(&mut pdu, message, &peer_encoding);
        }
        let with_tlvs = self.core.with_tlvs();
        if let Some(account) = &self.account {
            receipt::shape(&mut pdu, account.config.receipt_form, with_tlvs);
        }
        let fits = door::leave(&mut pdu, door::ADDRESS).is_ok();
        if !fits || !with_tlvs && !data_sm::without_tlvs(&mut pdu) {
            return;
        }
        self.core
            .write(|smpp, out| smpp.notify(out, |out, sequence| encode(out, sequence, &pdu)));
    }
}

impl Handler<ForwardAlert> for EsmeSession {
    type Result = ();

    fn handle(&mut self, forward: ForwardAlert, _: &mut Self::Context) {
        if let Some(message) = &forward.notification {
            return self.notify(message);
        }
        // 3.3 does not know it.
        if !self.core.with_tlvs() {
            return;
        }
        if let Decoded::Pdu(mut alert) = decode(&forward.pdu, &Leniency::default()) {
            self.core.write(|smpp, out| {
                smpp.notify(out, |out, sequence| {
                    alert.sequence = sequence;
                    alert.encode(out);
                })
            });
        }
    }
}

impl Handler<ReportHeld> for EsmeSession {
    type Result = ();

    fn handle(&mut self, ask: ReportHeld, _: &mut Self::Context) {
        self.core.report(&ask);
    }
}
