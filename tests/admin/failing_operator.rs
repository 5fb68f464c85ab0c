//! An operator that refuses half of everything is named, with its status and since when; a clean one beside it is not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::harness::{Admin, Listener, Peer, Simulator, Smsc, submit, until};

/// The counts of a test are those of seconds.
const SHORT: &str = "[incidents]\nwindow = \"10s\"\nlook_every = \"500ms\"\nmin_messages = 20\n";
const FAILS: &str =
    "--reject-percent 50 --reject-status ESME_RINVSRCADR --receipts mixed --fail-percent 40";

/// Ends the traffic, also when the test fails.
struct EndOfTraffic<'t>(&'t AtomicBool);

impl Drop for EndOfTraffic<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The incident of refusals of an operator, if one is listed.
fn refusals(admin: &Admin, operator: &str) -> Option<Value> {
    let page = admin.get("/v1/incidents");
    let all = page["incidents"].as_array().unwrap();
    let of =
        |one: &&Value| one["about"] == format!("operator:{operator}") && one["kind"] == "refused";
    all.iter().find(of).cloned()
}

/// What the overview says next that needs a look.
pub fn attention(events: &mut Listener) -> Vec<String> {
    let (_, overview) = events.wait_for("overview");
    let all = overview["attention"].as_array().unwrap().iter();
    all.map(|one| one["text"].as_str().unwrap().to_owned())
        .collect()
}

fn health(smsc: &Smsc) -> String {
    let said = smsc.command(&["health"]);
    assert!(said.success, "degraded is ready: {}", said.stderr);
    said.stdout
}

#[test]
fn who_refuses_half_is_named_acknowledged_and_listed_when_it_is_over() {
    let mut charlie = Simulator::new().flags(FAILS).start();
    let alpha = Simulator::new().start();
    let smsc = Smsc::new()
        .account("test", "test")
        .account("shop", "shop")
        .operator("charlie", charlie.address())
        .operator("alpha", alpha.address())
        .route("44", "charlie")
        .route("33", "alpha")
        .toml(SHORT)
        .start();
    for operator in ["charlie", "alpha"] {
        smsc.wait_for_binds(operator, 1);
    }
    let admin = smsc.admin();
    assert_eq!(refusals(&admin, "charlie"), None);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let _end = EndOfTraffic(&is_over);
        for account in ["test", "shop"] {
            let (address, is_over) = (smsc.smpp(), &is_over);
            scope.spawn(move || {
                let mut esme = Peer::transmitter(address, account, account);
                while !is_over.load(Ordering::Relaxed) {
                    for to in ["447700900123", "33700900123"] {
                        esme.submit(submit(to, "hello"));
                    }
                }
            });
        }
        let id = named(&smsc, &admin);
        acknowledged(&smsc, &admin, &id);
        // It works again: the same port, and nothing is refused.
        charlie.kill();
        charlie.set_flags("");
        charlie.start_again();
        let ended = until("the end of the incident", || {
            refusals(&admin, "charlie").filter(|one| !one["ended_at"].is_null())
        });
        assert_eq!(ended["id"], id.as_str(), "it stays in the list");
    });
    let listed = smsc.command(&["incident", "list"]).stdout;
    assert!(
        listed.contains("ended") && listed.contains("charlie refuses"),
        "{listed}"
    );
    assert!(!listed.contains("alpha"), "{listed}");
    smsc.assert_no_panic();
}

/// Waits until the failing operator is named everywhere, and the clean one is not; the id of the incident.
fn named(smsc: &Smsc, admin: &Admin) -> String {
    let incident = until("the operator to be named", || {
        let found = refusals(admin, "charlie")?;
        let text = found["text"].as_str().unwrap();
        text.contains(", 2 accounts").then_some(found)
    });
    let text = incident["text"].as_str().unwrap();
    assert!(
        text.starts_with("operator charlie refuses ")
            && text.contains(" UTC with ESME_RINVSRCADR, 2 accounts"),
        "{text}"
    );
    assert_eq!(incident["cause"], "ESME_RINVSRCADR");
    assert!(incident["ended_at"].is_null() && !incident["began_at"].is_null());
    let mut events = Listener::open(smsc.http(), admin.token(), "/v1/events");
    let told = attention(&mut events);
    let names = |who: &str| told.iter().any(|one| one.contains(who));
    assert!(names("operator charlie refuses"), "{told:?}");
    assert!(!names("alpha") && !names("account "), "{told:?}");
    let said = health(smsc);
    assert!(
        said.contains("degraded: operator charlie refuses") && said.contains("ESME_RINVSRCADR"),
        "{said}"
    );
    assert!(!said.contains("alpha"), "{said}");
    let failures = smsc.command(&["failures"]);
    assert!(
        failures.stdout.contains("operator charlie refuses"),
        "{} {}",
        failures.stdout,
        failures.stderr
    );
    let metric = |operator: &str| {
        let labels = format!("{{queue=\"operator:{operator}\",kind=\"refused\"}}");
        admin.metric(&format!("smsc_operator_incident{labels}"))
    };
    assert_eq!((metric("charlie"), metric("alpha")), (Some(1.0), None));
    incident["id"].as_str().unwrap().to_owned()
}

/// Somebody who may act says that they know of it; it needs no look any more.
fn acknowledged(smsc: &Smsc, admin: &Admin, id: &str) {
    let [read, operate] =
        [("read", "otto"), ("operate", "anna")].map(|(role, name)| admin.with_role(role, name));
    let path = format!("/v1/incidents/{id}/acknowledge");
    let (status, refused) = read.call("POST", &path, None);
    assert_eq!((status, &refused["role"]), (403, &json!("operate")));
    assert_eq!(
        operate.call("POST", "/v1/incidents/7/acknowledge", None).0,
        404
    );
    let (status, done) = operate.call("POST", &path, None);
    assert_eq!((status, &done["count"]), (200, &json!(1)), "{done}");
    let known = refusals(&read, "charlie").unwrap();
    let by = known["acknowledged_by"].as_str().unwrap();
    assert!(by.starts_with("anna from "), "{by}");
    assert!(known["ended_at"].is_null(), "it goes on: {known}");
    let mut events = Listener::open(smsc.http(), admin.token(), "/v1/events");
    until("it to need no look", || {
        let told = attention(&mut events);
        let is_told = told.iter().any(|one| one.contains("charlie refuses"));
        (!is_told).then_some(())
    });
    assert!(!health(smsc).contains("charlie refuses"));
    let audit = admin.get("/v1/audit?path=/v1/incidents").to_string();
    assert!(audit.contains(&path) && audit.contains("anna"), "{audit}");
}
