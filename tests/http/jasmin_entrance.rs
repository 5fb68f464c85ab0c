//! `/send`, `/rate`, `/balance` and `/ping`: the examples of Jasmin's documentation, and its answers.

use serde_json::{Value, json};

use crate::harness::{Peer, Smsc, until};
use crate::plain::{Said, get, post, seen, with_sink};

const SWITCH: &str = "jasmin = true";
const FORM: &str = "application/x-www-form-urlencoded";
const USER: &str = "username=user&password=word";

/// Parameters of `/send` beside name and password, and the answer to them.
const WRONG: &[(&str, u16, &str)] = &[
    ("content=x", 400, "Mandatory argument [to] is not found."),
    (
        "to=447700900123",
        400,
        "content or hex-content not present.",
    ),
    (
        "to=447700900123&content=x&hex-content=00",
        400,
        "content and hex-content cannot be used both in same request.",
    ),
    (
        "to=447700900123&hex-content=0",
        400,
        "Invalid hex-content data: '0'",
    ),
    (
        "to=abc&content=x",
        400,
        "Argument [to] has an invalid value: [abc].",
    ),
    (
        "to=447700900123&content=%FF",
        400,
        "Argument [content] has an invalid value.",
    ),
    (
        "to=447700900123&content=x&colour=red",
        400,
        "Argument [colour] is unknown.",
    ),
    (
        "to=447700900123&content=x&coding=11",
        400,
        "Argument [coding] has an invalid value: [11].",
    ),
    (
        "to=447700900123&content=x&priority=4",
        400,
        "Argument [priority] has an invalid value: [4].",
    ),
    (
        "to=447700900123&content=x&sdt=tomorrow",
        400,
        "Argument [sdt] has an invalid value: [tomorrow].",
    ),
    (
        "to=447700900123&content=x&validity-period=1h",
        400,
        "Argument [validity-period] has an invalid value: [1h].",
    ),
    (
        "to=447700900123&content=x&dlr=maybe",
        400,
        "Argument [dlr] has an invalid value: [maybe].",
    ),
    (
        "to=447700900123&content=x&dlr-method=PUT",
        400,
        "Argument [dlr-method] has an invalid value: [PUT].",
    ),
    (
        "to=447700900123&content=x&tags=a%20b",
        400,
        "Argument [tags] has an invalid value: [a b].",
    ),
    (
        "to=447700900123&content=x&custom_tlvs=%5B%5B1%5D%5D",
        400,
        "Argument [custom_tlvs] has an invalid value: [[[1]]].",
    ),
    (
        "to=447700900123&content=x&from=EVIL",
        400,
        "Value filter failed for user [user] (source_address filter mismatch).",
    ),
    ("to=49170000002&content=x&from=ACME", 412, "No route found"),
];

fn call(smsc: &Smsc, path: &str, parameters: &str) -> Said {
    get(smsc.api_address(), &format!("/{path}?{USER}&{parameters}"))
}

/// The id of an accepted message.
fn id(said: &Said) -> String {
    assert_eq!(said.status, 200, "{said:?}");
    let id = said
        .text
        .strip_prefix("Success \"")
        .and_then(|rest| rest.strip_suffix('"'));
    id.unwrap_or_else(|| panic!("{said:?}")).to_owned()
}

fn sent(smsc: &Smsc, sink: &mut Peer, parameters: &str) -> String {
    id(&call(smsc, "send", parameters));
    seen(&sink.deliver())
}

