//! The face of the service smpp-connector: `/health`, `/ready`, `/metrics` and `/sessions` on an address of their own
//! (docs/coming-from.md).
//!
//! Served where `compat.smpp_connector.listen` is set. Everything is about this node, as one replica of that service
//! speaks of itself. Invariants: no token is asked for, as there, so nothing here names a subscriber, an account or a
//! secret; paths and names are those of that service and never change with ours.

mod metrics;
mod sessions;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use actix::Addr;
use actix_web::dev::Server;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::middleware::from_fn;
use actix_web::{App, HttpResponse, HttpServer, web};
use prometheus_client::registry::Registry;
use serde_json::json;

use super::peers::{self, Peers};
use super::{guard, listen, request_ids, run};
use crate::actors::context::NodeContext;
use crate::actors::control::admin::{Admin, CheckReadiness};
use crate::config::Config;
use crate::tls;

/// The core arbiter must answer by then; when it does not, the node is not ready.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// The exposition format of that service.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What every handler reaches.
#[derive(Clone)]
struct State {
    node: Arc<NodeContext>,
    admin: Addr<Admin>,
    registry: Arc<Registry>,
    speeds: Arc<metrics::Speeds>,
}

/// Listens, if that is configured; the port is taken when this returns.
///
/// # Errors
/// The address cannot be listened on; the text says how to choose another.
pub fn serve(
    config: &Config,
    node: Arc<NodeContext>,
    admin: Addr<Admin>,
    registry: Arc<Registry>,
) -> io::Result<Option<Server>> {
    let Some(address) = config.compat.smpp_connector.listen else {
        return Ok(None);
    };
    let listener = listen(address, "compat.smpp_connector.listen")?;
    tracing::info!(address = %listener.local_addr()?, "the paths of smpp-connector are served");
    let speeds = Arc::new(metrics::Speeds::default());
    actix::spawn(Arc::clone(&speeds).run(Arc::clone(&node)));
    let state = State {
        node,
        admin,
        registry,
        speeds,
    };
    let peers = Peers::new(&[], config.http.strangers).map_err(io::Error::other)?;
    let arrivals = Arc::clone(&peers);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(web::Data::new(state.clone()))
            .app_data(web::Data::from(Arc::clone(&peers)))
            .wrap(from_fn(guard::small_requests))
            .wrap(from_fn(peers::at_work))
            .wrap(from_fn(request_ids::mark))
            .route("/health", web::get().to(health))
            .route("/ready", web::get().to(ready))
            .route("/metrics", web::get().to(scrape))
            .route("/sessions", web::get().to(show_sessions))
    })
    .on_connect(move |connection, kept| arrivals.arrived(connection, kept));
    Ok(Some(run!(server, 1, listener, None)))
}

/// Whether the process answers.
async fn health() -> HttpResponse {
    HttpResponse::Ok().json(json!({"status": "ok"}))
}

/// Whether a session is bound, Redis answers and the node can work. A node whose operators are all bound by other nodes
/// is a standby, and ready.
async fn ready(state: web::Data<State>) -> HttpResponse {
    let smpp = sessions::check(&state.node);
    let has_redis = state.node.config().redis.url.is_some();
    let redis = match (has_redis, state.node.throttle_snapshot.get().redis_up) {
        (false, _) => "disabled",
        (true, true) => "ok",
        (true, false) => "error",
    };
    let asked = state.admin.send(CheckReadiness).timeout(ANSWER_WITHIN);
    let can_work = asked
        .await
        .is_ok_and(|readiness| readiness.not_ready.is_empty());
    let node = if can_work { "ok" } else { "error" };
    let checks = json!({"smpp": smpp, "redis": redis, "node": node});
    if [smpp, redis, node].contains(&"error") {
        HttpResponse::ServiceUnavailable().json(json!({"status": "error", "checks": checks}))
    } else {
        HttpResponse::Ok().json(json!({"status": "ok", "checks": checks}))
    }
}

/// The metrics of that service.
async fn scrape(state: web::Data<State>) -> HttpResponse {
    let operators = sessions::of(&state.node);
    match metrics::page(&state.registry, &operators, &state.speeds) {
        Ok(page) => HttpResponse::Ok()
            .insert_header((CONTENT_TYPE, TEXT))
            .body(page),
        Err(error) => HttpResponse::InternalServerError().body(error.to_string()),
    }
}

/// The state of the session with each operator.
async fn show_sessions(state: web::Data<State>) -> HttpResponse {
    HttpResponse::Ok().json(json!({"sessions": sessions::of(&state.node)}))
}
