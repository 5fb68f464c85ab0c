//! Every limit says which it is, when it lets a request pass, and how much is left before it is reached: the member
//! `limit`, `retry_at`, Retry-After, and the fields RateLimit and RateLimit-Policy.

use crate::harness::{Admin, Answer, Cluster, Smsc, until};
use serde_json::{Value, json};
use smsc::clock::now_ms;
use smsc::domain::moment;
use smsc::domain::price::end_of_day;

const TO: &str = "447700900123";
/// How far apart two readings of a clock may be, in milliseconds.
const APART: i64 = 20_000;

fn order(count: usize) -> Value {
    let many: Vec<String> = (0..count).map(|n| format!("4477009001{n:02}")).collect();
    json!({ "to": many, "from": "ACME", "text": "x" })
}

fn send(api: &Admin, order: &Value) -> Answer {
    api.request("POST", "/v1/messages", &[], Some(order))
}

fn smsc(keys: &str) -> Smsc {
    Smsc::new()
        .with_api()
        .account_with("test", "test", keys)
        .route("", "test:delivered")
        .start()
}

/// When a problem says that the request may come again, in Unix milliseconds.
fn retry_at(problem: &Value) -> i64 {
    let text = problem["retry_at"].as_str();
    let text = text.unwrap_or_else(|| panic!("no retry_at in {problem}"));
    moment::parse(text).unwrap()
}

fn retry_after(answer: &Answer) -> i64 {
    let said = answer.header("retry-after");
    said.parse().unwrap_or_else(|_| panic!("{answer:?}"))
}

/// The answer is a problem of this type and limit.
fn assert_limited(answer: &Answer, status: u16, word: &str, limit: &str) {
    let body = &answer.body;
    assert_eq!(answer.status, status, "{body}");
    assert_eq!(body["type"], format!("urn:smsc:problem:{word}"), "{body}");
    assert_eq!(body["limit"], limit, "{body}");
}

#[test]
fn a_quota_that_is_used_up_lasts_until_midnight() {
    let smsc = smsc("quota_per_day = 3");
    let api = smsc.api_of("test", "both");
    let first = send(&api, &order(2));
    assert_eq!(first.status, 202);
    assert_eq!(
        first.header("ratelimit-policy"),
        "\"quota\";q=3;w=86400",
        "{first:?}"
    );
    assert!(first.header("ratelimit").starts_with("\"quota\";r=1;t="));
    let refused = send(&api, &order(1));
    assert_eq!(refused.status, 202, "the third");
    let refused = send(&api, &order(1));
    assert_limited(&refused, 429, "too-many-requests", "quota");
    let midnight = end_of_day(now_ms());
    assert_eq!(retry_at(&refused.body), midnight);
    let wait_ms = retry_after(&refused) * 1_000;
    assert!((now_ms() + wait_ms - midnight).abs() < APART, "{wait_ms}");
    assert!(refused.header("ratelimit").starts_with("\"quota\";r=0;t="));
    // What only reads is not counted, and says nothing of it.
    let listed = api.request("GET", "/v1/messages", &[], None);
    assert_eq!((listed.status, listed.header("ratelimit")), (200, ""));
}

#[test]
fn a_status_for_used_up_quotas_changes_only_smpp() {
    let smsc = Smsc::new()
        .with_api()
        .account_with("test", "test", "quota_per_day = 1")
        .route("", "test:delivered")
        .smpp("quota_status = \"ESME_RSUBMITFAIL\"")
        .start();
    let api = smsc.api_of("test", "send");
    assert_eq!(send(&api, &order(1)).status, 202);
    let refused = send(&api, &order(1));
    assert_limited(&refused, 429, "too-many-requests", "quota");
}

#[test]
fn a_batch_that_is_partly_throttled_says_which_and_when() {
    let smsc = smsc("rate = 0.1\nburst = 5");
    let api = smsc.api_of("test", "both");
    let first = send(&api, &order(3));
    assert_eq!(first.body["accepted"], 3, "{}", first.body);
    assert_eq!(first.header("ratelimit-policy"), "\"rate\";q=5;w=50");
    assert!(first.header("ratelimit").starts_with("\"rate\";r=2;t="));
    let key = [("Idempotency-Key", "k")];
    let partly = api.request("POST", "/v1/messages", &key, Some(&order(5)));
    assert_eq!(partly.status, 202, "{}", partly.body);
    let results = partly.body["messages"].as_array().unwrap();
    let accepted: Vec<bool> = results.iter().map(|one| one["id"].is_string()).collect();
    assert_eq!(accepted, [true, true, false, false, false]);
    let now = now_ms();
    for (at, result) in results[2..].iter().enumerate() {
        let error = &result["error"];
        assert_eq!(error["limit"], "rate", "{error}");
        let expected = now + 10_000 * (at as i64 + 1);
        assert!((retry_at(error) - expected).abs() < 9_000, "{at}: {error}");
    }
    let again = api.request("POST", "/v1/messages", &key, Some(&order(5)));
    assert_eq!(again.body, partly.body, "a repetition says the same");
    // All of a batch pass when the last one does: three tokens take thirty seconds, two take twenty.
    let refused = send(&api, &order(3));
    assert_limited(&refused, 429, "too-many-requests", "rate");
    assert!((21..=30).contains(&retry_after(&refused)), "{refused:?}");
    assert!((retry_at(&refused.body) - now_ms() - 30_000).abs() < APART);
}

