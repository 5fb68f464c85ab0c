//! A base station controller with its phones: one connection to the MSC's STP, a thread that answers what
//! comes, and what the phones did so far.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use smsc::sms::rp::{self, Rp};
use smsc::sms::tpdu::Direction;

use super::bssap::{self, FromMsc};
use super::core::GsmCore;
use super::m3ua::{BSC_POINT_CODE, Link, MSC_POINT_CODE};
use super::phone::{Answer, Phone};
use super::sccp::{self, Reference, Sccp};
use crate::harness::until;

/// A BSC at the MSC of a core; its phones are gone when it is dropped.
pub struct Bsc {
    state: Arc<Mutex<State>>,
}

/// What the thread and the phones share.
pub(super) struct State {
    link: Link,
    pub(super) phones: HashMap<String, PhoneState>,
    connections: HashMap<Reference, Connection>,
    /// Connections and transactions so far.
    started: u32,
    /// RESET ACKNOWLEDGEs so far.
    resets: usize,
}

/// What a phone is and saw.
#[derive(Default)]
pub(super) struct PhoneState {
    /// Whether it answers paging at all.
    pub(super) is_attached: bool,
    /// What it answers to messages.
    pub(super) answer: Answer,
    /// TPDUs that it took, in order.
    pub(super) taken: Vec<Bytes>,
    /// How many it refused.
    pub(super) refused: usize,
    /// How often it was paged.
    pub(super) paged: usize,
    /// The outcome of what it began last: done, or the cause.
    pub(super) outcome: Option<Result<(), u8>>,
}

/// An SCCP connection of a phone.
struct Connection {
    imsi: String,
    /// The MSC's reference, when it has confirmed.
    peer: Option<Reference>,
    /// What the phone began it for; `None` when it was paged.
    purpose: Option<Purpose>,
}

/// What a phone begins.
pub(super) enum Purpose {
    /// Location update.
    Attach,
    /// IMSI detach, which the MSC answers by the end of the connection.
    Detach,
    /// An RP message, to be sent when the MSC has accepted the service.
    Send(Rp),
}

// === impl Bsc ===

impl Bsc {
    /// Connects; the MSC has acknowledged its RESET when this returns.
    pub fn connect(core: &GsmCore) -> Self {
        let link = Link::connect(core.m3ua());
        let mut reader = link.again();
        let state = Arc::new(Mutex::new(State {
            link,
            phones: HashMap::new(),
            connections: HashMap::new(),
            started: 0,
            resets: 0,
        }));
        let for_thread = Arc::clone(&state);
        std::thread::spawn(move || {
            while let Ok(message) = reader.next_data() {
                lock(&for_thread).on_message(&message);
            }
        });
        let bsc = Self { state };
        bsc.reset();
        bsc
    }

    /// RESET, as after the start of either side: the MSC then pages here.
    pub fn reset(&self) {
        let before = lock(&self.state).resets;
        // The STP drops it while the MSC is not there.
        until("RESET ACKNOWLEDGE of the MSC", || {
            let mut state = lock(&self.state);
            if state.resets == before {
                state.send_unitdata(&bssap::reset());
            }
            (state.resets > before).then_some(())
        });
    }

    /// A phone with this SIM, which is switched off.
    pub fn phone(&self, imsi: &str) -> Phone {
        let mut state = lock(&self.state);
        state.phones.entry(imsi.to_owned()).or_default();
        Phone::new(Arc::clone(&self.state), imsi)
    }
}

impl Drop for Bsc {
    fn drop(&mut self) {
        if let Ok(state) = self.state.lock() {
            state.link.close();
        }
    }
}

pub(super) fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // A panic of the thread is that of an assertion, which the test shall see.
    state.lock().expect("the thread of the BSC runs")
}

// === impl State ===

impl State {
    pub(super) fn phone(&mut self, imsi: &str) -> &mut PhoneState {
        self.phones.get_mut(imsi).expect("a phone of this BSC")
    }

    /// Begins something for a phone, whose outcome comes later.
    pub(super) fn begin(&mut self, imsi: &str, purpose: Purpose) {
        self.phone(imsi).outcome = None;
        let first = match &purpose {
            Purpose::Attach => bssap::location_request(imsi),
            Purpose::Detach => bssap::detach(imsi),
            Purpose::Send(_) => bssap::service_request(imsi),
        };
        self.connect(imsi, Some(purpose), &first);
    }

    fn connect(&mut self, imsi: &str, purpose: Option<Purpose>, first: &[u8]) {
        self.started += 1;
        let [a, b, c, _] = self.started.to_le_bytes();
        let connection = Connection {
            imsi: imsi.to_owned(),
            peer: None,
            purpose,
        };
        self.connections.insert([a, b, c], connection);
        let request = sccp::connection_request([a, b, c], BSC_POINT_CODE, MSC_POINT_CODE, first);
        self.write(&request);
    }

