//! Who calls: by HTTP Basic, by Bearer, or by a first argument `session`. The API key is the secret in each.

use actix_web::http::header::AUTHORIZATION;
use actix_web::{HttpMessage, HttpRequest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::http::account_api::State;
use crate::http::account_api::auth::{Caller, begin, known};
use crate::http::auth::{bearer, slowed};
use crate::http::limit::ServedRequest;
use crate::http::peers;
use crate::http::problem::Problem;
use crate::xml_rpc::XmlRpcValue;

/// The member of a struct that holds the key.
const SESSION: &str = "session";
const CHALLENGE: &str = "Basic realm=\"smsc api\"";

/// A request, and whose it is.
pub(super) struct Session<'r> {
    pub request: &'r HttpRequest,
    pub state: &'r State,
    shown: Shown,
    /// Its place among the requests of its key, as soon as that is known.
    _busy: Option<ServedRequest>,
}

/// What the request has shown so far.
enum Shown {
    Nothing,
    /// For all its calls, none of which has an argument `session` then.
    ForAll(Caller),
    /// By its first call; without a caller, the key is wrong.
    ByCall {
        key: String,
        caller: Option<Caller>,
    },
}

// === impl Session ===

impl<'r> Session<'r> {
    /// Begins a request, which may be [authenticated](authenticate) by its header.
    pub(super) fn open(request: &'r HttpRequest, state: &'r State) -> Result<Self, Problem> {
        let caller = request.extensions().get::<Caller>().cloned();
        let (busy, shown) = match caller {
            Some(caller) => {
                let busy = begin(state, caller.key_id())?;
                (Some(busy), Shown::ForAll(caller))
            }
            None => (None, Shown::Nothing),
        };
        Ok(Self {
            request,
            state,
            shown,
            _busy: busy,
        })
    }

    /// Whose call this is. An argument `session` is taken off.
    pub(super) async fn caller(
        &mut self,
        params: &mut Vec<XmlRpcValue>,
    ) -> Result<Caller, Problem> {
        if let Shown::ForAll(caller) = &self.shown {
            return Ok(caller.clone());
        }
        let key = take_key(params).ok_or_else(|| {
            let said = "session: send the API key as the password of HTTP Basic, or as the first argument; \
                        `smsc key add ACCOUNT` makes one";
            Problem::unauthorized(CHALLENGE, said)
        })?;
        let said =
            "session: all calls of a request have the same one, and a wrong one is tried once";
        match &self.shown {
            Shown::ByCall {
                key: shown,
                caller: Some(caller),
            } if *shown == key => return Ok(caller.clone()),
            Shown::ByCall { .. } => return Err(Problem::unauthorized(CHALLENGE, said)),
            _ => {}
        }
        match known(self.request, self.state, key.as_bytes()).await {
            Ok(caller) => {
                peers::is_known(self.request);
                self._busy = Some(begin(self.state, caller.key_id())?);
                self.shown = Shown::ByCall {
                    key,
                    caller: Some(caller.clone()),
                };
                Ok(caller)
            }
            Err(problem) => {
                self.shown = Shown::ByCall { key, caller: None };
                Err(slowed(self.request, &self.state.clients, true, problem).await)
            }
        }
    }

    /// A session before the calls of a `system.multicall` is that of all of them.
    pub(super) async fn of_all(&mut self, params: &mut Vec<XmlRpcValue>) -> Result<(), Problem> {
        let has_one = matches!(
            params.first(),
            Some(XmlRpcValue::String(_)) | Some(XmlRpcValue::Struct(_))
        );
        if has_one && matches!(self.shown, Shown::Nothing) {
            self.shown = Shown::ForAll(self.caller(params).await?);
        }
        Ok(())
    }
}

/// Notes whose request it is, if it has a header that says so. Whether it has.
pub(super) async fn authenticate(request: &HttpRequest, state: &State) -> Result<bool, Problem> {
    let Some(header) = request.headers().get(AUTHORIZATION) else {
        return Ok(false);
    };
    match by_header(request, state, header.as_bytes()).await {
        Ok(caller) => {
            peers::is_known(request);
            request.extensions_mut().insert(caller);
            Ok(true)
        }
        Err(problem) => Err(slowed(request, &state.clients, true, problem).await),
    }
}

