//! A network that speaks MAP: signalling gateways below, dialogues with HLRs, MSCs and SGSNs above.
//!
//! ```text
//!  MapSession   messages to handsets and from them   (crates/map)
//!      │ unitdata
//!  SignallingPoint   SCCP and M3UA: routes, links    (crates/sigtran)
//!      │ M3UA
//!  GatewayPort ⇄ a task for each gateway             (gateway, transport)
//! ```
//!
//! A subscriber is addressed by its number: where it is, its HLR says, each time. The interface serves its queue while the
//! gateways take our traffic and what translates addresses can be reached. Links may change for a moment: only when that has
//! lasted [`GRACE`], the queue gets everything back, as when an HLR over GSUP closes the connection; dialogues go on until then.

pub(super) mod gateway;
mod settings;
pub(super) mod transport;

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::Instant;

use self::gateway::{GatewayChange, GatewayNews, GatewayPort};
use super::exchange::{
    CoreEvent, CoreNotSent, CoreTick, FailureScope, HandsetSubmission, MtRequest, MtResult,
    SubmissionRequest,
};
use super::log_pace::LogPace;
use super::work::Sending;
use crate::actors::context::NodeContext;
use crate::actors::context::plan::GsmPlan;
use crate::clock;
use crate::config::Gsm;
use crate::domain::gsm_result::waits_for_subscriber;
use crate::firewall::{BlockAnswer, ScreenedRequest};
use crate::map::MapUserError;
use crate::map::session::{
    FailedPart, MapEvent, MapNotSent, MapSession, MoInvoke, MoRefusal, MtForward, MtOutcome,
    UnservedCounts,
};
use crate::pb::{BindState, GatewaySnapshot, GatewayState};
use crate::sigtran::{
    LinkState, PointCode, SignallingEvent, SignallingPoint, SignallingUnavailable, TrafficMode,
    UnitdataRequest,
};

/// How long the network may be away before the queue gets everything back: what T(r) of RFC 4666 §4.3.2 lets a gateway wait
/// for another way to us, and a moment for a new connection.
const GRACE: Duration = Duration::from_secs(5);
/// Most unitdata that wait until the network is there again, and how long: when the queue gets everything back, they go.
const KEPT_MAX: usize = 4096;
const KEPT_FOR: Duration = Duration::from_secs(GRACE.as_secs() + 1);
/// What gateways say that is logged in a second.
const SAID: u64 = 20;
/// Return causes of SCCP for what has not left this node (ITU-T Q.713 §3.12).
const MTP_FAILURE: u8 = 5;
const ERROR_IN_LOCAL_PROCESSING: u8 = 9;

/// A signalling point of ours, and what is said through it.
pub(super) struct SignallingCore {
    /// The network, for the log.
    network: String,
    point: SignallingPoint,
    session: MapSession<Box<Sending>>,
    gateways: Vec<ShownGateway>,
    /// Whether nothing shall be read for now; its end ends the tasks of the gateways.
    is_busy: watch::Sender<bool>,
    /// The start of the interface that this is of.
    start: u64,
    /// Where everything goes that is addressed by a global title.
    destination: PointCode,
    /// Whether that cannot be reached, as the gateways say.
    is_cut_off: bool,
    /// Whether one gateway carries all, while the others stand by.
    is_override: bool,
    /// Why no messages go now, and since when.
    away: Option<(String, Instant)>,
    /// What could not be sent while the network is away, and since when it waits.
    kept: VecDeque<(UnitdataRequest, Instant)>,
    /// When it is logged what gateways say of themselves and of the network: they may say so any number of times.
    said: LogPace,
    events: VecDeque<CoreEvent>,
}

/// One gateway, as people see it, and its task.
struct ShownGateway {
    port: GatewayPort,
    shown: GatewaySnapshot,
}

// === impl SignallingCore ===

impl SignallingCore {
    /// Without a gateway.
    pub(super) fn new(node: &NodeContext, plan: Option<&GsmPlan>) -> Self {
        let config = plan.map(|plan| plan.config.clone()).unwrap_or_default();
        Self::of(&config, node.ids.node(), 0)
    }

