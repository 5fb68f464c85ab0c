//! `/v1/opt-outs`: an account keeps its list of numbers that want none of its messages, by API key.

use std::collections::BTreeSet;

use crate::harness::{Admin, Cluster, Smsc, until};
use serde_json::{Value, json};

const TO: &str = "447700900123";

fn start() -> Smsc {
    Smsc::new()
        .with_api()
        .account("shop", "shop")
        .account("other", "other")
        .route("", "test:delivered")
        .start()
}

fn hello(api: &Admin) -> (u16, Value) {
    let order = json!({ "to": TO, "from": "ACME", "text": "hello" });
    api.call("POST", "/v1/messages", Some(&order))
}

fn changed(api: &Admin, method: &str, number: &str) -> bool {
    let (status, said) = api.call(method, &format!("/v1/opt-outs/{number}"), None);
    assert_eq!(status, 200, "{said}");
    said["changed"].as_bool().unwrap()
}

#[test]
fn a_number_on_the_list_gets_no_message_until_it_is_taken_off() {
    let mut smsc = start();
    let [shop, other] = ["shop", "other"].map(|account| smsc.api_of(account, "consent"));
    assert!(changed(&shop, "PUT", "%2B44%207700%20900123"));
    assert!(!changed(&shop, "PUT", TO), "it is there already");
    let (status, said) = hello(&shop);
    assert_eq!(
        (status, said["field"].as_str()),
        (422, Some("to")),
        "{said}"
    );
    assert_eq!(hello(&other).0, 202, "the list is of one account");
    // Durable, and seen by the administrator too, with who did it.
    smsc.kill();
    smsc.start_again();
    let (shop, other) = (smsc.api(shop.token()), smsc.api(other.token()));
    assert_eq!(hello(&shop).0, 422);
    let listed = smsc.admin().get("/v1/opt-outs?account=shop");
    let by = listed["opt_outs"][0]["by"].as_str().unwrap();
    assert!(by.starts_with("API key key_"), "{listed}");
    assert_eq!(other.get("/v1/opt-outs")["opt_outs"], json!([]));
    let off = format!("{TO}?reason=signed%20up%20again");
    assert!(!changed(&other, "DELETE", &off), "it is not on that list");
    assert!(changed(&shop, "DELETE", &off));
    assert_eq!(hello(&shop).0, 202);
}

#[test]
fn pages_have_the_newest_first() {
    let smsc = start();
    let api = smsc.api_of("shop", "both");
    let all: Vec<String> = (0..7).map(|n| format!("44770090010{n}")).collect();
    for number in &all {
        assert!(changed(&api, "PUT", number));
    }
    // The list for everybody is the administrator's.
    let global = smsc.admin().call("PUT", "/v1/opt-outs/447700900999", None);
    assert_eq!(global.0, 200);
    let (mut path, mut seen) = ("/v1/opt-outs?limit=3".to_owned(), Vec::new());
    loop {
        let page = api.get(&path);
        let entries = page["opt_outs"].as_array().unwrap();
        seen.extend(
            entries
                .iter()
                .map(|one| one["number"].as_str().unwrap().to_owned()),
        );
        let names: BTreeSet<&String> = entries
            .iter()
            .flat_map(|one| one.as_object().unwrap().keys())
            .collect();
        assert!(
            names
                .iter()
                .all(|name| ["number", "at"].contains(&name.as_str())),
            "{page}"
        );
        let Some(next) = page["next_before"].as_str() else {
            break;
        };
        path = format!("/v1/opt-outs?limit=3&before={next}");
    }
    assert_eq!(seen, all.iter().rev().cloned().collect::<Vec<_>>());
    let one = api.get("/v1/opt-outs?number=%2B447700900103");
    assert_eq!(one["opt_outs"].as_array().unwrap().len(), 1);
}