async fn by_header(request: &HttpRequest, state: &State, header: &[u8]) -> Result<Caller, Problem> {
    if let Some(key) = bearer(header) {
        return known(request, state, key).await;
    }
    let (user, key) = basic(header).ok_or_else(|| {
        let said = "the Authorization header must be \"Basic\" with the system_id and the API key, or \"Bearer\" \
                    and the key";
        Problem::unauthorized(CHALLENGE, said)
    })?;
    let caller = known(request, state, &key).await?;
    if !user.is_empty() && user != caller.account.config.system_id.as_bytes() {
        let said = "the API key is not one of the account that the user names";
        return Err(Problem::unauthorized(CHALLENGE, said));
    }
    Ok(caller)
}

/// User and password of `Basic …` (RFC 7617).
fn basic(header: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    const SCHEME: &[u8] = b"basic ";
    let (scheme, given) = header.split_at_checked(SCHEME.len())?;
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return None;
    }
    let mut user = STANDARD.decode(given.trim_ascii()).ok()?;
    let colon = user.iter().position(|octet| *octet == b':')?;
    let password = user.split_off(colon + 1);
    user.truncate(colon);
    Some((user, password))
}

/// The key of a first argument `session`: a string, or a member of a struct, which goes if nothing else is in it.
pub(super) fn take_key(params: &mut Vec<XmlRpcValue>) -> Option<String> {
    let value = match params.first_mut()? {
        XmlRpcValue::String(_) => params.remove(0),
        XmlRpcValue::Struct(members) => {
            let at = members.iter().position(|(name, _)| name == SESSION)?;
            let (_, value) = members.remove(at);
            if members.is_empty() {
                params.remove(0);
            }
            value
        }
        _ => return None,
    };
    match value {
        XmlRpcValue::String(key) => Some(key),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_has_a_user_and_a_password() {
        let of = |text: &str| basic(format!("Basic {}", STANDARD.encode(text)).as_bytes());
        let pair = |user: &str, password: &str| Some((user.into(), password.into()));
        assert_eq!(of("shop:smsck_1"), pair("shop", "smsck_1"));
        assert_eq!(of(":smsck_1"), pair("", "smsck_1"));
        assert_eq!(of("shop:a:b"), pair("shop", "a:b"));
        assert_eq!(basic(b"bAsIc OmE="), pair("", "a"));
        assert_eq!(of("shop"), None);
        for wrong in ["Basic", "Basic ", "Basic ???", "Bearer OmE=", ""] {
            assert_eq!(basic(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn a_session_is_the_first_argument_or_in_it() {
        let member = |name: &str, value| (name.to_owned(), value);
        let key = || XmlRpcValue::from("key");
        let mut params = vec![key(), XmlRpcValue::from("1")];
        assert_eq!(take_key(&mut params).as_deref(), Some("key"));
        assert_eq!(params, [XmlRpcValue::from("1")]);
        let mut params = vec![
            XmlRpcValue::Struct(vec![member("session", key())]),
            XmlRpcValue::Int(1),
        ];
        assert_eq!(take_key(&mut params).as_deref(), Some("key"));
        assert_eq!(params, [XmlRpcValue::Int(1)]);
        let text = || member("content", XmlRpcValue::from("x"));
        let mut params = vec![XmlRpcValue::Struct(vec![member("session", key()), text()])];
        assert_eq!(take_key(&mut params).as_deref(), Some("key"));
        assert_eq!(params, [XmlRpcValue::Struct(vec![text()])]);
        for mut without in [
            vec![],
            vec![XmlRpcValue::Int(1)],
            vec![XmlRpcValue::Struct(vec![text()])],
            vec![XmlRpcValue::Struct(vec![member(
                "session",
                XmlRpcValue::Int(1),
            )])],
        ] {
            assert_eq!(take_key(&mut without), None);
        }
    }
}
