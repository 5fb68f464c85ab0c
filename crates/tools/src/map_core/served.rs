//! What SMSCs ask HLRs, MSCs and SGSNs for, and what these answer (3GPP TS 29.002 §12).

use std::time::Duration;

use bytes::Bytes;

use super::nodes::{DueAnswer, MapWork};
use super::phones::{MapMood, imsi_of};
use crate::handsets::HandsetOrder;
use smsc_map::context::{SHORT_MSG_GATEWAY, SHORT_MSG_MO_RELAY, SHORT_MSG_MT_RELAY};
use smsc_map::{
    ForwardSmArg, MapOperationCode, MapUserError, MapVersion, ReportDeliveryStatusArg,
    RoutingInfoArg, RoutingInfoResult, ServingAddress, ServingNode, SmDeliveryOutcome, SmRpDa,
};
use smsc_sigtran::address::ssn;
use smsc_sms::tpdu::TpduAddress;
use smsc_tcap::{
    AbortCause, ApplicationContext, Component, DialogueId, Invoke, PAbortCause, RejectProblem,
};

/// What a number begins with that nobody has: no country code begins with 0 (ITU-T E.164).
const NOBODY: &str = "000";

/// A dialogue that an SMSC has begun.
#[derive(Debug)]
pub(super) struct ServedDialogue {
    /// The subsystem that is asked.
    subsystem: u8,
    version: MapVersion,
    /// Whose messages it brings, once one was brought.
    imsi: Option<String>,
}

/// What becomes of a request.
enum ServedOutcome {
    Answer(Component),
    Nothing,
    Abort,
    BringBack(u8),
}

// === impl MapWork ===

