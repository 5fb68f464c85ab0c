//! A signalling point with gateways that say what the tests want.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::*;
use crate::address::ssn;
use crate::m3ua::{ApplicationStatus, M3uaErrorCode, M3uaParameter};
use crate::{GlobalTitle, Unitdata};

mod hostile;
mod links;
mod network;
mod traffic;

const OWN: PointCode = PointCode(187);
const STP: PointCode = PointCode(185);
const PEER: PointCode = PointCode(300);

struct Scene {
    point: SignallingPoint,
    now: Instant,
    said: Vec<(usize, u16, M3uaMessage)>,
    events: Vec<SignallingEvent>,
}

impl Scene {
    fn new(change: impl FnOnce(&mut SignallingConfig)) -> Self {
        let mut config = SignallingConfig::new(OWN, STP);
        change(&mut config);
        let now = Instant::now();
        Self {
            point: SignallingPoint::new(config, now),
            now,
            said: Vec::new(),
            events: Vec::new(),
        }
    }

    /// With this many active links, or with override the first of them.
    fn active(links: usize, mode: TrafficMode) -> Self {
        let mut scene = Self::new(|config| {
            config.links = links;
            config.mode = mode;
        });
        for link in 0..links {
            scene.come_up(link);
            if scene.kinds(link).contains(&M3uaKind::ASPAC) {
                scene.hear(link, M3uaMessage::new(M3uaKind::ASPAC_ACK));
            }
        }
        assert!(scene.point.is_active());
        scene.events.clear();
        scene
    }

    fn settle(&mut self) {
        while let Some(transmit) = self.point.next_transmit() {
            let message = M3uaMessage::decode(&transmit.octets).unwrap();
            self.said.push((transmit.link, transmit.stream, message));
        }
        while let Some(event) = self.point.next_event() {
            self.events.push(event);
        }
    }

    fn connect(&mut self, link: usize) {
        self.point.connected(link, self.now);
        self.settle();
    }

    /// Connects a link whose gateway takes us up.
    fn come_up(&mut self, link: usize) {
        self.connect(link);
        self.hear(link, M3uaMessage::new(M3uaKind::ASPUP_ACK));
    }

    fn close(&mut self, link: usize) {
        self.point.closed(link, self.now);
        self.settle();
    }

    fn hear(&mut self, link: usize, message: M3uaMessage) {
        let octets = message.encode().unwrap();
        self.point.received(link, &octets, self.now);
        self.settle();
    }

    fn notify(&mut self, link: usize, status: ApplicationStatus) {
        let message = M3uaMessage::new(M3uaKind::NTFY);
        self.hear(
            link,
            message.with_number(tag::STATUS, Some(status.number())),
        );
    }

    fn complain(&mut self, link: usize, code: M3uaErrorCode) {
        let message = M3uaMessage::new(M3uaKind::ERR);
        self.hear(link, message.with_number(tag::ERROR_CODE, Some(code.0)));
    }

    /// A message of SCCP that comes from a point code.
    fn hear_sccp(&mut self, link: usize, originating: PointCode, data: Bytes) {
        let data = ProtocolData {
            originating,
            destination: OWN,
            service: SERVICE_SCCP,
            network_indicator: 0,
            priority: 0,
            selection: 3,
            data,
        };
        self.hear(
            link,
            M3uaMessage::new(M3uaKind::DATA).with(data.to_parameter()),
        );
    }

    /// Lets time go by in steps of a tenth of a second.
    fn pass(&mut self, duration: Duration) {
        let end = self.now + duration;
        while self.now < end {
            self.now += Duration::from_millis(100);
            self.point.on_tick(self.now);
            self.settle();
        }
    }

    fn seconds(&mut self, seconds: u64) {
        self.pass(Duration::from_secs(seconds));
    }

    /// What was said on a link since the last look.
    fn messages(&mut self, link: usize) -> Vec<M3uaMessage> {
        let said = std::mem::take(&mut self.said);
        let (of_link, others) = said.into_iter().partition(|(number, ..)| *number == link);
        self.said = others;
        let of_link: Vec<(usize, u16, M3uaMessage)> = of_link;
        of_link.into_iter().map(|(.., message)| message).collect()
    }

    fn kinds(&mut self, link: usize) -> Vec<M3uaKind> {
        let messages = self.messages(link).into_iter();
        messages.map(|message| message.kind).collect()
    }

    fn events(&mut self) -> Vec<SignallingEvent> {
        std::mem::take(&mut self.events)
    }

    fn states(&self) -> Vec<LinkState> {
        self.point.links().iter().map(|view| view.state).collect()
    }

    fn send(&mut self, sequence: u32) -> Result<(), SignallingUnavailable> {
        let request = UnitdataRequest {
            sequence,
            ..request(peer())
        };
        let sent = self.point.send(&request, self.now);
        self.settle();
        sent
    }
}

/// Whom messages go to by global title.
fn peer() -> SccpAddress {
    SccpAddress::of_title(GlobalTitle::international("49170123", 0), ssn::HLR)
}

fn smsc() -> SccpAddress {
    SccpAddress::of_title(GlobalTitle::international("49170999", 0), ssn::MSC)
}

fn request(called: SccpAddress) -> UnitdataRequest {
    UnitdataRequest {
        called,
        calling: smsc(),
        data: Bytes::from_static(b"data"),
        sequence: 0,
        in_order: false,
        return_on_error: true,
    }
}

fn affecting(kind: M3uaKind, point: PointCode) -> M3uaMessage {
    M3uaMessage::new(kind).with_number(tag::AFFECTED_POINT_CODE, Some(point.0))
}

/// The label and the message of SCCP in a DATA message.
fn carried(message: &M3uaMessage) -> (ProtocolData, SccpMessage) {
    let data = message.parameter(tag::PROTOCOL_DATA).unwrap();
    let data = ProtocolData::of_value(&data.value).unwrap();
    let sccp = SccpMessage::decode(&data.data).unwrap();
    (data, sccp)
}
