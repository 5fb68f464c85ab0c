//! What a gateway says on a link, and what follows for it (RFC 4666 §4.3.4, §4.5).

use bytes::Bytes;

use super::{AspLink, AspPhase, LOCAL_KEY, LinkNews, LinkTurn};
use crate::config::SignallingConfig;
use crate::destinations::AffectedPoints;
use crate::m3ua::{
    ApplicationStatus, M3uaErrorCode, M3uaKind, M3uaMessage, ProtocolData, SERVICE_SCCP,
    registration_status, tag,
};

/// Most point codes of a message that are looked at.
const AFFECTED_MAX: usize = 1_024;
/// Registration statuses (§3.6.2).
const REGISTERED: u32 = 0;
const INVALID_KEY: u32 = 4;
const UNSUPPORTED_KEY: u32 = 9;
const ALREADY_REGISTERED: u32 = 12;
/// Congestion where a network has no levels (§3.4.4).
const CONGESTED: u32 = 1;
const CONGESTION_MAX: u32 = 3;

impl AspLink {
    /// Takes a message; what it says about more than the link is for the caller.
    pub(crate) fn received(&mut self, octets: &Bytes, turn: &mut LinkTurn<'_>) -> Option<LinkNews> {
        if self.phase == AspPhase::Closed {
            return None;
        }
        let message = match M3uaMessage::decode(octets) {
            Ok(message) => message,
            Err(malformed) => {
                // A complaint about a complaint would go on for ever.
                let is_complaint = octets.get(2..4).is_some_and(|kind| kind == [0, 0]);
                let answer = (!is_complaint).then_some((M3uaErrorCode::PROTOCOL_ERROR, octets));
                self.fault(&malformed.to_string(), answer, turn);
                return None;
            }
        };
        match message.kind {
            M3uaKind::DATA => return self.on_data(&message, octets, turn),
            M3uaKind::DUNA | M3uaKind::DAVA | M3uaKind::DRST | M3uaKind::SCON | M3uaKind::DUPU => {
                return self.on_network(&message, turn);
            }
            M3uaKind::ERR => self.on_error(&message, turn),
            M3uaKind::NTFY => self.on_notify(&message, turn),
            M3uaKind::BEAT => {
                let mut answer = message;
                answer.kind = M3uaKind::BEAT_ACK;
                turn.out.manage(self.number, &answer);
            }
            M3uaKind::BEAT_ACK => {
                let number = self.beats.number.to_be_bytes();
                let data = message.parameter(tag::HEARTBEAT);
                if data.is_some_and(|data| data.value[..] == number) {
                    self.beats.is_awaited = false;
                }
            }
            M3uaKind::REG_RSP => self.on_registration(&message, turn),
            kind if kind.class == M3uaKind::ASPUP.class || kind.class == M3uaKind::ASPAC.class => {
                self.on_state(&message, octets, turn);
            }
            kind => {
                let code = match (kind.name(), kind.has_known_class()) {
                    (Some(_), _) => M3uaErrorCode::UNEXPECTED_MESSAGE,
                    (None, true) => M3uaErrorCode::UNSUPPORTED_TYPE,
                    (None, false) => M3uaErrorCode::UNSUPPORTED_CLASS,
                };
                self.fault(&format!("{code}: {kind}"), Some((code, octets)), turn);
            }
        }
        None
    }

    /// Messages about our state (ASPSM, ASPTM), and a peer's own where it is no gateway (§4.3.1).
    fn on_state(&mut self, message: &M3uaMessage, octets: &Bytes, turn: &mut LinkTurn<'_>) {
        let answer = |kind| {
            let mut answer = message.clone();
            answer.kind = kind;
            answer
        };
        match message.kind {
            M3uaKind::ASPUP_ACK => self.on_up(octets, turn),
            M3uaKind::ASPAC_ACK => self.on_active(message, turn),
            // It is so already; to say it often changes nothing.
            M3uaKind::ASPDN_ACK if self.is_stopped || self.phase == AspPhase::Down => {}
            M3uaKind::ASPDN_ACK => {
                self.start_again("the gateway took us down".into(), turn);
            }
            M3uaKind::ASPIA_ACK if self.is_carrying() && self.is_ours(message, turn.config) => {
                self.stand_back("the gateway made us inactive".into(), turn);
            }
            M3uaKind::ASPIA_ACK => {}
            M3uaKind::ASPUP => turn.out.manage(self.number, &answer(M3uaKind::ASPUP_ACK)),
            M3uaKind::ASPAC => turn.out.manage(self.number, &answer(M3uaKind::ASPAC_ACK)),
            M3uaKind::ASPDN => {
                turn.out.manage(self.number, &answer(M3uaKind::ASPDN_ACK));
                if !self.is_stopped && self.phase != AspPhase::Down {
                    self.start_again("the peer went down".into(), turn);
                }
            }
            M3uaKind::ASPIA => {
                turn.out.manage(self.number, &answer(M3uaKind::ASPIA_ACK));
                if self.is_carrying() {
                    self.stand_back("the peer became inactive".into(), turn);
                }
            }
            kind => {
                let code = M3uaErrorCode::UNSUPPORTED_TYPE;
                self.fault(&format!("{code}: {kind}"), Some((code, octets)), turn);
            }
        }
    }