#[test]
fn the_examples_of_the_documentation() {
    let (smsc, mut sink) = with_sink(SWITCH, "");
    let to = "to=%2B336222172";
    for (parameters, part) in [
        // example_send_gsm0338.py
        (
            "content=Hello",
            "dcs 00 esm 00 pid 0 priority 0 service \"\" octets [48, 65, 6c, 6c, 6f]",
        ),
        (
            "content=Hello&from=Jasmin+GW",
            "octets [48, 65, 6c, 6c, 6f]",
        ),
        // example_send_misc.py
        (
            "content=%06%23%061%06F%06%28&coding=8",
            "dcs 08 esm 00 pid 0 priority 0 service \"\" octets [06, 23, 06, 31, 06, 46, 06, 28]",
        ),
        (
            "hex-content=0623063106460628&coding=8",
            "octets [06, 23, 06, 31, 06, 46, 06, 28]",
        ),
        // What the 7-bit alphabet lacks becomes a question mark, as there.
        (
            "content=%C3%A9%E2%82%AC%D0%BF",
            "dcs 00 esm 00 pid 0 priority 0 service \"\" octets [05, 1b, 65, 3f]",
        ),
        (
            "content=%E9&coding=3",
            "dcs 03 esm 00 pid 0 priority 0 service \"\" octets [e9]",
        ),
        (
            "hex-content=05&priority=2&dlr=yes&tags=1,702",
            "priority 2 service \"\" octets [05]",
        ),
        (
            "content=x&dlr=no&dlr-level=2&validity-period=60&custom_tlvs=",
            "octets [78]",
        ),
    ] {
        let seen = sent(&smsc, &mut sink, &format!("{to}&{parameters}"));
        assert!(
            seen.contains("to 336222172") && seen.contains(part),
            "{parameters}: {seen}"
        );
    }
    let listed = smsc.api_of("user", "read").get("/v1/messages");
    let tagged = listed["messages"].as_array().unwrap().iter();
    let tags: Vec<&Value> = tagged
        .map(|one| &one["metadata"]["tags"])
        .filter(|tags| !tags.is_null())
        .collect();
    assert_eq!(tags, [&json!(["1", "702"])]);
    // Long content, by POST, as a form and as JSON.
    let long = "Very long message ".to_owned() + &".".repeat(180);
    let address = smsc.api_address();
    let body = format!("{USER}&{to}&content={}", long.replace(' ', "+"));
    let said = post(address, "/send", FORM, &body);
    let path = format!("/v1/messages/{}", id(&said));
    assert_eq!(smsc.api_of("user", "read").get(&path)["parts"], 2);
    assert!(
        said.head.contains("content-type: text/plain"),
        "{}",
        said.head
    );
    let body = json!({ "username": "user", "password": "word", "to": "336222172", "content": "é", "priority": 1, "custom_tlvs": [] });
    id(&post(
        address,
        "/send",
        "application/json",
        &body.to_string(),
    ));
    assert_eq!(get(address, "/ping").brief(), (200, "Jasmin/PONG"));
    assert_eq!(
        get(address, "/cgi-bin/sendsms").status,
        404,
        "not switched on"
    );
}

#[test]
fn errors_have_the_statuses_and_texts_of_jasmin() {
    let (smsc, _sink) = with_sink(SWITCH, "destinations = [\"44*\"]\nsenders = [\"ACME\"]");
    let fine = "to=447700900123&content=x";
    for (parameters, status, error) in WRONG {
        let said = call(&smsc, "send", parameters);
        assert_eq!(
            said.brief(),
            (*status, format!("Error \"{error}\"").as_str()),
            "{parameters}"
        );
    }
    let url = "dlr-url=http%3A%2F%2Fmyserver%2Facknowledgement&dlr-level=2";
    let said = call(&smsc, "send", &format!("{fine}&{url}"));
    assert!(
        said.status == 400 && said.text.contains("callback_hosts"),
        "{said:?}"
    );
    let address = smsc.api_address();
    for (path, said) in [
        (
            "/send?username=user&password=wrong&to=1&content=x",
            "Error \"Authentication failure for username:user\"",
        ),
        (
            "/send?username=nobody&password=x&to=1&content=x",
            "Error \"Authentication failure for username:nobody\"",
        ),
        (
            "/balance?username=user&password=wrong",
            "\"Authentication failure for username:user\"",
        ),
    ] {
        assert_eq!(get(address, path).brief(), (403, said), "{path}");
    }
    let nothing = "Mandatory arguments not found, please refer to the HTTPAPI specifications.";
    assert_eq!(
        get(address, "/balance").brief(),
        (400, format!("\"{nothing}\"").as_str())
    );
    let listed = smsc.api_of("user", "read").get("/v1/messages");
    assert_eq!(listed["messages"], json!([]), "nothing was accepted");
}

