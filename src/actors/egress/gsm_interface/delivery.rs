//! Messages to handsets: from what the queue has granted to MT-forwardSMs, whatever the network speaks; `results` has what
//! became of those.
//!
//! The results of one step leave together: what arrived to Correlation, then everything to the queue.

use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{AsyncContext, Context};
use tokio::time::Instant;

use super::exchange::{CoreNotSent, MtRequest};
use super::incoming::NOT_IMPLEMENTED;
use super::work::{Sending, Work};
use super::{AHEAD, BUSY, GsmInterface};
use crate::actors::context::item::has_expired;
use crate::actors::context::plan::GsmPlan;
use crate::actors::context::traced::TracedAttempt;
use crate::actors::routing::rewrite;
use crate::actors::session::bound::InFlight;
use crate::actors::session::served_queue::RequestRoom;
use crate::clock;
use crate::content::handset;
use crate::domain::gsm_result::{self, RP_TEMPORARY_FAILURE};
use crate::domain::retry::RefusalClass;
use crate::pb::delivery::What;
use crate::pb::{Delivery, Message, SentBatch};

impl GsmInterface {
    /// How much it may hold, and holds.
    pub(super) fn room(&self) -> RequestRoom {
        let most = match &self.plan {
            Some(plan) if self.is_ready() => plan.config.window.saturating_mul(AHEAD),
            _ => 0,
        };
        let held = self.lines.waiting() + self.under_way.len();
        let least = if held > 0 { most / 4 } else { 0 };
        RequestRoom { most, held, least }
    }

    pub(super) fn held_ids(&self) -> Vec<u64> {
        let granted = self.lines.iter().filter(|work| !work.is_unqueued());
        let waiting = granted.map(|work| work.context.id);
        waiting.chain(self.under_way.iter().copied()).collect()
    }

    /// Begins to serve the queue.
    pub(super) fn join(&mut self, ctx: &mut Context<Self>) {
        let Some(queue) = self.queue() else { return };
        let room = self.room();
        self.served
            .join(queue, &ctx.address(), &self.snapshot.peer, room);
    }

    /// Takes a message that the queue has granted.
    pub(super) fn take(&mut self, delivery: Delivery) {
        let what = delivery.what();
        let Some(message) = delivery.message else {
            return;
        };
        let known = self
            .options
            .imsis
            .look(&self.node.plan(), &message.destination);
        let subscriber = self.core.subscriber_of(&message, known);
        let context = InFlight {
            id: delivery.id,
            attempt: delivery.attempt,
            what,
            since: message.waits_since(),
            message: Some(message),
            ..InFlight::default()
        };
        let subscriber = match subscriber {
            Ok(subscriber) => subscriber,
            Err(status) => return self.refuse(&context, status),
        };
        let work = Work {
            context,
            subscriber: subscriber.clone(),
            expires: delivery.expires,
            ..Work::default()
        };
        if let Some(pause) = self
            .absent
            .pause(&subscriber, work.context.id, Instant::now())
        {
            return self.wait(&work, pause);
        }
        let ahead = self.lines.waiting() + self.under_way.len();
        self.culprits.granted(work.context.id, ahead);
        self.lines.push(&subscriber, work);
    }

    /// Sends what may be sent, and tells the queue what became of the rest and how much more it may grant.
    pub(super) fn go_on(&mut self) {
        let window = self.plan.as_ref().map_or(0, |plan| plan.config.window);
        let may_send = self.may_send();
        while may_send
            && !self.is_full
            && ((self.under_way.len() + self.unwritten.len()) as u32) < self.culprits.most(window)
        {
            let Some((_, work, more)) = self.lines.take() else {
                break;
            };
            self.begin(work, more);
        }
        self.tell();
    }

    /// Without a valid lease another node may be sending the same; what waits in a suspended queue may be cancelled.
    fn may_send(&self) -> bool {
        self.is_ready()
            && self.naming.is_sure()
            && self.node.local_lease.is_valid()
            && !self.is_suspended()
    }

    pub(super) fn is_suspended(&self) -> bool {
        let queue = self.queue();
        queue.is_some_and(|queue| queue.suspended.load(Ordering::Relaxed))
    }

    /// Passes on what this step brought.
    pub(super) fn tell(&mut self) {
        self.tell_sent();
        let room = self.room();
        self.served.settle(room);
    }

    /// Ids first: whoever looks for a message that the queue has no more finds it there.
    pub(super) fn tell_sent(&mut self) {
        if !self.sent.is_empty() {
            self.node.tell_sent(SentBatch {
                operator: self.options.gsm,
                sent: std::mem::take(&mut self.sent),
                confirm: true,
                session: self.port.session,
            });
        }
    }

    /// It is the turn of a message: makes its TPDUs, and sends the first one that its handset has not got yet.
    fn begin(&mut self, mut work: Work, more: bool) {
        if work.is_unqueued() {
            if has_expired(work.expires, clock::now_ms()) {
                let subscriber = work.subscriber.clone();
                self.refuse_relayed(work, RP_TEMPORARY_FAILURE);
                return self.follow(&subscriber);
            }
            return self.send(work, more);
        }
        let (Some(plan), Some(message)) = (self.plan.clone(), work.context.message.as_deref())
        else {
            return self.lines.put_back(&work.subscriber.clone(), work);
        };
        if has_expired(work.expires, clock::now_ms()) {
            // Its queue ends it.
            self.give_back(&work);
            return self.follow(&work.subscriber);
        }
        if work.tpdus.is_empty() {
            let delivery = match made(message, work.context.what, &plan, more) {
                Ok(delivery) => delivery,
                Err(refused) => {
                    self.give_up(&work, self.core.unwritable(), &refused);
                    return self.follow(&work.subscriber);
                }
            };
            let changed = delivery.changed as u64;
            self.node.metrics.characters_changed.inc_by(changed);
            work.arrived = self.partly.take(&work);
            work.tpdus = delivery.tpdus;
        }
        let queue = self.plan.as_ref().map_or(0, |plan| plan.id);
        let InFlight { what, attempt, .. } = work.context;
        work.context.traced = TracedAttempt::begin(&self.node, queue, message, what, attempt);
        self.send(work, more);
    }