    /// One whose gateways are added.
    pub(super) fn of(config: &Gsm, node: u8, start: u64) -> Self {
        let signalling = settings::signalling(config, node);
        let destination = signalling.destination;
        let is_override = signalling.mode == TrafficMode::Override;
        let now = Instant::now();
        let mut session = MapSession::new(settings::session(config, node));
        session.set_firewall(settings::firewall(config, node));
        Self {
            network: config.name.clone(),
            point: SignallingPoint::new(signalling, now.into_std()),
            session,
            gateways: Vec::new(),
            is_busy: watch::channel(false).0,
            start,
            destination,
            is_cut_off: false,
            is_override,
            away: Some(("no signalling gateway is connected".to_owned(), now)),
            kept: VecDeque::new(),
            said: LogPace::of(SAID),
            events: VecDeque::new(),
        }
    }

    /// Takes the settings that change without a new connection.
    pub(super) fn follow(&mut self, config: &Gsm, node: u8) {
        self.session.set_firewall(settings::firewall(config, node));
    }

    pub(super) fn is_ready(&self) -> bool {
        self.away.is_none()
    }

    /// Why the network is away, if it is for so long that it is not waited for.
    pub(super) fn lost(&self, now: Instant) -> Option<&str> {
        let (why, _) = self.away.as_ref()?;
        (self.away_for(now) >= GRACE).then_some(why)
    }

    pub(super) fn away_for(&self, now: Instant) -> Duration {
        let away = self.away.as_ref();
        away.map_or(Duration::ZERO, |(_, since)| {
            now.saturating_duration_since(*since)
        })
    }

    /// What others have asked and did not get, since the last call.
    pub(super) fn take_unserved(&mut self) -> UnservedCounts {
        self.session.take_unserved()
    }

    /// Whether anything shall be read.
    pub(super) fn hold_reading(&self, is_busy: bool) {
        self.is_busy.send_if_modified(|before| {
            let is_new = *before != is_busy;
            *before = is_busy;
            is_new
        });
    }

    pub(super) fn next_event(&mut self) -> Option<CoreEvent> {
        self.events.pop_front()
    }

    pub(super) fn send(
        &mut self,
        request: &MtRequest<'_>,
        sending: Box<Sending>,
        now: Instant,
    ) -> Result<(), CoreNotSent> {
        let forward = MtForward {
            msisdn: request.subscriber.to_owned(),
            imsi: None,
            tpdu: request.tpdu.clone(),
            more: request.follows,
            priority: request.is_urgent,
        };
        let sent = self.session.send(forward, sending, now.into_std());
        self.pass_on(now);
        sent.map_err(|not_sent| match not_sent {
            MapNotSent::Busy(sending) => CoreNotSent::Busy(sending),
            MapNotSent::Unwritable(sending, why) => {
                CoreNotSent::Unwritable(sending, why.to_owned())
            }
            MapNotSent::Full(sending) | MapNotSent::NotReady(sending) => {
                CoreNotSent::NotNow(sending)
            }
        })
    }

    pub(super) fn end_run(&mut self, subscriber: &str, now: Instant) {
        self.session.end_run(subscriber, now.into_std());
        self.pass_on(now);
    }

    pub(super) fn answer(&mut self, invoke: MoInvoke, refusal: Option<MoRefusal>) {
        let answer = refusal.map_or(Ok(None), Err);
        self.session.answer_mo(invoke, answer);
        self.pass_on(Instant::now());
    }

    pub(super) fn answer_routing(&mut self, invoke: MoInvoke, answer: Result<&str, u8>) {
        self.session.answer_routing(invoke, answer);
        self.pass_on(Instant::now());
    }

    pub(super) fn answer_forward(&mut self, invoke: MoInvoke, answer: Result<(), MapUserError>) {
        let now = Instant::now();
        self.session.answer_forward(invoke, answer, now.into_std());
        self.pass_on(now);
    }

    pub(super) fn screen_routing(
        &mut self,
        request: &ScreenedRequest<'_>,
        tpdu: &Bytes,
        is_counted: bool,
    ) -> Option<BlockAnswer> {
        let (session, now) = (&mut self.session, Instant::now());
        let answer = session.screen_routing(request, tpdu, is_counted, now.into_std());
        self.pass_on(now);
        answer
    }

