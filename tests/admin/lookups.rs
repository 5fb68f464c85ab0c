//! `/v1/lookups`: what is looked up about numbers, by the roles of tokens.

use serde_json::json;

use crate::harness::Smsc;

#[test]
fn who_may_read_sees_look_ups_and_who_may_operate_forgets_answers() {
    let smsc = Smsc::new().toml("[imsi]\nhlr = \"127.0.0.1:1\"\n").start();
    let reader = smsc.admin().with_role("read", "reader");
    let operator = smsc.admin().with_role("operate", "operator");
    let listed = reader.get("/v1/lookups");
    let expected = json!({"lookups": [
        {"question": "network", "cached": 0, "waiting": 0, "away": false, "has_source": false},
        {"question": "imsi", "cached": 0, "waiting": 0, "away": false, "has_source": true},
    ]});
    assert_eq!(listed, expected);
    for path in ["/v1/lookups/imsi", "/v1/lookups/network/+447700900123"] {
        assert_eq!(reader.call("DELETE", path, None).0, 403, "{path}");
        let (status, answer) = operator.call("DELETE", path, None);
        assert_eq!((status, answer), (200, json!({"forgotten": 0})), "{path}");
    }
    for (path, status) in [
        ("/v1/lookups/price", 404),
        ("/v1/lookups/imsi/ACME", 400),
        ("/v1/lookups/imsi?all=yes", 400),
    ] {
        assert_eq!(operator.call("DELETE", path, None).0, status, "{path}");
    }
    // The audit log keeps no number.
    let audit = smsc.admin().get("/v1/audit").to_string();
    assert!(audit.contains("/v1/lookups/network/"), "{audit}");
    assert!(!audit.contains("447700900123"), "{audit}");

    let said = smsc.command(&["lookup", "list"]).stdout;
    assert!(said.contains("imsi") && said.contains("asked"), "{said}");
    let said = smsc.command(&["lookup", "forget", "imsi", "--all"]).stdout;
    assert!(said.contains("all numbers: 0 answers forgotten"), "{said}");
}
