//! Live views: the stream of events, the console in a real browser, `smsc top`.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::harness::hooks::{HookReply, Hooks};
use crate::harness::{
    self, Client, FakeCore, Listener, Peer, Process, Simulator, Smsc, browser_script, submit, until,
};
use serde_json::Value;
use smsc::gsm_core::Phone;

const TOKEN: &str = "harness-token";
/// Longest silence of a server that was asked.
const SILENCE: Duration = Duration::from_secs(30);

/// An SMSC with a healthy operator and one that refuses everything for a while, under load.
struct Scene {
    // Fields are dropped in this order: senders, then receivers, then the rest.
    _load: Process,
    smsc: Smsc,
    _operators: [Simulator; 3],
    folder: tempfile::TempDir,
    /// A message that was delivered and whose receipt was acknowledged.
    delivered: String,
    /// A message that waits for its next attempt.
    scheduled: String,
    /// A message that waits for its next attempt, to be moved.
    moved: String,
    /// A message that was refused permanently.
    dead: String,
}

// === impl Scene ===

impl Scene {
    fn start() -> Self {
        let up = Simulator::new().start();
        let fussy = Simulator::new()
            .flags("--reject-percent 100 --reject-status ESME_RSYSERR")
            .start();
        let picky = Simulator::new()
            .flags("--reject-percent 100 --reject-status ESME_RINVDSTADR")
            .start();
        let smsc = Smsc::new()
            .account("test", "test")
            .operator("up", up.address())
            .operator("fussy", fussy.address())
            .operator("picky", picky.address())
            .route("33", "picky")
            .route("", "up")
            .route("49", "fussy")
            .toml("[usage]\nenabled = true\n[retry]\ndelays = [\"1h\"]")
            .start();
        smsc.wait_for_binds("up", 1);
        smsc.wait_for_binds("fussy", 1);
        smsc.wait_for_binds("picky", 1);
        let mut esme = Peer::bind(smsc.smpp(), "test", "test");
        let delivered = esme.submit(submit("447911123456", "hello console"));
        esme.deliver();
        let scheduled = esme.submit(submit("491512345678", "hello later"));
        let moved = esme.submit(submit("491512345679", "hello elsewhere"));
        let dead = esme.submit(submit("33611223344", "hello nobody"));
        esme.deliver();
        let admin = smsc.admin();
        until("one message told and one scheduled", || {
            let told = admin.get(&format!("/v1/messages/{delivered}"));
            let later = admin.get(&format!("/v1/messages/{scheduled}"));
            let acknowledged = told["final"]["receipt_acknowledged"] == true;
            let other = admin.get(&format!("/v1/messages/{moved}"));
            let waits = [later, other].iter().all(|one| one["stage"] == "scheduled");
            (acknowledged && waits).then_some(())
        });
        esme.unbind();
        let folder = tempfile::tempdir().unwrap();
        Self {
            _load: load(&smsc, &folder),
            smsc,
            _operators: [up, fussy, picky],
            folder,
            delivered,
            scheduled,
            moved,
            dead,
        }
    }

    /// Drives the console through steps of tests/clients/console.js.
    fn browse(&self, steps: &str) -> Command {
        let base = base(&self.smsc);
        let pictures = pictures();
        let arguments = [
            steps,
            &base,
            TOKEN,
            pictures.to_str().unwrap(),
            &self.delivered,
            &self.scheduled,
            &self.moved,
            &self.dead,
        ];
        browser_script("console.js", &arguments, self.folder.path())
    }
}

/// Sends messages at a steady rate until it is dropped.
fn load(smsc: &Smsc, folder: &tempfile::TempDir) -> Process {
    let mut command = Command::new(harness::binary());
    command
        .args(["load", "--host", &smsc.smpp().to_string()])
        .args(["--system-id", "test", "--password", "test"])
        .args(["--rate", "100", "--duration", "10m"]);
    Process::start("smsc load", command, &folder.path().join("load.log"))
}

fn base(smsc: &Smsc) -> String {
    format!("http://{}/", smsc.http())
}