#[test]
fn roles_and_wrong_numbers_are_refused() {
    let smsc = start();
    let [send, read] = ["send", "read"].map(|role| smsc.api_of("shop", role));
    let path = format!("/v1/opt-outs/{TO}");
    for (api, method, path, status) in [
        (&read, "PUT", path.as_str(), 403),
        (&read, "DELETE", &path, 403),
        (&send, "GET", "/v1/opt-outs", 403),
        (&read, "GET", "/v1/opt-outs", 200),
        (&send, "PUT", "/v1/opt-outs/ACME", 400),
        (&send, "PUT", "/v1/opt-outs/447700900123?account=other", 400),
        (&send, "POST", &path, 405),
        (&read, "GET", "/v1/opt-outs?limit=0", 400),
    ] {
        let (found, said) = api.call(method, path, None);
        assert_eq!(found, status, "{method} {path}: {said}");
    }
}

/// What is taken off by a stolen key, or without the person's will, can be found: by which key, from where, and why.
#[test]
fn only_a_key_with_the_role_takes_numbers_off_and_says_why() {
    let smsc = start();
    let [both, consent] = ["both", "consent"].map(|role| smsc.api_of("shop", role));
    assert!(changed(&both, "PUT", TO));
    let reason = format!("/v1/opt-outs/{TO}?reason=signed%20up%20again");
    let (status, said) = both.call("DELETE", &reason, None);
    assert_eq!((status, said["role"].as_str()), (403, Some("consent")));
    assert!(
        said["detail"].as_str().unwrap().contains("role consent;"),
        "{said}"
    );
    let long = "x".repeat(201);
    for query in [
        String::new(),
        "?reason=%20".to_owned(),
        "?reason=a%0Ab".to_owned(),
        format!("?reason={long}"),
    ] {
        let path = format!("/v1/opt-outs/{TO}{query}");
        let (status, said) = consent.call("DELETE", &path, None);
        assert_eq!(
            (status, said["field"].as_str()),
            (400, Some("reason")),
            "{path}: {said}"
        );
    }
    assert_eq!(hello(&consent).0, 422, "it is still on the list");
    let (status, said) = consent.call("DELETE", &reason, None);
    assert_eq!((status, said), (200, json!({ "changed": true })));
    assert_eq!(hello(&consent).0, 202);

    let admin = smsc.admin();
    assert_eq!(
        admin
            .call("PUT", &format!("/v1/opt-outs/{TO}?account=shop"), None)
            .0,
        200
    );
    let path = format!("/v1/opt-outs/{TO}?account=shop&reason=called%20us");
    assert_eq!(admin.call("DELETE", &path, None).0, 200);
    let entries = admin.get("/v1/audit?path=/v1/opt-outs/");
    let entries = entries["entries"].as_array().unwrap();
    let summary = |at: usize, key: &str| entries[at][key].as_str().unwrap_or_default().to_owned();
    assert_eq!(entries.len(), 3, "{entries:?}");
    assert_eq!(summary(0, "detail"), "the list of shop: called us");
    assert_eq!(summary(1, "detail"), "the list of shop");
    assert_eq!(summary(2, "detail"), "the list of shop: signed up again");
    assert!(
        summary(2, "token").starts_with("API key key_"),
        "{entries:?}"
    );
    assert_eq!(summary(2, "role"), "consent");
    assert_eq!(summary(2, "address"), "127.0.0.1");
    assert_eq!(summary(2, "path"), "/v1/opt-outs/4477*****123");
}

#[test]
fn an_opt_out_at_one_node_counts_at_the_others() {
    let cluster = Cluster::of(2)
        .each(|smsc| {
            smsc.with_api()
                .account("shop", "shop")
                .route("", "test:delivered")
        })
        .start();
    let key = cluster.nodes[0].api_of("shop", "both");
    let apis = [0, 1].map(|node: usize| cluster.nodes[node].api(key.token()));
    until("both nodes know the key", || {
        apis.iter().all(|api| hello(api).0 == 202).then_some(())
    });
    assert!(changed(&apis[0], "PUT", TO));
    assert_eq!(hello(&apis[0]).0, 422, "here at once");
    until("the other node knows", || {
        (hello(&apis[1]).0 == 422).then_some(())
    });
    assert_eq!(apis[1].get("/v1/opt-outs")["opt_outs"][0]["number"], TO);
}
