//! The credentials of an operator with `managed = true`, fetched before each bind from the management service
//! (docs/coming-from.md).
//!
//! Called by `binding.rs` on each attempt to connect. Invariants: a password lives in the answer, and in the one
//! configuration that is made of it for one bind; no error repeats anything of an answer, and nothing here is logged,
//! stored or shown. An attempt without an answer fails like one without a connection.

use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::actors::context::managed::Terms;
use crate::actors::runtime::https::{self, NamedFile};
use crate::config::{OperatorConfig, SmppConnector};
use crate::smpp::session::BindType;

/// Longest answer in octets.
const MAX_ANSWER: u64 = 64 * 1024;
const KEY: &str = "compat.smpp_connector";

/// What the service has answered.
pub(super) struct Credentials {
    /// The operator with everything that it takes to bind.
    pub operator: Arc<OperatorConfig>,
    pub bind_type: Option<BindType>,
    pub terms: Terms,
}

/// Asks the service about an operator.
///
/// # Errors
/// Why there is no answer that could be used, for people.
pub(super) async fn fetch(
    compat: SmppConnector,
    operator: OperatorConfig,
) -> Result<Credentials, String> {
    let asked = tokio::task::spawn_blocking(move || ask(&compat, operator)).await;
    let answer = asked.map_err(|error| format!("credentials: {error}"))?;
    answer.map_err(|why| format!("credentials: {why}"))
}

fn ask(compat: &SmppConnector, operator: OperatorConfig) -> Result<Credentials, String> {
    let Some(base) = &compat.management_url else {
        return Err(format!("{KEY}.management_url is not set on this node"));
    };
    let base = base.trim_end_matches('/');
    let url = format!("{base}/internal/operators/{}/smpp-credentials", operator.id);
    let octets = request(compat, &url)?;
    let answer: Value =
        serde_json::from_slice(&octets).map_err(|_| "the answer is no JSON".to_owned())?;
    read(&answer, operator)
}

