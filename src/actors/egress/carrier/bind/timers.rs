//! What time demands of a bind at a gateway: what was never sent goes back in time, what is overdue is given up once the
//! gateway is known to be there, and a connection without work is closed and made anew.

use std::time::{Duration, Instant};

use bytes::BytesMut;

use super::CarrierBind;
use crate::actors::egress::carrier::gateway::{self, Gateway};
use crate::actors::egress::operator_event::BindEvent;
use crate::actors::session::bound::InFlight;
use crate::carrier;
use crate::carrier::session::{Closed, State as FarState};
use crate::config::OutcomePolicy;
use crate::smpp::session::{CloseReason, SessionState};
use crate::smpp::timers::Timers;

/// After so long without an answer, and with nothing else, a gateway is silent: longer than between two looks at the
/// clock, so that one that is only slow is not always taken for that.
const SILENCE: Duration = Duration::from_secs(1);

impl<G: Gateway> CarrierBind<G> {
    pub(super) fn look_at_clock(&mut self, now: Instant, out: &mut BytesMut) -> Vec<InFlight> {
        while self.came.pop_expired(now).is_some() {}
        if self.state == SessionState::Closed {
            return Vec::new();
        }
        let far = self.far.as_mut().map(|far| far.on_tick(now, out));
        if let Some(closed) = far.and_then(|far| far.closed) {
            self.ended(closed);
            return Vec::new();
        }
        let since = |at: Instant| now.saturating_duration_since(at);
        if self.state == SessionState::Unbinding
            && since(self.unbound_at) >= Timers::default().unbind_answer
        {
            self.state = SessionState::Closed;
            let event = BindEvent::Close(CloseReason::UnbindTimeout);
            self.events.push_back(event);
        }
        // Not all protocols can ask, and those that can may be told not to.
        if self
            .asked_at
            .is_some_and(|at| since(at) >= self.longest_silence())
        {
            self.ended(Closed::Silent);
            return Vec::new();
        }
        self.end_if_idle(now, out);
        self.refuse_overdue(now);
        let expired = self.expire(now, out);
        self.send_pending(now, out);
        expired
    }

    /// For how long a gateway may be silent that has been asked whether it is there: longer than its session asks.
    fn longest_silence(&self) -> Duration {
        let far = gateway::session_of::<G>(&self.plan.config);
        far.response + far.probe * far.probes
    }

    /// Who has ended the session matters only where messages are sent again.
    fn asks_before_expiry(&self) -> bool {
        let config = &self.plan.config;
        config.outcome_unknown == OutcomePolicy::Resend
            && !config.enquire_link_interval.is_zero()
            && matches!(self.state, SessionState::Bound(_))
    }

    /// Gives up what is overdue. What a gateway fell silent on is lost with the session, so while it has said nothing since,
    /// it is asked first.
    fn expire(&mut self, now: Instant, out: &mut BytesMut) -> Vec<InFlight> {
        let mut expired = Vec::new();
        while let Some(oldest) = self.messages.oldest()
            && oldest.deadline <= now
        {
            let is_unheard = self.heard_at <= oldest.sent_at;
            if is_unheard && self.asks_before_expiry() && self.may_be_gone(now) {
                if let Some(far) = &mut self.far {
                    far.ask(now, out);
                }
                self.asked_at.get_or_insert(now);
                break;
            }
            expired.extend(self.messages.give_up(now));
        }
        self.messages.forget(now);
        expired
    }

    /// Whether a request has brought nothing, not even another sign of life.
    fn may_be_gone(&self, now: Instant) -> bool {
        self.asked_at.is_some()
            || (self.far.as_ref()).is_some_and(|far| far.is_silent(now, Duration::ZERO))
    }

    /// What waits for a slow gateway goes back to its queue before it counts as unanswered: it was never sent. For one that
    /// is silent, that would bring it back here at once.
    pub(super) fn refuse_overdue(&mut self, now: Instant) {
        let timeout = self.plan.config.response_timeout();
        let is_silent = (self.far.as_ref()).is_some_and(|far| far.is_silent(now, SILENCE));
        let patience = match (is_silent, self.asks_before_expiry()) {
            (true, true) => return,
            (true, false) => timeout,
            (false, _) => timeout / 2,
        };
        let overdue = self.pending.take_overdue(now, patience);
        self.refuse(overdue);
    }

    /// Ends a connection that had no work for long.
    fn end_if_idle(&mut self, now: Instant, out: &mut BytesMut) {
        let after = self.plan.config.enquire_link_interval;
        let is_long = !after.is_zero() && now.saturating_duration_since(self.busy_at) >= after;
        if is_long
            && self.may_sleep()
            && self.came.is_empty()
            && let Some(far) = &mut self.far
            && far.state() == FarState::Open
        {
            self.is_retiring = true;
            far.end(now, out);
        }
    }

    /// Whether the end of the connection would lose nothing, and it is made anew when there is work.
    pub(super) fn may_sleep(&self) -> bool {
        G::SLEEPS
            && matches!(self.state, SessionState::Bound(_))
            && !self.is_theirs
            && (self.pending.is_empty() || self.is_retiring)
            && self.far.as_ref().is_none_or(carrier::Session::is_idle)
    }
}
