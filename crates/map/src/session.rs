//! What the interface to a GSM network holds: messages to handsets, one at a time for each subscriber, and what the
//! network brings by itself.
//!
//! The caller hands in unitdata ([`MapSession::received`], [`MapSession::returned`]) and messages
//! ([`MapSession::send`]), takes [`MapEvent`]s and unitdata until there is none, and calls [`MapSession::on_tick`] now
//! and then. A message comes with a token of the caller that comes back with what became of it.
//!
//! A *run* is the messages to one subscriber that follow one another: it asks the HLR once, and brings its messages to
//! the serving node in one dialogue as long as the node keeps that open. 3GPP TS 29.002 §23.3 has the procedures, TS
//! 23.040 §10 what they are for.
//!
//! | file | idea |
//! |---|---|
//! | `run` | a message on its way: ask, begin, send, and the next one |
//! | `answer` | what comes back, and what becomes of the message |
//! | `route` | where subscribers are, for a moment |
//! | `report` | the HLR is told of who is absent, or is there again |
//! | `incoming` | messages of handsets, and subscribers that are there again |
//! | `screening` | the firewall in front of these |
//! | `home` | others ask for our own subscribers, and bring messages for them: home routing |
//! | `strangers` | how many alerts of others are believed |
//!
//! Invariants: a token comes back once, by [`MapEvent::Answer`] or [`MapSession::take_lost`]; a subscriber has one
//! message under way; whatever strangers begin is bounded apart from what we begin.

mod answer;
mod home;
mod incoming;
mod report;
mod route;
mod run;
mod screening;
mod strangers;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use ahash::AHashMap;
use bytes::Bytes;
use smsc_firewall::{Firewall, FirewallSettings};
use smsc_sigtran::address::ssn;
use smsc_sigtran::{GlobalTitle, SccpAddress, Unitdata, UnitdataRequest};
use smsc_sms::tpdu::TpduAddress;
use smsc_tcap::{DialogueId, TcapConfig, TcapCounts, TcapDialogues, TcapEvent};

pub use self::home::{ForeignForward, HomeSubscribers, RoutingQuestion};
use self::incoming::IncomingDialogue;
use self::report::PendingStatusReport;
use self::route::KnownRoutes;
use self::run::MtRun;
pub use self::screening::{ScreeningAction, ScreeningReport};
use self::strangers::AlertBrakes;
pub use self::strangers::UnservedCounts;
use crate::context::{MapVersion, PeerVersions};
use crate::routing::{ServingAddress, ServingNode};

/// Most subscribers that are remembered for having been alerted, and for how long.
const ALERTED_MAX: usize = 16_384;
const ALERTED_FOR: Duration = Duration::from_secs(600);
/// An alert that follows another one of its subscriber so soon is no news: anybody who can reach us can forge them.
const ALERT_AGAIN: Duration = Duration::from_secs(10);

/// A message to a handset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MtForward {
    /// The subscriber, in international digits.
    pub msisdn: String,
    /// Its IMSI, where the caller knows it: what the HLR says counts.
    pub imsi: Option<String>,
    /// An SMS-DELIVER or SMS-STATUS-REPORT.
    pub tpdu: Bytes,
    /// Others follow: the dialogue is kept open for them.
    pub more: bool,
    /// The HLR is to answer although it knows the subscriber to be away.
    pub priority: bool,
}

/// Whom to ask where a subscriber is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HlrAddress {
    /// Whoever the network finds by the number of the subscriber.
    ByMsisdn {
        /// The translation type of the global title.
        translation_type: u8,
    },
    /// This one.
    Fixed(SccpAddress),
}

