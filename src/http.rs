//! The HTTP side: health, metrics, the admin API under `/v1`, the console at `/`, and the manual
//! at `/docs/`.
//!
//! Started by `app`; stopped through the handle of the returned server. All data and commands go
//! through the Admin actor, but for test messages, which are submitted as those of accounts. `/v1` requires the bearer token; `/`, `/health/*` and `/metrics` do not
//! (probes and scrapers have none), so they show no subscriber and no text. Every error is
//! problem+json (RFC 9457). [`account_api`] is another server, for accounts.

pub mod account_api;
mod api;
mod api_request;
mod audit;
mod auth;
mod bodies;
mod configured;
mod console;
mod guard;
mod gzip;
mod health;
mod json;
mod key_order;
mod limit;
mod live;
mod manual;
pub mod metrics;
mod name_page;
mod oidc;
pub mod openapi;
mod peers;
mod problem;
mod query;
mod request_ids;
pub mod smpp_connector;
mod traced;
mod usage;
mod v1;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix::Addr;
use actix_web::dev::Server;
use actix_web::middleware::from_fn;
use actix_web::{App, HttpServer, web};
use prometheus_client::registry::Registry;
use secrecy::SecretString;

use self::bodies::BodyPool;
use self::peers::Peers;
use crate::actors::control::access::Access;
use crate::actors::control::admin::Admin;
use crate::actors::ingress::account_api::AccountApi;
use crate::actors::ingress::listener::take_port;
use crate::config::{HttpConfig, MetricsFor};
use crate::tls;

pub use live::LiveFeed;

/// The head of a request must be complete by then (slow loris).
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// A client that does not take its answer or close its side is dropped after this time.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// An idle connection is kept for the next scrape or command.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// Requests that still run when the server stops get as long.
const SHUTDOWN_SECONDS: u64 = 5;
/// Connections of one worker: more than [`peers`] leaves open, which is what bounds them.
const MAX_CONNECTIONS: usize = 8_192;
/// Connections that wait to be accepted.
const BACKLOG: u32 = 128;

/// The kernel drops a client that acknowledges nothing for this time.
const USER_TIMEOUT: Duration = Duration::from_secs(30);

/// What every handler reaches.
#[derive(Clone)]
pub(crate) struct State {
    admin: Addr<Admin>,
    /// For test messages.
    api: AccountApi,
    registry: Arc<Registry>,
    /// The first token, unless the configuration has one.
    token: Arc<SecretString>,
    /// Those that were made with the API.
    access: Arc<Access>,
    clients: Arc<limit::Clients>,
    bodies: Arc<BodyPool>,
    max_requests: usize,
    metrics: MetricsFor,
    live: Arc<LiveFeed>,
    /// Sign-in by OpenID Connect, where that is configured.
    oidc: Option<Arc<oidc::SignIn>>,
}

/// What the handlers work with.
pub struct Served {
    /// The first token, unless the configuration has one.
    pub token: SecretString,
    /// Those that were made with the API.
    pub access: Arc<Access>,
    pub admin: Addr<Admin>,
    /// For test messages.
    pub api: AccountApi,
    pub registry: Arc<Registry>,
    /// Run by the caller, and closed by it before the server is stopped.
    pub live: Arc<LiveFeed>,
}

/// Runs a server with the limits that all of them have; by HTTPS if there is a certificate, beside which is the time of a
/// handshake. A macro, because the type of a server names its whole stack of middleware.
macro_rules! run {
    ($server:expr, $workers:expr, $listener:expr, $certificate:expr) => {{
        let certificate: Option<(&Arc<tls::Server>, std::time::Duration)> = $certificate;
        let server = $server
            .workers($workers.max(1))
            .max_connections($crate::http::MAX_CONNECTIONS)
            // Handshakes of TLS at once: silent ones must not keep others waiting.
            .max_connection_rate($crate::http::MAX_CONNECTIONS)
            .client_request_timeout($crate::http::REQUEST_TIMEOUT)
            .client_disconnect_timeout($crate::http::DISCONNECT_TIMEOUT)
            .keep_alive($crate::http::KEEP_ALIVE)
            .shutdown_timeout($crate::http::SHUTDOWN_SECONDS)
            // `app` handles signals: it stops this server after the drain.
            .disable_signals()
            .backlog($crate::http::BACKLOG);
        match certificate {
            Some((certificate, handshake)) => {
                let server = server.tls_handshake_timeout(handshake);
                server.listen_rustls_0_23($listener, certificate.lasting_config()?)?
            }
            None => server.listen($listener)?,
        }
        .run()
    }};
}

