//! One callback as an HTTP request: signed, within its time, and with a bounded answer.
//!
//! Used by the callbacks of one account. Redirects are answers like any other: nothing is ever sent to where they
//! point. What an answer contains beyond its status is read for as long as that is little, so that the connection
//! can be used again. Proxies of the environment are not used: behind one nobody could say what is reached.

use std::error::Error as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use hyper::{Request, Response};
use hyper_util::client::legacy::{Client as Pool, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use secrecy::ExposeSecret;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

use super::connector::{CallbackConnector, CallbackRoute, DialError};
use super::form::Callback;
use crate::clock;
use crate::config::Account;
use crate::domain::callback::pace;
use crate::domain::callback::reach::Reach;
use crate::domain::callback::signature::SigningSecrets;
use crate::tls::{self, Named};

/// Octets of an answer that are read, and how many of them are kept.
const MOST_ANSWER: usize = 64 * 1024;
const KEPT: usize = 200;
/// A connection that was idle for longer is closed: many servers close theirs after a minute.
const IDLE: Duration = Duration::from_secs(30);

/// Sends the callbacks of one account.
pub struct CallbackClient {
    pool: Pool<CallbackConnector, Full<Bytes>>,
    secrets: SigningSecrets,
    timeout: Duration,
}

/// How a receiver has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallbackResponse {
    pub status: u16,
    /// Its `Retry-After`.
    pub retry_after: Option<Duration>,
    /// How its body begins.
    pub said: String,
    /// It does not say what it must say for the callback to be taken.
    pub lacks_acknowledgement: bool,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// Its address must not be called; the callback was not sent.
    #[error("{0}; see callback_allow_private")]
    Forbidden(String),
    /// There is no connection; the callback was not sent.
    #[error("{0}")]
    Unreachable(String),
    #[error("no answer in time")]
    TimedOut,
    #[error("{0}")]
    Broken(String),
}

// === impl CallbackClient ===

impl CallbackClient {
    /// For the callbacks of an account; connects later. Reads certificates: blocks.
    ///
    /// # Errors
    /// What of the configuration cannot be used.
    pub fn new(account: &Account) -> Result<Self, String> {
        let reach = Reach::parse(&account.callback_allow_private);
        let secrets = SigningSecrets::parse(account.callback_secrets.expose_secret());
        let tls = calls_by_https(account)
            .then(|| tls_for(account))
            .transpose()?;
        let route = CallbackRoute {
            reach: reach.map_err(|error| format!("callback_allow_private: {error}"))?,
            tls: tls.map(TlsConnector::from),
        };
        let pool = Pool::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(account.callback_concurrency as usize)
            .build(CallbackConnector::new(route));
        Ok(Self {
            pool,
            secrets: secrets.map_err(|error| format!("callback_secrets: {error}"))?,
            timeout: account.callback_timeout,
        })
    }

    /// Sends a callback, under the same id each time it is sent.
    ///
    /// # Errors
    /// See [`NoAnswer`].
    pub async fn send(&self, callback: &Callback) -> Result<CallbackResponse, NoAnswer> {
        let deadline = Instant::now() + self.timeout;
        let timestamp = clock::now_ms() / 1000;
        let (id, body) = (callback.id.as_str(), &callback.body);
        let mut request = Request::builder()
            .method(callback.method.clone())
            .uri(callback.target.uri().clone())
            .header(USER_AGENT, concat!("smsc/", env!("CARGO_PKG_VERSION")))
            .header("webhook-id", id)
            .header("webhook-timestamp", timestamp);
        if let Some(content_type) = callback.content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        if !self.secrets.is_empty() {
            let signature = self.secrets.sign(id, timestamp, body);
            request = request.header("webhook-signature", signature);
        }
        let request = request
            .body(Full::new(body.clone()))
            .map_err(|error| NoAnswer::Broken(error.to_string()))?;
        let answer = timeout_at(deadline, self.pool.request(request)).await;
        let answer = answer
            .map_err(|_| NoAnswer::TimedOut)?
            .map_err(|error| no_answer(&error))?;
        let retry_after = answer.headers().get(RETRY_AFTER);
        let retry_after = retry_after
            .and_then(|value| value.to_str().ok())
            .and_then(|value| pace::retry_after(value, timestamp));
        let status = answer.status().as_u16();
        // Its status is what counts: however the rest ends, it is known.
        let mut said = Vec::new();
        if !answer.body().is_end_stream() {
            let _ = timeout_at(deadline, read(answer, &mut said)).await;
        }
        let said = String::from_utf8_lossy(&said).into_owned();
        let expected = callback.acknowledgement;
        Ok(CallbackResponse {
            status,
            retry_after,
            lacks_acknowledgement: expected.is_some_and(|expected| said.trim() != expected),
            said,
        })
    }
}

/// Reads what little there is, so that the connection can be used again, and keeps the beginning. One with more is
/// closed.
async fn read(mut answer: Response<Incoming>, kept: &mut Vec<u8>) {
    let mut octets = 0;
    while let Some(Ok(frame)) = answer.frame().await {
        let Some(data) = frame.data_ref() else {
            continue;
        };
        octets += data.len();
        let room = KEPT - kept.len();
        kept.extend_from_slice(&data[..data.len().min(room)]);
        if octets > MOST_ANSWER {
            return;
        }
    }
}

fn no_answer(error: &Error) -> NoAnswer {
    let mut source = error.source();
    while let Some(cause) = source {
        match cause.downcast_ref::<DialError>() {
            Some(DialError::Forbidden(_) | DialError::Target(_)) => {
                return NoAnswer::Forbidden(cause.to_string());
            }
            Some(_) => return NoAnswer::Unreachable(cause.to_string()),
            None => source = cause.source(),
        }
    }
    NoAnswer::Broken(error.to_string())
}

/// Whether any callback of an account may go by HTTPS.
fn calls_by_https(account: &Account) -> bool {
    let own = [&account.callback_url, &account.callback_receipt_url];
    let mut urls = own.into_iter().flatten().map(String::as_str);
    let is_https = |url: &str| url.to_ascii_lowercase().starts_with("https:");
    !account.callback_hosts.is_empty()
        || urls.any(is_https)
        || account.callbacks.iter().any(|(_, url)| is_https(url))
}

/// TLS for the targets of an account. Those without a file of their own share what the machine trusts, read once.
fn tls_for(account: &Account) -> Result<Arc<ClientConfig>, String> {
    static PLATFORM: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(file) = &account.callback_ca_file {
        let roots = tls::roots(&Named::new("callback_ca_file", file))?;
        return tls::client_config(roots, None).map(Arc::new);
    }
    match PLATFORM.get() {
        Some(config) => Ok(Arc::clone(config)),
        None => {
            let config = Arc::new(tls::client_config(tls::platform_roots(), None)?);
            Ok(Arc::clone(PLATFORM.get_or_init(|| config)))
        }
    }
}
