//! A signalling point: an application server over several links, and SCCP on top of it.
//!
//! The caller tells what happens on its links ([`SignallingPoint::connected`], [`SignallingPoint::closed`],
//! [`SignallingPoint::received`]), sends ([`SignallingPoint::send`]), and calls [`SignallingPoint::on_tick`]
//! a few times a second. After each of them it takes what is to be written
//! ([`SignallingPoint::next_transmit`]) and what happened ([`SignallingPoint::next_event`]) until there is
//! none.
//!
//! Invariants: traffic goes over active links only, and to destinations that such a link reaches. With
//! override one link at a time is asked to carry traffic, and the next one when that fails; with loadshare
//! all are, and the same SLS takes the same link for as long as that is active.

use std::time::Instant;

use bytes::Bytes;

use crate::asp::{AspLink, LinkNews, LinkTurn};
use crate::config::{SignallingConfig, TrafficMode};
use crate::destinations::WrittenDestinations;
use crate::m3ua::{M3uaKind, M3uaMessage, ProtocolData, SERVICE_SCCP, tag};
use crate::output::{
    LinkState, LinkView, M3uaTransmit, SignallingEvent, SignallingOutput, SignallingUnavailable,
};
use crate::reassembly::Reassemblies;
use crate::sccp::{SccpMessage, SccpWriteError};
use crate::segments::{UnitdataRequest, messages};
use crate::{PointCode, SccpAddress, SccpRouting};

mod incoming;

/// Bits of the signalling link selection.
const SLS: u32 = 0x0F;

/// A signalling point.
#[derive(Debug)]
pub struct SignallingPoint {
    config: SignallingConfig,
    links: Vec<AspLink>,
    views: Vec<LinkView>,
    /// With override: the link that carries the traffic, or is to.
    carrier: Option<usize>,
    is_active: bool,
    is_stopped: bool,
    written: WrittenDestinations,
    reassemblies: Reassemblies,
    /// Of the next message in segments.
    reference: u32,
    out: SignallingOutput,
}

// === impl SignallingPoint ===

impl SignallingPoint {
    /// One whose links are all closed.
    #[must_use]
    pub fn new(config: SignallingConfig, now: Instant) -> Self {
        let count = config.links.max(1);
        let closed = LinkView {
            state: LinkState::Closed,
            since: now,
            last_error: None,
        };
        let mut written = WrittenDestinations::default();
        written.note(config.destination);
        Self {
            links: (0..count).map(|number| AspLink::new(number, now)).collect(),
            views: vec![closed; count],
            carrier: None,
            is_active: false,
            is_stopped: false,
            written,
            reassemblies: Reassemblies::new(config.max_reassemblies, config.reassembly_timeout),
            // After a restart, peers may still hold segments of before.
            reference: ahash::RandomState::new().hash_one(0_u8) as u32,
            out: SignallingOutput::default(),
            config,
        }
    }

    /// A link is connected.
    pub fn connected(&mut self, link: usize, now: Instant) {
        if let Some(asp) = self.links.get_mut(link) {
            asp.connected(&mut LinkTurn::new(&self.config, now, &mut self.out));
        }
        self.settle(now);
    }

    /// A link is not connected any more. What was to be written to it is gone.
    pub fn closed(&mut self, link: usize, now: Instant) {
        if let Some(asp) = self.links.get_mut(link) {
            asp.closed();
            self.out.transmits.retain(|transmit| transmit.link != link);
        }
        self.settle(now);
    }

    /// Takes exactly one message of a link.
    pub fn received(&mut self, link: usize, m3ua: &Bytes, now: Instant) {
        let Some(asp) = self.links.get_mut(link) else {
            return;
        };
        let mut turn = LinkTurn::new(&self.config, now, &mut self.out);
        match asp.received(m3ua, &mut turn) {
            // Nothing changes by data.
            Some(LinkNews::Data(data)) => return self.on_sccp(link, &data, now),
            Some(LinkNews::Congestion(affected, level)) => {
                let told = self.written.set_congested(&affected, level, now);
                self.tell_congestion(told, level);
            }
            Some(LinkNews::Destinations) | None => {}
        }
        self.settle(now);
    }

