//! Handsets of a GSM network: messages reach them one at a time and in order, wait for them while they are away, and
//! come from them.

mod breaker;
mod crash;
mod from_handsets;
mod names;
mod numbers;
mod poison;
mod repetitions;
mod status_reports;

use std::collections::HashMap;
use std::net::SocketAddr;

use crate::harness::{Cluster, FakeCore, Peer, Smsc, SmscBuilder, stat_of, submit, until};
use serde_json::Value;
use smsc::gsm_core::Phone;

pub const QUEUE: &str = "gsm:home";
/// message_state (SMPP 3.4 §5.2.28).
const DELIVERED: u32 = 2;
/// A retry that no test waits for.
const NEVER: &str = "retry = { delays = [\"1h\"] }";

/// An SMSC whose network `home` has this HLR, with more keys of the network; numbers that begin with 4916 are its.
fn serving(hlr: SocketAddr, keys: &str) -> SmscBuilder {
    configured(Smsc::new(), hlr, keys)
}

fn configured(smsc: SmscBuilder, hlr: SocketAddr, keys: &str) -> SmscBuilder {
    smsc.account_with("test", "test", "addresses = [\"12345\"]")
        .account("handsets", "handsets")
        .file("imsis.csv", "4916*,00101*\n")
        .toml("[imsi]\ntable = \"imsis.csv\"\n")
        .toml(&format!(
            "[[gsm]]\nname = \"home\"\naddress = \"{hlr}\"\nsmsc_address = \"49160000\"\n\
             account = \"handsets\"\nreconnect = [\"200ms\"]\n{keys}\n"
        ))
        .route("4916", QUEUE)
}

/// The number of a subscriber, and its IMSI.
fn subscriber(number: usize) -> (String, String) {
    (format!("4916{number:06}"), format!("00101{number:06}"))
}

pub fn message(smsc: &Smsc, id: &str) -> Value {
    smsc.admin().get(&format!("/v1/messages/{id}"))
}

pub fn queue(smsc: &Smsc) -> Value {
    smsc.admin().get(&format!("/v1/queues/{QUEUE}"))
}

/// The names of the statuses of all attempts.
pub fn attempts(message: &Value) -> Vec<&str> {
    let history = message["history"].as_array().unwrap().iter();
    history.map(|one| one["status"].as_str().unwrap()).collect()
}

/// What a phone has got when it has got everything.
fn all_of(core: &FakeCore, imsi: &str, texts: &[String]) -> Vec<String> {
    until(&format!("everything at {imsi}"), || {
        let got = core.texts(imsi);
        texts.iter().all(|text| got.contains(text)).then_some(got)
    })
}

