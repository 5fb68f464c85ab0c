//! The table of the API: each row is a handler with its documentation and the role that it needs.
//!
//! The router, the OpenAPI document, the check of roles and the answers to unknown paths and wrong
//! methods are all built from the rows of [`endpoints`], so that they always agree.

use actix_web::body::BoxBody;
use actix_web::dev::ServiceRequest;
use actix_web::guard::{Any, Get, Guard, Head, Method as IsMethod};
use actix_web::http::Method;
use actix_web::middleware::{Next, from_fn};
use actix_web::{FromRequest, Handler, HttpRequest, Responder, Route, web};
use utoipa::__dev::{SchemaReferences, Tags};
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{HttpMethod, RefOr};

use super::problem::Problem;
use super::{account_api, auth, health, metrics, oidc, openapi, v1};
use crate::domain::access::{AccessRole, KeyRole};

/// Prefix of the paths that require a token.
pub(super) const GUARDED: &str = "/v1";

/// One row.
pub(super) struct Endpoint {
    /// As in the document: `/v1/queues/{name}`.
    pub path: String,
    pub method: HttpMethod,
    /// The role of the token or key that it needs; `None` for what is open to everybody.
    pub role: Option<&'static str>,
    pub operation: Operation,
    /// What the operation refers to.
    pub schemas: Vec<(String, RefOr<Schema>)>,
    route: Route,
}

/// Every row. Where two patterns match, the first one wins.
pub(super) fn endpoints(with_api: bool) -> Vec<Endpoint> {
    let mut rows = health();
    rows.push(open(metrics::__path_scrape, metrics::scrape));
    if with_api {
        rows.push(open(openapi::__path_serve, openapi::serve));
        rows.push(open(oidc::__path_offer, oidc::offer));
        rows.extend(v1::endpoints());
    }
    rows
}

/// Rows of handlers, by the modules that these are in and the roles that they need.
macro_rules! routes {
    ($($module:ident { $($role:ident: $($handler:ident),+);+ })+) => {
        pastey::paste! {
            vec![$($($(
                $crate::http::api::endpoint(
                    $crate::domain::access::AccessRole::$role,
                    $module::[<__path_ $handler>],
                    $module::$handler,
                )
            ),+),+),+]
        }
    };
}
pub(super) use routes;

/// The rows that tell how the node is.
pub(super) fn health() -> Vec<Endpoint> {
    vec![
        open(health::__path_live, health::live),
        open(health::__path_ready, health::ready),
    ]
}

/// A row for everybody.
pub(super) fn open<P, F, Args>(documented: P, handler: F) -> Endpoint
where
    P: utoipa::Path + SchemaReferences + for<'t> Tags<'t>,
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    let method = method_of(&documented);
    row(documented, None, by_method(&method).to(handler))
}

/// A row for those whose token has this role.
pub(super) fn endpoint<P, F, Args>(role: AccessRole, documented: P, handler: F) -> Endpoint
where
    P: utoipa::Path + SchemaReferences + for<'t> Tags<'t>,
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    let permit = move |request: &ServiceRequest| auth::permit(request, role);
    permitted(role.as_str(), permit, documented, handler)
}

/// A row for those whose API key has this role.
pub(super) fn keyed<P, F, Args>(role: KeyRole, documented: P, handler: F) -> Endpoint
where
    P: utoipa::Path + SchemaReferences + for<'t> Tags<'t>,
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    let permit = move |request: &ServiceRequest| account_api::auth::permit(request, role);
    permitted(role.as_str(), permit, documented, handler)
}

/// A row whose handler is reached if `permit` lets the request pass.
fn permitted<P, F, Args>(
    role: &'static str,
    permit: impl Fn(&ServiceRequest) -> Result<(), Problem> + Copy + 'static,
    documented: P,
    handler: F,
) -> Endpoint
where
    P: utoipa::Path + SchemaReferences + for<'t> Tags<'t>,
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    let method = method_of(&documented);
    let check = from_fn(move |request, next: Next<BoxBody>| async move {
        permit(&request)?;
        next.call(request).await
    });
    let route = by_method(&method).to(handler).wrap(check);
    row(documented, Some(role), route)
}

