//! Errors in words about the request: which member, which number, which size, and an id that the log has as well.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use super::delivering;
use crate::harness::{Admin, Answerer, Smsc, until};
use serde_json::{Value, json};

const TO: &str = "447700900123";
const ORDER: &str = r#"{"to": "447700900123", "from": "ACME", "text": "hello"}"#;

/// An answer to octets that no client library would send.
struct Raw {
    status: u16,
    head: String,
    body: Value,
}

fn post(api: &Admin, path: &str, headers: &str, body: &[u8]) -> Raw {
    let length = body.len();
    let head = format!("Content-Length: {length}\r\n{headers}");
    exchange(api, path, &head, body)
}

fn exchange(api: &Admin, path: &str, headers: &str, body: &[u8]) -> Raw {
    let address = api.base().strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(address).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {}\r\n{headers}\r\n",
        api.token()
    );
    socket.write_all(head.as_bytes()).unwrap();
    socket.write_all(body).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    Raw {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: head.to_ascii_lowercase(),
        body: serde_json::from_str(body).unwrap_or(Value::Null),
    }
}

fn kind(body: &Value) -> &str {
    let word = body["type"].as_str().unwrap_or_default();
    word.strip_prefix("urn:smsc:problem:").unwrap_or(word)
}

#[test]
fn what_is_wrong_in_an_order_is_named() {
    let smsc = delivering();
    let api = smsc.api_of("test", "both");
    for (order, field, part) in [
        (
            json!({ "to": 447_700_900_123_u64, "text": "x" }),
            "to",
            "a number in quotes",
        ),
        (
            json!({ "to": [1], "text": "x" }),
            "to",
            "an entry of the list",
        ),
        (
            json!({ "to": [{ "number": TO, "nmae": 1 }], "text": "x" }),
            "nmae",
            "unknown field",
        ),
        (
            json!({ "to": TO, "text": 5 }),
            "text",
            "must be a text, not 5",
        ),
        (
            json!({ "to": TO, "text": "x", "priority": -1 }),
            "priority",
            "a whole number from 0 to 255, not -1",
        ),
        (
            json!({ "to": TO, "text": "x", "metadata": [] }),
            "metadata",
            "must be an object, not a list",
        ),
        (
            json!({ "to": [{ "values": {} }], "text": "x" }),
            "to",
            "number is missing",
        ),
        (json!({ "to": TO, "text": "" }), "text", "text is empty"),
        (
            json!({ "to": [{ "number": TO, "values": { "a": "" } }], "text": "{{a}}" }),
            "text",
            "text is empty",
        ),
        (
            json!({ "to": TO, "text": "x", "alphabet": "morse" }),
            "alphabet",
            "`gsm`, `ucs2`, `latin1`",
        ),
        (json!([]), "body", "not a list"),
    ] {
        let (status, said) = api.call("POST", "/v1/messages", Some(&order));
        assert_eq!(
            (status, said["field"].as_str()),
            (400, Some(field)),
            "{said}"
        );
        let detail = said["detail"].as_str().unwrap();
        assert!(detail.contains(part), "{detail}");
        assert!(!detail.contains("untagged"), "{detail}");
    }
    let twice = post(
        &api,
        "/v1/messages",
        "",
        br#"{"to": "447700900123", "text": "a", "text": "b"}"#,
    );
    assert_eq!((twice.status, kind(&twice.body)), (400, "bad-value"));
    assert_eq!(twice.body["field"], "text", "{}", twice.body);
}

