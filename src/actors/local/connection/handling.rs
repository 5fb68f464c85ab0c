//! A program that does a part of the work: it answers what the resolver asks, or is the peer of a session.
//!
//! The connection does this once its program has said hello with a role. While its service is up, it is one of the
//! [`Handlers`](crate::actors::context::handlers) of the node. A session of an operator or network that gets it has a
//! pair of sockets instead of a connection to an address, and speaks the protocol of its peer over it; at the other end is
//! `peer` or `network`, which turns that into requests to the program. So the session has its window, its pauses and
//! its custody as with any peer: what the program has not answered when it goes away is back in its queue, in order.
//!
//! Invariants: every question and every message is answered once, or its asker sees that the program is gone; what the
//! program brings is answered once.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::{AsyncContext, Context, Handler as Handles};
use tokio::sync::mpsc;

use super::Connection;
use crate::actors::context::addresses::post_to;
use crate::actors::context::handlers::{Handler, ImsiRequest, PeerLink};
use crate::actors::local::ends::{Answered, Ask, Brought, Ends, Handled, SessionOver};
use crate::actors::local::handler_side::{Asked, SessionEnd};
use crate::actors::local::{network, peer};
use crate::domain::queue_name::QueueName;
use crate::pb::local::{Done, LookUp, Reason, from_smsc, to_smsc};
use crate::pb::{BindDirection, BindState};

/// Requests of a program that may wait for the end of its session.
const BROUGHT: usize = 4_096;

// === impl Connection ===

impl Connection {
    /// What a handler has said: an answer, or a request of its own.
    pub(super) fn on_handler(&mut self, number: u64, what: to_smsc::What, ctx: &mut Context<Self>) {
        let Some(side) = self.handler_side() else {
            return;
        };
        match what {
            to_smsc::What::Service(service) => self.serve(number, service.is_up, ctx),
            to_smsc::What::Found(found) => match side.asked.remove(&number) {
                Some(Asked::Question(asker)) => _ = asker.send(Ok(found.imsi)),
                other => self.misplaced(number, other),
            },
            to_smsc::What::Failed(failed) => match side.asked.remove(&number) {
                Some(Asked::Question(asker)) => _ = asker.send(Err(failed.detail)),
                Some(Asked::Delivery(asker)) => _ = asker.send(Handled::Failed),
                None => {}
            },
            to_smsc::What::Delivered(delivered) => {
                self.handled(number, Handled::Delivered(delivered));
            }
            to_smsc::What::NotDelivered(refused) => {
                self.handled(number, Handled::NotDelivered(refused));
            }
            brought => self.bring(number, brought),
        }
    }

    fn handled(&mut self, number: u64, handled: Handled) {
        let Some(side) = self.handler_side() else {
            return;
        };
        match side.asked.remove(&number) {
            Some(Asked::Delivery(asker)) => _ = asker.send(handled),
            other => self.misplaced(number, other),
        }
    }

    /// An answer of another kind than the question, or one that nobody waits for: that was given up.
    fn misplaced(&mut self, number: u64, asked: Option<Asked>) {
        if asked.is_some() {
            let detail = format!("request {number} has an answer of the wrong kind");
            self.part(Reason::Malformed, detail);
        }
    }

    /// The service of the program is there, or is not.
    fn serve(&mut self, number: u64, is_up: bool, ctx: &mut Context<Self>) {
        let (node, session) = (Arc::clone(&self.node), self.port.session);
        let peer = self.snapshot.peer.clone();
        let Some(side) = self.handler_side() else {
            return;
        };
        match (is_up, side.handler.is_some()) {
            (true, false) => {
                let role = side.role.clone();
                let (questions, links) = (ctx.address().recipient(), ctx.address().recipient());
                let handler = Handler::new(session, role, peer.clone(), questions, links);
                let handler = Arc::new(handler);
                side.handler = Some(Arc::clone(&handler));
                tracing::info!(role = %side.role, %peer, "the service of a program is up");
                node.handlers.came(handler);
                // Sessions that wait for their next attempt try now.
                let role = QueueName::parse(&side.role);
                let name = if role.is_connected() { role.id() } else { "" };
                let binds = node.binds.all();
                let is_its =
                    |direction| matches!(direction, BindDirection::Out | BindDirection::Gsm);
                let waiting = binds.iter().filter(|port| {
                    let shown = port.snapshot.get();
                    shown.name == name
                        && is_its(shown.direction())
                        // To wake a suspended one would resume it.
                        && !port.suspended.load(Ordering::Relaxed)
                        && shown.state() == BindState::Waiting
                });
                waiting.for_each(|port| port.wake());
            }
            (false, true) => {
                let unanswered = side.leave(&node);
                self.fail_all(unanswered);
            }
            _ => {}
        }
        self.say(number, from_smsc::What::Done(Done {}));
    }

