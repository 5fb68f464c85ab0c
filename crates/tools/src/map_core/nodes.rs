//! The nodes of a simulated network: SCCP and TCAP between the gateway and what HLRs, MSCs and SGSNs do.
//!
//! Held by the phones behind a lock. What is asked of the nodes is in `served`, what they ask by themselves in `mobile`.
//!
//! The point code of an SMSC is kept in the address that it writes from: so each answer goes to whom it is for, also
//! where several SMSCs have one global title. Invariant: a dialogue is in the table of what it is for as long as TCAP has
//! it open.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::MapCoreOptions;
use super::asp::MapAsp;
use super::gateway::{LinkOrder, M3uaGateway};
use super::mobile::MobileDialogue;
use super::phones::MapPhone;
use super::served::ServedDialogue;
use crate::handsets::SimulatedHandsets;
use crate::table::TimedTable;
use smsc_map::ReportDeliveryStatusArg;
use smsc_sigtran::address::ssn;
use smsc_sigtran::m3ua::SERVICE_SCCP;
use smsc_sigtran::reassembly::{Reassemblies, ReassemblyKey};
use smsc_sigtran::{
    PointCode, ProtocolData, SccpAddress, SccpMessage, SccpPurpose, SccpRouting, SignallingEvent,
    UnitdataRequest, segments,
};
use smsc_tcap::{Component, DialogueId, TcapConfig, TcapDialogues, TcapEvent};

/// Dialogues of SMSCs that may be open.
const DIALOGUES: usize = 1 << 20;
/// Of a dialogue in which nothing moves: longer than any SMSC waits.
const IDLE: Duration = Duration::from_secs(15 * 60);
/// Octets of data in one message of SCCP.
const UNITDATA: usize = 254;
/// Messages in segments that may be incomplete, and for how long.
const REASSEMBLIES: usize = 4096;
const REASSEMBLY: Duration = Duration::from_secs(10);
/// Values of SLS.
const SELECTIONS: u32 = 16;

/// Everything that the nodes of one network know.
#[derive(Debug)]
pub(super) struct MapNodes {
    pub(super) options: MapCoreOptions,
    pub(super) gateway: M3uaGateway,
    /// In place of the gateway, behind an STP.
    asp: Option<MapAsp>,
    pub(super) tcap: TcapDialogues,
    /// What SMSCs have begun, and what nodes have.
    pub(super) served: HashMap<DialogueId, ServedDialogue>,
    pub(super) mobile: HashMap<DialogueId, MobileDialogue>,
    pub(super) due: TimedTable<DueAnswer>,
    /// Subscribers and the service centres that are to be told when they are there again.
    pub(super) waiting: BTreeSet<(String, String)>,
    /// The service centre that has asked last, and what it is called.
    pub(super) smsc: Option<String>,
    pub(super) routing_asked: u64,
    pub(super) reports: Vec<ReportDeliveryStatusArg>,
    pub(super) alerts_answered: usize,
    reassemblies: Reassemblies,
    segmented: u32,
    /// By point code of an SMSC: which point code it writes to, and the network indicator.
    labels: HashMap<PointCode, (PointCode, u8)>,
    /// The message that is being read, to be sent back.
    current: Option<(ProtocolData, SccpMessage)>,
}

/// An answer that is due.
#[derive(Debug)]
pub(super) struct DueAnswer {
    pub(super) id: DialogueId,
    pub(super) component: Component,
    /// The dialogue ends with it.
    pub(super) is_last: bool,
    /// Whose message it answers.
    pub(super) imsi: Option<String>,
}

/// Nodes and handsets together, while something happens.
pub(super) struct MapWork<'a> {
    pub(super) nodes: &'a mut MapNodes,
    pub(super) handsets: &'a SimulatedHandsets<MapPhone>,
    pub(super) now: Instant,
}

// === impl MapNodes ===

