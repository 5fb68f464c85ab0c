//! What nodes ask an SMSC for: to take a message of a handset, and to note that a subscriber is there again
//! (3GPP TS 29.002 §12.2, 12.5).
//!
//! Both begin with the latest version that the node knows, and fall back as the SMSC wishes.

use std::time::Duration;

use bytes::Bytes;

use super::nodes::MapWork;
use smsc_map::context::{SHORT_MSG_ALERT, SHORT_MSG_MO_RELAY};
use smsc_map::{
    AlertServiceCentreArg, ForwardSmArg, ForwardSmResult, MapOperationCode, MapUserError,
    MapVersion, SmRpDa, SmRpOa,
};
use smsc_sigtran::address::ssn;
use smsc_sigtran::{GlobalTitle, SccpAddress};
use smsc_sms::tpdu::TpduAddress;
use smsc_tcap::{Component, DialogueId, Invoke, TcapAbort};

/// How long an MSC waits for the answer to a message of a handset, and an HLR for that to an alert.
const PATIENCE: Duration = Duration::from_secs(60);
/// What is noted for a message that got no answer: no error of MAP has this code.
pub(super) const NO_ANSWER: u8 = 0xFF;

/// A dialogue that a node has begun.
#[derive(Debug)]
pub(super) enum MobileDialogue {
    Submit(MobileSubmit),
    Alert(MobileAlert),
}

/// A message of a handset.
#[derive(Debug, Clone)]
pub(super) struct MobileSubmit {
    pub(super) imsi: String,
    pub(super) msisdn: String,
    pub(super) service_centre: String,
    pub(super) tpdu: Bytes,
    pub(super) version: MapVersion,
}

/// That a subscriber is there again.
#[derive(Debug, Clone)]
pub(super) struct MobileAlert {
    pub(super) msisdn: String,
    pub(super) service_centre: String,
    pub(super) version: MapVersion,
}

// === impl MapWork ===

