//! Rules as a resource: of the file, by REST and by commands; on both stores; explained, checked and audited.

use super::{brought, gets, in_postgresql, mo, rule, two};
use crate::harness::{FakeOperator, Peer, Smsc, database};
use serde_json::{Value, json};

const NUMBER: &str = super::NUMBER;

fn names(smsc: &Smsc) -> Vec<String> {
    let listed = smsc.admin().get("/v1/mo-rules");
    let rules = listed["mo_rules"].as_array().unwrap().iter();
    rules
        .map(|one| one["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn rules_are_listed_changed_and_removed_while_it_runs() {
    for database in [None, Some(database())] {
        let listener = FakeOperator::listen();
        let mut builder = two(&rule("last", 90, "drop = true\nto = [\"999\"]"), &listener);
        if let Some(database) = &database {
            builder = in_postgresql(builder, database.url());
        }
        let mut smsc = builder.start();
        let mut up = listener.accept_bind();
        let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
        let mut club = Peer::bind(smsc.smpp(), "club", "club");
        let put = |smsc: &Smsc, name: &str, body: Value| {
            smsc.admin()
                .call("PUT", &format!("/v1/mo-rules/{name}"), Some(&body))
        };
        brought(&mut up, mo(NUMBER, "12345", "win"));
        gets(&mut shop, "win");
        let win = json!({"order": 20, "keywords": ["win"], "deliver_to": "club"});
        assert_eq!(put(&smsc, "win", win).0, 201);
        brought(&mut up, mo(NUMBER, "12345", "win"));
        gets(&mut club, "win");
        // Another one is tried before it.
        let first =
            json!({"order": 10, "keywords": ["win"], "from": ["4477*"], "deliver_to": "shop"});
        assert_eq!(put(&smsc, "z-first", first).0, 201);
        assert_eq!(names(&smsc), ["z-first", "win", "last"]);
        brought(&mut up, mo(NUMBER, "12345", "win"));
        gets(&mut shop, "win");
        let later = json!({"order": 30, "keywords": ["win"], "deliver_to": "shop"});
        assert_eq!(put(&smsc, "z-first", later).0, 200);
        assert_eq!(names(&smsc), ["win", "z-first", "last"]);
        let one = smsc.admin().get("/v1/mo-rules/win");
        assert_eq!(one["settings"]["reply_limit_per"], "1h", "{one}");
        assert_eq!(
            smsc.admin().get("/v1/config")["mo_rules"][0]["name"],
            "last"
        );
        // The account of a rule stays as long as the rule.
        let (status, refused) = smsc.admin().call("DELETE", "/v1/accounts/club", None);
        assert_eq!(status, 422, "{refused}");
        assert!(
            refused.to_string().contains("mo_rules/win.deliver_to"),
            "{refused}"
        );
        smsc.kill();
        smsc.start_again();
        assert_eq!(names(&smsc), ["win", "z-first", "last"]);
        assert_eq!(smsc.admin().call("DELETE", "/v1/mo-rules/win", None).0, 200);
        assert_eq!(smsc.admin().call("DELETE", "/v1/mo-rules/win", None).0, 404);
        let audit = smsc.admin().get("/v1/audit").to_string();
        assert!(audit.contains("/v1/mo-rules/win"), "{audit}");
        // The file has only one of them.
        let compared = smsc.command(&["config", "diff"]);
        assert!(
            compared.stdout.contains("- mo_rules/z-first"),
            "{}",
            compared.stdout
        );
        smsc.apply();
        assert_eq!(names(&smsc), ["last"]);
    }
}

#[test]
fn all_rules_are_put_in_order_by_one_request() {
    let rules = [
        rule("a", 10, "keywords = [\"win\"]\ndeliver_to = \"club\""),
        rule("b", 20, "drop = true\nto = [\"777\"]"),
        rule("c", 30, "keywords = [\"win\"]\ndeliver_to = \"shop\""),
    ];
    let listener = FakeOperator::listen();
    let smsc = two(&rules.concat(), &listener).start();
    let mut up = listener.accept_bind();
    let mut shop = Peer::bind(smsc.smpp(), "shop", "shop");
    let admin = smsc.admin();
    let put = |path: &str, order: &[&str]| {
        let body = json!({ "order": order });
        admin.call("PATCH", &format!("/v1/mo-rules{path}"), Some(&body))
    };
    let (status, said) = put("?dry_run=true", &["c", "a", "b"]);
    assert_eq!(status, 200, "{said}");
    assert_eq!(names(&smsc), ["a", "b", "c"]);
    let before = admin.get("/v1/mo-rules")["version"].as_u64().unwrap();
    let (status, said) = put("", &["c", "a", "b"]);
    assert_eq!(
        (status, &said["version"]),
        (200, &json!(before + 1)),
        "{said}"
    );
    assert_eq!(said["changes"].as_array().unwrap().len(), 3, "{said}");
    assert_eq!(names(&smsc), ["c", "a", "b"]);
    // It holds at once, and only their order has changed.
    brought(&mut up, mo(NUMBER, "12345", "win"));
    gets(&mut shop, "win");
    let rule = admin.get("/v1/mo-rules/c");
    assert_eq!(
        (&rule["settings"]["order"], &rule["settings"]["deliver_to"]),
        (&json!(10), &json!("shop"))
    );
    let (status, said) = put("", &["c", "b"]);
    assert_eq!(status, 422, "{said}");
    let problem = &said["problems"][0];
    assert_eq!(problem["field"], "order", "{said}");
    assert!(
        problem["message"].as_str().unwrap().contains("\"a\""),
        "{said}"
    );
    let mut late = [("Content-Type", "application/json"), ("If-Match", "\"1\"")];
    let body = json!({ "order": ["a", "b", "c"] });
    let refused = admin.request("PATCH", "/v1/mo-rules", &late, Some(&body));
    assert_eq!(refused.status, 412, "{refused:?}");
    let tag = format!("\"{}\"", before + 1);
    late[1].1 = &tag;
    let taken = admin.request("PATCH", "/v1/mo-rules", &late, Some(&body));
    assert_eq!(taken.status, 200, "{taken:?}");
    assert_eq!(names(&smsc), ["a", "b", "c"]);
    let (status, _) = admin.call("POST", &format!("/v1/config/rollback/{before}"), None);
    assert_eq!(status, 200);
    assert_eq!(names(&smsc), ["a", "b", "c"]);
    let reader = admin.with_role("operate", "reader");
    assert_eq!(reader.call("PATCH", "/v1/mo-rules", Some(&body)).0, 403);
}

#[test]
fn a_wrong_rule_is_refused_with_the_field_and_the_cure() {
    let listener = FakeOperator::listen();
    let smsc = two("", &listener).start();
    let long = "x".repeat(21);
    for (body, field, said) in [
        (json!({}), "deliver_to", "set one of"),
        (
            json!({"deliver_to": "shop", "drop": true}),
            "deliver_to",
            "only one of",
        ),
        (
            json!({"deliver_to": "shopp"}),
            "deliver_to",
            "did you mean `shop`",
        ),
        (
            json!({"drop": true, "operator": "u"}),
            "operator",
            "there is no operator",
        ),
        (
            json!({"drop": true, "account": "nobody"}),
            "account",
            "there is no account",
        ),
        (
            json!({"drop": true, "to": ["1*2"]}),
            "to[0]",
            "not at its end",
        ),
        (
            json!({"drop": true, "from": ["list:friends"]}),
            "from[0]",
            "no [[list]]",
        ),
        (
            json!({"drop": true, "keywords": ["a b"]}),
            "keywords[0]",
            "more than one word",
        ),
        (
            json!({"drop": true, "keywords": ["Win", "WIN"]}),
            "keywords[1]",
            "twice",
        ),
        (json!({"reply": "hi"}), "reply_account", "is missing"),
        (
            json!({"reply": "hi {{name}}", "reply_account": "shop"}),
            "reply",
            "known are {{from}}",
        ),
        (
            json!({"reply": "hi", "reply_account": "shop", "reply_limit": 0}),
            "reply_limit",
            "at least 1",
        ),
        (
            json!({"reply": "hi", "reply_account": "shop", "reply_limit_per": "1ms"}),
            "reply_limit_per",
            "1s",
        ),
        (
            json!({"reply": "hi", "reply_account": "shop", "reply_from": long}),
            "reply_from",
            "octets",
        ),
        (
            json!({"drop": true, "reply_from": "1"}),
            "reply_from",
            "means nothing",
        ),
        (json!({"drop": true, "then": "stop"}), "then", "unknown key"),
    ] {
        let (status, refused) = smsc.admin().call("PUT", "/v1/mo-rules/one", Some(&body));
        assert_eq!(status, 422, "{body}: {refused}");
        let errors = refused["problems"].as_array().unwrap();
        let found = errors.iter().any(|error| {
            error["field"] == field && error["message"].as_str().unwrap().contains(said)
        });
        assert!(found, "{body}: {refused}");
    }
    let drop = json!({"drop": true});
    let (status, refused) = smsc.admin().call("PUT", "/v1/mo-rules/a%20b", Some(&drop));
    assert_eq!(status, 422, "{refused}");
    assert!(
        refused.to_string().contains("must be up to 64 letters"),
        "{refused}"
    );
}

#[test]
fn the_decision_is_explained() {
    let rules = [
        rule("by-sender", 10, "from = [\"4915*\"]\ndrop = true"),
        rule("by-code", 20, "to = [\"777\"]\ndrop = true"),
        rule("win", 30, "keywords = [\"win\"]\ndeliver_to = \"club\""),
        rule("after", 40, "drop = true\nto = [\"888\"]"),
    ];
    let listener = FakeOperator::listen();
    let smsc = two(&rules.concat(), &listener)
        .toml("[policy]\nopt_out_keywords = [\"STOP\"]")
        .start();
    let explain = |query: &str| smsc.admin().get(&format!("/v1/mo-rules/explain?{query}"));
    let taken = explain("to=12345&from=447700900123&operator=up&text=Win%20now");
    assert_eq!(taken["rule"], "win");
    assert_eq!(taken["keyword"], "Win");
    assert_eq!(taken["owner"], "shop");
    assert_eq!(taken["others"], 1);
    assert_eq!(taken["otherwise"], Value::Null);
    let why: Vec<&str> = taken["asked"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["why"].as_str().unwrap())
        .collect();
    assert_eq!(
        why,
        [
            "only messages from 4915*",
            "only messages to 777",
            "takes the message"
        ]
    );
    let other = explain("to=12345&from=447700900123&operator=up&text=other");
    assert_eq!(other["rule"], Value::Null);
    assert_eq!(other["otherwise"]["goes_to"], json!(["shop"]));
    let stop = explain("to=12345&from=447700900123&operator=up&text=stop");
    assert_eq!(
        (&stop["is_opt_out"], &stop["asked"]),
        (&json!(true), &json!([]))
    );
    assert_eq!(
        explain("to=777&operator=nobody&text=x")["operator_is_known"],
        false
    );
    let (status, refused) = smsc
        .admin()
        .call("GET", "/v1/mo-rules/explain?to=777", None);
    assert_eq!(status, 400, "{refused}");
    let shown = smsc.command(&[
        "route",
        "explain",
        "12345",
        "--mo",
        "--operator",
        "up",
        "--from",
        NUMBER,
        "--text",
        "WIN!",
    ]);
    for line in [
        "- 20 by-code  to 777: drop  (only messages to 777)",
        "* 30 win  keyword win: deliver to club  (takes the message)",
        "goes to the account club",
    ] {
        assert!(shown.stdout.contains(line), "{}", shown.stdout);
    }
}
