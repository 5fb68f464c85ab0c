//! JSON of accounts, operators, routes and policy: there and back, without secrets, with every mistake named.

use std::time::Duration;

use secrecy::ExposeSecret as _;
use serde_json::json;

use super::changed::SECRET;
use super::*;
use crate::{
    Account, AddressList, LimitConfig, LimitPer, OperatorConfig, OutcomePolicy, PolicyConfig,
    PriceList, Retry,
};
use smsc_domain::command_status;
use smsc_domain::route::{RoutingStep, TargetShare};
use smsc_domain::settings::{ResourceUpdate, difference};

fn prices(written: &Json) -> PriceList {
    read_value::<PolicyConfig>(&json!({ "prices": written }))
        .unwrap()
        .prices
}

fn config() -> Config {
    Config {
        account: vec![Account {
            system_id: "test".to_owned(),
            password: "secret".into(),
            rate: Some(50.0),
            allow: vec!["10.0.0.0/8".to_owned()],
            ..Account::default()
        }],
        operator: vec![OperatorConfig {
            id: "up".to_owned(),
            address: "127.0.0.1:2775".to_owned(),
            system_id: "smsc".to_owned(),
            outcome_unknown: OutcomePolicy::Wait,
            interface_version: 0x50,
            reconnect: vec![Duration::from_millis(200)],
            retry: Some(Retry {
                delays: vec![Duration::from_secs(90)],
                ..Retry::default()
            }),
            ..OperatorConfig::default()
        }],
        route: vec![
            RouteConfig {
                to: vec![
                    RoutingStep::single("up".to_owned()),
                    RoutingStep {
                        shares: ["test", "test:failed"]
                            .map(|target| TargetShare {
                                target: target.to_owned(),
                                weight: 3,
                            })
                            .to_vec(),
                    },
                ],
                ..RouteConfig::default()
            },
            RouteConfig {
                prefix: "+44".to_owned(),
                source_prefix: Some("ACME".to_owned()),
                account: Some("test".to_owned()),
                to: vec![RoutingStep::single("up".to_owned())],
                ..RouteConfig::default()
            },
        ],
        list: vec![AddressList {
            name: "brands".to_owned(),
            entries: vec!["BANK".to_owned(), "/^lotto/".to_owned()],
            ..AddressList::default()
        }],
        limit: vec![LimitConfig {
            name: "few".to_owned(),
            rate: 0.5,
            per: LimitPer::Destination,
            ..LimitConfig::default()
        }],
        policy: PolicyConfig {
            blocked_senders: vec!["list:brands".to_owned()],
            opt_out_status: command_status::ESME_RSUBMITFAIL,
            prices: prices(&json!({"44": 3, "default": 2})),
            ..PolicyConfig::default()
        },
        ..Config::default()
    }
}

#[test]
fn what_is_kept_comes_back_as_it_was() {
    let config = config();
    let resources = config.resources();
    let names: Vec<String> = resources.keys().map(ToString::to_string).collect();
    assert_eq!(
        names,
        [
            "accounts/test",
            "operators/up",
            "routes/44:from=ACME:account=test",
            "routes/default",
            "lists/brands",
            "limits/few",
            "policies/all",
        ]
    );
    let back = config.with_resources(&resources);
    assert!(back.problems.is_empty(), "{:?}", back.problems);
    assert_eq!(back.config.account, config.account);
    assert_eq!(back.config.operator, config.operator);
    assert_eq!(back.config.resources(), resources);
    let body = &resources[&ResourceKey::new(ResourceKind::Account, "test")];
    assert_eq!(
        serde_json::from_str::<Json>(body).unwrap(),
        json!({"system_id": "test", "password": "secret", "rate": 50, "allow": ["10.0.0.0/8"]}),
        "only what is not the default"
    );
    let body = &resources[&ResourceKey::new(ResourceKind::Policy, THE_POLICY)];
    assert_eq!(
        serde_json::from_str::<Json>(body).unwrap(),
        json!({
            "blocked_senders": ["list:brands"],
            "opt_out_status": "ESME_RSUBMITFAIL",
            "prices": {"44": 3, "default": 2},
        })
    );
    assert!(Config::default().has_no_resources());
    let mut one = Config::default();
    one.policy.limit_addresses = 1;
    assert!(!one.has_no_resources());
}

#[test]
fn what_is_shown_can_be_given_back_and_has_no_secret() {
    let resources = config().resources();
    for (key, body) in &resources {
        let shown = shown(key.kind, body);
        // The value: `carrier_secret_file` is the name of a key.
        assert!(!shown.to_string().contains("\"secret\""), "{shown}");
        assert_eq!(accept(key, &shown, Some(body)).unwrap(), *body, "{shown}");
    }
}

#[test]
fn problems_name_the_resource_and_the_cure() {
    let config = config();
    let mut resources = config.resources();
    resources.remove(&ResourceKey::new(ResourceKind::Operator, "up"));
    let key = ResourceKey::new(ResourceKind::Account, "other");
    let body = accept(&key, &json!({"rate": -1}), None).unwrap();
    resources.insert(key.clone(), body);
    resources.remove(&ResourceKey::new(ResourceKind::List, "brands"));
    let few = ResourceKey::new(ResourceKind::Limit, "few");
    resources.insert(few.clone(), accept(&few, &json!({}), None).unwrap());
    let found = config.with_resources(&resources).problems;
    let said: Vec<String> = found.iter().map(ToString::to_string).collect();
    for expected in [
        "accounts/other.password: is missing",
        "accounts/other.rate: must be above 0",
        "limits/few.rate: ",
        "policies/all.blocked_senders[0]: there is no [[list]] \"brands\"",
        "routes/44:from=ACME:account=test.to[0]: there is no target \"up\"",
        "routes/default.to[0]: there is no target \"up\"",
    ] {
        assert!(
            said.iter().any(|one| one.starts_with(expected)),
            "{said:#?}"
        );
    }
    let wrong = accept(&key, &json!({"rate": "fast", "windo": 3}), None).unwrap_err();
    let said: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "windo: unknown key, did you mean `window`?",
            "rate: expected a number, found the text \"fast\"; write a number without quotes"
        ]
    );
    assert!(accept(&key, &json!({"system_id": "another"}), None).is_err());
}