#[test]
fn a_message_reaches_the_handset_and_its_sender_hears_of_it() {
    let core = FakeCore::start();
    let smsc = serving(core.address(), "").start();
    core.wait_for_connections(1);
    assert_eq!(core.phones().connected(), ["SMSC-0"]);
    let (number, imsi) = subscriber(1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let id = esme.submit(submit(&number, "hello"));
    let got = core.wait_for(&imsi, 1);
    assert_eq!(
        (got[0].text.as_str(), got[0].from.as_str()),
        ("hello", "12345")
    );
    assert!(!got[0].more);
    assert_eq!(stat_of(&esme.deliver()), (id.clone(), DELIVERED));
    let shown = smsc.wait_for_final(&id);
    assert_eq!(
        (&shown["state"], &shown["queue"]),
        (&"DELIVERED".into(), &QUEUE.into())
    );
    assert_eq!(attempts(&shown), ["ESME_ROK"]);
}

#[test]
fn a_network_gets_as_many_messages_as_its_rate_says() {
    let core = FakeCore::start();
    let smsc = serving(core.address(), "rate = 1.0\nburst = 1").start();
    core.wait_for_connections(1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let queue = format!("/v1/queues/{QUEUE}");
    // All wait together, so that the second and the third find the rate used up.
    assert_eq!(smsc.admin().post(&format!("{queue}/suspend")).0, 200);
    let subscribers = [1, 2, 3].map(subscriber);
    for (number, _) in &subscribers {
        esme.submit(submit(number, "hello"));
    }
    until("three messages that wait", || {
        (smsc.admin().get(&queue)["waiting"] == 3).then_some(())
    });
    assert_eq!(smsc.admin().post(&format!("{queue}/resume")).0, 200);
    for (_, imsi) in &subscribers {
        assert_eq!(core.wait_for(imsi, 1)[0].text, "hello");
    }
    let waits = smsc.admin().metric("smsc_throttle_waits_total");
    assert!(waits >= Some(2.0), "{waits:?}");
}

#[test]
fn a_cause_is_final_or_waits_for_the_subscriber() {
    let core = FakeCore::start();
    let smsc = serving(core.address(), NEVER).start();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let cases = [
        (
            Phone::Refuses(21),
            "RP_SHORT_MESSAGE_TRANSFER_REJECTED",
            "err:021",
        ),
        (
            Phone::Away(0x60),
            "GMM_INVALID_MANDATORY_INFORMATION",
            "err:096",
        ),
    ];
    for (at, (phone, status, err)) in cases.into_iter().enumerate() {
        let (number, imsi) = subscriber(at);
        core.set(&imsi, phone);
        let id = esme.submit(submit(&number, "hello"));
        let receipt = esme.deliver();
        let text = String::from_utf8_lossy(&receipt.short_message).into_owned();
        assert!(
            text.contains("stat:UNDELIV") && text.contains(err),
            "{text}"
        );
        assert_eq!(attempts(&smsc.wait_for_final(&id)), [status]);
    }
    let waiting = [
        (Phone::Refuses(22), "RP_MEMORY_CAPACITY_EXCEEDED"),
        (Phone::Away(0x0A), "GMM_IMPLICITLY_DETACHED"),
        (Phone::Unroutable, "GSUP_ROUTING_ERROR"),
    ];
    for (at, (phone, status)) in waiting.into_iter().enumerate() {
        let (number, imsi) = subscriber(100 + at);
        core.set(&imsi, phone);
        let id = esme.submit(submit(&number, "hello"));
        until("an attempt", || {
            (attempts(&message(&smsc, &id)) == [status]).then_some(())
        });
        assert_eq!(message(&smsc, &id)["state"], "ENROUTE");
    }
}

#[test]
fn what_waits_for_a_subscriber_goes_out_in_order_when_it_is_there() {
    let core = FakeCore::start();
    let smsc = serving(core.address(), NEVER).start();
    core.wait_for_connections(1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let (number, imsi) = subscriber(1);
    let (other, other_imsi) = subscriber(2);
    core.set(&imsi, Phone::Refuses(22));
    let texts: Vec<String> = (0..10).map(|at| format!("number {at}")).collect();
    for text in &texts {
        esme.submit(submit(&number, text));
    }
    esme.submit(submit(&other, "meanwhile"));
    core.wait_for(&other_imsi, 1);
    until("all of them to wait", || {
        (queue(&smsc)["scheduled"] == 10).then_some(())
    });
    let tried = core.phones().arrived_so_far();
    let tried = tried.iter().filter(|one| one.imsi == imsi).count();
    assert_eq!(tried, 1, "the others were not even tried");

    core.set(&imsi, Phone::Here);
    core.phones().ready(&imsi, 2);
    core.wait_for(&imsi, 10);
    assert_eq!(core.texts(&imsi), texts);
    until("the answer", || {
        (core.phones().alerts_answered() == 1).then_some(())
    });
    assert_eq!(core.phones().overlaps(), 0);
}

#[test]
fn a_subscriber_that_takes_a_message_gets_the_others_at_once() {
    let core = FakeCore::start();
    let smsc = serving(core.address(), "retry = { delays = [\"1h\"] }").start();
    core.wait_for_connections(1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let (number, imsi) = subscriber(1);
    core.set(&imsi, Phone::Away(0x0A));
    let ids: Vec<String> = (0..3)
        .map(|at| esme.submit(submit(&number, &format!("number {at}"))))
        .collect();
    until("all of them to wait", || {
        (queue(&smsc)["scheduled"] == 3).then_some(())
    });
    core.set(&imsi, Phone::Here);
    smsc.admin().post(&format!("/v1/messages/{}/retry", ids[0]));
    core.wait_for(&imsi, 3);
    assert_eq!(core.texts(&imsi), ["number 0", "number 1", "number 2"]);
}

#[test]
fn each_subscriber_has_one_message_under_way_and_gets_all_in_order() {
    let core = FakeCore::slow("1ms..20ms");
    let smsc = serving(core.address(), "window = 8\nrun = 4").start();
    core.wait_for_connections(1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let mut expected: HashMap<String, Vec<String>> = HashMap::new();
    for at in 0..200 {
        let (number, imsi) = subscriber(at % 20);
        let text = format!("number {at}");
        esme.submit(submit(&number, &text));
        expected.entry(imsi).or_default().push(text);
    }
    for (imsi, texts) in &expected {
        core.wait_for(imsi, texts.len());
        assert_eq!(&core.texts(imsi), texts, "{imsi}");
    }
    assert_eq!(
        (core.phones().counts(), core.phones().overlaps()),
        ((200, 0), 0)
    );
}

#[test]
fn a_phone_that_says_nothing_holds_nobody_else_up() {
    let core = FakeCore::start();
    let smsc = serving(
        core.address(),
        &format!("request_timeout = \"500ms\"\nwindow = 1\n{NEVER}"),
    );
    let smsc = smsc.start();
    core.wait_for_connections(1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let (number, imsi) = subscriber(1);
    core.set(&imsi, Phone::Silent);
    let id = esme.submit(submit(&number, "hello"));
    let (other, other_imsi) = subscriber(2);
    esme.submit(submit(&other, "hello"));
    core.wait_for(&other_imsi, 1);
    until("the end of its time", || {
        (attempts(&message(&smsc, &id)) == ["GSUP_NO_ANSWER"]).then_some(())
    });
}

#[test]
fn what_stands_behind_an_unanswered_message_at_a_stop_is_delivered_after_it() {
    let core = FakeCore::start();
    let mut smsc = serving(
        core.address(),
        &format!("request_timeout = \"6s\"\noutcome_unknown = \"fail\"\n{NEVER}"),
    )
    .start();
    core.wait_for_connections(1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let (number, imsi) = subscriber(1);
    core.set(&imsi, Phone::Silent);
    let ids: Vec<String> = (0..3)
        .map(|at| esme.submit(submit(&number, &format!("number {at}"))))
        .collect();
    until("the connection to have all of them", || {
        (queue(&smsc)["in_flight"] == 3).then_some(())
    });
    assert!(smsc.terminate().success());
    core.set(&imsi, Phone::Here);
    smsc.start_again();
    let states: Vec<String> = ids.iter().map(|id| smsc.final_state(id)).collect();
    assert_eq!(states, ["UNDELIVERABLE", "DELIVERED", "DELIVERED"]);
    assert_eq!(core.texts(&imsi), ["number 1", "number 2"]);
}

#[test]
fn a_long_text_is_one_message_to_its_sender() {
    let core = FakeCore::start();
    let smsc = serving(core.address(), "").start();
    core.wait_for_connections(1);
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let (number, imsi) = subscriber(1);
    let text = "0123456789".repeat(24);
    let id = esme.submit(submit(&number, &text));
    let parts = core.wait_for(&imsi, 2);
    let together: String = parts.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(together, text);
    assert!(parts[0].more && !parts[1].more, "{parts:?}");
    assert_eq!(stat_of(&esme.deliver()), (id.clone(), DELIVERED));
    assert_eq!(smsc.wait_for_final(&id)["state"], "DELIVERED");
}

#[test]
fn without_the_network_messages_wait_and_go_out_in_order_when_it_is_back() {
    let mut core = FakeCore::start();
    let smsc = serving(core.address(), "").start();
    core.wait_for_connections(1);
    core.stop();
    let mut esme = Peer::bind(smsc.smpp(), "test", "test");
    let (number, imsi) = subscriber(1);
    let texts: Vec<String> = (0..20).map(|at| format!("number {at}")).collect();
    for text in &texts {
        esme.submit(submit(&number, text));
    }
    until("all of them to wait", || {
        (queue(&smsc)["waiting"] == 20).then_some(())
    });
    let shown = || smsc.admin().get("/v1/gsm/home");
    assert_eq!(
        (&shown()["state"], &shown()["connected"]),
        (&"down".into(), &0.into())
    );
    core.start_again();
    let got = core.wait_for(&imsi, 20);
    assert!(got[0].more && !got[19].more, "more messages to send");
    assert_eq!(shown()["state"], "up");
    assert_eq!(core.texts(&imsi), texts);
}

#[test]
fn three_nodes_share_the_subscribers_and_one_takes_over_from_another() {
    let core = FakeCore::slow("5ms..10ms");
    let address = core.address();
    let mut cluster = Cluster::of(3)
        .short_lease()
        .each(move |smsc| configured(smsc, address, NEVER))
        .start();
    core.wait_for_connections(3);
    let mut names = core.phones().connected();
    names.sort();
    assert_eq!(names, ["SMSC-0", "SMSC-1", "SMSC-2"]);
    let mut esme = Peer::bind(cluster.nodes[0].smpp(), "test", "test");
    let mut expected: HashMap<String, Vec<String>> = HashMap::new();
    for at in 0..120 {
        let (number, imsi) = subscriber(at % 30);
        let text = format!("number {at}");
        esme.submit(submit(&number, &text));
        expected.entry(imsi).or_default().push(text);
        if at == 60 {
            cluster.nodes[2].kill();
        }
    }
    for (imsi, texts) in &expected {
        let mut got = all_of(&core, imsi, texts);
        // What was under way at the kill may come twice.
        got.dedup();
        assert_eq!(&got, texts, "{imsi}");
    }
    assert_eq!(core.phones().overlaps(), 0);
}