impl MapWork<'_> {
    /// Brings a message of a handset to its service centre. False when it cannot be written, or nobody is there.
    pub(super) fn submit(&mut self, submit: MobileSubmit) -> bool {
        let version = submit.version;
        let argument = ForwardSmArg {
            destination: SmRpDa::ServiceCentre(TpduAddress::international(
                submit.service_centre.clone(),
            )),
            originator: SmRpOa::Msisdn(TpduAddress::international(submit.msisdn.clone())),
            tpdu: submit.tpdu.clone(),
            more: false,
            imsi: Some(submit.imsi.clone()),
        };
        let Ok(parameter) = argument.encode(version) else {
            return false;
        };
        let invoke = invoke(MapOperationCode::FORWARD_SM, parameter, PATIENCE);
        let to = submit.service_centre.clone();
        let begun = self.begin(version, SHORT_MSG_MO_RELAY, ssn::MSC, &to, invoke);
        if let Some(id) = begun {
            self.nodes.mobile.insert(id, MobileDialogue::Submit(submit));
        }
        begun.is_some()
    }

    /// Tells those who wait for a subscriber that it is there; who has asked last if nobody does.
    pub(super) fn ready(&mut self, msisdn: &str) {
        let waiting = self.nodes.waiting.iter();
        let mut told: Vec<String> = waiting
            .filter(|(waited_for, _)| waited_for == msisdn)
            .map(|(_, service_centre)| service_centre.clone())
            .collect();
        self.nodes
            .waiting
            .retain(|(waited_for, _)| waited_for != msisdn);
        if told.is_empty() {
            told.extend(self.smsc());
        }
        for service_centre in told {
            // The context has two versions.
            let latest = self.nodes.options.hlr_version.min(2);
            self.alert(MobileAlert {
                msisdn: msisdn.to_owned(),
                service_centre,
                version: MapVersion::of(latest).unwrap_or(MapVersion::V1),
            });
        }
    }

    fn alert(&mut self, alert: MobileAlert) {
        let argument = AlertServiceCentreArg {
            msisdn: TpduAddress::international(alert.msisdn.clone()),
            service_centre: TpduAddress::international(alert.service_centre.clone()),
        };
        let Ok(parameter) = argument.encode() else {
            return;
        };
        let (operation, patience) = match alert.version {
            MapVersion::V1 => (MapOperationCode::ALERT_WITHOUT_RESULT, Duration::ZERO),
            _ => (MapOperationCode::ALERT_SERVICE_CENTRE, PATIENCE),
        };
        let invoke = invoke(operation, parameter, patience);
        let to = alert.service_centre.clone();
        let begun = self.begin(alert.version, SHORT_MSG_ALERT, ssn::HLR, &to, invoke);
        if let Some(id) = begun {
            self.nodes.mobile.insert(id, MobileDialogue::Alert(alert));
        }
    }

    /// The number of the SMSC, as it was set or as it has asked.
    pub(super) fn smsc(&self) -> Option<String> {
        let set = self.nodes.options.smsc.clone();
        set.or_else(|| self.nodes.smsc.clone())
    }

    fn begin(
        &mut self,
        version: MapVersion,
        context: u8,
        from: u8,
        to: &str,
        invoke: Component,
    ) -> Option<DialogueId> {
        // Otherwise nobody gets it, and nobody says so.
        let point_code = self.nodes.smsc_point()?;
        if self.nodes.connections().0 == 0 {
            return None;
        }
        let title = GlobalTitle::international(to, 0);
        let mut called = SccpAddress::of_title(title, ssn::MSC);
        called.point_code = Some(point_code);
        let calling = self.node_address(from);
        let context = version.context(context);
        let invokes = vec![invoke];
        let tcap = &mut self.nodes.tcap;
        tcap.begin(context, called, calling, invokes, self.now).ok()
    }

    /// The SMSC has answered in a dialogue, which is over or goes on.
    pub(super) fn answered(&mut self, id: DialogueId, components: Vec<Component>, is_over: bool) {
        let answer = components.into_iter().next();
        // Nothing: it only takes the dialogue.
        if answer.is_none() && !is_over {
            return;
        }
        let Some(dialogue) = self.nodes.mobile.remove(&id) else {
            return;
        };
        if !is_over {
            self.nodes.tcap.end(id, Vec::new());
        }
        let submit = match dialogue {
            MobileDialogue::Submit(submit) => submit,
            MobileDialogue::Alert(_) => {
                if let Some(Component::Result { .. }) = answer {
                    self.nodes.alerts_answered += 1;
                }
                return;
            }
        };
        let (cause, tpdu) = match answer {
            Some(Component::Result { parameter, .. }) => {
                let result = ForwardSmResult::decode(&parameter).unwrap_or_default();
                (0, result.tpdu)
            }
            Some(Component::Error {
                code, parameter, ..
            }) => match MapUserError::decode(code, &parameter) {
                MapUserError::SmDeliveryFailure { report, .. } => (code, report),
                _ => (code, None),
            },
            _ => (NO_ANSWER, None),
        };
        let tpdu = tpdu.unwrap_or_default();
        self.handsets.answered(&submit.imsi, cause, tpdu);
    }

    /// The SMSC has aborted a dialogue: perhaps it wants an earlier version.
    pub(super) fn aborted(&mut self, id: DialogueId, why: &TcapAbort) {
        let Some(dialogue) = self.nodes.mobile.remove(&id) else {
            return;
        };
        let is_version = matches!(
            why,
            TcapAbort::ContextNotSupported { .. } | TcapAbort::Provider(_)
        );
        match dialogue {
            MobileDialogue::Submit(submit) => {
                let earlier = submit.version.earlier().filter(|_| is_version);
                let again = earlier.map(|version| MobileSubmit {
                    version,
                    ..submit.clone()
                });
                if !again.is_some_and(|again| self.submit(again)) {
                    self.handsets
                        .answered(&submit.imsi, NO_ANSWER, Bytes::new());
                }
            }
            MobileDialogue::Alert(alert) => {
                if let Some(version) = alert.version.earlier().filter(|_| is_version) {
                    self.alert(MobileAlert { version, ..alert });
                }
            }
        }
    }

    /// The SMSC says nothing.
    pub(super) fn unanswered(&mut self, id: DialogueId) {
        if let Some(MobileDialogue::Submit(submit)) = self.nodes.mobile.remove(&id) {
            self.handsets
                .answered(&submit.imsi, NO_ANSWER, Bytes::new());
        }
    }
}

fn invoke(operation: MapOperationCode, parameter: Bytes, timeout: Duration) -> Component {
    Component::Invoke(Invoke {
        id: 1,
        operation: operation.0,
        parameter,
        timeout,
    })
}
