//! Home routing: other networks ask where our own subscribers are, and bring their messages to us (3GPP TR 23.840).
//!
//! ```text
//!  foreign SMSC      this interface            HLR, MSC
//!     │ sendRoutingInfoForSM │                    │
//!     │ ───────────────────► │                    │     asks nobody: an id in place of the IMSI, our number as the node
//!     │ ◄─────────────────── │                    │
//!     │ mt-ForwardSM to it   │                    │
//!     │ ───────────────────► │ Ingest, the store  │     a message of the account of the network
//!     │ ◄─────────────────── │                    │     when it is durable
//!     │                      │ its own question, its own mt-ForwardSM, and the attempts of its retry schedule
//! ```
//!
//! **The HLR is not asked before a question is answered.** Every number that begins as `numbers` says is one of ours, unless
//! `[[number_range]]` says that nobody has it: then the answer is unknownSubscriber. So an answer needs no other node and
//! tells nobody whether a subscriber is there; a message to a number that the HLR does not know ends UNDELIVERABLE here.
//!
//! A message is taken by the entrance of those of handsets (`incoming`), and refused by it with errors of MAP: what may help is
//! tried again by its sender. A status report goes on to the handset instead (`relay`). Invariant: the other nodes have been told
//! of an id before whoever asks gets it.

use std::sync::Arc;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use tokio::time::Instant;

use super::exchange::{HandsetSubmission, SubmissionRequest};
use super::incoming::{INVALID_MANDATORY, NOT_IMPLEMENTED, NOT_SUBSCRIBED};
use super::{GsmInterface, INTAKE};
use crate::actors::context::plan::GsmPlan;
use crate::actors::context::{mt_correlations, remote_command};
use crate::clock;
use crate::config::MapHomeRouting;
use crate::content::handset;
use crate::domain::gsm_result::{RP_CONGESTION, RP_TEMPORARY_FAILURE};
use crate::firewall::{BlockAnswer, RoutingAsked, ScreenedOperation, ScreenedRequest};
use crate::map::{CorrelationWish, ForeignForward, MapUserError, MtCorrelation, RoutingQuestion};
use crate::pb::{Kind, Message, Submission};
use crate::sms::tpdu::{Direction, MESSAGE_TYPE, TpduKind};

/// Above so many messages that wait for their commit others must wait: handsets have room still.
const FOREIGN_INTAKE: usize = INTAKE / 2;

// === impl GsmInterface ===

impl GsmInterface {
    /// Another network asks where a subscriber of ours is.
    pub(super) fn on_routing_asked(&mut self, question: RoutingQuestion) {
        let plan = self.plan.clone();
        let Some(home) = plan.as_deref().and_then(home_routing) else {
            return self.refuse_routing(&question, MapUserError::SYSTEM_FAILURE);
        };
        let nobody = self
            .node
            .plan()
            .range_without(question.msisdn.as_bytes())
            .is_some();
        if nobody {
            return self.refuse_routing(&question, MapUserError::UNKNOWN_SUBSCRIBER);
        }
        if self.routings.len() >= INTAKE {
            // Those who have asked may have hung up since.
            return self.refuse_routing(&question, MapUserError::SYSTEM_FAILURE);
        }
        let now = clock::now_ms();
        let wish = CorrelationWish {
            network: &home.network,
            msisdn: &question.msisdn,
            asked_by: &question.asked_by,
            until: now + home.id_lifetime.as_millis() as i64,
            most: home.max_ids,
        };
        match self.node.mt_correlations.give(&wish, now) {
            Some(given) => self.routings.push((question, given)),
            None => self.refuse_routing(&question, MapUserError::SYSTEM_FAILURE),
        }
    }

    /// Answers the questions that came since the last time, when the other nodes have heard of the ids.
    pub(super) fn answer_routings(&mut self, ctx: &mut Context<Self>) {
        if self.is_telling {
            // One order at a time: what comes meanwhile goes with the next one, however much it is.
            return;
        }
        let given = std::mem::take(&mut self.routings);
        if given.is_empty() {
            return;
        }
        if self.node.cluster.is_none() {
            for (question, given) in &given {
                self.answer_routing(question, given);
            }
            return;
        }
        let node = Arc::clone(&self.node);
        let order = mt_correlations::order_of(given.iter().map(|(_, given)| given));
        let told = async move { remote_command::to_others(&node, order).await };
        self.is_telling = true;
        ctx.spawn(told.into_actor(self).map(move |told, interface, ctx| {
            interface.is_telling = false;
            if let Err(error) = &told
                && let Some(unlogged) = interface.untold.note(Instant::now())
            {
                tracing::warn!(gsm = %interface.snapshot.name, ?error, unlogged, "other nodes do not hear of correlation ids");
            }
            for (question, given) in &given {
                if told.is_ok() {
                    interface.answer_routing(question, given);
                } else {
                    interface.refuse_routing(question, MapUserError::SYSTEM_FAILURE);
                }
            }
            interface.answer_routings(ctx);
        }));
    }

