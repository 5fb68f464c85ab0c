//! Accounts, operators and routes are changed while the SMSC works: under load nobody else is
//! touched, nothing is lost, and every acknowledged message ends in one state.
//!
//! The load offers 10,000 messages a second. A development build on a busy machine of two cores
//! takes fewer; what is asserted does not depend on how many.

mod harness;
mod history;

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use harness::{Cluster, Peer, Process, Simulator, Smsc, submit, until, within};
use serde_json::{Value, json};
use smsc::smpp::{Body, CommandStatus};

const RATE: &str = "10000";
/// Acknowledged messages between two changes.
const BETWEEN: usize = 3_000;
/// From the end of the load to the last receipt; it takes a fraction.
const LIMIT: Duration = Duration::from_secs(180);
/// How long a limit is looked at.
const LOOK: Duration = Duration::from_secs(2);

fn operator_settings(operator: &Simulator) -> Value {
    json!({
        "address": operator.address().to_string(),
        "system_id": "smsc",
        "password": "secret",
        "window": 250,
        "reconnect": ["200ms"],
    })
}

fn load(smsc: &Smsc) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_smsc"));
    command
        .args(["load", "--to", &smsc.smpp().to_string()])
        .args(["--binds", "4", "--window", "100", "--rate", RATE])
        .args(["--duration", "10m", "--settle", "120s", "--journal"])
        .arg(smsc.file("load.journal"));
    Process::start("smsc load", command, &smsc.file("load.log"))
}

fn acknowledged(smsc: &Smsc) -> usize {
    let journal = std::fs::read(smsc.file("load.journal")).unwrap_or_default();
    let lines = journal.split(|octet| *octet == b'\n');
    lines.filter(|line| line.starts_with(b"A\t")).count()
}

fn wait_for_traffic(smsc: &Smsc, load: &mut Process) {
    let before = acknowledged(smsc);
    until("messages to be acknowledged", || {
        load.assert_running();
        (acknowledged(smsc) > before + BETWEEN).then_some(())
    });
}

/// Session number, name and begin of all binds of these names.
fn sessions(smsc: &Smsc, names: &[&str]) -> BTreeSet<String> {
    let answer = smsc.admin().get("/v1/binds");
    let binds = answer["binds"].as_array().unwrap().iter();
    binds
        .filter(|bind| names.iter().any(|name| bind["name"] == *name))
        .map(|bind| format!("{} {} {}", bind["session"], bind["name"], bind["since"]))
        .collect()
}

