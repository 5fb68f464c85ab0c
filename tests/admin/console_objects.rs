//! The pages of the configuration in a real browser: whatever REST can do with accounts, operators, routes and the
//! other resources, tokens, the audit log and subscribers, by each role, and against whom means harm.

use crate::console::pictures;
use crate::harness::{Simulator, Smsc, browser_script, run};
use serde_json::json;

const TOKEN: &str = "harness-token";

/// Runs steps of tests/clients/console_objects.js; gives what they have reported.
fn browse(smsc: &Smsc, steps: &str) -> Vec<serde_json::Value> {
    let another = Simulator::new().start();
    let folder = tempfile::tempdir().unwrap();
    let pictures = pictures();
    let base = format!("http://{}/", smsc.http());
    let address = another.address().to_string();
    let arguments = [steps, &base, TOKEN, pictures.to_str().unwrap(), &address];
    let mut script = browser_script("console_objects.js", &arguments, folder.path());
    let finished = run(&mut script);
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert!(finished.success, "{said}");
    smsc.assert_no_panic();
    let events = finished.stdout.lines();
    events
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// An account, an operator that works, and a route to it.
fn start(up: &Simulator) -> Smsc {
    let smsc = Smsc::new()
        .account("test", "test")
        .operator("up", up.address())
        .route("", "up")
        .start();
    smsc.wait_for_binds("up", 1);
    smsc
}

#[test]
fn everything_is_listed_made_changed_and_restored() {
    let up = Simulator::new().start();
    let smsc = start(&up);
    let events = browse(
        &smsc,
        "a_message_goes_through_a_new_account_and_operator,errors_stand_beside_their_keys,password_is_rotated,\
         route_without_a_name_is_moved,bad_route_is_restored,conflict_is_shown_and_solved,opt_outs_and_balances_are_changed,notes_are_written_and_removed,\
         versions_are_compared_and_restored,whole_configuration_is_kept_and_replaced,keyboard_is_enough,texts_are_no_markup",
    );
    // What people do often takes few clicks.
    for (task, most) in [
        ("account and operator", 16),
        ("password of an operator", 5),
        ("roll back a route", 5),
    ] {
        let done = events
            .iter()
            .find(|one| one["event"] == "task" && one["name"] == task)
            .unwrap();
        let clicks = done["clicks"].as_u64().unwrap();
        assert!((1..=most).contains(&clicks), "{done}");
    }
    // The history has who did it, and the password of no version is shown.
    let admin = smsc.admin();
    let (_, text) = admin
        .text("/v1/config/versions?resource=operators/up&limit=100")
        .unwrap();
    assert!(
        text.contains("(secret)") && !text.contains("n3wpass"),
        "{text}"
    );
}

#[test]
fn a_form_keeps_what_nobody_has_touched() {
    let smsc = Smsc::new()
        .account_with(
            "rich",
            "secret",
            "prices = { default = 2, 4477 = 3 }\ncallback_states = [\"sent\"]\ncallback_hosts = [\"hooks.example.com\"]\n\
             interface_version = 0x34\nlists = { team = [\"447700900001\", \"447700900002\"] }\nsenders = [\"/^[A-Z,=]{3,11}$/\"]\n\
             enabled = true\nduplicate_window = \"90s\"\ntrace_ratio = 0.5\ncarrier = { fee_code = \"7\" }\n\
             rewrite_in = [{ field = \"source\", strip = 2, alphanumeric = false }]\n",
        )
        .operator_with(
            "carrier",
            "127.0.0.1:9".parse().unwrap(),
            "retry = { delays = [\"1m\", \"1h\"], status = [{ status = 88, class = \"permanent\" }] }\n\
             statuses = { ESME_RX_T_APPN = \"permanent\" }\ncosts = { \"44\" = 2.5 }\nreconnect = [\"7s\"]\n\
             bind = \"transmitter+receiver\"\nadaptive = false\n",
        )
        .route("", "carrier")
        .toml(
            "[[list]]\nname = \"friends\"\nentries = [\"4477*\", \"/^44,7=/\"]\n[[limit]]\nname = \"bulk\"\nrate = 5.5\n\
             [policy]\nopt_out_status = 0x401\nprices = { 44 = 2 }\n\
             [[mo_rule]]\nname = \"stop\"\nto = [\"777\"]\ndrop = true\n\
             [[number_range]]\nname = \"own\"\nprefixes = [\"4479\"]\nto = [{ carrier = 70, \"test:delivered\" = 30 }]\n\
             [[number_range]]\nname = \"rest\"\nclass = \"outside\"\nprefixes = [\"\"]\n",
        )
        .start();
    browse(&smsc, "forms_keep_everything");
}

#[test]
fn a_colleague_who_may_look_sees_no_button_and_is_refused() {
    let up = Simulator::new().start();
    let smsc = start(&up);
    browse(&smsc, "token_is_given_to_a_colleague");
    // Whoever calls REST by themselves gets no further than the console lets them.
    let admin = smsc.admin();
    let account = json!({ "password": "mine" });
    for role in ["read", "operate"] {
        let theirs = admin.with_role(role, role);
        assert_eq!(theirs.call("GET", "/v1/config/schema", None).0, 200);
        for (method, path) in [
            ("PUT", "/v1/accounts/test"),
            ("PUT", "/v1/accounts/mine"),
            ("DELETE", "/v1/operators/up"),
            ("PUT", "/v1/config?dry_run=true"),
            ("POST", "/v1/config/rollback/1"),
            ("POST", "/v1/config/rollback/1?resource=accounts/test"),
            ("GET", "/v1/tokens"),
            ("POST", "/v1/tokens"),
            ("GET", "/v1/audit"),
            ("POST", "/v1/accounts/test/balance"),
            ("DELETE", "/v1/subscribers/447700900123/messages"),
        ] {
            let body = (method != "GET").then_some(&account);
            let (status, said) = theirs.call(method, path, body);
            assert_eq!(
                (status, &said["role"]),
                (403, &json!("admin")),
                "{role} {method} {path}"
            );
        }
        let opt_out = theirs.call("PUT", "/v1/opt-outs/447700900123", None).0;
        assert_eq!(opt_out, if role == "read" { 403 } else { 200 });
        // A secret is in no answer to anybody.
        for path in ["/v1/config", "/v1/accounts/test", "/v1/config/versions/1"] {
            let (_, text) = theirs.text(path).unwrap();
            assert!(!text.contains("\"password\":\"test\""), "{path}: {text}");
        }
    }
    assert_eq!(admin.get("/v1/config")["version"], 1);
}

#[test]
fn every_page_of_the_configuration_is_accessible_and_fits() {
    let up = Simulator::new().start();
    let smsc = start(&up);
    browse(&smsc, "every_page_is_accessible_and_fits");
}
