//! A program that does a part of the work: it answers what the resolver asks, or is the peer of a session.
//!
//! The connection does this once its program has said hello with a role. While its service is up, it is one of the
//! [`Handlers`](crate::actors::context::handlers) of the node. The session of an operator that gets it speaks in frames, as the
//! program does; the connection passes them on under numbers of its own, for the program may have had another session before. A
//! network gets a pair of sockets instead of a connection to an address; at the other end is `network`, which turns GSUP into
//! requests to the program. So both have their window, their pauses and their custody as with any peer: what the program has not
//! answered when it goes away is back in its queue, in order.
//!
//! Invariants: every question and every message is answered once, or its asker sees that the program is gone; what the
//! program brings is answered once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix::{
    ActorFutureExt as _, ActorStreamExt as _, AsyncContext, Context, Handler as Handles,
    WrapStream as _,
};
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use prost::Message as _;

use super::Connection;
use crate::actors::context::handlers::{self, Handler, ImsiRequest, PeerLink};
use crate::actors::local::handler_side::{Asked, HandlerLink};
use crate::actors::local::network;
use crate::domain::queue_name::QueueName;
use crate::pb::local::{Done, FromSmsc, LookUp, Reason, from_smsc, take_frame, to_smsc};
use crate::pb::{BindDirection, BindState};

// === impl Connection ===

impl Connection {
    /// What a handler has said: an answer, or a request of its own.
    pub(super) fn on_handler(&mut self, number: u64, what: to_smsc::What, ctx: &mut Context<Self>) {
        match what {
            to_smsc::What::Service(service) => self.serve(number, service.is_up, ctx),
            to_smsc::What::Found(_)
            | to_smsc::What::Failed(_)
            | to_smsc::What::Delivered(_)
            | to_smsc::What::NotDelivered(_) => self.on_answer(number, what),
            brought => self.bring(number, brought),
        }
    }

    fn on_answer(&mut self, number: u64, answer: to_smsc::What) {
        let Some(side) = self.handler_side() else {
            return;
        };
        match (side.asked.remove(&number), answer) {
            // Nobody waits for it any more.
            (None, _) => {}
            (Some(Asked::Question(asker)), to_smsc::What::Found(found)) => {
                _ = asker.send(Ok(found.imsi));
            }
            (Some(Asked::Question(asker)), to_smsc::What::Failed(failed)) => {
                _ = asker.send(Err(failed.detail));
            }
            (Some(Asked::Question(_)), _) | (_, to_smsc::What::Found(_)) => {
                let detail = format!("request {number} has an answer of the wrong kind");
                self.part(Reason::Malformed, detail);
            }
            (Some(Asked::OfSession(theirs)), answer) => _ = side.tell(theirs, answer),
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
                let handler = Arc::new(Handler {
                    session,
                    role,
                    peer: peer.clone(),
                    questions,
                    links,
                    is_taken: AtomicBool::new(false),
                });
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

    /// Gives a request of the program to whoever has it, and knows what to do with it.
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
        if side.tell(number, what) {
            _ = side.brought.insert(number);
        } else {
            let detail =
                "the session of this role is not up; say that the service is up, or wait a little";
            self.fail(number, Reason::Unavailable, detail);
        }
    }

    /// Takes what the session of a link says: a question for the program, and answers to what that has brought.
    fn pass_on(&mut self, link: u64, frames: Bytes) {
        let mut frames = BytesMut::from(frames);
        while let Ok(Some(frame)) = take_frame(&mut frames, usize::MAX) {
            let Some(side) = self.handler_side().filter(|side| side.is_linked(link)) else {
                return;
            };
            let FromSmsc { request, what } = FromSmsc::decode(frame).unwrap_or_default();
            match what {
                Some(what @ (from_smsc::What::ToPeer(_) | from_smsc::What::ToHandset(_))) => {
                    self.ask(what, Asked::OfSession(request));
                }
                Some(answer) if side.brought.remove(&request) => self.say(request, answer),
                _ => {}
            }
        }
        self.go_on();
    }

    /// Whoever had the program over a link is gone.
    fn unlinked(&mut self, link: u64) {
        let Some(side) = self.handler_side().filter(|side| side.is_linked(link)) else {
            return;
        };
        side.link = None;
        // What it still does for that session counts no more.
        side.asked.clear();
        let unanswered = side.brought.drain().collect();
        if let Some(handler) = &side.handler {
            // It may have another one.
            handler.is_taken.store(false, Ordering::Release);
        }
        self.fail_all(unanswered);
        self.go_on();
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

impl Handles<PeerLink> for Connection {
    type Result = ();

    fn handle(&mut self, link: PeerLink, ctx: &mut Self::Context) {
        let Some(side) = self.handler_side().filter(|side| side.handler.is_some()) else {
            // The other end sees that this one is closed.
            return;
        };
        let (said, mut told) = match link {
            PeerLink::Frames(end) => end,
            PeerLink::Gsup(stream) => {
                let (network, end) = handlers::ends();
                actix::spawn(network::serve(stream, network));
                end
            }
        };
        side.links += 1;
        let number = side.links;
        side.link = Some(HandlerLink { number, said });
        let told = stream::poll_fn(move |cx| told.poll_recv(cx)).into_actor(self);
        let passed = told.map(move |frames, act, _| act.pass_on(number, frames));
        ctx.spawn(passed.finish().map(move |(), act, _| act.unlinked(number)));
    }
}
