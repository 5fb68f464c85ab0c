//! Home routing: for others we are the HLR of our own subscribers, and the MSC that serves them (3GPP TR 23.840, TS 29.002
//! §23.3).
//!
//! Whoever asks where a subscriber of ours is (sendRoutingInfoForSM) gets our own number as that of the serving node, and in
//! place of the IMSI an id of the caller's ([`MapSession::answer_routing`]). What is then brought for an id
//! (mt-ForwardSM, forwardSM) is the caller's to take or to refuse ([`MapSession::answer_forward`]); with more-messages-to-send
//! its dialogue stays open for the next one. How that ended (reportSM-DeliveryStatus) is acknowledged, and no more: for the one
//! who reports, the message arrives at us.
//!
//! Invariants: numbers that are not ours are answered as without home routing; a question of our own that comes back is
//! never answered, or messages would go round in a circle.

use std::time::Instant;

use bytes::Bytes;
use smsc_domain::address::is_international;
use smsc_sms::tpdu::TpduAddress;
use smsc_sms::tpdu::address::INTERNATIONAL;
use smsc_tcap::{Component, DialogueId, Invoke};

use super::incoming::{IncomingDialogue, InvokeFate};
use super::{MapEvent, MapSession, MoInvoke};
use crate::context::{MapVersion, SHORT_MSG_GATEWAY, SHORT_MSG_MT_RELAY};
use crate::delivery_status::ReportDeliveryStatusArg;
use crate::forward::{ForwardSmArg, SmRpDa, SmRpOa};
use crate::operation::MapOperationCode;
use crate::routing::{RoutingInfoArg, RoutingInfoResult, ServingAddress, ServingNode};
use crate::user_error::MapUserError;

/// Whose HLR and MSC we are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeSubscribers {
    /// How their numbers begin, in international digits.
    pub numbers: Vec<String>,
    /// Our own number, which others get as that of the serving node.
    pub node: String,
}

/// Somebody asks where a subscriber of ours is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingQuestion {
    /// What to answer.
    pub invoke: MoInvoke,
    /// The number of the subscriber, in digits.
    pub msisdn: String,
    /// The service centre that has a message, in digits.
    pub service_centre: String,
    /// The global title of who asks, in digits; empty without one.
    pub asked_by: String,
}

/// A message that somebody else brings for a subscriber of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignForward {
    /// What to answer.
    pub invoke: MoInvoke,
    /// What stands in place of the IMSI: one that we have given, or not.
    pub id: String,
    /// The service centre that it comes from, in digits; empty where it is not said.
    pub service_centre: String,
    /// The global title of who brings it, in digits; empty without one.
    pub brought_by: String,
    /// The firewall has counted it already.
    pub is_counted: bool,
    /// An SMS-DELIVER or SMS-STATUS-REPORT.
    pub tpdu: Bytes,
}

/// Type of number: unknown (3GPP TS 29.002 §17.7.8, as TS 23.040 §9.1.2.5 has it).
const UNKNOWN: u8 = 0;

/// To whom the messages of a dialogue go.
#[derive(Debug, Clone, Default)]
pub(super) struct ForwardRecipient {
    pub(super) id: String,
    pub(super) service_centre: String,
}

impl<T> MapSession<T> {
    /// Answers where a subscriber of ours is: with an id in place of the IMSI, or by the code of an error of MAP. A question
    /// whose dialogue is gone meanwhile is not answered any more.
    pub fn answer_routing(&mut self, invoke: MoInvoke, answer: Result<&str, u8>) {
        let written = answer.and_then(|id| {
            let parameter = self.routing_result(id).encode(invoke.version);
            parameter.map_err(|_| MapUserError::SYSTEM_FAILURE)
        });
        let operation = MapOperationCode::SEND_ROUTING_INFO_FOR_SM.0;
        let answer = match written {
            Ok(parameter) => Component::result(invoke.invoke, operation, parameter),
            Err(code) => Component::error(invoke.invoke, code, Bytes::new()),
        };
        if let Some((_, answers)) = self.answered(invoke, answer) {
            self.tcap.end(invoke.dialogue, answers);
        }
    }

