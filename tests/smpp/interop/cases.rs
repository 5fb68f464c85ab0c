//! The cases of an ESME, and the results of its run.
//!
//! The run: the ESME binds with each operation that it supports and unbinds again; submits a text, and a
//! text of 300 characters in each way that it supports; gets their receipts and a mobile-originated
//! message; drops its connection after one more submission, without unbind; binds again, gets the
//! missing receipt, and unbinds. It ends with one JSON object:
//!
//! `binds` (kind: command_status), `submit` (id), `long` (ids), `messages` (how many submit_sm it sent),
//! `receipts` (`id` and `stat` of each), `mo` (`source` and `text` of each), `reconnect` (id), `unbind`
//! (command_status of the answers).

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::harness::{Client, JournalLine, Peer, Simulator, Smsc, submit, until};

const MOBILE: &str = "447700900999";
const FROM_A_MOBILE: &str = "from a mobile";

/// A result that several tests share. If its run fails, all of them fail, and the run is not repeated.
pub struct Once<T>(OnceLock<Result<T, String>>);

/// An implementation, run once for all its tests.
pub struct Esme {
    binds: usize,
    play: Play,
    played: Once<Played>,
}

enum Play {
    /// A script, called with host, port, system_id and password.
    Script(fn(&[&str]) -> Command),
    Native(fn(&Smsc) -> Value),
}

/// The results of a run.
pub struct Played {
    /// The JSON object of the ESME.
    seen: Value,
    /// The journal of its operator.
    journal: Vec<JournalLine>,
    /// How many kinds of bind it supports.
    binds: usize,
    /// Our log.
    log: String,
}

// === impl Esme ===

impl Esme {
    pub const fn script(binds: usize, command: fn(&[&str]) -> Command) -> Self {
        Self::new(binds, Play::Script(command))
    }

    pub const fn native(binds: usize, play: fn(&Smsc) -> Value) -> Self {
        Self::new(binds, Play::Native(play))
    }

    const fn new(binds: usize, play: Play) -> Self {
        Self {
            binds,
            play,
            played: Once::new(),
        }
    }

    /// Its run, started by the first call.
    pub fn played(&self) -> &Played {
        self.played.get(|| self.run())
    }

    fn run(&self) -> Played {
        let operator = Simulator::new().start();
        let smsc = Smsc::new()
            .account_with("test", "test", "addresses = [\"12345\"]")
            .account("mobile", "mobile")
            .operator("up", operator.address())
            .route("", "up")
            .route("12345", "test")
            .start();
        smsc.wait_for_binds("up", 1);
        let seen = std::thread::scope(|scope| {
            // By then it has its last bind, so that no earlier one takes this message and drops it.
            let mobile = scope.spawn(|| {
                operator.wait_for(1);
                let mut mobile = Peer::bind(smsc.smpp(), "mobile", "mobile");
                let mut message = submit("12345", FROM_A_MOBILE);
                message.source_addr = MOBILE.into();
                message.registered_delivery = 0;
                mobile.submit(message);
            });
            let seen = match &self.play {
                Play::Script(command) => {
                    let (host, port) =
                        (smsc.smpp().ip().to_string(), smsc.smpp().port().to_string());
                    Client::run(command(&[&host, &port, "test", "test"]))
                }
                Play::Native(play) => play(&smsc),
            };
            mobile.join().expect("the mobile");
            seen
        });
        let journal = operator.wait_for(seen["messages"].as_u64().unwrap_or(0) as usize);
        let admin = smsc.admin();
        until("no bind to be left", || {
            let list = admin.get("/v1/binds");
            let mut binds = list["binds"].as_array()?.iter();
            binds.all(|bind| bind["name"] != "test").then_some(())
        });
        smsc.assert_no_panic();
        Played {
            seen,
            journal,
            binds: self.binds,
            log: smsc.log(),
        }
    }
}

// === impl Once ===