/// Settings of one session, fixed for its life.
#[derive(Debug, Clone)]
pub struct MapSessionConfig {
    /// The number of this service centre, in international digits.
    pub smsc: String,
    /// Our address.
    pub own: SccpAddress,
    /// Whom to ask.
    pub hlr: HlrAddress,
    /// The kinds of nodes that are tried, in this order.
    pub serving_nodes: Vec<ServingNode>,
    /// The translation type of the numbers of serving nodes.
    pub node_translation_type: u8,
    /// How long it is remembered where a subscriber is; zero: for the messages of one run.
    pub route_cache: Duration,
    /// How long answers to reports may take (TS 29.002 §17.1.2: 3 to 10 seconds), and how long a dialogue waits for
    /// the next message of a run.
    pub short: Duration,
    /// How long an HLR may take (15 to 30 seconds).
    pub medium: Duration,
    /// How long the node of a handset may take (1 to 10 minutes).
    pub long: Duration,
    /// How long it is remembered which version a peer understands.
    pub peer_version_memory: Duration,
    /// Most runs under way.
    pub max_dialogues: usize,
    /// Most dialogues of others under way.
    pub max_incoming: usize,
    /// Tell HLRs what became of messages to subscribers that were absent or had no memory.
    pub report_delivery: bool,
    /// The version that is tried first.
    pub latest: MapVersion,
    /// Most octets of a TC-BEGIN: a message with which it would be longer follows an empty one.
    pub most_in_begin: usize,
    /// Whose HLR and MSC we are for others, with home routing.
    pub home: Option<HomeSubscribers>,
}

/// What came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MapEvent<T> {
    /// What became of a message.
    Answer(T, MtOutcome),
    /// A message of a handset, to be answered by [`MapSession::answer_mo`].
    MoForward {
        /// What to answer.
        invoke: MoInvoke,
        /// Its number in digits, if the network tells it.
        msisdn: Option<String>,
        /// Its IMSI, if the network tells it; only in version 3.
        imsi: Option<String>,
        /// The service centre that it has written to, in digits.
        smsc: String,
        /// An SMS-SUBMIT or SMS-COMMAND.
        tpdu: Bytes,
    },
    /// Somebody asks where a subscriber of ours is, to be answered by [`MapSession::answer_routing`].
    RoutingAsked(RoutingQuestion),
    /// A message of somebody else for a subscriber of ours, to be answered by [`MapSession::answer_forward`].
    Forwarded(ForeignForward),
    /// A subscriber is there again, or has memory again.
    SubscriberReady {
        /// Its number, in digits.
        msisdn: String,
    },
    /// An HLR has noted that messages wait for a subscriber.
    WaitingData {
        /// Its number, in digits.
        msisdn: String,
        /// Its memory was full.
        mcef: bool,
        /// It was not reachable.
        mnrf: bool,
    },
    /// Something of the network that cannot be read.
    Malformed {
        /// What is wrong with it.
        why: String,
    },
    /// The firewall has looked at a request: what a rule has found, or nothing.
    Screened(Option<Box<ScreeningReport>>),
}

/// What became of a message to a handset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MtOutcome {
    /// The handset has it.
    Delivered {
        /// Of the subscriber, as the HLR has said.
        imsi: String,
        /// The SMS-DELIVER-REPORT of the handset, if it gives one.
        report: Option<Bytes>,
    },
    /// It has it not, or nobody knows.
    Failed {
        /// Why: a number of `smsc_domain::gsm_result`.
        status: u32,
        /// What has failed.
        of: FailedPart,
        /// The SMS-DELIVER-REPORT of the handset, if it gives one.
        report: Option<Bytes>,
        /// It was sent, and nobody has said that it did not arrive.
        was_sent: bool,
    },
}

/// What has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedPart {
    /// The HLR was asked in vain: nothing of this run can be sent.
    Routing,
    /// This message; the next one of its run may be sent.
    Forward,
}

/// Why a message was not sent; the token comes back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MapNotSent<T> {
    /// There is no signalling link.
    #[error("there is no signalling link")]
    NotReady(T),
    /// A message to this subscriber is under way.
    #[error("a message to this subscriber is under way")]
    Busy(T),
    /// There are too many dialogues.
    #[error("there are too many dialogues")]
    Full(T),
    /// The number is none, or the TPDU is too long.
    #[error("{1}")]
    Unwritable(T, &'static str),
}

