//! The client of the admin API that the commands use, and how they show times and numbers.

mod connection;
mod output;
mod page;
mod screen;
mod show;
mod stream;
mod table;

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};
use ureq::typestate::WithBody;
use ureq::{Agent, RequestBuilder};

pub use connection::AdminConnection;
pub use output::{CommandOutput, ListOutput, Listing};
pub use page::OutputPage;
pub use screen::{Screen, Tone};
pub use show::{ago, ahead, number, said_time, time};
pub(crate) use table::table_of;
pub use table::{BETWEEN, OutputTable, TableCell, visible};

const DEFAULT_URL: &str = "http://127.0.0.1:8080";
const DEFAULT_DATA_DIR: &str = "./smsc-data";
/// The server answers within 15 seconds or says why not.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Why an SMSC has not answered, where a command may go on all the same.
#[derive(Debug, thiserror::Error)]
pub enum AdminApiError {
    #[error(
        "nothing listens on {0}: is the SMSC running? Its address is http.listen; give it with --url or --config"
    )]
    NothingListens(String),
    #[error("{0} cannot be reached: there is no such host")]
    NoSuchHost(String),
    #[error(
        "{url} does not accept the token from {from}; give the right one with --token or --config"
    )]
    WrongToken { url: String, from: String },
    #[error("{0}")]
    Unreachable(String),
    /// In the words of the SMSC, as are refusals.
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Refused(String),
}

/// What the SMSC's words name as `GET /v1/…`, and the command that shows it.
const COMMANDS: &[(&str, &str)] = &[
    ("accounts", "smsc account list"),
    ("api-keys", "smsc key list"),
    ("binds", "smsc bind list"),
    ("config/versions", "smsc config versions"),
    ("damaged", "smsc damaged"),
    ("gsm", "smsc bind list"),
    ("held", "smsc held"),
    ("incidents", "smsc incident list"),
    ("messages", "smsc message list"),
    ("notes", "smsc account notes"),
    ("operators", "smsc operator list"),
    ("queues", "smsc queue list"),
    ("receipts/unmatched", "smsc receipt unmatched"),
    ("routes", "smsc route list"),
    ("tokens", "smsc token list"),
    ("usage", "smsc usage"),
];

/// A client of the admin API.
pub struct AdminClient {
    agent: Agent,
    url: String,
    /// Host and port of it, for errors.
    address: String,
    token: SecretString,
    /// Where the token came from, for the answer to a wrong one.
    token_from: String,
}

// === impl AdminClient ===

