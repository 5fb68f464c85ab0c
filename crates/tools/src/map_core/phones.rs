//! The subscribers of a simulated network: how each is served, and what has come.
//!
//! Shared by all connections and by the test that asks. What is not MAP is in `handsets`. A number has the IMSI that
//! [`imsi_of`] makes of it.

use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::MapCoreOptions;
use super::gateway::LinkOrder;
use super::mobile::MobileSubmit;
use super::nodes::{MapNodes, MapWork};
use crate::handsets::{self, Arrived, SimulatedHandsets};
use crate::network::SimulatedNetwork;
use crate::simulator::MoOptions;
use crate::simulator::journal::Journal;
use smsc_map::{MapVersion, ReportDeliveryStatusArg};

/// What an IMSI begins with here: the country code of test networks (ITU-T E.212).
const NETWORK: &str = "00101";
/// Digits of an IMSI behind that.
const IN_NETWORK: usize = 10;

/// How a subscriber is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapPhone {
    /// What the HLR answers when it is asked where the subscriber is.
    pub routing: MapMood,
    /// What the MSC does with messages; `None` when none serves the subscriber.
    pub msc: Option<MapMood>,
    /// What the SGSN does.
    pub sgsn: Option<MapMood>,
}

/// What becomes of a request to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MapMood {
    /// It succeeds.
    #[default]
    Fine,
    /// It fails with this user error (3GPP TS 29.002 §17.6.6).
    Fails(u8),
    /// It fails with absentSubscriberSM and this diagnostic (TS 23.040 §3.3.2).
    Absent(Option<u8>),
    /// The handset refuses the message with this RP-cause (TS 24.011 §8.2.5.4).
    Refuses(u8),
    /// There is no answer.
    Silent,
    /// The node aborts the dialogue.
    Aborts,
    /// SCCP brings the request back with this cause (ITU-T Q.713 §3.12).
    ComesBack(u8),
}

/// The subscribers and nodes of one network.
#[derive(Debug)]
pub struct MapPhones {
    handsets: SimulatedHandsets<MapPhone>,
    inner: Mutex<MapNodes>,
}

/// The IMSI of the subscriber with a number: the last ten digits of it, in a test network.
pub fn imsi_of(msisdn: &str) -> String {
    let digits: String = msisdn.chars().filter(char::is_ascii_digit).collect();
    let last = &digits[digits.len().saturating_sub(IN_NETWORK)..];
    format!("{NETWORK}{last:0>IN_NETWORK$}")
}

// === impl MapPhone ===

impl Default for MapPhone {
    /// Everything is fine, at an MSC.
    fn default() -> Self {
        Self {
            routing: MapMood::Fine,
            msc: Some(MapMood::Fine),
            sgsn: None,
        }
    }
}

impl MapPhone {
    /// One whose MSC does so.
    pub fn at_msc(mood: MapMood) -> Self {
        Self {
            msc: Some(mood),
            ..Self::default()
        }
    }

    /// One whose HLR answers so.
    pub fn at_hlr(mood: MapMood) -> Self {
        Self {
            routing: mood,
            ..Self::default()
        }
    }
}

// === impl MapPhones ===

impl MapPhones {
    pub(super) fn new(options: MapCoreOptions, journal: Option<Journal>) -> Self {
        Self {
            handsets: SimulatedHandsets::new(options.core.clone(), journal),
            inner: Mutex::new(MapNodes::new(options, Instant::now())),
        }
    }

