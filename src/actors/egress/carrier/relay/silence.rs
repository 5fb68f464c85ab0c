//! What the session is told while the gateway says nothing: what was never sent goes back in time, and whether the gateway
//! is still there is for the gateway to say.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::Relay;
use crate::actors::egress::carrier::gateway::Gateway;
use crate::actors::egress::carrier::pending::Waiting;
use crate::actors::session::server_end;
use crate::smpp::{CommandId, CommandStatus, Header, encode_empty_resp, encode_submit_sm_resp};

/// After so long without an answer, and with nothing else, a gateway is silent: longer than between two looks at the
/// clock, so that one that is only slow is not always taken for that.
const SILENCE: Duration = Duration::from_secs(1);

impl<G: Gateway> Relay<G> {
    /// What waits for a slow gateway goes back to its queue before the session takes it for unanswered: it was never sent.
    /// Of one that is silent our side hears nothing.
    pub(super) fn refuse_overdue(&mut self, now: Instant) {
        if (self.far.as_ref()).is_some_and(|far| far.is_silent(now, SILENCE)) {
            return;
        }
        let patience = self.plan.config.response_timeout() / 2;
        let overdue = self.pending.take_overdue(now, patience);
        self.refuse(overdue);
    }

    /// The last words: what was never sent may be sent at once.
    pub fn refuse_pending(&mut self) {
        let all = self.pending.drain().collect();
        self.refuse(all);
    }

    pub(super) fn refuse(&mut self, messages: Vec<Waiting>) {
        for message in messages {
            let status = CommandStatus::ESME_RMSGQFUL;
            let (out, sequence) = (&mut self.near_out, message.sequence);
            encode_submit_sm_resp(out, sequence, status, server_end::NOT_SENT);
        }
    }

    /// Our side asks whether its peer is there. While a request has brought nothing, only the gateway can say that.
    pub(super) fn asks_gateway(&mut self, frame: &Bytes) -> bool {
        let header = Header::parse(frame);
        let header = header.filter(|header| header.command_id == CommandId::ENQUIRE_LINK);
        let now = Instant::now();
        let silent = (self.far.as_mut()).filter(|far| far.is_silent(now, Duration::ZERO));
        let (Some(header), Some(far)) = (header, silent) else {
            return false;
        };
        far.ask(now, &mut self.far_out);
        self.enquired = Some(header.sequence);
        true
    }

    /// The gateway has said something.
    pub(super) fn is_heard(&mut self) {
        if let Some(sequence) = self.enquired.take() {
            let (command, status) = (CommandId::ENQUIRE_LINK_RESP, CommandStatus::ESME_ROK);
            encode_empty_resp(&mut self.near_out, command, sequence, status);
        }
    }
}
