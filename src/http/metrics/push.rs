//! Pushes the page of `/metrics` to a statsd daemon, every `statsd.interval`.
//!
//! Started by `app` when `statsd.address` is set. Datagrams that the kernel does not accept at once
//! are dropped: the next push makes up for them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix::Addr;
use prometheus_client::registry::Registry;
use tokio::net::{UdpSocket, lookup_host};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::actors::control::admin::Admin;
use crate::config::Statsd;
use crate::telemetry::statsd::Pushed;

/// A name that is not resolved by then is tried again at the next push.
const RESOLVE_WITHIN: Duration = Duration::from_secs(5);

/// A socket that can send is ready at once.
const WRITABLE_WITHIN: Duration = Duration::from_secs(1);

/// Pushes until the process ends.
pub async fn run(options: Statsd, registry: Arc<Registry>, admin: Addr<Admin>) {
    let Some(address) = options.address.clone() else {
        return;
    };
    let mut pushed = Pushed::default();
    let mut was_away = false;
    let mut ticks = interval(options.interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let outcome = match super::page(&registry, &admin).await {
            Ok(page) => push(&address, &page, &options, &mut pushed).await,
            Err(error) => Err(error.to_string()),
        };
        // One line when it goes away, one when it is back.
        match (&outcome, was_away) {
            (Err(error), false) => tracing::warn!(%address, %error, "statsd cannot be pushed to"),
            (Ok(()), true) => tracing::info!(%address, "statsd is pushed to again"),
            _ => {}
        }
        was_away = outcome.is_err();
    }
}

async fn push(
    address: &str,
    page: &str,
    options: &Statsd,
    pushed: &mut Pushed,
) -> Result<(), String> {
    // Resolved each time: the daemon may have moved.
    let mut found = timeout(RESOLVE_WITHIN, lookup_host(address))
        .await
        .map_err(|_| "its name is not resolved".to_owned())?
        .map_err(|error| error.to_string())?;
    let to: SocketAddr = found.next().ok_or("its name has no address")?;
    let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any)
        .await
        .map_err(|error| error.to_string())?;
    // The readiness of a new socket is not known yet.
    timeout(WRITABLE_WITHIN, socket.writable())
        .await
        .map_err(|_| "the kernel takes nothing".to_owned())?
        .map_err(|error| error.to_string())?;
    for datagram in pushed.datagrams(page, options) {
        socket
            .try_send_to(datagram.text.as_bytes(), to)
            .map_err(|error| error.to_string())?;
        pushed.sent(datagram);
    }
    Ok(())
}
