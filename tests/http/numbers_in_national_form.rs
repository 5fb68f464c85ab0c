//! `country` and `number_check` of an account: its recipients as they are dialled there, at every entrance over HTTP.

use super::plain::{get, post, with_sink};
use crate::harness::{Admin, Peer, Smsc};
use serde_json::{Value, json};

const NATIONAL: &str = "07700900123";
const TO: &[u8] = b"447700900123";
const ENTRANCES: &str = "kannel = true\njasmin = true\nxml_rpc = true";

fn order(to: &str) -> Value {
    json!({ "to": to, "from": "ACME", "text": "hello" })
}

fn refused(api: &Admin, to: &str, part: &str) {
    let (status, said) = api.call("POST", "/v1/messages", Some(&order(to)));
    assert_eq!(
        (status, said["field"].as_str()),
        (400, Some("to")),
        "{said}"
    );
    let detail = said["detail"].as_str().unwrap();
    assert!(detail.contains(part), "{to}: {detail}");
}

fn sent_to(sink: &mut Peer) -> Vec<u8> {
    let pdu = sink.deliver();
    assert_eq!((pdu.dest_addr_ton, pdu.dest_addr_npi), (1, 1));
    pdu.destination_addr.to_vec()
}

/// `sms.send` to this number, with the key as its first argument.
fn call(key: &str, number: &str) -> String {
    let member =
        |name, value| format!("<member><name>{name}</name><value>{value}</value></member>");
    let message = [
        ("user_numbers", number),
        ("sp_number", "ACME"),
        ("content", "hello"),
    ];
    let message: String = message
        .iter()
        .map(|(name, value)| member(*name, *value))
        .collect();
    format!(
        "<methodCall><methodName>sms.send</methodName><params><param><value>{key}</value></param>\
         <param><value><struct>{message}</struct></value></param></params></methodCall>"
    )
}

#[test]
fn every_entrance_understands_national_numbers() {
    let (smsc, mut sink) = with_sink(ENTRANCES, "country = \"GB\"");
    let api = smsc.api_of("user", "both");
    let written = "07700 900-123";
    let (status, said) = api.call("POST", "/v1/messages", Some(&order(written)));
    assert_eq!(status, 202, "{said}");
    assert_eq!(
        said["messages"][0]["to"], written,
        "as the request wrote it"
    );
    assert_eq!(sent_to(&mut sink), TO);
    let id = said["messages"][0]["id"].as_str().unwrap();
    assert_eq!(api.get(&format!("/v1/messages/{id}"))["to"], "447700900123");
    let (status, said) = api.call("POST", "/v1/messages/estimate", Some(&order(written)));
    assert_eq!(
        (status, &said["messages"][0]["error"]),
        (200, &Value::Null),
        "{said}"
    );
    assert_eq!(said["messages"][0]["to"], written);
    assert_eq!(said["messages"][0]["number"], "447700900123");
    let parameters = format!("username=user&password=word&to={NATIONAL}&text=hello&content=hello");
    let kannel = parameters.replace("&content=hello", "");
    assert_eq!(
        get(smsc.api_address(), &format!("/cgi-bin/sendsms?{kannel}")).status,
        202
    );
    assert_eq!(sent_to(&mut sink), TO);
    let jasmin = parameters.replace("&text=hello", "");
    assert_eq!(
        get(smsc.api_address(), &format!("/send?{jasmin}")).status,
        200
    );
    assert_eq!(sent_to(&mut sink), TO);
    let said = post(
        smsc.api_address(),
        "/RPC2",
        "text/xml",
        &call(api.token(), written),
    );
    assert!(
        said.text.contains(&format!("<string>{written}</string>")),
        "{}",
        said.text
    );
    assert_eq!(sent_to(&mut sink), TO);
    // Other countries, by a plus or by their length.
    for (to, number) in [
        ("+49 171 1234567", "491711234567"),
        ("491711234567", "491711234567"),
    ] {
        assert_eq!(
            api.call("POST", "/v1/messages", Some(&order(to))).0,
            202,
            "{to}"
        );
        assert_eq!(sent_to(&mut sink), number.as_bytes());
    }
    refused(
        &api,
        "0770090012345678",
        "impossible number: \"0770090012345678\" is too long in GB",
    );
    refused(&api, "0770O900123", "as it is dialled in GB");
    let said = post(
        smsc.api_address(),
        "/RPC2",
        "text/xml",
        &call(api.token(), "112"),
    );
    assert!(said.text.contains("impossible number"), "{}", said.text);
    // Opt-outs are in international form, as the list shows them.
    let (status, said) = api.call("PUT", "/v1/opt-outs/447700900123", None);
    assert_eq!(status, 200, "{said}");
    assert_eq!(
        api.call("POST", "/v1/messages", Some(&order(NATIONAL))).0,
        422
    );
}

#[test]
fn a_country_and_a_check_are_set_while_it_runs() {
    let smsc = Smsc::new()
        .with_api()
        .account("test", "test")
        .route("", "test:delivered")
        .start();
    let api = smsc.api_of("test", "send");
    let submit = |to: &str| api.call("POST", "/v1/messages", Some(&order(to))).0;
    // Without a country, digits are taken as they are: a test network may have any.
    for to in [NATIONAL, "447700900123", "+99912345678", "999"] {
        assert_eq!(submit(to), 202, "{to}");
    }
    let admin = smsc.admin();
    let set = |country: Option<&str>, check: &str| {
        let mut account = json!({ "system_id": "test", "password": "test", "number_check": check });
        if let Some(country) = country {
            account["country"] = json!(country);
        }
        admin.call("PUT", "/v1/accounts/test", Some(&account))
    };
    assert_eq!(set(None, "possible").0, 200);
    assert_eq!(submit("447700900123"), 202);
    refused(&api, "+99912345678", "is of no country");
    refused(&api, "4477", "is too short for its country");
    assert_eq!(set(Some("IT"), "valid").0, 200);
    assert_eq!(submit("06 1234 5678"), 202);
    refused(&api, "+447700900123", "is not in use");
    assert_eq!(set(Some("US"), "any").0, 200);
    assert_eq!(submit("(202) 555-0123"), 202);
    assert_eq!(submit("+99912345678"), 202);
    let (status, said) = set(Some("UK"), "any");
    assert_eq!(status, 422, "{said}");
    assert!(said.to_string().contains("two capital letters"), "{said}");
    let kept = admin.get("/v1/accounts/test").to_string();
    assert!(kept.contains(r#""country":"US""#), "{kept}");
}
