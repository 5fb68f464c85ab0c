//! `/v1/accounts/{name}/messages` of the admin API: a test message goes the way of the account's own, and is paid by it.

use crate::harness::{Smsc, until};
use serde_json::{Value, json};

fn order() -> Value {
    json!({ "to": "07700 900123", "from": "ACME", "text": "hello" })
}

#[test]
fn a_test_message_goes_the_way_of_the_account() {
    let smsc = Smsc::new()
        .account_with(
            "shop",
            "shop",
            "country = \"GB\"\nsenders = [\"ACME\"]\nprepaid = true\nprices = { default = 3 }",
        )
        .route("", "test:delivered")
        .start();
    let admin = smsc.admin();
    let path = "/v1/accounts/shop/messages";
    let estimate = |order: &Value| {
        let (status, said) = admin.call("POST", &format!("{path}/estimate"), Some(order));
        assert_eq!(status, 200, "{said}");
        said["messages"][0].clone()
    };
    let found = estimate(&order());
    assert_eq!(
        (&found["parts"], &found["alphabet"], &found["price"]),
        (&json!(1), &json!("GSM 7-bit"), &json!(3)),
        "{found}"
    );
    let mut other = order();
    other["from"] = json!("OTHER");
    assert_eq!(estimate(&other)["error"]["field"], "from");
    // It pays, as for its own messages.
    assert_eq!(admin.call("POST", path, Some(&order())).0, 402);
    let top_up = json!({ "add": 3, "reference": "1" });
    assert_eq!(
        admin
            .call("POST", "/v1/accounts/shop/balance", Some(&top_up))
            .0,
        200
    );
    let operate = admin.with_role("operate", "ops");
    let (status, said) = operate.call("POST", path, Some(&order()));
    assert_eq!(status, 202, "{said}");
    let id = said["messages"][0]["id"].as_str().unwrap();
    let message = until("it is delivered", || {
        let message = admin.get(&format!("/v1/messages/{id}"));
        (message["state"] == "DELIVERED").then_some(message)
    });
    assert_eq!(message["sender"], "account:shop");
    assert_eq!(message["to"], "447700900123");
    assert_eq!(admin.get("/v1/accounts/shop/balance")["credits"], 0);
    let audit = admin.get(&format!("/v1/audit?path={path}")).to_string();
    assert!(audit.contains(&format!("submitted {id}")), "{audit}");
    assert!(
        !audit.contains("estimate"),
        "looks are not recorded: {audit}"
    );
}

#[test]
fn who_may_not_and_what_is_wrong_is_refused() {
    let smsc = Smsc::new()
        .account("shop", "shop")
        .route("", "test:delivered")
        .start();
    let admin = smsc.admin();
    let path = "/v1/accounts/shop/messages";
    let read = admin.with_role("read", "watcher");
    for path in [path.to_owned(), format!("{path}/estimate")] {
        assert_eq!(read.call("POST", &path, Some(&order())).0, 403, "{path}");
    }
    let (status, said) = admin.call("POST", "/v1/accounts/nobody/messages", Some(&order()));
    assert_eq!(status, 404, "{said}");
    let (status, said) = admin.call(
        "POST",
        path,
        Some(&json!({ "to": "x", "from": "A", "text": "x" })),
    );
    assert_eq!(
        (status, said["field"].as_str()),
        (400, Some("to")),
        "{said}"
    );
    assert_eq!(admin.call("POST", "/v1/drain", None).0, 200);
    let to = json!({ "to": "447700900123", "from": "ACME", "text": "hello" });
    assert_eq!(admin.call("POST", path, Some(&to)).0, 503);
}