impl<T> Once<T> {
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The result; the first call runs `run`.
    pub fn get(&self, run: impl FnOnce() -> T) -> &T {
        let caught = || catch_unwind(AssertUnwindSafe(run)).map_err(why);
        let result = self.0.get_or_init(caught).as_ref();
        result.unwrap_or_else(|why| panic!("the run failed: {why}"))
    }
}

/// The text of a panic.
fn why(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic
            .downcast::<&str>()
            .map_or_else(|_| "it panicked".to_owned(), |text| (*text).to_owned()),
    }
}

// === impl Played ===

impl Played {
    fn id(&self, of: &str) -> &str {
        let id = self.seen[of].as_str();
        id.unwrap_or_else(|| panic!("no id of {of:?} in {}", self.seen))
    }

    fn long_ids(&self) -> Vec<&str> {
        let ids = self.seen["long"].as_array().expect("ids");
        ids.iter().filter_map(Value::as_str).collect()
    }

    /// The states in its receipts for a message.
    fn told(&self, id: &str) -> Vec<&str> {
        let receipts = self.seen["receipts"].as_array().expect("receipts").iter();
        let of_this = receipts.filter(|receipt| receipt["id"] == id);
        of_this
            .filter_map(|receipt| receipt["stat"].as_str())
            .collect()
    }

    fn times(&self, text: &str) -> usize {
        let lines = self.journal.iter();
        lines.filter(|line| line.text.starts_with(text)).count()
    }
}

/// Every kind of bind that it supports was accepted, and is in our log.
pub fn binds(played: &Played) {
    let binds = played.seen["binds"].as_object().expect("binds");
    assert_eq!(binds.len(), played.binds, "{binds:?}");
    for (kind, status) in binds {
        assert_eq!(*status, 0, "{binds:?}");
        let bound = format!("bind=\"{kind}\"");
        let logged = |line: &str| line.contains("system_id=test") && line.contains(&bound);
        assert!(played.log.lines().any(logged), "no {bound} in the log");
    }
}

/// A text reached the operator once, unchanged.
pub fn submits(played: &Played) {
    assert!(!played.id("submit").is_empty());
    assert_eq!(played.times("hello "), 1, "{:?}", played.journal);
    let destinations = played.journal.iter().map(|line| line.destination.as_str());
    assert!(destinations.into_iter().all(|to| to == "447700900123"));
}

/// Long texts reached the operator as they were submitted: whole, or in all their parts.
pub fn submits_long_texts(played: &Played) {
    assert!(!played.long_ids().is_empty());
    let messages = played.seen["messages"].as_u64();
    assert_eq!(
        Some(played.journal.len() as u64),
        messages,
        "{:?}",
        played.journal
    );
    // The user data header of a part; 300 characters are two parts.
    assert_eq!(played.times(r"\x05\x00\x03"), 2, "{:?}", played.journal);
}

/// Every message submitted before the connection was dropped has one receipt.
pub fn gets_receipts(played: &Played) {
    for id in [played.id("submit")].into_iter().chain(played.long_ids()) {
        assert_eq!(played.told(id), ["DELIVRD"], "{id} in {}", played.seen);
    }
}

/// The message from the mobile came once.
pub fn gets_mo(played: &Played) {
    let mo = played.seen["mo"].as_array().expect("mo");
    assert_eq!(mo.len(), 1, "{mo:?}");
    assert_eq!(mo[0]["source"], MOBILE);
    assert_eq!(mo[0]["text"], FROM_A_MOBILE);
}

/// unbind was answered; the run itself checks that no bind is left.
pub fn unbinds(played: &Played) {
    assert_eq!(played.seen["unbind"], 0, "{}", played.seen);
}

/// The message submitted before the connection was dropped has its receipt after it; a receipt that was
/// on its way is repeated.
pub fn comes_back(played: &Played) {
    let told = played.told(played.id("reconnect"));
    assert!(!told.is_empty(), "{}", played.seen);
    assert!(told.iter().all(|stat| *stat == "DELIVRD"), "{told:?}");
    assert_eq!(played.times("before the drop"), 1, "{:?}", played.journal);
}
