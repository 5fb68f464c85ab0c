//! What a session with a client speaks: SMPP, or CMPP.

use std::time::Instant;

use bytes::BytesMut;

use super::carrier::CmppClient;
use crate::actors::receipts::shown_id::{Digits, IdNotation};
use crate::actors::session::core::CameAs;
use crate::actors::session::spoken_protocol::{SpokenProtocol, either};
use crate::cmpp::bodies::QueryResp;
use crate::config::Account;
use crate::pb::SubmitResult;
use crate::smpp::codec::BadCommandLength;
use crate::smpp::{
    CommandId, CommandStatus, Leniency, OutbindRequest, Pdu, SubmitRespTail,
    encode_deliver_sm_resp, encode_error_resp, encode_message_resp,
};

/// See the file's documentation.
pub(super) type ClientProtocol = SpokenProtocol<CmppClient>;

// === impl ClientProtocol ===

impl ClientProtocol {
    /// Whether it is CMPP: then ids, texts and receipts are as that has them, whatever the account says of SMPP.
    pub(super) fn is_cmpp(&self) -> bool {
        matches!(self, Self::Other(_))
    }

    /// Whether the login has proven a secret of this account; `None` where it has a password.
    pub(super) fn proves(&self, account: &Account) -> Option<bool> {
        match self {
            Self::Smpp(_) => None,
            Self::Other(cmpp) => Some(cmpp.proven(account).is_some()),
        }
    }

    /// Accepts the bind or login of this account.
    pub(super) fn accept_bind(
        &mut self,
        now: Instant,
        sequence: u32,
        account: &Account,
        out: &mut BytesMut,
    ) {
        match self {
            Self::Smpp(smpp) => smpp.accept_bind(now, sequence, out),
            Self::Other(cmpp) => cmpp.accept_login(now, account, out),
        }
    }

    /// Refuses a bind or login; after a login the session is over.
    pub(super) fn reject_bind(&mut self, sequence: u32, status: CommandStatus, out: &mut BytesMut) {
        match self {
            Self::Smpp(smpp) => smpp.reject_bind(sequence, status, out),
            Self::Other(cmpp) => cmpp.reject_login(status, out),
        }
    }

    /// Sets the window of the account that has bound. Only before anything was sent.
    pub(super) fn set_window(&mut self, window: usize) {
        either!(self, one => one.set_window(window));
    }

    /// Overrides the version of the account that binds.
    pub(super) fn set_peer_version(&mut self, version: u8) {
        if let Self::Smpp(smpp) = self {
            smpp.set_peer_version(version);
        }
    }

    /// Tolerated deviations of the account that has bound.
    pub(super) fn set_leniency(&mut self, leniency: Leniency) {
        if let Self::Smpp(smpp) = self {
            smpp.set_leniency(leniency);
        }
    }

    pub(super) fn outbind(&mut self, outbind: OutbindRequest, out: &mut BytesMut) {
        if let Self::Smpp(smpp) = self {
            smpp.outbind(outbind, out);
        }
    }

    /// Writes a request beside the window, whose answer means nothing; CMPP has none.
    pub(super) fn notify(&mut self, out: &mut BytesMut, write: impl FnOnce(&mut BytesMut, u32)) {
        if let Self::Smpp(smpp) = self {
            smpp.notify(out, write);
        }
    }

    pub(super) fn unbind(&mut self, now: Instant, out: &mut BytesMut) {
        either!(self, one => one.unbind(now, out));
    }

    /// Answers the client's unbind or CMPP_TERMINATE.
    pub(super) fn answer_unbind(&mut self, out: &mut BytesMut) {
        either!(self, one => one.answer_unbind(out));
    }

    /// Asks whether the client is there, unless it was asked already.
    pub(super) fn enquire(&mut self, now: Instant, out: &mut BytesMut) {
        either!(self, one => one.enquire(now, out));
    }

    pub(super) fn is_enquiring(&self) -> bool {
        either!(self, one => one.is_enquiring())
    }

    /// Answers octets that cannot be divided into PDUs.
    pub(super) fn on_bad_length(&mut self, bad: BadCommandLength, out: &mut BytesMut) {
        match self {
            Self::Smpp(smpp) => {
                smpp.on_bad_length(bad, out);
            }
            Self::Other(cmpp) => cmpp.finish(),
        }
    }

    /// The client sends nothing more.
    pub(super) fn finish(&mut self) {
        either!(self, one => one.finish());
    }

    /// Whether there are events that no octets bring.
    pub(super) fn has_news(&self) -> bool {
        matches!(self, Self::Other(cmpp) if cmpp.has_news())
    }

    /// Answers submissions; `congestion`: how busy we are, for a peer that can be told.
    pub(super) fn submitted(
        &mut self,
        came_as: &mut CameAs,
        results: &[SubmitResult],
        form: IdNotation,
        congestion: Option<u8>,
        out: &mut BytesMut,
    ) {
        let mut digits = Digits::default();
        for result in results {
            let status = CommandStatus(result.status);
            if let Self::Other(cmpp) = self {
                cmpp.submitted(result.sequence, status, result.id, &[], out);
                continue;
            }
            let command_id = came_as
                .take(result.sequence)
                .unwrap_or(CommandId::SUBMIT_SM);
            if command_id == CommandId::DELIVER_SM {
                encode_deliver_sm_resp(out, result.sequence, status);
                continue;
            }
            let message_id = if status.is_ok() {
                form.write(result.id, &mut digits)
            } else {
                &[]
            };
            let tail = SubmitRespTail {
                message_id,
                congestion,
            };
            encode_message_resp(out, command_id.response(), result.sequence, status, tail);
        }
    }

    /// Answers any other request.
    pub(super) fn answer(&mut self, answer: &Pdu, out: &mut BytesMut) {
        match self {
            Self::Smpp(_) => answer.encode(out),
            Self::Other(cmpp) => cmpp.answer(answer, out),
        }
    }

    /// Answers a request with an error.
    pub(super) fn refuse(
        &mut self,
        command_id: CommandId,
        sequence: u32,
        status: CommandStatus,
        out: &mut BytesMut,
    ) {
        match self {
            Self::Smpp(_) => encode_error_resp(out, command_id, sequence, status),
            Self::Other(cmpp) => cmpp.submitted(sequence, status, 0, &[], out),
        }
    }

    /// Answers a CMPP_QUERY.
    pub(super) fn answer_query(&mut self, sequence: u32, resp: QueryResp, out: &mut BytesMut) {
        if let Self::Other(cmpp) = self {
            cmpp.answer_query(sequence, resp, out);
        }
    }
}
