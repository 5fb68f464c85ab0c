//! The cases of an operator, and the results of its run.
//!
//! The run: the SMSC binds to the script and sends it a text and one of 300 characters. The script
//! sends receipts for them, and after the first one a mobile-originated message. At the text `drop` it
//! ends the session; the SMSC binds again and sends one more message; then the SMSC is stopped, and
//! unbinds. The script prints a JSON line per event: `bind`, `message` (`text`, or `payload` with that
//! of a message_payload) and `unbind`.

use std::net::SocketAddr;
use std::process::Command;

use serde_json::Value;
use smsc::smpp::{SubmitSm, tag};

use super::cases::Once;
use crate::harness::{Client, Peer, Smsc, free_port, stat_of, submit, until};

const TO: &str = "447700900123";
const DELIVERED: u32 = 2;

/// An implementation, run once for all its tests.
pub struct Operator {
    bind: &'static str,
    command: fn(&str) -> Command,
    played: Once<Played>,
}

/// The results of a run.
pub struct Played {
    /// The events of the operator.
    events: Vec<Value>,
    bind: &'static str,
    /// Our ids of the messages, in order: short, long, before and after the drop.
    ids: Vec<String>,
    /// Deliveries to our ESME.
    delivered: Vec<SubmitSm>,
}

// === impl Operator ===

impl Operator {
    /// A script, called with its port, and the operation with which the SMSC binds.
    pub const fn new(bind: &'static str, command: fn(&str) -> Command) -> Self {
        Self {
            bind,
            command,
            played: Once::new(),
        }
    }

    /// Its run, started by the first call.
    pub fn played(&self) -> &Played {
        self.played.get(|| self.run())
    }

    fn run(&self) -> Played {
        let port = free_port();
        let mut operator = Client::start("operator", (self.command)(&port.to_string()));
        operator.wait_for("listening", |_| true);
        let address: SocketAddr = ([127, 0, 0, 1], port).into();
        let mut smsc = Smsc::new()
            .account_with("test", "test", "addresses = [\"12345\"]")
            .operator_with("up", address, &format!("bind = {:?}", self.bind))
            .route("", "up")
            .start();
        smsc.wait_for_binds("up", 1);
        let mut esme = Peer::bind(smsc.smpp(), "test", "test");
        let mut payload = submit(TO, "");
        payload
            .tlvs
            .push(tag::MESSAGE_PAYLOAD, "0123456789".repeat(30).as_bytes());
        let mut ids = vec![
            esme.submit(submit(TO, "hello operator")),
            esme.submit(payload),
        ];
        // Two receipts and the mobile-originated message, in any order.
        let mut delivered: Vec<SubmitSm> = (0..3).map(|_| esme.deliver()).collect();

        let binds = |operator: &Client| named(&operator.events(), "bind").len();
        let before = binds(&operator);
        let mut last = submit(TO, "drop");
        last.registered_delivery = 0;
        ids.push(esme.submit(last));
        until("we to come back", || {
            (binds(&operator) >= before + before).then_some(())
        });
        smsc.wait_for_binds("up", 1);
        ids.push(esme.submit(submit(TO, "after the drop")));
        let of_last = |delivered: &[SubmitSm], id: &str| {
            delivered
                .iter()
                .any(|one| one.esm_class == 4 && stat_of(one).0 == id)
        };
        while !of_last(&delivered, &ids[3]) {
            delivered.push(esme.deliver());
        }
        smsc.terminate();
        operator.wait_for("unbind", |_| true);
        smsc.assert_no_panic();
        Played {
            events: operator.events(),
            bind: self.bind,
            ids,
            delivered,
        }
    }
}

fn named(events: &[Value], name: &str) -> Vec<Value> {
    let of_this = events.iter().filter(|event| event["event"] == name);
    of_this.cloned().collect()
}

// === impl Played ===

impl Played {
    fn messages(&self) -> Vec<Value> {
        named(&self.events, "message")
    }
}

/// The SMSC has bound as configured.
pub fn is_bound_to(played: &Played) {
    let sessions = played.bind.split('+').count();
    let binds = named(&played.events, "bind");
    assert!(binds.len() >= sessions, "{binds:?}");
    assert!(
        binds.iter().all(|bind| bind["system_id"] == "smsc"),
        "{binds:?}"
    );
}

/// A text came once, with its addresses.
pub fn takes_messages(played: &Played) {
    let messages = played.messages();
    let hello: Vec<&Value> = messages
        .iter()
        .filter(|message| message["text"] == "hello operator")
        .collect();
    assert_eq!(hello.len(), 1, "{messages:?}");
    assert_eq!(hello[0]["source"], "12345");
    assert_eq!(hello[0]["destination"], TO);
}

/// A message_payload came whole.
pub fn takes_long_texts(played: &Played) {
    let messages = played.messages();
    let text = "0123456789".repeat(30);
    let long = messages
        .iter()
        .filter(|message| message["payload"] == *text);
    assert_eq!(long.count(), 1, "{messages:?}");
}

/// Its receipts ended our messages, and our ESME got a receipt for each.
pub fn sends_receipts(played: &Played) {
    let receipts = played.delivered.iter().filter(|one| one.esm_class == 4);
    let told: Vec<(String, u32)> = receipts.map(stat_of).collect();
    for id in [&played.ids[0], &played.ids[1], &played.ids[3]] {
        let of_this: Vec<_> = told.iter().filter(|(told, _)| told == id).collect();
        assert_eq!(of_this.len(), 1, "{id} in {told:?}");
        assert_eq!(of_this[0].1, DELIVERED);
    }
}

/// Its mobile-originated message reached the account with that address.
pub fn sends_mo(played: &Played) {
    let is_mo = |one: &&SubmitSm| one.esm_class & 0x3C == 0;
    let mo: Vec<&SubmitSm> = played.delivered.iter().filter(is_mo).collect();
    assert_eq!(mo.len(), 1, "{mo:?}");
    assert_eq!(mo[0].source_addr, TO);
    assert_eq!(mo[0].destination_addr, "12345");
    assert_eq!(mo[0].short_message, "from a mobile");
}

/// It got our unbind when the SMSC was stopped.
pub fn is_unbound(played: &Played) {
    assert!(
        !named(&played.events, "unbind").is_empty(),
        "{:?}",
        played.events
    );
}

/// The SMSC bound again after the session was ended, and the next message was sent once.
pub fn is_come_back_to(played: &Played) {
    let messages = played.messages();
    let after = messages
        .iter()
        .filter(|one| one["text"] == "after the drop");
    assert_eq!(after.count(), 1, "{messages:?}");
}