#[test]
fn under_load_nobody_else_is_touched_and_nothing_is_lost() {
    let operators = [(); 3].map(|()| Simulator::new().start());
    let [first, second, third] = &operators;
    let mut smsc = Smsc::new()
        .account_with("test", "test", "window = 500")
        .account("other", "other")
        .operator_with("first", first.address(), "binds = 2\nwindow = 250")
        .operator("second", second.address())
        .route("", "first")
        .route("33", "second")
        .start();
    smsc.wait_for_binds("first", 2);
    smsc.wait_for_binds("second", 1);
    let admin = smsc.admin();
    let mut other = Peer::bind(smsc.smpp(), "other", "other");
    let mut load = load(&smsc);
    wait_for_traffic(&smsc, &mut load);
    let names = ["test", "other", "first", "second"];
    let before = sessions(&smsc, &names);
    assert_eq!(before.len(), 4 + 1 + 2 + 1, "{before:?}");

    // Add an operator, version 2.
    let new = [("If-None-Match", "*")];
    let path = "/v1/operators/third";
    let added = admin.request("PUT", path, &new, Some(&operator_settings(third)));
    assert_eq!(
        (added.status, &added.body["version"]),
        (201, &json!(2)),
        "{added:?}"
    );
    smsc.wait_for_binds("third", 1);

    // Move a route, version 3.
    wait_for_traffic(&smsc, &mut load);
    admin.put("/v1/routes/default", &json!({"to": ["third"]}));
    third.wait_for(BETWEEN);

    // Rotate a password, version 4: what is bound stays bound.
    let account = admin.get("/v1/accounts/test");
    let mut settings = account["settings"].clone();
    settings["password"] = json!("rotated");
    admin.put("/v1/accounts/test", &settings);
    let mut late = Peer::connect(smsc.smpp());
    let refused = late.bind_as(Body::BindTransmitter, "test", "test");
    assert_eq!(refused, CommandStatus::ESME_RINVPASWD);
    let mut late = Peer::connect(smsc.smpp());
    let taken = late.bind_as(Body::BindTransmitter, "test", "rotated");
    assert_eq!(taken, CommandStatus::ESME_ROK);
    late.unbind();

    // Lower a rate, version 5: it holds at once, on the bind that there is.
    wait_for_traffic(&smsc, &mut load);
    let bind = sessions(&smsc, &["third"]);
    admin.put("/v1/operators/third/rate", &json!({"rate": 1, "burst": 1}));
    until("what was granted before to be sent", || {
        let queue = admin.get("/v1/queues/operator:third");
        (queue["in_flight"].as_u64()? <= 1).then_some(())
    });
    let sent = third.journal().len();
    let most = LOOK.as_secs() as usize * 10;
    let faster = within(LOOK, || (third.journal().len() > sent + most).then_some(()));
    assert!(
        faster.is_none(),
        "more than {most} in {LOOK:?} at one a second"
    );
    assert_eq!(sessions(&smsc, &["third"]), bind, "the bind stays");

    // Roll back to the version with the new operator, before the route moved: version 6.
    let (status, rolled) = admin.post("/v1/config/rollback/2");
    assert_eq!((status, &rolled["version"]), (200, &json!(6)), "{rolled}");
    let at_first = first.journal().len();
    first.wait_for(at_first + BETWEEN);
    let mut again = Peer::connect(smsc.smpp());
    let back = again.bind_as(Body::BindTransmitter, "test", "test");
    assert_eq!(back, CommandStatus::ESME_ROK, "the old password again");
    again.unbind();

    // Nobody else has noticed anything.
    load.assert_running();
    assert_eq!(sessions(&smsc, &names), before);
    other.assert_alive();
    other.submit(submit("33612345678", "hello"));
    second.wait_for(1);

    load.signal("INT");
    within(LIMIT, || (!load.is_running()).then_some(()))
        .unwrap_or_else(|| panic!("receipts are missing after {LIMIT:?}"));
    assert!(load.wait().success(), "the load found losses");
    other.deliver();
    other.unbind();
    smsc.terminate();
    smsc.assert_no_panic();
    smsc.fsck();
    let sender = history::Sender::read(&smsc.file("load.journal"));
    let stored = history::Stored::embedded(&smsc);
    let journal: Vec<_> = operators.iter().flat_map(Simulator::journal).collect();
    let found = history::check(&stored, &sender, &journal);
    println!("{found:?}");
    assert!(found.acknowledged > 4 * BETWEEN, "{found:?}");
    assert_eq!(found.duplicates_by_us, 0, "{found:?}");
}

/// An account, an operator that is down, and two routes.
fn quiet() -> Smsc {
    Smsc::new()
        .account("test", "secret")
        .operator("up", "127.0.0.1:9".parse().unwrap())
        .route("", "up")
        .route("44", "test:delivered")
        .start()
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
    assert!(!account.body.to_string().contains("secret"), "{account:?}");
    let whole = ask("GET", "/v1/config", &[], None);
    assert!(!whole.body.to_string().contains("secret"), "{whole:?}");
    assert_eq!(
        (&whole.body["version"], &whole.body["applied"]),
        (&json!(1), &json!(1))
    );

    // What was read is put back, changed; the secret that is not in it stays.
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

    // Routes have names, or are called by their conditions.
    let names = |answer: Value| -> Vec<String> {
        let routes = answer["routes"].as_array().unwrap().clone();
        routes
            .iter()
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(admin.get("/v1/routes")), ["44", "default"]);
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
    assert_eq!(names(admin.get("/v1/routes")), all);
    assert_eq!(admin.get("/v1/routes/uk-vip")["settings"]["name"], "uk-vip");

    // A rate is a resource of its own.
    admin.put("/v1/operators/up/rate", &json!({"rate": 12.5}));
    assert_eq!(
        admin.get("/v1/operators/up/rate"),
        json!({"rate": 12.5, "burst": null})
    );
    assert_eq!(admin.get("/v1/operators/up")["settings"]["rate"], 12.5);

    // All of it is there after a restart; the file is not asked again.
    let version = admin.get("/v1/config")["version"].clone();
    assert!(smsc.terminate().success());
    smsc.fsck();
    smsc.start_again();
    let admin = smsc.admin();
    assert_eq!(admin.get("/v1/config")["version"], version);
    assert_eq!(names(admin.get("/v1/routes")), all);
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
            "address: is missing; write \"host:port\"",
            "system_id: is missing",
            "window: must be between 1 and 65535",
            "rate: must be above 0; remove the key for no limit",
        ]
    );
    // Whom others need cannot go.
    let needed = refused("DELETE", "/v1/operators/up", None);
    assert_eq!(needed.len(), 1);
    assert!(
        needed[0].starts_with("routes/default.to[0]: there is no target \"up\""),
        "{needed:?}"
    );
    let document = json!({"accounts": [{"system_id": "a"}], "operators": [], "rout": []});
    assert_eq!(
        refused("PUT", "/v1/config", Some(document)),
        [
            "routes: is missing; write [] for none at all",
            "rout: unknown key; known are: accounts, operators, routes",
        ]
    );
    let document = json!({"accounts": [{"system_id": "a"}], "operators": [], "routes": []});
    assert_eq!(
        refused("PUT", "/v1/config", Some(document)),
        ["accounts/a.password: is missing; set it or `password_file`"]
    );
    let answer = admin.request("PUT", "/v1/accounts/x", &[], Some(&json!([1])));
    assert_eq!(
        (answer.status, &answer.body["field"]),
        (400, &json!("body"))
    );
    // Nothing of it has changed anything.
    assert_eq!(admin.get("/v1/config")["version"], 1);
    // A document of many thousand routes is not too much.
    let mut whole = admin.get("/v1/config");
    let routes: Vec<Value> = (0..5_000)
        .map(|number| json!({"prefix": format!("9{number:05}"), "to": ["up"]}))
        .collect();
    whole["routes"] = json!(routes);
    assert_eq!(admin.put("/v1/config", &whole).body["version"], 2);
}