    fn inner(&self) -> MutexGuard<'_, MapNodes> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets nodes and handsets do something now.
    fn work<T>(&self, now: Instant, work: impl FnOnce(&mut MapWork<'_>) -> T) -> T {
        let mut nodes = self.inner();
        let mut all = MapWork {
            nodes: &mut nodes,
            handsets: &self.handsets,
            now,
        };
        let done = work(&mut all);
        all.pump();
        done
    }

    /// From now on the subscriber of a number is served so.
    pub fn set(&self, msisdn: &str, phone: MapPhone) {
        self.handsets.tell(&imsi_of(msisdn), phone);
    }

    /// What the handset of a number has taken, in order.
    pub fn delivered(&self, msisdn: &str) -> Vec<Arrived> {
        self.handsets.delivered(&imsi_of(msisdn))
    }

    /// How often an HLR was asked where somebody is.
    pub fn routing_asked(&self) -> u64 {
        self.inner().routing_asked
    }

    /// What HLRs were told of deliveries, in order.
    pub fn delivery_reports(&self) -> Vec<ReportDeliveryStatusArg> {
        self.inner().reports.clone()
    }

    /// How many alerts were answered.
    pub fn alerts_answered(&self) -> usize {
        self.inner().alerts_answered
    }

    /// How many connections carry traffic, and how many there have been.
    pub fn connections(&self) -> (usize, u64) {
        self.inner().connections()
    }

    /// How many dialogues of SMSCs are open.
    pub fn dialogues(&self) -> usize {
        self.inner().served.len()
    }

    /// The HLR tells those who wait for the subscriber of a number that it is there; who has asked last, if nobody
    /// does.
    pub fn ready(&self, msisdn: &str) {
        self.work(Instant::now(), |work| work.ready(msisdn));
    }

    /// A handset sends a TPDU to a service centre. False if no SMSC is there, or it cannot be sent.
    pub fn submit(&self, imsi: &str, msisdn: &str, service_centre: &str, tpdu: Bytes) -> bool {
        self.work(Instant::now(), |work| {
            let latest = work.nodes.options.msc_version;
            work.submit(MobileSubmit {
                imsi: imsi.to_owned(),
                msisdn: msisdn.to_owned(),
                service_centre: service_centre.to_owned(),
                tpdu,
                version: MapVersion::of(latest).unwrap_or(MapVersion::V1),
            })
        })
    }

    /// Tells every SMSC that the network can be reached, or cannot (DAVA, DUNA); nobody behind an STP.
    pub fn set_reachable(&self, is_reachable: bool) {
        let inner = self.inner();
        inner.gateway.tell(inner.options.point_code, is_reachable);
    }

    /// Closes every connection.
    pub fn cut(&self) {
        self.inner().cut();
    }

    /// An SMSC has come; its number.
    pub(super) fn came(&self, orders: mpsc::Sender<LinkOrder>, now: Instant) -> u64 {
        self.inner().came(orders, now)
    }

    pub(super) fn gone(&self, number: u64, now: Instant) {
        self.inner().gone(number, now);
    }

    /// A message of a connection.
    pub(super) fn received(&self, number: u64, octets: &Bytes, now: Instant) {
        self.work(now, |work| work.received(number, octets));
    }

    /// When the next answer is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.inner().due.next_due()
    }

    pub(super) fn on_due(&self, now: Instant) {
        self.work(now, |work| work.answer_due());
    }

    pub(super) fn on_tick(&self, now: Instant) {
        self.work(now, |work| work.on_tick());
    }
}

/// What has come, and how it was answered: by the code of a user error, 0, or 255 for no answer.
impl Deref for MapPhones {
    type Target = SimulatedHandsets<MapPhone>;

    fn deref(&self) -> &Self::Target {
        &self.handsets
    }
}

impl SimulatedNetwork for MapPhones {
    fn journal(&self) -> Option<&Journal> {
        self.handsets.journal()
    }

    fn mo(&self) -> Option<&MoOptions> {
        self.handsets.options().like.mo.as_ref()
    }

    fn make_mo(&self, passed: Duration) {
        let Some(mo) = self.mo() else { return };
        let smsc = {
            let inner = self.inner();
            let known = inner.options.smsc.clone().or_else(|| inner.smsc.clone());
            known.filter(|_| inner.connections().0 > 0 && inner.smsc_point().is_some())
        };
        let Some(smsc) = smsc else { return };
        for number in self.handsets.due(passed) {
            if let Some((imsi, tpdu)) = handsets::made(mo, number) {
                self.submit(&imsi, &mo.from, &smsc, tpdu);
            }
        }
    }
}