#[test]
fn a_batch_above_the_burst_is_told_the_size_that_fits() {
    let smsc = Smsc::new()
        .with_api()
        .account_with("test", "test", "rate = 1.0\nburst = 5")
        .account_with("other", "other", "rate = 1.0\nburst = 5")
        .route("", "test:delivered")
        .start();
    let api = smsc.api_of("test", "both");
    let refused = send(&api, &order(6));
    assert_limited(&refused, 429, "too-many-requests", "rate");
    assert_eq!(refused.body["most"], 5, "{}", refused.body);
    assert_eq!(refused.header("retry-after"), "", "waiting does not help");
    assert_eq!(api.get("/v1/messages")["messages"], json!([]));
    // Nothing was taken for it, and one text with more parts takes what there is.
    let long = json!({ "to": TO, "from": "ACME", "text": "x".repeat(1_600) });
    assert_eq!(send(&api, &long).status, 202);
    let small = smsc.api_of("other", "both");
    assert_eq!(send(&small, &order(5)).body["accepted"], 5);
}

#[test]
fn a_repeated_batch_has_its_answer_although_the_burst_is_smaller_now() {
    let smsc = smsc("rate = 1.0\nburst = 5");
    let api = smsc.api_of("test", "both");
    let once = |key: &str| {
        let headers = [("Idempotency-Key", key)];
        api.request("POST", "/v1/messages", &headers, Some(&order(5)))
    };
    let first = once("k");
    assert_eq!(first.body["accepted"], 5, "{}", first.body);
    let account = json!({ "password": "test", "rate": 1.0, "burst": 2 });
    let changed = smsc
        .admin()
        .call("PUT", "/v1/accounts/test", Some(&account));
    assert_eq!(changed.0, 200, "{}", changed.1);
    until("the new burst", || {
        let refused = once("other");
        (refused.body["most"] == 2).then_some(())
    });
    let again = once("k");
    assert_eq!((again.status, &again.body), (202, &first.body));
}

#[test]
fn other_limits_name_themselves() {
    let smsc = Smsc::new()
        .with_api()
        .account_with("test", "test", "max_waiting = 1")
        .account_with("poor", "poor", "prepaid = true")
        .account("slow", "slow")
        .route("44", "test:delivered")
        .route("", "slow")
        .toml("[[limit]]\nname = \"few\"\ndestination_prefix = \"44\"\nrate = 0.01\nburst = 1")
        .start();
    let api = smsc.api_of("slow", "send");
    assert_eq!(send(&api, &order(1)).status, 202);
    let refused = send(&api, &order(1));
    assert_limited(&refused, 429, "too-many-requests", "policy");
    assert!((90..=100).contains(&retry_after(&refused)), "{refused:?}");
    let api = smsc.api_of("poor", "send");
    let refused = send(
        &api,
        &json!({ "to": "4915112345", "from": "A", "text": "x" }),
    );
    assert_limited(&refused, 402, "payment-required", "balance");
    let api = smsc.api_of("test", "send");
    let waits = json!({ "to": ["4915112345", "4915112346"], "from": "A", "text": "x" });
    let partly = send(&api, &waits);
    assert_eq!(partly.body["messages"][1]["error"]["limit"], "waiting");
    let refused = send(&api, &waits);
    assert_limited(&refused, 507, "unavailable", "waiting");
    assert_eq!(retry_after(&refused), 30);
}

#[test]
fn nodes_say_it_together() {
    let cluster = Cluster::of(2)
        .redis()
        .each(|smsc| {
            smsc.with_api()
                .account_with("test", "test", "rate = 0.1\nburst = 4\nquota_per_day = 6")
                .route("", "test:delivered")
        })
        .start();
    for node in &cluster.nodes {
        until("limits that are shared", || {
            (node.admin().metric("smsc_throttle_redis_up") == Some(1.0)).then_some(())
        });
    }
    let admin = cluster.nodes[0].admin();
    let new = json!({ "account": "test", "role": "both" });
    let (_, made) = admin.call("POST", "/v1/api-keys", Some(&new));
    let key = made["secret"].as_str().unwrap();
    let [one, other] = [0, 1].map(|node: usize| cluster.nodes[node].api(key));
    assert_eq!(send(&one, &order(4)).body["accepted"], 4);
    let refused = until("the other node knows the key", || {
        let answer = send(&other, &order(1));
        (answer.status != 401).then_some(answer)
    });
    assert_limited(&refused, 429, "too-many-requests", "rate");
    assert!((1..=10).contains(&retry_after(&refused)), "{refused:?}");
    assert!(
        refused.header("ratelimit").starts_with("\"rate\";r=0;t="),
        "{refused:?}"
    );
    until("the other node sees what is left of the day", || {
        let said = send(&other, &order(1)).header("ratelimit").to_owned();
        said.contains("\"quota\";r=2;t=").then_some(())
    });
}
