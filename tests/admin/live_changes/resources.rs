//! Resources, conditions, problems, history, diff and explanation, on one node.

use serde_json::{Value, json};
use smsc::smpp::{Body, CommandStatus};

use crate::harness::{Admin, Peer, Simulator, Smsc, submit, until};

/// An account, an operator that is down, and two routes.
fn quiet() -> Smsc {
    Smsc::new()
        .account("test", "secret")
        .operator("up", "127.0.0.1:9".parse().unwrap())
        .route("", "up")
        .route("44", "test:delivered")
        .start()
}

/// Their names.
fn routes(admin: &Admin) -> Vec<String> {
    let answer = admin.get("/v1/routes");
    let routes = answer["routes"].as_array().unwrap().iter();
    routes
        .map(|one| one["name"].as_str().unwrap().to_owned())
        .collect()
}

/// All of it is there, also in a backup; the file is not asked again.
fn changes_outlive_a_restart(smsc: &mut Smsc, all: &[&str]) {
    let admin = smsc.admin();
    let version = admin.get("/v1/config")["version"].clone();
    assert!(smsc.terminate().success());
    smsc.fsck();
    smsc.start_again();
    let admin = smsc.admin();
    assert_eq!(admin.get("/v1/config")["version"], version);
    assert_eq!(routes(&admin), all);
    assert!(
        smsc.log()
            .contains("the file differs from the configuration in the store")
    );
    let backup = smsc.file("copy.db");
    let data = smsc.data_dir();
    let (copy, data) = (backup.to_str().unwrap(), data.to_str().unwrap());
    assert!(smsc.run(&["backup", "--data-dir", data, copy]).success);
    let checked = smsc.run(&["fsck", copy]);
    assert!(
        checked.success && checked.stdout.contains("configuration 7"),
        "{checked:?}"
    );
}

#[test]
fn resources_are_read_put_and_deleted_under_conditions() {
    let mut smsc = quiet();
    let admin = smsc.admin();
    let ask = |method: &str, path: &str, headers: &[(&str, &str)], body: Option<Value>| {
        admin.request(method, path, headers, body.as_ref())
    };
    let account = ask("GET", "/v1/accounts/test", &[], None);
    assert_eq!((account.status, account.tag.as_str()), (200, "\"1\""));
    assert_eq!(account.body["settings"]["window"], 100);
    // The value of the password; a key is called carrier_secret_file.
    let has_secret = |body: &Value| body.to_string().contains("\"secret\"");
    assert!(!has_secret(&account.body), "{account:?}");
    let whole = ask("GET", "/v1/config", &[], None);
    assert!(!has_secret(&whole.body), "{whole:?}");
    assert_eq!(
        (&whole.body["version"], &whole.body["applied"]),
        (&json!(1), &json!(1))
    );

    // A resource that was read is put back with a change; the secret that is not in it stays.
    let mut changed = account.body.clone();
    changed["settings"]["max_binds"] = json!(1);
    let is_first: [(&str, &str); 1] = [("If-Match", &account.tag)];
    let put = ask("PUT", "/v1/accounts/test", &is_first, Some(changed.clone()));
    assert_eq!((put.status, put.tag.as_str()), (200, "\"2\""), "{put:?}");
    let fields = &put.body["changes"][0]["fields"];
    assert_eq!(
        fields[0],
        json!({"field": "max_binds", "before": 64, "after": 1})
    );
    let bound = Peer::bind(smsc.smpp(), "test", "secret");
    let mut more = Peer::connect(smsc.smpp());
    let refused = more.bind_as(Body::BindTransceiver, "test", "secret");
    assert_ne!(
        refused,
        CommandStatus::ESME_ROK,
        "max_binds holds for new binds"
    );
    bound.unbind();
    // The same again changes nothing, and makes no version.
    let again = ask("PUT", "/v1/accounts/test", &[], Some(changed.clone()));
    assert_eq!((again.status, &again.body["version"]), (200, &json!(2)));
    assert_eq!(again.tag, "\"2\"");

    // Conditions that do not hold.
    let lost = ask("PUT", "/v1/accounts/test", &is_first, Some(changed.clone()));
    assert_eq!(lost.status, 412, "{lost:?}");
    assert_eq!(lost.body["type"], "urn:smsc:problem:precondition-failed");
    let any = [("If-None-Match", "*")];
    assert_eq!(
        ask("PUT", "/v1/accounts/test", &any, Some(changed)).status,
        412
    );
    let there = [("If-Match", "*")];
    let body = json!({"password": "p"});
    let absent = ask("PUT", "/v1/accounts/new", &there, Some(body.clone()));
    assert_eq!(absent.status, 412);
    assert_eq!(ask("PUT", "/v1/accounts/new", &any, Some(body)).status, 201);
    assert_eq!(
        ask("DELETE", "/v1/accounts/new", &is_first, None).status,
        412
    );
    assert_eq!(ask("DELETE", "/v1/accounts/new", &there, None).status, 200);
    assert_eq!(ask("GET", "/v1/accounts/new", &[], None).status, 404);
    assert_eq!(ask("DELETE", "/v1/accounts/new", &[], None).status, 404);
    assert_eq!(ask("POST", "/v1/accounts/test", &[], None).status, 405);

    // Routes have names, by default made of their conditions.
    assert_eq!(routes(&admin), ["44", "default"]);
    admin.put(
        "/v1/routes/uk-vip",
        &json!({"prefix": "447", "account": "test", "to": ["up"]}),
    );
    admin.put(
        "/v1/routes/33:from=ACME",
        &json!({
            "prefix": "33", "source_prefix": "ACME", "to": [{"up": 70, "test:failed": 30}]
        }),
    );
    let all = ["33:from=ACME", "44", "default", "uk-vip"];
    assert_eq!(routes(&admin), all);
    assert_eq!(admin.get("/v1/routes/uk-vip")["settings"]["name"], "uk-vip");

    // A rate is a resource of its own.
    admin.put("/v1/operators/up/rate", &json!({"rate": 12.5}));
    assert_eq!(
        admin.get("/v1/operators/up/rate"),
        json!({"rate": 12.5, "burst": null})
    );
    assert_eq!(admin.get("/v1/operators/up")["settings"]["rate"], 12.5);

    changes_outlive_a_restart(&mut smsc, &all);
}

