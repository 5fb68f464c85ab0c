//! What ends a connection: silence, half a frame, a program that does not read, an account that is gone, the drain.

use std::sync::atomic::Ordering;

use actix::{ActorContext, Context};
use tokio::time::Instant;

use super::{Connection, Side};
use crate::actors::local::parting::Parting;
use crate::actors::runtime::link::Outbox;
use crate::pb::local::{Reason, put_frame};

// === impl Connection ===

impl Connection {
    /// Reads nothing more, answers what was asked before, says why, and closes.
    pub(in crate::actors::local) fn part(&mut self, reason: Reason, detail: impl Into<String>) {
        self.part_from(0, reason, detail);
    }

    /// Reads nothing more, answers what was asked before, says that a request is why, and closes.
    pub(super) fn part_from(&mut self, number: u64, reason: Reason, detail: impl Into<String>) {
        if self.parting.is_none() {
            self.parting = Some(Parting::of(number, reason, detail));
        }
        self.go_on();
    }

    /// Something is answered, or the connection is to end: reads on, or closes once everything is answered.
    pub(in crate::actors::local) fn go_on(&mut self) {
        let Some(outbox) = &self.outbox else { return };
        let Some(parting) = &self.parting else {
            return outbox.resume();
        };
        if self.under_way > 0 || self.closing_since.is_some() {
            return;
        }
        parting.count(&self.node);
        if let Some(frame) = parting.frame() {
            outbox.write(|out| put_frame(&frame, out));
        }
        outbox.close();
        self.closing_since = Some(Instant::now());
    }

    pub(super) fn publish(&self) {
        self.port.snapshot.update(&self.snapshot);
    }

    pub(super) fn tick(&mut self, ctx: &mut Context<Self>) {
        let now = Instant::now();
        self.publish();
        let (frame_timeout, idle_timeout) = {
            let config = self.node.config();
            (config.local.frame_timeout, config.local.idle_timeout)
        };
        let is_over = |since: Option<Instant>| {
            since.is_some_and(|since| now.duration_since(since) >= frame_timeout)
        };
        if self.is_stuck(now) && is_over(self.stuck_since) {
            tracing::warn!(peer = %self.snapshot.peer, "a program was cut off at local.socket: it does not read");
            self.node.metrics.slow_readers.inc();
            return ctx.stop();
        }
        if self.parting.is_some() {
            return;
        }
        // A handler that has nothing to do says nothing.
        let may_be_idle = !matches!(self.side, Side::Handler(_));
        let is_idle =
            may_be_idle && self.under_way == 0 && now.duration_since(self.heard_at) >= idle_timeout;
        if self.is_to_stop() {
            self.part(Reason::Stopping, "this node is about to stop");
        } else if matches!(self.side, Side::Handler(_))
            && self.outbox.as_ref().is_some_and(Outbox::is_over)
        {
            // Questions that nobody waits for any more are among what it has not read.
            tracing::warn!(peer = %self.snapshot.peer, "a program was cut off at local.socket: it does not read enough");
            self.node.metrics.slow_readers.inc();
            ctx.stop();
        } else if is_over(self.frame_since) {
            let what = match self.side {
                Side::Unknown => "no Hello came",
                Side::Client(_) | Side::Handler(_) => "the rest of a frame did not come",
            };
            let detail = format!("{what} within {frame_timeout:?} (local.frame_timeout)");
            self.part(Reason::Malformed, detail);
        } else if !idle_timeout.is_zero() && is_idle {
            let detail = format!("nothing came for {idle_timeout:?} (local.idle_timeout)");
            self.part(Reason::Idle, detail);
        } else if let Side::Client(client) = &self.side
            && client.account(&self.door).is_none()
        {
            let gone = client.gone();
            self.part(Reason::NoAccount, gone);
        } else {
            self.look_after_handler();
        }
    }

    /// Whether the node drains; the session of a handler is finished before.
    pub(super) fn is_to_stop(&self) -> bool {
        let is_needed = match &self.side {
            Side::Handler(side) => side.has_session(),
            Side::Unknown | Side::Client(_) => false,
        };
        self.node.draining.load(Ordering::Relaxed) && !is_needed
    }

    /// A handler whose role was taken away goes, after what it has under way.
    fn look_after_handler(&mut self) {
        let node = std::sync::Arc::clone(&self.node);
        let Some(side) = self.handler_side() else {
            return;
        };
        side.look();
        if let Some(objection) = side.objection(&node) {
            let unanswered = side.leave(&node);
            self.fail_all(unanswered);
            self.part(Reason::Role, objection);
        }
    }

    /// Whether octets wait and the program takes none.
    fn is_stuck(&mut self, now: Instant) -> bool {
        let written = &mut self.written;
        let stuck = (self.outbox.as_ref()).is_some_and(|outbox: &Outbox| outbox.is_stuck(written));
        if stuck {
            self.stuck_since.get_or_insert(now);
        } else {
            self.stuck_since = None;
        }
        stuck
    }
}