fn row<P: utoipa::Path + SchemaReferences + for<'t> Tags<'t>>(
    _: P,
    role: Option<&'static str>,
    route: Route,
) -> Endpoint {
    let mut schemas = Vec::new();
    P::schemas(&mut schemas);
    let mut operation = P::operation();
    // By them, generators divide a client into files.
    operation.tags = Some(P::tags().into_iter().map(str::to_owned).collect());
    Endpoint {
        path: P::path(),
        method: P::methods().into_iter().next().unwrap_or(HttpMethod::Get),
        role,
        operation,
        schemas,
        route,
    }
}

fn method_of<P: utoipa::Path>(_: &P) -> HttpMethod {
    P::methods().into_iter().next().unwrap_or(HttpMethod::Get)
}

fn by_method(method: &HttpMethod) -> Route {
    fn only(method: Method) -> impl Guard {
        IsMethod(method)
    }
    match method {
        HttpMethod::Get => web::route().guard(Any(Get()).or(Head())),
        HttpMethod::Put => web::route().guard(only(Method::PUT)),
        HttpMethod::Delete => web::route().guard(only(Method::DELETE)),
        HttpMethod::Patch => web::route().guard(only(Method::PATCH)),
        _ => web::route().guard(only(Method::POST)),
    }
}

/// Serves rows below a scope; every other method of their paths is answered with those there are.
pub(super) fn register(app: &mut web::ServiceConfig, rows: Vec<Endpoint>, scope: &str) {
    let mut paths: Vec<(String, Vec<Endpoint>)> = Vec::new();
    for row in rows {
        match paths.iter_mut().find(|(path, _)| *path == row.path) {
            Some((_, rows)) => rows.push(row),
            None => paths.push((row.path.clone(), vec![row])),
        }
    }
    for (path, rows) in paths {
        let allowed = allowed(&rows);
        let mut resource = web::resource(path.strip_prefix(scope).unwrap_or(&path));
        for row in rows {
            resource = resource.route(row.route);
        }
        app.service(resource.default_service(web::to(move |request| {
            wrong_method(request, allowed.clone())
        })));
    }
}

fn allowed(rows: &[Endpoint]) -> String {
    let names: Vec<&str> = rows.iter().map(|row| method_name(&row.method)).collect();
    names.join(", ")
}

fn method_name(method: &HttpMethod) -> &'static str {
    match method {
        HttpMethod::Get => "GET, HEAD",
        HttpMethod::Put => "PUT",
        HttpMethod::Delete => "DELETE",
        HttpMethod::Patch => "PATCH",
        _ => "POST",
    }
}

/// Answers a method that a path does not take.
pub(super) async fn wrong_method(
    request: HttpRequest,
    allowed: String,
) -> Result<&'static str, Problem> {
    Err(Problem::method_not_allowed(
        request.method().as_str(),
        request.path(),
        allowed,
    ))
}

/// Answers whatever has no route.
pub(super) async fn unknown_path(
    request: HttpRequest,
    paths: web::Data<Paths>,
) -> Result<&'static str, Problem> {
    Err(Problem::not_found(format!(
        "there is nothing at {}; there is {}",
        request.path(),
        paths.0
    )))
}

/// The prefixes of all paths, as a hint for unknown paths.
pub(super) struct Paths(String);

// === impl Paths ===

impl Paths {
    /// With one that is in no table.
    pub(super) fn and(self, path: &str) -> Self {
        Self(format!("{}, {path}", self.0))
    }
}

/// [`Paths`] of these rows.
pub(super) fn beginnings(rows: &[Endpoint]) -> Paths {
    let mut known: Vec<String> = Vec::new();
    for row in rows {
        let beginning: Vec<&str> = row.path.split('/').take(3).collect();
        let beginning = beginning.join("/");
        if !known.contains(&beginning) {
            known.push(beginning);
        }
    }
    Paths(known.join(", "))
}