    fn on_message(&mut self, message: &[u8]) {
        match sccp::decode(message) {
            Sccp::Unitdata(data) => match bssap::decode(&data) {
                FromMsc::Reset => self.send_unitdata(&bssap::reset_acknowledge()),
                FromMsc::ResetAcknowledged => self.resets += 1,
                FromMsc::Paging(imsi) => self.on_paging(&imsi),
                _ => {}
            },
            Sccp::Confirm(to, peer, data) => {
                if let Some(connection) = self.connections.get_mut(&to) {
                    connection.peer = Some(peer);
                }
                if let Some(data) = data {
                    self.on_data(to, &data);
                }
            }
            Sccp::Refused(to) => self.end(to),
            Sccp::Released(to, peer) => {
                self.write(&sccp::release_complete(peer, to));
                self.end(to);
            }
            Sccp::Data(to, data) => self.on_data(to, &data),
            Sccp::Other => {}
        }
    }

    fn on_paging(&mut self, imsi: &str) {
        let Some(phone) = self.phones.get_mut(imsi) else {
            return;
        };
        phone.paged += 1;
        if phone.is_attached && phone.answer != Answer::Silence {
            self.connect(imsi, None, &bssap::paging_response(imsi));
        }
    }

    fn on_data(&mut self, to: Reference, data: &[u8]) {
        let Some(connection) = self.connections.get(&to) else {
            return;
        };
        let imsi = connection.imsi.clone();
        match bssap::decode(data) {
            FromMsc::Clear => self.send_data(to, &bssap::clear_complete()),
            FromMsc::LocationAccepted => {
                self.phone(&imsi).is_attached = true;
                self.done(to, Ok(()));
            }
            FromMsc::LocationRejected(cause) | FromMsc::ServiceRejected(cause) => {
                self.done(to, Err(cause));
            }
            FromMsc::WhoAreYou => self.send_data(to, &bssap::identity_response(&imsi)),
            FromMsc::ServiceAccepted => self.on_service(to),
            FromMsc::CpData(transaction, message) => {
                self.send_data(to, &bssap::cp_ack(transaction));
                let message = rp::decode(&message.into()).expect("an RP message");
                self.on_rp(to, transaction, &imsi, message);
            }
            FromMsc::CpError(cause) => self.done(to, Err(cause)),
            _ => {}
        }
    }

    fn on_service(&mut self, to: Reference) {
        let connection = self.connections.get(&to);
        let Some(Some(Purpose::Send(message))) = connection.map(|found| &found.purpose) else {
            panic!("CM SERVICE ACCEPT, and nothing to send");
        };
        let message = message.encode().unwrap();
        self.send_data(to, &bssap::cp_data(bssap::own_transaction(0), &message));
    }

    /// A message for the phone, or what becomes of its own.
    fn on_rp(&mut self, to: Reference, transaction: u8, imsi: &str, message: Rp) {
        let (reference, tpdu) = match message {
            Rp::Data {
                reference, tpdu, ..
            } => (reference, tpdu),
            Rp::Ack { .. } => return self.done(to, Ok(())),
            Rp::Error { cause, .. } => return self.done(to, Err(cause)),
            Rp::MemoryAvailable { .. } => panic!("RP-SMMA from the network"),
        };
        let phone = self.phone(imsi);
        let direction = Direction::FromPhone;
        let answer = match phone.answer {
            Answer::Take => {
                phone.taken.push(tpdu);
                Rp::Ack {
                    direction,
                    reference,
                    tpdu: None,
                }
            }
            Answer::Refuse(cause) => {
                phone.refused += 1;
                Rp::Error {
                    direction,
                    reference,
                    cause,
                    diagnostic: None,
                    tpdu: None,
                }
            }
            Answer::Silence => return,
        };
        self.send_data(to, &bssap::cp_data(transaction, &answer.encode().unwrap()));
    }

    /// What the phone began has this outcome.
    fn done(&mut self, to: Reference, outcome: Result<(), u8>) {
        let Some(connection) = self.connections.get_mut(&to) else {
            return;
        };
        if connection.purpose.take().is_some() {
            let imsi = connection.imsi.clone();
            self.phone(&imsi).outcome = Some(outcome);
        }
    }

    /// The connection is gone: a detach is done, anything else has failed.
    fn end(&mut self, to: Reference) {
        let purpose = self.connections.get(&to).map(|found| &found.purpose);
        let outcome = match purpose {
            Some(Some(Purpose::Detach)) => Ok(()),
            // "Network failure" (24.008 §10.5.3.6).
            _ => Err(17),
        };
        self.done(to, outcome);
        self.connections.remove(&to);
    }

    fn send_data(&mut self, to: Reference, data: &[u8]) {
        let peer = self.connections.get(&to).and_then(|found| found.peer);
        let peer = peer.expect("data on a connection that was confirmed");
        self.write(&sccp::data(peer, data));
    }

    fn send_unitdata(&mut self, data: &[u8]) {
        let message = sccp::unitdata(BSC_POINT_CODE, MSC_POINT_CODE, data);
        self.write(&message);
    }

    /// What is lost when the STP is gone is missed by the test.
    fn write(&mut self, sccp: &[u8]) {
        let _ = self.link.send_data(sccp);
    }
}