impl MapWork<'_> {
    /// An SMSC begins a dialogue with a node.
    pub(super) fn begun(
        &mut self,
        id: DialogueId,
        context: Option<ApplicationContext>,
        subsystem: u8,
        components: Vec<Component>,
    ) {
        let is_hlr = subsystem == ssn::HLR;
        let options = &self.nodes.options;
        let latest = if is_hlr {
            options.hlr_version
        } else {
            options.msc_version
        };
        let version = context.map_or(1, |context| context.version);
        let is_right = context.is_none_or(|context| match context.context {
            SHORT_MSG_GATEWAY => is_hlr,
            SHORT_MSG_MT_RELAY => !is_hlr,
            // Of version 1, which has no context, and of some of version 2.
            SHORT_MSG_MO_RELAY => !is_hlr,
            _ => false,
        });
        let Some(version) = MapVersion::of(version).filter(|_| is_right && version <= latest)
        else {
            let cause = refusal(context, is_right, latest);
            self.nodes.tcap.abort(id, cause);
            return;
        };
        let dialogue = ServedDialogue {
            subsystem,
            version,
            imsi: None,
        };
        self.nodes.served.insert(id, dialogue);
        if components.is_empty() {
            // It asks first whether the context is supported.
            let _ = self.nodes.tcap.proceed(id, Vec::new(), self.now);
        }
        self.asked(id, components);
    }

    /// An SMSC asks for something in a dialogue.
    pub(super) fn asked(&mut self, id: DialogueId, components: Vec<Component>) {
        for component in components {
            let Component::Invoke(invoke) = component else {
                continue;
            };
            let Some(dialogue) = self.nodes.served.get(&id) else {
                return;
            };
            let (subsystem, version) = (dialogue.subsystem, dialogue.version);
            match (subsystem, MapOperationCode(invoke.operation)) {
                (ssn::HLR, MapOperationCode::SEND_ROUTING_INFO_FOR_SM) => {
                    let outcome = self.routing(&invoke, version);
                    self.settle_now(id, outcome);
                }
                (ssn::HLR, MapOperationCode::REPORT_SM_DELIVERY_STATUS) => {
                    let outcome = self.reported(&invoke);
                    self.settle_now(id, outcome);
                }
                (ssn::HLR, _) => self.reject(id, invoke.id),
                (_, MapOperationCode::MT_FORWARD_SM | MapOperationCode::FORWARD_SM) => {
                    self.forward(id, &invoke);
                }
                _ => self.reject(id, invoke.id),
            }
        }
    }

    /// A dialogue of an SMSC is over.
    pub(super) fn forget(&mut self, id: DialogueId) {
        if let Some(dialogue) = self.nodes.served.remove(&id)
            && let Some(imsi) = dialogue.imsi
        {
            self.handsets.is_free(&imsi);
        }
    }

    /// sendRoutingInfoForSM: where a subscriber is.
    fn routing(&mut self, invoke: &Invoke, version: MapVersion) -> ServedOutcome {
        self.nodes.routing_asked += 1;
        let Ok(asked) = RoutingInfoArg::decode(&invoke.parameter) else {
            return failed(invoke, MapUserError::DATA_MISSING, version);
        };
        self.nodes.smsc = Some(asked.service_centre.text);
        let msisdn = asked.msisdn.text;
        if msisdn.starts_with(NOBODY) {
            return failed(invoke, MapUserError::UNKNOWN_SUBSCRIBER, version);
        }
        let imsi = imsi_of(&msisdn);
        let phone = self.handsets.told(&imsi).unwrap_or_default();
        if phone.routing != MapMood::Fine {
            return spoiled(phone.routing, invoke, version);
        }
        let options = &self.nodes.options;
        let node = |node, digits: &String| ServingAddress {
            node,
            number: TpduAddress::international(digits.clone()),
        };
        let msc = phone.msc.map(|_| node(ServingNode::Msc, &options.msc));
        let sgsn = phone.sgsn.map(|_| node(ServingNode::Sgsn, &options.sgsn));
        // Who does not know of SGSNs gets none, unless there is nothing else (§22.2).
        let sgsn = sgsn.filter(|_| asked.gprs_support || msc.is_none());
        let (node, additional) = match (msc, sgsn) {
            (Some(msc), sgsn) => (msc, sgsn),
            (None, Some(sgsn)) => (sgsn, None),
            (None, None) => return failed(invoke, MapUserError::ABSENT_SUBSCRIBER, version),
        };
        let result = RoutingInfoResult {
            imsi,
            node: Some(node),
            lmsi: None,
            additional,
            waiting_set: None,
        };
        succeeded(invoke, result.encode(version).unwrap_or_default())
    }

    /// reportSM-DeliveryStatus: who is absent has the service centre in its waiting list.
    fn reported(&mut self, invoke: &Invoke) -> ServedOutcome {
        let Ok(report) = ReportDeliveryStatusArg::decode(&invoke.parameter) else {
            return rejected(invoke.id, RejectProblem::MISTYPED_INVOKE_PARAMETER);
        };
        let entry = (
            report.msisdn.text.clone(),
            report.service_centre.text.clone(),
        );
        if report.outcome == Some(SmDeliveryOutcome::SuccessfulTransfer) {
            self.nodes.waiting.remove(&entry);
        } else {
            self.nodes.waiting.insert(entry);
        }
        if self.handsets.options().keep {
            self.nodes.reports.push(report);
        }
        succeeded(invoke, Bytes::new())
    }

    /// mt-ForwardSM or forwardSM: a message for a handset.
    fn forward(&mut self, id: DialogueId, invoke: &Invoke) {
        let Some(dialogue) = self.nodes.served.get_mut(&id) else {
            return;
        };
        let (version, subsystem) = (dialogue.version, dialogue.subsystem);
        let Ok(forward) = ForwardSmArg::decode(&invoke.parameter) else {
            return self.settle_now(id, failed(invoke, MapUserError::DATA_MISSING, version));
        };
        let imsi = match forward.destination {
            SmRpDa::Imsi(imsi) => Some(imsi),
            // Those behind the first one of a dialogue (§12.9.2).
            SmRpDa::Absent => dialogue.imsi.clone(),
            _ => None,
        };
        let Some(imsi) = imsi else {
            let outcome = failed(invoke, MapUserError::UNIDENTIFIED_SUBSCRIBER, version);
            return self.settle_now(id, outcome);
        };
        dialogue.imsi = Some(imsi.clone());
        let mood = self.mood(&imsi, subsystem);
        let taken = mood == MapMood::Fine;
        let more = forward.more;
        self.handsets.arrived(&imsi, forward.tpdu, more, taken);
        let outcome = if taken {
            succeeded(invoke, Bytes::new())
        } else {
            spoiled(mood, invoke, version)
        };
        let after = self.handsets.options().like.latency.draw();
        self.settle(id, outcome, Some(imsi), !(taken && more), after);
    }

    /// What a node does with a message for a handset.
    fn mood(&self, imsi: &str, subsystem: u8) -> MapMood {
        match self.handsets.order(imsi) {
            HandsetOrder::Told(phone) => {
                let here = if subsystem == ssn::SGSN {
                    phone.sgsn
                } else {
                    phone.msc
                };
                here.unwrap_or(MapMood::Fails(MapUserError::UNIDENTIFIED_SUBSCRIBER))
            }
            HandsetOrder::Takes => MapMood::Fine,
            HandsetOrder::Refuses => MapMood::Refuses(self.handsets.options().reject_cause),
            HandsetOrder::IsSilent => MapMood::Silent,
        }
    }

    /// Settles what is about no message of a handset.
    fn settle_now(&mut self, id: DialogueId, outcome: ServedOutcome) {
        self.settle(id, outcome, None, true, Duration::ZERO);
    }

    fn settle(
        &mut self,
        id: DialogueId,
        outcome: ServedOutcome,
        imsi: Option<String>,
        is_last: bool,
        after: Duration,
    ) {
        match outcome {
            ServedOutcome::Answer(component) => {
                let answer = DueAnswer {
                    id,
                    component,
                    is_last,
                    imsi,
                };
                self.answer(answer, after);
                return;
            }
            ServedOutcome::Nothing => {}
            ServedOutcome::Abort => {
                self.nodes.served.remove(&id);
                self.nodes.tcap.abort(id, AbortCause::User);
            }
            ServedOutcome::BringBack(cause) => {
                self.nodes.served.remove(&id);
                self.nodes.tcap.abandon(id);
                self.bring_back(cause);
            }
        }
        if let Some(imsi) = imsi {
            self.handsets.is_free(&imsi);
        }
    }

    fn reject(&mut self, id: DialogueId, invoke: i8) {
        self.settle_now(id, rejected(invoke, RejectProblem::UNRECOGNIZED_OPERATION));
    }
}