    /// Sends a message.
    ///
    /// # Errors
    /// Why it cannot be sent; then nothing is.
    pub fn send(
        &mut self,
        request: &UnitdataRequest,
        _now: Instant,
    ) -> Result<(), SignallingUnavailable> {
        let destination = self.destination_of(&request.called);
        self.written.note(destination);
        let selection = (request.sequence & SLS) as u8;
        let link = self.link_for(destination, selection)?;
        self.reference = self.reference.wrapping_add(1);
        let messages = messages(request, self.config.max_unitdata, self.reference)?;
        let octets = messages.iter().map(SccpMessage::encode);
        let octets = octets.collect::<Result<Vec<Bytes>, _>>()?;
        for data in octets {
            self.transfer(link, destination, selection, data);
        }
        Ok(())
    }

    /// Looks at the clock: asks again, beats, and gives up what takes too long.
    pub fn on_tick(&mut self, now: Instant) {
        let points: Vec<PointCode> = self.written.points().collect();
        let mut turn = LinkTurn::new(&self.config, now, &mut self.out);
        for asp in &mut self.links {
            asp.on_tick(&points, &mut turn);
        }
        // With loadshare, who is not needed beside the others need not ask while these carry the traffic.
        let is_alone = !self.links.iter().any(AspLink::is_active);
        if is_alone || self.config.mode == TrafficMode::Override {
            self.links
                .iter_mut()
                .for_each(|asp| asp.expire_override(now));
        }
        let ended = self.written.expire(now);
        self.tell_congestion(ended, 0);
        self.reassemblies.expire(now);
        self.settle(now);
    }

    /// Ends the traffic in an orderly way: gateways are told on every link, and no link becomes active again.
    /// Write what is to be written, and close the links.
    pub fn stop(&mut self, now: Instant) {
        self.is_stopped = true;
        let mut turn = LinkTurn::new(&self.config, now, &mut self.out);
        for asp in &mut self.links {
            asp.stop(&mut turn);
        }
        self.settle(now);
    }

    /// What happened next.
    pub fn next_event(&mut self) -> Option<SignallingEvent> {
        self.out.events.pop_front()
    }

    /// What is to be written next.
    pub fn next_transmit(&mut self) -> Option<M3uaTransmit> {
        self.out.transmits.pop_front()
    }