impl MapNodes {
    pub(super) fn new(options: MapCoreOptions, now: Instant) -> Self {
        let asp = options.stp.as_ref().zip(options.smsc_point_code);
        let asp = asp.map(|(_, smsc)| MapAsp::new(&options, smsc, now));
        let config = TcapConfig {
            // One table plays several nodes.
            own: None,
            max_dialogues: DIALOGUES,
            max_incoming: DIALOGUES,
            // There may be one SMSC.
            max_incoming_of_peer: DIALOGUES,
            idle_timeout: IDLE,
            incoming_idle_timeout: IDLE,
        };
        Self {
            options,
            gateway: M3uaGateway::default(),
            asp,
            tcap: TcapDialogues::new(config),
            served: HashMap::new(),
            mobile: HashMap::new(),
            due: TimedTable::default(),
            waiting: BTreeSet::new(),
            smsc: None,
            routing_asked: 0,
            reports: Vec::new(),
            alerts_answered: 0,
            reassemblies: Reassemblies::new(REASSEMBLIES, REASSEMBLY),
            segmented: 0,
            labels: HashMap::new(),
            current: None,
        }
    }

    /// Where an SMSC is, as far as anybody knows.
    pub(super) fn smsc_point(&self) -> Option<PointCode> {
        self.options.smsc_point_code.or(self.gateway.smsc())
    }

    /// A connection; its number.
    pub(super) fn came(&mut self, orders: mpsc::Sender<LinkOrder>, now: Instant) -> u64 {
        match &mut self.asp {
            Some(asp) => asp.came(orders, now),
            None => self.gateway.came(orders),
        }
    }

    pub(super) fn gone(&mut self, number: u64, now: Instant) {
        match &mut self.asp {
            Some(asp) => asp.gone(now),
            None => self.gateway.gone(number),
        }
    }

    /// How many connections carry traffic, and how many there have been.
    pub(super) fn connections(&self) -> (usize, u64) {
        match &self.asp {
            Some(asp) => (usize::from(asp.is_active()), asp.made()),
            None => (self.gateway.active(), self.gateway.made()),
        }
    }

    pub(super) fn cut(&self) {
        match &self.asp {
            Some(asp) => asp.cut(),
            None => self.gateway.cut(),
        }
    }
}

// === impl MapWork ===