    pub(super) fn drop_invoke(&mut self, invoke: MoInvoke) {
        self.session.drop_invoke(invoke);
        self.pass_on(Instant::now());
    }

    pub(super) fn on_tick(&mut self, now: Instant) -> CoreTick {
        self.point.on_tick(now.into_std());
        self.session.on_tick(now.into_std());
        self.give_up_kept(now);
        self.pass_on(now);
        CoreTick::default()
    }

    /// Says good-bye to the gateways, and lets go of their tasks.
    pub(super) fn cut(&mut self) {
        self.point.stop(Instant::now().into_std());
        self.write();
        self.gateways.clear();
        self.is_busy = watch::channel(false).0;
        self.start = 0;
        self.events.clear();
    }

    pub(super) fn take_lost(&mut self) -> Vec<(Sending, bool)> {
        self.kept.clear();
        let lost = self.session.take_lost().into_iter();
        lost.map(|(sending, was_sent)| (*sending, was_sent))
            .collect()
    }

    /// True while nothing shall be read; for the task of a gateway.
    pub(super) fn reading(&self) -> watch::Receiver<bool> {
        self.is_busy.subscribe()
    }

    /// Adds the next gateway of the configuration.
    pub(super) fn add(&mut self, port: GatewayPort, shown: GatewaySnapshot) {
        self.gateways.push(ShownGateway { port, shown });
    }

    /// The gateways, as people see them.
    pub(super) fn gateways(&self) -> Vec<GatewaySnapshot> {
        self.gateways.iter().map(|one| one.shown.clone()).collect()
    }

    /// How the interface stands, while no messages go.
    pub(super) fn state(&self) -> BindState {
        let has = |wanted: GatewayState| {
            let mut gateways = self.gateways.iter();
            gateways.any(|one| one.shown.state() == wanted)
        };
        let up = [
            GatewayState::Active,
            GatewayState::Standby,
            GatewayState::Inactive,
        ];
        if up.into_iter().any(has) || has(GatewayState::Down) {
            BindState::Binding
        } else if has(GatewayState::Connecting) {
            BindState::Connecting
        } else {
            BindState::Waiting
        }
    }

    /// Takes what a gateway's task has brought; whether it is one of these gateways.
    pub(super) fn brought(&mut self, news: GatewayNews, now: Instant) -> bool {
        let link = news.link;
        if news.start != self.start {
            return false;
        }
        let Some(ShownGateway { shown, .. }) = self.gateways.get_mut(link) else {
            return false;
        };
        match news.what {
            GatewayChange::Connecting => {
                shown.set_state(GatewayState::Connecting);
                shown.since = clock::now_ms();
                shown.next_at = 0;
            }
            GatewayChange::Connected(peer) => {
                tracing::info!(gsm = %self.network, gateway = %shown.address, peer, "connected to a signalling gateway");
                self.point.connected(link, now.into_std());
            }
            GatewayChange::Messages(messages) => {
                shown.received_total += messages.len() as u64;
                for message in &messages {
                    self.point.received(link, message, now.into_std());
                }
            }
            GatewayChange::Ended { why } => {
                shown.last_error = why;
                self.point.closed(link, now.into_std());
            }
            GatewayChange::Waits {
                why,
                failures,
                next_at,
            } => {
                if shown.attempts == 0 || shown.last_error != why {
                    tracing::warn!(gsm = %self.network, gateway = %shown.address, why, "not connected to a signalling gateway");
                }
                shown.last_error = why;
                shown.set_state(GatewayState::Waiting);
                shown.since = clock::now_ms();
                (shown.attempts, shown.next_at) = (failures, next_at);
            }
        }
        self.pass_on(now);
        true
    }

