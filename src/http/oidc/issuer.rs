//! What is asked of the issuer: where it is (discovery), and what a code is worth.
//!
//! Every function waits for its answer, so it runs on a thread that may block. Called by [`super`]. Redirects are not
//! followed and proxies of the environment not used: what is asked is what the configuration names. Invariants: an ID token
//! counts if it is signed by a key of the issuer (never by the client secret, and never not at all), is for this client,
//! has not ended, and has the nonce of this browser.

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod, CoreGenderClaim, CoreIdToken,
    CoreJwsSigningAlgorithm, CoreProviderMetadata,
};
use openidconnect::{
    AccessToken, AdditionalClaims, AuthType, AuthorizationCode, ClientId, ClientSecret, CsrfToken,
    EndpointMaybeSet, EndpointNotSet, EndpointSet, HttpRequest, HttpResponse, IssuerUrl, Nonce,
    OAuth2TokenResponse as _, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope,
    SubjectIdentifier, TokenResponse as _, UserInfoClaims,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ureq::Agent;

use super::cookie::SignInUnderWay;
use super::person::{Claims, Person};
use crate::actors::runtime::https;
use crate::actors::runtime::locks::lock;
use crate::config::Oidc;

/// Longest answer in octets.
const MAX_ANSWER: u64 = 256 * 1024;
/// How long the issuer's addresses and keys are believed without asking again.
const KEPT: Duration = Duration::from_secs(600);
/// Signatures that count: by a key that only the issuer has.
const SIGNATURES: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// This SMSC as a client of the issuer.
type Client = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// Claims that the standard does not name.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Others(Map<String, Value>);

impl AdditionalClaims for Others {}

/// Why nobody is signed in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Trouble {
    /// The issuer does not answer, or not as one.
    #[error("{0}")]
    Unreachable(String),
    /// What came does not prove who somebody is.
    #[error("{0}")]
    Refused(String),
}

/// A request without an answer.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unanswered(String);

/// The issuer of this configuration.
pub(super) struct Issuer {
    config: Oidc,
    known: Mutex<Option<(Instant, Arc<CoreProviderMetadata>)>>,
}

// === impl Issuer ===

impl Issuer {
    pub fn new(config: Oidc) -> Self {
        Self {
            config,
            known: Mutex::default(),
        }
    }

    /// The address to which a browser is sent, and what it must bring back.
    pub fn begin(&self) -> Result<(String, SignInUnderWay), Trouble> {
        let agent = self.agent()?;
        // Where a browser is sent to holds no secret.
        let client = self.client(&*self.metadata(&agent, false)?, None)?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let scopes = self.config.scopes.iter().cloned().map(Scope::new);
        let (url, state, nonce) = client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                CsrfToken::new_random,
                Nonce::new_random,
            )
            .add_scopes(scopes)
            .set_pkce_challenge(challenge)
            .url();
        let sign_in = SignInUnderWay {
            state: state.secret().clone(),
            nonce: nonce.secret().clone(),
            verifier: verifier.secret().clone(),
        };
        Ok((url.to_string(), sign_in))
    }

    /// Who has come back with this code; `secret` is ours as a client, where it has one.
    pub fn finish(
        &self,
        code: String,
        sign_in: SignInUnderWay,
        secret: Option<&SecretString>,
    ) -> Result<Person, Trouble> {
        let agent = self.agent()?;
        let client = self.client(&*self.metadata(&agent, false)?, secret)?;
        let ask = |request: HttpRequest| send(&agent, request);
        let answer = client
            .exchange_code(AuthorizationCode::new(code))
            .map_err(|error| Trouble::Unreachable(said(&error)))?
            .set_pkce_verifier(PkceCodeVerifier::new(sign_in.verifier))
            .request(&ask)
            .map_err(|error| match error {
                openidconnect::RequestTokenError::Request(error) => {
                    Trouble::Unreachable(said(&error))
                }
                other => Trouble::Refused(said(&other)),
            })?;
        let none = || Trouble::Refused("the issuer has sent no ID token".to_owned());
        let token = answer.id_token().ok_or_else(none)?;
        let nonce = Nonce::new(sign_in.nonce);
        let subject = match verified(&client, token, &nonce) {
            Ok(subject) => subject,
            // It may be signed by a key that is newer than what is known.
            Err(_) => {
                let client = self.client(&*self.metadata(&agent, true)?, secret)?;
                verified(&client, token, &nonce).map_err(Trouble::Refused)?
            }
        };
        let mut claims = Claims(claims_of(token)?);
        if !claims.are_complete(&self.config) {
            let access = answer.access_token().clone();
            claims.add(userinfo(&client, access, &subject, &agent)?);
        }
        Ok(claims.person(&subject, &self.config))
    }

    fn agent(&self) -> Result<Agent, Trouble> {
        let config = &self.config;
        let url = config.issuer.as_deref().unwrap_or_default();
        let ca = config.ca_file.as_deref();
        let tls = https::tls(url, "http.oidc.ca_file", ca, None).map_err(Trouble::Unreachable)?;
        let agent = Agent::config_builder()
            .timeout_global(Some(config.timeout))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .tls_config(tls)
            .build();
        Ok(agent.into())
    }

    /// What the issuer says about itself, with its keys; `is_new` asks again.
    fn metadata(&self, agent: &Agent, is_new: bool) -> Result<Arc<CoreProviderMetadata>, Trouble> {
        // Those who come at once wait for one answer.
        let mut known = lock(&self.known);
        if let Some((since, metadata)) = &*known
            && !is_new
            && since.elapsed() < KEPT
        {
            return Ok(Arc::clone(metadata));
        }
        let url = self.config.issuer.clone().unwrap_or_default();
        let unreachable = |error: &dyn Error| Trouble::Unreachable(said(error));
        let url = IssuerUrl::new(url).map_err(|error| unreachable(&error))?;
        let ask = |request: HttpRequest| send(agent, request);
        let metadata = CoreProviderMetadata::discover(&url, &ask);
        let metadata = Arc::new(metadata.map_err(|error| unreachable(&error))?);
        *known = Some((Instant::now(), Arc::clone(&metadata)));
        Ok(metadata)
    }

    fn client(
        &self,
        metadata: &CoreProviderMetadata,
        secret: Option<&SecretString>,
    ) -> Result<Client, Trouble> {
        let config = &self.config;
        let secret = secret.map(|secret| ClientSecret::new(secret.expose_secret().to_owned()));
        let redirect = RedirectUrl::new(config.redirect_url.clone().unwrap_or_default());
        let redirect = redirect.map_err(|error| Trouble::Unreachable(said(&error)))?;
        // Without any word about it, by the header (OpenID Connect Discovery §3).
        let methods = metadata.token_endpoint_auth_methods_supported();
        let takes_header = methods
            .is_none_or(|methods| methods.contains(&CoreClientAuthMethod::ClientSecretBasic));
        let client_id = ClientId::new(config.client_id.clone());
        let client = CoreClient::from_provider_metadata(metadata.clone(), client_id, secret)
            .set_redirect_uri(redirect)
            .set_auth_type(if takes_header {
                AuthType::BasicAuth
            } else {
                AuthType::RequestBody
            });
        Ok(client)
    }
}

