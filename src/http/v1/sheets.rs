//! `/v1/accounts/{name}/sheet`: what a customer needs to connect, to hand over.

use std::net::SocketAddr;

use actix_web::http::header::{self, ContentType};
use actix_web::{HttpResponse, web};
use serde_json::Value;

use super::call;
use super::settings::stored;
use crate::api::{AccountSheet, SheetEntrance};
use crate::config::{Config, ListenerProtocol, show_duration};
use crate::domain::settings::{ResourceKey, ResourceKind};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::configured;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// What a customer needs to connect as an account: where, as whom, its limits, and how to bind.
///
/// No secret is in it: who has just made the password writes it in the place of `password_words`. The host is
/// `smpp.public_host`, or the address of a listener.
#[utoipa::path(get, path = "/v1/accounts/{name}/sheet", tag = "configuration",
    params(("name" = String, Path, description = "its system_id"),
        ("format" = Option<String>, Query, description = "json or text; without it, text if the request accepts text/plain")),
    responses((status = 200, description = "The sheet", content((AccountSheet = "application/json"), (String = "text/plain")))))]
pub(super) async fn show(request: ApiRequest, name: web::Path<String>) -> ApiAnswer {
    let query = Query::read(&request, &["format"])?;
    let accepts = request.headers().get(header::ACCEPT);
    let accepts_text = accepts.is_some_and(|value| value.as_bytes().starts_with(b"text/plain"));
    let is_text = match query.text("format") {
        None => accepts_text,
        Some("text") => true,
        Some("json") => false,
        Some(other) => {
            let detail = format!("format is json or text, not {other:?}");
            return Err(Problem::bad_value("format", detail));
        }
    };
    let key = ResourceKey::new(ResourceKind::Account, name.into_inner());
    let settings = configured::resource(&stored(&request, &key).await?).settings;
    let name = key.name.clone();
    let asked = call(&request, |admin| async move {
        let plan = admin.node.plan();
        let account = plan.account(&name);
        let may_cmpp = account.is_some_and(|one| one.config.has_carrier_secret());
        (admin.node.config(), may_cmpp)
    });
    let (config, may_cmpp) = asked.await?;
    let mut entrances = entrances(&config);
    // It cannot log in there.
    entrances.retain(|one| may_cmpp || one.protocol != "cmpp");
    let sheet = sheet(key.name, &settings, entrances, &config);
    Ok(if is_text {
        HttpResponse::Ok()
            .insert_header(ContentType::plaintext())
            .body(format!("{}\n", sheet.text))
    } else {
        HttpResponse::Ok().json(sheet)
    })
}

/// The sheet of an account with these keys.
fn sheet(
    account: String,
    settings: &Value,
    entrances: Vec<SheetEntrance>,
    config: &Config,
) -> AccountSheet {
    let number = |key: &str| settings[key].as_u64();
    let list = |key: &str| -> Vec<String> {
        let entries = settings[key].as_array().into_iter().flatten();
        entries
            .filter_map(|entry| entry.as_str().map(str::to_owned))
            .collect()
    };
    let interval = config.smpp.enquire_link_interval;
    AccountSheet {
        account,
        enabled: settings["enabled"].as_bool().unwrap_or(true),
        entrances,
        system_type: settings["system_type"].as_str().map(str::to_owned),
        max_binds: number("max_binds").unwrap_or_default(),
        window: number("window").unwrap_or_default(),
        rate: settings["rate"].as_f64(),
        burst: number("burst"),
        quota_per_day: number("quota_per_day"),
        prepaid: settings["prepaid"].as_bool().unwrap_or_default(),
        allow: list("allow"),
        certificates: list("certificates"),
        senders: list("senders"),
        destinations: list("destinations"),
        addresses: list("addresses"),
        enquire_link_interval: (!interval.is_zero()).then(|| show_duration(interval)),
        text: String::new(),
        password_words: String::new(),
    }
    .written()
}

/// Where accounts may connect by the configuration of this node, whatever its roles; over CMPP only those with a shared
/// secret.
fn entrances(config: &Config) -> Vec<SheetEntrance> {
    let entrance = |protocol: &str, address: &SocketAddr, tls: bool| {
        let own = (!address.ip().is_unspecified()).then(|| address.ip().to_string());
        SheetEntrance {
            protocol: protocol.to_owned(),
            host: config.smpp.public_host.clone().or(own),
            port: address.port(),
            tls,
        }
    };
    let plain = config.smpp.listen.iter();
    let mut all: Vec<SheetEntrance> = plain
        .map(|address| entrance("smpp", address, false))
        .collect();
    for listener in &config.listener {
        let protocol = match listener.protocol {
            ListenerProtocol::Smpp => "smpp",
            ListenerProtocol::Cmpp => "cmpp",
        };
        let tls = listener.tls_cert.is_some();
        let addresses = listener.listen.iter();
        all.extend(addresses.map(|address| entrance(protocol, address, tls)));
    }
    if let Some(address) = &config.api.listen {
        all.push(entrance("http", address, config.api.tls_cert.is_some()));
    }
    // Of IPv4 and IPv6 with one name, the customer needs one line.
    let mut known: Vec<SheetEntrance> = Vec::new();
    for one in all {
        if !known.contains(&one) {
            known.push(one);
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::Smpp;

    #[test]
    fn the_public_host_stands_for_any_address() {
        let smpp = |public_host: Option<&str>| Config {
            smpp: Smpp {
                listen: ["0.0.0.0:2775", "[::]:2775", "192.0.2.1:2776"]
                    .map(|address| address.parse().unwrap())
                    .to_vec(),
                public_host: public_host.map(str::to_owned),
                ..Smpp::default()
            },
            ..Config::default()
        };
        let hosts = |config: &Config| -> Vec<(Option<String>, u16)> {
            let all = entrances(config).into_iter();
            all.map(|one| (one.host, one.port)).collect()
        };
        let named = Some("smpp.example".to_owned());
        assert_eq!(
            hosts(&smpp(Some("smpp.example"))),
            [(named.clone(), 2775), (named, 2776)]
        );
        let own = Some("192.0.2.1".to_owned());
        assert_eq!(hosts(&smpp(None)), [(None, 2775), (own, 2776)]);
    }

    #[test]
    fn a_sheet_has_the_keys_of_its_account() {
        let settings = json!({
            "enabled": true, "max_binds": 4, "window": 20, "rate": 5.0, "burst": null, "prepaid": true,
            "system_type": null, "allow": ["192.0.2.0/24"], "senders": [], "password": null,
        });
        let config = Config::default();
        let entrances = entrances(&config);
        let sheet = sheet("shop".to_owned(), &settings, entrances, &config);
        assert_eq!((sheet.max_binds, sheet.window), (4, 20));
        assert!(
            sheet.text.contains("from          192.0.2.0/24\n"),
            "{}",
            sheet.text
        );
        assert!(sheet.text.contains("paid in advance"), "{}", sheet.text);
    }
}