    /// Answers a message for a subscriber of ours: it is taken, or refused. One whose dialogue is gone meanwhile is not
    /// answered any more.
    pub fn answer_forward(
        &mut self,
        invoke: MoInvoke,
        answer: Result<(), MapUserError>,
        now: Instant,
    ) {
        let answer = match answer {
            Ok(()) => Component::result(
                invoke.invoke,
                invoke.version.mt_forward().0,
                // Only a handset has a report.
                Bytes::new(),
            ),
            Err(error) => {
                let parameter = error.encode(invoke.version).unwrap_or_default();
                Component::error(invoke.invoke, error.code(), parameter)
            }
        };
        let Some((dialogue, answers)) = self.answered(invoke, answer) else {
            return;
        };
        if !dialogue.more {
            self.tcap.end(invoke.dialogue, answers);
        } else if self.tcap.proceed(invoke.dialogue, answers, now).is_ok() {
            self.incoming.insert(invoke.dialogue, dialogue);
        }
    }

    /// What others ask of us as an HLR or MSC. `None` for anything else.
    pub(super) fn on_home_invoke(
        &mut self,
        id: DialogueId,
        dialogue: &mut IncomingDialogue,
        invoke: &Invoke,
        is_end: bool,
    ) -> Option<InvokeFate> {
        match (MapOperationCode(invoke.operation), dialogue.context) {
            (MapOperationCode::SEND_ROUTING_INFO_FOR_SM, None | Some(SHORT_MSG_GATEWAY))
                if !is_end =>
            {
                Some(self.on_routing_asked(id, dialogue, invoke))
            }
            (MapOperationCode::REPORT_SM_DELIVERY_STATUS, None | Some(SHORT_MSG_GATEWAY)) => {
                Some(self.on_status_report(invoke))
            }
            (operation, Some(SHORT_MSG_MT_RELAY))
                if !is_end && operation == dialogue.version.mt_forward() =>
            {
                Some(match self.read(invoke, ForwardSmArg::decode) {
                    Ok(argument) => self.on_forward(id, dialogue, invoke, argument),
                    Err(fate) => fate,
                })
            }
            _ => None,
        }
    }

    /// A message for the subscriber of an id.
    pub(super) fn on_forward(
        &mut self,
        id: DialogueId,
        dialogue: &mut IncomingDialogue,
        invoke: &Invoke,
        argument: ForwardSmArg,
    ) -> InvokeFate {
        let before = dialogue.recipient.as_ref();
        let recipient = match (argument.destination, argument.originator) {
            (SmRpDa::Imsi(id), SmRpOa::ServiceCentre(number)) => ForwardRecipient {
                id,
                service_centre: number.text,
            },
            // The next one of a dialogue; some say again whom it is for.
            (SmRpDa::Absent, SmRpOa::Absent | SmRpOa::ServiceCentre(_)) if before.is_some() => {
                before.cloned().unwrap_or_default()
            }
            (SmRpDa::Imsi(id), SmRpOa::Absent) if before.is_some_and(|one| one.id == id) => {
                before.cloned().unwrap_or_default()
            }
            (SmRpDa::Imsi(_) | SmRpDa::Absent, _) => {
                return not_served(invoke, MapUserError::UNEXPECTED_DATA_VALUE);
            }
            // We give none.
            (SmRpDa::Lmsi(_) | SmRpDa::RoamingNumber(_) | SmRpDa::ServiceCentre(_), _) => {
                return not_served(invoke, MapUserError::FACILITY_NOT_SUPPORTED);
            }
        };
        if !self.has_room(dialogue) {
            return refused(invoke, MapUserError::SYSTEM_FAILURE);
        }
        // Version 1 has one message in a dialogue.
        dialogue.more = argument.more && dialogue.version > MapVersion::V1;
        let forward = ForeignForward {
            invoke: invoke_of(id, dialogue, invoke),
            id: recipient.id.clone(),
            service_centre: recipient.service_centre.clone(),
            brought_by: dialogue.calling.clone(),
            is_counted: dialogue.is_counted,
            tpdu: argument.tpdu,
        };
        self.events.push_back(MapEvent::Forwarded(forward));
        dialogue.recipient = Some(recipient);
        InvokeFate::Waits
    }