    /// Passes everything on that one part has for another, until there is no more.
    fn pass_on(&mut self, now: Instant) {
        let mut tries_kept = true;
        loop {
            while let Some(event) = self.point.next_event() {
                self.on_signalling(event, now);
            }
            while let Some(event) = self.session.next_event() {
                let event = self.translated(event);
                self.events.push_back(event);
            }
            let kept = if tries_kept && self.is_open() {
                self.kept.pop_front()
            } else {
                None
            };
            let was_kept = kept.is_some();
            let next = kept.or_else(|| Some((self.session.next_unitdata()?, now)));
            let Some((unitdata, since)) = next else {
                break;
            };
            if !was_kept && self.kept.len() < KEPT_MAX && self.is_behind(&unitdata) {
                self.kept.push_back((unitdata, since));
                continue;
            }
            let Err(unavailable) = self.point.send(&unitdata, now.into_std()) else {
                continue;
            };
            let is_away = match unavailable {
                SignallingUnavailable::Inactive => true,
                SignallingUnavailable::Destination(point) => point == self.destination,
                _ => false,
            };
            if is_away && was_kept {
                tries_kept = false;
                self.kept.push_front((unitdata, since));
                continue;
            }
            if is_away && self.kept.len() < KEPT_MAX {
                tries_kept = false;
                self.kept.push_back((unitdata, since));
                continue;
            }
            // As the network would return it.
            let cause = match unavailable {
                SignallingUnavailable::Inactive | SignallingUnavailable::Destination(_) => {
                    MTP_FAILURE
                }
                _ => ERROR_IN_LOCAL_PROCESSING,
            };
            let now = now.into_std();
            self.session.returned(cause, &unitdata.data, now);
        }
        self.write();
        self.show_links();
        self.look_around(now);
    }

    /// Whether an earlier one of its dialogue is kept, which it must not pass. There is none before the first one, so answers to
    /// many strangers are not each compared with all that are kept.
    fn is_behind(&self, unitdata: &UnitdataRequest) -> bool {
        let mut kept = self.kept.iter();
        unitdata.in_order && kept.any(|(earlier, _)| earlier.sequence == unitdata.sequence)
    }

    /// Gives up what has waited for the network for too long, as the network would return it.
    fn give_up_kept(&mut self, now: Instant) {
        let is_old = |since: Instant| now.saturating_duration_since(since) >= KEPT_FOR;
        while self.kept.front().is_some_and(|(_, since)| is_old(*since)) {
            if let Some((unitdata, _)) = self.kept.pop_front() {
                let now = now.into_std();
                self.session.returned(MTP_FAILURE, &unitdata.data, now);
            }
        }
    }

    /// Whether messages may go, as far as the gateways say.
    fn is_open(&self) -> bool {
        self.point.is_active() && !self.is_cut_off
    }

    fn on_signalling(&mut self, event: SignallingEvent, now: Instant) {
        let (network, said) = (&self.network, &mut self.said);
        match event {
            SignallingEvent::Active => {
                if let Some(unlogged) = said.note(now) {
                    tracing::info!(gsm = %network, unlogged, "the signalling gateways take our traffic");
                }
            }
            SignallingEvent::Inactive(why) => {
                if let Some(unlogged) = said.note(now) {
                    tracing::warn!(gsm = %network, why, unlogged, "no signalling gateway takes our traffic");
                }
                self.away.get_or_insert((why, now));
            }
            SignallingEvent::Unitdata(unitdata) => self.session.received(unitdata, now.into_std()),
            SignallingEvent::Returned { cause, data, .. } => {
                self.session.returned(cause, &data, now.into_std());
            }
            SignallingEvent::DestinationUnavailable(point) => {
                if let Some(unlogged) = said.note(now) {
                    tracing::warn!(gsm = %network, %point, unlogged, "a point code cannot be reached");
                }
                self.is_cut_off |= point == self.destination;
            }
            SignallingEvent::DestinationAvailable(point) => {
                if let Some(unlogged) = said.note(now) {
                    tracing::info!(gsm = %network, %point, unlogged, "a point code can be reached again");
                }
                self.is_cut_off &= point != self.destination;
            }
            SignallingEvent::DestinationCongested(point, level) => {
                if let Some(unlogged) = said.note(now) {
                    tracing::warn!(gsm = %network, %point, level, unlogged, "the way to a point code is congested");
                }
            }
            SignallingEvent::LinkFault { link, why } => {
                if let Some(ShownGateway { shown, .. }) = self.gateways.get_mut(link) {
                    tracing::warn!(gsm = %network, gateway = %shown.address, why, "something is wrong with a signalling gateway");
                    shown.last_error = why;
                }
            }
            SignallingEvent::LinkToClose { link, why } => {
                if let Some(gateway) = self.gateways.get(link) {
                    gateway.port.close(why);
                }
            }
        }
    }

