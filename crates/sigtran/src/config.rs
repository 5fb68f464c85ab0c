//! How a signalling point is set up.

use std::time::Duration;

use crate::address::ssn;
use crate::point_code::PointCode;

/// How the links share the traffic (RFC 4666 §3.7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TrafficMode {
    /// One link carries all; the others stand by.
    Override = 1,
    /// Every active link carries a share.
    Loadshare = 2,
}

/// Settings of a signalling point, fixed for its life. [`SignallingConfig::new`] has the usual ones.
#[derive(Debug, Clone)]
pub struct SignallingConfig {
    /// Our point code: the OPC of what we send.
    pub own: PointCode,
    /// The DPC of everything that is routed by global title: the STP, or the peer that translates.
    pub destination: PointCode,
    /// 0 international, 2 national, 3 spare for national use.
    pub network_indicator: u8,
    /// Which application server we are, if that is agreed with the gateways.
    pub routing_context: Option<u32>,
    /// Whether to ask the gateways for a routing context where none is agreed: for the key of our point
    /// code and SCCP, or of our point code alone where the gateway takes no more.
    pub register: bool,
    /// Which SS7 network, where gateways serve several.
    pub network_appearance: Option<u32>,
    /// How the links share the traffic.
    pub mode: TrafficMode,
    /// How many links there are, at least 1.
    pub links: usize,
    /// Who we are to the gateways, if they ask for it.
    pub asp_identifier: Option<u32>,
    /// How often to ask whether a gateway is there; zero: never.
    pub beat_every: Duration,
    /// How long its answer may take.
    pub beat_timeout: Duration,
    /// How long to wait for other answers: T(ack) of RFC 4666 §4.3.4.1.
    pub ack_timeout: Duration,
    /// How long the segments of a message may take: T(reass) of Q.714.
    pub reassembly_timeout: Duration,
    /// How many messages may be reassembled at a time; the oldest gives way.
    pub max_reassemblies: usize,
    /// Most octets of data in one message, 1 to 254; more are sent in segments. Long addresses may take
    /// off more.
    pub max_unitdata: usize,
    /// Our subsystem numbers. A message to another one goes back as "unequipped user". Empty: all are ours.
    pub subsystems: Vec<u8>,
}

// === impl TrafficMode ===

impl TrafficMode {
    /// As the Traffic Mode Type.
    #[must_use]
    pub fn number(self) -> u32 {
        self as u32
    }
}

// === impl SignallingConfig ===

impl SignallingConfig {
    /// One link, override, international network, no routing context, and the timers of the standards.
    #[must_use]
    pub fn new(own: PointCode, destination: PointCode) -> Self {
        Self {
            own,
            destination,
            network_indicator: 0,
            routing_context: None,
            register: false,
            network_appearance: None,
            mode: TrafficMode::Override,
            links: 1,
            asp_identifier: None,
            beat_every: Duration::from_secs(30),
            beat_timeout: Duration::from_secs(10),
            ack_timeout: Duration::from_secs(2),
            reassembly_timeout: Duration::from_secs(10),
            max_reassemblies: 1_024,
            max_unitdata: 254,
            subsystems: vec![ssn::MSC],
        }
    }
}
