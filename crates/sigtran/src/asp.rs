//! One link to a gateway: the states of an ASP (RFC 4666 §4.3).
//!
//! ```text
//! closed ─connected→ awaiting ASPUP ACK → (registering) → inactive ─wanted→ awaiting ASPAC ACK → active
//!    ↑                  ↑ pause                              ↑ pause                                │
//!    └ BEAT unanswered  └── refused, not known any more ─────┴── refused, overridden, AS pending ───┘
//! ```
//!
//! Whether a link is wanted to carry traffic is decided by the application server over all links. What is
//! asked and not answered is asked again after T(ack); what is refused, after a pause that grows.

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::config::SignallingConfig;
use crate::destinations::{AffectedSet, DestinationStates};
use crate::m3ua::{
    M3uaErrorCode, M3uaKind, M3uaMessage, M3uaParameter, ProtocolData, SERVICE_SCCP, tag,
};
use crate::output::{LinkState, SignallingEvent, SignallingOutput};

mod hear;

/// How often ASPUP is sent before a gateway counts as dead.
const ASPUP_TRIES: u32 = 5;
/// How often other questions are asked before it starts again from ASPUP.
const TRIES: u32 = 3;
/// The longest pause after a refusal.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// How often a peer's mistakes are told, and answered.
const FAULT_EVERY: Duration = Duration::from_secs(1);
/// How often to ask about destinations that are not available; and how long a link that cannot ask, since it
/// is not active, remembers them.
const AUDIT_EVERY: Duration = Duration::from_secs(30);
/// How often that time doubles for a link that has given way again and again because it did not reach our destination:
/// up to eight minutes. A link that stands by cannot ask (RFC 4666 §4.3.1), so only the traffic shows what it reaches.
const DOUBLINGS_MAX: u32 = 4;
/// How long another ASP is left the traffic before this one asks for it, the first time; twice as long each time
/// that it loses it again, up to the longest.
const OVERRIDDEN_FIRST: Duration = Duration::from_secs(60);
const OVERRIDDEN_MAX: Duration = Duration::from_secs(480);
/// How long other links wait as well: the same process may be about to take over their gateways too.
const OVERRIDDEN_OTHERS: Duration = Duration::from_secs(30);
/// The number of our only routing key.
const LOCAL_KEY: u32 = 1;
/// Octets of a message that a complaint about it repeats.
const DIAGNOSTIC_MAX: usize = 40;

/// What a link works with when something happens.
pub(crate) struct LinkTurn<'a> {
    config: &'a SignallingConfig,
    now: Instant,
    out: &'a mut SignallingOutput,
}

/// Where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AspPhase {
    Closed,
    /// Nothing is asked; ASPUP at the deadline, if there is one.
    Down,
    AwaitingUp,
    Registering,
    /// Nothing is asked; not to be asked before the deadline, if there is one.
    Inactive,
    AwaitingActive,
    Active,
}

/// What a message on the link is about besides the link.
#[derive(Debug)]
pub(crate) enum LinkNews {
    /// A message of SCCP.
    Data(ProtocolData),
    /// Destinations are available or not.
    Destinations,
    /// Destinations are congested.
    Congestion(AffectedSet, u8),
}

/// One link.
#[derive(Debug)]
pub(crate) struct AspLink {
    number: usize,
    phase: AspPhase,
    is_wanted: bool,
    /// Another ASP carries the traffic, says the gateway.
    overridden: Option<LinkOverride>,
    /// How often that was so, unless the link carried traffic for long since.
    overrides: u32,
    /// Set by [`Self::stop`] for good.
    is_stopped: bool,
    routing_context: Option<u32>,
    /// The one that was registered last on this connection: the gateway may still have us with it.
    last_context: Option<u32>,
    /// Whether registering is over, with or without a routing context.
    is_registered: bool,
    /// Whether the gateway takes no service indicators in a key.
    is_key_plain: bool,
    tries: u32,
    refusals: u32,
    deadline: Option<Instant>,
    active_since: Option<Instant>,
    beats: LinkBeats,
    audited_at: Instant,
    states: DestinationStates,
    /// When the states were last kept up to date: it was active, or heard of them.
    states_at: Instant,
    /// How often it has given way because it did not reach our destination, since it last did for long.
    given_way: u32,
    faults: FaultBrake,
    last_error: Option<String>,
}