fn request(compat: &SmppConnector, url: &str) -> Result<Vec<u8>, String> {
    let (cert_key, key_key) = (
        format!("{KEY}.management_cert"),
        format!("{KEY}.management_key"),
    );
    let identity = compat
        .management_cert
        .as_deref()
        .zip(compat.management_key.as_deref())
        .map(|(cert, key)| {
            let named = |key, file| NamedFile { key, file };
            (named(cert_key.as_str(), cert), named(&key_key, key))
        });
    let ca_key = format!("{KEY}.management_ca_file");
    let tls = https::tls(url, &ca_key, compat.management_ca_file.as_deref(), identity)?;
    // A certificate may be another one the next time, so nothing is kept between requests. What comes is secret: it
    // passes no proxy of the environment, and follows nobody elsewhere.
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(compat.management_timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_idle_connections(0)
        .proxy(None)
        .tls_config(tls)
        .build()
        .into();
    let mut request = agent.get(url).header("Accept", "application/json");
    if let Some(token) = &compat.management_token {
        request = request.header("Authorization", format!("Bearer {}", token.expose_secret()));
    }
    let mut answer = request
        .call()
        .map_err(|error| unreachable(&error, compat.management_timeout))?;
    match answer.status().as_u16() {
        200 => {}
        404 => return Err("the management service does not know this operator".to_owned()),
        status => {
            return Err(format!(
                "the management service answers with status {status}"
            ));
        }
    }
    let body = answer.body_mut().with_config().limit(MAX_ANSWER);
    body.read_to_vec()
        .map_err(|error| unreachable(&error, compat.management_timeout))
}

fn unreachable(error: &ureq::Error, within: Duration) -> String {
    match error {
        ureq::Error::Timeout(_) => {
            format!("the management service has not answered within {within:?}")
        }
        other => {
            let why = https::unanswered(other);
            format!("the management service cannot be reached: {why}")
        }
    }
}

/// The operator as the answer describes it. No error has more of the answer than the name of a field.
fn read(answer: &Value, operator: OperatorConfig) -> Result<Credentials, String> {
    let lacking = |field: &str| format!("the answer has no `{field}` that could be used");
    let text = |field: &str| {
        let value = answer.get(field).and_then(Value::as_str);
        value.filter(|value| !value.is_empty())
    };
    let needed = |field: &str| text(field).ok_or_else(|| lacking(field));
    if text("operatorId").is_some_and(|id| id != operator.id) {
        return Err("the answer is about another operator".to_owned());
    }
    let host = needed("host")?;
    let port = answer.get("port").and_then(Value::as_u64);
    let port = port.and_then(|port| u16::try_from(port).ok());
    let port = port
        .filter(|port| *port > 0)
        .ok_or_else(|| lacking("port"))?;
    let rate = match answer.get("tpsLimit") {
        None | Some(Value::Null) => None,
        Some(limit) => {
            let limit = limit.as_f64().filter(|limit| *limit > 0.0);
            Some(limit.ok_or_else(|| lacking("tpsLimit"))?)
        }
    };
    let bind_type = match text("bindMode") {
        None => None,
        Some("TRANSCEIVER") => Some(BindType::Transceiver),
        Some("TRANSMITTER") => Some(BindType::Transmitter),
        Some("RECEIVER") => Some(BindType::Receiver),
        Some(_) => return Err(lacking("bindMode")),
    };
    // An address of IPv6 has colons of its own.
    let address = if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    };
    let system_id = needed("systemId")?.to_owned();
    let password = SecretString::from(needed("password")?);
    let name = text("operatorName").or_else(|| text("name"));
    Ok(Credentials {
        bind_type,
        terms: Terms {
            rate,
            name: name.map(str::to_owned),
            backup: text("backupOperatorId").map(str::to_owned),
        },
        operator: Arc::new(OperatorConfig {
            address,
            system_id,
            password,
            ..operator
        }),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn operator() -> OperatorConfig {
        OperatorConfig {
            id: "550e8400".to_owned(),
            managed: true,
            window: 77,
            ..OperatorConfig::default()
        }
    }

    fn answer() -> Value {
        json!({
            "operatorId": "550e8400", "host": "smpp1.example", "port": 2775,
            "systemId": "smsgtw01", "password": "s3cr3t", "tpsLimit": 100,
            "bindMode": "TRANSCEIVER", "backupOperatorId": null,
        })
    }

    #[test]
    fn an_answer_makes_an_operator() {
        let made = read(&answer(), operator()).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(made.operator.address, "smpp1.example:2775");
        assert_eq!(made.operator.system_id, "smsgtw01");
        assert_eq!(made.operator.password.expose_secret(), "s3cr3t");
        assert_eq!(made.operator.window, 77, "the rest is as configured");
        assert_eq!(made.terms.rate, Some(100.0));
        assert_eq!(made.terms.backup, None);
        assert_eq!(made.bind_type, Some(BindType::Transceiver));
    }

    #[test]
    fn addresses_of_ipv6_get_brackets() {
        let mut v6 = answer();
        v6["host"] = json!("2001:db8::1");
        let made = read(&v6, operator()).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(made.operator.address, "[2001:db8::1]:2775");
    }

    #[test]
    fn an_error_names_the_field_and_never_its_value() {
        for (field, value) in [
            ("host", json!("")),
            ("port", json!(70_000)),
            ("port", json!("s3cr3t")),
            ("systemId", json!(17)),
            ("password", json!({"value": "s3cr3t"})),
            ("password", Value::Null),
            ("tpsLimit", json!(-1)),
            ("bindMode", json!("s3cr3t")),
        ] {
            let mut wrong = answer();
            wrong[field] = value;
            let Err(why) = read(&wrong, operator()) else {
                panic!("{field} was taken");
            };
            assert!(why.contains(&format!("`{field}`")), "{why}");
            assert!(!why.contains("s3cr3t"), "{why}");
        }
        let mut other = answer();
        other["operatorId"] = json!("another");
        assert!(read(&other, operator()).is_err());
    }
}
