//! What keeps a session alive, and what ends it: silence, a peer that does not read, the drain, an
//! account that is gone.

use std::sync::atomic::Ordering;

use actix::{ActorContext, Context, Handler};
use tokio::time::Instant;

use super::{EsmeSession, INTAKE, UNBOUND};
use crate::actors::ingress::listener::proxy;
use crate::actors::runtime::link::{Linked, Outbox};
use crate::actors::runtime::locks::lock;
use crate::actors::session::bind_permits::KeptPermit;
use crate::actors::session::bound::BoundProtocol as _;
use crate::actors::session::outgoing::Serving;
use crate::pb::BindCommand;
use crate::pb::bind_command::Verb;
use crate::smpp::Leniency;
use crate::smpp::session::SessionState;
use crate::telemetry::metrics::ReasonLabel;

impl EsmeSession {
    /// Something is answered: begins what waited for it, reads on, and ends what is to end.
    pub(super) fn go_on(&mut self, ctx: &mut Context<Self>) {
        self.next_operation(ctx);
        if let Some(outbox) = &self.core.outbox {
            outbox.resume();
        }
        self.end_if_answered();
    }

    /// Counts octets of a PDU that came before the bind. Ends the session of a peer that sends many of them, when they are
    /// answered; whether it does.
    pub(super) fn has_said_enough(&mut self, octets: usize) -> bool {
        self.before_bind += octets;
        if self.before_bind <= UNBOUND {
            return false;
        }
        let metrics = &self.core.node.metrics;
        let label = ReasonLabel { reason: "unbound" };
        metrics.connections_failed.get_or_create(&label).inc();
        if self.gate.bind_guard.may_log(self.peer.ip()) {
            tracing::warn!(peer = %self.peer, octets = self.before_bind, "session ended: it sends requests without a bind");
        }
        self.core.protocol.finish();
        self.end();
        true
    }

    /// Closes the connection when everything that came is answered and written.
    pub(super) fn end(&mut self) {
        self.ending = true;
        self.end_if_answered();
    }

    pub(super) fn end_if_answered(&mut self) {
        if !self.has_answered() {
            return;
        }
        if self.core.protocol.state() == SessionState::Leaving {
            self.core.write(|smpp, out| smpp.answer_unbind(out));
            self.ending = true;
        }
        if self.ending {
            self.close();
        }
    }

    /// Whether nothing that came waits for its answer.
    pub(super) fn has_answered(&self) -> bool {
        self.core.intake == 0
            && self.core.submissions.is_empty()
            && self.multis.is_empty()
            && self.operations.is_idle()
    }

    /// Closes the connection when what is in the outbox is written.
    pub(super) fn close(&mut self) {
        if let Some(outbox) = &self.core.outbox {
            outbox.close();
        }
    }

    /// The peer has ended the session: what it has not answered is under suspicion, unless we had unbound it, or its
    /// answers may wait unread, because we do not read.
    pub(super) fn cut_off(&mut self) {
        let is_unread = self.core.has_enough(INTAKE) || self.operations.is_full();
        if !self.unbound && !is_unread {
            self.core.give_back(Serving::ended);
        }
        self.leave();
    }

    /// Settles everything that is still unanswered; idempotent.
    pub(super) fn leave(&mut self) {
        self.core.give_back(Serving::unanswered);
        self.permit = KeptPermit::default();
        self.core.node.binds.remove(self.core.port.session);
    }

    /// A session that ends waits for its last answers and writes them first; a peer that does not read
    /// must not keep it by that, nor one that lets more and more answers wait.
    pub(super) fn cut_off_if_stuck(&mut self, now: Instant, ctx: &mut Context<Self>) {
        let is_ending = self.core.protocol.state() == SessionState::Closed;
        let does_not_read =
            self.core.is_stuck() || self.core.outbox.as_ref().is_some_and(Outbox::is_over);
        if !self.core.has_stalled(is_ending || does_not_read, now) {
            return;
        }
        if does_not_read {
            tracing::warn!(peer = %self.peer, name = %self.core.snapshot.name, "session ended: the peer does not read");
            self.core.node.metrics.slow_readers.inc();
        }
        self.cut_off();
        ctx.stop();
    }

    /// Whether nothing more is read before the peer is unbound, so that no ESME is refused because a node stops:
    /// what it has submitted by then is not accepted, and it submits that again elsewhere. Answers to
    /// deliver_sm are read still, and with them what the peer submits, which is accepted as ever.
    pub(super) fn is_about_to_unbind(&self) -> bool {
        self.core.node.draining.load(Ordering::Relaxed)
            && matches!(self.core.protocol.state(), SessionState::Bound(_))
            && self.core.protocol.in_flight() == 0
    }

