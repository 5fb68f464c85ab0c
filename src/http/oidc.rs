//! Sign-in to the console by OpenID Connect (`[http.oidc]`, docs/security.md): the authorization code flow with PKCE, state
//! and nonce (OpenID Connect Core §3.1, RFC 7636).
//!
//! ```text
//! browser ──GET /oidc/sign-in──▶ 303 to the issuer, with a cookie that remembers state, nonce and verifier
//! browser ◀── the issuer ── 303 to /oidc/callback with a code
//! browser ──GET /oidc/callback─▶ code ▶ ID token ▶ person and role ▶ session ▶ 303 to /, with the session's cookie
//! ```
//!
//! The way back is always the start page: no request says where to. Any node can finish what another has begun. Tokens
//! work as without it, also while the issuer is away. Invariant: a session has the role that the claims of a verified ID
//! token gave, and nobody has one without.
//!
//! | file | idea |
//! |---|---|
//! | `issuer` | what is asked of the issuer |
//! | `person` | claims to a name and a role |
//! | `session` | the session and who may use it |
//! | `cookie` | what a browser keeps |
//! | `page` | what people see when it fails |

mod cookie;
mod issuer;
mod page;
mod person;
mod session;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use actix_web::http::header::{LOCATION, REFERRER_POLICY, SET_COOKIE};
use actix_web::{HttpRequest, HttpResponse, ResponseError as _, web};
use secrecy::SecretString;
use subtle::ConstantTimeEq as _;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use self::cookie::Cookies;
use self::issuer::{Issuer, Trouble};
pub(super) use self::session::{bearer_of, is_session};
use super::problem::{LimitName, Problem};
use super::query::Query;
use super::{State, audit, peers};
use crate::actors::context::audit::AuditNote;
use crate::api::SignInOffer;
use crate::config::{OIDC_CALLBACK, Oidc};
use crate::telemetry::metrics::ReasonLabel;

const BEGIN: &str = "/oidc/sign-in";
const END: &str = "/oidc/sign-out";
/// Sign-ins that ask the issuer at once; others wait as long.
const AT_ONCE: usize = 4;
const WAIT: Duration = Duration::from_secs(10);
/// Why somebody is refused who has not begun here.
const STALE: &str = "state";
/// What helps when the issuer does not.
const USE_A_TOKEN: &str = "Try again later, or sign in with a token of the admin API.";

/// How people sign in.
pub(super) struct SignIn {
    config: Oidc,
    issuer: Arc<Issuer>,
    cookies: Cookies,
    /// Of pages of this console, as browsers write it.
    origin: String,
    slots: Semaphore,
}

/// Why somebody was not let in.
struct SignInRefused {
    status: StatusCode,
    /// For the metric.
    reason: &'static str,
    said: String,
    cure: &'static str,
}

// === impl SignIn ===

impl SignIn {
    /// `None` if people cannot sign in so.
    pub(super) fn new(config: &Oidc) -> Option<Arc<Self>> {
        config.issuer.as_ref()?;
        let redirect = config.redirect_url.as_deref().unwrap_or_default();
        Some(Arc::new(Self {
            issuer: Arc::new(Issuer::new(config.clone())),
            cookies: Cookies {
                is_secure: redirect
                    .get(..6)
                    .is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:")),
            },
            origin: origin_of(redirect),
            slots: Semaphore::new(AT_ONCE),
            config: config.clone(),
        }))
    }

    /// The secret of the session that a request has, if it has one.
    pub(super) fn session(&self, request: &HttpRequest) -> Option<String> {
        self.cookies.session(request)
    }