#[test]
fn the_history_says_who_did_what_and_leads_back() {
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
    // Neither a signal nor a restart applies it; both say that it differs.
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
        let all = [arguments, &["--config", "smsc.toml"]].concat();
        let done = smsc.run(&all);
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
    // It is what happens.
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
    // Nothing is available: it waits at the first target.
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

#[test]
fn every_node_follows_and_keeps_its_sessions() {
    let operators = [(); 2].map(|()| Simulator::new().start());
    let address = operators[0].address();
    let cluster = Cluster::of(3)
        .each(move |smsc| {
            smsc.account("a", "a")
                .account("b", "b")
                .account("c", "c")
                .operator_with("up", address, "binds = 3")
                .route("", "up")
        })
        .start();
    cluster.wait_until_held_by(0, &[0, 1, 2], "operator:up", 3);
    // An account each: receipts go to wherever the account is bound.
    let names = ["a", "b", "c"];
    let mut peers: Vec<Peer> = cluster
        .nodes
        .iter()
        .zip(names)
        .map(|(node, name)| Peer::bind(node.smpp(), name, name))
        .collect();
    let own = |node: &Smsc| sessions(node, &["a", "b", "c", "up"]);
    let applied = |version: u64| {
        for node in &cluster.nodes {
            until("every node to apply it", || {
                let config = node.admin().get("/v1/config");
                (config["applied"] == version && config["version"] == version).then_some(())
            });
        }
    };
    applied(1);
    let before: Vec<_> = cluster
        .nodes
        .iter()
        .map(|node| {
            until("a bind of each side on each node", || {
                let own = own(node);
                (own.len() == 2).then_some(own)
            })
        })
        .collect();

    cluster.nodes[0]
        .admin()
        .put("/v1/operators/new", &operator_settings(&operators[1]));
    applied(2);
    cluster.nodes[1]
        .admin()
        .put("/v1/routes/44", &json!({"prefix": "44", "to": ["new"]}));
    applied(3);
    until("the new operator to be bound", || {
        let bound = cluster
            .nodes
            .iter()
            .any(|node| node.admin().get("/v1/operators/new")["bound"] == 1);
        bound.then_some(())
    });
    for peer in &mut peers {
        peer.submit(submit("447700900123", "hello"));
    }
    operators[1].wait_for(3);
    for peer in &mut peers {
        peer.deliver();
    }
    // Of writers at once, on three nodes, one after the other wins; nothing is lost.
    std::thread::scope(|scope| {
        for (number, node) in cluster.nodes.iter().enumerate() {
            scope.spawn(move || {
                for at in 0..3 {
                    let path = format!("/v1/accounts/new{number}{at}");
                    node.admin().put(&path, &json!({"password": "p"}));
                }
            });
        }
    });
    applied(12);
    let accounts = cluster.nodes[2].admin().get("/v1/accounts");
    assert_eq!(accounts["accounts"].as_array().unwrap().len(), 3 + 9);
    let (status, _) = cluster.nodes[2].admin().post("/v1/config/rollback/3");
    assert_eq!(status, 200);
    applied(13);
    for (node, before) in cluster.nodes.iter().zip(before) {
        assert_eq!(own(node), before, "the same sessions");
    }
    for peer in &mut peers {
        peer.assert_alive();
    }
    // A node that comes later takes the store's word, not its file's.
    for node in &cluster.nodes {
        assert!(!node.log().contains("panicked at"));
    }
}
