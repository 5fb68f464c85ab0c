//! The HLR is told of a subscriber that was absent or had no memory, and of one that has its message at last:
//! reportSM-DeliveryStatus.
//!
//! Called when a message has ended. It stands in the list of those to be alerted afterwards (3GPP TS 23.040 §3.2.6).
//! Nobody waits for the answer: a report that fails is dropped, because the next attempt makes another one. Invariant:
//! there are no more reports under way than runs may be.

use std::time::Instant;

use smsc_sms::tpdu::TpduAddress;

use super::{Broken, DialogueOwner, MapSession};
use crate::context::{MapVersion, SHORT_MSG_GATEWAY};
use crate::delivery_status::{ReportDeliveryStatusArg, SmDeliveryOutcome};
use crate::operation::MapOperationCode;
use crate::routing::ServingNode;

/// A report under way.
pub(super) struct PendingStatusReport {
    msisdn: String,
    argument: ReportDeliveryStatusArg,
    version: MapVersion,
}

impl<T> MapSession<T> {
    /// Tells the HLR what became of a message at each node that was tried.
    pub(super) fn report(
        &mut self,
        msisdn: &str,
        noted: &[(ServingNode, SmDeliveryOutcome, Option<u8>)],
        now: Instant,
    ) {
        if !self.config.report_delivery {
            return;
        }
        // The outcome proper is that at the MSC, if it was asked (TS 29.002 §12.3.3).
        let at_msc = noted.iter().find(|(node, ..)| *node == ServingNode::Msc);
        let Some(&(node, outcome, diagnostic)) = at_msc.or(noted.first()) else {
            return;
        };
        let other = noted.iter().find(|(other, ..)| *other != node);
        let argument = ReportDeliveryStatusArg {
            msisdn: TpduAddress::international(msisdn),
            service_centre: self.centre.clone(),
            outcome: Some(outcome),
            diagnostic,
            gprs_support: self.config.serving_nodes.contains(&ServingNode::Sgsn),
            of_sgsn: node == ServingNode::Sgsn,
            additional: other.map(|(_, outcome, diagnostic)| (*outcome, *diagnostic)),
        };
        let latest = self.config.latest;
        let peer = self.hlr_key(msisdn);
        let version = self.versions.of(SHORT_MSG_GATEWAY, peer, latest, now);
        self.send_report(
            PendingStatusReport {
                msisdn: msisdn.to_owned(),
                argument,
                version,
            },
            now,
        );
    }

    /// The dialogue of a report is gone: an HLR that did not understand it gets it in an earlier version.
    pub(super) fn on_broken_report(
        &mut self,
        report: PendingStatusReport,
        broken: &Broken,
        now: Instant,
    ) {
        if let Some(version) = broken.fallback(report.version) {
            self.send_report(PendingStatusReport { version, ..report }, now);
        }
    }

    fn send_report(&mut self, report: PendingStatusReport, now: Instant) {
        let is_success = report.argument.outcome == Some(SmDeliveryOutcome::SuccessfulTransfer);
        // Version 1 can only say that a message has not arrived.
        let is_sayable = !is_success || report.version > MapVersion::V1;
        if !is_sayable || self.reports >= self.config.max_dialogues {
            return;
        }
        let Ok(parameter) = report.argument.encode(report.version) else {
            return;
        };
        let operation = MapOperationCode::REPORT_SM_DELIVERY_STATUS;
        let components = vec![self.invoke(1, operation, parameter)];
        let called = self.hlr_address(&report.msisdn);
        let calling = self.config.own.clone();
        let context = report.version.context(SHORT_MSG_GATEWAY);
        if let Ok(id) = (self.tcap).begin(context, called, calling, components, now) {
            self.owners
                .insert(id, DialogueOwner::Report(Box::new(report)));
            self.reports += 1;
        }
    }
}
