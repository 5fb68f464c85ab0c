//! The firewall in front of what others begin: each invoke is judged before anything is done for it.
//!
//! The rules are those of `smsc_firewall`; here requests are read as those want them, and verdicts become answers and
//! [`MapEvent`]s. What cannot be read has no sender and no subscriber: rules about these find nothing, and the session
//! refuses it afterwards.

use std::time::Instant;

use bytes::Bytes;
use smsc_firewall::{
    BlockAnswer, FirewallMode, FirewallRule, FirewallSettings, FirewallVerdict, RoutingAsked,
    RuleAction, ScreenedOperation, ScreenedRequest,
};
use smsc_sms::tpdu::{Tpdu, TpduKind, decode};
use smsc_tcap::Invoke;

use super::home::ForwardRecipient;
use super::{MapEvent, MapSession};
use crate::context::{
    MWD_MNGT, SHORT_MSG_ALERT, SHORT_MSG_GATEWAY, SHORT_MSG_MO_RELAY, SHORT_MSG_MT_RELAY,
};
use crate::delivery_status::{AlertServiceCentreArg, ReportDeliveryStatusArg};
use crate::forward::{ForwardSmArg, SmRpDa, SmRpOa};
use crate::operation::MapOperationCode;
use crate::routing::RoutingInfoArg;

/// Contexts in which the codes of operations are those of short messages.
const FOR_MESSAGES: [u8; 5] = [
    SHORT_MSG_GATEWAY,
    SHORT_MSG_MO_RELAY,
    SHORT_MSG_ALERT,
    MWD_MNGT,
    SHORT_MSG_MT_RELAY,
];

/// A request that a rule has found, as people read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScreeningReport {
    /// Which rule.
    pub rule: FirewallRule,
    /// What has become of the request.
    pub taken: ScreeningAction,
    /// What was asked for.
    pub operation: MapOperationCode,
    /// Digits of the global title of who has asked; empty without one, as all that follows.
    pub calling: String,
    /// Digits of the service centre in the request.
    pub service_centre: String,
    /// The subscriber: MSISDN or IMSI.
    pub subscriber: String,
    /// The sender of a message.
    pub originator: String,
    /// The parameter of the operation, where the rule wants it written down.
    pub mirrored: Option<Bytes>,
}

/// What has become of a request that a rule has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreeningAction {
    /// It passed, and is counted.
    Counted,
    /// It passed, and is counted and said.
    Reported,
    /// It passed, and would not have if the firewall were not dry.
    Dry,
    /// It was answered with this error of MAP.
    Blocked(u8),
    /// It was not answered.
    Dropped,
}

/// What of a request the rules look at.
struct ReadRequest {
    operation: ScreenedOperation,
    service_centre: String,
    subscriber: String,
    originator: String,
}

// === impl ScreeningAction ===

impl ScreeningAction {
    /// Its name in metrics and in what people read.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Counted => "count",
            Self::Reported => "report",
            Self::Dry => "dry",
            Self::Blocked(_) => "block",
            Self::Dropped => "drop",
        }
    }
}

// === impl MapSession ===

impl<T> MapSession<T> {
    /// Takes the settings of the firewall; what it has counted stays where it can.
    pub fn set_firewall(&mut self, settings: FirewallSettings) {
        if *self.firewall.settings() != settings {
            self.firewall.set(settings);
        }
    }

    /// Judges an invoke of somebody else, whose dialogue has this context, and this recipient of what came before; how it is
    /// blocked, if it is.
    pub(super) fn screen(
        &mut self,
        calling: &str,
        context: Option<u8>,
        recipient: Option<&ForwardRecipient>,
        invoke: &Invoke,
        now: Instant,
    ) -> Option<BlockAnswer> {
        if self.firewall.settings().mode == FirewallMode::Off {
            return None;
        }
        let mut read = ReadRequest::of(context, invoke);
        if let Some(recipient) = recipient
            && read.operation == ScreenedOperation::MtForward
            && read.subscriber.is_empty()
        {
            // The next message of a dialogue says neither again.
            read.subscriber.clone_from(&recipient.id);
            read.service_centre.clone_from(&recipient.service_centre);
        }
        let request = ScreenedRequest {
            operation: read.operation,
            calling_gt: calling,
            service_centre: &read.service_centre,
            subscriber: &read.subscriber,
            originator: &read.originator,
            // Nobody here gives out where subscribers are.
            routing_asked_by: RoutingAsked::NotApplicable,
        };
        let verdict = self.firewall.judge(&request, now);
        let operation = MapOperationCode(invoke.operation);
        self.conclude(verdict, &request, operation, &invoke.parameter)
    }

    /// Judges a message for a subscriber of ours by who has asked where that is (`routing_asked_by`), when the caller knows.
    /// By everything else it was judged before its event. How it is blocked, if it is.
    pub fn screen_routing(
        &mut self,
        request: &ScreenedRequest<'_>,
        tpdu: &Bytes,
    ) -> Option<BlockAnswer> {
        match self.firewall.judge_routing(request) {
            // It has been counted.
            FirewallVerdict::Pass => None,
            verdict => self.conclude(verdict, request, MapOperationCode::MT_FORWARD_SM, tpdu),
        }
    }