/// Which message of a handset, or other request, is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MoInvoke {
    pub(crate) dialogue: DialogueId,
    pub(crate) invoke: i8,
    /// The version that its MSC, or whoever has sent it, speaks.
    pub version: MapVersion,
}

/// Why a message of a handset is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoRefusal {
    /// An RP-cause (3GPP TS 24.011 §8.2.5.4); the session finds the error of MAP for it.
    pub cause: u8,
    /// An SMS-SUBMIT-REPORT that says more.
    pub report: Option<Bytes>,
}

/// One interface's dialogues with HLRs, MSCs and SGSNs.
pub struct MapSession<T> {
    config: MapSessionConfig,
    /// The number of this service centre, as parameters have it.
    centre: TpduAddress,
    tcap: TcapDialogues,
    is_ready: bool,
    /// By subscriber.
    runs: AHashMap<String, MtRun<T>>,
    /// Whose dialogues these are that we have begun.
    owners: AHashMap<DialogueId, DialogueOwner>,
    /// Dialogues that others have begun.
    incoming: AHashMap<DialogueId, IncomingDialogue>,
    /// How many of the owners are reports.
    reports: usize,
    routes: KnownRoutes,
    versions: PeerVersions,
    /// Subscribers that were there again a moment ago, and until when that is remembered.
    alerted: AHashMap<String, Instant>,
    strangers: AlertBrakes,
    /// What TCAP had counted when it was asked last.
    counted: TcapCounts,
    firewall: Firewall,
    events: VecDeque<MapEvent<T>>,
}

/// What a dialogue of ours is for.
enum DialogueOwner {
    /// The run of this subscriber.
    Run(String),
    /// A report to an HLR.
    Report(Box<PendingStatusReport>),
}

// === impl MapSessionConfig ===

impl MapSessionConfig {
    /// The usual settings for a service centre with this number and address, which asks the HLR that the network finds.
    #[must_use]
    pub fn new(smsc: impl Into<String>, own: SccpAddress) -> Self {
        Self {
            smsc: smsc.into(),
            own,
            hlr: HlrAddress::ByMsisdn {
                translation_type: 0,
            },
            serving_nodes: vec![ServingNode::Msc, ServingNode::Sgsn],
            node_translation_type: 0,
            route_cache: Duration::from_secs(10),
            short: Duration::from_secs(10),
            medium: Duration::from_secs(30),
            long: Duration::from_secs(60),
            peer_version_memory: Duration::from_secs(24 * 3600),
            max_dialogues: 1024,
            max_incoming: 1024,
            report_delivery: true,
            latest: MapVersion::V3,
            // What MTP carries, less its label, two addresses with titles and the rest of a UDT.
            most_in_begin: 236,
            home: None,
        }
    }
}

// === impl MapSession ===

impl<T> MapSession<T> {
    /// A session without a link.
    #[must_use]
    pub fn new(config: MapSessionConfig) -> Self {
        // A dialogue in which nothing moves has lost its timer somewhere: ours are all shorter.
        let idle = config.long.max(config.medium) + config.medium;
        let tcap = TcapConfig {
            own: Some(config.own.clone()),
            max_dialogues: config.max_dialogues.saturating_mul(2),
            max_incoming: config.max_incoming,
            // A network may have few MSCs, so one peer gets a large part.
            max_incoming_of_peer: (config.max_incoming / 4).max(1),
            idle_timeout: idle,
            incoming_idle_timeout: config.long,
        };
        Self {
            centre: TpduAddress::international(&config.smsc),
            tcap: TcapDialogues::new(tcap),
            is_ready: false,
            runs: AHashMap::new(),
            owners: AHashMap::new(),
            incoming: AHashMap::new(),
            reports: 0,
            routes: KnownRoutes::new(config.route_cache),
            versions: PeerVersions::new(config.peer_version_memory),
            alerted: AHashMap::new(),
            strangers: AlertBrakes::new(),
            counted: TcapCounts::default(),
            // Off, until it is set.
            firewall: Firewall::new(FirewallSettings::default()),
            events: VecDeque::new(),
            config,
        }
    }