#[test]
fn bodies_that_are_no_plain_json_are_named() {
    let smsc = delivering();
    let api = smsc.api_of("test", "both");
    let admin = smsc.admin();
    let marked = [b"\xEF\xBB\xBF", ORDER.as_bytes()].concat();
    assert_eq!(
        post(&api, "/v1/messages", "", &marked).status,
        202,
        "a mark is ignored"
    );
    let utf16: Vec<u8> = std::iter::once(0xFEFF)
        .chain(ORDER.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let gzip = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xab\xae\x05\0\x43\xbf\xa6\xa3\x02\0\0\0";
    let zipped = "Content-Encoding: gzip\r\n";
    for (api, path) in [(&api, "/v1/messages"), (&admin, "/v1/tokens")] {
        for (headers, body) in [("", &utf16[..]), ("", &gzip[..]), (zipped, &gzip[..])] {
            let said = post(api, path, headers, body);
            let found = (said.status, kind(&said.body));
            assert_eq!(found, (415, "unsupported-encoding"), "{}", said.body);
            assert!(
                said.head.contains("accept-encoding: identity"),
                "{}",
                said.head
            );
        }
        let twice = post(api, path, "", br#"{"name": "a", "name": "b"}"#);
        assert_eq!(
            (twice.status, twice.body["field"].as_str()),
            (400, Some("name"))
        );
    }
    let chunked = exchange(
        &admin,
        "/v1/tokens",
        "Transfer-Encoding: chunked\r\n",
        b"2\r\n{}\r\n0\r\n\r\n",
    );
    assert_eq!(
        (chunked.status, kind(&chunked.body)),
        (411, "length-required")
    );
}

#[test]
fn a_body_has_a_size_and_an_end() {
    let smsc = delivering();
    let api = smsc.api_of("test", "both");
    let long = vec![b' '; 1_100_000];
    let said = post(&api, "/v1/messages", "", &long);
    assert_eq!((said.status, kind(&said.body)), (413, "too-large"));
    assert_eq!(said.body["most_octets"], 1 << 20, "{}", said.body);
    let said = post(&smsc.admin(), "/v1/tokens", "", &[b' '; 20_000]);
    assert_eq!(
        (said.status, said.body["most_octets"].as_u64()),
        (413, Some(16 * 1024))
    );
    // One octet is announced more than comes.
    let announced = format!("Content-Length: {}\r\n", ORDER.len() + 1);
    let said = exchange(&api, "/v1/messages", &announced, ORDER.as_bytes());
    assert_eq!(
        (said.status, kind(&said.body)),
        (408, "request-timeout"),
        "{}",
        said.body
    );
}

#[test]
fn an_estimate_and_a_submission_agree_on_the_largest_text() {
    let operator = Answerer::start();
    let smsc = Smsc::new()
        .with_api()
        .relaying_to(operator.address())
        .start();
    smsc.wait_for_binds("up", 1);
    let api = smsc.api_of("test", "both");
    // 255 parts of 153 septets, after the number of each part.
    for (length, fits) in [(255 * 153, true), (255 * 153 + 1, false), (60_001, false)] {
        let order = json!({ "to": TO, "from": "ACME", "text": "x".repeat(length) });
        let (_, estimate) = api.call("POST", "/v1/messages/estimate", Some(&order));
        let (status, said) = api.call("POST", "/v1/messages", Some(&order));
        assert_eq!(status == 202, fits, "{length}: {said}");
        let error = match &estimate["messages"] {
            Value::Null => &estimate,
            messages => &messages[0]["error"],
        };
        assert_eq!(error.is_null(), fits, "{length}: {estimate}");
        if !fits {
            for problem in [error, &said] {
                assert_eq!(problem["field"], "text", "{problem}");
            }
            assert_eq!(error["detail"], said["detail"]);
        }
    }
}

#[test]
fn refusals_say_what_is_wrong_with_the_number() {
    let smsc = Smsc::new()
        .with_api()
        .account_with("test", "test", "destinations = [\"44*\", \"33*\"]")
        .route("44", "test:delivered")
        .start();
    let api = smsc.api_of("test", "both");
    assert_eq!(api.call("PUT", "/v1/opt-outs/447700900001", None).0, 200);
    for (to, part) in [
        ("33612345678", "no route leads"),
        ("4915112345678", "may not send"),
        ("447700900001", "opted out"),
    ] {
        let order = json!({ "to": to, "from": "ACME", "text": "x" });
        for path in ["/v1/messages", "/v1/messages/estimate"] {
            let (_, said) = api.call("POST", path, Some(&order));
            let problem = match &said["messages"] {
                Value::Null => &said,
                messages => &messages[0]["error"],
            };
            assert_eq!(problem["field"], "to", "{path}: {said}");
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains(part), "{path}: {detail}");
        }
    }
}

#[test]
fn filters_take_numbers_as_submissions_do() {
    let smsc = Smsc::new()
        .with_api()
        .account_with("test", "test", "country = \"GB\"")
        .route("", "test:delivered")
        .start();
    let api = smsc.api_of("test", "both");
    let order = json!({ "to": "07700 900123", "from": "ACME", "text": "x" });
    assert_eq!(api.call("POST", "/v1/messages", Some(&order)).0, 202);
    assert_eq!(api.call("PUT", "/v1/opt-outs/07700%20900123", None).0, 200);
    let forms = [
        "447700900123",
        "%2B44%207700%20900123",
        "+447700900123",
        "0044%207700%20900123",
        "07700%20900123",
        "(07700)900-123",
        "7700900123",
    ];
    let admin = smsc.admin();
    for form in forms {
        let paths = [
            (&api, format!("/v1/messages?to={form}")),
            (&admin, format!("/v1/messages?account=test&to={form}")),
        ];
        for (client, path) in paths {
            until("the search finds it", || {
                let found = client.get(&path);
                (found["messages"].as_array()?.len() == 1).then_some(())
            });
        }
    }
    // A list shows numbers without a plus, so there only the zero says that one is national.
    for form in &forms[..6] {
        let listed = api.get(&format!("/v1/opt-outs?number={form}"));
        assert_eq!(listed["opt_outs"].as_array().unwrap().len(), 1, "{form}");
    }
    for form in &forms[..4] {
        let listed = admin.get(&format!("/v1/opt-outs?number={form}"));
        assert_eq!(listed["opt_outs"].as_array().unwrap().len(), 1, "{form}");
        let found = admin.get(&format!("/v1/messages?to={form}"));
        assert_eq!(found["messages"].as_array().unwrap().len(), 1, "{form}");
    }
}

#[test]
fn every_answer_has_an_id_that_the_log_has() {
    let smsc = delivering();
    let api = smsc.api_of("test", "both");
    let order: Value = serde_json::from_str(ORDER).unwrap();
    let accepted = api.request("POST", "/v1/messages", &[], Some(&order));
    assert_eq!(
        (accepted.status, accepted.header("x-request-id").len()),
        (202, 32)
    );
    let own = [("X-Request-Id", "shop-1:42")];
    let wrong = json!({ "to": "nobody", "text": "x" });
    let refused = api.request("POST", "/v1/messages", &own, Some(&wrong));
    assert_eq!(
        (refused.status, refused.header("x-request-id")),
        (400, "shop-1:42")
    );
    assert_eq!(refused.body["request_id"], "shop-1:42");
    for (client, path) in [
        (&api.bearer("wrong"), "/v1/messages"),
        (&api, "/nothing"),
        (&smsc.admin(), "/v1/queues/none"),
        (&smsc.admin().bearer("wrong"), "/v1/queues"),
    ] {
        let answer = client.request("GET", path, &[], None);
        let id = answer.header("x-request-id").to_owned();
        assert_eq!(answer.body["request_id"], id, "{path}: {}", answer.body);
        assert_eq!(answer.header("cache-control"), "no-store", "{path}");
        until("the log has the id", || {
            smsc.log().contains(&id).then_some(())
        });
    }
    assert!(smsc.log().contains("shop-1:42"));
    let metrics = smsc.admin().request("GET", "/metrics", &[], None);
    assert_eq!(metrics.header("x-request-id").len(), 32);
}

#[test]
fn a_refused_request_has_the_problem_of_the_first_message() {
    let smsc = delivering();
    let api = smsc.api_of("test", "both");
    assert_eq!(api.call("PUT", "/v1/opt-outs/447700900777", None).0, 200);
    let opted_out = |to: &str| {
        let order = json!({ "to": [to, "abc"], "text": "x" });
        api.call("POST", "/v1/messages", Some(&order))
    };
    // Two zeros behind a plus say the same as one of both.
    for to in ["447700900777", "+00447700900777", "0044 7700 900777"] {
        until("the opt-out to count", || {
            (opted_out(to).0 == 422).then_some(())
        });
        let (_, said) = opted_out(to);
        assert_eq!(kind(&said), "message-refused", "{said}");
        assert!(
            said["detail"].as_str().unwrap().contains("opted out"),
            "{said}"
        );
    }
}
