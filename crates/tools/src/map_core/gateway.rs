//! A signalling gateway's end of M3UA (RFC 4666 §4.3): which SMSC is up and active, and by which connection a message goes
//! to which point code.
//!
//! Held by the nodes. Invariant: traffic goes to active links only. With override, the one that became active last has it.

use std::collections::BTreeMap;

use bytes::Bytes;
use tokio::sync::mpsc;

use smsc_sigtran::m3ua::{ApplicationStatus, M3uaErrorCode, SERVICE_SCCP, tag};
use smsc_sigtran::{M3uaKind, M3uaMessage, M3uaParameter, PointCode, ProtocolData, TrafficMode};

/// The routing context of what is registered. There is one application server for each point code, and who has that
/// is told by the connection.
const CONTEXT: u32 = 1;

/// What a connection is told to do.
#[derive(Debug)]
pub(super) enum LinkOrder {
    Send(LinkMessage),
    Cut,
}

/// A message for a connection.
#[derive(Debug)]
pub(super) struct LinkMessage {
    /// The stream of SCTP.
    pub(super) stream: u16,
    pub(super) octets: Bytes,
}

/// All connections.
#[derive(Debug, Default)]
pub(super) struct M3uaGateway {
    links: BTreeMap<u64, GatewayLink>,
    made: u64,
}

/// How far an SMSC has come (§4.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AspState {
    Down,
    Inactive,
    Active,
}

#[derive(Debug)]
struct GatewayLink {
    orders: mpsc::Sender<LinkOrder>,
    state: AspState,
    /// The point code of the SMSC, as registered or as it writes.
    point: Option<PointCode>,
    /// What it says of itself when it becomes active, and DATA for it says.
    context: Option<u32>,
    appearance: Option<u32>,
    is_override: bool,
}

// === impl M3uaGateway ===

impl M3uaGateway {
    /// A connection; its number.
    pub(super) fn came(&mut self, orders: mpsc::Sender<LinkOrder>) -> u64 {
        self.made += 1;
        let link = GatewayLink {
            orders,
            state: AspState::Down,
            point: None,
            context: None,
            appearance: None,
            is_override: false,
        };
        self.links.insert(self.made, link);
        self.made
    }

    pub(super) fn gone(&mut self, number: u64) {
        self.links.remove(&number);
    }

    /// How many connections there have been.
    pub(super) fn made(&self) -> u64 {
        self.made
    }

    /// How many of them carry traffic.
    pub(super) fn active(&self) -> usize {
        self.links.values().filter(|link| link.is_active()).count()
    }

    /// The point code of an SMSC that is active.
    pub(super) fn smsc(&self) -> Option<PointCode> {
        let mut active = self.links.values().filter(|link| link.is_active());
        active.find_map(|link| link.point)
    }

    pub(super) fn cut(&self) {
        self.links.values().for_each(GatewayLink::cut);
    }

    /// Tells every SMSC that a point code can be reached, or cannot (§3.4.1, 3.4.2).
    pub(super) fn tell(&self, point: PointCode, is_available: bool) {
        let kind = if is_available {
            M3uaKind::DAVA
        } else {
            M3uaKind::DUNA
        };
        let message = M3uaMessage::new(kind).with_number(tag::AFFECTED_POINT_CODE, Some(point.0));
        let active = self.links.values().filter(|link| link.is_active());
        active.for_each(|link| link.send(0, &message));
    }

    /// A message of a connection; what it carries for a node.
    pub(super) fn received(&mut self, number: u64, octets: &Bytes) -> Option<ProtocolData> {
        let link = self.links.get_mut(&number)?;
        let Ok(message) = M3uaMessage::decode(octets) else {
            link.refuse(M3uaErrorCode::PROTOCOL_ERROR);
            return None;
        };
        match message.kind {
            M3uaKind::ASPUP => link.up(&message),
            M3uaKind::ASPDN => {
                link.state = AspState::Down;
                link.send(0, &M3uaMessage::new(M3uaKind::ASPDN_ACK));
            }
            M3uaKind::BEAT => {
                let mut answer = M3uaMessage::new(M3uaKind::BEAT_ACK);
                answer.parameters = message.parameters;
                link.send(0, &answer);
            }
            M3uaKind::REG_REQ => link.register(&message),
            M3uaKind::ASPAC => self.activate(number, &message),
            M3uaKind::ASPIA => link.deactivate(&message),
            M3uaKind::DAUD => {
                let mut answer = M3uaMessage::new(M3uaKind::DAVA);
                answer.parameters = message.parameters;
                link.send(0, &answer);
            }
            M3uaKind::DATA => return link.data(&message),
            M3uaKind::ERR | M3uaKind::NTFY => {}
            kind if kind.has_known_class() => link.refuse(M3uaErrorCode::UNSUPPORTED_TYPE),
            _ => link.refuse(M3uaErrorCode::UNSUPPORTED_CLASS),
        }
        None
    }

