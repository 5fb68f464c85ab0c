//! The phones of a simulated core: how each behaves, and what it has got and sent.
//!
//! Shared by all connections and by the test that asks. Invariant: a phone has one message under way; if another comes
//! meanwhile, that is counted, because a real MSC could not tell their answers apart.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::GsmCoreOptions;
use super::connection::ConnectionOrder;
use super::routes::{CoreRoutes, Namesakes};
use crate::network::SimulatedNetwork;
use crate::simulator::MoOptions;
use crate::simulator::journal::Journal;
use crate::simulator::options::Moods;
use smsc_gsup::message::{GsupMessage, SmRpAddress};
use smsc_gsup::message_type::MessageType;
use smsc_host::clock;
use smsc_sms::tpdu::{self, SmsSubmit, Tpdu, TpduAddress, TpduKind, UserData};

/// A mobile country code that no country has: nobody has such an IMSI (ITU-T E.212).
const NOWHERE: &str = "000";
/// GMM cause (3GPP TS 24.008 §10.5.5.14).
const IMSI_UNKNOWN: u8 = 2;

/// How a phone behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phone {
    /// It takes everything.
    #[default]
    Here,
    /// It answers with this RP-cause (3GPP TS 24.011 §8.2.5.4).
    Refuses(u8),
    /// The HLR or MSC answers with this GMM cause (TS 24.008 §10.5.5.14).
    Away(u8),
    /// The MSC pages in vain, and says nothing.
    Silent,
    /// The MSC that serves it is not connected.
    Unroutable,
    /// What comes for it ends the connection.
    Ends,
}

/// An MT-forwardSM that has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    pub imsi: String,
    /// The sender and the text of the SMS-DELIVER; empty for what is none.
    pub from: String,
    pub text: String,
    /// SM-RP-UI.
    pub tpdu: Bytes,
    /// SM-RP-MMS.
    pub more: bool,
    /// Whether the phone has taken it.
    pub taken: bool,
}

/// The phones of one core.
#[derive(Debug)]
pub struct Phones {
    options: GsmCoreOptions,
    journal: Option<Journal>,
    inner: Mutex<PhonesState>,
}

#[derive(Debug, Default)]
struct PhonesState {
    moods: Moods,
    phones: HashMap<String, Phone>,
    /// Phones with a message under way.
    busy: HashMap<String, u32>,
    overlaps: usize,
    arrived: Vec<Arrived>,
    taken: u64,
    refused: u64,
    /// The answers to messages of phones: IMSI, RP-cause (0 for those that were accepted), and SM-RP-UI.
    answers: Vec<(String, u8, Bytes)>,
    alerts_answered: usize,
    routes: CoreRoutes,
    next_reference: u8,
    /// Messages of phones that are due, in part.
    owed: f64,
    submitted: u64,
}

// === impl Phones ===

impl Phones {
    pub(super) fn new(options: GsmCoreOptions, journal: Option<Journal>) -> Self {
        let state = PhonesState {
            moods: Moods::new(&options.like),
            ..PhonesState::default()
        };
        Self {
            options,
            journal,
            inner: Mutex::new(state),
        }
    }

    fn inner(&self) -> MutexGuard<'_, PhonesState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on a phone behaves so.
    pub fn set(&self, imsi: &str, phone: Phone) {
        self.inner().phones.insert(imsi.to_owned(), phone);
    }

    /// Everything that came, in order.
    pub fn arrived_so_far(&self) -> Vec<Arrived> {
        self.inner().arrived.clone()
    }

    /// What a phone has taken, in order.
    pub fn delivered(&self, imsi: &str) -> Vec<Arrived> {
        let inner = self.inner();
        let of_phone = inner.arrived.iter();
        of_phone
            .filter(|one| one.taken && one.imsi == imsi)
            .cloned()
            .collect()
    }

    /// How many messages phones have taken, and how many were refused or not answered.
    pub fn counts(&self) -> (u64, u64) {
        let inner = self.inner();
        (inner.taken, inner.refused)
    }

    /// How often a message came for a phone that had one under way.
    pub fn overlaps(&self) -> usize {
        self.inner().overlaps
    }

