//! API keys: what each role opens, from where and until when; revoked on all nodes within seconds.

use std::time::{Duration, Instant};

use crate::harness::{Admin, Cluster, Smsc, until};
use serde_json::{Value, json};

fn start() -> Smsc {
    Smsc::new()
        .with_api()
        .account("shop", "shop")
        .account("other", "other")
        .route("", "test:delivered")
        .start()
}

fn make(admin: &Admin, order: &Value) -> Value {
    let (status, made) = admin.call("POST", "/v1/api-keys", Some(order));
    assert_eq!(status, 201, "{made}");
    made
}

fn hello(api: &Admin) -> (u16, Value) {
    let order = json!({ "to": "447700900123", "from": "ACME", "text": "hello" });
    api.call("POST", "/v1/messages", Some(&order))
}

#[test]
fn a_role_opens_what_it_says() {
    let smsc = start();
    let [send, read, both] = ["send", "read", "both"].map(|role| smsc.api_of("shop", role));
    assert_eq!(hello(&send).0, 202);
    assert_eq!(hello(&both).0, 202);
    let (status, said) = hello(&read);
    assert_eq!((status, said["role"].as_str()), (403, Some("send")));
    for (api, status) in [(&send, 403), (&read, 200), (&both, 200)] {
        assert_eq!(api.call("GET", "/v1/messages", None).0, status);
        assert_eq!(api.call("GET", "/v1/balance", None).0, status);
    }
    for path in ["/v1/queues", "/v1/api-keys", "/v1/tokens", "/v2"] {
        assert_eq!(both.call("GET", path, None).0, 404, "{path}");
    }
    // Neither opens what the other does.
    let admin = smsc.admin();
    assert_eq!(
        smsc.api(admin.token()).call("GET", "/v1/messages", None).0,
        401
    );
    assert_eq!(
        admin.bearer(both.token()).call("GET", "/v1/queues", None).0,
        401
    );
    let (status, _) = smsc.api("").call("GET", "/v1/messages", None);
    assert_eq!(status, 401);
}

#[test]
fn a_key_has_addresses_and_an_end() {
    let smsc = start();
    let admin = smsc.admin();
    let elsewhere = json!({ "account": "shop", "role": "both", "allow": ["192.0.2.0/24"] });
    let made = make(&admin, &elsewhere);
    let (status, said) = hello(&smsc.api(made["secret"].as_str().unwrap()));
    assert_eq!(status, 401);
    assert!(
        said["detail"].as_str().unwrap().contains("address"),
        "{said}"
    );
    let here = json!({ "account": "shop", "role": "both", "allow": ["127.0.0.1"], "label": "web" });
    let made = make(&admin, &here);
    let api = smsc.api(made["secret"].as_str().unwrap());
    assert_eq!(hello(&api).0, 202);
    let listed = until("the key was used", || {
        let listed = admin.get("/v1/api-keys?account=shop");
        let used = listed["keys"]
            .as_array()?
            .iter()
            .any(|key| !key["used_at"].is_null());
        used.then_some(listed)
    });
    assert_eq!(listed["keys"].as_array().unwrap().len(), 2);
    assert!(
        !listed.to_string().contains(api.token()),
        "no secret is shown again"
    );
    for (order, part) in [
        (json!({ "account": "nobody", "role": "send" }), "nobody"),
        (
            json!({ "account": "shop", "role": "send", "expires_at": "2001-01-01T00:00:00Z" }),
            "to come",
        ),
    ] {
        let (status, said) = admin.call("POST", "/v1/api-keys", Some(&order));
        assert!(
            [400, 404].contains(&status) && said.to_string().contains(part),
            "{said}"
        );
    }
}

#[test]
fn an_account_sees_only_its_messages() {
    let smsc = start();
    let [shop, other] = ["shop", "other"].map(|account| smsc.api_of(account, "both"));
    let (_, sent) = hello(&shop);
    let id = sent["messages"][0]["id"].as_str().unwrap();
    let path = format!("/v1/messages/{id}");
    assert_eq!(shop.call("GET", &path, None).0, 200);
    let (status, said) = other.call("GET", &path, None);
    let (missing, none) = other.call("GET", "/v1/messages/1900000000000000123", None);
    assert_eq!((status, missing), (404, 404));
    let without_id = |said: &Value| said["detail"].as_str().unwrap().replace(id, "ID");
    assert_eq!(
        without_id(&said),
        without_id(&none).replace("1900000000000000123", "ID")
    );
    assert_eq!(other.call("POST", &format!("{path}/cancel"), None).0, 404);
    assert_eq!(other.get("/v1/messages")["messages"], json!([]));
    assert_eq!(shop.get("/v1/messages")["messages"][0]["id"], id);
}

