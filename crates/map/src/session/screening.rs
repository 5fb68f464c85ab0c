//! The firewall in front of what others begin: each invoke is judged before anything is done for it.
//!
//! The rules are those of `smsc_firewall`; here requests are read as those want them, and verdicts become answers and
//! [`MapEvent`]s. What cannot be read has no sender and no subscriber: rules about these find nothing, and the session
//! refuses it afterwards.

use std::time::Instant;

use bytes::Bytes;
use smsc_firewall::{
    BlockAnswer, FirewallMode, FirewallRule, FirewallSettings, FirewallVerdict, NOT_INTERNATIONAL,
    RoutingAsked, RuleAction, ScreenedOperation, ScreenedRequest,
};
use smsc_sigtran::SccpAddress;
use smsc_sigtran::global_title::{NATURE_INTERNATIONAL, PLAN_E164};
use smsc_sms::tpdu::{Direction, Tpdu, TpduKind, decode};
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

/// What the firewall says to an invoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Screening {
    /// It passes, and what was found is counted.
    Passes,
    /// It passes until it is known who has asked for its routing ([`MapSession::screen_routing`]), and is not counted yet.
    PassesForNow,
    /// It does not pass, and is counted.
    Blocked(BlockAnswer),
}

/// The plan of E.214, whose numbers begin as those of E.164, and what says nothing of plan or nature.
const PLAN_E214: u8 = 7;
const NOTHING_SAID: u8 = 0;

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
        if *self.firewall.settings() == settings {
            return;
        }
        let own_titles = if settings.mode == FirewallMode::Off {
            Vec::new()
        } else {
            settings.own_titles.clone()
        };
        self.tcap.keep_room_for(own_titles);
        self.firewall.set(settings);
    }

    /// The digits of the global title of somebody else, as the firewall has them; empty without one. Those of a national
    /// number, or of another plan than ours, may be the first digits of an international number by chance or on purpose.
    pub(super) fn title_of(&self, calling: &SccpAddress) -> String {
        let Some(title) = &calling.global_title else {
            return String::new();
        };
        let own = self.config.own.global_title.as_ref();
        let is_plan_of_ours = own.is_some_and(|own| own.numbering_plan == title.numbering_plan);
        let has_plan =
            is_plan_of_ours || matches!(title.numbering_plan, NOTHING_SAID | PLAN_E164 | PLAN_E214);
        let is_nature_of_ours = own.is_some_and(|own| own.nature == title.nature);
        let has_nature =
            is_nature_of_ours || matches!(title.nature, NOTHING_SAID | NATURE_INTERNATIONAL);
        if has_plan && has_nature {
            title.digits.clone()
        } else {
            format!("{NOT_INTERNATIONAL}{}", title.digits)
        }
    }

    /// Judges an invoke of somebody else, whose dialogue has this context, and this recipient of what came before.
    pub(super) fn screen(
        &mut self,
        calling: &str,
        context: Option<u8>,
        recipient: Option<&ForwardRecipient>,
        invoke: &Invoke,
        now: Instant,
    ) -> Screening {
        if self.firewall.settings().mode == FirewallMode::Off {
            return Screening::Passes;
        }
        let mut read = ReadRequest::of(context, invoke);
        let is_forward = read.operation == ScreenedOperation::MtForward;
        if let Some(recipient) = recipient.filter(|_| is_forward) {
            // The next message of a dialogue says neither again.
            if read.subscriber.is_empty() {
                read.subscriber.clone_from(&recipient.id);
            }
            if read.service_centre.is_empty() {
                read.service_centre.clone_from(&recipient.service_centre);
            }
        }
        let routing_asked_by = if is_forward && self.config.home.is_some() {
            RoutingAsked::Later
        } else {
            RoutingAsked::NotApplicable
        };
        let request = ScreenedRequest {
            operation: read.operation,
            calling_gt: calling,
            service_centre: &read.service_centre,
            subscriber: &read.subscriber,
            originator: &read.originator,
            routing_asked_by,
        };
        let verdict = self.firewall.judge(&request, now);
        if verdict == FirewallVerdict::Pass && routing_asked_by == RoutingAsked::Later {
            return Screening::PassesForNow;
        }
        let operation = MapOperationCode(invoke.operation);
        let answer = self.conclude(verdict, &request, operation, &invoke.parameter);
        answer.map_or(Screening::Passes, Screening::Blocked)
    }

    /// Judges a message for a subscriber of ours by who has asked where that is (`routing_asked_by`), and by the rate of the
    /// subscriber, when the caller knows these. By everything else it was judged before its event, which says whether it is
    /// counted already (`is_counted`). How it is blocked, if it is.
    pub fn screen_routing(
        &mut self,
        request: &ScreenedRequest<'_>,
        tpdu: &Bytes,
        is_counted: bool,
        now: Instant,
    ) -> Option<BlockAnswer> {
        match self.firewall.judge_routing(request, now) {
            FirewallVerdict::Pass if is_counted => None,
            verdict => self.conclude(verdict, request, MapOperationCode::MT_FORWARD_SM, tpdu),
        }
    }

    /// Counts a request that no rule has found.
    pub(super) fn count_passed(&mut self) {
        self.events.push_back(MapEvent::Screened(None));
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
                self.count_passed();
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
        // A status report has no sender, and another address in its place.
        let kind = TpduKind::guess(Direction::ToPhone, &argument.tpdu);
        let originator = match kind.map(|kind| decode(kind, &argument.tpdu)) {
            Some(Ok(Tpdu::Deliver(deliver))) => deliver.originating_address.text,
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