    /// Sends the next TPDU of a message. `more`: other messages follow.
    pub(super) fn send(&mut self, work: Work, more: bool) {
        let Some(plan) = self.plan.clone() else {
            return self.lines.put_back(&work.subscriber.clone(), work);
        };
        let Some(tpdu) = work.tpdus.get(work.arrived).cloned() else {
            // Its last one has arrived with an earlier attempt.
            return self.arrived(work, Duration::ZERO);
        };
        let subscriber = work.subscriber.clone();
        let has_parts = work.arrived + 1 < work.tpdus.len();
        let request = MtRequest {
            subscriber: &subscriber,
            smsc: plan.config.smsc_number(),
            tpdu: &tpdu,
            more: more || has_parts,
            follows: has_parts || (more && self.lines.goes_on(&subscriber, plan.config.run)),
            is_urgent: work.is_urgent(),
        };
        let now = Instant::now();
        let granted = (!work.is_unqueued()).then_some(work.context.id);
        let sending = Box::new(Sending { work, since: now });
        match self.core.send(&request, sending, now) {
            Ok(()) => {
                self.snapshot.sent_total += 1;
                self.under_way.extend(granted);
            }
            Err(CoreNotSent::Unwritable(sending, why)) => {
                self.give_up(&sending.work, self.core.unwritable(), &why);
                self.refuse_relayed(sending.work, NOT_IMPLEMENTED);
                self.follow(&subscriber);
            }
            // The answer to a request that was given up may still come: it could not be told from that to this one.
            Err(CoreNotSent::Busy(sending)) => {
                let work = sending.work;
                if work.is_unqueued() {
                    self.refuse_relayed(work, RP_TEMPORARY_FAILURE);
                    return self.end_run(&subscriber);
                }
                self.wait(&work, BUSY);
                self.hold_back(&work, BUSY);
            }
            Err(CoreNotSent::NotNow(sending)) => {
                self.is_full = true;
                self.lines.put_back(&subscriber, sending.work);
                self.core.end_run(&subscriber, now);
            }
        }
    }

    /// The next message of a subscriber whose message has ended.
    pub(super) fn follow(&mut self, subscriber: &str) {
        let run = self.plan.as_ref().map_or(1, |plan| plan.config.run);
        if !self.may_send() {
            return self.end_run(subscriber);
        }
        match self.lines.next(subscriber, run) {
            Some((work, more)) => self.begin(work, more),
            None => self.core.end_run(subscriber, Instant::now()),
        }
    }

    /// Nothing is under way for a subscriber any more.
    pub(super) fn end_run(&mut self, subscriber: &str) {
        self.lines.ended(subscriber);
        self.core.end_run(subscriber, Instant::now());
    }

    /// Ends a message that can never be delivered.
    pub(super) fn give_up(&mut self, work: &Work, status: u32, why: &str) {
        if work.is_unqueued() {
            return;
        }
        self.absent.ended(&work.subscriber, work.context.id);
        let code = gsm_result::error_code(status);
        self.served.note(|serving| {
            let reason = why.to_owned();
            serving.give_up(&work.context, Some(status), Duration::ZERO, reason, code);
        });
    }

    /// Counts as an attempt, although nothing was sent; ends the message where no attempt could succeed.
    fn refuse(&mut self, context: &InFlight, status: u32) {
        self.served.note(|serving| {
            if gsm_result::class(status) == RefusalClass::Permanent {
                let (why, code) = (gsm_result::name(status), gsm_result::error_code(status));
                let why = why.unwrap_or_default().to_owned();
                serving.give_up(context, Some(status), Duration::ZERO, why, code);
            } else {
                serving.refused(context, status, Duration::ZERO);
            }
        });
    }

    pub(super) fn wait(&mut self, work: &Work, pause: Duration) {
        self.partly.keep(work);
        self.served
            .note(|serving| serving.waits(&work.context, pause));
    }

    /// Gives back what is not under way and `goes`, in order.
    pub(super) fn give_back_waiting(&mut self, goes: impl Fn(&Message) -> bool) {
        let back = self
            .lines
            .take_if(|work| work.context.message.as_deref().is_some_and(&goes));
        for work in back {
            self.give_back(&work);
        }
    }

    fn give_back(&mut self, work: &Work) {
        let (id, attempt) = (work.context.id, work.context.attempt);
        self.partly.keep(work);
        self.served.note(|serving| serving.give_back(id, attempt));
    }
}

/// The TPDUs of what the queue has granted: a message, or a status report to the handset that has sent one.
fn made(
    message: &Message,
    what: What,
    plan: &GsmPlan,
    more: bool,
) -> Result<handset::HandsetDelivery, String> {
    match what {
        What::Message => {
            let message = rewrite::to_handset(&plan.rewrite_out, message)
                .map_err(|status| status.to_string())?;
            handset::deliver(&message, &plan.handsets, more).map_err(|error| error.to_string())
        }
        What::Receipt => {
            let report = handset::report(message, &plan.handsets, more)
                .map_err(|error| error.to_string())?;
            Ok(handset::HandsetDelivery {
                tpdus: report.into_iter().collect(),
                changed: 0,
            })
        }
    }
}