    /// Whether a link carries traffic.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.is_active
    }

    /// The links, in their order.
    #[must_use]
    pub fn links(&self) -> &[LinkView] {
        &self.views
    }

    /// How congested a destination is, 0 to 3.
    #[must_use]
    pub fn congestion(&self, destination: PointCode) -> u8 {
        self.written.congestion(destination)
    }

    /// How many messages wait for segments.
    #[must_use]
    pub fn reassemblies(&self) -> usize {
        self.reassemblies.len()
    }

    /// The DPC of what is sent to an address.
    fn destination_of(&self, called: &SccpAddress) -> PointCode {
        let by_ssn = called
            .point_code
            .filter(|_| called.routing == SccpRouting::Ssn);
        by_ssn.unwrap_or(self.config.destination)
    }

    /// The link for a destination. One SLS stays on its link while that can carry it, whatever becomes of
    /// others.
    fn link_for(
        &self,
        destination: PointCode,
        selection: u8,
    ) -> Result<usize, SignallingUnavailable> {
        if !self.links.iter().any(AspLink::is_active) {
            return Err(SignallingUnavailable::Inactive);
        }
        let reaches = |number: usize| {
            let asp = &self.links[number];
            asp.is_active() && asp.states().is_available(destination)
        };
        let (selection, count) = (usize::from(selection), self.links.len());
        let home = selection % count;
        if reaches(home) {
            return Ok(home);
        }
        let others: Vec<usize> = (0..count).filter(|number| reaches(*number)).collect();
        let place = (selection / count).checked_rem(others.len());
        place
            .map(|place| others[place])
            .ok_or(SignallingUnavailable::Destination(destination))
    }

    /// Hands a message of SCCP to a link.
    fn transfer(&mut self, link: usize, destination: PointCode, selection: u8, data: Bytes) {
        let data = ProtocolData {
            originating: self.config.own,
            destination,
            service: SERVICE_SCCP,
            network_indicator: self.config.network_indicator,
            priority: 0,
            selection,
            data,
        };
        let context = self.links[link].routing_context(&self.config);
        let message = M3uaMessage::new(M3uaKind::DATA)
            .with_number(tag::NETWORK_APPEARANCE, self.config.network_appearance)
            .with_number(tag::ROUTING_CONTEXT, context)
            .with(data.to_parameter());
        // A message of SCCP is far below what a parameter holds.
        if let Ok(octets) = message.encode() {
            self.out.transmits.push_back(M3uaTransmit {
                link,
                stream: 1 + u16::from(selection),
                octets,
            });
        }
    }

    /// After anything that may have changed a link: who carries the traffic, and what is to be told.
    fn settle(&mut self, now: Instant) {
        self.choose(now);
        let mut lost = None;
        for (view, asp) in self.views.iter_mut().zip(&self.links) {
            let state = asp.state();
            if view.state == LinkState::Active && state != LinkState::Active {
                lost = asp.last_error().or(lost);
            }
            if view.state != state {
                view.state = state;
                view.since = now;
            }
            show_error(view, asp);
        }
        let is_active = self.links.iter().any(AspLink::is_active);
        if is_active != self.is_active {
            self.is_active = is_active;
            self.out.events.push_back(if is_active {
                SignallingEvent::Active
            } else {
                let why = if self.is_stopped {
                    "stopped"
                } else {
                    lost.unwrap_or("no link is active")
                };
                SignallingEvent::Inactive(why.into())
            });
        }
        if is_active {
            let links = &self.links;
            let reaches = |asp: &AspLink, point: PointCode| {
                asp.is_active() && asp.states().is_available(point)
            };
            let is_available = |point| links.iter().any(|asp| reaches(asp, point));
            for (point, is_available) in self.written.update(is_available) {
                self.out.events.push_back(if is_available {
                    SignallingEvent::DestinationAvailable(point)
                } else {
                    SignallingEvent::DestinationUnavailable(point)
                });
            }
        }
    }

    /// Decides which links are to carry traffic.
    fn choose(&mut self, now: Instant) {
        if self.config.mode == TrafficMode::Override {
            self.choose_carrier(now);
        }
        let mut turn = LinkTurn::new(&self.config, now, &mut self.out);
        for (number, asp) in self.links.iter_mut().enumerate() {
            let is_chosen = match self.config.mode {
                TrafficMode::Override => self.carrier == Some(number),
                TrafficMode::Loadshare => !asp.is_overridden(),
            };
            asp.want(is_chosen && !self.is_stopped, &mut turn);
        }
    }

    /// The link that carries all: the one that does, while it reaches our destination; else the first that
    /// could. None at once when another process took over: to take it back would go on for ever. A link on which it
    /// did is asked again much later only, the others after a while.
    fn choose_carrier(&mut self, now: Instant) {
        let links = &self.links;
        let destination = self.config.destination;
        let reaches = |number: &usize| links[*number].states().is_available(destination);
        let carrier = self.carrier.filter(|number| links[*number].is_carrying());
        let is_standing_by = move |number: &usize| {
            links[*number].is_standing_by() && !links[*number].is_overridden()
        };
        let standing_by = move || (0..links.len()).filter(is_standing_by);
        let better = standing_by().find(reaches);
        let is_taken = links.iter().any(|asp| asp.is_newly_overridden(now));
        self.carrier = match carrier {
            Some(number) if reaches(&number) => Some(number),
            Some(number) => better.or(Some(number)),
            None if is_taken => None,
            None => better.or_else(|| standing_by().next()),
        };
    }

    fn tell_congestion(&mut self, points: Vec<PointCode>, level: u8) {
        let events = points
            .into_iter()
            .map(|point| SignallingEvent::DestinationCongested(point, level));
        self.out.events.extend(events);
    }
}

fn show_error(view: &mut LinkView, asp: &AspLink) {
    if view.last_error.as_deref() != asp.last_error() {
        view.last_error = asp.last_error().map(Into::into);
    }
}

impl From<SccpWriteError> for SignallingUnavailable {
    fn from(error: SccpWriteError) -> Self {
        match error {
            SccpWriteError::Address(problem) => Self::Address(problem),
            SccpWriteError::Long(octets) => Self::TooLong(octets),
        }
    }
}

#[cfg(test)]
mod tests;