    fn on_up(&mut self, octets: &Bytes, turn: &mut LinkTurn<'_>) {
        match self.phase {
            AspPhase::AwaitingUp => {
                self.beats.at = turn.now;
                let is_to_register = turn.config.register && turn.config.routing_context.is_none();
                if is_to_register && !self.is_registered {
                    self.ask(AspPhase::Registering, turn);
                } else {
                    self.leave(AspPhase::Inactive);
                }
            }
            AspPhase::Active => {
                // The gateway lost our state, and has us as inactive (§4.3.4.1).
                let code = M3uaErrorCode::UNEXPECTED_MESSAGE;
                self.fault(
                    "an ASPUP ACK that was not asked for",
                    Some((code, octets)),
                    turn,
                );
                self.leave(AspPhase::Inactive);
            }
            // The second answer to a question that was asked twice.
            _ => {}
        }
    }

    fn on_active(&mut self, message: &M3uaMessage, turn: &mut LinkTurn<'_>) {
        if !self.is_ours(message, turn.config) {
            self.fault("an ASPAC ACK for another routing context", None, turn);
            return;
        }
        match self.phase {
            AspPhase::AwaitingActive => self.become_active(turn.now),
            // It comes late, and is still what we want.
            AspPhase::Inactive if self.is_wanted => self.become_active(turn.now),
            _ => {}
        }
    }

    fn on_registration(&mut self, message: &M3uaMessage, turn: &mut LinkTurn<'_>) {
        if self.phase != AspPhase::Registering {
            return;
        }
        let results = message.parameters.iter();
        let results = results.filter(|parameter| parameter.tag == tag::REGISTRATION_RESULT);
        let ours = results
            .filter_map(|result| result.as_group().ok())
            .find_map(|parameters| {
                let number = |tag: u16| {
                    let parameter = parameters.iter().find(|parameter| parameter.tag == tag);
                    parameter.and_then(|parameter| parameter.as_numbers().next())
                };
                let is_ours = number(tag::LOCAL_ROUTING_KEY) == Some(LOCAL_KEY);
                is_ours.then(|| {
                    (
                        number(tag::REGISTRATION_STATUS),
                        number(tag::ROUTING_CONTEXT),
                    )
                })
            });
        match ours {
            Some((Some(REGISTERED), Some(context))) => self.registered(context),
            Some((Some(ALREADY_REGISTERED), context)) => {
                let named = context.filter(|context| *context != 0);
                match named.or(self.last_context) {
                    Some(context) => self.registered(context),
                    // A new connection has no old registration.
                    None => {
                        let why = registration_status(ALREADY_REGISTERED);
                        self.close(format!("not registered: {why}"), turn.out);
                    }
                }
            }
            Some((Some(UNSUPPORTED_KEY | INVALID_KEY), _)) if !self.is_key_plain => {
                self.is_key_plain = true;
                self.ask(AspPhase::Registering, turn);
            }
            Some((Some(status), _)) => {
                let why = format!("not registered: {}", registration_status(status));
                self.start_again(why, turn);
            }
            // It is asked again at the deadline.
            _ => self.fault("a REG RSP without our routing key", None, turn),
        }
    }

    fn registered(&mut self, context: u32) {
        self.routing_context = Some(context);
        self.last_context = Some(context);
        self.is_registered = true;
        self.leave(AspPhase::Inactive);
    }

    fn on_notify(&mut self, message: &M3uaMessage, turn: &mut LinkTurn<'_>) {
        let Some(status) = message
            .number(tag::STATUS)
            .map(ApplicationStatus::of_number)
        else {
            self.fault("a NTFY without a status", None, turn);
            return;
        };
        if !self.is_ours(message, turn.config) {
            return;
        }
        match status {
            // While an answer to ASPAC is awaited, this is older than that question.
            ApplicationStatus::AlternateActive if self.is_active() => {
                self.give_way(turn);
            }
            ApplicationStatus::Pending | ApplicationStatus::Inactive => {
                self.overridden = None;
                if self.is_active() {
                    // To the gateway we are not: ask at once, and at leisure if it says so again.
                    self.stand_back(format!("the gateway says {status}"), turn);
                    if self.refusals == 1 {
                        self.deadline = None;
                    }
                }
            }
            ApplicationStatus::Insufficient => self.overridden = None,
            ApplicationStatus::AlternateActive
            | ApplicationStatus::Active
            | ApplicationStatus::AspFailure
            | ApplicationStatus::Other(..) => {}
        }
    }

