//! Authentication by an API key (RFC 6750), and what its role allows.

use std::sync::Arc;
use std::time::Duration;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::AUTHORIZATION;
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, HttpRequest, web};

use super::{MAX_BODY, State};
use crate::actors::context::plan::AccountPlan;
use crate::actors::control::access::keys::{KeyRefusal, KnownApiKey};
use crate::clock;
use crate::domain::access::KeyRole;
use crate::http::api_request::MiddlewareAnswer;
use crate::http::auth::{bearer, node_to_ask, not_said, slowed};
use crate::http::bodies::{BodyProgress, NoBodyRoom};
use crate::http::limit::{ServedRequest, in_time};
use crate::http::peers;
use crate::http::problem::{LimitName, Problem};

const CHALLENGE: &str = "Bearer realm=\"smsc api\"";
const CHALLENGE_WRONG: &str = "Bearer realm=\"smsc api\", error=\"invalid_token\"";

/// A server without its state.
pub(super) const NO_KEYS: &str = "the server has no keys to compare with";

/// Whose request it is.
#[derive(Clone)]
pub(super) struct Caller {
    pub account: Arc<AccountPlan>,
    key: Arc<KnownApiKey>,
}

// === impl Caller ===

impl Caller {
    /// Refuses what the role of the key does not allow.
    pub(super) fn permit(&self, needed: KeyRole) -> Result<(), Problem> {
        match self.role() {
            role if role.allows(needed) => Ok(()),
            role => Err(Problem::forbidden_key(needed, role)),
        }
    }

    /// The id of the key, which is no secret.
    pub(super) fn key_id(&self) -> &str {
        self.key.id()
    }

    pub(super) fn role(&self) -> KeyRole {
        self.key.role()
    }
}

/// Middleware: lets requests with a valid key of an account that may submit pass, and notes whose they are.
pub(super) async fn require_key(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let caller = authenticate(request.request()).await?;
    request.extensions_mut().insert(caller);
    next.call(request).await
}

async fn authenticate(request: &HttpRequest) -> Result<Caller, Problem> {
    let given = request.headers().get(AUTHORIZATION);
    let Some(state) = request.app_data::<web::Data<State>>() else {
        return Err(Problem::unavailable(NO_KEYS));
    };
    match check(request, given.map(|value| value.as_bytes()), state).await {
        Ok(caller) => {
            peers::is_known(request);
            Ok(caller)
        }
        Err(problem) => Err(slowed(request, &state.clients, given.is_some(), problem).await),
    }
}

async fn check(
    request: &HttpRequest,
    given: Option<&[u8]>,
    state: &State,
) -> Result<Caller, Problem> {
    let Some(key) = given.and_then(bearer) else {
        return Err(Problem::unauthorized(
            CHALLENGE,
            "send the header \"Authorization: Bearer KEY\" with an API key; `smsc key add ACCOUNT` makes one",
        ));
    };
    known(request, state, key).await
}

/// Whose key this is.
pub(super) async fn known(
    request: &HttpRequest,
    state: &State,
    key: &[u8],
) -> Result<Caller, Problem> {
    let wrong = |said| Problem::unauthorized(CHALLENGE_WRONG, said);
    let key = own_key(request, state, key)
        .await
        .map_err(|refusal| match refusal {
            KeyRefusal::Unknown => wrong("the API key is wrong, was revoked or has ended"),
            KeyRefusal::Address => wrong("the API key may not be used from this address"),
            KeyRefusal::NotSaid => not_said("API key"),
        })?;
    let account = state.api.account(key.account());
    let account =
        account.ok_or_else(|| wrong("the account of this API key is gone or disabled"))?;
    Ok(Caller { account, key })
}

/// The key that this is, if it may be used from there.
pub(super) async fn own_key(
    request: &HttpRequest,
    state: &State,
    key: &[u8],
) -> Result<Arc<KnownApiKey>, KeyRefusal> {
    let from = peers::client(request);
    let node = || node_to_ask(request, &state.clients, &state.api);
    let keys = &state.access.api_keys;
    keys.bearer(key, from, clock::now_ms(), node).await
}

/// Refuses a request whose key has not the role.
pub(in crate::http) fn permit(request: &impl HttpMessage, needed: KeyRole) -> Result<(), Problem> {
    let extensions = request.extensions();
    // Without a caller nothing is permitted: no path of the table is reached around the check.
    match extensions.get::<Caller>() {
        Some(caller) => caller.permit(needed),
        None => Err(Problem::unauthorized(CHALLENGE, "this needs an API key")),
    }
}

/// Whose request it is.
pub(super) fn caller(request: &HttpRequest) -> Result<Caller, Problem> {
    let caller = request.extensions().get::<Caller>().cloned();
    caller.ok_or_else(|| Problem::unauthorized(CHALLENGE, "this needs an API key"))
}

/// Middleware: the requests of one key at once, and the time for each.
pub(super) async fn fair_share(request: ServiceRequest, next: Next<BoxBody>) -> MiddlewareAnswer {
    let caller = caller(request.request())?;
    let state = request.app_data::<web::Data<State>>().cloned();
    let state = state.ok_or_else(|| Problem::unavailable(NO_KEYS))?;
    let _busy = begin(&state, caller.key_id())?;
    let progress = BodyProgress::of(&request);
    in_time(progress, MAX_BODY as u64, async {
        let served = counted_for(&state, &caller, request, next).await;
        served.unwrap_or_else(|problem| Err(problem.into()))
    })
    .await
}

/// Carries out a request whose body counts for the caller's account.
///
/// # Errors
/// There is no room for it.
pub(super) async fn counted_for(
    state: &State,
    caller: &Caller,
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<MiddlewareAnswer, Problem> {
    let account = &caller.account.config.system_id;
    let served = state.bodies.serve_named(account, request, next).await;
    served.map_err(|NoBodyRoom| {
        let said = "the bodies of requests that this account has under way are too long together";
        Problem::too_many(LimitName::Memory, Duration::from_secs(1), said)
    })
}

/// Room for one more request of this key.
pub(super) fn begin(state: &State, id: &str) -> Result<ServedRequest, Problem> {
    let busy = state.clients.begin(id, state.max_requests);
    busy.ok_or_else(|| {
        Problem::too_many(
            LimitName::Requests,
            Duration::from_secs(1),
            "this API key has as many requests under way as api.max_requests allows",
        )
    })
}
