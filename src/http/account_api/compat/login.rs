//! The account of a request that has its name and password among the parameters.

use std::sync::Arc;

use actix_web::HttpRequest;
use bytes::Bytes;

use super::State;
use crate::actors::context::plan::AccountPlan;
use crate::actors::control::access::keys::{KeyRefusal, is_key};
use crate::actors::ingress::account_api::NotIn;
use crate::domain::access::KeyRole;
use crate::http::account_api::auth::own_key;
use crate::http::{limit, peers};

/// Whose request it is.
pub(super) struct CompatLogin {
    pub account: Arc<AccountPlan>,
    /// Its place among those that the account has under way.
    _busy: limit::ServedRequest,
}

/// Why a request is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shut {
    /// Name, password or address are wrong, or the API key has not the role.
    Refused,
    /// The account has as many requests under way as it may.
    TooMany,
    /// Its password cannot be checked now, or the node is about to stop.
    NotNow,
}

/// The account with this name, if the password is the one that it binds with, or one of its API keys with the role.
/// Refusals are delayed.
pub(super) async fn login(
    request: &HttpRequest,
    state: &State,
    system_id: &str,
    password: &Bytes,
    role: KeyRole,
) -> Result<CompatLogin, Shut> {
    let peer = peers::client(request).ok_or(Shut::Refused)?;
    let account = match by_key(request, state, system_id, password, role).await {
        ByKey::Account(account) => account,
        ByKey::Refused(why) => {
            state.api.turn_away(peer, system_id, why).await;
            return Err(Shut::Refused);
        }
        ByKey::NotSaid => return Err(Shut::NotNow),
        ByKey::NoKey => {
            let account = state.api.login(peer, system_id, password.clone()).await;
            account.map_err(|why| match why {
                NotIn::Refused => Shut::Refused,
                NotIn::Busy => Shut::NotNow,
            })?
        }
    };
    peers::is_known(request);
    // The names of API keys have no such prefix: they count on their own.
    let busy = format!("login {system_id}");
    let busy = state.clients.begin(&busy, state.max_requests);
    Ok(CompatLogin {
        account,
        _busy: busy.ok_or(Shut::TooMany)?,
    })
}

/// What a password opens as an API key.
enum ByKey {
    Account(Arc<AccountPlan>),
    /// It is a key, and opens nothing here.
    Refused(&'static str),
    /// The store did not say whether it is a key.
    NotSaid,
    /// It is none.
    NoKey,
}

async fn by_key(
    request: &HttpRequest,
    state: &State,
    system_id: &str,
    password: &[u8],
    role: KeyRole,
) -> ByKey {
    if !is_key(password) {
        return ByKey::NoKey;
    }
    let key = match own_key(request, state, password).await {
        Ok(key) => key,
        // A password may look like a key.
        Err(KeyRefusal::Unknown) => return ByKey::NoKey,
        Err(KeyRefusal::Address) => {
            return ByKey::Refused("the API key may not be used from there");
        }
        Err(KeyRefusal::NotSaid) => return ByKey::NotSaid,
    };
    if key.account() != system_id {
        return ByKey::Refused("the API key belongs to another account");
    }
    if !key.role().allows(role) {
        return ByKey::Refused("the API key has not the role");
    }
    match state.api.account(system_id) {
        Some(account) => ByKey::Account(account),
        None => ByKey::Refused("the account is disabled"),
    }
}