#[test]
fn the_secrets_of_callbacks_stay_too_and_no_difference_shows_a_secret() {
    let key = ResourceKey::new(ResourceKind::Account, "test");
    let before = r#"{"callback_secrets":"old","carrier_secret":"fee","outbind_password":"knock","system_id":"test","password":"pw"}"#;
    let after = |given: Json| accept(&key, &given, Some(before)).unwrap();
    let kept = after(json!({"window": 5}));
    assert!(kept.contains(r#""callback_secrets":"old""#), "{kept}");
    assert!(kept.contains(r#""carrier_secret":"fee""#), "{kept}");
    assert!(kept.contains(r#""outbind_password":"knock""#), "{kept}");
    assert!(!after(json!({"outbind_password": ""})).contains("outbind_password"));
    assert!(!after(json!({"callback_secrets": ""})).contains("callback_secrets"));
    assert!(!after(json!({"carrier_secret": ""})).contains("carrier_secret"));
    let from_file = after(json!({"carrier_secret_file": "/run/secret"}));
    assert!(!from_file.contains("\"fee\""), "{from_file}");
    let change = ResourceUpdate {
        key: key.clone(),
        before: Some(before.to_owned()),
        after: Some(after(
            json!({"callback_secrets": "new", "carrier_secret": "toll", "outbind_password": "bell", "password": "word"}),
        )),
    };
    let shown = format!("{:?}", fields(&change));
    for field in [
        "callback_secrets",
        "carrier_secret",
        "outbind_password",
        "password",
    ] {
        assert!(shown.contains(field), "{shown}");
    }
    for secret in ["old", "new", "fee", "toll", "knock", "bell", "pw", "word\""] {
        assert!(
            !shown.contains(&format!("\"{secret}")),
            "{secret} in {shown}"
        );
    }
}

#[test]
fn a_secret_that_is_left_out_stays_and_one_that_is_given_does_not() {
    let key = ResourceKey::new(ResourceKind::Account, "test");
    let old = r#"{"system_id":"test","password":"secret"}"#;
    let password = |given: Json| {
        let body = accept(&key, &given, Some(old)).unwrap();
        let one: Account = read(&body).unwrap();
        one.password.expose_secret().to_owned()
    };
    assert_eq!(password(json!({"window": 5})), "secret");
    assert_eq!(password(json!({"password": null})), "secret");
    assert_eq!(password(json!({"password": "new"})), "new");
    assert_eq!(password(json!({"password_file": "/run/secret"})), "");
    let both = json!({"password_file": "/run/secret", "password": "x"});
    assert!(accept(&key, &both, Some(old)).is_err());
}

#[test]
fn routes_are_called_by_name_or_conditions() {
    let called = |path: &str, given: Json| {
        let body = accept(&ResourceKey::new(ResourceKind::Route, path), &given, None).unwrap();
        read::<RouteConfig>(&body).unwrap().name
    };
    let given = json!({"prefix": "44", "to": ["up"]});
    assert_eq!(called("44", given.clone()), None);
    assert_eq!(called("uk", given), Some("uk".to_owned()));
    let key = ResourceKey::new(ResourceKind::Route, "45");
    let body = accept(&key, &json!({"prefix": "44", "to": ["up"]}), None).unwrap();
    let mut resources = config().resources();
    resources.insert(key, body);
    let found = config().with_resources(&resources).problems;
    assert!(found[0].key == "routes/45.name", "{found:?}");
}

#[test]
fn a_change_is_told_key_by_key_without_secrets() {
    let before = config();
    let mut after = before.clone();
    after.account[0].password = "other".into();
    after.account[0].rate = None;
    after.route.pop();
    let changes = difference(&before.resources(), &after.resources());
    assert_eq!(changes.len(), 2);
    let told = fields(&changes[0]);
    assert_eq!(told.len(), 2);
    assert_eq!(told[0].field, "password");
    assert_eq!(told[0].before, SECRET);
    assert_eq!((&told[1].before, &told[1].after), (&json!(50), &Json::Null));
    assert_eq!(changes[1].action(), "removed");
}

#[test]
fn new_names_are_none_that_clients_take_out_of_paths() {
    let mut before = config().resources();
    let account = |name: &str| {
        let key = ResourceKey::new(ResourceKind::Account, name);
        let body = accept(&key, &json!({"password": "secret"}), None).unwrap();
        (key, body)
    };
    before.extend([account(".")]);
    let mut after = before.clone();
    after.extend([account(".."), account("..."), account(".a")]);
    let refused = names_out_of_reach(&before, &after);
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(refused[0].key, "accounts/...system_id");
    assert!(
        refused[0].message.contains("choose another name"),
        "{refused:?}"
    );
    // What was stored before goes on working.
    let stored = config().with_resources(&before);
    assert!(stored.problems.is_empty(), "{:?}", stored.problems);
    let mut told = stored.warnings.iter().map(ToString::to_string);
    assert!(
        told.any(|one| one.starts_with("accounts/..system_id: \".\" cannot be")),
        "{:?}",
        stored.warnings
    );
}