    /// The answers to messages of phones: the IMSI, and the RP-cause or 0.
    pub fn answers(&self) -> Vec<(String, u8)> {
        let inner = self.inner();
        let answers = inner.answers.iter();
        answers
            .map(|(imsi, cause, _)| (imsi.clone(), *cause))
            .collect()
    }

    /// The TPDUs of the same; an answer without one has an empty one.
    pub fn reports(&self) -> Vec<Bytes> {
        let inner = self.inner();
        inner
            .answers
            .iter()
            .map(|(_, _, tpdu)| tpdu.clone())
            .collect()
    }

    /// How many READY-FOR-SM were answered.
    pub fn alerts_answered(&self) -> usize {
        self.inner().alerts_answered
    }

    /// The IPA names of the SMSCs that are connected.
    pub fn connected(&self) -> Vec<String> {
        self.inner().routes.names()
    }

    /// From now on two connections of one name are treated so.
    pub fn set_namesakes(&self, namesakes: Namesakes) {
        self.inner().routes.namesakes = namesakes;
    }

    /// The most connections that a name has had at once, and how many connections there have been.
    pub fn connections(&self) -> (usize, u64) {
        let inner = self.inner();
        (inner.routes.most_of_a_name(), inner.routes.made())
    }

    /// Tells every SMSC that a phone is ready, for this reason (3GPP TS 29.002, SM alert reason).
    pub fn ready(&self, imsi: &str, reason: u8) {
        let message = GsupMessage {
            reference: Some(0),
            alert_reason: Some(reason),
            source_name: Some(Bytes::from_static(super::NAME.as_bytes())),
            ..GsupMessage::new(MessageType::READY_FOR_SM_REQUEST, imsi)
        };
        self.inner().routes.to_all(&message);
    }

    /// A phone sends a TPDU to its service centre: to the first SMSC that is connected. False if none is.
    pub fn submit(&self, imsi: &str, msisdn: &str, service_centre: &str, tpdu: Bytes) -> bool {
        let message = GsupMessage {
            reference: Some(1),
            destination: Some(SmRpAddress::ServiceCentre(TpduAddress::international(
                service_centre,
            ))),
            originator: Some(SmRpAddress::Msisdn(TpduAddress::international(msisdn))),
            user_information: Some(tpdu),
            source_name: Some(Bytes::from_static(super::NAME.as_bytes())),
            ..GsupMessage::new(MessageType::MO_FORWARD_SM_REQUEST, imsi)
        };
        self.inner().routes.to_first(message)
    }

    /// Closes every connection.
    pub fn cut(&self) {
        self.inner().routes.cut();
    }

    /// An SMSC has come; its number.
    pub(super) fn came(&self, name: Bytes, orders: mpsc::Sender<ConnectionOrder>) -> u64 {
        self.inner().routes.came(name, orders)
    }

    pub(super) fn gone(&self, number: u64) {
        self.inner().routes.gone(number);
    }

    /// Gives an answer to whom the name of this connection leads to, if that is another one.
    pub(super) fn pass(&self, number: Option<u64>, answer: GsupMessage) -> Option<GsupMessage> {
        let inner = self.inner();
        let number = number.filter(|number| !inner.routes.leads_to(*number));
        let Some(number) = number else {
            return Some(answer);
        };
        inner.routes.pass(number, answer);
        None
    }

    /// An MT-forwardSM: its answer, and after how long; `None` when there is none.
    pub(super) fn arrived(
        &self,
        request: &GsupMessage,
        name: &Bytes,
    ) -> Option<(GsupMessage, Duration)> {
        let mut inner = self.inner();
        if request.imsi.starts_with(NOWHERE) {
            let error = GsupMessage {
                cause: Some(IMSI_UNKNOWN),
                ..request.answer(MessageType::MT_FORWARD_SM_ERROR, name)
            };
            return Some((error, Duration::ZERO));
        }
        let phone = self.behaviour(&mut inner, &request.imsi);
        let busy = inner.busy.entry(request.imsi.clone()).or_default();
        *busy += 1;
        if *busy > 1 {
            inner.overlaps += 1;
        }
        let taken = phone == Phone::Here;
        if taken {
            inner.taken += 1;
        } else {
            inner.refused += 1;
        }
        self.note(&mut inner, request, taken);
        inner.next_reference = inner.next_reference.wrapping_add(1);
        let reference = inner.next_reference;
        let answer = |message_type| request.answer(message_type, name);
        let answer = match phone {
            Phone::Here => GsupMessage {
                reference: Some(reference),
                ..answer(MessageType::MT_FORWARD_SM_RESULT)
            },
            Phone::Refuses(cause) => GsupMessage {
                reference: Some(reference),
                rp_cause: Some(cause),
                ..answer(MessageType::MT_FORWARD_SM_ERROR)
            },
            Phone::Away(cause) => GsupMessage {
                cause: Some(cause),
                ..answer(MessageType::MT_FORWARD_SM_ERROR)
            },
            Phone::Unroutable => answer(MessageType::ROUTING_ERROR),
            Phone::Silent | Phone::Ends => {
                inner.busy.remove(&request.imsi);
                return None;
            }
        };
        Some((answer, self.options.like.latency.draw()))
    }

