//! The HTTP side: health, metrics, the admin API under `/v1`, and the console at `/`.
//!
//! Started by `app`; stopped through the handle of the returned server. Everything shown or
//! ordered goes through the Admin actor. `/v1` wants the bearer token; `/`, `/health/*` and
//! `/metrics` do not (probes and scrapers have none), so they name no subscriber and no text.
//! Every error is problem+json (RFC 9457).

mod auth;
mod console;
mod guard;
mod health;
mod live;
pub mod metrics;
mod problem;
mod query;
mod text;
mod v1;
pub mod view;

use std::any::Any;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix::Addr;
use actix_web::dev::Server;
use actix_web::middleware::{DefaultHeaders, from_fn};
use actix_web::{App, HttpServer, web};
use prometheus_client::registry::Registry;
use secrecy::SecretString;

use crate::actors::admin::Admin;
use crate::config::Http;

pub use live::Live;

/// The head of a request must be complete by then (slow loris).
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// A client that does not take its answer or close its side is dropped after this time.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// An idle connection is kept for the next scrape or command.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// Requests that still run when the server stops get as long.
const SHUTDOWN_SECONDS: u64 = 5;
/// Connections of one worker; people and scrapers need few.
const MAX_CONNECTIONS: usize = 512;
/// Connections that wait to be accepted.
const BACKLOG: u32 = 128;

/// A client that takes nothing of what is sent to it for so long is dropped by the kernel.
const USER_TIMEOUT: Duration = Duration::from_secs(30);

/// What every handler reaches.
#[derive(Clone)]
pub(crate) struct State {
    admin: Addr<Admin>,
    registry: Arc<Registry>,
    token: Arc<SecretString>,
    live: Arc<Live>,
}

/// Listens on the configured address and starts the workers; the port is taken when this returns.
/// The server runs while the returned future is polled (or spawned). Without `with_api` (the node
/// lacks the role) only health, metrics and the start page are served. `live` is run by the caller,
/// and closed by it before the server is stopped.
///
/// # Errors
/// The address cannot be listened on; the text says how to choose another.
pub fn serve(
    config: &Http,
    with_api: bool,
    token: SecretString,
    admin: Addr<Admin>,
    registry: Arc<Registry>,
    live: Arc<Live>,
) -> io::Result<Server> {
    let listener = listen(config.listen)?;
    tracing::info!(address = %listener.local_addr()?, "http listens");
    let state = State {
        admin,
        registry,
        token: Arc::new(token),
        live,
    };
    let server = HttpServer::new(move || {
        App::new()
            .app_data(web::Data::new(state.clone()))
            .wrap(from_fn(guard::small_requests))
            .wrap(
                DefaultHeaders::new()
                    .add(("Cache-Control", "no-store"))
                    .add(("X-Content-Type-Options", "nosniff")),
            )
            .configure(|app| routes(app, with_api))
    })
    .workers(config.workers.max(1))
    .max_connections(MAX_CONNECTIONS)
    .client_request_timeout(REQUEST_TIMEOUT)
    .client_disconnect_timeout(DISCONNECT_TIMEOUT)
    .keep_alive(KEEP_ALIVE)
    .shutdown_timeout(SHUTDOWN_SECONDS)
    // Signals are the business of `app`: it stops this server after the drain.
    .disable_signals()
    .on_connect(|connection, _| drop_if_it_does_not_read(connection))
    .backlog(BACKLOG)
    .listen(listener)?
    .run();
    Ok(server)
}

/// A stream of events has no deadline of its own, so a client that stops reading would keep its
/// place for ever (RFC 5482: the user timeout also ends a connection whose window stays closed).
fn drop_if_it_does_not_read(connection: &dyn Any) {
    let Some(socket) = connection.downcast_ref::<actix_web::rt::net::TcpStream>() else {
        return;
    };
    let socket = socket2::SockRef::from(socket);
    if let Err(error) = socket.set_tcp_user_timeout(Some(USER_TIMEOUT)) {
        tracing::debug!(%error, "no user timeout on an HTTP connection");
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).map_err(|error| {
        let cure = match error.kind() {
            io::ErrorKind::AddrInUse => "another process has it; stop that one, or choose another",
            io::ErrorKind::PermissionDenied => "ports below 1024 need a privilege; choose another",
            _ => "choose an address of this machine with",
        };
        io::Error::new(
            error.kind(),
            format!("cannot listen on {address}: {error}: {cure} http.listen (SMSC_HTTP__LISTEN)"),
        )
    })
}

fn routes(app: &mut web::ServiceConfig, with_api: bool) {
    console::register(app, with_api);
    app.service(guard::read("/health/live").to(health::live))
        .service(guard::read("/health/ready").to(health::ready))
        .service(guard::read("/metrics").to(metrics::scrape));
    if with_api {
        app.service(
            web::scope("/v1")
                .wrap(from_fn(auth::require_token))
                .configure(v1::routes)
                .default_service(web::to(guard::unknown_path)),
        );
    }
    app.default_service(web::to(guard::unknown_path));
}