/// The folder below target for screenshots of the console.
pub fn pictures() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("console");
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn events_tell_what_changes_and_end_with_the_server() {
    let mut scene = Scene::start();
    let smsc = &scene.smsc;
    let refused = Listener::connect(smsc.http(), "/v1/events", "");
    assert!(refused.head.starts_with("http/1.1 401"), "{}", refused.head);
    let (status, body) = smsc.admin().text("/v1/events?kinds=weather").unwrap();
    assert_eq!(status, 400);
    assert!(
        body.contains("overview, queues, binds, operators, nodes"),
        "{body}"
    );

    let mut all = Listener::open(smsc.http(), TOKEN, "/v1/events");
    assert!(
        all.head.contains("content-type: text/event-stream"),
        "{}",
        all.head
    );
    assert!(all.head.contains("cache-control: no-store"), "{}", all.head);
    let (_, hello) = all.wait_for("hello");
    assert_eq!(hello["every_ms"], 1000);
    for kind in ["overview", "queues", "binds", "operators", "nodes"] {
        all.wait_for(kind);
    }
    // The server calculates rates once a second; they follow the load. On a busy machine an event may be up to two
    // seconds late and the next one in time, soon after it: how often they come is seen in several of them.
    let (mut last, mut most) = (0, 0.0);
    let (mut first, mut seen) = (None, 0_i64);
    while most < 50.0 || seen < 6 {
        let (id, overview) = all.wait_for("overview");
        assert!(id > last, "{id} comes after {last}");
        let first = *first.get_or_insert(id);
        assert!(
            id >= first + seen * 1000 - 2_500,
            "much less than {seen} seconds from {first} to {id}"
        );
        assert_eq!(overview["at_ms"], id);
        seen += 1;
        (last, most) = (id, overview["rates"]["accepted"].as_f64().unwrap());
    }
    let (status, _) = smsc.admin().post("/v1/queues/operator:up/suspend");
    assert_eq!(status, 200);
    loop {
        let (_, queues) = all.wait_for("queues");
        let queues = queues["queues"].as_array().unwrap();
        if queues
            .iter()
            .any(|queue| queue["name"] == "operator:up" && queue["suspended"] == true)
        {
            break;
        }
    }
    smsc.admin().post("/v1/queues/operator:up/resume");

    // A client that reconnects gets the history after its last event, and only the kinds that it
    // requests.
    let headers = format!("Authorization: Bearer {TOKEN}\r\nLast-Event-ID: {last}\r\n");
    let mut some = Listener::connect(smsc.http(), "/v1/events?kinds=nodes", &headers);
    let (name, _, hello) = some.event();
    assert_eq!(name, "hello");
    let times = hello["history"]["at_ms"].as_array().unwrap();
    assert!(
        times.iter().all(|at| at.as_i64().unwrap() > last),
        "{times:?} since {last}"
    );
    assert_eq!(some.event().0, "nodes");

    let status = scene.smsc.terminate();
    assert!(status.success(), "{status}");
    let mut end = None;
    while let Some(line) = all.line() {
        end = line.strip_prefix("event: ").map(str::to_owned).or(end);
    }
    assert_eq!(end.as_deref(), Some("end"), "the last event says so");
    scene.smsc.assert_no_panic();
}

#[test]
fn the_console_shows_and_commands() {
    let scene = Scene::start();
    Client::run(scene.browse(
        "wrong_token,door_does_not_wait,figures_move,message_is_found,queue_is_suspended_and_resumed,keyboard_is_enough,every_view_fits,message_is_moved,question_belongs_to_its_page,dead_letter_is_replayed,message_is_retried_and_cancelled,message_is_composed,key_is_made_and_revoked,rules_are_made_and_moved,ranges_are_made_and_asked",
    ));
    scene.smsc.assert_no_panic();
}

#[test]
fn the_console_shows_callbacks_and_tries_and_pauses_them() {
    let hooks = Hooks::answering(|_, _| HookReply::status(404));
    let keys = format!(
        "deliver_by = \"callback\"\ncallback_url = {:?}\ncallback_allow_private = [\"127.0.0.1\"]\n\
         callback_secrets = \"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"\ncallback_retry_for = \"1s\"\n",
        hooks.url("127.0.0.1")
    );
    let smsc = Smsc::new()
        .account_with("called", "called", &keys)
        .route("", "test:delivered")
        .start();
    let mut esme = Peer::transmitter(smsc.smpp(), "called", "called");
    esme.submit(submit("447700900123", "hello"));
    let admin = smsc.admin();
    until("a receipt that was given up", || {
        let list = admin.get("/v1/receipts/given-up");
        (list["messages"].as_array()?.len() == 1).then_some(())
    });
    let folder = tempfile::tempdir().unwrap();
    let (base, pictures) = (base(&smsc), pictures());
    let step = "callback_is_tested_and_paused";
    let arguments = [step, &base, TOKEN, pictures.to_str().unwrap()];
    Client::run(browser_script("console.js", &arguments, folder.path()));
    smsc.assert_no_panic();
}

