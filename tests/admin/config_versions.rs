//! The schema of the configuration, the history of one resource, what lies between two versions, and restoring one.

use crate::harness::{Admin, Client, Peer, Smsc, python_script};
use serde_json::{Value, json};

const TOKEN: &str = "harness-token";

/// One of most kinds of resources.
fn start() -> Smsc {
    Smsc::new()
        .account_with(
            "test",
            "secret",
            "prices = { default = 2, 4477 = 3 }\ninterface_version = 0x34\n\
             [[account.rewrite_in]]\nfield = \"source\"\nstrip = 2\n",
        )
        .operator_with(
            "up",
            "127.0.0.1:9".parse().unwrap(),
            "retry = { delays = [\"1m\", \"1h\"] }\nstatuses = { ESME_RX_T_APPN = \"permanent\" }\ncosts = { \"44\" = 2.5 }\n",
        )
        .route("", "up")
        .toml(
            "[[list]]\nname = \"friends\"\nentries = [\"4477*\"]\n[[limit]]\nname = \"bulk\"\nrate = 5\n\
             [policy]\nopt_out_status = 0x401\n[[mo_rule]]\nname = \"stop\"\nto = [\"777\"]\ndrop = true\n\
             [[number_range]]\nname = \"own\"\nprefixes = [\"4479\"]\nto = [{ up = 70, \"test:delivered\" = 30 }]\n",
        )
        .start()
}

#[test]
fn the_schema_is_json_schema_and_what_is_shown_fits_it() {
    let smsc = start();
    let base = format!("http://{}", smsc.http());
    let checked = Client::run(python_script("config_schema.py", &[&base, TOKEN]));
    for kind in [
        "accounts",
        "operators",
        "routes",
        "lists",
        "limits",
        "policies",
        "mo_rules",
        "number_ranges",
    ] {
        assert_eq!(checked["kinds"][kind], 1, "{checked}");
    }
    let schema = smsc.admin().get("/v1/config/schema");
    let account = &schema["kinds"][0];
    assert_eq!(account["path"], "/v1/accounts");
    assert_eq!(account["name_field"], "system_id");
    assert_eq!(account["groups"][0]["fields"][0], "system_id");
    assert_eq!(
        account["schema"]["properties"]["password"]["writeOnly"],
        true
    );
    // The sentence of docs/configuration.md.
    let sentence = account["schema"]["properties"]["max_binds"]["description"]
        .as_str()
        .unwrap();
    assert!(
        include_str!("../../docs/configuration.md").contains(sentence),
        "{sentence}"
    );
}

fn numbers(found: &Value) -> Vec<u64> {
    let versions = found["versions"].as_array().unwrap().iter();
    versions
        .map(|one| one["version"].as_u64().unwrap())
        .collect()
}