    fn translated(&self, event: MapEvent<Box<Sending>>) -> CoreEvent {
        match event {
            MapEvent::Answer(sending, outcome) => CoreEvent::Result(sending, result_of(&outcome)),
            MapEvent::MoForward {
                invoke,
                msisdn,
                imsi,
                tpdu,
                ..
            } => CoreEvent::Submission(Box::new(HandsetSubmission {
                subscriber: msisdn.clone().unwrap_or_default(),
                imsi: imsi.unwrap_or_default(),
                msisdn,
                tpdu: Some(tpdu),
                request: SubmissionRequest::Map(invoke),
            })),
            MapEvent::RoutingAsked(question) => CoreEvent::RoutingAsked(Box::new(question)),
            MapEvent::Forwarded(forward) => CoreEvent::Forwarded(Box::new(forward)),
            MapEvent::SubscriberReady { msisdn } => CoreEvent::SubscriberReady(msisdn),
            MapEvent::WaitingData { mcef, mnrf, .. } => {
                tracing::debug!(gsm = %self.network, mcef, mnrf, "the HLR has messages noted for a subscriber");
                CoreEvent::Other
            }
            MapEvent::Malformed { why } => CoreEvent::Malformed(why, None),
            MapEvent::Screened(report) => CoreEvent::Screened(report),
        }
    }

    /// Hands over what the gateways are to get.
    fn write(&mut self) {
        while let Some(message) = self.point.next_transmit() {
            let Some(ShownGateway { port, shown }) = self.gateways.get_mut(message.link) else {
                continue;
            };
            shown.sent_total += 1;
            if !port.write(message) {
                port.close("the gateway does not read".to_owned());
            }
        }
    }

    /// Notes how the connections stand that are there.
    fn show_links(&mut self) {
        let another_carries = self.is_override && self.point.is_active();
        for (ShownGateway { shown, .. }, link) in self.gateways.iter_mut().zip(self.point.links()) {
            if let Some(why) = &link.last_error
                && shown.last_error != *why
                && link.state != LinkState::Closed
            {
                shown.last_error.clone_from(why);
            }
            let state = match link.state {
                // Its task says whether it waits or connects.
                LinkState::Closed => continue,
                LinkState::Down => GatewayState::Down,
                LinkState::Inactive if another_carries => GatewayState::Standby,
                LinkState::Inactive => GatewayState::Inactive,
                LinkState::Active => GatewayState::Active,
            };
            if shown.state() == state {
                continue;
            }
            shown.set_state(state);
            shown.since = clock::now_ms();
            if state == GatewayState::Active {
                shown.last_error.clear();
                (shown.attempts, shown.next_at) = (0, 0);
            }
        }
    }

    /// Whether messages may go now, and what follows from that.
    fn look_around(&mut self, now: Instant) {
        let is_open = self.is_open();
        if is_open && self.away.take().is_some() {
            self.session.set_ready(true);
            self.events.push_back(CoreEvent::Ready);
        } else if !is_open {
            let destination = self.destination;
            self.away.get_or_insert_with(|| {
                let why = format!("the gateways cannot reach point code {destination}");
                (why, now)
            });
            self.session.set_ready(false);
        }
    }
}

/// What became of a message.
fn result_of(outcome: &MtOutcome) -> MtResult {
    match *outcome {
        MtOutcome::Delivered { .. } => MtResult::Arrived,
        // The handset may have it.
        MtOutcome::Failed {
            status,
            was_sent: true,
            ..
        } => MtResult::Unknown(status),
        MtOutcome::Failed { status, of, .. } => MtResult::Refused {
            status,
            scope: match of {
                FailedPart::Routing => FailureScope::Run,
                FailedPart::Forward if waits_for_subscriber(status) => FailureScope::Line,
                FailedPart::Forward => FailureScope::Message,
            },
        },
    }
}
