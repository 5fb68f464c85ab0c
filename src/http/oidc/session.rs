//! The session of somebody who has signed in: a token of the store, whose secret is in a cookie.
//!
//! So it opens every node, shows in the list of tokens under a name of its own, is in the audit log, ends by itself and can
//! be removed like any token. No other token may have such a name, and none of these opens anything as a bearer token.
//! Because browsers send cookies by themselves, a request that changes something must say that a page of this console
//! has made it: browsers write Origin themselves, and no script can (Fetch §3.2).

use actix_web::HttpRequest;
use actix_web::http::Method;
use actix_web::http::header::ORIGIN;
use rand::distr::{Alphanumeric, SampleString as _};

use super::SignIn;
use super::person::Person;
use crate::actors::control::access::{Bearer, NotSaid};
use crate::actors::control::admin::AdminCall;
use crate::actors::control::admin::access::{self, WantedToken};
use crate::clock;
use crate::domain::access::AccessRole;
use crate::http::auth::{self, not_said};
use crate::http::limit::ANSWER_WITHIN;
use crate::http::problem::Problem;
use crate::http::{State, peers};

/// What names of sessions begin with.
const PREFIX: &str = "oidc:";
/// What follows the name of the person, so that each session has a name of its own.
const SIGNS: usize = 6;
/// Sessions of one person; the oldest ends when there is one more.
const MOST: usize = 10;
const CHALLENGE: &str = "Bearer realm=\"smsc\", error=\"invalid_token\"";

/// Whether this is a session and no token that somebody was given.
pub(in crate::http) fn is_session(bearer: &Bearer) -> bool {
    bearer.name.starts_with(PREFIX)
}

/// Who has made a request with this cookie.
///
/// # Errors
/// The session has ended, the store does not answer, or another site has made the request.
pub(in crate::http) async fn bearer_of(
    request: &HttpRequest,
    state: &State,
    sign_in: &SignIn,
    secret: &str,
) -> Result<Bearer, Problem> {
    let only_looks = [Method::GET, Method::HEAD].contains(request.method());
    if !only_looks && !is_own(request, sign_in) {
        return Err(Problem::foreign(&sign_in.origin));
    }
    match find(request, state, secret).await? {
        Some(bearer) => {
            peers::is_known(request);
            Ok(bearer)
        }
        None => {
            let said = "the session has ended; sign in again";
            let problem = Problem::unauthorized(CHALLENGE, said);
            Err(auth::slowed(request, &state.clients, true, problem).await)
        }
    }
}

/// The session of a secret; none if it has ended.
///
/// # Errors
/// The store does not answer.
pub(super) async fn find(
    request: &HttpRequest,
    state: &State,
    secret: &str,
) -> Result<Option<Bearer>, Problem> {
    let node = || auth::node_to_ask(request, &state.clients, &state.api);
    let found = state
        .access
        .bearer(secret.as_bytes(), clock::now_ms(), node);
    let found = found.await.map_err(|NotSaid| not_said("session"))?;
    Ok(found.filter(is_session))
}

/// Whether a page of this console has made the request.
pub(super) fn is_own(request: &HttpRequest, sign_in: &SignIn) -> bool {
    let origin = request.headers().get(ORIGIN);
    origin.is_some_and(|origin| origin.as_bytes() == sign_in.origin.as_bytes())
}

/// Makes a session; gives its name and its secret.
///
/// # Errors
/// The store does not answer.
pub(super) async fn open(
    state: &State,
    sign_in: &SignIn,
    person: &Person,
    role: AccessRole,
    from: &str,
) -> Result<(String, String), Problem> {
    let issuer = sign_in.config.issuer.as_deref().unwrap_or_default();
    let whose = format!("subject {} of {issuer} ", person.subject);
    tidy(state, &whose).await?;
    let random = Alphanumeric.sample_string(&mut rand::rng(), SIGNS);
    let name = format!("{PREFIX}{}~{random}", person.name);
    let lasts = i64::try_from(sign_in.config.session.as_millis()).unwrap_or_default();
    let wanted = WantedToken {
        name: name.clone(),
        role,
        expires_at: clock::now_ms() + lasts,
        by: format!("{whose}from {from}"),
    };
    let order = AdminCall(|admin| access::add(admin, wanted));
    let made = state.admin.send(order).timeout(ANSWER_WITHIN).await??;
    Ok((name, made.secret))
}

/// Ends a session.
///
/// # Errors
/// The store does not answer.
pub(super) async fn close(state: &State, name: String) -> Result<(), Problem> {
    let order = AdminCall(|admin| access::remove(admin, name));
    let removed = state.admin.send(order).timeout(ANSWER_WITHIN);
    // Another node may have removed it already.
    let _ = removed.await?;
    Ok(())
}

/// Removes sessions that have ended, and the oldest of this person beyond [`MOST`].
async fn tidy(state: &State, whose: &str) -> Result<(), Problem> {
    let list = state
        .admin
        .send(AdminCall(access::rows))
        .timeout(ANSWER_WITHIN)
        .await??;
    let now = clock::now_ms();
    let sessions = list
        .into_iter()
        .filter(|token| token.name.starts_with(PREFIX));
    let (ended, open): (Vec<_>, Vec<_>) = sessions.partition(|token| token.expires_at <= now);
    let mut own: Vec<_> = open
        .into_iter()
        .filter(|token| token.created_by.starts_with(whose))
        .collect();
    own.sort_by_key(|token| token.created_at);
    let beyond = (own.len() + 1).saturating_sub(MOST);
    for token in ended.into_iter().chain(own.into_iter().take(beyond)) {
        close(state, token.name).await?;
    }
    Ok(())
}
