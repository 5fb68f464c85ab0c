//! An HTTP client for the admin API.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// Longest wait for one response.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// A client with one address and one token.
#[derive(Clone)]
pub struct Admin {
    base: String,
    token: String,
    agent: ureq::Agent,
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// The ETag with its quotes; empty without one.
    pub tag: String,
    pub headers: ureq::http::HeaderMap,
    pub body: Value,
}

// === impl Answer ===

impl Answer {
    /// The value of a header; empty without it.
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }
}

// === impl Admin ===

impl Admin {
    pub fn new(address: SocketAddr, token: &str) -> Self {
        Self::speaking("http", address, token, &[])
    }

    /// By HTTPS, trusting only this authority (PEM).
    pub fn by_https(address: SocketAddr, token: &str, authority: &str) -> Self {
        let root = Certificate::from_pem(authority.as_bytes()).unwrap();
        Self::speaking("https", address, token, &[root])
    }

    fn speaking(
        scheme: &str,
        address: SocketAddr,
        token: &str,
        roots: &[Certificate<'static>],
    ) -> Self {
        let provider = rustls::crypto::ring::default_provider();
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(roots))
            .unversioned_rustls_crypto_provider(Arc::new(provider))
            .build();
        let agent = ureq::Agent::config_builder()
            .tls_config(tls)
            .timeout_global(Some(ANSWER_WITHIN))
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .build()
            .new_agent();
        Self {
            base: format!("{scheme}://{address}"),
            token: token.to_owned(),
            agent,
        }
    }

    /// The JSON at a path; panics on any status but 200.
    pub fn get(&self, path: &str) -> Value {
        self.try_get(path)
            .unwrap_or_else(|problem| panic!("GET {path}: {problem}"))
    }

    /// The JSON at a path, or an error text.
    pub fn try_get(&self, path: &str) -> Result<Value, String> {
        let (status, body) = self.text(path)?;
        match status {
            200 => serde_json::from_str(&body).map_err(|error| format!("{error} in {body}")),
            status => Err(format!("{status} {body}")),
        }
    }

    /// Status and text of any path.
    pub fn text(&self, path: &str) -> Result<(u16, String), String> {
        let mut answer = self
            .agent
            .get(format!("{}{path}", self.base))
            .header("Authorization", format!("Bearer {}", self.token))
            .call()
            .map_err(|error| error.to_string())?;
        let status = answer.status().as_u16();
        let body = answer.body_mut().read_to_string();
        Ok((status, body.map_err(|error| error.to_string())?))
    }

    /// Sends a command: status and JSON of the response.
    pub fn post(&self, path: &str) -> (u16, Value) {
        let mut answer = self
            .agent
            .post(format!("{}{path}", self.base))
            .header("Authorization", format!("Bearer {}", self.token))
            .send_empty()
            .unwrap_or_else(|error| panic!("POST {path}: {error}"));
        let status = answer.status().as_u16();
        let body = answer.body_mut().read_to_string().unwrap();
        (
            status,
            serde_json::from_str(&body).unwrap_or(Value::String(body)),
        )
    }

    /// Scheme, host and port of the API.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The token of this client.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A client of the same API with another token.
    pub fn bearer(&self, token: &str) -> Self {
        Self {
            token: token.to_owned(),
            ..self.clone()
        }
    }

    /// Sends any request, with a JSON body if given: status and JSON of the response.
    pub fn call(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let answer = self.request(method, path, &[("Content-Type", "application/json")], body);
        (answer.status, answer.body)
    }

    /// Makes a token of this role and name, and returns a client with it.
    pub fn with_role(&self, role: &str, name: &str) -> Self {
        let order = serde_json::json!({ "name": name, "role": role });
        let (status, made) = self.call("POST", "/v1/tokens", Some(&order));
        assert_eq!(status, 201, "{made}");
        self.bearer(made["secret"].as_str().unwrap())
    }

    /// Sends any request, with headers and an optional JSON body: status, ETag and JSON of the
    /// response.
    pub fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Answer {
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("Authorization", format!("Bearer {}", self.token));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let sent = match body {
            Some(body) => self.agent.run(request.body(body.to_string()).unwrap()),
            // With a length of 0, not without one: that would be sent in chunks.
            None if ["POST", "PUT", "PATCH"].contains(&method) => {
                self.agent.run(request.body("").unwrap())
            }
            None => self.agent.run(request.body(()).unwrap()),
        };
        let mut answer = sent.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        let tag = answer.headers().get("etag");
        let tag = tag.map_or_else(String::new, |tag| tag.to_str().unwrap().to_owned());
        let text = answer.body_mut().read_to_string().unwrap();
        Answer {
            status: answer.status().as_u16(),
            tag,
            headers: answer.headers().clone(),
            body: serde_json::from_str(&text).unwrap_or(Value::String(text)),
        }
    }

    /// `PUT` of a JSON body, which must be accepted.
    pub fn put(&self, path: &str, body: &Value) -> Answer {
        let answer = self.request("PUT", path, &[], Some(body));
        let accepted = [200, 201].contains(&answer.status);
        assert!(accepted, "PUT {path}: {} {}", answer.status, answer.body);
        answer
    }

    /// The value of a metric whose line starts with `name` (with its labels, if any).
    pub fn metric(&self, name: &str) -> Option<f64> {
        let (_, text) = self.text("/metrics").ok()?;
        text.lines().find_map(|line| {
            let value = line.strip_prefix(name)?.strip_prefix(' ')?;
            value.split(' ').next()?.parse().ok()
        })
    }
}
