//! The connection to an HLR: connects, and asks whether our name leads here (`naming`).

use std::io;
use std::sync::Arc;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use bytes::Bytes;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::GsmInterface;
use super::core::NetworkCore;
use super::gsup::{GsupCore, NOBODY, session_config};
use crate::actors::context::plan::{GsmPlan, gsm_name};
use crate::actors::egress::local_peer;
use crate::actors::runtime::link::{Wire, tune};
use crate::gsup::message::{GsupMessage, REFERENCE_UNKNOWN, SmRpAddress};
use crate::gsup::message_type::MessageType;
use crate::gsup::session::GsupSession;
use crate::pb::BindState;
use crate::sms::tpdu::TpduAddress;

/// An SMS-DELIVER without a text, from "0" at the turn of the century (3GPP TS 23.040 §9.2.2.1).
const EMPTY_TPDU: &[u8] = b"\x04\x01\x91\xf0\x00\x00\x00\x10\x10\x00\x00\x00\x00\x00";
const WRITE_LIMIT: usize = 4 * 1024 * 1024;

// === impl GsmInterface ===

impl GsmInterface {
    /// Connects to the HLR.
    pub(super) fn dial_hlr(&mut self, plan: Arc<GsmPlan>, ctx: &mut Context<Self>) {
        #[cfg(test)]
        if let Some(pipe) = super::tests::next_pipe() {
            return self.connected_to_hlr(Wire::Memory(pipe), "a test".to_owned(), ctx);
        }
        let smpp = self.node.config().smpp.clone();
        let within = plan.config.connect_timeout;
        let node = Arc::clone(&self.node);
        let dial = async move {
            if plan.config.is_local() {
                let role = gsm_name(&plan.config.name);
                return local_peer::connect(&node, &role);
            }
            let address = plan.config.hlr();
            let connected = tokio::time::timeout(within, TcpStream::connect(&address)).await;
            let socket = match connected {
                Ok(connected) => connected.map_err(|error| format!("connect: {error}"))?,
                Err(_) => return Err("connect: no connection in time".to_owned()),
            };
            tune(&socket, &smpp);
            let peer = socket.peer_addr();
            let peer = peer.map_or(address, |peer| peer.to_string());
            Ok((Wire::Plain(socket), peer))
        };
        ctx.spawn(
            dial.into_actor(self)
                .map(|connected, interface, ctx| match connected {
                    Ok((wire, peer)) => interface.connected_to_hlr(wire, peer, ctx),
                    Err(why) => interface.come_back(&why, ctx),
                }),
        );
    }

    fn connected_to_hlr(&mut self, wire: Wire, peer: String, ctx: &mut Context<Self>) {
        let Some(plan) = self.plan.clone() else {
            return;
        };
        self.snapshot.peer = peer;
        let outbox = wire.attach(ctx, WRITE_LIMIT);
        let config = session_config(&self.node, Some(&plan));
        let now = Instant::now().into_std();
        let session = outbox.write(|out| GsupSession::new(config, now, out));
        let core = GsupCore::connected(plan.config.name.clone(), session, outbox);
        self.core = NetworkCore::Gsup(Box::new(core));
        self.state(BindState::Binding);
    }

    /// The HLR has taken our name; whether it leads here is asked.
    pub(super) fn ready(&mut self, ctx: &mut Context<Self>) {
        let asks = self.proves_name();
        self.naming.ready(asks, Instant::now());
        if asks {
            self.ask_for_nobody();
        }
        self.serve(ctx);
    }

    /// A request that was sent at `since` was not answered: would an answer come here?
    pub(super) fn doubt_name(&mut self, since: Instant) {
        if self.proves_name() && self.naming.doubts(since, Instant::now()) {
            self.ask_for_nobody();
        }
    }

    fn proves_name(&self) -> bool {
        self.has_namesakes() && (self.plan.as_ref()).is_some_and(|plan| plan.config.prove_name)
    }

    /// Whether others may be connected under our name, too: a program on this machine has one connection, and over MAP there
    /// are no names.
    pub(super) fn has_namesakes(&self) -> bool {
        let is_of_hlr = |plan: &Arc<GsmPlan>| !plan.config.is_local() && !plan.config.is_map();
        self.plan.as_ref().is_some_and(is_of_hlr)
    }

    /// Something came for our name.
    pub(super) fn heard(&mut self, ctx: &mut Context<Self>) {
        self.naming.heard(Instant::now());
        self.serve(ctx);
    }

    /// Our name at the HLR.
    pub(super) fn ipa_name(&self) -> String {
        match &self.core {
            NetworkCore::Gsup(gsup) => gsup.ipa_name(),
            NetworkCore::Map(_) => String::new(),
        }
    }

    /// Asks for a message to nobody: the HLR itself answers, to whom our name leads to.
    fn ask_for_nobody(&mut self) {
        let Some(plan) = self.plan.clone() else {
            return;
        };
        let NetworkCore::Gsup(gsup) = &mut self.core else {
            return;
        };
        let smsc = TpduAddress::international(plan.config.smsc_number());
        let request = GsupMessage {
            reference: Some(REFERENCE_UNKNOWN),
            destination: Some(SmRpAddress::Imsi(NOBODY.to_owned())),
            originator: Some(SmRpAddress::ServiceCentre(smsc)),
            user_information: Some(Bytes::from_static(EMPTY_TPDU)),
            more_messages: Some(false),
            source_name: Some(gsup.name()),
            ..GsupMessage::new(MessageType::MT_FORWARD_SM_REQUEST, NOBODY)
        };
        gsup.notify(&request);
    }

    /// The HLR has closed the connection, as some do with the older one of two of a name.
    pub(super) fn closed_by_hlr(&mut self, error: Option<io::Error>, ctx: &mut Context<Self>) {
        let why = error.map_or_else(
            || "the HLR closed the connection".to_owned(),
            |error| error.to_string(),
        );
        let is_explained = self.cut_off();
        if is_explained {
            // The others do not wait for the pauses of an HLR that is away.
            self.failures = 0;
        }
        if is_explained || !self.has_namesakes() || !self.naming.closed(Instant::now()) {
            return self.come_back(&why, ctx);
        }
        let name = self.ipa_name();
        let why = format!(
            "{why} again and again soon after the handshake: another program may have the name {name:?}"
        );
        self.come_back(&why, ctx);
    }
}
