//! Queries the look-up service over HTTP: one number per request.
//!
//! Blocking, for threads that may block; connections are kept between requests. Nothing here logs a
//! number or the token.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};

use crate::config;
use crate::domain::network;

/// Longest answer in octets.
const MAX_ANSWER: u64 = 64 * 1024;

/// A service and how to query it.
pub struct Service {
    agent: ureq::Agent,
    url: String,
    token: Option<SecretString>,
    pointer: String,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    #[error("the service cannot be reached: {0}")]
    Unreachable(String),
    #[error("the service answers with status {0}")]
    Status(u16),
    #[error("the service's answer cannot be used: {0}")]
    Unusable(String),
}

// === impl Service ===

impl Service {
    /// The configured service, if there is one; connects later.
    ///
    /// # Errors
    /// Why the file of certificates cannot be used.
    pub fn new(config: &config::Resolver) -> Result<Option<Self>, String> {
        let Some(url) = config.url.clone() else {
            return Ok(None);
        };
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(config.timeout))
            .http_status_as_error(false)
            .max_idle_connections(config.concurrency)
            .max_idle_connections_per_host(config.concurrency)
            // Waiting numbers are queried one after another, so an idle connection is soon used.
            .max_idle_age(Duration::from_secs(30))
            .tls_config(tls(&url, config.ca_file.as_deref())?)
            .build()
            .into();
        Ok(Some(Self {
            agent,
            url,
            token: config.token.clone(),
            pointer: config.pointer.clone(),
        }))
    }

    /// The network of a number; empty when it is not ported. Blocks for `resolver.timeout` at most.
    ///
    /// # Errors
    /// See [`LookupError`].
    pub fn ask(&self, number: &[u8]) -> Result<String, LookupError> {
        let url = self.url.replace("{msisdn}", &escaped(number));
        let mut request = self.agent.get(url);
        if let Some(token) = &self.token {
            let bearer = format!("Bearer {}", token.expose_secret());
            request = request.header("Authorization", bearer);
        }
        let mut answer = request
            .header("Accept", "application/json")
            .call()
            .map_err(|error| LookupError::Unreachable(error.to_string()))?;
        match answer.status().as_u16() {
            404 => return Ok(String::new()),
            200..300 => {}
            status => return Err(LookupError::Status(status)),
        }
        let unusable = |error: &dyn std::fmt::Display| LookupError::Unusable(error.to_string());
        let octets = answer
            .body_mut()
            .with_config()
            .limit(MAX_ANSWER)
            .read_to_vec()
            .map_err(|error| unusable(&error))?;
        if octets.is_empty() {
            return Ok(String::new());
        }
        let answer: Value = serde_json::from_slice(&octets).map_err(|error| unusable(&error))?;
        found(&answer, &self.pointer)
    }
}

/// The network at the JSON pointer of the answer.
fn found(answer: &Value, pointer: &str) -> Result<String, LookupError> {
    let network = match answer.pointer(pointer) {
        None | Some(Value::Null) => return Ok(String::new()),
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        Some(_) => {
            let message = format!("there is neither a text nor a number at {pointer:?}");
            return Err(LookupError::Unusable(message));
        }
    };
    match network.is_empty() || network::is_name(&network) {
        true => Ok(network),
        false => {
            let message = format!("what is at {pointer:?} is no network");
            Err(LookupError::Unusable(message))
        }
    }
}

/// A number, escaped for a URL.
fn escaped(number: &[u8]) -> String {
    let mut text = String::with_capacity(number.len());
    for octet in number {
        match octet {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(*octet));
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

fn tls(url: &str, ca_file: Option<&Path>) -> Result<TlsConfig, String> {
    let mut roots: Vec<Certificate<'static>> = Vec::new();
    if url.starts_with("https://") {
        let certificates = match ca_file {
            None => rustls_native_certs::load_native_certs().certs,
            Some(file) => CertificateDer::pem_file_iter(file)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(|error| format!("resolver.ca_file: {}: {error}", file.display()))?,
        };
        let read = certificates.iter();
        roots.extend(read.map(|certificate| Certificate::from_der(certificate).to_owned()));
        if roots.is_empty() {
            return Err(
                "resolver.ca_file: there is no certificate that could be believed; \
                        name a file with the service's authority"
                    .to_owned(),
            );
        }
    }
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .root_certs(RootCerts::new_with_certs(&roots))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_pointer_finds_texts_and_numbers() {
        let answer = json!({"mnp": {"mccmnc": "23415", "code": 26201, "none": null, "list": []}});
        for (pointer, network) in [
            ("/mnp/mccmnc", "23415"),
            ("/mnp/code", "26201"),
            ("/mnp/none", ""),
            ("/elsewhere", ""),
        ] {
            assert_eq!(found(&answer, pointer).unwrap(), network, "{pointer}");
        }
        assert_eq!(found(&json!("o2"), "").unwrap(), "o2");
        assert!(found(&answer, "/mnp/list").is_err());
        assert!(found(&json!("not a name"), "").is_err());
    }

    #[test]
    fn a_number_cannot_leave_its_place_in_the_url() {
        assert_eq!(escaped(b"447700900123"), "447700900123");
        assert_eq!(escaped(b"a/../b?c\xff"), "a%2F..%2Fb%3Fc%FF");
    }
}