    /// An SMSC becomes active; with override, it takes the traffic from the one before (§4.3.4.3).
    fn activate(&mut self, number: u64, message: &M3uaMessage) {
        let Some(link) = self.links.get_mut(&number) else {
            return;
        };
        if link.state == AspState::Down {
            link.refuse(M3uaErrorCode::UNEXPECTED_MESSAGE);
            return;
        }
        link.state = AspState::Active;
        link.context = message.number(tag::ROUTING_CONTEXT).or(link.context);
        let mode = message.number(tag::TRAFFIC_MODE);
        link.is_override = mode == Some(TrafficMode::Override.number());
        let mut answer = M3uaMessage::new(M3uaKind::ASPAC_ACK);
        answer.parameters.clone_from(&message.parameters);
        link.send(0, &answer);
        link.notify(ApplicationStatus::Active);
        if !link.is_override {
            return;
        }
        let (point, context) = (link.point, link.context);
        let others = self.links.iter_mut().filter(|(other, _)| **other != number);
        for (_, other) in others {
            if other.is_active() && (other.point, other.context) == (point, context) {
                other.state = AspState::Inactive;
                other.notify(ApplicationStatus::AlternateActive);
            }
        }
    }

    /// Sends a message to the SMSC that has its point code; false when nobody is active. Those of one SLS go by one
    /// connection.
    pub(super) fn send(&self, data: &ProtocolData) -> bool {
        let active = || self.links.values().filter(|link| link.is_active());
        let is_meant = |link: &&GatewayLink| link.point == Some(data.destination);
        let mut able: Vec<&GatewayLink> = active().filter(is_meant).collect();
        if able.is_empty() {
            // Who has neither registered nor written has no point code that we know of.
            able = active().filter(|link| link.point.is_none()).collect();
        }
        let chosen = usize::from(data.selection).checked_rem(able.len());
        let Some(link) = chosen.and_then(|chosen| able.get(chosen)) else {
            return false;
        };
        let message = M3uaMessage::new(M3uaKind::DATA)
            .with_number(tag::NETWORK_APPEARANCE, link.appearance)
            .with_number(tag::ROUTING_CONTEXT, link.context)
            .with(data.to_parameter());
        link.send(1 + u16::from(data.selection), &message);
        true
    }
}

// === impl GatewayLink ===

impl GatewayLink {
    fn is_active(&self) -> bool {
        self.state == AspState::Active
    }

    fn cut(&self) {
        let _ = self.orders.try_send(LinkOrder::Cut);
    }

    /// Sends a message, unless too many wait for the connection.
    fn send(&self, stream: u16, message: &M3uaMessage) {
        // What is too long is an echo of what has come.
        if let Ok(octets) = message.encode() {
            let message = LinkMessage { stream, octets };
            let _ = self.orders.try_send(LinkOrder::Send(message));
        }
    }

    fn refuse(&self, code: M3uaErrorCode) {
        let error = M3uaMessage::new(M3uaKind::ERR).with_number(tag::ERROR_CODE, Some(code.0));
        self.send(0, &error);
    }

    fn notify(&self, status: ApplicationStatus) {
        let message = M3uaMessage::new(M3uaKind::NTFY)
            .with_number(tag::STATUS, Some(status.number()))
            .with_number(tag::ROUTING_CONTEXT, self.context);
        self.send(0, &message);
    }

    fn up(&mut self, message: &M3uaMessage) {
        self.state = AspState::Inactive;
        let identifier = message.number(tag::ASP_IDENTIFIER);
        let answer =
            M3uaMessage::new(M3uaKind::ASPUP_ACK).with_number(tag::ASP_IDENTIFIER, identifier);
        self.send(0, &answer);
        self.notify(ApplicationStatus::Inactive);
    }

    fn deactivate(&mut self, message: &M3uaMessage) {
        self.state = AspState::Inactive;
        let mut answer = M3uaMessage::new(M3uaKind::ASPIA_ACK);
        answer.parameters.clone_from(&message.parameters);
        self.send(0, &answer);
        self.notify(ApplicationStatus::Inactive);
    }

    /// Registers what is asked for (§3.6).
    fn register(&mut self, message: &M3uaMessage) {
        let mut answer = M3uaMessage::new(M3uaKind::REG_RSP);
        let keys = message.parameters.iter();
        for key in keys.filter(|parameter| parameter.tag == tag::ROUTING_KEY) {
            let members = key.as_group().unwrap_or_default();
            let number = |which| {
                let member = members.iter().find(|member| member.tag == which)?;
                member.as_numbers().next()
            };
            let point = number(tag::DESTINATION_POINT_CODE);
            // Its mask is in front.
            self.point = point.map(|word| PointCode(word & PointCode::MAX));
            self.context = Some(CONTEXT);
            let identifier = number(tag::LOCAL_ROUTING_KEY).unwrap_or_default();
            let result = [
                M3uaParameter::number(tag::LOCAL_ROUTING_KEY, identifier),
                M3uaParameter::number(tag::REGISTRATION_STATUS, 0),
                M3uaParameter::number(tag::ROUTING_CONTEXT, CONTEXT),
            ];
            if let Ok(result) = M3uaParameter::group(tag::REGISTRATION_RESULT, &result) {
                answer.parameters.push(result);
            }
        }
        self.send(0, &answer);
    }

    fn data(&mut self, message: &M3uaMessage) -> Option<ProtocolData> {
        if !self.is_active() {
            self.refuse(M3uaErrorCode::UNEXPECTED_MESSAGE);
            return None;
        }
        let value = message
            .parameter(tag::PROTOCOL_DATA)
            .map(|data| &data.value);
        let Some(data) = value.and_then(ProtocolData::of_value) else {
            self.refuse(M3uaErrorCode::MISSING_PARAMETER);
            return None;
        };
        self.point.get_or_insert(data.originating);
        self.appearance = message.number(tag::NETWORK_APPEARANCE);
        (data.service == SERVICE_SCCP).then_some(data)
    }
}