    /// Asks the issuer on a thread that may wait.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Issuer) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, SignInRefused> {
        let slot = timeout(WAIT, self.slots.acquire()).await;
        let Ok(Ok(_slot)) = slot else {
            let said = "Too many people sign in at this moment.".to_owned();
            return Err(SignInRefused::unreachable(said));
        };
        let issuer = Arc::clone(&self.issuer);
        let answer = tokio::task::spawn_blocking(move || question(&issuer)).await;
        let answer = answer.map_err(|error| SignInRefused::unreachable(error.to_string()))?;
        answer.map_err(|trouble| match trouble {
            Trouble::Unreachable(why) => {
                tracing::warn!(%why, "the issuer of OpenID Connect cannot be asked");
                // Why is for the log: it may name what is inside, and this page is for everybody.
                let label = &self.config.label;
                SignInRefused::unreachable(format!("{label} does not answer as it should."))
            }
            Trouble::Refused(why) => SignInRefused {
                status: StatusCode::FORBIDDEN,
                reason: "refused",
                said: format!("{} did not confirm who you are: {why}.", self.config.label),
                cure: "Sign in again from the start page.",
            },
        })
    }

    /// Our secret as a client, which may be newer than the rest of this section; not that of another client or issuer, which
    /// take a restart.
    fn client_secret(&self, now: &Oidc) -> Option<SecretString> {
        let is_same = now.issuer == self.config.issuer && now.client_id == self.config.client_id;
        let counts = if is_same { now } else { &self.config };
        counts.client_secret.clone()
    }

    /// Who comes back from the issuer with these parameters: the session's name, role and secret.
    async fn finish(
        &self,
        request: &HttpRequest,
        state: &State,
        from: &str,
    ) -> Result<Opened, SignInRefused> {
        let began = self.cookies.under_way(request);
        let began = began.ok_or_else(|| {
            SignInRefused::stale(
                "This sign-in was not begun in this browser, or has taken too long.",
            )
        })?;
        let query = web::Query::<HashMap<String, String>>::from_query(request.query_string());
        let mut query = query.map(web::Query::into_inner).unwrap_or_default();
        let given = query.remove("state").unwrap_or_default();
        if !bool::from(given.as_bytes().ct_eq(began.state.as_bytes())) {
            return Err(SignInRefused::stale(
                "This answer belongs to another sign-in.",
            ));
        }
        // RFC 9207: an answer of another issuer.
        let issuer = query.remove("iss");
        if issuer.is_some_and(|issuer| Some(issuer) != self.config.issuer) {
            return Err(SignInRefused::stale("This answer is from another issuer."));
        }
        let Some(code) = query.remove("code") else {
            let error = query.remove("error").unwrap_or_default();
            return Err(SignInRefused {
                status: StatusCode::FORBIDDEN,
                reason: "refused",
                said: format!("{} did not let you in: {error}.", self.config.label),
                cure: "Sign in again from the start page.",
            });
        };
        let secret = self.client_secret(&state.api.node().config().http.oidc);
        let finish = move |issuer: &Issuer| issuer.finish(code, began, secret.as_ref());
        let person = self.ask(finish).await?;
        let Some(role) = person.role else {
            return Err(SignInRefused {
                status: StatusCode::FORBIDDEN,
                reason: "no_role",
                said: format!(
                    "You are {}, and none of your groups ({}) has a role here.",
                    person.name, self.config.role_claim
                ),
                cure: "Ask an administrator to put you into a group of role_read, role_operate or role_admin of [http.oidc].",
            });
        };
        let opened = session::open(state, self, &person, role, from).await;
        let (name, secret) = opened.map_err(|problem| SignInRefused {
            status: StatusCode::SERVICE_UNAVAILABLE,
            reason: "store",
            said: format!("The session cannot be stored: {problem}."),
            cure: "Try again.",
        })?;
        let issuer = self.config.issuer.as_deref().unwrap_or_default();
        Ok(Opened {
            name,
            role: role.as_str(),
            secret,
            whose: format!("subject {} of {issuer}", person.subject),
        })
    }
}

/// A session that was made.
struct Opened {
    name: String,
    role: &'static str,
    secret: String,
    whose: String,
}

// === impl SignInRefused ===

impl SignInRefused {
    fn unreachable(said: String) -> Self {
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            reason: "unreachable",
            said,
            cure: USE_A_TOKEN,
        }
    }

    fn stale(said: &str) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            reason: STALE,
            said: said.to_owned(),
            cure: "Sign in again from the start page.",
        }
    }
}

/// The pages of a sign-in.
pub(super) fn register(app: &mut web::ServiceConfig) {
    app.route(BEGIN, web::get().to(begin))
        .route(OIDC_CALLBACK, web::get().to(finish))
        .route(END, web::post().to(sign_out));
}

/// How people may sign in to the console beside tokens.
#[utoipa::path(get, path = "/oidc", tag = "access",
    responses((status = 200, description = "What stands on the button, if there is one", body = SignInOffer)))]
pub(super) async fn offer(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    let label = state.oidc.as_ref().map(|oidc| oidc.config.label.clone());
    Ok(HttpResponse::Ok().json(SignInOffer { label }))
}

/// `GET /oidc/sign-in`: to the issuer.
async fn begin(state: web::Data<State>) -> Result<HttpResponse, Problem> {
    let oidc = configured(&state)?;
    match oidc.ask(Issuer::begin).await {
        Ok((url, sign_in)) => Ok(HttpResponse::SeeOther()
            .insert_header((LOCATION, url))
            .insert_header((SET_COOKIE, oidc.cookies.set_under_way(&sign_in)))
            .insert_header((REFERRER_POLICY, "no-referrer"))
            .finish()),
        Err(refused) => Ok(told(&state, &oidc, &refused)),
    }
}

