//! Moves the octets of a [`Relay`] between the pair of sockets with our session and the connection with the gateway, and
//! makes that connection anew after it was closed for want of work.

use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::interval;

use super::gateway::Gateway;
use super::relay::Relay;
use crate::actors::egress::operator_session::dial::dial;
use crate::actors::runtime::link::Wire;
use crate::actors::session::pair::{self, LINGER, MUCH};
use crate::actors::session::server_end::{READ, TICK};

/// Our end of the pair.
struct Near {
    read: OwnedReadHalf,
    write: OwnedWriteHalf,
    octets: BytesMut,
}

/// Serves a session until one side is gone.
pub(super) async fn serve<G: Gateway>(mut relay: Relay<G>, near: UnixStream, far: Wire) {
    let (read, write) = near.into_split();
    let mut near = Near {
        read,
        write,
        octets: BytesMut::new(),
    };
    let mut far = Some(far);
    while let Some(wire) = far.take() {
        match wire {
            Wire::Plain(socket) => run(&mut relay, &mut near, socket).await,
            Wire::Tls(stream) => run(&mut relay, &mut near, stream).await,
            // Only TCP and TLS are dialled for an operator with such a protocol.
            _ => break,
        }
        if relay.is_asleep && sleep(&mut relay, &mut near).await {
            far = again(&mut relay).await;
        }
    }
    relay.refuse_pending();
    let last = near.write.write_all_buf(&mut relay.near_out);
    let _ = tokio::time::timeout(LINGER, last).await;
}

/// Serves one connection with the gateway.
async fn run<G: Gateway>(
    relay: &mut Relay<G>,
    near: &mut Near,
    far: impl AsyncRead + AsyncWrite + Unpin,
) {
    let (mut far_read, mut far_write) = tokio::io::split(far);
    let mut from_far = BytesMut::new();
    let mut tick = interval(TICK);
    let mut goes_on = true;
    let mut unflushed = false;
    while goes_on {
        near.octets.reserve(READ);
        from_far.reserve(READ);
        goes_on = tokio::select! {
            octets = near.read.read_buf(&mut near.octets), if relay.far_out.len() < MUCH => match octets {
                Ok(0) | Err(_) => false,
                Ok(_) => relay.on_near(&mut near.octets),
            },
            octets = far_read.read_buf(&mut from_far),
                if relay.near_out.len() < MUCH && relay.far_out.len() < MUCH && relay.reads_gateway() => match octets {
                Ok(0) | Err(_) => {
                    relay.on_far_closed();
                    false
                }
                Ok(_) => relay.on_far(&mut from_far),
            },
            written = near.write.write_buf(&mut relay.near_out), if !relay.near_out.is_empty() => {
                written.is_ok()
            }
            written = pair::write(&mut far_write, &mut relay.far_out, &mut unflushed),
                if unflushed || !relay.far_out.is_empty() => written.is_ok(),
            _ = tick.tick() => relay.on_tick(),
        };
    }
    // What has come from one side is still told to the other.
    let (near_out, far_out) = (&mut relay.near_out, &mut relay.far_out);
    pair::part(&mut near.write, near_out, &mut far_write, far_out).await;
    relay.far_out.clear();
}

/// Waits for a message while there is no connection; false when the session is over.
async fn sleep<G: Gateway>(relay: &mut Relay<G>, near: &mut Near) -> bool {
    let mut tick = interval(TICK);
    while relay.pending.is_empty() {
        near.octets.reserve(READ);
        let goes_on = tokio::select! {
            octets = near.read.read_buf(&mut near.octets) => match octets {
                Ok(0) | Err(_) => false,
                Ok(_) => relay.on_near(&mut near.octets),
            },
            written = near.write.write_buf(&mut relay.near_out), if !relay.near_out.is_empty() => {
                written.is_ok()
            }
            _ = tick.tick() => {
                let near = relay.near.on_tick(Instant::now(), &mut relay.near_out);
                near.close.is_none()
            }
        };
        if !goes_on {
            return false;
        }
    }
    true
}

/// Makes the connection anew.
async fn again<G: Gateway>(relay: &mut Relay<G>) -> Option<Wire> {
    let (node, plan) = (Arc::clone(&relay.node), Arc::clone(&relay.plan));
    let dialled = dial(&node, &plan.config);
    let why = match tokio::time::timeout(plan.config.bind_timeout, dialled).await {
        Ok(Ok((wire, _))) => {
            relay.wake();
            return Some(wire);
        }
        Ok(Err(why)) => why,
        Err(_) => "no connection in time".to_owned(),
    };
    tracing::warn!(operator = %plan.config.id, why, "a gateway cannot be reached again");
    None
}
