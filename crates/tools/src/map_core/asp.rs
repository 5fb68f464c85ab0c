//! The network as it is behind an STP: an application server process like the SMSC, on the other side.
//!
//! Used in place of the gateway when there is a real one. The STP brings what is for the point code of the network, and
//! brings its answers to the point code of the SMSC.

use std::time::Instant;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::MapCoreOptions;
use super::gateway::{LinkMessage, LinkOrder};
use smsc_sigtran::{
    PointCode, SignallingConfig, SignallingEvent, SignallingPoint, TrafficMode, UnitdataRequest,
};

/// The only link.
const LINK: usize = 0;

/// The end of the connection to an STP.
#[derive(Debug)]
pub(super) struct MapAsp {
    point: SignallingPoint,
    orders: Option<mpsc::Sender<LinkOrder>>,
    made: u64,
}

// === impl MapAsp ===

impl MapAsp {
    /// One that writes to an SMSC.
    pub(super) fn new(options: &MapCoreOptions, smsc: PointCode, now: Instant) -> Self {
        let config = SignallingConfig {
            register: true,
            mode: TrafficMode::Loadshare,
            // Those of HLR, MSC and SGSN.
            subsystems: Vec::new(),
            ..SignallingConfig::new(options.point_code, smsc)
        };
        Self {
            point: SignallingPoint::new(config, now),
            orders: None,
            made: 0,
        }
    }

    /// The connection stands; its number.
    pub(super) fn came(&mut self, orders: mpsc::Sender<LinkOrder>, now: Instant) -> u64 {
        self.orders = Some(orders);
        self.made += 1;
        self.point.connected(LINK, now);
        self.write();
        self.made
    }

    pub(super) fn gone(&mut self, now: Instant) {
        self.orders = None;
        self.point.closed(LINK, now);
    }

    pub(super) fn made(&self) -> u64 {
        self.made
    }

    pub(super) fn is_active(&self) -> bool {
        self.point.is_active()
    }

    pub(super) fn cut(&self) {
        if let Some(orders) = &self.orders {
            let _ = orders.try_send(LinkOrder::Cut);
        }
    }

    pub(super) fn received(&mut self, octets: &Bytes, now: Instant) {
        self.point.received(LINK, octets, now);
    }

    pub(super) fn on_tick(&mut self, now: Instant) {
        self.point.on_tick(now);
        self.write();
    }

    /// What came; a link that is of no use any more is cut.
    pub(super) fn next_event(&mut self) -> Option<SignallingEvent> {
        let event = self.point.next_event()?;
        if let SignallingEvent::LinkToClose { .. } = event {
            self.cut();
        }
        Some(event)
    }

    pub(super) fn send(&mut self, request: UnitdataRequest, now: Instant) {
        // What cannot be sent is lost, as in a network.
        let _ = self.point.send(&request, now);
    }

    /// Gives the connection what is to be written.
    pub(super) fn write(&mut self) {
        while let Some(transmit) = self.point.next_transmit() {
            let message = LinkMessage {
                stream: transmit.stream,
                octets: transmit.octets,
            };
            if let Some(orders) = &self.orders {
                let _ = orders.try_send(LinkOrder::Send(message));
            }
        }
    }
}
