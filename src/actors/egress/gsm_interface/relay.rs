//! Status reports of other service centres: home routing brings them here, and they go on to the handset.
//!
//! A subscriber of ours has written through another service centre, and asked for an SMS-STATUS-REPORT, which comes as an
//! SMS-DELIVER does (3GPP TS 23.040 §3.2.9). It is about no message of ours, so it is in no queue and no store: it waits for its
//! turn among the messages to its handset, and is sent once, octet for octet. Whoever has brought it is answered when it is known
//! what came of that, and tries again where that may help. Invariants: no more than a part of the window are here at once, and no
//! more than a part of the rate go to handsets, so that many of them leave room for messages; none waits while its queue is
//! suspended or the interface leaves.

use std::sync::Arc;

use tokio::time::Instant;

use super::GsmInterface;
use super::exchange::{HandsetSubmission, MtResult, SubmissionRequest};
use super::home_routing::home_routing;
use super::incoming::{INVALID_MANDATORY, NOT_IMPLEMENTED};
use super::report_pace::SHARE;
use super::work::{RelayedReport, Work};
use crate::actors::context::item::expiry_second;
use crate::clock;
use crate::config::MapHomeRouting;
use crate::domain::gsm_result::{self, RP_CONGESTION, RP_TEMPORARY_FAILURE};
use crate::domain::retry::RefusalClass;
use crate::map::session::MoInvoke;
use crate::sms::tpdu::{TpduKind, decode};

// === impl GsmInterface ===

impl GsmInterface {
    /// Takes an SMS-STATUS-REPORT for a handset of ours.
    pub(super) fn relay(&mut self, request: HandsetSubmission, invoke: MoInvoke) {
        let plan = self.plan.clone();
        let goes_on = |home: &MapHomeRouting| home.account().is_none();
        let Some(plan) = plan.filter(|plan| home_routing(plan).is_some_and(goes_on)) else {
            // It is about no message of the account that gets what comes for this number.
            return self.refuse_mo(&request, NOT_IMPLEMENTED);
        };
        let tpdu = request.tpdu.clone().unwrap_or_default();
        if decode(TpduKind::StatusReport, &tpdu).is_err() {
            return self.refuse_mo(&request, INVALID_MANDATORY);
        }
        if self.served.is_retiring() || self.is_suspended() {
            return self.refuse_mo(&request, RP_TEMPORARY_FAILURE);
        }
        let most = (plan.config.window / SHARE).max(1) as usize;
        let rate = self.node.rate_of(plan.id).map(|(rate, _)| rate);
        if self.reports_here() >= most || !self.report_pace.take(rate, Instant::now()) {
            return self.refuse_mo(&request, RP_CONGESTION);
        }
        // Afterwards nobody waits for the answer, and it is brought again.
        let patience = plan.config.map.as_ref().map(|map| map.timer_long);
        let patience = patience.unwrap_or_default().as_millis();
        let until = clock::now_ms().saturating_add(i64::try_from(patience).unwrap_or(i64::MAX));
        let relayed = RelayedReport {
            invoke,
            _place: Arc::clone(&self.relayed),
        };
        let subscriber = request.subscriber;
        let expires = expiry_second(until);
        let work = Work::unqueued(subscriber.clone(), tpdu, expires, Some(relayed));
        self.lines.push(&subscriber, work);
    }

    /// How many wait or are under way.
    pub(super) fn reports_here(&self) -> usize {
        // One is our own.
        Arc::strong_count(&self.relayed) - 1
    }

    /// Refuses those that wait, as messages that wait go back to their queue.
    pub(super) fn refuse_waiting_reports(&mut self) {
        for work in self.lines.take_if(|work| work.relayed.is_some()) {
            self.refuse_relayed(work, RP_TEMPORARY_FAILURE);
        }
    }

    /// Tells whoever has brought a report what the network says to it; nobody of an answer of our own.
    pub(super) fn answer_relayed(&mut self, work: Work, result: MtResult) {
        match result {
            MtResult::Arrived => {
                if let Some(request) = request_of(work) {
                    self.accept_mo(&request);
                }
            }
            MtResult::Refused { status, .. }
                if gsm_result::class(status) == RefusalClass::Permanent =>
            {
                self.refuse_relayed(work, NOT_IMPLEMENTED);
            }
            MtResult::Refused { .. } | MtResult::Unknown(_) => {
                self.refuse_relayed(work, RP_TEMPORARY_FAILURE);
            }
        }
    }

    /// Refuses a report that was to be relayed, with the error of MAP for an RP-cause.
    pub(super) fn refuse_relayed(&mut self, work: Work, cause: u8) {
        if let Some(request) = request_of(work) {
            self.refuse_mo(&request, cause);
        }
    }
}

/// What is answered; `None` of an answer of our own.
fn request_of(work: Work) -> Option<HandsetSubmission> {
    let RelayedReport { invoke, .. } = work.relayed?;
    Some(HandsetSubmission {
        subscriber: work.subscriber,
        imsi: String::new(),
        msisdn: None,
        tpdu: None,
        request: SubmissionRequest::MapForward(invoke),
    })
}