/// Between two versions, in both directions.
fn versions_are_compared(admin: &Admin) {
    let since = |version: u64, since: u64| {
        let found = admin.get(&format!("/v1/config/versions/{version}?since={since}"));
        let changes = found["changes"].as_array().unwrap().iter();
        changes
            .map(|one| {
                format!(
                    "{} {}",
                    one["resource"].as_str().unwrap(),
                    one["action"].as_str().unwrap()
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(
        since(5, 1),
        [
            "accounts/test changed",
            "routes/44 added",
            "routes/default changed"
        ]
    );
    assert_eq!(
        since(1, 5),
        [
            "accounts/test changed",
            "routes/44 removed",
            "routes/default changed"
        ]
    );
    assert_eq!(since(5, 4), ["routes/44 added"]);
    assert!(since(4, 4).is_empty());
    assert_eq!(
        admin.call("GET", "/v1/config/versions/5?since=6", None).0,
        404
    );
}

#[test]
fn one_resource_has_a_history_and_is_restored_by_itself() {
    let smsc = start();
    let admin = smsc.admin();
    let change = |path: &str, body: Value| {
        let (status, said) = admin.call("PUT", path, Some(&body));
        assert!(status < 300, "{said}");
        said["version"].as_u64().unwrap()
    };
    assert_eq!(
        change("/v1/routes/default", json!({ "to": ["test:failed"] })),
        2
    );
    assert_eq!(
        change(
            "/v1/accounts/test",
            json!({ "window": 5, "password": "other" })
        ),
        3
    );
    assert_eq!(
        change("/v1/routes/default", json!({ "to": ["test:delivered"] })),
        4
    );
    assert_eq!(
        change("/v1/routes/44", json!({ "prefix": "44", "to": ["up"] })),
        5
    );

    // The history of one resource, page by page.
    let all = admin.get("/v1/config/versions?resource=routes/default");
    assert_eq!(numbers(&all), [4, 2, 1]);
    assert_eq!(all["next_before"], Value::Null);
    let fields = json!([{ "field": "to", "before": ["test:failed"], "after": ["test:delivered"] }]);
    assert_eq!(all["versions"][0]["changes"][0]["fields"], fields);
    let page = admin.get("/v1/config/versions?resource=routes/default&limit=2");
    assert_eq!(
        (numbers(&page), &page["next_before"]),
        (vec![4, 2], &json!(2))
    );
    let page = admin.get("/v1/config/versions?resource=routes/default&before=2");
    assert_eq!(
        (numbers(&page), &page["next_before"]),
        (vec![1], &Value::Null)
    );
    let page = admin.get("/v1/config/versions?limit=2");
    assert_eq!(
        (numbers(&page), &page["next_before"]),
        (vec![5, 4], &json!(4))
    );
    let (status, said) = admin.call("GET", "/v1/config/versions?resource=route/44", None);
    assert_eq!(
        (status, &said["field"]),
        (400, &json!("resource")),
        "{said}"
    );

    versions_are_compared(&admin);

    // Only the route is what it was; with a dry run before.
    let path = "/v1/config/rollback/1?resource=routes/default";
    let (status, would) = admin.call("POST", &format!("{path}&dry_run=true"), None);
    assert_eq!((status, &would["version"]), (200, &json!(5)), "{would}");
    assert_eq!(would["changes"].as_array().unwrap().len(), 1);
    let stale = admin.request("POST", path, &[("If-Match", "\"4\"")], None);
    assert_eq!(stale.status, 412);
    let (status, done) = admin.call("POST", path, None);
    assert_eq!((status, &done["version"]), (200, &json!(6)), "{done}");
    assert_eq!(
        admin.get("/v1/routes/default")["settings"]["to"],
        json!(["up"])
    );
    assert_eq!(admin.get("/v1/accounts/test")["settings"]["window"], 5);
    // What was not there then is removed; what was never there is told.
    let (status, _) = admin.call("POST", "/v1/config/rollback/1?resource=routes/44", None);
    assert_eq!(status, 200);
    assert_eq!(admin.call("GET", "/v1/routes/44", None).0, 404);
    let (status, said) = admin.call("POST", "/v1/config/rollback/1?resource=routes/45", None);
    assert_eq!(status, 404);
    assert!(
        said["detail"].as_str().unwrap().contains("routes/45"),
        "{said}"
    );

    // On the command line, with the password of that time.
    let command = |arguments: &[&str]| {
        let finished = smsc.command(&[&["config"], arguments].concat());
        assert!(finished.success, "{finished:?}");
        finished.stdout
    };
    let said = command(&["rollback", "1", "--resource", "accounts/test", "--yes"]);
    assert!(
        said.contains("version 8: accounts/test is what it was in version 1"),
        "{said}"
    );
    let said = command(&["versions", "--resource", "accounts/test"]);
    assert!(said.contains("rolled back to version 1"), "{said}");
    let said = command(&["show", "8", "--since", "3"]);
    assert!(said.contains("window"), "{said}");
    Peer::bind(smsc.smpp(), "test", "secret");
}

#[test]
fn a_long_list_of_numbers_is_one_resource() {
    let smsc = start();
    let admin = smsc.admin();
    let entries: Vec<String> = (0..20_000).map(|one| format!("4477{one:08}")).collect();
    let put = |path: &str| admin.call("PUT", path, Some(&json!({ "entries": entries })));
    let (status, said) = put("/v1/lists/blocked");
    assert_eq!(status, 201, "{said}");
    let kept = admin.get("/v1/lists/blocked");
    assert_eq!(
        kept["settings"]["entries"].as_array().unwrap().len(),
        20_000
    );
    let (status, said) = put("/v1/routes/long");
    assert_eq!(status, 413, "{said}");
}