    /// Somebody asks where a subscriber is.
    fn on_routing_asked(
        &mut self,
        id: DialogueId,
        dialogue: &IncomingDialogue,
        invoke: &Invoke,
    ) -> InvokeFate {
        let argument = match self.read(invoke, RoutingInfoArg::decode) {
            Ok(argument) => argument,
            Err(fate) => return fate,
        };
        if !self.is_home(&argument.msisdn) {
            return InvokeFate::NotOurs;
        }
        if argument.service_centre.text == self.config.smsc {
            let why = "a question of our own to an HLR came back to us: set hlr, hlr_point_code or hlr_translation_type";
            let why = why.to_owned();
            self.events.push_back(MapEvent::Malformed { why });
            return InvokeFate::NotOurs;
        }
        if !self.has_room(dialogue) {
            return refused(invoke, MapUserError::SYSTEM_FAILURE);
        }
        let question = RoutingQuestion {
            invoke: invoke_of(id, dialogue, invoke),
            msisdn: argument.msisdn.text,
            service_centre: argument.service_centre.text,
            asked_by: dialogue.calling.clone(),
        };
        self.events.push_back(MapEvent::RoutingAsked(question));
        InvokeFate::Waits
    }

    /// Somebody tells how a message to a subscriber ended.
    fn on_status_report(&mut self, invoke: &Invoke) -> InvokeFate {
        match self.read(invoke, ReportDeliveryStatusArg::decode) {
            Ok(argument) if self.is_home(&argument.msisdn) => {
                let result = Component::result(invoke.id, invoke.operation, Bytes::new());
                InvokeFate::Answered(result)
            }
            Ok(_) => InvokeFate::NotOurs,
            Err(fate) => fate,
        }
    }

    /// Whether a number is that of a subscriber of ours. The digits of a national number may be the first ones of an
    /// international number of ours, and belong to somebody else.
    fn is_home(&self, msisdn: &TpduAddress) -> bool {
        let digits = &msisdn.text[..];
        let is_number =
            matches!(msisdn.ton, UNKNOWN | INTERNATIONAL) && is_international(digits.as_bytes());
        let home = self.config.home.as_ref().filter(|_| is_number);
        home.is_some_and(|home| {
            let mut numbers = home.numbers.iter();
            numbers.any(|prefix| digits.starts_with(&prefix[..]))
        })
    }

    fn routing_result(&self, id: &str) -> RoutingInfoResult {
        let node = self.config.home.as_ref().map(|home| ServingAddress {
            node: ServingNode::Msc,
            number: TpduAddress::international(&*home.node),
        });
        RoutingInfoResult {
            imsi: id.to_owned(),
            node,
            lmsi: None,
            additional: None,
            waiting_set: None,
        }
    }
}

pub(super) fn invoke_of(id: DialogueId, dialogue: &IncomingDialogue, invoke: &Invoke) -> MoInvoke {
    MoInvoke {
        dialogue: id,
        invoke: invoke.id,
        version: dialogue.version,
    }
}

pub(super) fn refused(invoke: &Invoke, code: u8) -> InvokeFate {
    InvokeFate::Answered(Component::error(invoke.id, code, Bytes::new()))
}

/// The answer to what nobody may ask of us.
pub(super) fn not_served(invoke: &Invoke, code: u8) -> InvokeFate {
    InvokeFate::Unserved(Component::error(invoke.id, code, Bytes::new()))
}
