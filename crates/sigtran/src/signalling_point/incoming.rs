//! Messages of SCCP that come in: for us, back to us, for the management, or for nobody here.

use std::time::Instant;

use super::{SignallingPoint, show_error};
use crate::address::{SccpAddress, SccpRouting, ssn};
use crate::asp::LinkTurn;
use crate::m3ua::ProtocolData;
use crate::output::{SignallingEvent, Unitdata};
use crate::point_code::PointCode;
use crate::reassembly::ReassemblyKey;
use crate::sccp::management::{SUBSYSTEM_ALLOWED, SUBSYSTEM_TEST, SubsystemMessage};
use crate::sccp::{SccpMessage, SccpPurpose, cause};

impl SignallingPoint {
    pub(super) fn on_sccp(&mut self, link: usize, data: &ProtocolData, now: Instant) {
        let mut message = match SccpMessage::decode(&data.data) {
            Ok(message) => message,
            Err(malformed) => {
                let why = format!("SCCP from {}: {malformed}", data.originating);
                return self.fault(link, &why, now);
            }
        };
        // Without a point code, the party is where the message comes from (Q.714 §2.2.2).
        let calling = &mut message.calling;
        if calling.routing == SccpRouting::Ssn && calling.point_code.is_none() {
            calling.point_code = Some(data.originating).filter(|point| point.is_itu());
        }
        match message.purpose {
            SccpPurpose::Return(cause) => self.on_returned(cause, message),
            SccpPurpose::Data { .. } if message.called.ssn == ssn::MANAGEMENT => {
                self.on_management(link, &message, data.originating, data.selection);
            }
            SccpPurpose::Data {
                return_on_error, ..
            } => {
                if !self.has_subsystem(message.called.ssn) {
                    let why = format!(
                        "{} from {}: no such subsystem",
                        message.called, message.calling
                    );
                    self.fault(link, &why, now);
                    if return_on_error && !message.calling.is_unknown() {
                        self.give_back(link, message, data, cause::UNEQUIPPED_USER);
                    }
                    return;
                }
                self.on_data(link, message, data.originating, now);
            }
        }
    }

    fn on_data(&mut self, link: usize, message: SccpMessage, originating: PointCode, now: Instant) {
        let whole = match message.segmentation {
            None => Ok(Some(message.data)),
            Some(segmentation) => {
                let key = ReassemblyKey {
                    originating,
                    calling: message.calling.clone(),
                    reference: segmentation.reference,
                };
                self.reassemblies
                    .take(key, segmentation, &message.data, now)
            }
        };
        match whole {
            Ok(Some(data)) => self
                .out
                .events
                .push_back(SignallingEvent::Unitdata(Unitdata {
                    called: message.called,
                    calling: message.calling,
                    data,
                })),
            Ok(None) => {}
            Err(fault) => {
                let why = format!("{} from {}", fault.name(), message.calling);
                self.fault(link, &why, now);
            }
        }
    }

    fn on_returned(&mut self, cause: u8, message: SccpMessage) {
        // Later segments say nothing of whose they were.
        if message
            .segmentation
            .is_none_or(|segmentation| segmentation.is_first)
        {
            self.out.events.push_back(SignallingEvent::Returned {
                cause,
                called: message.calling,
                calling: message.called,
                data: message.data,
            });
        }
    }

    /// Tells who asks whether our subsystems are there (Q.714 §5.3.4).
    fn on_management(
        &mut self,
        link: usize,
        message: &SccpMessage,
        peer: PointCode,
        selection: u8,
    ) {
        let Some(test) = SubsystemMessage::decode(&message.data) else {
            return;
        };
        let is_ours = test.point_code == self.config.own && self.has_subsystem(test.ssn);
        if test.kind != SUBSYSTEM_TEST || !is_ours || !peer.is_itu() {
            return;
        }
        let allowed = SubsystemMessage {
            kind: SUBSYSTEM_ALLOWED,
            ..test
        };
        let called = SccpAddress::of_point(peer, ssn::MANAGEMENT);
        let calling = SccpAddress::of_point(self.config.own, ssn::MANAGEMENT);
        let answer = SccpMessage::unitdata(called, calling, allowed.encode());
        if let Ok(octets) = answer.encode() {
            self.answer(link, peer, selection, octets);
        }
    }

    /// Sends a message back to who sent it, by the link on which it came.
    fn give_back(&mut self, link: usize, message: SccpMessage, data: &ProtocolData, cause: u8) {
        let returned = message.returned(cause);
        let destination = self.destination_of(&returned.called);
        if let Ok(octets) = returned.encode() {
            self.answer(link, destination, data.selection, octets);
        }
    }

    fn answer(&mut self, link: usize, destination: PointCode, selection: u8, octets: bytes::Bytes) {
        if self.links[link].is_active() {
            self.transfer(link, destination, selection & super::SLS as u8, octets);
        }
    }

    fn has_subsystem(&self, number: u8) -> bool {
        // Who does not say which means ours.
        let ours = &self.config.subsystems;
        number == ssn::NONE || ours.is_empty() || ours.contains(&number)
    }

    fn fault(&mut self, link: usize, why: &str, now: Instant) {
        let mut turn = LinkTurn::new(&self.config, now, &mut self.out);
        self.links[link].fault(why, None, &mut turn);
        // Nothing else changes: whoever reaches us may send any number of these, and to settle takes longer than to read one.
        show_error(&mut self.views[link], &self.links[link]);
    }
}