/// Another ASP carries the traffic.
#[derive(Debug, Clone, Copy)]
struct LinkOverride {
    since: Instant,
    /// When to ask for the traffic all the same: who has it may be gone, and nobody says so.
    until: Instant,
}

/// Heartbeats.
#[derive(Debug, Clone, Copy)]
struct LinkBeats {
    number: u64,
    /// When the last one was sent.
    at: Instant,
    is_awaited: bool,
}

/// Keeps a peer's mistakes from filling logs.
#[derive(Debug, Clone, Copy, Default)]
struct FaultBrake {
    told_at: Option<Instant>,
    untold: u64,
}

// === impl LinkTurn ===

impl<'a> LinkTurn<'a> {
    pub(crate) fn new(
        config: &'a SignallingConfig,
        now: Instant,
        out: &'a mut SignallingOutput,
    ) -> Self {
        Self { config, now, out }
    }
}

// === impl AspLink ===

impl AspLink {
    pub(crate) fn new(number: usize, now: Instant) -> Self {
        Self {
            number,
            phase: AspPhase::Closed,
            is_wanted: false,
            overridden: None,
            overrides: 0,
            is_stopped: false,
            routing_context: None,
            last_context: None,
            is_registered: false,
            is_key_plain: false,
            tries: 0,
            refusals: 0,
            deadline: None,
            active_since: None,
            beats: LinkBeats {
                number: 0,
                at: now,
                is_awaited: false,
            },
            audited_at: now,
            states: DestinationStates::default(),
            states_at: now,
            given_way: 0,
            faults: FaultBrake::default(),
            last_error: None,
        }
    }

    pub(crate) fn state(&self) -> LinkState {
        match self.phase {
            AspPhase::Closed => LinkState::Closed,
            AspPhase::Down | AspPhase::AwaitingUp => LinkState::Down,
            AspPhase::Registering | AspPhase::Inactive | AspPhase::AwaitingActive => {
                LinkState::Inactive
            }
            AspPhase::Active => LinkState::Active,
        }
    }

    pub(crate) fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    pub(crate) fn is_active(&self) -> bool {
        self.phase == AspPhase::Active
    }

    /// Whether it carries traffic or is about to.
    pub(crate) fn is_carrying(&self) -> bool {
        matches!(self.phase, AspPhase::Active | AspPhase::AwaitingActive)
    }

    /// Whether it could be asked to carry traffic now.
    pub(crate) fn is_standing_by(&self) -> bool {
        self.phase == AspPhase::Inactive && self.deadline.is_none()
    }

    pub(crate) fn is_overridden(&self) -> bool {
        self.overridden.is_some()
    }

    /// Whether that is so for such a short time that no other link is to be asked either.
    pub(crate) fn is_newly_overridden(&self, now: Instant) -> bool {
        self.overridden.is_some_and(|overridden| {
            now.saturating_duration_since(overridden.since) < OVERRIDDEN_OTHERS
        })
    }

    /// Lets it be asked again when another ASP had the traffic for long enough.
    pub(crate) fn expire_override(&mut self, now: Instant) {
        self.overridden = self.overridden.filter(|overridden| overridden.until > now);
    }

    pub(crate) fn states(&self) -> &DestinationStates {
        &self.states
    }

    /// The routing context of what is sent over it.
    pub(crate) fn routing_context(&self, config: &SignallingConfig) -> Option<u32> {
        config.routing_context.or(self.routing_context)
    }

    pub(crate) fn connected(&mut self, turn: &mut LinkTurn<'_>) {
        let last_error = self.last_error.take();
        let is_stopped = self.is_stopped;
        *self = Self::new(self.number, turn.now);
        self.last_error = last_error;
        self.is_stopped = is_stopped;
        self.phase = AspPhase::Down;
        if !is_stopped {
            self.ask(AspPhase::AwaitingUp, turn);
        }
    }