    /// While the node drains: nothing new is taken from the queue, the windows of both directions are
    /// finished, then the peer is unbound. When the time for that is over, it is unbound as it is.
    pub(super) fn finish_if_draining(&mut self, now: Instant) {
        if !self.core.node.draining.load(Ordering::Relaxed) {
            if self.draining_since.take().is_some() {
                // Its queue was told that it takes no more; only a new bind takes that back.
                self.unbind(now);
            }
            return;
        }
        let since = *self.draining_since.get_or_insert_with(|| {
            if let Some(serving) = &self.core.serving {
                serving.retire();
            }
            now
        });
        let time_is_over = now.duration_since(since) >= self.core.node.config().smpp.drain_timeout;
        let is_finished = self.has_answered() && self.core.protocol.in_flight() == 0;
        match self.core.protocol.state() {
            SessionState::Bound(_) if is_finished || time_is_over => self.unbind(now),
            SessionState::Bound(_) => {}
            SessionState::Unbinding if time_is_over => self.close(),
            SessionState::Unbinding => {}
            // Closed when it is answered.
            SessionState::Leaving | SessionState::Closed
                if !time_is_over && !self.has_answered() => {}
            SessionState::Open
            | SessionState::Binding
            | SessionState::Leaving
            | SessionState::Closed => self.close(),
        }
    }

    fn unbind(&mut self, now: Instant) {
        self.unbound = true;
        self.core
            .write(|smpp, out| smpp.unbind(now.into_std(), out));
        // Its answer is read behind what the peer had sent before.
        if let Some(outbox) = &self.core.outbox {
            outbox.resume();
        }
    }

    /// Has its queue hand it nothing more: what cannot be sent any more would come back at once, and again.
    fn take_no_more(&mut self) {
        self.unbound = true;
        if let Some(serving) = &self.core.serving {
            serving.retire();
        }
    }

    /// An account that is gone, or may not bind any more, is unbound; so are binds that receive, when
    /// what they received comes another way. Another password is for new binds: who rotates it must
    /// not lose what is bound.
    pub(super) fn drop_if_removed(&mut self) {
        let Some(account) = &self.account else { return };
        let receives = lock(&self.core.port.alerts).is_some();
        let by_bind = account.config.deliver_by.by_bind();
        let current = self.core.node.plan().account_by_id(account.id).cloned();
        match current.filter(|one| !receives || one.config.deliver_by.by_bind() == by_bind) {
            Some(current) => {
                self.account = Some(current);
                self.judge_strictly();
            }
            None => {
                self.take_no_more();
                self.core
                    .write(|smpp, out| smpp.unbind(Instant::now().into_std(), out));
            }
        }
    }

    /// Forgives the peer what its account may be forgiven. Its bind is read before anybody knows whose it
    /// is, and forgiven as everybody's.
    pub(super) fn judge_strictly(&mut self) {
        let Some(account) = &self.account else { return };
        let leniency = if account.config.strict {
            Leniency::strict()
        } else {
            Leniency::default()
        };
        self.core.protocol.set_leniency(leniency);
    }

    /// Has its bind counted over all nodes, when that was not possible before.
    pub(super) fn keep_permit(&mut self, now: Instant) {
        if let Some(account) = &self.account {
            self.permit.keep(&self.core.node, account, now);
        }
    }
}

impl Handler<BindCommand> for EsmeSession {
    type Result = ();

    fn handle(&mut self, command: BindCommand, ctx: &mut Self::Context) {
        let now = Instant::now();
        match command.verb() {
            // What it may have answered waits unread, because we do not read.
            Verb::Prove if self.is_busy() => self.core.port.hear(now),
            Verb::Prove => {
                self.core
                    .write(|smpp, out| smpp.enquire(now.into_std(), out));
            }
            // It may have answered in the last moment.
            Verb::Replace if self.core.protocol.is_enquiring() => {
                let silent = now.saturating_duration_since(self.core.port.heard_at());
                tracing::warn!(name = %self.core.snapshot.name, peer = %self.peer, ?silent, "session ended: silent, and another bind of its account needs the room");
                self.core.node.metrics.binds_replaced.inc();
                self.leave();
                ctx.stop();
            }
            // Ordered again, it does not wait for the answer to the first unbind.
            Verb::Disconnect if self.core.protocol.state() == SessionState::Unbinding => {
                self.close()
            }
            Verb::Disconnect => {
                tracing::info!(name = %self.core.snapshot.name, peer = %self.peer, "unbound by command");
                self.take_no_more();
                self.unbind(now);
            }
            // The others are for outbound binds.
            _ => {}
        }
    }
}

/// What speaks on a plain listener instead of SMPP, for the log.
pub(super) fn what_it_may_be(octets: &[u8]) -> &'static str {
    // A TLS handshake record (RFC 8446 section 5.1).
    if octets.starts_with(&[0x16, 0x03]) {
        ": the client speaks TLS to a listener without tls_cert"
    } else if octets.starts_with(&proxy::SIGNATURE[..4]) || octets.starts_with(proxy::VERSION_1) {
        ": a PROXY protocol header came to a listener without proxy_from"
    } else {
        ""
    }
}