    /// Whether what comes for it ends the connection.
    pub(super) fn ends(&self, imsi: &str) -> bool {
        self.inner().phones.get(imsi) == Some(&Phone::Ends)
    }

    fn behaviour(&self, inner: &mut PhonesState, imsi: &str) -> Phone {
        if let Some(phone) = inner.phones.get(imsi) {
            return *phone;
        }
        match inner.moods.answer(&self.options.like, || false) {
            None => Phone::Silent,
            Some(status) if status.is_ok() => Phone::Here,
            Some(_) => Phone::Refuses(self.options.reject_cause),
        }
    }

    fn note(&self, inner: &mut PhonesState, request: &GsupMessage, taken: bool) {
        if !self.options.keep && self.journal.is_none() {
            return;
        }
        let tpdu = request.user_information.clone().unwrap_or_default();
        let (from, text) = match tpdu::decode(TpduKind::Deliver, &tpdu) {
            Ok(Tpdu::Deliver(deliver)) => (
                deliver.originating_address.text.clone(),
                deliver
                    .user_data
                    .text(deliver.data_coding)
                    .unwrap_or_default(),
            ),
            _ => Default::default(),
        };
        if let (Some(journal), true) = (&self.journal, taken) {
            let line = format!(
                "{}\t{}\t{}\t{}\t\n",
                inner.taken,
                request.imsi,
                text.escape_default(),
                clock::now_ms()
            );
            journal.append(&mut line.into_bytes());
        }
        if self.options.keep {
            inner.arrived.push(Arrived {
                imsi: request.imsi.clone(),
                from,
                text,
                tpdu,
                more: request.more_messages.unwrap_or_default(),
                taken,
            });
        }
    }

    /// What was under way for a phone is answered.
    pub(super) fn is_free(&self, imsi: &str) {
        self.inner().busy.remove(imsi);
    }

    /// An answer of an SMSC.
    pub(super) fn answered(&self, answer: &GsupMessage) {
        let mut inner = self.inner();
        match answer.message_type {
            MessageType::READY_FOR_SM_RESULT => inner.alerts_answered += 1,
            _ if self.options.keep => {
                let cause = answer.rp_cause.unwrap_or_default();
                let tpdu = answer.user_information.clone().unwrap_or_default();
                inner.answers.push((answer.imsi.clone(), cause, tpdu));
            }
            _ => {}
        }
    }
}

impl SimulatedNetwork for Phones {
    fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    fn mo(&self) -> Option<&MoOptions> {
        self.options.like.mo.as_ref()
    }

    fn make_mo(&self, passed: Duration) {
        let Some(mo) = self.mo() else { return };
        let mut inner = self.inner();
        if inner.routes.is_empty() {
            return;
        }
        let first = inner.submitted + 1;
        let last = inner.submitted + mo.due(&mut inner.owed, passed);
        inner.submitted = last;
        drop(inner);
        for number in first..=last {
            let submit = SmsSubmit {
                message_reference: number.to_le_bytes()[0],
                destination_address: TpduAddress::international(mo.to.clone()),
                user_data: UserData {
                    // Letters and digits are their own septets.
                    body: Bytes::from(format!("message {number}")),
                    ..UserData::default()
                },
                ..SmsSubmit::default()
            };
            if let Ok(tpdu) = Tpdu::Submit(submit).encode() {
                let imsi = format!("00101{:010}", number % 10_000_000_000);
                self.submit(&imsi, &mo.from, "1", tpdu.into());
            }
        }
    }
}