    pub(crate) fn closed(&mut self) {
        if self.phase != AspPhase::Closed && self.last_error.is_none() {
            self.last_error = Some("the connection was closed".into());
        }
        self.leave(AspPhase::Closed);
        self.overridden = None;
    }

    /// Whether it is to carry traffic.
    pub(crate) fn want(&mut self, is_wanted: bool, turn: &mut LinkTurn<'_>) {
        self.is_wanted = is_wanted;
        if is_wanted && self.is_standing_by() && !self.is_stopped {
            self.ask(AspPhase::AwaitingActive, turn);
        } else if !is_wanted && self.is_carrying() {
            let message = self.with_context(M3uaMessage::new(M3uaKind::ASPIA), turn.config);
            turn.out.manage(self.number, &message);
            self.leave(AspPhase::Inactive);
            if !self.states.is_available(turn.config.destination) {
                self.given_way = self.given_way.saturating_add(1);
            }
        }
    }

    /// Ends it in an orderly way: no traffic, and then nothing at all.
    pub(crate) fn stop(&mut self, turn: &mut LinkTurn<'_>) {
        self.is_stopped = true;
        self.want(false, turn);
        if self.phase != AspPhase::Closed {
            turn.out
                .manage(self.number, &M3uaMessage::new(M3uaKind::ASPDN));
            self.leave(AspPhase::Down);
        }
    }

    pub(crate) fn on_tick(&mut self, points: &[crate::PointCode], turn: &mut LinkTurn<'_>) {
        if self.deadline.is_some_and(|deadline| deadline <= turn.now) {
            self.on_deadline(turn);
        }
        self.refresh_states(turn.now);
        self.beat(turn);
        self.audit(points, turn);
        let since = self.active_since.unwrap_or(turn.now);
        let active = turn.now.saturating_duration_since(since);
        if active >= PAUSE_MAX {
            self.refusals = 0;
        }
        if active >= AUDIT_EVERY && self.states.is_available(turn.config.destination) {
            self.given_way = 0;
        }
        // Longer than two processes leave each other the traffic.
        if active >= OVERRIDDEN_MAX * 2 {
            self.overrides = 0;
        }
    }

    fn on_deadline(&mut self, turn: &mut LinkTurn<'_>) {
        self.deadline = None;
        match self.phase {
            AspPhase::AwaitingUp if self.tries >= ASPUP_TRIES => {
                self.close("no answer to ASPUP".into(), turn.out);
            }
            AspPhase::Registering if self.tries >= TRIES => {
                // One that does not know registrations may still take an ASP.
                self.tell("no answer to REG REQ".into(), turn.out);
                self.is_registered = true;
                self.leave(AspPhase::Inactive);
            }
            AspPhase::AwaitingActive if self.tries >= TRIES => {
                self.start_again("no answer to ASPAC".into(), turn);
            }
            AspPhase::AwaitingUp | AspPhase::Registering | AspPhase::AwaitingActive => {
                self.send_question(turn);
            }
            AspPhase::Down if !self.is_stopped => {
                self.ask(AspPhase::AwaitingUp, turn);
            }
            _ => {}
        }
    }

    /// Asks a question of the gateway for the first time.
    fn ask(&mut self, phase: AspPhase, turn: &mut LinkTurn<'_>) {
        self.phase = phase;
        self.tries = 0;
        self.send_question(turn);
    }

    fn send_question(&mut self, turn: &mut LinkTurn<'_>) {
        let message = match self.phase {
            AspPhase::AwaitingUp => M3uaMessage::new(M3uaKind::ASPUP)
                .with_number(tag::ASP_IDENTIFIER, turn.config.asp_identifier),
            AspPhase::Registering => self.registration(turn.config),
            AspPhase::AwaitingActive => {
                let mode = Some(turn.config.mode.number());
                let message =
                    M3uaMessage::new(M3uaKind::ASPAC).with_number(tag::TRAFFIC_MODE, mode);
                self.with_context(message, turn.config)
            }
            _ => return,
        };
        turn.out.manage(self.number, &message);
        self.tries += 1;
        self.deadline = Some(turn.now + turn.config.ack_timeout);
    }

