//! The HTTP API for accounts, on an address of its own: `/v1/messages` and what belongs to it.
//!
//! Served beside the admin API by nodes with the role `api`. A request is authenticated by an API key of an account,
//! shares that account's rates, quotas, balance and policies with its SMPP binds, and sees its messages only.
//! Handlers send to Ingest themselves; nothing goes through Admin, and only what is taken off an opt-out list is
//! written to the audit log. Beside it, if switched on, the paths of other gateways (`compat`).

pub(super) mod auth;
mod changes;
mod compat;
pub(super) mod messages;
mod openapi;
mod opt_outs;
pub(super) mod order;
mod own;
mod refusal;
mod told_limits;
pub(super) mod view;
mod xml_rpc;

use std::io;
use std::sync::Arc;

use actix_cors::Cors;
use actix_web::body::MessageBody;
use actix_web::dev::{Server, ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header;
use actix_web::middleware::{Condition, Next, from_fn};
use actix_web::{App, Error, HttpServer, web};

use super::api::{Endpoint, keyed, open};
use super::bodies::BodyPool;
use super::limit::Clients;
use super::peers::Peers;
use super::{api, guard, health, listen, peers, request_ids, run, traced};
use crate::actors::control::access::Access;
use crate::actors::ingress::account_api::AccountApi;
use crate::config::Api;
use crate::domain::access::KeyRole::{Consent, Read, Send};
use crate::telemetry::metrics::ApiLabel;
use crate::tls;

/// Most octets of a request body.
const MAX_BODY: usize = 1024 * 1024;
/// Prefix of the paths that require a key.
const GUARDED: &str = "/v1";

/// What every handler reaches.
#[derive(Clone)]
struct State {
    api: AccountApi,
    access: Arc<Access>,
    clients: Arc<Clients>,
    bodies: Arc<BodyPool>,
    /// Bodies of requests whose account is named in them.
    strangers: Arc<BodyPool>,
    max_requests: usize,
}

/// Listens on `api.listen`, if it is set; the port is taken when this returns.
///
/// # Errors
/// The address cannot be listened on; the text says how to choose another.
pub fn serve(
    config: &Api,
    certificate: Option<&Arc<tls::Server>>,
    api: AccountApi,
    access: Arc<Access>,
) -> io::Result<Option<Server>> {
    let Some(address) = config.listen else {
        return Ok(None);
    };
    let listener = listen(address, "api.listen")?;
    tracing::info!(address = %listener.local_addr()?, "the HTTP API for accounts listens");
    let state = State {
        api,
        access,
        clients: Arc::default(),
        bodies: Arc::default(),
        strangers: Arc::default(),
        max_requests: config.max_requests,
    };
    let peers = Peers::new(&config.proxy_from, config.strangers).map_err(io::Error::other)?;
    let with_xml_rpc = config.xml_rpc;
    let paths = if with_xml_rpc {
        api::beginnings(&endpoints()).and(xml_rpc::PATH)
    } else {
        api::beginnings(&endpoints())
    };
    let paths = web::Data::new(paths);
    let arrivals = Arc::clone(&peers);
    let entrances = compat::Entrances::from(config);
    let origins = config.cors_origins.clone();
    let server = HttpServer::new(move || {
        App::new()
            .app_data(web::Data::new(state.clone()))
            .app_data(web::Data::from(Arc::clone(&peers)))
            .app_data(paths.clone())
            .app_data(web::PayloadConfig::new(MAX_BODY))
            .wrap(Condition::new(!origins.is_empty(), browsers_of(&origins)))
            .wrap(from_fn(peers::at_work))
            .wrap(from_fn(request_ids::mark))
            .configure(|app| compat::register(app, entrances))
            .configure(|app| routes(app, with_xml_rpc))
    })
    .on_connect(move |connection, kept| arrivals.arrived(connection, kept));
    let certificate = certificate.map(|one| (one, config.tls_handshake_timeout));
    Ok(Some(run!(server, config.workers, listener, certificate)))
}

/// Lets pages of these origins use the API (Fetch Standard section 3.2, "CORS protocol"). No cookies: a page has the
/// key itself.
fn browsers_of(origins: &[String]) -> Cors {
    let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    let known = Cors::default()
        .allowed_methods(methods)
        .allowed_headers([header::AUTHORIZATION, header::CONTENT_TYPE])
        .allowed_headers([messages::IDEMPOTENCY_KEY, "traceparent", "tracestate"])
        .expose_headers([header::RETRY_AFTER, request_ids::REQUEST_ID])
        .expose_headers([told_limits::POLICY, told_limits::LEFT])
        .max_age(3600);
    let allow = |cors: Cors, origin: &String| cors.allowed_origin(origin);
    origins.iter().fold(known, allow)
}

/// Every row of the API. Where two patterns match, the first one wins.
fn endpoints() -> Vec<Endpoint> {
    vec![
        open(health::__path_live, health::live),
        open(openapi::__path_document, openapi::document),
        keyed(Send, messages::__path_submit, messages::submit),
        keyed(Read, messages::__path_list, messages::list),
        keyed(Send, messages::__path_estimate, messages::estimate),
        keyed(Read, messages::__path_one, messages::one),
        keyed(Send, changes::__path_replace, changes::replace),
        keyed(Send, changes::__path_cancel, changes::cancel),
        keyed(Read, own::__path_balance, own::balance),
        keyed(Read, opt_outs::__path_list, opt_outs::list),
        keyed(Send, opt_outs::__path_put, opt_outs::put),
        keyed(Consent, opt_outs::__path_delete, opt_outs::delete),
        keyed(Read, own::__path_usage, own::usage),
    ]
}

/// Middleware: counts requests by what became of them.
async fn counted(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let state = request.app_data::<web::Data<State>>().cloned();
    let method = match *request.method() {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    };
    // Read before the request is consumed; without a pattern the path is of the client's making.
    let route = request
        .match_pattern()
        .unwrap_or_else(|| "other".to_owned());
    let answer = next.call(request).await;
    if let Some(state) = state {
        let status = match &answer {
            Ok(answer) => answer.status(),
            Err(error) => error.as_response_error().status_code(),
        };
        let label = ApiLabel {
            method,
            route,
            status: status.as_u16(),
        };
        let metrics = &state.api.node().metrics;
        metrics.api_requests.get_or_create(&label).inc();
    }
    answer
}

fn routes(app: &mut web::ServiceConfig, with_xml_rpc: bool) {
    let (guarded, open) = endpoints().into_iter().partition(|row| row.role.is_some());
    api::register(app, open, "");
    if with_xml_rpc {
        xml_rpc::register(app);
    }
    app.service(
        web::scope(GUARDED)
            .wrap(from_fn(traced::trace_sampled))
            .wrap(from_fn(guard::plain_bodies))
            .wrap(from_fn(auth::fair_share))
            .wrap(from_fn(told_limits::tell))
            .wrap(from_fn(auth::require_key))
            .wrap(from_fn(counted))
            .configure(|scope| api::register(scope, guarded, GUARDED))
            .default_service(web::to(api::unknown_path)),
    );
    app.default_service(web::to(api::unknown_path));
}