    /// Gives a request of the program to the end of its session, which knows what to do with it.
    fn bring(&mut self, number: u64, what: to_smsc::What) {
        let most = self.node.config().local.max_requests as usize;
        let Some(side) = self.handler_side() else {
            return;
        };
        if !side.may_bring(&what) {
            let detail = "a handler of this role has no such request";
            return self.fail(number, Reason::Unsupported, detail);
        }
        if side.brought.len() >= most || side.brought.contains(&number) {
            let detail = "too many requests are under way, or two have one number";
            return self.fail(number, Reason::Conflict, detail);
        }
        let sent = (side.end.as_ref())
            .is_some_and(|end| end.brought.try_send(Brought { number, what }).is_ok());
        if sent {
            _ = side.brought.insert(number);
        } else {
            let detail =
                "the session of this role is not up; say that the service is up, or wait a little";
            self.fail(number, Reason::Unavailable, detail);
        }
    }

    /// The session that would have carried these out is over.
    pub(super) fn fail_all(&mut self, numbers: Vec<u64>) {
        for number in numbers {
            let detail = "the session is over; whether it was carried out is not known";
            self.fail(number, Reason::Unavailable, detail);
        }
    }

    /// Asks the program; the asker is kept until it answers.
    fn ask(&mut self, what: from_smsc::What, asked: Asked) {
        let Some(side) = self.handler_side() else {
            return;
        };
        if side.handler.is_none() {
            return;
        }
        side.last += 1;
        let number = side.last;
        side.asked.insert(number, asked);
        self.say(number, what);
    }
}

impl Handles<ImsiRequest> for Connection {
    type Result = ();

    fn handle(&mut self, question: ImsiRequest, _: &mut Self::Context) {
        let ImsiRequest { msisdn, answer } = question;
        let look_up = from_smsc::What::LookUp(LookUp { msisdn });
        self.ask(look_up, Asked::Question(answer));
    }
}

impl Handles<Ask> for Connection {
    type Result = ();

    fn handle(&mut self, ask: Ask, _: &mut Self::Context) {
        self.ask(ask.what, Asked::Delivery(ask.answer));
    }
}

impl Handles<PeerLink> for Connection {
    type Result = ();

    fn handle(&mut self, PeerLink(stream): PeerLink, ctx: &mut Self::Context) {
        let connection = ctx.address();
        let Some(side) = self.handler_side().filter(|side| side.handler.is_some()) else {
            // Its session sees that the socket is closed.
            return;
        };
        side.ends += 1;
        let (brought, receiver) = mpsc::channel(BROUGHT);
        let number = side.ends;
        side.end = Some(SessionEnd { number, brought });
        let asks = connection.clone().recipient();
        let ends = Ends::new(receiver, asks, connection.clone().recipient());
        let is_network = QueueName::parse(&side.role).is_handsets();
        let over = connection.recipient();
        actix::spawn(async move {
            run(stream, is_network, ends).await;
            post_to(&over, SessionOver(number));
        });
    }
}

impl Handles<Answered> for Connection {
    type Result = ();

    fn handle(&mut self, answered: Answered, _: &mut Self::Context) {
        let number = answered.number;
        let is_open = self
            .handler_side()
            .is_some_and(|side| side.brought.remove(&number));
        if is_open {
            self.say(number, answered.answer);
        }
        self.go_on();
    }
}

impl Handles<SessionOver> for Connection {
    type Result = ();

    fn handle(&mut self, SessionOver(number): SessionOver, _: &mut Self::Context) {
        let Some(side) = self.handler_side() else {
            return;
        };
        if side.end.as_ref().is_none_or(|end| end.number != number) {
            return;
        }
        side.end = None;
        // What it still does for that session counts no more.
        side.asked.clear();
        let unanswered = side.brought.drain().collect();
        if let Some(handler) = &side.handler {
            handler.is_free_again();
        }
        self.fail_all(unanswered);
        self.go_on();
    }
}

/// Serves the session at the other end of `stream` until it is over, or the program is gone.
async fn run(stream: UnixStream, is_network: bool, mut ends: Ends) {
    let Ok(stream) = tokio::net::UnixStream::from_std(stream) else {
        return;
    };
    if is_network {
        network::serve(stream, &mut ends).await;
    } else {
        peer::serve(stream, &mut ends).await;
    }
}