use run;

/// Listens on the configured address and starts the workers; the port is taken when this returns.
/// The server runs while the returned future is polled (or spawned), by HTTPS if there is a
/// certificate. Without `with_api` (the node lacks the role) only health, metrics and the start page
/// are served. With `http.health_listen` there is a second server, for health alone.
///
/// # Errors
/// An address cannot be listened on; the text says how to choose another.
pub fn serve(
    config: &HttpConfig,
    certificate: Option<&Arc<tls::Server>>,
    with_api: bool,
    served: Served,
) -> io::Result<Vec<Server>> {
    let listener = listen(config.listen, "http.listen")?;
    tracing::info!(address = %listener.local_addr()?, "http listens");
    let state = State {
        admin: served.admin,
        api: served.api,
        registry: served.registry,
        token: Arc::new(served.token),
        access: served.access,
        clients: Arc::default(),
        bodies: Arc::default(),
        max_requests: config.max_requests,
        metrics: config.metrics,
        live: served.live,
        oidc: oidc::SignIn::new(&config.oidc),
    };
    let peers = Peers::new(&config.proxy_from, config.strangers).map_err(io::Error::other)?;
    let health = config
        .health_listen
        .map(|address| health_alone(address, state.clone(), peers.empty()))
        .transpose()?;
    let paths = web::Data::new(api::beginnings(&api::endpoints(with_api)));
    let arrivals = Arc::clone(&peers);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(web::Data::new(state.clone()))
            .app_data(web::Data::from(Arc::clone(&peers)))
            .app_data(paths.clone())
            // The guard sets the limit per path.
            .app_data(web::PayloadConfig::new(guard::MAX_DOCUMENT as usize))
            .wrap(from_fn(gzip::press))
            .wrap(from_fn(guard::small_requests))
            .wrap(from_fn(peers::at_work))
            .wrap(from_fn(request_ids::mark))
            .configure(|app| routes(app, with_api))
    })
    .on_connect(move |connection, kept| arrivals.arrived(connection, kept));
    let certificate = certificate.map(|one| (one, config.tls_handshake_timeout));
    let server = run!(server, config.workers, listener, certificate);
    Ok(health.into_iter().chain([server]).collect())
}

/// Health on an address and a thread of its own.
fn health_alone(address: SocketAddr, state: State, peers: Arc<Peers>) -> io::Result<Server> {
    let listener = listen(address, "http.health_listen")?;
    tracing::info!(address = %listener.local_addr()?, "http listens for health");
    let paths = web::Data::new(api::beginnings(&api::health()));
    // A crowd at the other address leaves this one alone, and the other way round.
    let arrivals = Arc::clone(&peers);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(web::Data::new(state.clone()))
            .app_data(web::Data::from(Arc::clone(&peers)))
            .app_data(paths.clone())
            .wrap(from_fn(guard::small_requests))
            .wrap(from_fn(peers::at_work))
            .wrap(from_fn(request_ids::mark))
            .configure(|app| api::register(app, api::health(), ""))
            .default_service(web::to(api::unknown_path))
    })
    .on_connect(move |connection, kept| arrivals.arrived(connection, kept));
    Ok(run!(server, 1, listener, None))
}

fn listen(address: SocketAddr, key: &str) -> io::Result<TcpListener> {
    let listener = take_port(address, key)?;
    // A stream of events has no deadline of its own, so a client that stops reading would keep its
    // place for ever (RFC 5482: the user timeout also ends a connection whose window stays closed).
    // Connections have it from the socket that they were accepted on.
    socket2::SockRef::from(&listener).set_tcp_user_timeout(Some(USER_TIMEOUT))?;
    Ok(listener)
}

fn routes(app: &mut web::ServiceConfig, with_api: bool) {
    let (guarded, open) = api::endpoints(with_api)
        .into_iter()
        .partition(|row| row.role.is_some());
    console::register(app, with_api);
    api::register(app, open, "");
    if with_api {
        oidc::register(app);
        openapi::pages::add(app);
        manual::register(app);
        app.service(
            web::scope(api::GUARDED)
                .wrap(from_fn(traced::trace))
                .wrap(from_fn(audit::note))
                .wrap(from_fn(limit::fair_share))
                .wrap(from_fn(auth::require_token))
                .configure(|scope| api::register(scope, guarded, api::GUARDED))
                .default_service(web::to(api::unknown_path)),
        );
    }
    app.default_service(web::to(api::unknown_path));
}