    /// Another service centre brings a message for an id.
    pub(super) fn on_forwarded(&mut self, forward: ForeignForward) {
        self.snapshot.received_total += 1;
        let known = self.node.mt_correlations.find(&forward.id, clock::now_ms());
        // The ids of all networks are in one table.
        let home = self.plan.as_deref().and_then(home_routing);
        let is_ours =
            |known: &MtCorrelation| home.is_some_and(|home| known.id.starts_with(&home.network));
        let known = known.filter(is_ours);
        if let Some(answer) = self.screen(&forward, known.as_ref()) {
            self.count_home("messages_refused");
            return match answer {
                BlockAnswer::Error(code) => {
                    let error = MapUserError::Other(code);
                    self.core.refuse_forward(forward.invoke, error);
                }
                BlockAnswer::Drop => self.core.drop_invoke(forward.invoke),
            };
        }
        let Some(known) = known else {
            self.count_home("unknown_ids");
            let error = MapUserError::Other(MapUserError::UNIDENTIFIED_SUBSCRIBER);
            return self.core.refuse_forward(forward.invoke, error);
        };
        let request = HandsetSubmission {
            subscriber: known.msisdn.clone(),
            imsi: String::new(),
            msisdn: Some(known.msisdn),
            tpdu: Some(forward.tpdu),
            request: SubmissionRequest::MapForward(forward.invoke),
        };
        if self.intake + self.submissions.len() + self.forwards.len() >= FOREIGN_INTAKE {
            return self.refuse_mo(&request, RP_CONGESTION);
        }
        let octets = request.tpdu.as_deref().unwrap_or_default();
        if TpduKind::guess(Direction::ToPhone, octets) == Some(TpduKind::StatusReport) {
            return self.relay(request, forward.invoke);
        }
        match self.brought(&request) {
            Ok(message) => {
                self.will_store(&request.subscriber);
                let submission = Submission {
                    sequence: self.forwards.len() as u32,
                    message: Some(Box::new(message)),
                };
                self.forwards.push((submission, request));
            }
            Err(cause) => self.refuse_mo(&request, cause),
        }
    }

    /// How the firewall blocks a message of another service centre, by who has asked where its subscriber is, and by the rate of
    /// that; `known` is what its id stands for. By everything else the session has judged it.
    fn screen(
        &mut self,
        forward: &ForeignForward,
        known: Option<&MtCorrelation>,
    ) -> Option<BlockAnswer> {
        let asked = known.map(|known| RoutingAsked::By(&known.asked_by));
        let request = ScreenedRequest {
            operation: ScreenedOperation::MtForward,
            calling_gt: &forward.brought_by,
            service_centre: &forward.service_centre,
            subscriber: known.map_or(forward.id.as_str(), |known| known.msisdn.as_str()),
            originator: "",
            routing_asked_by: asked.unwrap_or(RoutingAsked::Nobody),
        };
        let map = self.core.map()?;
        map.screen_routing(&request, &forward.tpdu, forward.is_counted)
    }

    /// Passes on what one socket read has brought of other service centres.
    pub(super) fn submit_forwards(&mut self, ctx: &mut Context<Self>) {
        let taken = std::mem::take(&mut self.forwards);
        if taken.is_empty() {
            return;
        }
        match self.home_queue() {
            Some(to) => self.submit_to(to, taken, ctx),
            // The account was removed a moment ago.
            None => {
                for (_, request) in &taken {
                    self.stored(request);
                    self.refuse_mo(request, RP_TEMPORARY_FAILURE);
                }
            }
        }
    }

    /// The message of an SMS-DELIVER.
    ///
    /// # Errors
    /// The RP-cause that says why there is none.
    fn brought(&self, request: &HandsetSubmission) -> Result<Message, u8> {
        let plan = self.plan.as_ref().filter(|plan| plan.account.is_some());
        let home = plan.and_then(|plan| home_routing(plan));
        let home = home.ok_or(NOT_SUBSCRIBED)?;
        let (Some(to), Some(tpdu)) = (&request.msisdn, &request.tpdu) else {
            return Err(INVALID_MANDATORY);
        };
        // An SMS-DELIVER has none of these bits.
        if tpdu.first().is_some_and(|first| first & MESSAGE_TYPE != 0) {
            // What a service centre answers to a handset, which comes in no mt-ForwardSM, or something of a later release.
            return Err(NOT_IMPLEMENTED);
        }
        let (message, _) = handset::delivered(tpdu, to).map_err(|fault| {
            tracing::debug!(gsm = %self.snapshot.name, %fault, "a message of another service centre cannot be read");
            INVALID_MANDATORY
        })?;
        Ok(match home.account() {
            Some(_) => Message {
                kind: Kind::Mo.into(),
                source_gsm: self.options.gsm,
                ..message
            },
            None => Message {
                kind: Kind::Mt.into(),
                ..message
            },
        })
    }

    /// The queue of what other service centres bring.
    fn home_queue(&self) -> Option<u32> {
        let home = self.plan.as_deref().and_then(home_routing)?;
        match home.account() {
            Some(account) => Some(self.node.plan().account(account)?.id),
            None => Some(self.options.gsm),
        }
    }

    fn answer_routing(&mut self, question: &RoutingQuestion, given: &MtCorrelation) {
        self.count_home("questions_answered");
        self.core.answer_routing(question.invoke, Ok(&given.id));
    }

    fn refuse_routing(&mut self, question: &RoutingQuestion, error: u8) {
        self.count_home("questions_refused");
        self.core.answer_routing(question.invoke, Err(error));
    }

    pub(super) fn count_home(&mut self, event: &'static str) {
        self.meter.home_routed(event);
    }
}

pub(super) fn home_routing(plan: &GsmPlan) -> Option<&MapHomeRouting> {
    plan.config.map.as_ref()?.home_routing.as_ref()
}