#[test]
fn the_console_shows_gsm_networks_and_what_handsets_said() {
    let core = FakeCore::start();
    let smsc = Smsc::new()
        .account("test", "test")
        .account("handsets", "handsets")
        .file("imsis.csv", "4916*,00101*\n")
        .toml("[imsi]\ntable = \"imsis.csv\"\n")
        .toml(&format!(
            "[[gsm]]\nname = \"home\"\naddress = \"{}\"\nsmsc_address = \"49160000\"\naccount = \"handsets\"\n\
             retry = {{ delays = [\"1h\"] }}\n",
            core.address()
        ))
        .route("4916", "gsm:home")
        .start();
    core.wait_for_connections(1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    core.set("00101000002", Phone::Refuses(22));
    esme.submit(submit("4916000001", "arrives"));
    esme.submit(submit("4916000002", "does not"));
    core.wait_for("00101000001", 1);
    core.wait_for_attempts("00101000002", 1);
    // An SMS-SUBMIT to 999, which has no route.
    let to_nowhere = &[0x01, 0x07, 0x03, 0x91, 0x99, 0xF9, 0x00, 0x00, 0x01, 0x41];
    let tpdu = bytes::Bytes::from_static(to_nowhere);
    assert!(
        core.phones()
            .submit("00101000001", "4916000001", "49160000", tpdu)
    );
    until("the answer to the phone", || {
        (core.phones().answers() == [("00101000001".to_owned(), 1)]).then_some(())
    });
    let admin = smsc.admin();
    let expected = serde_json::json!([
        { "result": "ESME_ROK", "count": 1 }, { "result": "RP_MEMORY_CAPACITY_EXCEEDED", "count": 1 },
    ]);
    until("the results", || {
        let network = admin.get("/v1/gsm/home");
        let submissions = serde_json::json!([{ "cause": 1, "count": 1 }]);
        (network["results"] == expected && network["submissions"] == submissions).then_some(())
    });
    let folder = tempfile::tempdir().unwrap();
    let (base, pictures) = (base(&smsc), pictures());
    let step = "gsm_networks_show_figures";
    let arguments = [step, &base, TOKEN, pictures.to_str().unwrap()];
    Client::run(browser_script("console.js", &arguments, folder.path()));
    smsc.assert_no_panic();
}

#[test]
fn the_console_tells_when_the_server_is_away_and_comes_back() {
    let mut scene = Scene::start();
    let mut browser = Client::start("console.js", scene.browse("server_goes_and_comes_back"));
    browser.wait_for("away?", |_| true);
    scene.smsc.kill();
    browser.wait_for("away", |_| true);
    scene.smsc.start_again();
    browser.wait_for("server_goes_and_comes_back", |_| true);
}

#[test]
fn the_page_is_kept_safe_and_its_files_are_kept() {
    let smsc = Smsc::new().start();
    let ask = |path: &str, headers: &str| {
        let mut socket = TcpStream::connect(smsc.http()).unwrap();
        socket.set_read_timeout(Some(SILENCE)).unwrap();
        write!(
            socket,
            "GET {path} HTTP/1.1\r\nHost: smsc\r\nConnection: close\r\n{headers}\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    };
    let page = ask("/", "Accept: text/html,*/*;q=0.8\r\n");
    assert!(
        page.contains("script-src 'self'") && page.contains("frame-ancestors 'none'"),
        "{page}"
    );
    assert!(
        page.contains("content-type: text/html") && page.contains("vary: Accept"),
        "{page}"
    );
    let tag = page
        .lines()
        .find_map(|line| line.strip_prefix("etag: "))
        .unwrap();
    let again = ask(
        "/",
        &format!("Accept: text/html\r\nIf-None-Match: {tag}\r\n"),
    );
    assert!(again.starts_with("HTTP/1.1 304"), "{again}");
    let (_, script) = page.split_once("type=\"module\" src=\"").unwrap();
    let script = ask(script.split('"').next().unwrap(), "");
    assert!(
        script.contains("immutable") && script.contains("text/javascript"),
        "{script}"
    );
    assert!(ask("/console/0/main.js", "").contains("no-store"));
    assert!(ask("/console/0/nothing.js", "").starts_with("HTTP/1.1 404"));
    // A client that is not a browser does not get a page.
    let text = ask("/", "Accept: */*\r\n");
    assert!(
        text.contains("text/plain") && text.contains("/health/ready"),
        "{text}"
    );
}

#[test]
fn top_prints_a_frame_of_what_is_there() {
    let mut scene = Scene::start();
    let url = base(&scene.smsc);
    let top = |more: &[&str]| {
        let arguments = ["top", "--once", "--url", &url, "--token", TOKEN];
        scene.smsc.run(&[&arguments[..], more].concat())
    };
    let frame = until("figures in the frame", || {
        let frame = top(&["--width", "120", "--height", "60"]);
        assert!(frame.success, "{}", frame.stderr);
        (!frame.stdout.contains("accepted 0/s")).then_some(frame.stdout)
    });
    for part in [
        "READY",
        "operator binds 3 of 3",
        "operator:fussy",
        "served",
        "transceiver",
        "ms",
    ] {
        assert!(frame.contains(part), "{part} is not in\n{frame}");
    }
    let json: Value = serde_json::from_str(&top(&["--json"]).stdout).unwrap();
    assert_eq!(json["binds"][0]["direction"], "out");
    assert!(json["overview"]["totals"]["accepted"].as_u64().unwrap() > 0);

    scene.smsc.kill();
    let arguments = ["top", "--once", "--url", &url, "--token", TOKEN];
    let away = scene.smsc.run(&arguments);
    assert!(!away.success);
    assert!(
        away.stderr.contains("nothing listens on"),
        "{}",
        away.stderr
    );
}
