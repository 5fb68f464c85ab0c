//! The pages of daily work in a real browser: many messages at once, one bind, live traces, unmatched receipts, damaged
//! rows, why a message waits, and what operators throttle.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::console::pictures;
use crate::harness::{
    self, Client, FakeOperator, Peer, Process, Simulator, Smsc, browser_script, receipt,
    send_receipt, submit_from, submit_quietly, until,
};
use smsc::smpp::SubmitSm;

/// An SMSC under load, with an operator for each thing that can go wrong.
struct Scene {
    // Fields are dropped in this order: senders, then receivers, then the rest.
    _loads: [Process; 2],
    smsc: Smsc,
    _operators: Vec<Simulator>,
    _stranger: Peer,
    folder: tempfile::TempDir,
    /// Waits in a queue that is suspended.
    waiting: String,
}

// === impl Scene ===

impl Scene {
    fn start() -> Self {
        let simulator = |flags: &str| Simulator::new().flags(flags).start();
        let up = simulator("");
        let fussy = simulator("--throttle-percent 20");
        let picky = simulator("--reject-percent 100 --reject-status ESME_RINVDSTADR");
        let stranger = FakeOperator::listen();
        let smsc = Smsc::new()
            .account("test", "test")
            // Its traffic does not push an unbind out of the list of its last PDUs before the page looks again.
            .operator_with("up", up.address(), "reconnect = [\"30s\"]")
            .operator("fussy", fussy.address())
            .operator("picky", picky.address())
            .operator("held", up.address())
            // Nobody answers its enquire_link.
            .operator_with(
                "stranger",
                stranger.address(),
                "enquire_link_interval = \"0s\"",
            )
            .route("33", "picky")
            .route("49", "fussy")
            .route("39", "held")
            .route("", "up")
            .toml("[usage]\nenabled = true\n\n[history]\nwrite_every = \"1s\"")
            .start();
        let mut stranger = stranger.accept_bind();
        for operator in ["up", "fussy", "picky", "held"] {
            smsc.wait_for_binds(operator, 1);
        }
        assert_eq!(smsc.admin().post("/v1/queues/operator:held/suspend").0, 200);
        let mut esme = Peer::bind(smsc.smpp(), "test", "test");
        let quiet = |to: &str| submit_quietly(to, "hello console");
        for number in 0..25 {
            esme.submit(quiet(&format!("336112233{number:02}")));
            esme.submit(quiet(&format!("393112233{number:02}")));
        }
        let waiting = esme.submit(quiet("39399999999"));
        // What a spreadsheet would take for a formula.
        esme.submit(SubmitSm {
            registered_delivery: 0,
            source_addr_ton: 5,
            ..submit_from("=1+1", "33611223399")
        });
        for text in ["id:77 stat:DELIVRD err:000", "id:78 stat:UNDELIV err:003"] {
            send_receipt(&mut stranger, receipt(text));
        }
        let admin = smsc.admin();
        until("failures and receipts that match nothing", || {
            let failed = admin.get("/v1/dead-letters?operator=picky&limit=100");
            let parked = admin.get("/v1/receipts/unmatched");
            let count = |list: &serde_json::Value, key: &str| list[key].as_array().unwrap().len();
            (count(&failed, "messages") >= 26 && count(&parked, "receipts") == 2).then_some(())
        });
        esme.unbind();
        let folder = tempfile::tempdir().unwrap();
        Self {
            _loads: ["447700900000+1000", "491512000000+1000"]
                .map(|numbers| load(&smsc, &folder, numbers)),
            smsc,
            _operators: vec![up, fussy, picky],
            _stranger: stranger,
            folder,
            waiting,
        }
    }
}

/// Sends messages to these numbers at a steady rate.
fn load(smsc: &Smsc, folder: &tempfile::TempDir, numbers: &str) -> Process {
    let mut command = Command::new(harness::binary());
    command
        .args(["load", "--host", &smsc.smpp().to_string()])
        .args(["--system-id", "test", "--password", "test"])
        .args([
            "--rate",
            "30",
            "--duration",
            "10m",
            "--destinations",
            numbers,
        ]);
    Process::start("smsc load", command, &folder.path().join("load.log"))
}

impl Scene {
    /// Lists rows as if they had been found damaged, more than a page has.
    fn damage(&self) {
        let store = rusqlite::Connection::open(self.smsc.data_dir().join("smsc.db")).unwrap();
        store.busy_timeout(Duration::from_secs(10)).unwrap();
        let listed = store.execute(
            "WITH RECURSIVE numbers(id) AS (VALUES(1) UNION ALL SELECT id + 1 FROM numbers WHERE id < 51)
             INSERT INTO damaged(id, origin, found_at, why, legible)
             SELECT id, 'msg', 1763715600000, 'its content does not match its checksum',
               'from ACME to 4477*****123' FROM numbers",
            [],
        );
        assert_eq!(listed.unwrap(), 51);
        let admin = self.smsc.admin();
        until("the damaged rows to be counted", || {
            (admin.metric("smsc_store_damaged_rows") == Some(51.0)).then_some(())
        });
    }

    /// Drives the console through steps of tests/clients/console_work.js.
    fn browse(&self, steps: &str, pictures: &Path) {
        fs::create_dir_all(pictures).unwrap();
        let reader = self.smsc.admin().with_role("read", "looker");
        let base = format!("http://{}/", self.smsc.http());
        let admin = self.smsc.admin();
        let arguments = [
            steps,
            &base,
            admin.token(),
            pictures.to_str().unwrap(),
            reader.token(),
            &self.waiting,
        ];
        let folder = self.folder.path();
        Client::run(browser_script("console_work.js", &arguments, folder));
    }
}

#[test]
fn the_console_does_the_daily_work() {
    let steps = [
        "message_says_why_it_waits",
        "purge_says_how_many",
        "throttling_is_seen_without_opening_anything",
        "trace_follows_an_operator_and_stops",
        "bind_is_looked_into_and_disconnected",
        "reader_sees_no_text_and_commands_nothing",
        "unmatched_receipt_is_matched_or_dropped",
        "traffic_history_is_drawn_and_leads_to_failures",
        "failures_lead_to_their_messages_and_are_replayed_at_a_rate",
        "searches_are_saved_as_csv",
        "dead_letters_are_replayed_together",
        "waiting_messages_are_cancelled_together",
        "damaged_rows_are_forgotten_one_by_one_and_all",
    ];
    let scene = Scene::start();
    scene.damage();
    scene.browse(&steps.join(","), &pictures());
}

/// Looks at every page in one colour scheme. `scripts/screenshots` says where the pictures go, and wants those of `more`, too.
fn pictures_of_every_page(scheme: &str, more: &str) {
    let pages = format!("every_page_has_its_picture_in_{scheme}");
    match std::env::var_os("SMSC_SCREENSHOTS") {
        Some(folder) => Scene::start().browse(&format!("{pages}{more}"), Path::new(&folder)),
        None => Scene::start().browse(&pages, &pictures()),
    }
}

#[test]
fn every_page_has_its_picture_in_light() {
    pictures_of_every_page("light", ",pictures_of_the_manual");
}

#[test]
fn every_page_has_its_picture_in_dark() {
    pictures_of_every_page("dark", "");
}