    /// Says what has become of a request; how it is blocked, if it is.
    fn conclude(
        &mut self,
        verdict: FirewallVerdict,
        request: &ScreenedRequest<'_>,
        operation: MapOperationCode,
        parameter: &Bytes,
    ) -> Option<BlockAnswer> {
        let settings = self.firewall.settings();
        let (rule, taken, answer) = match verdict {
            FirewallVerdict::Pass => {
                self.events.push_back(MapEvent::Screened(None));
                return None;
            }
            FirewallVerdict::Report { rule } => {
                let taken = match settings.action_of(rule) {
                    RuleAction::Block(_) => ScreeningAction::Dry,
                    RuleAction::Count => ScreeningAction::Counted,
                    RuleAction::Report | RuleAction::Off => ScreeningAction::Reported,
                };
                (rule, taken, None)
            }
            FirewallVerdict::Block { rule, answer } => {
                let taken = match answer {
                    BlockAnswer::Error(code) => ScreeningAction::Blocked(code),
                    BlockAnswer::Drop => ScreeningAction::Dropped,
                };
                (rule, taken, Some(answer))
            }
        };
        let is_mirrored = settings.is_mirrored(rule);
        let report = ScreeningReport {
            rule,
            taken,
            operation,
            calling: request.calling_gt.to_owned(),
            service_centre: request.service_centre.to_owned(),
            subscriber: request.subscriber.to_owned(),
            originator: request.originator.to_owned(),
            mirrored: is_mirrored.then(|| parameter.clone()),
        };
        let report = MapEvent::Screened(Some(Box::new(report)));
        self.events.push_back(report);
        answer
    }
}

// === impl ReadRequest ===

impl ReadRequest {
    /// What an invoke asks for. In version 1 there is no context, and each code is that of one operation.
    fn of(context: Option<u8>, invoke: &Invoke) -> Self {
        if context.is_some_and(|context| !FOR_MESSAGES.contains(&context)) {
            return Self::without(ScreenedOperation::Other(invoke.operation));
        }
        let parameter = &invoke.parameter;
        match MapOperationCode(invoke.operation) {
            MapOperationCode::SEND_ROUTING_INFO_FOR_SM => {
                let argument = RoutingInfoArg::decode(parameter).ok();
                let of = argument.map(|read| (read.service_centre.text, read.msisdn.text));
                Self::about(ScreenedOperation::RoutingInfo, of)
            }
            MapOperationCode::MT_FORWARD_SM => ForwardSmArg::decode(parameter).map_or_else(
                |_| Self::without(ScreenedOperation::MtForward),
                Self::to_handset,
            ),
            MapOperationCode::FORWARD_SM => match ForwardSmArg::decode(parameter) {
                Ok(ForwardSmArg {
                    destination: SmRpDa::ServiceCentre(centre),
                    originator,
                    ..
                }) => {
                    let sender = match originator {
                        SmRpOa::Msisdn(number) => number.text,
                        SmRpOa::ServiceCentre(_) | SmRpOa::Absent => String::new(),
                    };
                    Self {
                        operation: ScreenedOperation::MoForward,
                        service_centre: centre.text,
                        subscriber: sender.clone(),
                        originator: sender,
                    }
                }
                // Versions 1 and 2 have one code for both directions.
                Ok(argument) => Self::to_handset(argument),
                Err(_) => Self::without(ScreenedOperation::MoForward),
            },
            MapOperationCode::REPORT_SM_DELIVERY_STATUS => {
                let argument = ReportDeliveryStatusArg::decode(parameter).ok();
                let of = argument.map(|read| (read.service_centre.text, read.msisdn.text));
                Self::about(ScreenedOperation::DeliveryStatus, of)
            }
            MapOperationCode::ALERT_SERVICE_CENTRE | MapOperationCode::ALERT_WITHOUT_RESULT => {
                let argument = AlertServiceCentreArg::decode(parameter).ok();
                let of = argument.map(|read| (read.service_centre.text, read.msisdn.text));
                Self::about(ScreenedOperation::AlertServiceCentre, of)
            }
            other => Self::without(ScreenedOperation::Other(other.0)),
        }
    }

    /// A message for a handset.
    fn to_handset(argument: ForwardSmArg) -> Self {
        let service_centre = match argument.originator {
            SmRpOa::ServiceCentre(number) => number.text,
            SmRpOa::Msisdn(_) | SmRpOa::Absent => String::new(),
        };
        let subscriber = match argument.destination {
            SmRpDa::Imsi(imsi) => imsi,
            SmRpDa::RoamingNumber(number) => number.text,
            SmRpDa::Lmsi(_) | SmRpDa::ServiceCentre(_) | SmRpDa::Absent => String::new(),
        };
        let originator = match decode(TpduKind::Deliver, &argument.tpdu) {
            Ok(Tpdu::Deliver(deliver)) => deliver.originating_address.text,
            _ => String::new(),
        };
        Self {
            operation: ScreenedOperation::MtForward,
            service_centre,
            subscriber,
            originator,
        }
    }

    /// One with a service centre and a subscriber, if it can be read.
    fn about(operation: ScreenedOperation, of: Option<(String, String)>) -> Self {
        let (service_centre, subscriber) = of.unwrap_or_default();
        Self {
            service_centre,
            subscriber,
            ..Self::without(operation)
        }
    }

    fn without(operation: ScreenedOperation) -> Self {
        Self {
            operation,
            service_centre: String::new(),
            subscriber: String::new(),
            originator: String::new(),
        }
    }
}