    /// REG REQ for our point code, and SCCP where the gateway looks at that (RFC 4666 §3.6.1).
    fn registration(&self, config: &SignallingConfig) -> M3uaMessage {
        let message = M3uaMessage::new(M3uaKind::REG_REQ);
        let mut key = vec![
            M3uaParameter::number(tag::LOCAL_ROUTING_KEY, LOCAL_KEY),
            M3uaParameter::number(tag::TRAFFIC_MODE, config.mode.number()),
            M3uaParameter::number(tag::DESTINATION_POINT_CODE, config.own.0 & 0x00FF_FFFF),
        ];
        if let Some(appearance) = config.network_appearance {
            key.push(M3uaParameter::number(tag::NETWORK_APPEARANCE, appearance));
        }
        if !self.is_key_plain {
            let service = Bytes::from_static(&[SERVICE_SCCP]);
            key.push(M3uaParameter::new(tag::SERVICE_INDICATORS, service));
        }
        match M3uaParameter::group(tag::ROUTING_KEY, &key) {
            Ok(key) => message.with(key),
            Err(_) => message,
        }
    }

    fn with_context(&self, message: M3uaMessage, config: &SignallingConfig) -> M3uaMessage {
        message.with_number(tag::ROUTING_CONTEXT, self.routing_context(config))
    }

    fn beat(&mut self, turn: &mut LinkTurn<'_>) {
        let is_up = self.state() == LinkState::Inactive || self.is_active();
        if turn.config.beat_every.is_zero() || !is_up {
            return;
        }
        let since = turn.now.saturating_duration_since(self.beats.at);
        if self.beats.is_awaited {
            if since >= turn.config.beat_timeout {
                self.close("no answer to BEAT".into(), turn.out);
            }
        } else if since >= turn.config.beat_every {
            self.beats.number += 1;
            self.beats.at = turn.now;
            self.beats.is_awaited = true;
            let data = M3uaParameter::new(tag::HEARTBEAT, self.beats.number.to_be_bytes().to_vec());
            turn.out
                .manage(self.number, &M3uaMessage::new(M3uaKind::BEAT).with(data));
        }
    }

    /// Asks now and then about what we write to and the gateway cannot reach (RFC 4666 §4.5.3).
    fn audit(&mut self, points: &[crate::PointCode], turn: &mut LinkTurn<'_>) {
        let is_due = turn.now.saturating_duration_since(self.audited_at) >= AUDIT_EVERY;
        if !is_due || !self.is_active() {
            return;
        }
        self.audited_at = turn.now;
        let unreachable = points
            .iter()
            .filter(|point| self.states.is_unreachable(**point));
        let affected: Vec<u32> = unreachable.map(|point| point.0).collect();
        if affected.is_empty() {
            return;
        }
        let message = M3uaMessage::new(M3uaKind::DAUD)
            .with_number(tag::NETWORK_APPEARANCE, turn.config.network_appearance);
        let message = self.with_context(message, turn.config);
        let affected = M3uaParameter::numbers(tag::AFFECTED_POINT_CODE, &affected);
        turn.out.manage(self.number, &message.with(affected));
    }

    /// What was said once of destinations is forgotten on a link that stands by: nobody tells it that they are
    /// back, and it would never be tried again. The longer nobody reaches our destination, the less often links take turns.
    fn refresh_states(&mut self, now: Instant) {
        self.states.expire(now);
        let doublings = self.given_way.saturating_sub(1).min(DOUBLINGS_MAX);
        if self.is_active() {
            self.states_at = now;
        } else if now.saturating_duration_since(self.states_at)
            >= AUDIT_EVERY * 2_u32.pow(doublings)
        {
            self.states = DestinationStates::default();
        }
    }

    fn become_active(&mut self, now: Instant) {
        self.leave(AspPhase::Active);
        self.active_since = Some(now);
        self.audited_at = now;
        self.states = DestinationStates::default();
        self.last_error = None;
    }

