//! The phones of a simulated core: how each behaves, and what the HLR and MSC say for it.
//!
//! Shared by all connections and by the test that asks. What is not GSUP is in `handsets`.

use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::GsmCoreOptions;
use super::connection::ConnectionOrder;
use super::routes::{CoreRoutes, Namesakes};
use crate::handsets::{self, HandsetOrder, SimulatedHandsets};
use crate::network::SimulatedNetwork;
use crate::simulator::MoOptions;
use crate::simulator::journal::Journal;
use smsc_gsup::message::{GsupMessage, SmRpAddress};
use smsc_gsup::message_type::MessageType;
use smsc_sms::tpdu::TpduAddress;

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

/// The phones of one core.
#[derive(Debug)]
pub struct Phones {
    handsets: SimulatedHandsets<Phone>,
    inner: Mutex<PhonesState>,
}

#[derive(Debug, Default)]
struct PhonesState {
    alerts_answered: usize,
    routes: CoreRoutes,
    next_reference: u8,
}

// === impl Phones ===

impl Phones {
    pub(super) fn new(options: GsmCoreOptions, journal: Option<Journal>) -> Self {
        Self {
            handsets: SimulatedHandsets::new(options, journal),
            inner: Mutex::default(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, PhonesState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on a phone behaves so.
    pub fn set(&self, imsi: &str, phone: Phone) {
        self.handsets.tell(imsi, phone);
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
        if request.imsi.starts_with(NOWHERE) {
            let error = GsupMessage {
                cause: Some(IMSI_UNKNOWN),
                ..request.answer(MessageType::MT_FORWARD_SM_ERROR, name)
            };
            return Some((error, Duration::ZERO));
        }
        let imsi = &request.imsi;
        let phone = match self.handsets.order(imsi) {
            HandsetOrder::Told(phone) => phone,
            HandsetOrder::Takes => Phone::Here,
            HandsetOrder::Refuses => Phone::Refuses(self.handsets.options().reject_cause),
            HandsetOrder::IsSilent => Phone::Silent,
        };
        let tpdu = request.user_information.clone().unwrap_or_default();
        let more = request.more_messages.unwrap_or_default();
        self.handsets
            .arrived(imsi, tpdu, more, phone == Phone::Here);
        let mut inner = self.inner();
        inner.next_reference = inner.next_reference.wrapping_add(1);
        let reference = inner.next_reference;
        drop(inner);
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
                self.handsets.is_free(imsi);
                return None;
            }
        };
        Some((answer, self.handsets.options().like.latency.draw()))
    }

    /// Whether what comes for it ends the connection.
    pub(super) fn ends(&self, imsi: &str) -> bool {
        self.handsets.told(imsi) == Some(Phone::Ends)
    }

    /// An answer of an SMSC.
    pub(super) fn answered(&self, answer: &GsupMessage) {
        if answer.message_type == MessageType::READY_FOR_SM_RESULT {
            self.inner().alerts_answered += 1;
            return;
        }
        let cause = answer.rp_cause.unwrap_or_default();
        let tpdu = answer.user_information.clone().unwrap_or_default();
        self.handsets.answered(&answer.imsi, cause, tpdu);
    }
}

/// What has come, and how it was answered: by RP-cause, or 0.
impl Deref for Phones {
    type Target = SimulatedHandsets<Phone>;

    fn deref(&self) -> &Self::Target {
        &self.handsets
    }
}

impl SimulatedNetwork for Phones {
    fn journal(&self) -> Option<&Journal> {
        self.handsets.journal()
    }

    fn mo(&self) -> Option<&MoOptions> {
        self.handsets.options().like.mo.as_ref()
    }

    fn make_mo(&self, passed: Duration) {
        let Some(mo) = self.mo() else { return };
        if self.inner().routes.is_empty() {
            return;
        }
        for number in self.handsets.due(passed) {
            if let Some((imsi, tpdu)) = handsets::made(mo, number) {
                self.submit(&imsi, &mo.from, "1", tpdu);
            }
        }
    }
}
