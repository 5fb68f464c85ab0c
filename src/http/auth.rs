//! Authentication: the bearer token of `/v1` (RFC 6750) or the session of the console, and what its role allows.

use std::time::{Duration, Instant};

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::AUTHORIZATION;
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, HttpRequest, ResponseError, web};
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use super::audit::shown_path;
use super::limit::Clients;
use super::problem::{LimitName, Problem};
use super::{State, oidc, peers};
use crate::actors::context::NodeContext;
use crate::actors::control::access::{Access, Bearer, NotSaid};
use crate::actors::ingress::account_api::AccountApi;
use crate::api::Myself;
use crate::clock;
use crate::domain::access::AccessRole;

const CHALLENGE: &str = "Bearer realm=\"smsc\"";
const CHALLENGE_WRONG: &str = "Bearer realm=\"smsc\", error=\"invalid_token\"";

/// What each guess costs that comes after too many.
const GUESS_DELAY: Duration = Duration::from_millis(500);

/// Name of the configured token; no other can have it, for it has a blank.
const CONFIGURED: &str = "admin token";

/// Middleware: lets requests with a good token pass, and notes whose they are.
pub(super) async fn require_token(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let bearer = authenticate(request.request()).await?;
    request.extensions_mut().insert(bearer);
    next.call(request).await
}

/// Authenticates the request. A valid token is never refused because of other clients at its
/// address: guesses are only answered more slowly.
pub(super) async fn authenticate(request: &HttpRequest) -> Result<Bearer, Problem> {
    let given = request.headers().get(AUTHORIZATION);
    let Some(state) = request.app_data::<web::Data<State>>() else {
        let said = "the server has no token to compare with";
        return Err(Problem::unavailable(said));
    };
    let session = state.oidc.as_ref().filter(|_| given.is_none());
    if let Some(oidc) = session
        && let Some(secret) = oidc.session(request)
    {
        return oidc::bearer_of(request, state, oidc, &secret).await;
    }
    let given = given.map(|value| value.as_bytes());
    let node = || node_to_ask(request, &state.clients, &state.api);
    let config = state.api.node().config();
    let first = config.http.admin_token.as_ref().unwrap_or(&state.token);
    let problem = match check(given, first, &state.access, node).await {
        Ok(bearer) => {
            peers::is_known(request);
            return Ok(bearer);
        }
        Err(problem) => problem,
    };
    Err(slowed(request, &state.clients, given.is_some(), problem).await)
}

/// The node whose store may be asked about a token or key that is not known; `None` if the address guesses.
pub(super) fn node_to_ask<'n>(
    request: &HttpRequest,
    clients: &Clients,
    api: &'n AccountApi,
) -> Option<&'n NodeContext> {
    let now = Instant::now();
    let guesses = peers::client(request).and_then(|address| clients.deaf_to(address, now));
    guesses.is_none().then(|| api.node())
}

/// The answer to a request without a valid token or key: guesses from one address are answered more and more
/// slowly.
pub(super) async fn slowed(
    request: &HttpRequest,
    clients: &Clients,
    was_given: bool,
    problem: Problem,
) -> Problem {
    let is_guess = was_given && problem.status_code() == StatusCode::UNAUTHORIZED;
    let (Some(address), true) = (peers::client(request), is_guess) else {
        return problem;
    };
    let now = Instant::now();
    if let Some(wait) = clients.deaf_to(address, now) {
        tokio::time::sleep(GUESS_DELAY).await;
        let detail = "too many wrong tokens came from this address";
        return Problem::too_many(LimitName::WrongKeys, wait, detail);
    }
    tracing::warn!(target: "audit", %address, path = shown_path(request), "wrong token");
    clients.was_wrong(address, now);
    problem
}

/// Refuses a request whose token has not the role.
pub(super) fn permit(request: &impl HttpMessage, needed: AccessRole) -> Result<(), Problem> {
    // Without a bearer nothing is permitted: no path of the table is reached around the check.
    let role = request
        .extensions()
        .get::<Bearer>()
        .map(|bearer| bearer.role);
    match role {
        Some(role) if role.allows(needed) => Ok(()),
        Some(role) => Err(Problem::forbidden(needed, role)),
        None => Err(Problem::unauthorized(CHALLENGE, "this needs a token")),
    }
}

