//! What a session asks of its bind at a gateway.

use std::time::Instant;

use bytes::BytesMut;

use super::CarrierBind;
use crate::actors::egress::carrier::gateway::Gateway;
use crate::actors::egress::carrier::pending::Waiting;
use crate::actors::egress::operator_event::{BindEvent, OperatorAnswer, OperatorEvent};
use crate::actors::egress::upstream_protocol::UpstreamPeer;
use crate::actors::session::bound::{BoundProtocol, Encode, InFlight, LiveView, WITH_TLVS};
use crate::carrier::session::{Closed, State as FarState};
use crate::pb::PduDialect;
use crate::smpp::codec::BadCommandLength;
use crate::smpp::session::{BindType, SessionState, Tick};
use crate::smpp::window::LateWindow;
use crate::smpp::{CommandStatus, SubmitSm};

impl<G: Gateway> UpstreamPeer for CarrierBind<G> {
    fn bind(&mut self, now: Instant, bind_type: BindType, out: &mut BytesMut) {
        self.bind_type = bind_type;
        self.state = SessionState::Binding;
        if self.welcome.is_some() {
            self.enter_bound(now);
        } else {
            self.log_in(now, out);
        }
    }

    fn welcome(&mut self, now: Instant, out: &mut BytesMut) {
        if let (Some((sequence, body)), Some(far)) = (self.welcome.take(), &mut self.far) {
            // Its fields always fit.
            let _ = far.answer_login(sequence, body, now, out);
        }
    }

    fn unbind(&mut self, now: Instant, out: &mut BytesMut) {
        if !matches!(self.state, SessionState::Bound(_)) {
            return;
        }
        // Nothing makes the connection anew.
        self.is_asleep = false;
        self.state = SessionState::Unbinding;
        self.unbound_at = now;
        match &mut self.far {
            Some(far) if far.state() == FarState::Open => far.end(now, out),
            _ => self.ended(Closed::ByUs),
        }
    }

    fn answer(&mut self, sequence: u32, status: CommandStatus, out: &mut BytesMut) {
        if let Some(entry) = self.came.take(sequence) {
            self.reply(entry.item, status, out);
        }
    }

    fn has_news(&self) -> bool {
        !self.events.is_empty()
    }

    fn last_answers(&mut self) -> Vec<OperatorAnswer> {
        let unsent = self.pending.drain().collect();
        self.refuse(unsent);
        let answers = self.events.drain(..).filter_map(|event| match event {
            BindEvent::Answered(answer) => Some(answer),
            _ => None,
        });
        answers.collect()
    }

    fn finish(&mut self) {
        self.state = SessionState::Closed;
    }

    fn sleep(&mut self) -> bool {
        self.is_asleep |= self.may_sleep();
        if self.is_asleep {
            // Nothing may be sent on a connection that has ended; what it brought and was not answered comes again.
            self.far = None;
            self.came.drain();
        }
        self.is_asleep
    }

    fn wants_connection(&self) -> bool {
        self.is_asleep && !self.pending.is_empty()
    }

    fn wake(&mut self, now: Instant, out: &mut BytesMut) {
        self.is_asleep = false;
        self.is_retiring = false;
        self.log_in(now, out);
    }
}

impl<G: Gateway> BoundProtocol for CarrierBind<G> {
    type Event = OperatorEvent;

    fn dialect(&self) -> PduDialect {
        self.protocol.dialect()
    }

    fn state(&self) -> SessionState {
        self.state
    }

    fn messages(&self) -> &LateWindow<InFlight> {
        &self.messages
    }

    fn peer_version(&self) -> u8 {
        WITH_TLVS.min(self.plan.config.interface_version)
    }

    fn send(
        &mut self,
        now: Instant,
        context: InFlight,
        _: Encode,
        pdu: &mut SubmitSm,
        out: &mut BytesMut,
    ) -> bool {
        if self.room() == 0 {
            return false;
        }
        let carrier = self.carrier_of(&context);
        let Ok(number) = self.messages.insert(now, context) else {
            return false;
        };
        let message = Waiting::new(number, pdu, carrier, now);
        // Where none can share its request, it waits for none; its end is looked at where messages wait.
        let is_alone = G::MOST_RECIPIENTS == 1 && message.until.is_none();
        if is_alone && self.pending.is_empty() && self.has_room() {
            self.send_one(message, now, out);
        } else {
            self.pending.push(message);
        }
        true
    }

    fn end_batch(&mut self, now: Instant, out: &mut BytesMut) {
        self.send_pending(now, out);
    }

    fn next_event(
        &mut self,
        octets: &mut BytesMut,
        now: Instant,
        out: &mut BytesMut,
        view: LiveView<'_>,
    ) -> Result<Option<OperatorEvent>, BadCommandLength> {
        if self.state == SessionState::Closed {
            // The session is over: what the gateway still sends means nothing.
            octets.clear();
            return Ok(self.events.pop_front().map(OperatorEvent::Bind));
        }
        if !octets.is_empty() {
            self.heard_at = now;
            if let Some(far) = &mut self.far {
                far.receive(octets, now);
            }
            octets.clear();
            if self.asked_at.take().is_some() {
                // It would be overdue as soon as it is sent.
                self.refuse_overdue(now);
            }
        }
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(OperatorEvent::Bind(event)));
            }
            let far = self.far.as_mut().filter(|_| self.welcome.is_none());
            let event =
                far.and_then(|far| far.next_event_of(now, out, |frame| view.see(false, frame)));
            match event {
                Some(event) => self.on_event(event, now, out),
                None => {
                    self.send_pending(now, out);
                    if self.events.is_empty() {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn on_tick(&mut self, now: Instant, out: &mut BytesMut) -> Tick<InFlight> {
        Tick {
            expired: self.look_at_clock(now, out),
            close: None,
        }
    }

    fn take_lost(&mut self) -> Vec<InFlight> {
        self.state = SessionState::Closed;
        self.messages.take_all()
    }
}