#[test]
fn everything_that_is_wrong_is_named_with_its_field_and_cure() {
    let smsc = quiet();
    let admin = smsc.admin();
    let refused = |method: &str, path: &str, body: Option<Value>| -> Vec<String> {
        let answer = admin.request(method, path, &[], body.as_ref());
        assert_eq!(answer.status, 422, "{answer:?}");
        assert_eq!(answer.body["type"], "urn:smsc:problem:invalid");
        let problems = answer.body["problems"].as_array().unwrap().iter();
        problems
            .map(|one| {
                let text = |name: &str| one[name].as_str().unwrap().to_owned();
                format!("{}: {}", text("field"), text("message"))
            })
            .collect()
    };
    let operator = json!({"adress": "h:1", "rate": "fast"});
    assert_eq!(
        refused("PUT", "/v1/operators/new", Some(operator)),
        [
            "adress: unknown key, did you mean `address`?",
            "rate: expected a number, found the text \"fast\"; write a number without quotes",
        ]
    );
    assert_eq!(
        refused(
            "PUT",
            "/v1/operators/new",
            Some(json!({"window": 0, "rate": -1}))
        ),
        [
            "window: must be between 1 and 65535",
            "rate: must be above 0; remove the key for no limit",
            "address: is missing; write \"host:port\"",
            "system_id: is missing",
        ]
    );
    // A resource that others need cannot be deleted.
    let needed = refused("DELETE", "/v1/operators/up", None);
    assert_eq!(needed.len(), 1);
    assert!(
        needed[0].starts_with("routes/default.to[0]: there is no target \"up\""),
        "{needed:?}"
    );
    let mut document = json!({"accounts": [{"system_id": "a"}], "operators": [], "rout": []});
    for kind in ["lists", "limits", "policies"] {
        document[kind] = json!([]);
    }
    assert_eq!(
        refused("PUT", "/v1/config", Some(document.clone())),
        [
            "routes: is missing; write [] for none at all",
            "rout: unknown key; known are: accounts, operators, routes, lists, limits, policies, mo_rules, gsm, number_ranges, event_sinks, nats_sources",
        ]
    );
    document.as_object_mut().unwrap().remove("rout");
    document["routes"] = json!([]);
    assert_eq!(
        refused("PUT", "/v1/config", Some(document)),
        ["accounts/a.password: is missing; set it or `password_file`"]
    );
    let answer = admin.request("PUT", "/v1/accounts/x", &[], Some(&json!([1])));
    assert_eq!(
        (answer.status, &answer.body["field"]),
        (400, &json!("body"))
    );
    // None of this has changed anything.
    assert_eq!(admin.get("/v1/config")["version"], 1);
    // A document with thousands of routes is accepted.
    let mut whole = admin.get("/v1/config");
    let routes: Vec<Value> = (0..5_000)
        .map(|number| json!({"prefix": format!("9{number:05}"), "to": ["up"]}))
        .collect();
    whole["routes"] = json!(routes);
    assert_eq!(admin.put("/v1/config", &whole).body["version"], 2);
}