    /// Whether there is a link: without one, nothing new is sent. What is under way waits for its answer.
    pub fn set_ready(&mut self, is_ready: bool) {
        self.is_ready = is_ready;
    }

    /// Takes unitdata of the network.
    pub fn received(&mut self, unitdata: Unitdata, now: Instant) {
        let Unitdata {
            called,
            calling,
            data,
            ..
        } = unitdata;
        self.tcap.received(called, calling, &data, now);
        self.pump(now);
    }

    /// Takes back unitdata of ours that SCCP could not bring, with its return cause (Q.713 §3.12). Also for what the
    /// signalling point itself could not send: 5, MTP failure. Whom it was for does not matter: its data tells whose it is.
    pub fn returned(&mut self, cause: u8, data: &Bytes, now: Instant) {
        self.tcap.returned(cause, data);
        self.pump(now);
    }

    /// Looks at the clock: gives up what was not answered in time.
    pub fn on_tick(&mut self, now: Instant) {
        self.tcap.on_tick(now);
        self.pump(now);
        self.give_up_overdue_runs(now);
        self.alerted.retain(|_, until| *until > now);
        self.routes.forget_old(now);
        self.strangers.forget_old(now);
        self.pump(now);
    }

    /// What has happened next.
    pub fn next_event(&mut self) -> Option<MapEvent<T>> {
        self.events.pop_front()
    }

    /// What is to be sent next.
    pub fn next_unitdata(&mut self) -> Option<UnitdataRequest> {
        self.tcap.next_unitdata()
    }

    /// Messages that wait for their answer.
    #[must_use]
    pub fn held(&self) -> usize {
        self.runs.values().filter(|run| run.is_under_way()).count()
    }

    /// Dialogues under way: those that we have begun, and those of others.
    #[must_use]
    pub fn dialogues(&self) -> (usize, usize) {
        (self.tcap.begun(), self.tcap.incoming())
    }

    /// What came and brought no event, since the session was made.
    #[must_use]
    pub fn counts(&self) -> TcapCounts {
        self.tcap.counts()
    }

    /// What others have asked and did not get, since the last call.
    pub fn take_unserved(&mut self) -> UnservedCounts {
        let counted = self.tcap.counts();
        let before = std::mem::replace(&mut self.counted, counted);
        UnservedCounts {
            refused: counted.answered - before.answered,
            unanswered: counted.unanswered - before.unanswered,
            alerts: self.strangers.take_disbelieved(),
        }
    }

    /// The tokens of all messages that wait, when the links are gone for good, each with whether its message was sent, so
    /// that it may have arrived. All dialogues are forgotten; nothing is said to their other ends.
    pub fn take_lost(&mut self) -> Vec<(T, bool)> {
        self.is_ready = false;
        for (id, _) in self.owners.drain() {
            self.tcap.abandon(id);
        }
        for (id, _) in self.incoming.drain() {
            self.tcap.abandon(id);
        }
        self.reports = 0;
        let runs = self.runs.drain();
        runs.filter_map(|(_, run)| run.into_lost()).collect()
    }

    /// Handles what the dialogues bring.
    fn pump(&mut self, now: Instant) {
        while let Some(event) = self.tcap.next_event() {
            self.on_tcap(event, now);
        }
    }

    fn on_tcap(&mut self, event: TcapEvent, now: Instant) {
        match event {
            TcapEvent::Begun {
                id,
                context,
                calling,
                components,
                ..
            } => {
                let calling = self.title_of(&calling);
                self.on_begun(id, context, calling, components, now);
            }
            TcapEvent::Proceeded { id, components, .. } => {
                self.on_components(id, components, false, now);
            }
            TcapEvent::Ended { id, components, .. } => {
                self.on_components(id, components, true, now);
            }
            TcapEvent::Aborted { id, why } => self.on_broken(id, &Broken::Aborted(why), now),
            TcapEvent::Returned { id, cause } => self.on_broken(id, &Broken::Returned(cause), now),
            TcapEvent::TimedOut { id, .. } => self.on_silence(id, now),
            TcapEvent::IdleEnded { id } => self.on_broken(id, &Broken::Silent, now),
        }
    }

