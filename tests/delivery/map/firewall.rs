//! The firewall in front of the SMSC: what a network may not send is blocked, nobody else notices, and its rules change while
//! the signalling gateways stay connected.

use serde_json::{Value, json};

use super::{DELIVERED, MapTown, NEVER, SOON, is_active};
use crate::harness::map::hex;
use crate::harness::{Client, browser_script, from_handset, stat_of, submit, until};

/// facilityNotSupported (TS 29.002 §17.6.6).
const FACILITY_NOT_SUPPORTED: u8 = 21;
/// An MSC in Austria.
const ABROAD: &str = "43664000001";
/// The MSC at home.
const HOME: &str = crate::harness::map::MSC;
/// A firewall that believes senders of ours from home and from France alone.
const BLOCKING: &str = "[gsm.map.firewall]\nmode = \"on\"\nown_titles = [\"4917\"]\nown_numbers = [\"4916\"]\nvisited_titles = [\"33\"]";
/// Of an administrator.
const TOKEN: &str = "harness-token";
/// Questions of a stranger, in two seconds or more.
const FLOOD: u32 = 10_000;
/// Messages to handsets and from them meanwhile.
const MEANWHILE: usize = 20;

impl MapTown {
    /// What an MSC is answered to the message of a handset.
    fn submits(&self, msc: &str, sender: &str, text: &str) -> Value {
        let tpdu = hex(&from_handset("12345", text));
        let order = json!({ "msisdn": sender, "tpdu": tpdu, "version": 3, "node": msc });
        self.network.order("submit", order)
    }

    fn home(&self) -> Value {
        self.smsc.admin().get("/v1/gsm/home")
    }

    /// Changes the firewall, as an administrator does.
    fn guard(&self, firewall: Value) {
        let mut settings = self.home()["settings"].clone();
        settings["map"]["firewall"] = firewall;
        self.smsc.admin().put("/v1/gsm/home", &settings);
    }

    /// Since when the gateway takes our traffic.
    fn since(&self) -> Value {
        self.home()["connections"][0]["gateways"][0]["since"].clone()
    }

    /// How many requests a rule has found.
    fn screened(&self, rule: &str, action: &str) -> f64 {
        let metric = format!(
            "smsc_gsm_firewall_requests_total{{gsm=\"home\",rule=\"{rule}\",action=\"{action}\"}}"
        );
        self.smsc.admin().metric(&metric).unwrap_or_default()
    }
}

#[test]
fn a_spoofed_sender_is_found_and_blocked_and_the_rules_change_without_a_new_connection() {
    let town = MapTown::start(NEVER, "");
    town.network.node(ABROAD, json!({ "kind": "msc" }));
    let (sender, _) = town.network.subscriber(1, json!({}));
    let mut esme = town.esme();
    let since = town.since();
    assert!(since.is_string(), "{since}");
    let is_taken = |answer: &Value| answer.get("error").is_none();
    let answer = town.submits(ABROAD, &sender, "without a firewall");
    assert!(is_taken(&answer), "{answer}");
    let guarded = |mode: &str, visited: &str| {
        json!({
            "mode": mode, "own_titles": ["4917"], "own_numbers": ["4916"], "visited_titles": [visited],
        })
    };
    town.guard(guarded("dry", "33"));
    until("a finding of the dry firewall", || {
        let answer = town.submits(ABROAD, &sender, "let in");
        assert!(is_taken(&answer), "{answer}");
        (town.screened("spoofed", "dry") > 0.0).then_some(())
    });
    town.guard(guarded("on", "33"));
    until("a refusal", || {
        let answer = town.submits(ABROAD, &sender, "let in until then");
        (answer["error"] == FACILITY_NOT_SUPPORTED).then_some(())
    });
    let answer = town.submits(ABROAD, &sender, "blocked");
    assert_eq!(answer["error"], FACILITY_NOT_SUPPORTED, "{answer}");
    until("it in the list", || {
        let newest = town.home()["firewall"][0].clone();
        let is_it = newest["rule"] == "spoofed" && newest["action"] == "block";
        (is_it && newest["calling"] == ABROAD && newest["error"] == FACILITY_NOT_SUPPORTED)
            .then_some(())
    });
    assert!(town.screened("spoofed", "block") >= 2.0);
    // The same handset at home.
    let answer = town.submits(HOME, &sender, "from home");
    assert!(is_taken(&answer), "{answer}");
    loop {
        let got = esme.deliver().short_message;
        assert_ne!(&got[..], b"blocked");
        if &got[..] == b"from home" {
            break;
        }
    }
    town.guard(guarded("on", "43"));
    until("it to be let in where ours roam", || {
        let answer = town.submits(ABROAD, &sender, "roaming");
        is_taken(&answer).then_some(())
    });
    assert_eq!(town.since(), since, "the gateway was connected anew");
    assert!(is_active(&town.smsc, town.recorder.address()));
    town.smsc.assert_no_panic();
}