/// The token of a request that passed.
pub(super) fn bearer_of(request: &HttpRequest) -> Result<Bearer, Problem> {
    let bearer = request.extensions().get::<Bearer>().cloned();
    bearer.ok_or_else(|| Problem::unauthorized(CHALLENGE, "this needs a token"))
}

/// The token of a request that passed, as it is shown.
pub(super) fn myself(request: &HttpRequest) -> Result<Myself, Problem> {
    let bearer = bearer_of(request)?;
    Ok(Myself {
        name: bearer.name,
        role: bearer.role.as_str().to_owned(),
    })
}

/// The origin of a command, for the history of messages and the audit log.
pub(super) fn who(request: &HttpRequest) -> String {
    let socket = request.peer_addr();
    let peer = match (socket, peers::client(request)) {
        // With its port, where that is the client's.
        (Some(socket), Some(client)) if socket.ip() == client => socket.to_string(),
        (_, Some(client)) => client.to_string(),
        (_, None) => "unknown".to_owned(),
    };
    let extensions = request.extensions();
    let name = extensions
        .get::<Bearer>()
        .map_or("nobody", |bearer| &bearer.name);
    format!("{name} from {peer}")
}

async fn check<'n>(
    given: Option<&[u8]>,
    token: &SecretString,
    access: &Access,
    node: impl FnOnce() -> Option<&'n NodeContext>,
) -> Result<Bearer, Problem> {
    let Some(given) = given else {
        return Err(Problem::unauthorized(
            CHALLENGE,
            "send the header \"Authorization: Bearer TOKEN\" with http.admin_token, or the token in the file admin-token of the data folder",
        ));
    };
    let Some(given) = bearer(given) else {
        return Err(Problem::unauthorized(
            CHALLENGE,
            "the Authorization header must be \"Bearer\" and the token",
        ));
    };
    if bool::from(given.ct_eq(token.expose_secret().as_bytes())) {
        return Ok(Bearer {
            name: CONFIGURED.to_owned(),
            role: AccessRole::Admin,
            hash: None,
        });
    }
    match access.bearer(given, clock::now_ms(), node).await {
        // A session counts in its cookie, where other sites cannot use it.
        Ok(Some(bearer)) if !oidc::is_session(&bearer) => Ok(bearer),
        Ok(_) => Err(Problem::unauthorized(
            CHALLENGE_WRONG,
            "the token is wrong, was removed or has ended; the first one is http.admin_token, or the file admin-token in the data folder",
        )),
        Err(NotSaid) => Err(not_said("token")),
    }
}

/// Nobody knows whether a token or key is right.
pub(super) fn not_said(what: &str) -> Problem {
    Problem::unavailable(format!(
        "the store does not answer, and this node does not know the {what} yet; try again"
    ))
}

/// The token of `Bearer TOKEN`; the scheme is case-insensitive (RFC 9110 §11.1).
pub(super) fn bearer(header: &[u8]) -> Option<&[u8]> {
    const SCHEME: &[u8] = b"bearer ";
    let (scheme, token) = header.split_at_checked(SCHEME.len())?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(SCHEME) && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn given(given: Option<&[u8]>) -> Result<Bearer, Problem> {
        let token = SecretString::from("change-me");
        check(given, &token, &Access::default(), || None).await
    }

    #[tokio::test]
    async fn only_the_right_token_passes() {
        assert!(given(Some(b"Bearer change-me")).await.is_ok());
        assert!(given(Some(b"bearer  change-me ")).await.is_ok());
        for wrong in [
            &b"Bearer change-m"[..],
            b"Bearer change-me2",
            b"Bearer ",
            b"Bearer",
            b"Basic change-me",
            b"change-me",
            b"\xff\xfe",
            b"",
        ] {
            let problem = given(Some(wrong)).await.unwrap_err();
            assert_eq!(problem.status_code(), 401, "{wrong:?}");
        }
        assert_eq!(given(None).await.unwrap_err().status_code(), 401);
    }

    #[tokio::test]
    async fn the_challenge_says_whether_a_token_was_wrong() {
        let challenge = async |header: Option<&[u8]>| {
            let answer = given(header).await.unwrap_err().error_response();
            answer
                .headers()
                .get("www-authenticate")
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(challenge(None).await, CHALLENGE);
        assert_eq!(challenge(Some(b"Basic x")).await, CHALLENGE);
        assert_eq!(challenge(Some(b"Bearer x")).await, CHALLENGE_WRONG);
    }
}