/// The subject of an ID token that is what it must be.
///
/// # Errors
/// What it is not.
fn verified(client: &Client, token: &CoreIdToken, nonce: &Nonce) -> Result<String, String> {
    let verifier = client.id_token_verifier().set_allowed_algs(SIGNATURES);
    let claims = token.claims(&verifier, nonce);
    let claims =
        claims.map_err(|error| format!("the ID token does not count: {}", said(&error)))?;
    Ok(claims.subject().to_string())
}

/// All claims of an ID token, which was verified.
fn claims_of(token: &CoreIdToken) -> Result<Map<String, Value>, Trouble> {
    let text = token.to_string();
    let claims = text.split('.').nth(1).and_then(|part| {
        let octets = URL_SAFE_NO_PAD.decode(part).ok()?;
        serde_json::from_slice(&octets).ok()
    });
    claims.ok_or_else(|| Trouble::Refused("the ID token cannot be read".to_owned()))
}

/// What the issuer says about this subject beside the ID token; nothing, if it has no such endpoint.
fn userinfo(
    client: &Client,
    access: AccessToken,
    subject: &str,
    agent: &Agent,
) -> Result<Map<String, Value>, Trouble> {
    let expected = SubjectIdentifier::new(subject.to_owned());
    let Ok(request) = client.user_info(access, Some(expected)) else {
        return Ok(Map::new());
    };
    let ask = |request: HttpRequest| send(agent, request);
    let answer: UserInfoClaims<Others, CoreGenderClaim> = request
        .request(&ask)
        .map_err(|error| Trouble::Refused(format!("userinfo: {}", said(&error))))?;
    match serde_json::to_value(&answer) {
        Ok(Value::Object(claims)) => Ok(claims),
        _ => Ok(Map::new()),
    }
}

fn send(agent: &Agent, request: HttpRequest) -> Result<HttpResponse, Unanswered> {
    let to = request.uri().to_string();
    let answer = if request.body().is_empty() {
        agent.run(request.map(|_| ()))
    } else {
        agent.run(request)
    };
    let unanswered =
        |error: ureq::Error| Unanswered(format!("{to}: {}", https::unanswered(&error)));
    let (head, mut body) = answer.map_err(unanswered)?.into_parts();
    let octets = body.with_config().limit(MAX_ANSWER).read_to_vec();
    Ok(HttpResponse::from_parts(head, octets.map_err(unanswered)?))
}

/// An error with what has caused it.
fn said(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