impl MapWork<'_> {
    /// A message of a connection.
    pub(super) fn received(&mut self, number: u64, octets: &Bytes) {
        if let Some(asp) = &mut self.nodes.asp {
            asp.received(octets, self.now);
            self.signalled();
            self.pump();
            return;
        }
        let Some(data) = self.nodes.gateway.received(number, octets) else {
            return;
        };
        let label = (data.destination, data.network_indicator);
        self.nodes.labels.insert(data.originating, label);
        // What cannot be read is passed over, as a node does.
        if let Ok(message) = SccpMessage::decode(&data.data) {
            self.sccp(data, message);
        }
        self.pump();
    }

    /// Takes what the STP has brought.
    fn signalled(&mut self) {
        loop {
            let Some(event) = self.nodes.asp.as_mut().and_then(MapAsp::next_event) else {
                return;
            };
            match event {
                SignallingEvent::Unitdata(unitdata) => {
                    let called = self.node_address(unitdata.called.ssn);
                    let tcap = &mut self.nodes.tcap;
                    tcap.received(called, unitdata.calling, &unitdata.data, self.now);
                }
                SignallingEvent::Returned { cause, data, .. } => {
                    self.nodes.tcap.returned(cause, &data);
                }
                _ => {}
            }
            self.events();
        }
    }

    fn sccp(&mut self, data: ProtocolData, message: SccpMessage) {
        if let SccpPurpose::Return(cause) = message.purpose {
            self.nodes.tcap.returned(cause, &message.data);
            return;
        }
        let mut calling = message.calling.clone();
        // Kept for the answer; see the top of this file.
        calling.point_code = Some(data.originating);
        let whole = match message.segmentation {
            None => message.data.clone(),
            Some(segmentation) => {
                let key = ReassemblyKey {
                    originating: data.originating,
                    calling: message.calling.clone(),
                    reference: segmentation.reference,
                };
                let nodes = &mut *self.nodes;
                let taken = nodes
                    .reassemblies
                    .take(key, segmentation, &message.data, self.now);
                let Ok(Some(whole)) = taken else { return };
                whole
            }
        };
        let called = self.node_address(message.called.ssn);
        self.nodes.current = Some((data, message));
        self.nodes.tcap.received(called, calling, &whole, self.now);
        self.events();
        self.nodes.current = None;
    }

    /// The address of a node by its subsystem: it answers by its own number, whatever it was called.
    pub(super) fn node_address(&self, subsystem: u8) -> SccpAddress {
        let options = &self.nodes.options;
        let digits = match subsystem {
            ssn::HLR => &options.hlr,
            ssn::SGSN => &options.sgsn,
            _ => &options.msc,
        };
        let title = smsc_sigtran::GlobalTitle::international(digits.clone(), 0);
        SccpAddress::of_title(title, subsystem)
    }

    /// Lets dialogues take what has come.
    fn events(&mut self) {
        while let Some(event) = self.nodes.tcap.next_event() {
            match event {
                TcapEvent::Begun {
                    id,
                    context,
                    called,
                    components,
                    ..
                } => self.begun(id, context, called.ssn, components),
                TcapEvent::Proceeded { id, components, .. } => {
                    if self.nodes.served.contains_key(&id) {
                        self.asked(id, components);
                    } else {
                        self.answered(id, components, false);
                    }
                }
                TcapEvent::Ended { id, components, .. } => {
                    self.forget(id);
                    self.answered(id, components, true);
                }
                TcapEvent::Aborted { id, why } => {
                    self.forget(id);
                    self.aborted(id, &why);
                }
                TcapEvent::Returned { id, .. } | TcapEvent::IdleEnded { id } => {
                    self.forget(id);
                    self.unanswered(id);
                }
                TcapEvent::TimedOut { id, .. } => {
                    self.nodes.tcap.abandon(id);
                    self.unanswered(id);
                }
            }
        }
    }

    /// Brings back the message that is being read; behind an STP, nobody does.
    pub(super) fn bring_back(&mut self, cause: u8) {
        if let Some((data, message)) = self.nodes.current.take()
            && let Ok(octets) = message.returned(cause).encode()
        {
            self.nodes.gateway.send(&ProtocolData {
                originating: data.destination,
                destination: data.originating,
                data: octets,
                ..data
            });
        }
    }

    /// Gives an answer after some time; at once means in the order of requests.
    pub(super) fn answer(&mut self, answer: DueAnswer, after: Duration) {
        self.nodes.due.enter(self.now + after, answer);
        self.answer_due();
    }

    /// Gives the answers that are due.
    pub(super) fn answer_due(&mut self) {
        while let Some(answer) = self.nodes.due.pop_due(self.now) {
            if let Some(imsi) = &answer.imsi {
                self.handsets.is_free(imsi);
            }
            let components = vec![answer.component];
            if answer.is_last {
                self.nodes.served.remove(&answer.id);
                self.nodes.tcap.end(answer.id, components);
            } else {
                // The SMSC may have ended it meanwhile.
                let _ = self.nodes.tcap.proceed(answer.id, components, self.now);
            }
        }
    }

    pub(super) fn on_tick(&mut self) {
        if let Some(asp) = &mut self.nodes.asp {
            asp.on_tick(self.now);
            self.signalled();
        }
        self.nodes.tcap.on_tick(self.now);
        self.nodes.reassemblies.expire(self.now);
        self.events();
        self.pump();
    }

    /// Sends what dialogues say.
    pub(super) fn pump(&mut self) {
        while let Some(request) = self.nodes.tcap.next_unitdata() {
            match &mut self.nodes.asp {
                Some(asp) => asp.send(request, self.now),
                None => self.send(request),
            }
        }
        if let Some(asp) = &mut self.nodes.asp {
            asp.write();
        }
    }

    fn send(&mut self, mut request: UnitdataRequest) {
        let nodes = &mut *self.nodes;
        let Some(destination) = request.called.point_code.or(nodes.smsc_point()) else {
            return;
        };
        if request.called.routing == SccpRouting::GlobalTitle {
            request.called.point_code = None;
        }
        let label = nodes.labels.get(&destination).copied();
        let (originating, network_indicator) = label.unwrap_or((nodes.options.point_code, 0));
        nodes.segmented = nodes.segmented.wrapping_add(1);
        let Ok(messages) = segments::messages(&request, UNITDATA, nodes.segmented) else {
            return;
        };
        for message in messages {
            let Ok(data) = message.encode() else { return };
            nodes.gateway.send(&ProtocolData {
                originating,
                destination,
                service: SERVICE_SCCP,
                network_indicator,
                priority: 0,
                selection: (request.sequence % SELECTIONS).to_le_bytes()[0],
                data,
            });
        }
    }
}