/// How a dialogue is refused whose version or context is not known (§5.5, 15.6).
fn refusal(context: Option<ApplicationContext>, is_right: bool, latest: u8) -> AbortCause {
    match context {
        Some(context) if is_right && latest > 1 => AbortCause::ContextNotSupported {
            alternative: Some(ApplicationContext {
                version: latest,
                ..context
            }),
        },
        // A node of version 1 knows no dialogue portion at all.
        Some(_) if is_right => AbortCause::Provider(PAbortCause::IncorrectTransactionPortion),
        _ => AbortCause::ContextNotSupported { alternative: None },
    }
}

fn succeeded(invoke: &Invoke, parameter: Bytes) -> ServedOutcome {
    ServedOutcome::Answer(Component::result(invoke.id, invoke.operation, parameter))
}

fn rejected(invoke: i8, problem: RejectProblem) -> ServedOutcome {
    let id = Some(invoke);
    ServedOutcome::Answer(Component::Reject { id, problem })
}

fn failed(invoke: &Invoke, code: u8, version: MapVersion) -> ServedOutcome {
    failed_with(invoke, MapUserError::Other(code), version)
}

fn failed_with(invoke: &Invoke, error: MapUserError, version: MapVersion) -> ServedOutcome {
    let parameter = error.encode(version).unwrap_or_default();
    ServedOutcome::Answer(Component::error(invoke.id, error.code(), parameter))
}

/// What a mood other than fine makes of a request.
fn spoiled(mood: MapMood, invoke: &Invoke, version: MapVersion) -> ServedOutcome {
    match mood {
        MapMood::Fine => succeeded(invoke, Bytes::new()),
        MapMood::Fails(code) => failed(invoke, code, version),
        MapMood::Absent(diagnostic) => {
            let absent = MapUserError::AbsentSubscriberSm {
                diagnostic,
                additional: None,
            };
            failed_with(invoke, absent, version)
        }
        MapMood::Refuses(cause) => failed_with(invoke, of_rp_cause(cause), version),
        MapMood::Silent => ServedOutcome::Nothing,
        MapMood::Aborts => ServedOutcome::Abort,
        MapMood::ComesBack(cause) => ServedOutcome::BringBack(cause),
    }
}

/// What an MSC makes of the RP-cause of a handset (3GPP TS 23.040 §9.2.3.22, TS 29.002 §25).
fn of_rp_cause(cause: u8) -> MapUserError {
    let failure = |cause| MapUserError::SmDeliveryFailure {
        cause: Some(cause),
        report: None,
    };
    match cause {
        22 => failure(MapUserError::MEMORY_CAPACITY_EXCEEDED),
        27 => MapUserError::AbsentSubscriberSm {
            diagnostic: Some(0),
            additional: None,
        },
        69 => failure(2),
        81..=127 => failure(1),
        cause => MapUserError::of_refusal(cause, None),
    }
}