#[test]
fn pain_19_the_history_says_who_did_what_and_leads_back() {
    let smsc = quiet();
    let admin = smsc.admin();
    let first = admin.get("/v1/config");
    admin.put(
        "/v1/routes/44",
        &json!({"prefix": "44", "to": ["test:failed"]}),
    );
    let mut whole = admin.get("/v1/config");
    whole["accounts"][0]["password"] = json!("other");
    whole["routes"] = json!([]);
    admin.put("/v1/config", &whole);
    let versions = admin.get("/v1/config/versions");
    let said: Vec<&str> = versions["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["what"].as_str().unwrap())
        .collect();
    assert_eq!(
        said,
        [
            "applied as a whole: account test changed, 2 routes removed",
            "route 44 changed",
            "the first start: taken from the file: account test added, operator up added, \
             2 routes added",
        ]
    );
    assert_eq!(versions["versions"][2]["who"], "smsc.toml");
    let who = versions["versions"][0]["who"].as_str().unwrap();
    assert!(who.contains("from 127.0.0.1"), "{who}");
    let third = admin.get("/v1/config/versions/3");
    assert_eq!(third["changes"][0]["fields"][0]["after"], "(secret)");
    let second = admin.get("/v1/config/versions/2");
    assert_eq!(
        second["changes"][0]["fields"],
        json!([{"field": "to", "before": ["test:delivered"], "after": ["test:failed"]}])
    );
    assert_eq!(
        admin
            .request("GET", "/v1/config/versions/9", &[], None)
            .status,
        404
    );
    assert_eq!(admin.post("/v1/config/rollback/9").0, 404);
    let (status, rolled) = admin.post("/v1/config/rollback/1");
    assert_eq!((status, &rolled["version"]), (200, &json!(4)));
    let now = admin.get("/v1/config");
    for list in ["accounts", "operators", "routes"] {
        assert_eq!(now[list], first[list]);
    }
    Peer::bind(smsc.smpp(), "test", "secret").unbind();
}

#[test]
fn a_file_is_compared_and_applied_when_somebody_says_so() {
    let mut smsc = quiet();
    let admin = smsc.admin();
    assert_eq!(admin.get("/v1/config/diff")["changes"], json!([]));
    let config = smsc.config().replace("max_binds = 64", "max_binds = 5");
    smsc.set_config(&format!(
        "{config}[[route]]\nprefix = \"49\"\nto = [\"up\"]\n"
    ));
    let diff = admin.get("/v1/config/diff");
    let named: Vec<&str> = diff["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["resource"].as_str().unwrap())
        .collect();
    assert_eq!(named, ["accounts/test", "routes/49"]);
    // Neither a signal nor a restart applies the file; both log that it differs.
    let warning = "the file differs from the configuration in the store";
    smsc.reload();
    until("a warning in the log", || {
        smsc.log().contains(warning).then_some(())
    });
    assert!(smsc.terminate().success());
    let log = smsc.log().len();
    smsc.start_again();
    assert!(smsc.log()[log..].contains(warning));
    assert_eq!(smsc.admin().get("/v1/config")["version"], 1);

    let dry = smsc.run(&["apply", "-f", "smsc.toml", "--dry-run"]);
    assert!(dry.success, "{dry:?}");
    for line in [
        "~ accounts/test",
        "    max_binds: 64 → 5",
        "+ routes/49",
        "1 added, 1 changed, 0 removed",
    ] {
        assert!(dry.stdout.contains(line), "{line}: {}", dry.stdout);
    }
    let asked = smsc.run(&["apply", "-f", "smsc.toml"]);
    assert!(
        !asked.success && asked.stderr.contains("give --yes"),
        "{asked:?}"
    );
    assert_eq!(smsc.admin().get("/v1/config")["version"], 1);
    smsc.apply();
    let admin = smsc.admin();
    assert_eq!(admin.get("/v1/config")["version"], 2);
    assert_eq!(admin.get("/v1/config/diff")["changes"], json!([]));
    let run = |arguments: &[&str]| {
        let done = smsc.command(arguments);
        assert!(done.success, "{done:?}");
        done.stdout
    };
    assert!(run(&["config", "diff"]).contains("is what version 2"));
    assert!(run(&["config", "versions"]).contains("route 49 added"));
    assert!(run(&["config", "show", "2"]).contains("+ routes/49"));
    assert!(run(&["config", "rollback", "1", "--yes"]).contains("version 3 is what version 1 was"));
    let explained = run(&["route", "explain", "447700900123", "--account", "test"]);
    assert!(explained.contains("goes to test:delivered"), "{explained}");
}

#[test]
fn a_route_is_explained_step_by_step() {
    let up = Simulator::new().start();
    let smsc = Smsc::new()
        .account("test", "test")
        .account_with("vip", "vip", "addresses = [\"4490*\"]")
        .operator("up", up.address())
        .operator("down", "127.0.0.1:9".parse().unwrap())
        .toml("[[route]]\nname = \"backup\"\nprefix = \"44\"\nto = [\"down\", \"up\"]")
        .toml("[[route]]\nprefix = \"447\"\naccount = \"vip\"\nto = [{ up = 3, \"test:failed\" = 1 }]")
        .toml("[[route]]\nprefix = \"447\"\nsource_prefix = \"ACME\"\nto = [\"down\"]")
        .start();
    smsc.wait_for_binds("up", 1);
    let admin = smsc.admin();
    let explain = |query: &str| admin.get(&format!("/v1/routes/explain?{query}"));
    let plain = explain("to=%2B447700900123&from=1&account=test");
    assert_eq!(plain["to"], "447700900123");
    assert_eq!(plain["matching"][0]["name"], "backup");
    let not: Vec<&str> = plain["not_matching"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["why"].as_str().unwrap())
        .collect();
    assert_eq!(
        not,
        [
            "only for the account \"vip\"",
            "only for sources that start with \"ACME\""
        ]
    );
    let targets = plain["targets"].as_array().unwrap();
    assert_eq!(
        (&targets[0]["target"], &targets[0]["available"]),
        (&json!("down"), &json!(false))
    );
    assert_eq!(
        (&targets[1]["target"], &targets[1]["available"]),
        (&json!("up"), &json!(true))
    );
    assert_eq!(plain["goes_to"], json!(["up"]));
    // The message goes where the explanation says.
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    esme.submit(submit("447700900123", "hello"));
    up.wait_for(1);

    let vip = explain("to=447700900123&account=vip");
    assert_eq!(vip["matching"][0]["name"], "447:account=vip");
    assert_eq!(
        vip["matching"][1]["why"],
        "fits, but \"447:account=vip\" has a longer destination prefix"
    );
    assert_eq!(vip["goes_to"], json!(["test:failed", "up"]));
    assert_eq!(vip["targets"][1]["chance"], 75.0);
    // No target is available: it waits at the first one.
    let acme = explain("to=447700900123&from=ACME&account=test");
    assert_eq!(acme["goes_to"], json!(["down"]));
    let nowhere = explain("to=331");
    assert_eq!(nowhere["goes_to"], json!([]));
    assert_eq!(nowhere["others"], 3);
    assert_eq!(nowhere["no_route_status"], "ESME_RINVDSTADR");
    assert_eq!(explain("to=44901")["mobile_originated_to"], "vip");
    let missing = admin.request("GET", "/v1/routes/explain", &[], None);
    assert_eq!(
        (missing.status, &missing.body["field"]),
        (400, &json!("to"))
    );
}