#[test]
fn scheduled_and_valid_for_minutes() {
    let (smsc, _sink) = with_sink(SWITCH, "");
    let said = call(
        &smsc,
        "send",
        "to=447700900123&content=x&sdt=000000010000000R&validity-period=120",
    );
    let message = smsc
        .api_of("user", "read")
        .get(&format!("/v1/messages/{}", id(&said)));
    let moment = |key: &str| smsc::domain::moment::parse(message[key].as_str().unwrap()).unwrap();
    let minutes = |key: &str| (moment(key) - moment("accepted_at") + 30_000) / 60_000;
    assert_eq!((minutes("due_at"), minutes("expires_at")), (60, 120));
    let said = call(
        &smsc,
        "send",
        "to=447700900123&content=x&sdt=000000010000000R&validity-period=30",
    );
    assert_eq!(
        said.brief(),
        (
            400,
            "Error \"Argument [validity-period] has an invalid value: [30].\""
        )
    );
}

#[test]
fn rate_and_balance() {
    let keys = "prepaid = true\nprices = { default = 3 }\nquota_per_day = 50";
    let (smsc, _sink) = with_sink(SWITCH, keys);
    let said = call(&smsc, "send", "to=447700900123&content=x");
    let charging = "Error \"Cannot charge submit_sm, check RouterPB log file for details\"";
    assert_eq!(said.brief(), (403, charging));
    let top_up = json!({ "add": 10, "reference": "1" });
    let path = "/v1/accounts/user/balance";
    assert_eq!(smsc.admin().call("POST", path, Some(&top_up)).0, 200);
    let json_of = |said: &Said| -> Value {
        assert_eq!(said.status, 200, "{said:?}");
        assert!(
            said.head.contains("content-type: application/json"),
            "{}",
            said.head
        );
        serde_json::from_str(&said.text).unwrap()
    };
    // example_rate.py, example_balance.py
    let rate = json_of(&call(&smsc, "rate", "to=06222172"));
    assert_eq!(rate, json!({ "unit_rate": 3.0, "submit_sm_count": 1 }));
    let long = format!("to=06222172&content={}", "a".repeat(161));
    let rate = json_of(&call(&smsc, "rate", &long));
    assert_eq!(rate, json!({ "unit_rate": 3.0, "submit_sm_count": 2 }));
    let balance = json_of(&call(&smsc, "balance", ""));
    assert_eq!(balance["balance"], 10.0);
    id(&call(&smsc, "send", "to=447700900123&content=x"));
    let balance = json_of(&call(&smsc, "balance", ""));
    assert_eq!(balance["balance"], 7.0);
    until("the balance is used up", || {
        let said = call(&smsc, "send", "to=447700900123&content=x");
        (said.status == 403).then_some(())
    });
}

#[test]
fn the_password_may_be_an_api_key() {
    let (smsc, _sink) = with_sink(SWITCH, "");
    let enter = |path: &str, role: &str| {
        let key = smsc.api_of("user", role);
        let path = format!("/{path}username=user&password={}", key.token());
        get(smsc.api_address(), &path).status
    };
    let send = "send?to=447700900123&content=x&";
    assert_eq!((enter(send, "send"), enter(send, "read")), (200, 403));
    assert_eq!(
        (enter("balance?", "read"), enter("balance?", "send")),
        (200, 403)
    );
}