impl AdminClient {
    /// `GET`: the JSON that was answered.
    ///
    /// # Errors
    /// The SMSC cannot be reached, or it refuses; the text is its own.
    pub fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.read(self.request(Agent::get, path).call())
    }

    /// `POST` without a body: the JSON that was answered.
    ///
    /// # Errors
    /// As [`AdminClient::get`].
    pub fn post(&self, path: &str) -> anyhow::Result<Value> {
        self.read(self.request(Agent::post, path).send_empty())
    }

    /// `POST` with a body: the JSON that was answered.
    ///
    /// # Errors
    /// As [`AdminClient::get`].
    pub fn post_json(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.read(self.request(Agent::post, path).send_json(body))
    }

    /// `POST` without a body, when the version is still this one: the JSON that was answered.
    ///
    /// # Errors
    /// As [`AdminClient::get`].
    pub fn post_if(&self, path: &str, version: u64) -> anyhow::Result<Value> {
        let request = if_match(self.request(Agent::post, path), Some(version));
        self.read(request.send_empty())
    }

    /// `PUT` of a JSON document, when the version is still this one, if any: the JSON that was
    /// answered.
    ///
    /// # Errors
    /// As [`AdminClient::get`].
    pub fn put(&self, path: &str, body: &Value, version: Option<u64>) -> anyhow::Result<Value> {
        let request = if_match(self.request(Agent::put, path), version);
        self.put_json(request, body)
    }

    /// `PUT` of a JSON document that must be new: the JSON that was answered.
    ///
    /// # Errors
    /// As [`AdminClient::get`].
    pub fn put_new(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let request = self.request(Agent::put, path);
        self.put_json(request.header("If-None-Match", "*"), body)
    }

    /// `DELETE`: the JSON that was answered.
    ///
    /// # Errors
    /// As [`AdminClient::get`].
    pub fn delete(&self, path: &str) -> anyhow::Result<Value> {
        self.delete_if(path, None)
    }

    /// `DELETE`, only if the resource still has this version: the JSON that was answered.
    ///
    /// # Errors
    /// As [`AdminClient::get`].
    pub fn delete_if(&self, path: &str, version: Option<u64>) -> anyhow::Result<Value> {
        self.read(if_match(self.request(Agent::delete, path), version).call())
    }

    /// A request for a path, with the token.
    fn request<B>(
        &self,
        method: impl FnOnce(&Agent, String) -> RequestBuilder<B>,
        path: &str,
    ) -> RequestBuilder<B> {
        let request = method(&self.agent, format!("{}{path}", self.url));
        request.header(
            "Authorization",
            format!("Bearer {}", self.token.expose_secret()),
        )
    }

    fn put_json(&self, request: RequestBuilder<WithBody>, body: &Value) -> anyhow::Result<Value> {
        let request = request.header("Content-Type", "application/json");
        // Not chunked: the server wants to know how much there is.
        self.read(request.send(body.to_string()))
    }

    fn read(
        &self,
        answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> anyhow::Result<Value> {
        let mut answer = answer.map_err(|error| self.unreachable(&error))?;
        let status = answer.status().as_u16();
        let body: Option<Value> = answer.body_mut().read_json().ok();
        match (status, &body) {
            // No Content.
            (204, _) => return Ok(Value::Null),
            (200..300, Some(body)) => return Ok(body.clone()),
            _ => {}
        }
        let detail = body
            .as_ref()
            .and_then(|body| body["detail"].as_str())
            .map(by_commands);
        Err(match (status, detail) {
            (401, _) => anyhow!(AdminApiError::WrongToken {
                url: self.url.clone(),
                from: self.token_from.clone(),
            }),
            (404, Some(detail)) => anyhow!(AdminApiError::NotFound(detail)),
            (400..500, Some(detail)) => {
                let problems = problems(body.as_ref()).filter(|_| status == 422);
                anyhow!(AdminApiError::Refused(problems.unwrap_or(detail)))
            }
            (_, Some(detail)) => anyhow!(detail),
            (_, None) => anyhow!(
                "{} answered {status} without the JSON of an SMSC; is --url right?",
                self.url
            ),
        })
    }

    fn unreachable(&self, error: &ureq::Error) -> anyhow::Error {
        let refused = match error {
            ureq::Error::ConnectionFailed => true,
            ureq::Error::Io(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
            _ => false,
        };
        let address = self.address.clone();
        match error {
            _ if refused => anyhow!(AdminApiError::NothingListens(address)),
            _ if is_unknown(&address) => anyhow!(AdminApiError::NoSuchHost(address)),
            error => {
                let why = match error {
                    ureq::Error::Io(error) => crate::tls::handshake_refusal(error),
                    other => crate::tls::reworded(&other.to_string()),
                };
                anyhow!(AdminApiError::Unreachable(format!(
                    "{address} cannot be reached: {why}"
                )))
            }
        }
    }
}

/// A request that is carried out when the version is still this one, if any.
fn if_match<B>(request: RequestBuilder<B>, version: Option<u64>) -> RequestBuilder<B> {
    match version {
        Some(version) => request.header("If-Match", format!("\"{version}\"")),
        None => request,
    }
}

/// What the SMSC says, with commands in the place of the paths that it names.
pub(super) fn by_commands(detail: &str) -> String {
    // A bind is named as /v1/binds/0/17.
    let detail = detail.replace("as /v1/binds/", "as ");
    let (mut said, mut rest) = (String::new(), detail.as_str());
    while let Some((front, behind)) = rest.split_once("GET /v1/") {
        let is_behind = |one: char| one.is_whitespace() || ",;)".contains(one);
        let end = behind.find(is_behind).unwrap_or(behind.len());
        let (place, after) = behind.split_at(end);
        said.push_str(front);
        match command_of(place) {
            Some(command) => said.push_str(&format!("`{command}`")),
            None => said.push_str(&format!("GET /v1/{place}")),
        }
        rest = after;
    }
    said + rest
}

/// The command that shows what is at a path, with the query as options.
fn command_of(place: &str) -> Option<String> {
    let (path, query) = place.split_once('?').unwrap_or((place, ""));
    let (_, command) = COMMANDS.iter().find(|(known, _)| *known == path)?;
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let options = pairs.map(|pair| format!(" --{}", pair.replacen('=', " ", 1)));
    Some(options.fold((*command).to_owned(), |line, option| line + &option))
}

/// Whether there is no such host; false while nobody can say.
fn is_unknown(address: &str) -> bool {
    // EAI_NONAME and EAI_NODATA of getaddrinfo, which has no other name here than its words.
    const WORDS: [&str; 3] = [
        "Name or service not known",
        "No address associated with hostname",
        "Name does not resolve",
    ];
    let error = address
        .to_socket_addrs()
        .err()
        .map(|error| error.to_string());
    error.is_some_and(|said| WORDS.iter().any(|words| said.contains(words)))
}

/// Everything that is wrong with a configuration, one a line.
fn problems(body: Option<&Value>) -> Option<String> {
    let problems = body?["problems"].as_array()?;
    let lines: Vec<String> = problems
        .iter()
        .map(|one| {
            let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
            format!("\n  {}: {}", text("field"), text("message"))
        })
        .collect();
    (!lines.is_empty()).then(|| format!("{} problems:{}", lines.len(), lines.concat()))
}

/// The JSON as one of the API's structs.
///
/// # Errors
/// The SMSC is of another version.
pub fn decode<T: DeserializeOwned>(json: Value) -> anyhow::Result<T> {
    serde_json::from_value(json).context(
        "the answer is not understood; are smsc here and the running one of the same version?",
    )
}

/// Prints JSON for `--json`.
///
/// # Errors
/// Standard output is closed.
pub fn print_json(json: &Value) -> anyhow::Result<()> {
    print_line(&serde_json::to_string_pretty(json)?)
}

/// Prints a table or a line; a closed pipe (`| head`) is an error, not a panic.
///
/// # Errors
/// Standard output is closed.
pub fn print_line(text: &str) -> anyhow::Result<()> {
    use std::io::Write as _;
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}

/// Waits, before something is asked again.
pub fn pause(time: Duration) {
    // Never unparked.
    std::thread::park_timeout(time);
}

/// A path with a query, to which what is given is added.
pub fn with_given(mut path: String, given: &[(&str, &Option<String>)]) -> String {
    for (name, value) in given {
        if let Some(value) = value {
            path.push_str(&format!("&{name}={}", segment(value)));
        }
    }
    path
}

/// Makes one segment of a path out of a name.
pub fn segment(name: &str) -> String {
    let mut path = String::with_capacity(name.len());
    for octet in name.bytes() {
        match octet {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => {
                path.push(char::from(octet));
            }
            _ => path.push_str(&format!("%{octet:02X}")),
        }
    }
    path
}

/// Whom to believe behind this address: the machine's authorities, and the certificates of these
/// files, which may have signed themselves.
///
/// # Errors
/// A file that is not certificates.
pub(super) fn trust<'a>(
    url: &str,
    files: impl Iterator<Item = &'a PathBuf>,
) -> anyhow::Result<TlsConfig> {
    let owned = |octets: &CertificateDer<'_>| Certificate::from_der(octets).to_owned();
    let mut roots = Vec::new();
    if url.starts_with("https://") {
        let native = rustls_native_certs::load_native_certs().certs;
        roots.extend(native.iter().map(owned));
        for file in files {
            let unread = || format!("{} cannot be used as certificates", file.display());
            let read = CertificateDer::pem_file_iter(file)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .with_context(unread)?;
            roots.extend(read.iter().map(owned));
        }
    }
    Ok(tls(roots, true))
}