    /// Goes to a phase in which nothing is asked.
    fn leave(&mut self, phase: AspPhase) {
        self.phase = phase;
        self.deadline = None;
        self.active_since = None;
        if !matches!(phase, AspPhase::Active | AspPhase::Inactive) {
            self.beats.is_awaited = false;
        }
    }

    /// How long to wait after another refusal.
    fn pause(&mut self, config: &SignallingConfig) -> Duration {
        let pause = config.ack_timeout * 2_u32.pow(self.refusals.min(10));
        self.refusals = self.refusals.saturating_add(1);
        pause.min(PAUSE_MAX)
    }

    /// The gateway does not know us any more, or not in this way: from ASPUP, after a pause.
    fn start_again(&mut self, why: String, turn: &mut LinkTurn<'_>) {
        self.tell(why, turn.out);
        self.leave(AspPhase::Down);
        self.is_registered = false;
        self.routing_context = None;
        self.deadline = Some(turn.now + self.pause(turn.config));
    }

    /// It carries no traffic, and may be asked to after a pause.
    fn stand_back(&mut self, why: String, turn: &mut LinkTurn<'_>) {
        self.tell_seldom(why, turn);
        self.leave(AspPhase::Inactive);
        self.deadline = Some(turn.now + self.pause(turn.config));
    }

    /// Another ASP carries the traffic.
    fn give_way(&mut self, turn: &mut LinkTurn<'_>) {
        self.tell_seldom("another ASP carries the traffic".into(), turn);
        self.leave(AspPhase::Inactive);
        let wait = OVERRIDDEN_FIRST * 2_u32.pow(self.overrides.min(10));
        self.overrides = self.overrides.saturating_add(1);
        self.overridden = Some(LinkOverride {
            since: turn.now,
            until: turn.now + wait.min(OVERRIDDEN_MAX),
        });
    }

    fn close(&mut self, why: String, out: &mut SignallingOutput) {
        self.last_error = Some(why.clone());
        self.leave(AspPhase::Closed);
        let link = self.number;
        out.events
            .push_back(SignallingEvent::LinkToClose { link, why });
    }

    /// Tells of a fault that comes about rarely.
    fn tell(&mut self, why: String, out: &mut SignallingOutput) {
        self.last_error = Some(why.clone());
        let link = self.number;
        out.events
            .push_back(SignallingEvent::LinkFault { link, why });
    }

    /// Tells of what a peer may do to us without end, at most once a second, its mistakes among it.
    fn tell_seldom(&mut self, why: String, turn: &mut LinkTurn<'_>) {
        match self.faults.release(turn.now) {
            Some(untold) => self.tell(with_untold(&why, untold), turn.out),
            None => self.last_error = Some(why),
        }
    }

    /// Tells of a peer's mistake, and answers it with an ERR; both at most once a second.
    pub(crate) fn fault(
        &mut self,
        why: &str,
        answer: Option<(M3uaErrorCode, &Bytes)>,
        turn: &mut LinkTurn<'_>,
    ) {
        let Some(untold) = self.faults.release(turn.now) else {
            return;
        };
        self.tell(with_untold(why, untold), turn.out);
        if let Some((code, octets)) = answer {
            let diagnostic = octets.slice(..octets.len().min(DIAGNOSTIC_MAX));
            let message = M3uaMessage::new(M3uaKind::ERR)
                .with_number(tag::ERROR_CODE, Some(code.0))
                .with(M3uaParameter::new(tag::DIAGNOSTIC, diagnostic));
            turn.out.manage(self.number, &message);
        }
    }
}

fn with_untold(why: &str, untold: u64) -> String {
    if untold == 0 {
        why.to_owned()
    } else {
        format!("{why} ({untold} faults more were not told)")
    }
}

// === impl FaultBrake ===

impl FaultBrake {
    /// How many were not told before this one; `None` when this is not to be told either.
    fn release(&mut self, now: Instant) -> Option<u64> {
        let is_early = |at: Instant| now.saturating_duration_since(at) < FAULT_EVERY;
        if self.told_at.is_some_and(is_early) {
            self.untold += 1;
            return None;
        }
        self.told_at = Some(now);
        Some(std::mem::take(&mut self.untold))
    }
}