#[test]
fn a_command_shows_what_was_found() {
    let town = MapTown::start(NEVER, BLOCKING);
    town.network.node(ABROAD, json!({ "kind": "msc" }));
    let (sender, _) = town.network.subscriber(1, json!({}));
    let printed = |options: &[&str]| {
        let told = town
            .smsc
            .command(&[&["firewall", "list"][..], options].concat());
        assert!(told.success, "{options:?}: {}", told.stderr);
        told.stdout
    };
    let answer = town.submits(ABROAD, &sender, "blocked");
    assert_eq!(answer["error"], FACILITY_NOT_SUPPORTED, "{answer}");
    let line = until("it in the list", || {
        let lines = printed(&["home", "--rule", "spoofed", "-o", "jsonl"]);
        serde_json::from_str::<Value>(lines.lines().next()?).ok()
    });
    assert_eq!(line["gsm"], "home", "{line}");
    assert_eq!(line["calling"], ABROAD, "{line}");
    let shown = printed(&["--sort-by", "count"]);
    assert!(
        shown.contains("spoofed") && shown.contains(ABROAD),
        "{shown}"
    );
    assert!(!shown.contains(&sender), "a number is shown: {shown}");
    assert_eq!(printed(&["-o", "name"]).trim_end(), "home");
    assert!(printed(&["--rule", "title"]).contains("no firewall has found"));
    // A shell completes the name of the network.
    let url = format!("http://{}", town.smsc.http());
    let begun = ["--url", &url, "--token", TOKEN, "firewall", "list", "ho"];
    let told = town
        .smsc
        .run(&[&["complete-names", "--"][..], &begun].concat());
    assert_eq!(told.stdout, "home\n", "{told:?}");
    town.smsc.assert_no_panic();
}

#[test]
fn the_console_shows_what_was_found() {
    let town = MapTown::start(NEVER, BLOCKING);
    town.network.node(ABROAD, json!({ "kind": "msc" }));
    let (sender, _) = town.network.subscriber(1, json!({}));
    let answer = town.submits(ABROAD, &sender, "blocked");
    assert_eq!(answer["error"], FACILITY_NOT_SUPPORTED, "{answer}");
    let folder = tempfile::tempdir().unwrap();
    let base = format!("http://{}/", town.smsc.http());
    let pictures = folder.path().to_str().unwrap();
    let step = "gsm_firewall_shows_findings";
    let arguments = [step, &base, TOKEN, pictures];
    Client::run(browser_script("console.js", &arguments, folder.path()));
    town.smsc.assert_no_panic();
}

#[test]
fn a_title_that_floods_with_questions_is_limited_and_nobody_else_notices() {
    let town = MapTown::start(
        SOON,
        "[gsm.map.firewall]\nmode = \"on\"\ntitle_rate = 10.0\ntitle_burst = 50",
    );
    let (number, imsi) = town.network.subscriber(1, json!({}));
    let mut esme = town.esme();
    let id = esme.submit(submit(&number, "before"));
    assert_eq!(stat_of(&esme.deliver()), (id, DELIVERED));
    std::thread::scope(|scope| {
        let flood = json!({ "kind": "questions", "count": FLOOD });
        let flood = scope.spawn(|| town.network.order("flood", flood));
        for at in 0..MEANWHILE {
            esme.submit(submit(&number, &format!("to a handset {at}")));
            let answer = town.submits(HOME, &number, &format!("from a handset {at}"));
            assert!(answer.get("error").is_none(), "{answer}");
        }
        town.network.wait_for(&imsi, 1 + MEANWHILE);
        flood.join().expect("the flood");
    });
    until("most of the flood to be blocked", || {
        (town.screened("title_rate", "block") >= f64::from(FLOOD / 2)).then_some(())
    });
    // One line of the list for all of it, and about one line of the log in a second.
    let found = town.home()["firewall"].clone();
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(found[0]["operation"], "sendRoutingInfoForSM", "{found}");
    town.network.assert_content();
    town.smsc.assert_no_panic();
}
