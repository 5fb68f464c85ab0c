//! Queries the look-up service over HTTP: one number per request.
//!
//! Blocking, for threads that may block; connections are kept between requests. Nothing here logs a
//! number or the token.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::source::LookupError;
use crate::actors::runtime::https;

/// Longest answer in octets.
const MAX_ANSWER: u64 = 64 * 1024;

/// A service and how to query it.
pub struct Service {
    agent: ureq::Agent,
    url: String,
    token: Option<SecretString>,
    pointer: String,
    is_answer: fn(&str) -> bool,
}

/// Where a service is and how it answers.
pub struct ServiceOptions {
    /// With `{msisdn}` where the number goes.
    pub url: String,
    pub token: Option<SecretString>,
    /// The authorities that may issue its certificate; without it, those of the machine.
    pub ca_file: Option<PathBuf>,
    /// The key of that file.
    pub ca_key: &'static str,
    /// Where the answer is in the JSON.
    pub pointer: String,
    pub timeout: Duration,
    /// Most connections that are kept.
    pub connections: usize,
    /// Whether the service may answer so.
    pub is_answer: fn(&str) -> bool,
}

// === impl Service ===

impl Service {
    /// The service; it is connected later.
    ///
    /// # Errors
    /// Why the file of certificates cannot be used.
    pub fn new(options: ServiceOptions) -> Result<Self, String> {
        let ServiceOptions { url, ca_file, .. } = options;
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(options.timeout))
            .http_status_as_error(false)
            .max_idle_connections(options.connections)
            .max_idle_connections_per_host(options.connections)
            // Waiting numbers are queried one after another, so an idle connection is soon used.
            .max_idle_age(Duration::from_secs(30))
            .tls_config(https::tls(&url, options.ca_key, ca_file.as_deref(), None)?)
            .build()
            .into();
        Ok(Self {
            agent,
            url,
            token: options.token,
            pointer: options.pointer,
            is_answer: options.is_answer,
        })
    }

    /// What the service says about a number; empty when it knows nothing. Blocks for the timeout at most.
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
            .map_err(|error| LookupError::Unreachable(https::unanswered(&error)))?;
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
        found(&answer, &self.pointer, self.is_answer)
    }
}

/// What is at the JSON pointer of the answer. It is not repeated in an error: it may be personal data.
fn found(
    answer: &Value,
    pointer: &str,
    is_answer: fn(&str) -> bool,
) -> Result<String, LookupError> {
    let found = match answer.pointer(pointer) {
        None | Some(Value::Null) => return Ok(String::new()),
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        Some(_) => {
            let message = format!("there is neither a text nor a number at {pointer:?}");
            return Err(LookupError::Unusable(message));
        }
    };
    if found.is_empty() || is_answer(&found) {
        Ok(found)
    } else {
        let message = format!("what is at {pointer:?} is no answer");
        Err(LookupError::Unusable(message))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::{imsi, network};

    #[test]
    fn the_pointer_finds_texts_and_numbers() {
        let answer = json!({"mnp": {"mccmnc": "23415", "code": 26201, "none": null, "list": []}});
        for (pointer, network) in [
            ("/mnp/mccmnc", "23415"),
            ("/mnp/code", "26201"),
            ("/mnp/none", ""),
            ("/elsewhere", ""),
        ] {
            assert_eq!(
                found(&answer, pointer, network::is_name).unwrap(),
                network,
                "{pointer}"
            );
        }
        let found = |answer, pointer| found(&answer, pointer, network::is_name);
        assert_eq!(found(json!("o2"), "").unwrap(), "o2");
        assert!(found(answer, "/mnp/list").is_err());
        assert!(found(json!("not a name"), "").is_err());
        let found = super::found(&json!(123_456), "", imsi::is_imsi);
        assert_eq!(found.unwrap(), "123456");
        let error = super::found(&json!("0010100000000012"), "", imsi::is_imsi).unwrap_err();
        assert!(!error.to_string().contains("0010100000000012"), "{error}");
    }

    #[test]
    fn a_number_cannot_leave_its_place_in_the_url() {
        assert_eq!(escaped(b"447700900123"), "447700900123");
        assert_eq!(escaped(b"a/../b?c\xff"), "a%2F..%2Fb%3Fc%FF");
    }
}