/// TLS that trusts these authorities, or, unverified, any server.
pub(super) fn tls(roots: Vec<Certificate<'static>>, verified: bool) -> TlsConfig {
    TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .root_certs(RootCerts::new_with_certs(&roots))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .disable_verification(!verified)
        .build()
}

/// Host and port of an address, also where the port is the usual one of its scheme.
pub(super) fn host_and_port(url: &str) -> String {
    let Ok(uri) = url.parse::<ureq::http::Uri>() else {
        return url.to_owned();
    };
    let usual = if uri.scheme_str() == Some("https") {
        443
    } else {
        80
    };
    let port = uri.port_u16().unwrap_or(usual);
    match uri.host() {
        Some(host) => format!("{host}:{port}"),
        None => url.to_owned(),
    }
}

/// Where a server that listens on `listen` is reached from this machine.
pub(super) fn url_of(listen: SocketAddr, by_tls: bool) -> String {
    let mut address = listen;
    match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => {
            address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        IpAddr::V6(ip) if ip.is_unspecified() => {
            address.set_ip(std::net::Ipv6Addr::LOCALHOST.into());
        }
        _ => {}
    }
    let scheme = if by_tls { "https" } else { "http" };
    format!("{scheme}://{address}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_path_segments() {
        assert_eq!(segment("operator:up"), "operator:up");
        assert_eq!(segment("account:a b/ü%"), "account:a%20b%2F%C3%BC%25");
    }

    #[test]
    fn errors_name_commands() {
        assert_eq!(
            by_commands("there is no queue \"x\"; GET /v1/queues lists them"),
            "there is no queue \"x\"; `smsc queue list` lists them"
        );
        for (said, shown) in [
            (
                "not in version 3; GET /v1/config/versions?resource=routes/44 lists when",
                "not in version 3; `smsc config versions --resource routes/44` lists when",
            ),
            ("look (GET /v1/gsm), then", "look (`smsc bind list`), then"),
            ("GET /v1/held, GET /v1/held", "`smsc held`, `smsc held`"),
            ("such as /v1/binds/0/17, not", "such as 0/17, not"),
            ("GET /v1/number-ranges lists", "GET /v1/number-ranges lists"),
        ] {
            assert_eq!(by_commands(said), shown);
        }
    }

    #[test]
    fn an_error_names_host_and_port() {
        for (url, shown) in [
            ("https://smsc.example", "smsc.example:443"),
            ("http://smsc.example/x", "smsc.example:80"),
            ("http://[::1]:8080", "[::1]:8080"),
            ("http://127.0.0.1:1", "127.0.0.1:1"),
        ] {
            assert_eq!(host_and_port(url), shown);
        }
    }

    #[test]
    fn an_unspecified_address_is_reached_by_loopback() {
        assert_eq!(
            url_of("0.0.0.0:8080".parse().unwrap(), false),
            "http://127.0.0.1:8080"
        );
        assert_eq!(url_of("[::]:1".parse().unwrap(), false), "http://[::1]:1");
        assert_eq!(
            url_of("10.0.0.7:80".parse().unwrap(), false),
            "http://10.0.0.7:80"
        );
    }
}
