//! A gateway of SGIP that has connected to us: reads its login and finds out which operator it belongs to, by name,
//! password and address. Then a session of that operator serves it like any receiver.
//!
//! Called by [`crate::actors::egress::gateway_listener`]. Invariants: nobody is told whether it was the name or the
//! password that is wrong, and only after a while; a login is answered when the session is there that takes what comes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use secrecy::ExposeSecret as _;
use subtle::ConstantTimeEq as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::bind::CarrierBind;
use super::gateway::session_of_theirs;
use super::pending::SentRequest;
use super::sgip::FROM_GATEWAY;
use super::sgip_of;
use crate::actors::context::NodeContext;
use crate::actors::context::plan::OperatorPlan;
use crate::actors::egress::given::Gateways;
use crate::actors::egress::upstream_protocol::UpstreamPeer;
use crate::actors::ingress::bind_guard::BindGuard;
use crate::actors::runtime::link::Wire;
use crate::carrier::{Event, Session};
use crate::config::OperatorProtocol;
use crate::domain::allow::AllowList;
use crate::sgip::bodies::{Bind, ResultResp};
use crate::sgip::{Body, Pdu, Sgip, Version, status};

/// Octets of one read: a login is short.
const READ: usize = 4096;
/// How long the last octets may take to be written.
const LINGER: Duration = Duration::from_secs(2);

/// Reads the login of a gateway; gives the operator that it belongs to, the connection, and what a session speaks on it.
/// `None`: it was refused, or is gone.
pub(in crate::actors::egress) async fn admit(
    node: &Arc<NodeContext>,
    guard: &BindGuard,
    gateways: &Gateways,
    mut wire: Wire,
    peer: SocketAddr,
) -> Option<(u32, Wire, Box<dyn UpstreamPeer + Send>)> {
    let config = node.config();
    let within = config.smpp.session_init_timeout;
    let reading = tokio::time::timeout(within, login(node, &mut wire));
    let (mut session, pdu) = reading.await.ok()??;
    let Body::Bind(bind) = &pdu.body else {
        return None;
    };
    let plan = match whose(node, bind, peer) {
        Ok(plan) => plan,
        Err(result) => {
            let name = &bind.login_name.0;
            if guard.may_log(peer.ip()) {
                tracing::warn!(%peer, name = %name.escape_ascii(), result, "the login of a gateway is refused");
            }
            node.metrics.connections_refused.inc();
            // Who guesses passwords waits.
            tokio::time::sleep(guard.refuse(&config.smpp, peer.ip(), name)).await;
            refuse(session, &pdu, result, wire).await;
            return None;
        }
    };
    guard.forgive(peer.ip(), &bind.login_name.0);
    session.protocol = sgip_of(&plan.config);
    session.share(&gateways.brought_of(plan.id));
    let operator = plan.id;
    let answer = answer(status::OK);
    let bind = CarrierBind::of_gateway(session, Arc::clone(node), plan, pdu.sequence, answer);
    Some((operator, wire, Box::new(bind)))
}

/// Whether a gateway of some operator comes from this address.
pub(in crate::actors::egress) fn expects(node: &NodeContext, peer: SocketAddr) -> bool {
    let plan = node.plan();
    let mut operators = plan.operators();
    operators.any(|operator| {
        let config = &operator.config;
        config.protocol == OperatorProtocol::Sgip
            && comes_from(&config.carrier().gateway_from, peer)
    })
}

/// Tells a gateway that there are connections enough.
pub(in crate::actors::egress) async fn turn_away(node: &NodeContext, mut wire: Wire) {
    let within = node.config().smpp.session_init_timeout;
    let reading = tokio::time::timeout(within, login(node, &mut wire));
    if let Ok(Some((session, pdu))) = reading.await {
        refuse(session, &pdu, status::CONNECTIONS, wire).await;
    }
}

/// The first PDU, if it is a login.
async fn login(node: &NodeContext, wire: &mut Wire) -> Option<(Session<Sgip, SentRequest>, Pdu)> {
    let protocol = Sgip {
        version: Version::V12,
        node: 0,
        time: 0,
    };
    let config = session_of_theirs(node.config().smpp.session_init_timeout);
    let mut session = Session::server(config, protocol, Instant::now());
    let (mut octets, mut out) = (BytesMut::new(), BytesMut::new());
    loop {
        octets.reserve(READ);
        if wire.read_buf(&mut octets).await.ok()? == 0 {
            return None;
        }
        let now = Instant::now();
        session.receive(&octets, now);
        octets.clear();
        match session.next_event(now, &mut out) {
            None => {}
            Some(Event::Login(pdu)) => return Some((session, pdu)),
            Some(_) => return None,
        }
    }
}

/// The operator whose gateway logs in so.
///
/// # Errors
/// The Result that says why not.
fn whose(node: &NodeContext, bind: &Bind, peer: SocketAddr) -> Result<Arc<OperatorPlan>, u8> {
    if bind.login_type != FROM_GATEWAY {
        return Err(status::LOGIN_TYPE);
    }
    let plan = node.plan();
    let mut fitting = plan.operators().filter(|operator| {
        let config = &operator.config;
        let carrier = config.carrier();
        let name = carrier.gateway_name.as_ref().unwrap_or(&config.system_id);
        let password = config.password.expose_secret().as_bytes();
        config.protocol == OperatorProtocol::Sgip
            && name.as_bytes() == bind.login_name.0
            && bool::from(password.ct_eq(&bind.login_password.0))
            // Nobody can prove an empty one.
            && (!password.is_empty() || !carrier.gateway_from.is_empty())
            && comes_from(&carrier.gateway_from, peer)
    });
    fitting.next().cloned().ok_or(status::LOGIN)
}

/// Whether the address is one of these; any is, if there are none. What cannot be read is refused by the configuration.
fn comes_from(entries: &[String], peer: SocketAddr) -> bool {
    AllowList::parse(entries).is_ok_and(|list| list.allows(peer.ip()))
}

fn answer(result: u8) -> Body {
    Body::BindResp(ResultResp::of(result))
}

async fn refuse(mut session: Session<Sgip, SentRequest>, login: &Pdu, result: u8, mut wire: Wire) {
    let mut out = BytesMut::new();
    // Its fields always fit; a peer that is gone is not told.
    let _ = session.answer_login(login.sequence, answer(result), Instant::now(), &mut out);
    let last = async {
        if wire.write_all_buf(&mut out).await.is_ok() {
            let _ = wire.shutdown().await;
        }
    };
    let _ = tokio::time::timeout(LINGER, last).await;
}