    fn on_error(&mut self, message: &M3uaMessage, turn: &mut LinkTurn<'_>) {
        let code = M3uaErrorCode(message.number(tag::ERROR_CODE).unwrap_or_default());
        let mut why = format!("the gateway says: {code}");
        if let Some(info) = message.info() {
            why = format!("{why} ({info})");
        }
        // Of what it complains, if it says so.
        let about = message
            .parameter(tag::DIAGNOSTIC)
            .and_then(|octets| octets.value.get(2).copied());
        if about == Some(M3uaKind::CLASS_NETWORK) {
            self.fault(&why, None, turn);
            return;
        }
        let is_of_key = matches!(
            code,
            M3uaErrorCode::UNSUPPORTED_CLASS | M3uaErrorCode::UNSUPPORTED_TYPE
        );
        match (self.phase, code) {
            (_, M3uaErrorCode::INVALID_VERSION) => self.close(why, turn.out),
            (
                AspPhase::AwaitingUp,
                M3uaErrorCode::ASP_IDENTIFIER_REQUIRED | M3uaErrorCode::INVALID_ASP_IDENTIFIER,
            ) => self.close(why, turn.out),
            (AspPhase::AwaitingUp, M3uaErrorCode::MANAGEMENT_BLOCKING) => {
                self.start_again(why, turn);
            }
            (AspPhase::Registering, _) if is_of_key => {
                // It does not register; it may still take an ASP.
                self.tell(why, turn.out);
                self.is_registered = true;
                self.leave(AspPhase::Inactive);
            }
            (
                AspPhase::AwaitingActive,
                M3uaErrorCode::UNSUPPORTED_TRAFFIC_MODE
                | M3uaErrorCode::MANAGEMENT_BLOCKING
                | M3uaErrorCode::INVALID_ROUTING_CONTEXT
                | M3uaErrorCode::NO_APPLICATION_SERVER
                | M3uaErrorCode::INVALID_NETWORK_APPEARANCE,
            ) => self.stand_back(why, turn),
            (
                AspPhase::Active,
                M3uaErrorCode::UNEXPECTED_MESSAGE
                | M3uaErrorCode::INVALID_ROUTING_CONTEXT
                | M3uaErrorCode::NO_APPLICATION_SERVER,
            ) => self.start_again(why, turn),
            // Questions are asked again at their deadline.
            _ => self.fault(&why, None, turn),
        }
    }

    fn on_data(
        &mut self,
        message: &M3uaMessage,
        octets: &Bytes,
        turn: &mut LinkTurn<'_>,
    ) -> Option<LinkNews> {
        let appearance = message.number(tag::NETWORK_APPEARANCE);
        let is_other_network = appearance
            .zip(turn.config.network_appearance)
            .is_some_and(|(theirs, ours)| theirs != ours);
        let data = message.parameter(tag::PROTOCOL_DATA);
        let data = data.and_then(|data| ProtocolData::of_value(&data.value));
        // In other streams than the answer to ASPAC, data may be here before it.
        let (why, code) = match (self.phase, data) {
            (AspPhase::Down | AspPhase::AwaitingUp | AspPhase::Registering, _) => {
                ("DATA before we are up", M3uaErrorCode::UNEXPECTED_MESSAGE)
            }
            (_, None) => (
                "DATA without protocol data",
                M3uaErrorCode::MISSING_PARAMETER,
            ),
            _ if !self.is_ours(message, turn.config) => (
                "DATA for another routing context",
                M3uaErrorCode::INVALID_ROUTING_CONTEXT,
            ),
            _ if is_other_network => (
                "DATA of another network appearance",
                M3uaErrorCode::INVALID_NETWORK_APPEARANCE,
            ),
            (_, Some(data)) if data.service == SERVICE_SCCP => return Some(LinkNews::Data(data)),
            (_, Some(data)) => {
                self.fault(&format!("DATA for user part {}", data.service), None, turn);
                return None;
            }
        };
        self.fault(why, Some((code, octets)), turn);
        None
    }

    /// States of destinations (SSNM).
    fn on_network(&mut self, message: &M3uaMessage, turn: &LinkTurn<'_>) -> Option<LinkNews> {
        if !self.is_ours(message, turn.config) {
            return None;
        }
        let affected = message.parameter(tag::AFFECTED_POINT_CODE)?;
        let affected = affected
            .as_numbers()
            .take(AFFECTED_MAX)
            .map(AffectedPoints::of_number);
        self.states_at = turn.now;
        match message.kind {
            M3uaKind::SCON => {
                let level = message.number(tag::CONGESTION).unwrap_or(CONGESTED);
                // At most 3.
                return Some(LinkNews::Congestion(
                    affected.collect(),
                    level.min(CONGESTION_MAX) as u8,
                ));
            }
            M3uaKind::DUPU => {
                let user = message.number(tag::USER_CAUSE).unwrap_or_default() & 0xFFFF;
                if user != u32::from(SERVICE_SCCP) {
                    return None;
                }
                affected.for_each(|affected| self.states.set_without_user(affected, turn.now));
            }
            kind => {
                let is_available = kind != M3uaKind::DUNA;
                self.states.set_available(&affected.collect(), is_available);
            }
        }
        Some(LinkNews::Destinations)
    }

    /// Whether a message is about our application server: none is named, or ours is.
    fn is_ours(&self, message: &M3uaMessage, config: &SignallingConfig) -> bool {
        let theirs = message.parameter(tag::ROUTING_CONTEXT);
        let ours = self.routing_context(config);
        theirs
            .zip(ours)
            .is_none_or(|(theirs, ours)| theirs.as_numbers().any(|one| one == ours))
    }
}