/// `GET /oidc/callback`: back from the issuer.
async fn finish(request: HttpRequest, state: web::Data<State>) -> Result<HttpResponse, Problem> {
    let oidc = configured(&state)?;
    let address = peers::client(&request);
    let now = Instant::now();
    if let Some(wait) = address.and_then(|address| state.clients.deaf_to(address, now)) {
        let said = "too many sign-ins failed that came from this address";
        return Err(Problem::too_many(LimitName::WrongKeys, wait, said));
    }
    let from = address.map_or_else(|| "unknown".to_owned(), |address| address.to_string());
    let mut note = AuditNote {
        address: from.clone(),
        method: "GET".to_owned(),
        path: OIDC_CALLBACK.to_owned(),
        ..AuditNote::default()
    };
    match oidc.finish(&request, &state, &from).await {
        Ok(opened) => {
            state.api.node().metrics.console_sign_ins.inc();
            note.token = opened.name;
            note.role = opened.role.to_owned();
            note.status = StatusCode::SEE_OTHER.as_u16();
            note.detail = format!("signed in as {}", opened.whose);
            audit::write(&state, note).await;
            let session = oidc
                .cookies
                .set_session(&opened.secret, oidc.config.session);
            Ok(HttpResponse::SeeOther()
                .insert_header((LOCATION, "/"))
                .append_header((SET_COOKIE, oidc.cookies.end_under_way()))
                .append_header((SET_COOKIE, session))
                .insert_header((REFERRER_POLICY, "no-referrer"))
                .finish())
        }
        Err(refused) => {
            // What was not begun here any page on the web can ask for, as a picture from this browser: it is counted
            // by the metric alone, else that page could lock everybody at this address out.
            if refused.reason != STALE {
                if let Some(address) = address.filter(|_| refused.status.is_client_error()) {
                    state.clients.was_wrong(address, now);
                }
                note.token = "nobody".to_owned();
                note.status = refused.status.as_u16();
                note.detail = format!("not signed in: {}", refused.said);
                audit::write_refusal(&state, note).await;
            }
            Ok(told(&state, &oidc, &refused))
        }
    }
}

/// `POST /oidc/sign-out`: the session ends, on every node.
async fn sign_out(request: HttpRequest, state: web::Data<State>) -> Result<HttpResponse, Problem> {
    let oidc = configured(&state)?;
    if !session::is_own(&request, &oidc) {
        return Err(Problem::foreign(&oidc.origin));
    }
    let mut answer = match oidc.session(&request) {
        Some(secret) => end(&request, &state, &secret).await,
        None => Ok(HttpResponse::NoContent().finish()),
    }
    // The browser forgets it in any case.
    .unwrap_or_else(|problem| problem.error_response());
    answer
        .headers_mut()
        .append(SET_COOKIE, oidc.cookies.end_session());
    Ok(answer)
}

/// Ends the session of this secret, if it has not ended already.
async fn end(
    request: &HttpRequest,
    state: &web::Data<State>,
    secret: &str,
) -> Result<HttpResponse, Problem> {
    if let Some(bearer) = session::find(request, state, secret).await? {
        session::close(state, bearer.name.clone()).await?;
        let address = peers::client(request);
        let note = AuditNote {
            token: bearer.name,
            role: bearer.role.to_string(),
            address: address.map_or_else(String::new, |address| address.to_string()),
            method: "POST".to_owned(),
            path: END.to_owned(),
            status: StatusCode::NO_CONTENT.as_u16(),
            detail: "signed out".to_owned(),
            version: 0,
        };
        audit::write(state, note).await;
    }
    Ok(HttpResponse::NoContent().finish())
}

fn configured(state: &State) -> Result<Arc<SignIn>, Problem> {
    state.oidc.clone().ok_or_else(|| {
        Problem::not_found("there is no sign-in by OpenID Connect; `[http.oidc]` configures it")
    })
}

/// What somebody sees who was not let in.
fn told(state: &State, oidc: &SignIn, refused: &SignInRefused) -> HttpResponse {
    let reason = refused.reason;
    let refusals = &state.api.node().metrics.console_sign_ins_refused;
    refusals.get_or_create(&ReasonLabel { reason }).inc();
    page::failed(oidc.cookies, refused.status, &refused.said, refused.cure)
}

/// Scheme, host and port of a URL as browsers write an origin: small letters, without the usual port (RFC 6454 §6.2).
fn origin_of(url: &str) -> String {
    let origin = url.strip_suffix(OIDC_CALLBACK).unwrap_or(url);
    let origin = origin.to_ascii_lowercase();
    let usual = if origin.starts_with("https:") {
        ":443"
    } else {
        ":80"
    };
    origin.strip_suffix(usual).unwrap_or(&origin).to_owned()
}

#[cfg(test)]
mod tests {
    use super::origin_of;

    #[test]
    fn origins_are_written_as_browsers_do() {
        for (url, origin) in [
            ("https://smsc.example/oidc/callback", "https://smsc.example"),
            (
                "https://SMSC.example:443/oidc/callback",
                "https://smsc.example",
            ),
            (
                "http://127.0.0.1:8080/oidc/callback",
                "http://127.0.0.1:8080",
            ),
            ("http://localhost:80/oidc/callback", "http://localhost"),
            (
                "https://smsc.example:80/oidc/callback",
                "https://smsc.example:80",
            ),
        ] {
            assert_eq!(origin_of(url), origin);
        }
    }
}