    /// An answer of the other side, or what it sends by itself.
    fn on_components(
        &mut self,
        id: DialogueId,
        components: Vec<smsc_tcap::Component>,
        is_end: bool,
        now: Instant,
    ) {
        if self.incoming.contains_key(&id) {
            return self.on_incoming(id, components, is_end, now);
        }
        match self.owners.remove(&id) {
            Some(DialogueOwner::Run(msisdn)) => {
                if let Some(run) = self.runs.remove(&msisdn) {
                    self.on_run(run, id, components, is_end, now);
                }
            }
            Some(DialogueOwner::Report(_)) => {
                self.reports -= 1;
                if !is_end {
                    self.tcap.end(id, Vec::new());
                }
            }
            None if !is_end => self.tcap.end(id, Vec::new()),
            None => {}
        }
    }

    /// A dialogue is gone.
    fn on_broken(&mut self, id: DialogueId, broken: &Broken, now: Instant) {
        if self.incoming.remove(&id).is_some() {
            return;
        }
        match self.owners.remove(&id) {
            Some(DialogueOwner::Run(msisdn)) => {
                if let Some(run) = self.runs.remove(&msisdn) {
                    self.on_broken_run(run, broken, now);
                }
            }
            Some(DialogueOwner::Report(report)) => {
                self.reports -= 1;
                self.on_broken_report(*report, broken, now);
            }
            None => {}
        }
    }

    /// An invoke was not answered in time: its dialogue is open still.
    fn on_silence(&mut self, id: DialogueId, now: Instant) {
        self.tcap.abort(id, smsc_tcap::AbortCause::User);
        self.on_broken(id, &Broken::Silent, now);
    }

    /// The address of whom a number belongs to.
    fn title(&self, digits: &str, translation_type: u8, subsystem: u8) -> SccpAddress {
        SccpAddress::of_title(
            GlobalTitle::international(digits, translation_type),
            subsystem,
        )
    }

    fn node_address(&self, node: &ServingAddress) -> SccpAddress {
        let subsystem = match node.node {
            ServingNode::Msc => ssn::MSC,
            ServingNode::Sgsn => ssn::SGSN,
        };
        self.title(
            &node.number.text,
            self.config.node_translation_type,
            subsystem,
        )
    }

    fn hlr_address(&self, msisdn: &str) -> SccpAddress {
        match &self.config.hlr {
            HlrAddress::ByMsisdn { translation_type } => {
                self.title(msisdn, *translation_type, ssn::HLR)
            }
            HlrAddress::Fixed(address) => address.clone(),
        }
    }

    /// By what the version of the HLR of a subscriber is remembered: numbers that differ in their last digits only are
    /// mostly those of one HLR.
    fn hlr_key<'a>(&self, msisdn: &'a str) -> &'a str {
        const OF_ONE_HLR: usize = 4;
        match &self.config.hlr {
            HlrAddress::ByMsisdn { .. } => msisdn
                .get(..msisdn.len().saturating_sub(OF_ONE_HLR))
                .unwrap_or(msisdn),
            HlrAddress::Fixed(_) => "",
        }
    }

    /// A subscriber is there again; whether that is news.
    fn note_alert(&mut self, msisdn: &str, now: Instant) -> bool {
        let soon = now + ALERTED_FOR.saturating_sub(ALERT_AGAIN);
        let until = self.alerted.get(msisdn);
        if until.is_some_and(|until| *until > soon) {
            return false;
        }
        if self.alerted.len() < ALERTED_MAX || self.alerted.contains_key(msisdn) {
            self.alerted.insert(msisdn.to_owned(), now + ALERTED_FOR);
        }
        true
    }
}

/// How a dialogue has ended without an answer.
enum Broken {
    /// By the other side, or by TCAP.
    Aborted(smsc_tcap::TcapAbort),
    /// SCCP has returned what we sent.
    Returned(u8),
    /// Nothing came in time.
    Silent,
}

#[cfg(test)]
mod tests;