#[test]
fn the_command_line_makes_and_revokes_keys() {
    let smsc = start();
    let added = smsc.command(&["key", "add", "shop", "--role", "send", "--label", "till 3"]);
    assert!(added.success, "{}", added.stderr);
    let api = smsc.api(added.stdout.trim());
    assert_eq!(hello(&api).0, 202);
    let listed = smsc.command(&["key", "list", "shop"]);
    assert!(
        listed.stdout.contains("till 3") && listed.stdout.contains("anywhere"),
        "{}",
        listed.stdout
    );
    let admin = smsc.admin();
    let keys = admin.get("/v1/api-keys");
    let id = keys["keys"][0]["id"].as_str().unwrap();
    assert!(smsc.command(&["key", "remove", id]).success);
    assert_eq!(hello(&api).0, 401, "on this node at once");
    let gone = smsc.command(&["key", "remove", id]);
    assert!(
        !gone.success && gone.stderr.contains("no API key"),
        "{}",
        gone.stderr
    );
    let audit = admin.get("/v1/audit?path=/v1/api-keys").to_string();
    assert!(
        audit.contains("account shop, role send") && !audit.contains(api.token()),
        "{audit}"
    );
}

#[test]
fn guesses_are_answered_slowly_and_then_not_at_all() {
    let smsc = start();
    let good = smsc.api_of("shop", "send");
    let guess = || smsc.api("smsck_wrong").call("GET", "/v1/messages", None).0;
    let refused = (0..120)
        .map(|_| guess())
        .filter(|status| *status == 429)
        .count();
    assert!(refused > 0, "guesses are not held back");
    assert_eq!(
        hello(&good).0,
        202,
        "a valid key passes from the same address"
    );
}

#[test]
fn a_new_key_opens_all_nodes_at_once_and_is_revoked_on_all() {
    let cluster = Cluster::of(3)
        .each(|smsc| {
            smsc.with_api()
                .account("shop", "shop")
                .route("", "test:delivered")
        })
        .start();
    let admin = cluster.nodes[0].admin();
    let mut made = Value::Null;
    // Several, because a node may happen to read its table in the right moment.
    for _ in 0..5 {
        made = make(&admin, &json!({ "account": "shop", "role": "both" }));
        for node in &cluster.nodes {
            let api = node.api(made["secret"].as_str().unwrap());
            assert_eq!(hello(&api).0, 202, "no node answers 401 first");
        }
        let wrong = cluster.nodes[1].api("smsck_wrong");
        assert_eq!(hello(&wrong).0, 401);
    }
    let apis =
        [0, 1, 2].map(|node: usize| cluster.nodes[node].api(made["secret"].as_str().unwrap()));
    let (_, sent) = hello(&apis[1]);
    let id = sent["messages"][0]["id"].as_str().unwrap();
    assert_eq!(apis[0].get(&format!("/v1/messages/{id}"))["id"], id);
    let path = format!("/v1/api-keys/{}", made["key"]["id"].as_str().unwrap());
    assert_eq!(admin.call("DELETE", &path, None).0, 204);
    let revoked = Instant::now();
    until("no node accepts it", || {
        apis.iter().all(|api| hello(api).0 == 401).then_some(())
    });
    // Read again every two seconds; a busy machine may need longer, but not for ever.
    assert!(revoked.elapsed() < Duration::from_secs(60));
}

#[test]
fn who_gets_the_name_of_a_removed_account_has_none_of_its_keys() {
    let smsc = start();
    let [shop, other] = ["shop", "other"].map(|account| smsc.api_of(account, "both"));
    let admin = smsc.admin();
    let dry = admin.call("DELETE", "/v1/accounts/shop?dry_run=true", None);
    assert_eq!(dry.0, 200, "{}", dry.1);
    assert_eq!(hello(&shop).0, 202);
    assert_eq!(admin.call("DELETE", "/v1/accounts/shop", None).0, 200);
    assert_eq!(hello(&shop).0, 401);
    let new = json!({ "password": "another" });
    assert_eq!(admin.call("PUT", "/v1/accounts/shop", Some(&new)).0, 201);
    let keys = admin.get("/v1/api-keys?account=shop");
    assert_eq!(keys["keys"], json!([]), "{keys}");
    assert_eq!(hello(&shop).0, 401);
    assert_eq!(hello(&other).0, 202);
}
